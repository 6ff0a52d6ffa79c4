/* spec: ../specs/btree-order.cons */
/*
 * A B-tree of minimum degree 3 that is split on the way down, after Cormen et
 * al.
 * FAULT: splitting a full child copies its upper keys from one place too early,
 * so that the key that went up stays in the right half as well.
 */
#include <stdio.h>
#include <stdlib.h>

enum { T = 3 };

struct btnode {
	int leaf;
	int n;
	int key[2 * T - 1];
	struct btnode *child[2 * T];
};

static struct btnode *root;

static struct btnode *new_node(int leaf)
{
	struct btnode *x = malloc(sizeof *x);
	x->leaf = leaf;
	x->n = 0;
	return x;
}

/* Splits the full i-th child of x. */
static void split_child(struct btnode *x, int i)
{
	struct btnode *y = x->child[i], *z = new_node(y->leaf);
	for (int j = 0; j < T - 1; j++)
#ifdef FAULT
		z->key[j] = y->key[j + T - 1]; /* FAULT */
#else
		z->key[j] = y->key[j + T];
#endif
	if (!y->leaf)
		for (int j = 0; j < T; j++)
			z->child[j] = y->child[j + T];
	z->n = T - 1;
	y->n = T - 1;
	for (int j = x->n; j > i; j--) {
		x->child[j + 1] = x->child[j];
		x->key[j] = x->key[j - 1];
	}
	x->child[i + 1] = z;
	x->key[i] = y->key[T - 1];
	x->n++;
}

static void insert_nonfull(struct btnode *x, int key)
{
	int i = x->n;
	if (x->leaf) {
		for (; i > 0 && key < x->key[i - 1]; i--)
			x->key[i] = x->key[i - 1];
		x->key[i] = key;
		x->n++;
		return;
	}
	while (i > 0 && key < x->key[i - 1])
		i--;
	if (x->child[i]->n == 2 * T - 1) {
		split_child(x, i);
		if (key > x->key[i])
			i++;
	}
	insert_nonfull(x->child[i], key);
}

void bt_insert(int key)
{
	if (!root)
		root = new_node(1);
	if (root->n == 2 * T - 1) {
		struct btnode *s = new_node(0);
		s->child[0] = root;
		root = s;
		split_child(s, 0);
	}
	insert_nonfull(root, key);
}

int main(void)
{
	for (int i = 0; i < 40; i++)
		bt_insert(i * 37 % 101);
	printf("%d\n", root->n > 0);
	return 0;
}
