/* A graph of places whose roads are in arrays that grow and shrink. Behind an array's
   last road is what it held before.
   FAULT: a road is taken out at one of its ends only: the statement is not executed for
   the other. */
#include <stdio.h>
#include <stdlib.h>

struct place {
	int number, n, room;
	struct place **road;
};

static struct place *all[12];

static void add(struct place *p, struct place *to)
{
	if (p->n == p->room) {
		p->room = p->room ? 2 * p->room : 2;
		p->road = realloc(p->road, p->room * sizeof *p->road);
	}
	p->road[p->n++] = to;
}

static void drop(struct place *p, struct place *to)
{
	for (int i = 0; i < p->n; i++)
		if (p->road[i] == to)
			p->road[i--] = p->road[--p->n]; /* FAULT */
}

__attribute__((noinline)) void build(struct place *a, struct place *b)
{
	add(a, b);
	add(b, a);
}

__attribute__((noinline)) void close_road(struct place *a, struct place *b)
{
	drop(a, b);
#ifdef FAULT
	if (b->number != 5)
#endif
		drop(b, a);
}

int main(void)
{
	for (int i = 0; i < 12; i++) {
		all[i] = calloc(1, sizeof *all[i]);
		all[i]->number = i;
	}
	for (int i = 0; i < 12; i++)
		for (int j = i + 1; j < 12; j += i % 3 + 1)
			build(all[i], all[j]);
	for (int i = 0; i < 11; i++)
		close_road(all[i], all[i + 1]);
	int n = 0;
	for (int i = 0; i < 12; i++)
		n += all[i]->n;
	printf("%d\n", n);
	return 0;
}
