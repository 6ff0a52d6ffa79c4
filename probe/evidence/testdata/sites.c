// Allocation sites of C programs. A comment of the form "=T" names the type of
// what its line allocates; "=T[]" of many; "=T|U" if only the source text tells
// T, and all else U; "=T for sure" fails where it is not found, "=T for sure by
// its text" where it is not found with that.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list { int value; struct list *next; };
struct tree { int key; struct tree *left, *right, *parent; };
struct quad { int x, y; struct quad *child[4]; };
union payload { long number; char *text; struct list *items; };
struct item { int kind; union payload u; struct item *next; };
struct skip { int key, height; struct skip *next[]; };
struct bucket { struct bucket *next; const char *key; int value; };
struct table { size_t size; struct bucket **slots; struct bucket *free_list; };
struct point { double x, y; };
struct link { struct link *prev, *next; };
struct job { struct link link; int id; };
struct holder { int n; struct { struct tree *root; struct list *head; } in; };
struct base { int tag; };
struct derived { struct base base; long extra[3]; };
typedef struct { int a, b; } pair_t;
typedef struct graph graph;
struct graph { int n; struct vertex { int id; graph *owner; struct vertex **out; } *vertices; };

static struct list *head;
static struct holder holder;
static struct tree *roots[4];
int sink;

static void *xmalloc(size_t n)
{
	void *p = malloc(n);
	if (!p)
		abort();
	return p;
}

__attribute__((noinline)) static void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n, size);
	if (p == NULL) {
		fprintf(stderr, "out of memory\n");
		exit(2);
	}
	return p;
}

__attribute__((noinline)) static void *zalloc(size_t n)
{
	return memset(xmalloc(n), 0, n);
}

__attribute__((noinline)) static void *need(void *p)
{
	if (!p)
		abort();
	return p;
}

/* Its variables lie far below the frame pointer, and one line of it allocates twice, the second time in a macro. */
#define ADD_TABLE(holder, m) do { (holder)->root = malloc(m); if (!(holder)->root) abort(); memset((holder)->root, 0, m); } while (0)
struct rooted { struct tree *root; };
__attribute__((noinline)) static int far_below(struct rooted *r, size_t n)
{
	char room[300];
	struct list *l;
	memset(room, 1, sizeof room);
	l = malloc(sizeof *l); l->next = NULL; ADD_TABLE(r, n); // =list|tree for sure
	r->root->left = zalloc(n); // =tree for sure
	l->value = room[n];
	return l->value + (r->root->left == NULL);
}

/* It keeps what it is given, and returns something else. */
static void *last;
__attribute__((noinline)) static void *swap(void *p)
{
	void *was = last;
	last = p;
	return was;
}

void needed(graph *g, int n)
{
	g->vertices = need(calloc(n, 24)); // =vertex[]
	struct tree *t = swap(malloc(sizeof(struct list))); // =list
	sink += t != 0;
}

struct list *push(struct list *next, int v)
{
	struct list *l = malloc(sizeof *l); // =list
	if (l == NULL)
		return NULL;
	l->value = v;
	l->next = next;
	return l;
}

static struct tree *new_tree(int key, struct tree *parent)
{
	struct tree *t = xmalloc(sizeof(struct tree)); // =tree
	t->key = key;
	t->left = t->right = NULL;
	t->parent = parent;
	return t;
}

struct tree *insert(struct tree *t, int key)
{
	if (!t)
		return new_tree(key, NULL);
	if (key < t->key) {
		if (!t->left)
			t->left = new_tree(key, t);
		else
			insert(t->left, key);
	} else if (!t->right)
		t->right = new_tree(key, t);
	else
		insert(t->right, key);
	return t;
}

void split(struct quad *q)
{
	for (int i = 0; i < 4; i++) {
		q->child[i] = malloc(sizeof(struct quad)); // =quad
		memset(q->child[i], 0, sizeof(struct quad));
		q->child[i]->x = i;
	}
	q->child[0]->child[1] = calloc(1, sizeof(struct quad)); // =quad
}

struct quad *make_quad(void)
{
	return calloc(1, sizeof(struct quad)); // =quad
}

struct item *make_item(long n)
{
	struct item *it = (struct item *)malloc(sizeof(*it)); // =item
	it->kind = 1;
	it->u.number = n;
	it->u.items = malloc(sizeof(struct list)); // =list
	it->u.items->next = NULL;
	it->next = 0;
	return it;
}

#define PAYLOAD(it) ((it)->u)

void fill_item(struct item *it, long n, int list)
{
	if (list) {
		PAYLOAD(it).items = malloc(n); // =list for sure by its text
		PAYLOAD(it).items->next = NULL;
	} else {
		it->u.text = malloc(n); // =char for sure by its text
		memcpy(it->u.text, &n, sizeof n);
	}
}

