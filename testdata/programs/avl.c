/*
 * An AVL tree with recursive insertion.
 * FAULT: the left rotation gives the wrong subtree to the old root, which
 * loses a node and shortens one side.
 */
#include <stdio.h>
#include <stdlib.h>

struct avltree {
	int val;
	int height;
	struct avltree *right, *left;
};

static struct avltree *root;

static int height(struct avltree *t) { return t ? t->height : 0; }

static void update(struct avltree *t)
{
	int l = height(t->left), r = height(t->right);
	t->height = (l > r ? l : r) + 1;
}

static struct avltree *rotate_right(struct avltree *t)
{
	struct avltree *l = t->left;
	t->left = l->right;
	l->right = t;
	update(t);
	update(l);
	return l;
}

static struct avltree *rotate_left(struct avltree *t)
{
	struct avltree *r = t->right;
#ifdef FAULT
	t->right = r->right; /* FAULT */
#else
	t->right = r->left;
#endif
	r->left = t;
	update(t);
	update(r);
	return r;
}

struct avltree *avl_insert(struct avltree *t, int val)
{
	if (!t) {
		t = malloc(sizeof *t);
		t->val = val;
		t->height = 1;
		t->left = t->right = NULL;
		return t;
	}
	if (val < t->val)
		t->left = avl_insert(t->left, val);
	else if (val > t->val)
		t->right = avl_insert(t->right, val);
	else
		return t;
	update(t);
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

void add(int val) { root = avl_insert(root, val); }

static int count(struct avltree *t, int depth)
{
	return t && depth < 64 ? 1 + count(t->left, depth + 1) + count(t->right, depth + 1) : 0;
}

int main(void)
{
	for (int i = 0; i < 20; i++)
		add(i * 37 % 101);
	printf("%d\n", count(root, 0) > 0);
	return 0;
}
