/* With -DUNROLL five calls are five pieces of one instance, one behind the other. */
#include <stdlib.h>

struct node { struct node *next, *prev; int key; };
struct list { struct node *first; int length; };

static void put(struct list *l, struct node *n, int key)
{
	n->key = key;
	n->next = l->first;
	n->prev = NULL;
	l->first = n;
	l->length++;
}

int main(int argc, char **argv)
{
	struct list *l = calloc(1, sizeof *l);
	unsigned x = argc;
	for (int round = 0; round < 12; round++)
#ifdef UNROLL
#pragma GCC unroll 5
#endif
		for (int i = 0; i < 5; i++) {
			struct node *n = malloc(sizeof *n);
			x = x * 69069 + 5;
			put(l, n, x >> 17);
		}
	return l->length != 60;
}
