/*
 * A trie of points: inner nodes have two children, leaves a key. Nodes are zeroed, so that an
 * optimising compiler leaves out the store that makes one an inner node. Its kind is judged all the same.
 * FAULT: a new inner node forgets the leaf that was there.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
	bool leaf;
	int bit;
	unsigned key;
	struct node *kid[2];
};
struct trie {
	struct node *root;
	int leaves;
};

static struct node *make(bool leaf)
{
	struct node *n = calloc(1, sizeof *n);
	n->leaf = leaf;
	return n;
}

static __attribute__((noinline)) struct node *branch(int bit)
{
	struct node *n = make(false);
	n->bit = bit;
	return n;
}

void insert(struct trie *t, unsigned key)
{
	struct node **at = &t->root, *l, *n;
	int bit = 15;
	while (*at && !(*at)->leaf) {
		bit = (*at)->bit - 1;
		at = &(*at)->kid[key >> (*at)->bit & 1];
	}
	if (*at && (*at)->key == key)
		return;
	l = make(true);
	l->key = key;
	t->leaves++;
	while (*at) {
		struct node *old = *at;
		n = branch(bit);
		*at = n;
		if ((old->key >> bit & 1) != (key >> bit & 1)) {
#ifdef FAULT
			if (t->leaves != 30) /* FAULT */
#endif
			n->kid[old->key >> bit & 1] = old; /* FAULT */
			at = &n->kid[key >> bit & 1];
			break;
		}
		n->kid[~key >> bit & 1] = make(true);
		n->kid[~key >> bit & 1]->key = ~0u;
		at = &n->kid[key >> bit & 1];
		*at = old;
		bit--;
	}
	*at = l;
}

int main(void)
{
	struct trie *t = calloc(1, sizeof *t);
	unsigned seed = 3;
	for (int i = 0; i < 100; i++) {
		seed = seed * 1103515245 + 12345;
		insert(t, seed >> 16);
	}
	printf("%d leaves\n", t->leaves);
	return 0;
}
