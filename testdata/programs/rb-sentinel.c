/* spec: ../specs/rb-sentinel.cons */
/* build: gcc -no-pie */
/*
 * A red-black tree with parent pointers and a static sentinel, insertion and
 * deletion after Cormen et al.
 * FAULT: the node that takes a deleted node's place is painted black, instead
 * of in the deleted node's colour.
 */
#include <stdio.h>
#include <stdlib.h>

enum color { RED, BLACK };

struct rb {
	int key;
	enum color color;
	struct rb *left, *right, *parent;
};

static struct rb rb_nil = { 0, BLACK, &rb_nil, &rb_nil, &rb_nil };
static struct rb *root = &rb_nil;

static struct rb *child(const struct rb *n, int left) { return left ? n->left : n->right; }

static void replace(struct rb *u, struct rb *v)
{
	if (u->parent == &rb_nil)
		root = v;
	else if (u == u->parent->left)
		u->parent->left = v;
	else
		u->parent->right = v;
	v->parent = u->parent;
}

static void rotate(struct rb *x, int to_left)
{
	struct rb *y = child(x, !to_left), *mid = child(y, to_left);
	if (to_left)
		x->right = mid;
	else
		x->left = mid;
	if (mid != &rb_nil)
		mid->parent = x;
	replace(x, y);
	if (to_left)
		y->left = x;
	else
		y->right = x;
	x->parent = y;
}

void rb_insert(int key)
{
	struct rb *z = malloc(sizeof *z), *p = &rb_nil, *x = root;
	while (x != &rb_nil) {
		p = x;
		x = child(x, key < x->key);
	}
	*z = (struct rb){ key, RED, &rb_nil, &rb_nil, p };
	if (p == &rb_nil)
		root = z;
	else if (key < p->key)
		p->left = z;
	else
		p->right = z;
	while (z->parent->color == RED) {
		struct rb *grand = z->parent->parent;
		int left = z->parent == grand->left;
		struct rb *uncle = child(grand, !left);
		grand->color = RED;
		if (uncle->color == RED) {
			z->parent->color = BLACK;
			uncle->color = BLACK;
			z = grand;
			continue;
		}
		if (z == child(z->parent, !left)) {
			z = z->parent;
			rotate(z, left);
		}
		z->parent->color = BLACK;
		rotate(grand, !left);
	}
	root->color = BLACK;
}

/* x has one black less above it than its sibling. */
static void delete_fixup(struct rb *x)
{
	while (x != root && x->color == BLACK) {
		struct rb *p = x->parent;
		int left = x == p->left;
		struct rb *w = child(p, !left);
		if (w->color == RED) {
			w->color = BLACK;
			p->color = RED;
			rotate(p, left);
			w = child(p, !left);
		}
		if (w->left->color == BLACK && w->right->color == BLACK) {
			w->color = RED;
			x = p;
			continue;
		}
		if (child(w, !left)->color == BLACK) {
			child(w, left)->color = BLACK;
			w->color = RED;
			rotate(w, !left);
			w = child(p, !left);
		}
		w->color = p->color;
		p->color = BLACK;
		child(w, !left)->color = BLACK;
		rotate(p, left);
		x = root;
	}
	x->color = BLACK;
}

void rb_delete(int key)
{
	struct rb *z = root, *x, *y;
	while (z != &rb_nil && z->key != key)
		z = child(z, key < z->key);
	if (z == &rb_nil)
		return;
	enum color lost = z->color;
	if (z->left == &rb_nil || z->right == &rb_nil) {
		x = child(z, z->left != &rb_nil);
		replace(z, x);
	} else {
		for (y = z->right; y->left != &rb_nil; y = y->left)
			;
		lost = y->color;
		x = y->right;
		if (y->parent == z) {
			x->parent = y;
		} else {
			replace(y, x);
			y->right = z->right;
			y->right->parent = y;
		}
		replace(z, y);
		y->left = z->left;
		y->left->parent = y;
#ifdef FAULT
		y->color = BLACK; /* FAULT */
#else
		y->color = z->color;
#endif
	}
	free(z);
	if (lost == BLACK)
		delete_fixup(x);
}

int main(void)
{
	for (int i = 0; i < 40; i++)
		rb_insert(i * 37 % 101);
	for (int i = 0; i < 30; i++)
		rb_delete(i * 37 % 101);
	printf("%d\n", root->color);
	return 0;
}
