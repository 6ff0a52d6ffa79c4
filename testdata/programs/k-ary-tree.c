/* spec: ../specs/k-ary-tree.cons */
/*
 * A game tree in which each position has three moves or is final.
 * FAULT: two moves that lead to positions with equal keys share one node, so
 * that the tree is none any more.
 */
#include <stdio.h>
#include <stdlib.h>

enum { K = 3 };

struct knode {
	int key;
	struct knode *child[K];
};

static struct knode *position(int key)
{
	struct knode *n = calloc(1, sizeof *n);
	n->key = key;
	return n;
}

static void expand(struct knode *n)
{
	for (int i = 0; i < K; i++) {
		int key = (n->key + i * i) % 4;
#ifdef FAULT
		if (i > 0 && n->child[0]->key == key) {
			n->child[i] = n->child[0]; /* FAULT */
			continue;
		}
#endif
		n->child[i] = position(key);
	}
}

static void grow(struct knode *n, int depth)
{
	if (!n->child[0])
		expand(n);
	for (int i = 0; depth > 1 && i < K; i++)
		grow(n->child[i], depth - 1);
}

int main(void)
{
	struct knode *root = position(1);
	grow(root, 3);
	printf("%d\n", root->key);
	return 0;
}
