/*
 * A 2-3 tree, the B-tree of the thesis: a node holds one or two keys and, if
 * it is no leaf, one child more than keys.
 * FAULT: splitting an inner node leaves the wrong count of keys behind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct btree {
	int count;
	int key[2];
	struct btree *child[3];
};

static struct btree *root;

static struct btree *new_node(int key, struct btree *l, struct btree *r)
{
	struct btree *n = calloc(1, sizeof *n);
	n->count = 1;
	n->key[0] = key;
	n->child[0] = l;
	n->child[1] = r;
	return n;
}

/* Inserts below n. Returns a right sibling and its separator if n split. */
static struct btree *insert_in(struct btree *n, int key, int *up)
{
	int at = 0;
	struct btree *right = NULL;
	while (at < n->count && key > n->key[at])
		at++;
	if (at < n->count && key == n->key[at])
		return NULL;
	if (n->child[0]) {
		right = insert_in(n->child[at], key, &key);
		if (!right)
			return NULL;
	}
	int keys[3];
	struct btree *kids[4];
	memcpy(keys, n->key, sizeof n->key);
	memcpy(kids, n->child, sizeof n->child);
	for (int i = n->count; i > at; i--) {
		keys[i] = keys[i - 1];
		kids[i + 1] = kids[i];
	}
	keys[at] = key;
	kids[at + 1] = right;
	if (n->count == 1) {
		n->count = 2;
		memcpy(n->key, keys, sizeof n->key);
		memcpy(n->child, kids, sizeof n->child);
		return NULL;
	}
	*up = keys[1];
	right = new_node(keys[2], kids[2], kids[3]);
	n->key[0] = keys[0];
	n->key[1] = 0;
	n->child[0] = kids[0];
	n->child[1] = kids[1];
	n->child[2] = NULL;
#ifdef FAULT
	n->count = kids[0] ? 2 : 1; /* FAULT */
#else
	n->count = 1;
#endif
	return right;
}

void btree_insert(int key)
{
	int up;
	if (!root) {
		root = new_node(key, NULL, NULL);
		return;
	}
	struct btree *right = insert_in(root, key, &up);
	if (right)
		root = new_node(up, root, right);
}

int main(void)
{
	for (int i = 0; i < 12; i++)
		btree_insert(i * 7 % 31);
	printf("%d\n", root->count > 0);
	return 0;
}
