/*
 * Nodes of 12 bytes beside other blocks of 12 bytes. With some allocators these begin 4 bytes behind the nodes; glibc keeps
 * something of its own there. -DSMALL: of 8 bytes, and then right behind. -DFAULT: one node is written to right behind its end.
 */
#include <stdio.h>
#include <stdlib.h>

#define MANY 4000
#ifdef SMALL
#define MORE
#else
#define MORE , b
#endif

struct node {
	int a MORE, c;
};
struct other {
	int x MORE, z;
};

static struct node *nodes[MANY];
static struct other *others[MANY];

static struct node *new_node(int i)
{
	struct node *n = malloc(sizeof *n);

	n->a = n->c = i;
	return n;
}

static struct other *new_other(int i)
{
	struct other *o = malloc(sizeof *o);

	o->x = o->z = i;
	return o;
}

int main(void)
{
	for (int i = 0; i < MANY; i++) {
		nodes[i] = new_node(i);
		others[i] = new_other(i);
	}
	for (int i = 0; i < MANY; i += 2)
		free(nodes[i]);
	for (int i = 0; i < MANY; i += 2)
		nodes[i] = new_node(i);
	for (int i = 0; i < MANY; i++)
		others[i]->x = 7;
#ifdef FAULT
	(&nodes[8]->c)[1] = 0; /* FAULT */
#endif
	printf("%d\n", others[3]->x);
	return 0;
}
