/* A maximal independent set of a random graph of 2,361 nodes and 7,182 edges (thesis, table
 * 3.1), kept as linked lists: of the nodes, and of the edges of each. */
#include <stdio.h>
#include <stdlib.h>

enum { NODES = 2361, EDGES = 7182 };

struct edge {
	struct edge *next;
	struct node *to;
};

struct node {
	struct node *next;
	struct edge *edges;
	int degree, state; /* 0 open, 1 in the set, 2 out */
};

static struct node *first;

static void join(struct node *a, struct node *b)
{
	struct edge *e = malloc(sizeof *e);
	e->next = a->edges;
	e->to = b;
	a->edges = e;
	a->degree++;
}

/* set takes the open node of least degree until none is left. */
static int set(void)
{
	int size = 0;
	for (struct node *n = first; n; n = n->next)
		n->state = 0;
	for (;;) {
		struct node *best = NULL;
		for (struct node *n = first; n; n = n->next)
			if (!n->state && (!best || n->degree < best->degree))
				best = n;
		if (!best)
			return size;
		best->state = 1;
		size++;
		for (struct edge *e = best->edges; e; e = e->next)
			e->to->state = 2;
	}
}

int main(void)
{
	static struct node *by[NODES];
	srand(2);
	for (int i = 0; i < NODES; i++) {
		by[i] = calloc(1, sizeof *by[i]);
		by[i]->next = first;
		first = by[i];
	}
	for (int i = 0; i < EDGES; i++) {
		struct node *a = by[rand() % NODES], *b = by[rand() % NODES];
		if (a == b)
			continue;
		join(a, b);
		join(b, a);
	}
	printf("%d nodes\n", set());
	return 0;
}
