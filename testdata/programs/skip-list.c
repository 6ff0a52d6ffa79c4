/* spec: ../specs/skip-list.cons */
/*
 * A skip list, after Pugh: each node has its own number of forward pointers.
 * FAULT: deleting a node links its predecessors, on all levels, to its next
 * node on the lowest level.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_LEVEL = 4 };

struct skipnode {
	int key;
	int level;
	struct skipnode *next[];
};

static struct skipnode *list;

static struct skipnode *new_node(int key, int level)
{
	struct skipnode *n = malloc(sizeof *n + level * sizeof *n->next);
	n->key = key;
	n->level = level;
	for (int i = 0; i < level; i++)
		n->next[i] = NULL;
	return n;
}

/* The last node before key on each level. */
static void search(int key, struct skipnode *before[])
{
	struct skipnode *n = list;
	for (int i = MAX_LEVEL - 1; i >= 0; i--) {
		while (n->next[i] && n->next[i]->key < key)
			n = n->next[i];
		before[i] = n;
	}
}

void skip_insert(int key, int level)
{
	struct skipnode *before[MAX_LEVEL], *n = new_node(key, level);
	search(key, before);
	for (int i = 0; i < level; i++) {
		n->next[i] = before[i]->next[i];
		before[i]->next[i] = n;
	}
}

void skip_delete(int key)
{
	struct skipnode *before[MAX_LEVEL], *n;
	search(key, before);
	n = before[0]->next[0];
	if (!n || n->key != key)
		return;
	for (int i = 0; i < n->level; i++)
#ifdef FAULT
		before[i]->next[i] = n->next[0]; /* FAULT */
#else
		before[i]->next[i] = n->next[i];
#endif
	free(n);
}

int main(void)
{
	list = new_node(INT_MIN, MAX_LEVEL);
	for (int i = 1; i <= 16; i++)
		skip_insert(i * 5 % 17, 1 + !(i % 2) + !(i % 4) + !(i % 8));
	skip_delete(5);
	skip_delete(3);
	skip_delete(40);
	int n = 0;
	for (struct skipnode *s = list->next[0]; s; s = s->next[0])
		n++;
	printf("%d\n", n);
	return 0;
}
