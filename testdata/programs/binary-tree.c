/* spec: ../specs/binary-tree.cons */
/*
 * A binary search tree.
 * FAULT: deleting a node with two children moves its successor's key up and
 * frees the successor, but hangs the successor's subtree on the wrong side of
 * its parent, which goes on pointing to freed memory.
 */
#include <stdio.h>
#include <stdlib.h>

struct bnode {
	int key;
	struct bnode *left, *right;
};

static struct bnode *root;

static void insert(int key)
{
	struct bnode **at = &root;
	while (*at)
		at = key < (*at)->key ? &(*at)->left : &(*at)->right;
	struct bnode *n = malloc(sizeof *n);
	n->key = key;
	n->left = n->right = NULL;
	*at = n;
}

static void delete(int key)
{
	struct bnode **at = &root;
	while (*at && (*at)->key != key)
		at = key < (*at)->key ? &(*at)->left : &(*at)->right;
	struct bnode *n = *at;
	if (!n)
		return;
	if (!n->left || !n->right) {
		*at = n->left ? n->left : n->right;
		free(n);
		return;
	}
	struct bnode *parent = n, *next = n->right;
	while (next->left) {
		parent = next;
		next = next->left;
	}
	n->key = next->key;
#ifdef FAULT
	parent->right = next->right; /* FAULT */
#else
	if (parent == n)
		parent->right = next->right;
	else
		parent->left = next->right;
#endif
	free(next);
}

int main(void)
{
	int keys[] = { 50, 20, 80, 10, 30, 70, 90, 60, 75, 65 };
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		insert(keys[i]);
	delete(10);
	delete(50);
	printf("%d\n", root->key);
	return 0;
}
