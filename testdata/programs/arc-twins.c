/* A graph in an array of vertices that grows; each edge is two arcs that know each other.
   FAULT: of two ways the same is stored twice. */
#include <stdio.h>
#include <stdlib.h>

struct arc {
	int to;
	int weight;
	struct arc *twin;
	struct arc *next, *prev;
};

struct vertex {
	struct arc *first;
	int degree;
};

struct graph {
	struct vertex *v;
	int nv, room;
	int ne;
};

static struct graph *g;

int g_vertex(void)
{
	if (g->nv == g->room) {
		g->room = g->room ? 2 * g->room : 2;
		g->v = realloc(g->v, g->room * sizeof *g->v);
	}
	g->v[g->nv].first = NULL;
	g->v[g->nv].degree = 0;
	return g->nv++;
}

static struct arc *half(int from, int to, int w)
{
	struct arc *a = malloc(sizeof *a);
	a->to = to;
	a->weight = w;
	a->prev = NULL;
	a->next = g->v[from].first;
	if (a->next)
		a->next->prev = a;
	g->v[from].first = a;
	g->v[from].degree++;
	return a;
}

void g_edge(int a, int b, int w)
{
	struct arc *p = half(a, b, w), *q = half(b, a, w);
	p->twin = q;
#ifdef FAULT
	p->twin = p; /* FAULT */
#else
	q->twin = p;
#endif
	g->ne++;
}

static void cut(int from, struct arc *a)
{
	if (a->prev)
		a->prev->next = a->next;
	else
		g->v[from].first = a->next;
	if (a->next)
		a->next->prev = a->prev;
	g->v[from].degree--;
}

void g_remove(int a, int b)
{
	struct arc *p = g->v[a].first;
	while (p && p->to != b)
		p = p->next;
	if (!p)
		return;
	struct arc *q = p->twin;
	cut(a, p);
	cut(b, q);
	free(p);
	free(q);
	g->ne--;
}

void g_weight(int a, int b, int w)
{
	for (struct arc *p = g->v[a].first; p; p = p->next)
		if (p->to == b) {
			p->weight = w;
			p->twin->weight = w;
		}
}

int main(void)
{
	g = calloc(1, sizeof *g);
	for (int i = 0; i < 9; i++)
		g_vertex();
	for (int i = 0; i < 9; i++)
		for (int j = i + 1; j < 9; j += 1 + i % 2)
			g_edge(i, j, i * j);
	for (int i = 0; i < 8; i++)
		g_weight(i, i + 1, 50 + i);
	for (int i = 0; i < 9; i += 2)
		for (int j = i + 1; j < 9; j++)
			g_remove(i, j);
	printf("%d\n", g->ne);
	return 0;
}
