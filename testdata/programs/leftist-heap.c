/* spec: ../specs/leftist-heap.cons */
/*
 * A leftist heap: everything is a merge along the right spine.
 * FAULT: a merge stores the rank of the longer way down, by the left child,
 * where the shorter one counts.
 */
#include <stdio.h>
#include <stdlib.h>

struct lheap {
	int key;
	int rank;
	struct lheap *left, *right;
};

static int rank(const struct lheap *h) { return h ? h->rank : 0; }

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
	if (rank(a->left) < rank(a->right)) {
		struct lheap *t = a->left;
		a->left = a->right;
		a->right = t;
	}
#ifdef FAULT
	a->rank = rank(a->left) + 1; /* FAULT */
#else
	a->rank = rank(a->right) + 1;
#endif
	return a;
}

static struct lheap *push(struct lheap *h, int key)
{
	struct lheap *n = malloc(sizeof *n);
	n->key = key;
	n->rank = 1;
	n->left = n->right = NULL;
	return merge(h, n);
}

static struct lheap *pop(struct lheap *h)
{
	struct lheap *rest = merge(h->left, h->right);
	free(h);
	return rest;
}

int main(void)
{
	struct lheap *h = NULL;
	for (int i = 0; i < 20; i++)
		h = push(h, i * 37 % 101);
	for (int i = 0; i < 5; i++)
		h = pop(h);
	printf("%d\n", h->key);
	return 0;
}
