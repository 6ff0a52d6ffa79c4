// Allocation sites of C programs. A comment of the form "=T" names the type of
// what its line allocates; "=T[]" of many. "=?" means that nothing may be
// claimed.
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
	struct skip *s = make_skip(argc + 2);
	struct table *tab = make_table(16);
	put(tab, "a", 1);
	put_slot(tab, argc);
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
	graph *g = make_graph(argc + 2);
	anonymous(argc);
	struct list *first;
	tail(tail(&first));
	struct tree *c = copy(chain(argc + 4));
	printf("%d %d %d %d %d %g %d %c %d %d %d %d %ld\n", l->value, t->key, q->child[1]->x, it->kind, s->height, p[0].x, b->tag, txt[0],
		num[2], g->n, first->next->next == NULL, c->key, (long)raw[0]);
	return 0;
}
