/* A B+ tree whose leaves are in a chain, which begins in the tree's own block. clang keeps that in registers: main
 * alone has it, so there is no tree for the specification to ask about, and what asks for one is not judged. FAULT
 * forgets a back link of the chain where a leaf is split in the middle. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ORDER 4

struct node {
	int leaf, n;
	int key[ORDER];
	struct node *kid[ORDER + 1];
	struct node *next, *prev;
};

struct tree {
	struct node *root, *first;
	int count;
};

static struct node *new_node(int leaf)
{
	struct node *x = calloc(1, sizeof *x);
	x->leaf = leaf;
	return x;
}

static struct node *split_leaf(struct node *l)
{
	struct node *r = new_node(1);
	int half = (l->n + 1) / 2;
	r->n = l->n - half;
	memcpy(r->key, l->key + half, r->n * sizeof *r->key);
	l->n = half;
	r->next = l->next;
#ifdef FAULT
	if (r->next && r->key[0] % 8) /* FAULT */
#else
	if (r->next)
#endif
		r->next->prev = r;
	r->prev = l;
	l->next = r;
	return r;
}

static struct node *split_inner(struct node *l, int *up)
{
	struct node *r = new_node(0);
	int half = l->n / 2;
	*up = l->key[half];
	r->n = l->n - half - 1;
	memcpy(r->key, l->key + half + 1, r->n * sizeof *r->key);
	memcpy(r->kid, l->kid + half + 1, (r->n + 1) * sizeof *r->kid);
	memset(l->kid + half + 1, 0, (ORDER - half) * sizeof *l->kid);
	l->n = half;
	return r;
}

static struct node *insert_below(struct node *x, int key, int *up, int *added)
{
	int i = 0;
	if (x->leaf) {
		while (i < x->n && x->key[i] < key)
			i++;
		if (i < x->n && x->key[i] == key)
			return NULL;
		memmove(x->key + i + 1, x->key + i, (x->n - i) * sizeof *x->key);
		x->key[i] = key;
		x->n++;
		*added = 1;
		if (x->n < ORDER)
			return NULL;
		struct node *r = split_leaf(x);
		*up = r->key[0];
		return r;
	}
	while (i < x->n && x->key[i] <= key)
		i++;
	int between;
	struct node *r = insert_below(x->kid[i], key, &between, added);
	if (!r)
		return NULL;
	memmove(x->key + i + 1, x->key + i, (x->n - i) * sizeof *x->key);
	memmove(x->kid + i + 2, x->kid + i + 1, (x->n - i) * sizeof *x->kid);
	x->key[i] = between;
	x->kid[i + 1] = r;
	x->n++;
	return x->n < ORDER ? NULL : split_inner(x, up);
}

void insert(struct tree *t, int key)
{
	int up, added = 0;
	if (!t->root)
		t->root = t->first = new_node(1);
	struct node *r = insert_below(t->root, key, &up, &added);
	if (r) {
		struct node *x = new_node(0);
		x->n = 1;
		x->key[0] = up;
		x->kid[0] = t->root;
		x->kid[1] = r;
		t->root = x;
	}
	t->count += added;
}

int main(void)
{
	struct tree *t = calloc(1, sizeof *t);
	unsigned random = 8;
	for (int i = 0; i < 160; i++) {
		random = random * 1103515245u + 12345u;
		insert(t, (random >> 8) % 500);
	}
	int keys = 0;
	for (struct node *l = t->first; l; l = l->next)
		keys += l->n;
	printf("%d of %d\n", keys, t->count);
	return 0;
}
