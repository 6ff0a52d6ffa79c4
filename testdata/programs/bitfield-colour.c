/* spec: ../specs/bitfield-colour.cons */
/*
 * A left-leaning red-black tree that counts visits beside the colour bit.
 * FAULT: a visit is counted on the whole word, for speed, and so in the colour.
 */
#include <stdio.h>
#include <stdlib.h>

struct bfnode {
	int key;
	unsigned red : 1;
	unsigned visits : 31;
	struct bfnode *left, *right;
};

static struct bfnode *root;

static int is_red(const struct bfnode *n) { return n && n->red; }

static struct bfnode *rotate_left(struct bfnode *n)
{
	struct bfnode *r = n->right;
	n->right = r->left;
	r->left = n;
	r->red = n->red;
	n->red = 1;
	return r;
}

static struct bfnode *rotate_right(struct bfnode *n)
{
	struct bfnode *l = n->left;
	n->left = l->right;
	l->right = n;
	l->red = n->red;
	n->red = 1;
	return l;
}

static struct bfnode *insert(struct bfnode *n, int key)
{
	if (!n) {
		n = calloc(1, sizeof *n);
		n->key = key;
		n->red = 1;
		return n;
	}
	if (key < n->key)
		n->left = insert(n->left, key);
	else
		n->right = insert(n->right, key);
	if (is_red(n->right) && !is_red(n->left))
		n = rotate_left(n);
	if (is_red(n->left) && is_red(n->left->left))
		n = rotate_right(n);
	if (is_red(n->left) && is_red(n->right)) {
		n->red = 1;
		n->left->red = n->right->red = 0;
	}
	return n;
}

void bf_insert(int key)
{
	root = insert(root, key);
	root->red = 0;
}

static void visit(int key)
{
	struct bfnode *n = root;
	while (n && n->key != key)
		n = key < n->key ? n->left : n->right;
	if (!n)
		return;
#ifdef FAULT
	((unsigned *)n)[1] += 1; /* FAULT */
#else
	n->visits++;
#endif
}

int main(void)
{
	for (int key = 10; key <= 100; key += 10)
		bf_insert(key);
	visit(30);
	bf_insert(1000);
	printf("%d\n", root->key);
	return 0;
}
