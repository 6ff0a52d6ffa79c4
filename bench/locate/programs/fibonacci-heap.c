/* A Fibonacci heap: rings of children, marks, and keys that become smaller. */
#include <limits.h>
#include <stdlib.h>

typedef struct fnode fnode;

struct fnode {
	int key;
	int degree;
	int mark;
	fnode *parent, *child;
	fnode *left, *right;
};

typedef struct {
	fnode *min;
	int n;
} fheap;

enum { MAX_DEGREE = 32 };

static fheap heap;

static void ring_insert(fnode *at, fnode *x)
{
	x->left = at;
	x->right = at->right;
	at->right->left = x;
	at->right = x;
}

static void ring_remove(fnode *x)
{
	x->left->right = x->right;
	x->right->left = x->left;
}

static void add_root(fheap *h, fnode *x)
{
	x->parent = NULL;
	if (h->min == NULL) {
		x->left = x->right = x;
		h->min = x;
		return;
	}
	ring_insert(h->min, x);
	if (x->key < h->min->key)
		h->min = x;
}

fnode *heap_insert(fheap *h, int key)
{
	fnode *x = malloc(sizeof(*x));
	x->key = key;
	x->degree = 0;
	x->mark = 0;
	x->child = NULL;
	add_root(h, x);
	h->n++;
	return x;
}

static void link_under(fnode *y, fnode *x)
{
	ring_remove(y);
	y->parent = x;
	if (x->child == NULL) {
		x->child = y;
		y->left = y->right = y;
	} else {
		ring_insert(x->child, y);
	}
	x->degree++;
	y->mark = 0;
}

static void consolidate(fheap *h)
{
	fnode *by[MAX_DEGREE], *x, *next, *last;
	int i, done = 0;
	for (i = 0; i < MAX_DEGREE; i++)
		by[i] = NULL;
	last = h->min->left;
	for (x = h->min; !done; x = next) {
		fnode *y, *t;
		next = x->right;
		done = x == last;
		while ((y = by[x->degree]) != NULL) {
			by[x->degree] = NULL;
			if (y->key < x->key) {
				t = x;
				x = y;
				y = t;
			}
			link_under(y, x);
		}
		by[x->degree] = x;
	}
	h->min = NULL;
	for (i = 0; i < MAX_DEGREE; i++)
		if (by[i] != NULL && (h->min == NULL || by[i]->key < h->min->key))
			h->min = by[i];
}

int heap_extract(fheap *h)
{
	fnode *z = h->min, *c;
	int key = z->key;
	while ((c = z->child) != NULL) {
		z->child = c->right != c ? c->right : NULL;
		ring_remove(c);
		c->mark = 0;
		c->parent = NULL;
		ring_insert(z, c);
	}
	if (z->right == z) {
		h->min = NULL;
	} else {
		ring_remove(z);
		h->min = z->right;
		consolidate(h);
	}
	h->n--;
	free(z);
	return key;
}

static void cut(fheap *h, fnode *x, fnode *from)
{
	if (from->child == x)
		from->child = x->right != x ? x->right : NULL;
	from->degree--;
	ring_remove(x);
	add_root(h, x);
	x->mark = 0;
}

void heap_decrease(fheap *h, fnode *x, int key)
{
	fnode *y = x->parent, *z;
	x->key = key;
	if (y != NULL && x->key < y->key) {
		cut(h, x, y);
		while ((z = y->parent) != NULL) {
			if (!y->mark) {
				y->mark = 1;
				break;
			}
			cut(h, y, z);
			y = z;
		}
	}
	if (x->key < h->min->key)
		h->min = x;
}

static fnode *handles[100000];

static void put(int key)
{
	handles[key] = heap_insert(&heap, key);
}

static void drop(int key)
{
	heap_decrease(&heap, handles[key], INT_MIN);
	heap_extract(&heap);
	handles[key] = NULL;
}

/* The judge's own view: nodes in the ring, -1 if something is wrong. */
static int check_ring(const fnode *first, const fnode *parent, int depth)
{
	const fnode *x = first;
	int n = 0, ring = 0;
	if (first == NULL)
		return parent == NULL || parent->degree == 0 ? 0 : -1;
	if (depth > 40)
		return -1;
	do {
		int below;
		if (x == NULL || x->right == NULL || x->right->left != x || x->parent != parent)
			return -1;
		if (parent ? x->key < parent->key : x->key < heap.min->key || x->mark)
			return -1;
		if ((below = check_ring(x->child, x, depth + 1)) < 0)
			return -1;
		n += 1 + below;
		ring++;
		if (n > heap.n)
			return -1;
		x = x->right;
	} while (x != first);
	if (parent && parent->degree != ring)
		return -1;
	return n;
}

int heap_check(void)
{
	return check_ring(heap.min, NULL, 0) == heap.n;
}

#define INSERT put
#define DELETE drop
#define CHECK heap_check
#include "workload.h"