struct skip *make_skip(int height)
{
	struct skip *s = malloc(sizeof *s + height * sizeof s->next[0]); // =skip
	s->height = height;
	for (int i = 0; i < height; i++)
		s->next[i] = NULL;
	s->next[0] = malloc(sizeof(struct skip) + 8); // =skip
	s->next[0]->height = 1;
	return s;
}

struct table *make_table(size_t n)
{
	struct table *t = malloc(sizeof *t); // =table
	t->size = n;
	t->slots = calloc(n, sizeof *t->slots); // =bucket *[]
	t->free_list = NULL;
	return t;
}

/* What malloc returned is in no variable, as where a macro did this. */
struct member { int id; struct index *index; };
struct index { struct group { struct member *first; long members; } *groups; long n; };
__attribute__((noinline)) void enrol(struct member *m)
{
	m->index = malloc(16); // =index
	if (!m->index)
		abort();
	m->index->n = 8;
	m->index->groups = malloc(8 * 16); // =group[] for sure
	m->index->groups[0].first = m;
}

void put(struct table *t, const char *key, int value)
{
	struct bucket **slot = &t->slots[(unsigned char)key[0] % t->size];
	struct bucket *b = xcalloc(1, sizeof *b); // =bucket
	b->key = strdup(key);
	b->value = value;
	b->next = *slot;
	*slot = b;
}

void put_slot(struct table *t, int i)
{
	t->slots[i] = zalloc(sizeof(struct bucket)); // =bucket
	t->slots[i]->value = i;
}

struct point *points(int n)
{
	struct point *p = malloc(n * sizeof *p); // =point[]
	for (int i = 0; i < n; i++)
		p[i].x = p[i].y = i;
	return p;
}

struct point *grow(struct point *p, int n)
{
	p = realloc(p, n * sizeof(struct point)); // =point[]
	p[n - 1].x = 1;
	return p;
}

static inline void link_add(struct link *new, struct link *at)
{
	new->next = at->next;
	new->prev = at;
	at->next->prev = new;
	at->next = new;
}

void add_job(struct link *jobs, int id)
{
	struct job *j = malloc(sizeof *j); // =job
	j->id = id;
	link_add(&j->link, jobs);
}

void statics(void)
{
	head = malloc(sizeof(struct list)); // =list
	head->next = NULL;
	holder.in.root = malloc(sizeof(struct tree)); // =tree
	holder.in.head = malloc(sizeof(struct list)); // =list
	roots[2] = malloc(sizeof(struct tree)); // =tree
	for (int i = 0; i < 2; i++)
		roots[i] = malloc(sizeof(struct tree)); // =tree
}

void locals(void)
{
	struct holder h;
	h.in.head = malloc(sizeof *h.in.head); // =list
	h.in.head->value = 3;
	h.in.root = malloc(sizeof *h.in.root); // =tree
	h.in.root->key = h.in.head->value;
	sink += h.in.root->key;
	free(h.in.root);
	free(h.in.head);
}

struct base *make_derived(void)
{
	struct derived *d = malloc(sizeof *d); // =derived
	d->base.tag = 1;
	d->extra[0] = 2;
	return &d->base;
}

void *opaque(size_t n)
{
	return malloc(n); // =int
}

char *text(const char *s)
{
	char *t = malloc(strlen(s) + 1); // =char[]
	strcpy(t, s);
	return t;
}

int *numbers(int n)
{
	int *a = calloc(n, sizeof(int)); // =int[]
	for (int i = 0; i < n; i++)
		a[i] = i;
	return a;
}

graph *make_graph(int n)
{
	graph *g = xmalloc(sizeof(graph)); // =graph
	g->n = n;
	g->vertices = xcalloc(n, sizeof(struct vertex)); // =vertex[]
	for (int i = 0; i < n; i++) {
		struct vertex *v = &g->vertices[i];
		v->owner = g;
		v->out = xmalloc(n * sizeof(struct vertex *)); // =vertex *[]
		v->out[0] = v;
	}
	return g;
}

pair_t *pairs[8];

void anonymous(int i)
{
	pairs[i] = malloc(sizeof(pair_t)); // =pair_t
	pairs[i]->a = 1;
}

struct list **tail(struct list **at)
{
	*at = malloc(sizeof **at); // =list
	(*at)->next = NULL;
	return &(*at)->next;
}

struct tree *chain(int n)
{
	struct tree *first = NULL, *last = NULL;
	while (n-- > 0) {
		struct tree *t = malloc(sizeof *t); // =tree
		if (!t)
			break;
		t->key = n;
		t->left = t->right = NULL;
		if (!first)
			first = t;
		if (last)
			last->right = t;
		last = t;
	}
	return first;
}

struct tree *copy(const struct tree *t)
{
	if (!t)
		return NULL;
	struct tree *c = malloc(sizeof *c); // =tree
	*c = *t;
	c->left = copy(t->left);
	c->right = copy(t->right);
	return c;
}

