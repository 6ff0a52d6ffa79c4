/* spec: ../specs/avl-recursive.cons */
/*
 * An AVL tree with recursive insertion, which is balanced again only when the
 * outermost call returns.
 * FAULT: a right rotation gives the old root the height of the new one.
 */
#include <stdio.h>
#include <stdlib.h>

struct avltree {
	int val;
	int height;
	struct avltree *right, *left;
};

static struct avltree *root;

static int height(const struct avltree *t) { return t ? t->height : 0; }

static int measure(const struct avltree *t)
{
	int l = height(t->left), r = height(t->right);
	return (l > r ? l : r) + 1;
}

static struct avltree *rotate_right(struct avltree *t)
{
	struct avltree *l = t->left;
	t->left = l->right;
	l->right = t;
#ifdef FAULT
	t->height = measure(l); /* FAULT */
#else
	t->height = measure(t);
#endif
	l->height = measure(l);
	return l;
}

static struct avltree *rotate_left(struct avltree *t)
{
	struct avltree *r = t->right;
	t->right = r->left;
	r->left = t;
	t->height = measure(t);
	r->height = measure(r);
	return r;
}

struct avltree *avl_insert(struct avltree *t, int val)
{
	if (!t) {
		t = calloc(1, sizeof *t);
		t->val = val;
		t->height = 1;
		return t;
	}
	if (val < t->val)
		t->left = avl_insert(t->left, val);
	else
		t->right = avl_insert(t->right, val);
	t->height = measure(t);
	int balance = height(t->left) - height(t->right);
	if (balance > 1) {
		if (val > t->left->val)
			t->left = rotate_left(t->left);
		return rotate_right(t);
	}
	if (balance < -1) {
		if (val < t->right->val)
			t->right = rotate_right(t->right);
		return rotate_left(t);
	}
	return t;
}

int main(void)
{
	for (int i = 0; i < 30; i++)
		root = avl_insert(root, i * 63 % 101);
	printf("%d\n", root->val);
	return 0;
}
