/*
 * A red-black tree with parent pointers and a static sentinel for nil, after
 * Cormen et al.
 * FAULT: the recolouring of the uncle is skipped once the tree has grown.
 */
#include <stdio.h>
#include <stdlib.h>

enum colour { RED, BLACK };

struct rb {
	int key;
	enum colour color;
	struct rb *left, *right, *parent;
};

static struct rb rb_nil = { 0, BLACK, &rb_nil, &rb_nil, &rb_nil };
static struct rb *root = &rb_nil;

static void rotate(struct rb *x, int to_left)
{
	struct rb *y = to_left ? x->right : x->left;
	struct rb *mid = to_left ? y->left : y->right;
	if (to_left)
		x->right = mid;
	else
		x->left = mid;
	if (mid != &rb_nil)
		mid->parent = x;
	y->parent = x->parent;
	if (x->parent == &rb_nil)
		root = y;
	else if (x == x->parent->left)
		x->parent->left = y;
	else
		x->parent->right = y;
	if (to_left)
		y->left = x;
	else
		y->right = x;
	x->parent = y;
}

static void fixup(struct rb *z, int nth)
{
	(void)nth;
	while (z->parent->color == RED) {
		struct rb *grand = z->parent->parent;
		int left = z->parent == grand->left;
		struct rb *uncle = left ? grand->right : grand->left;
		if (uncle->color == RED) {
			z->parent->color = BLACK;
#ifdef FAULT
			if (nth < 12)
#endif
			uncle->color = BLACK; /* FAULT */
			grand->color = RED;
			z = grand;
		} else {
			if (z == (left ? z->parent->right : z->parent->left)) {
				z = z->parent;
				rotate(z, left);
			}
			z->parent->color = BLACK;
			grand->color = RED;
			rotate(grand, !left);
		}
	}
	root->color = BLACK;
}

void rb_insert(int key)
{
	static int n;
	struct rb *z = malloc(sizeof *z), *p = &rb_nil, *x = root;
	while (x != &rb_nil) {
		p = x;
		x = key < x->key ? x->left : x->right;
	}
	z->key = key;
	z->left = z->right = &rb_nil;
	z->parent = p;
	z->color = RED;
	if (p == &rb_nil)
		root = z;
	else if (key < p->key)
		p->left = z;
	else
		p->right = z;
	fixup(z, n++);
}

int main(void)
{
	for (int i = 0; i < 30; i++)
		rb_insert(i * 37 % 101);
	printf("%d\n", root->color);
	return 0;
}
