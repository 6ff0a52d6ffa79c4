/*
 * A red-black tree with parent pointers and NULL for nil, with insertion and
 * deletion after Cormen et al.
 */
#include <stdio.h>
#include <stdlib.h>

enum colour { RED, BLACK };

struct rb {
	int key;
	enum colour colour;
	struct rb *left, *right, *parent;
};

struct tree {
	struct rb *root;
	int size;
};

static struct tree tree;

static struct rb *new_node(int key)
{
	struct rb *n = malloc(sizeof *n);
	if (!n) {
		perror("malloc");
		exit(1);
	}
	n->key = key;
	n->colour = RED;
	n->left = NULL;
	n->right = NULL;
	n->parent = NULL;
	return n;
}

static int is_red(const struct rb *n)
{
	return n && n->colour == RED;
}

/* Puts by where n is below n's parent. */
static void transplant(struct rb *n, struct rb *by)
{
	if (!n->parent)
		tree.root = by;
	else if (n == n->parent->left)
		n->parent->left = by;
	else
		n->parent->right = by;
	if (by)
		by->parent = n->parent;
}

static void rotate_left(struct rb *x)
{
	struct rb *y = x->right;
	x->right = y->left;
	if (y->left)
		y->left->parent = x;
	transplant(x, y);
	y->left = x;
	x->parent = y;
}

static void rotate_right(struct rb *x)
{
	struct rb *y = x->left;
	x->left = y->right;
	if (y->right)
		y->right->parent = x;
	transplant(x, y);
	y->right = x;
	x->parent = y;
}

static void fix_insert(struct rb *z)
{
	while (is_red(z->parent)) {
		struct rb *p = z->parent, *g = p->parent;
		if (p == g->left) {
			struct rb *uncle = g->right;
			if (is_red(uncle)) {
				p->colour = BLACK;
				uncle->colour = BLACK;
				g->colour = RED;
				z = g;
				continue;
			}
			if (z == p->right) {
				z = p;
				rotate_left(z);
				p = z->parent;
			}
			p->colour = BLACK;
			g->colour = RED;
			rotate_right(g);
		} else {
			struct rb *uncle = g->left;
			if (is_red(uncle)) {
				p->colour = BLACK;
				uncle->colour = BLACK;
				g->colour = RED;
				z = g;
				continue;
			}
			if (z == p->left) {
				z = p;
				rotate_right(z);
				p = z->parent;
			}
			p->colour = BLACK;
			g->colour = RED;
			rotate_left(g);
		}
	}
	tree.root->colour = BLACK;
}

void rb_insert(int key)
{
	struct rb *z, *p = NULL, *x = tree.root;
	while (x) {
		if (x->key == key)
			return;
		p = x;
		x = key < x->key ? x->left : x->right;
	}
	z = new_node(key);
	z->parent = p;
	if (!p)
		tree.root = z;
	else if (key < p->key)
		p->left = z;
	else
		p->right = z;
	tree.size++;
	fix_insert(z);
}

/* x, a child of p or NULL, lacks one black. */
static void fix_delete(struct rb *x, struct rb *p)
{
	while (p && !is_red(x)) {
		struct rb *w;
		if (x == p->left) {
			w = p->right;
			if (is_red(w)) {
				w->colour = BLACK;
				p->colour = RED;
				rotate_left(p);
				w = p->right;
			}
			if (!is_red(w->left) && !is_red(w->right)) {
				w->colour = RED;
				x = p;
				p = x->parent;
				continue;
			}
			if (!is_red(w->right)) {
				w->left->colour = BLACK;
				w->colour = RED;
				rotate_right(w);
				w = p->right;
			}
			w->colour = p->colour;
			p->colour = BLACK;
			w->right->colour = BLACK;
			rotate_left(p);
		} else {
			w = p->left;
			if (is_red(w)) {
				w->colour = BLACK;
				p->colour = RED;
				rotate_right(p);
				w = p->left;
			}
			if (!is_red(w->left) && !is_red(w->right)) {
				w->colour = RED;
				x = p;
				p = x->parent;
				continue;
			}
			if (!is_red(w->left)) {
				w->right->colour = BLACK;
				w->colour = RED;
				rotate_left(w);
				w = p->left;
			}
			w->colour = p->colour;
			p->colour = BLACK;
			w->left->colour = BLACK;
			rotate_right(p);
		}
		x = tree.root;
		p = NULL;
	}
	if (x)
		x->colour = BLACK;
}

static struct rb *find(int key)
{
	struct rb *n = tree.root;
	while (n && n->key != key)
		n = key < n->key ? n->left : n->right;
	return n;
}

void rb_delete(int key)
{
	struct rb *z = find(key), *x, *p;
	enum colour removed;
	if (!z)
		return;
	removed = z->colour;
	if (!z->left) {
		x = z->right;
		p = z->parent;
		transplant(z, x);
	} else if (!z->right) {
		x = z->left;
		p = z->parent;
		transplant(z, x);
	} else {
		struct rb *y = z->right;
		while (y->left)
			y = y->left;
		removed = y->colour;
		x = y->right;
		if (y->parent == z) {
			p = y;
		} else {
			p = y->parent;
			transplant(y, x);
			y->right = z->right;
			y->right->parent = y;
		}
		transplant(z, y);
		y->left = z->left;
		y->left->parent = y;
		y->colour = z->colour;
	}
	tree.size--;
	free(z);
	if (removed == BLACK)
		fix_delete(x, p);
}

/* The judge's own view: the black height, -1 if something is wrong. */
static int check_below(const struct rb *n, const struct rb *parent, int low, int high, int depth, int *count)
{
	int l, r;
	if (!n)
		return 1;
	if (depth > 64 || n->parent != parent || n->key <= low || n->key >= high)
		return -1;
	if (is_red(n) && (is_red(n->left) || is_red(n->right)))
		return -1;
	++*count;
	l = check_below(n->left, n, low, n->key, depth + 1, count);
	r = check_below(n->right, n, n->key, high, depth + 1, count);
	if (l < 0 || l != r)
		return -1;
	return l + (n->colour == BLACK);
}

static int workload_size(void);

int rb_check(void)
{
	int count = 0;
	if (check_below(tree.root, NULL, -1, 1 << 30, 0, &count) < 0 || is_red(tree.root))
		return 0;
	return count == tree.size && count == workload_size();
}

#define INSERT rb_insert
#define DELETE rb_delete
#define CHECK rb_check
#include "workload.h"

static int workload_size(void)
{
	return workload_count;
}
