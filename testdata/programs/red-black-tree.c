/* spec: ../specs/red-black-tree.cons */
/*
 * A left-leaning red-black tree without parent pointers, after Sedgewick.
 * FAULT: a rotation to the left makes the new root black, instead of giving it
 * the colour of the old one.
 */
#include <stdio.h>
#include <stdlib.h>

enum color { RED, BLACK };

struct rbtree {
	int key;
	enum color color;
	struct rbtree *left, *right;
};

static struct rbtree *root;

static int is_red(const struct rbtree *n) { return n && n->color == RED; }

static struct rbtree *rotate_left(struct rbtree *n)
{
	struct rbtree *r = n->right;
	n->right = r->left;
	r->left = n;
#ifdef FAULT
	r->color = BLACK; /* FAULT */
#else
	r->color = n->color;
#endif
	n->color = RED;
	return r;
}

static struct rbtree *rotate_right(struct rbtree *n)
{
	struct rbtree *l = n->left;
	n->left = l->right;
	l->right = n;
	l->color = n->color;
	n->color = RED;
	return l;
}

static struct rbtree *insert(struct rbtree *n, int key)
{
	if (!n) {
		n = malloc(sizeof *n);
		n->key = key;
		n->color = RED;
		n->left = n->right = NULL;
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
		n->color = RED;
		n->left->color = n->right->color = BLACK;
	}
	return n;
}

int main(void)
{
	for (int key = 10; key <= 80; key += 10) {
		root = insert(root, key);
		root->color = BLACK;
	}
	root = insert(root, 75);
	root = insert(root, 72);
	root->color = BLACK;
	printf("%d\n", root->key);
	return 0;
}
