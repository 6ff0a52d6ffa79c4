/* A B+ tree: keys in the leaves, which are a list; inner nodes hold separators. */
#include <stdlib.h>
#include <string.h>

#define ORDER 8

typedef struct node_s {
	int leaf;
	int n;                      /* keys */
	int key[ORDER];
	struct node_s *kid[ORDER + 1];
	struct node_s *next, *prev; /* leaves */
} node_t;

typedef struct {
	node_t *root, *first;
	int height, count;
} tree_t;

static tree_t *tree;

static node_t *new_node(int leaf)
{
	node_t *n = calloc(1, sizeof(node_t));
	n->leaf = leaf;
	return n;
}

static int position(const node_t *n, int key)
{
	int i = 0;
	while (i < n->n && n->key[i] <= key)
		i++;
	return i;
}

static void put_key(node_t *n, int at, int key, node_t *right)
{
	int i;
	for (i = n->n; i > at; i--) {
		n->key[i] = n->key[i - 1];
		n->kid[i + 1] = n->kid[i];
	}
	n->key[at] = key;
	n->kid[at + 1] = right;
	n->n++;
}

static void take_key(node_t *n, int at)
{
	int i;
	n->n--;
	for (i = at; i < n->n; i++) {
		n->key[i] = n->key[i + 1];
		n->kid[i + 1] = n->kid[i + 2];
	}
	n->kid[n->n + 1] = NULL;
}

/* The child is full: its upper half becomes its right neighbour. */
static void split(node_t *p, int at)
{
	node_t *c = p->kid[at], *r = new_node(c->leaf);
	int half = ORDER / 2, up = c->key[half], i;
	if (c->leaf) {
		r->n = ORDER - half;
		memcpy(r->key, c->key + half, r->n * sizeof(int));
		r->next = c->next;
		r->prev = c;
		if (c->next)
			c->next->prev = r;
		c->next = r;
	} else {
		r->n = ORDER - half - 1;
		memcpy(r->key, c->key + half + 1, r->n * sizeof(int));
		for (i = 0; i <= r->n; i++) {
			r->kid[i] = c->kid[half + 1 + i];
			c->kid[half + 1 + i] = NULL;
		}
	}
	c->n = half;
	put_key(p, at, up, r);
}

void tree_insert(tree_t *t, int key)
{
	node_t *n = t->root;
	if (n->n == ORDER) {
		node_t *top = new_node(0);
		top->kid[0] = n;
		t->root = top;
		t->height++;
		split(top, 0);
		n = top;
	}
	while (!n->leaf) {
		int i = position(n, key);
		if (n->kid[i]->n == ORDER) {
			split(n, i);
			if (n->key[i] <= key)
				i++;
		}
		n = n->kid[i];
	}
	put_key(n, position(n, key), key, NULL);
	t->count++;
}

/* Two neighbours become one, and the separator between them goes. */
static void merge(node_t *p, int at)
{
	node_t *l = p->kid[at], *r = p->kid[at + 1];
	int i;
	if (l->leaf) {
		memcpy(l->key + l->n, r->key, r->n * sizeof(int));
		l->n += r->n;
		l->next = r->next;
		if (r->next)
			r->next->prev = l;
	} else {
		l->key[l->n] = p->key[at];
		memcpy(l->key + l->n + 1, r->key, r->n * sizeof(int));
		for (i = 0; i <= r->n; i++)
			l->kid[l->n + 1 + i] = r->kid[i];
		l->n += r->n + 1;
	}
	take_key(p, at);
	free(r);
}

static void borrow_left(node_t *p, int at)
{
	node_t *c = p->kid[at], *l = p->kid[at - 1];
	int i;
	for (i = c->n; i > 0; i--)
		c->key[i] = c->key[i - 1];
	if (c->leaf) {
		c->key[0] = l->key[l->n - 1];
		p->key[at - 1] = c->key[0];
	} else {
		for (i = c->n + 1; i > 0; i--)
			c->kid[i] = c->kid[i - 1];
		c->key[0] = p->key[at - 1];
		c->kid[0] = l->kid[l->n];
		p->key[at - 1] = l->key[l->n - 1];
		l->kid[l->n] = NULL;
	}
	c->n++;
	l->n--;
}

static void borrow_right(node_t *p, int at)
{
	node_t *c = p->kid[at], *r = p->kid[at + 1];
	int i;
	if (c->leaf) {
		c->key[c->n] = r->key[0];
		for (i = 1; i < r->n; i++)
			r->key[i - 1] = r->key[i];
		p->key[at] = r->key[0];
	} else {
		c->key[c->n] = p->key[at];
		c->kid[c->n + 1] = r->kid[0];
		p->key[at] = r->key[0];
		for (i = 1; i < r->n; i++)
			r->key[i - 1] = r->key[i];
		for (i = 1; i <= r->n; i++)
			r->kid[i - 1] = r->kid[i];
		r->kid[r->n] = NULL;
	}
	c->n++;
	r->n--;
}

enum { FEW = ORDER / 2 - 1 };

/* The child has room for a key to go. */
static int fill(node_t *p, int at)
{
	if (at > 0 && p->kid[at - 1]->n > FEW) {
		borrow_left(p, at);
		return at;
	}
	if (at < p->n && p->kid[at + 1]->n > FEW) {
		borrow_right(p, at);
		return at;
	}
	if (at == p->n)
		at--;
	merge(p, at);
	return at;
}

void tree_delete(tree_t *t, int key)
{
	node_t *n = t->root;
	int i;
	while (!n->leaf) {
		i = position(n, key);
		if (n->kid[i]->n <= FEW)
			i = fill(n, i);
		if (n == t->root && n->n == 0) {
			t->root = n->kid[0];
			t->height--;
			free(n);
			n = t->root;
			continue;
		}
		n = n->kid[position(n, key)];
	}
	for (i = 0; i < n->n; i++)
		if (n->key[i] == key) {
			take_key(n, i);
			t->count--;
			return;
		}
}

static void add(int key)
{
	if (!tree) {
		tree = malloc(sizeof *tree);
		tree->root = tree->first = new_node(1);
		tree->height = 1;
		tree->count = 0;
	}
	tree_insert(tree, key);
}

static void drop(int key)
{
	tree_delete(tree, key);
}

/* The judge's own view: keys below, -1 if something is wrong. */
static const node_t *leaf_before;

static int check_node(const node_t *n, int depth, int from, int to)
{
	int i, sum = 0;
	if (!n || n->leaf != (depth == 1) || n->n > ORDER || n->n < 0)
		return -1;
	for (i = 0; i < n->n; i++)
		if (n->key[i] < from || n->key[i] >= to || (i > 0 && n->key[i] <= n->key[i - 1]))
			return -1;
	if (n->leaf) {
		if (n->prev != leaf_before || (leaf_before ? leaf_before->next != n : tree->first != n))
			return -1;
		leaf_before = n;
		return n->n;
	}
	for (i = 0; i <= n->n; i++) {
		int below = check_node(n->kid[i], depth - 1, i ? n->key[i - 1] : from, i < n->n ? n->key[i] : to);
		if (below < 0)
			return -1;
		sum += below;
	}
	return sum;
}

int tree_check(void)
{
	leaf_before = NULL;
	return check_node(tree->root, tree->height, 0, 1 << 30) == tree->count && leaf_before->next == NULL;
}

#define INSERT add
#define DELETE drop
#define CHECK tree_check
#include "workload.h"
