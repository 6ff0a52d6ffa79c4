/*
 * An AVL tree with stored heights, recursive.
 */
#include <stdio.h>
#include <stdlib.h>

struct avltree {
	int val;
	int height;
	struct avltree *left, *right;
};

static struct avltree *root;

static struct avltree *new_node(int val)
{
	struct avltree *t = malloc(sizeof *t);
	if (!t) {
		perror("malloc");
		exit(1);
	}
	t->val = val;
	t->height = 1;
	t->left = NULL;
	t->right = NULL;
	return t;
}

static int height(const struct avltree *t)
{
	return t ? t->height : 0;
}

static int balance(const struct avltree *t)
{
	return height(t->left) - height(t->right);
}

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
	t->right = r->left;
	r->left = t;
	update(t);
	update(r);
	return r;
}

/* Left child's right rises two levels. */
static struct avltree *rotate_left_right(struct avltree *t)
{
	struct avltree *l = t->left, *m = l->right;
	l->right = m->left;
	t->left = m->right;
	m->left = l;
	m->right = t;
	update(l);
	update(t);
	update(m);
	return m;
}

static struct avltree *rotate_right_left(struct avltree *t)
{
	struct avltree *r = t->right, *m = r->left;
	r->left = m->right;
	t->right = m->left;
	m->right = r;
	m->left = t;
	update(r);
	update(t);
	update(m);
	return m;
}

static struct avltree *rebalance(struct avltree *t)
{
	update(t);
	if (balance(t) > 1) {
		if (balance(t->left) < 0)
			return rotate_left_right(t);
		return rotate_right(t);
	}
	if (balance(t) < -1) {
		if (balance(t->right) > 0)
			return rotate_right_left(t);
		return rotate_left(t);
	}
	return t;
}

static struct avltree *insert(struct avltree *t, int val)
{
	if (!t)
		return new_node(val);
	if (val < t->val)
		t->left = insert(t->left, val);
	else if (val > t->val)
		t->right = insert(t->right, val);
	else
		return t;
	return rebalance(t);
}

/* Takes the least node out of t and returns it through least. */
static struct avltree *take_least(struct avltree *t, struct avltree **least)
{
	if (!t->left) {
		*least = t;
		return t->right;
	}
	t->left = take_least(t->left, least);
	return rebalance(t);
}

static struct avltree *delete(struct avltree *t, int val)
{
	struct avltree *heir;
	if (!t)
		return NULL;
	if (val < t->val) {
		t->left = delete(t->left, val);
	} else if (val > t->val) {
		t->right = delete(t->right, val);
	} else {
		struct avltree *left = t->left, *right = t->right;
		if (!left || !right) {
			free(t);
			return left ? left : right;
		}
		right = take_least(right, &heir);
		heir->left = left;
		heir->right = right;
		free(t);
		t = heir;
	}
	return rebalance(t);
}

void avl_insert(int val)
{
	root = insert(root, val);
}

void avl_delete(int val)
{
	root = delete(root, val);
}

/* The judge's own view: the height, -1 if something is wrong. */
static int check_below(const struct avltree *t, int low, int high, int depth)
{
	int l, r;
	if (!t)
		return 0;
	if (depth > 64 || t->val <= low || t->val >= high)
		return -1;
	l = check_below(t->left, low, t->val, depth + 1);
	r = check_below(t->right, t->val, high, depth + 1);
	if (l < 0 || r < 0 || l - r > 1 || r - l > 1)
		return -1;
	return t->height == (l > r ? l : r) + 1 ? t->height : -1;
}

static int size(const struct avltree *t, int depth)
{
	return t && depth < 64 ? size(t->left, depth + 1) + size(t->right, depth + 1) + 1 : 0;
}

static int workload_size(void);

int avl_check(void)
{
	return check_below(root, -1, 1 << 30, 0) >= 0 && size(root, 0) == workload_size();
}

#define INSERT avl_insert
#define DELETE avl_delete
#define CHECK avl_check
#include "workload.h"

static int workload_size(void)
{
	return workload_count;
}
