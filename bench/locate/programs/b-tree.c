/*
 * A B tree of minimum degree 3: a node has two to five keys, the root may have
 * one; an inner node has one child more than keys.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { T = 3, KEYS = 2 * T - 1 };

struct btree {
	int count;
	int leaf;
	int key[KEYS];
	struct btree *child[KEYS + 1];
};

static struct btree *root;

static struct btree *new_node(int leaf)
{
	struct btree *n = calloc(1, sizeof *n);
	if (!n) {
		perror("calloc");
		exit(1);
	}
	n->leaf = leaf;
	return n;
}

/* Where key is in n, or in which child it would be. */
static int position(const struct btree *n, int key)
{
	int i = 0;
	while (i < n->count && n->key[i] < key)
		i++;
	return i;
}

/* Makes room for a key at i, and for a child behind it. */
static void open_gap(struct btree *n, int i)
{
	for (int k = n->count; k > i; k--) {
		n->key[k] = n->key[k - 1];
		n->child[k + 1] = n->child[k];
	}
	n->count++;
}

/* Closes the gap of key i and of the child behind it. */
static void close_gap(struct btree *n, int i)
{
	n->count--;
	for (int k = i; k < n->count; k++) {
		n->key[k] = n->key[k + 1];
		n->child[k + 1] = n->child[k + 2];
	}
	n->key[n->count] = 0;
	n->child[n->count + 1] = NULL;
}

/* Splits the full child i of n. */
static void split_child(struct btree *n, int i)
{
	struct btree *left = n->child[i], *right = new_node(left->leaf);
	for (int k = 0; k < T - 1; k++) {
		right->key[k] = left->key[k + T];
		left->key[k + T] = 0;
	}
	if (!left->leaf) {
		for (int k = 0; k < T; k++) {
			right->child[k] = left->child[k + T];
			left->child[k + T] = NULL;
		}
	}
	right->count = T - 1;
	open_gap(n, i);
	n->key[i] = left->key[T - 1];
	n->child[i + 1] = right;
	left->key[T - 1] = 0;
	left->count = T - 1;
}

static void insert_below(struct btree *n, int key)
{
	int i = position(n, key);
	while (!n->leaf) {
		if (n->child[i]->count == KEYS) {
			split_child(n, i);
			if (key > n->key[i])
				i++;
		}
		n = n->child[i];
		i = position(n, key);
	}
	open_gap(n, i);
	n->key[i] = key;
}

void btree_insert(int key)
{
	if (!root)
		root = new_node(1);
	if (root->count == KEYS) {
		struct btree *top = new_node(0);
		top->child[0] = root;
		root = top;
		split_child(top, 0);
	}
	insert_below(root, key);
}

/* Moves a key from child i - 1 over the separator to child i. */
static void borrow_left(struct btree *n, int i)
{
	struct btree *c = n->child[i], *from = n->child[i - 1];
	for (int k = c->count; k > 0; k--)
		c->key[k] = c->key[k - 1];
	c->key[0] = n->key[i - 1];
	if (!c->leaf) {
		for (int k = c->count + 1; k > 0; k--)
			c->child[k] = c->child[k - 1];
		c->child[0] = from->child[from->count];
		from->child[from->count] = NULL;
	}
	c->count++;
	from->count--;
	n->key[i - 1] = from->key[from->count];
	from->key[from->count] = 0;
}

static void borrow_right(struct btree *n, int i)
{
	struct btree *c = n->child[i], *from = n->child[i + 1];
	c->key[c->count] = n->key[i];
	if (!c->leaf)
		c->child[c->count + 1] = from->child[0];
	c->count++;
	n->key[i] = from->key[0];
	if (!c->leaf)
		from->child[0] = from->child[1];
	close_gap(from, 0);
}

/* Joins child i, the separator and child i + 1. */
static void join_children(struct btree *n, int i)
{
	struct btree *left = n->child[i], *right = n->child[i + 1];
	left->key[left->count] = n->key[i];
	memcpy(&left->key[left->count + 1], right->key, right->count * sizeof *right->key);
	if (!left->leaf)
		memcpy(&left->child[left->count + 1], right->child, (right->count + 1) * sizeof *right->child);
	left->count += right->count + 1;
	close_gap(n, i);
	free(right);
}

/* Sees to it that child i has a key to spare. Returns its index then. */
static int refill(struct btree *n, int i)
{
	if (n->child[i]->count >= T)
		return i;
	if (i > 0 && n->child[i - 1]->count >= T) {
		borrow_left(n, i);
		return i;
	}
	if (i < n->count && n->child[i + 1]->count >= T) {
		borrow_right(n, i);
		return i;
	}
	if (i == n->count)
		i--;
	join_children(n, i);
	return i;
}

static void delete_below(struct btree *n, int key);

static void delete_inner(struct btree *n, int i)
{
	int key = n->key[i];
	struct btree *c;
	if (n->child[i]->count >= T) {
		for (c = n->child[i]; !c->leaf; c = c->child[c->count])
			;
		n->key[i] = c->key[c->count - 1];
		delete_below(n->child[i], n->key[i]);
	} else if (n->child[i + 1]->count >= T) {
		for (c = n->child[i + 1]; !c->leaf; c = c->child[0])
			;
		n->key[i] = c->key[0];
		delete_below(n->child[i + 1], n->key[i]);
	} else {
		join_children(n, i);
		delete_below(n->child[i], key);
	}
}

static void delete_below(struct btree *n, int key)
{
	int i = position(n, key);
	if (i < n->count && n->key[i] == key) {
		if (n->leaf)
			close_gap(n, i);
		else
			delete_inner(n, i);
		return;
	}
	if (n->leaf)
		return;
	i = refill(n, i);
	delete_below(n->child[i], key);
}

void btree_delete(int key)
{
	if (!root)
		return;
	delete_below(root, key);
	if (root->count == 0) {
		struct btree *old = root;
		root = old->leaf ? NULL : old->child[0];
		free(old);
	}
}

/* The judge's own view: the number of keys, -1 if something is wrong. */
static int check_below(const struct btree *n, int low, int high, int level, int *leaves)
{
	int sum;
	if (!n || level > 20 || n->count < (n == root ? 1 : T - 1) || n->count > KEYS)
		return -1;
	sum = n->count;
	for (int i = 0; i < n->count; i++) {
		if (n->key[i] <= low || n->key[i] >= high || (i > 0 && n->key[i] <= n->key[i - 1]))
			return -1;
	}
	if (n->leaf) {
		if (*leaves >= 0 && *leaves != level)
			return -1;
		*leaves = level;
		for (int i = 0; i <= KEYS; i++)
			if (n->child[i])
				return -1;
		return sum;
	}
	for (int i = 0; i <= KEYS; i++) {
		int below;
		if (i > n->count) {
			if (n->child[i])
				return -1;
			continue;
		}
		below = check_below(n->child[i], i ? n->key[i - 1] : low, i < n->count ? n->key[i] : high, level + 1, leaves);
		if (below < 0)
			return -1;
		sum += below;
	}
	return sum;
}

static int workload_size(void);

int btree_check(void)
{
	int leaves = -1;
	if (!root)
		return workload_size() == 0;
	return check_below(root, -1, 1 << 30, 0, &leaves) == workload_size();
}

#define INSERT btree_insert
#define DELETE btree_delete
#define CHECK btree_check
#include "workload.h"

static int workload_size(void)
{
	return workload_count;
}
