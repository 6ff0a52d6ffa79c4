/* Nodes and other blocks that come from the same wrappers of malloc. The argument is a
 * fault: 1 a back pointer is missing, 2 one is overwritten by memcpy; else there is none. */
#include <stdlib.h>
#include <string.h>

#define OUT __attribute__((noinline))

struct node {
	long key;
	char *text;
	struct node *next, *prev;
};

static struct node *head, *last;
static struct node **table;
static long room, used;

OUT void *xmalloc(size_t n)
{
	void *p = malloc(n);

	if (!p)
		abort();
	return p;
}

OUT void *xrealloc(void *p, size_t n)
{
	p = realloc(p, n);
	if (!p)
		abort();
	return p;
}

OUT char *copy(const char *text)
{
	char *t = xmalloc(strlen(text) + 1);

	return strcpy(t, text);
}

OUT void put(struct node *n)
{
	if (used == room) {
		room = room ? 2 * room : 4;
		table = xrealloc(table, room * sizeof *table);
	}
	table[used++] = n;
}

OUT struct node *fresh(long key)
{
	struct node *n = xmalloc(sizeof *n); /* NEW */

	n->key = key;
	n->next = n->prev = NULL;
	n->text = copy("a text of some length");
	return n;
}

/* What is in the node was written when the block was a text's. */
OUT struct node *moved(long key)
{
	struct node proto = { .key = key };
	char *text = xmalloc(sizeof proto);
	struct node *n;

	memcpy(text, &proto, sizeof proto);
	n = realloc(text, 2 * sizeof *n); /* MOVED */
	n->text = copy("moved");
	return n;
}

OUT void append(struct node *n, int fault)
{
	put(n);
	if (last) {
		last->next = n;
		if (fault != 1 || n->key != 37)
			n->prev = last; /* LINK */
	} else {
		head = n;
	}
	last = n;
	if (fault == 2 && n->key == 42)
		memcpy(&n->prev, &n, sizeof n); /* BAD */
}

OUT void drop(void)
{
	struct node *n = head;

	head = n->next;
	head->prev = NULL;
	free(n->text);
	free(n);
}

int main(int argc, char **argv)
{
	int fault = argc > 1 ? atoi(argv[1]) : 0;

	for (long i = 1; i <= 60; i++) {
		char *scratch = copy("scratch that lives for a while");

		append(i % 5 ? fresh(i) : moved(i), fault);
		if (i % 4 == 0)
			drop();
		for (int k = 0; k < 20; k++)
			scratch[k] = 'a' + k;
		free(scratch);
	}
	return 0;
}
