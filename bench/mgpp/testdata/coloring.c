/* Greedy colouring of a random graph of 1,589 nodes and 2,742 edges (thesis, table 3.1),
 * kept as a linked list of arrays: each node has an array of its neighbours, which grows. */
#include <stdio.h>
#include <stdlib.h>

enum { NODES = 1589, EDGES = 2742 };

struct node {
	struct node *next;
	int id, color, degree, room;
	struct node **neighbours;
};

static struct node *first;

static void join(struct node *a, struct node *b)
{
	if (a->degree == a->room) {
		a->room = a->room ? 2 * a->room : 2;
		a->neighbours = realloc(a->neighbours, a->room * sizeof *a->neighbours);
	}
	a->neighbours[a->degree++] = b;
}

static int paint(int colors)
{
	int most = 0;
	for (struct node *n = first; n; n = n->next)
		n->color = 0;
	for (struct node *n = first; n; n = n->next) {
		char *used = calloc(colors + 2, 1);
		for (int i = 0; i < n->degree; i++)
			used[n->neighbours[i]->color] = 1;
		int c = 1;
		while (used[c])
			c++;
		n->color = c;
		if (c > most)
			most = c;
		free(used);
	}
	return most;
}

int main(void)
{
	static struct node *by[NODES];
	srand(1);
	for (int i = 0; i < NODES; i++) {
		by[i] = calloc(1, sizeof *by[i]);
		by[i]->id = i;
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
	int most = 0;
	for (int round = 0; round < 40; round++)
		most = paint(64);
	printf("%d colours\n", most);
	return 0;
}