// An allocator that puts the size before each block.
__attribute__((noinline)) static void *sized(size_t n)
{
	size_t *h = malloc(sizeof *h + n);
	if (!h)
		return NULL;
	*h = n;
	return h + 1;
}

struct header { struct header *next; long size; };
static struct header *all;

__attribute__((noinline)) static void *linked(size_t n)
{
	struct header *h = malloc(sizeof *h + n);
	h->next = all;
	h->size = n;
	all = h;
	return h + 1;
}

struct tree *with_headers(void)
{
	struct tree *t = sized(sizeof *t); // =tree
	t->left = linked(sizeof *t); // =tree
	return t;
}

// A pool: the chunk is a chunk, whatever is cut from it.
struct chunk { struct chunk *next; size_t used; char mem[4080]; };
static struct chunk *pool;

__attribute__((noinline)) static void *cut(size_t n)
{
	if (!pool || pool->used + n > sizeof pool->mem) {
		struct chunk *c = malloc(sizeof *c); // =chunk
		c->next = pool;
		c->used = 0;
		pool = c;
	}
	void *p = pool->mem + pool->used;
	pool->used += n;
	return p;
}

struct list *from_pool(void)
{
	struct list *l = cut(sizeof *l);
	l->next = cut(sizeof *l);
	return l;
}

// Containers of void *.
struct cell { void *data; struct cell *next; };
struct vector { void **items; int n, room; };

struct cell *cells(struct cell *next)
{
	struct cell *c = malloc(sizeof *c); // =cell
	c->data = malloc(sizeof(struct point)); // =point
	((struct point *)c->data)->x = 1;
	c->next = next;
	return c;
}

void append(struct vector *v, void *item)
{
	if (v->n == v->room) {
		v->room = v->room ? 2 * v->room : 4;
		v->items = realloc(v->items, v->room * sizeof *v->items); // =void *[]
	}
	v->items[v->n++] = item;
}

void append_new(struct vector *v, int key)
{
	struct tree *t = calloc(1, sizeof *t); // =tree
	t->key = key;
	append(v, t);
}

// A base pointer is all that is kept of a derived object.
struct base *kind_of(int kind)
{
	struct base *b;
	if (kind) {
		b = malloc(sizeof(struct derived)); // =derived|base
		((struct derived *)b)->extra[1] = 3;
	} else
		b = malloc(sizeof(struct base)); // =base
	b->tag = kind;
	return b;
}

static struct bucket **slots;

// At -O2 the element's address is computed before the call: the source tells.
void fill_slots(int n)
{
	slots = calloc(n, sizeof *slots); // =bucket *[]
	for (int i = 0; i < n; i++) {
		slots[i] = zalloc(sizeof *slots[i]); // =bucket
		struct bucket *b = slots[i];
		b->value = i;
	}
}

int main(int argc, char **argv)
{
	struct list *l = NULL;
	for (int i = 0; i < 5; i++)
		l = push(l, i);
	struct tree *t = NULL;
	for (int i = 0; i < 9; i++)
		t = insert(t, i * 5 % 9);
	struct quad *q = make_quad();
	split(q);
	struct item *it = make_item(argc);
	fill_item(it, 16, argc > 0);
	fill_item(make_item(2), 16, argc > 1);
	struct skip *s = make_skip(argc + 2);
	struct table *tab = make_table(16);
	put(tab, "a", 1);
	put_slot(tab, argc);
	struct member who = {argc, NULL};
	enrol(&who);
	fill_slots(argc + 2);
	struct point *p = grow(points(argc + 4), argc + 9);
	struct link jobs = {&jobs, &jobs};
	add_job(&jobs, 1);
	statics();
	locals();
	struct base *b = make_derived();
	int *raw = opaque(16);
	raw[0] = 1;
	char *txt = text(argv[0]);
	int *num = numbers(argc + 3);
	graph *g = make_graph(argc + 2), needs;
	needed(&needs, argc + 2);
	anonymous(argc);
	struct rooted rooted;
	sink += far_below(&rooted, sizeof(struct tree));
	struct list *first;
	tail(tail(&first));
	struct tree *c = copy(chain(argc + 4));
	sink += with_headers()->left != NULL;
	sink += from_pool()->next != NULL;
	sink += cells(cells(NULL))->next != NULL;
	struct vector vec = {0};
	for (int i = 0; i < 6; i++)
		append_new(&vec, i);
	sink += ((struct tree *)vec.items[argc])->key + kind_of(argc)->tag + kind_of(argc - 1)->tag;
	printf("%d %d %d %d %d %g %d %c %d %d %d %d %ld\n", l->value, t->key, q->child[1]->x, it->kind, s->height, p[0].x, b->tag, txt[0],
		num[2], g->n, first->next->next == NULL, c->key, (long)raw[0]);
	return 0;
}
