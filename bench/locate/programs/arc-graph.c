/* A directed graph: each arc is in the list of either end, one of which is left in one step. */
#include <stdlib.h>

struct vertex;

struct arc {
	struct vertex *from, *to;
	int weight;
	struct arc *next_out;
	struct arc *next_in, **pprev_in;
};

struct vertex {
	int id;
	int outdeg, indeg;
	long total;
	struct arc *out, *in;
	struct vertex *next;
};

static struct vertex *vertices;
static int narcs;

struct vertex *add_vertex(int id)
{
	struct vertex *v = malloc(sizeof *v);
	v->id = id;
	v->outdeg = v->indeg = 0;
	v->total = 0;
	v->out = NULL;
	v->in = NULL;
	v->next = vertices;
	vertices = v;
	return v;
}

struct arc *add_arc(struct vertex *a, struct vertex *b, int weight)
{
	struct arc *e = malloc(sizeof *e);
	e->from = a;
	e->to = b;
	e->weight = weight;
	e->next_out = a->out;
	a->out = e;
	e->next_in = b->in;
	if (b->in)
		b->in->pprev_in = &e->next_in;
	e->pprev_in = &b->in;
	b->in = e;
	a->outdeg++;
	b->indeg++;
	a->total += weight;
	narcs++;
	return e;
}

static void unlink_in(struct arc *e)
{
	*e->pprev_in = e->next_in;
	if (e->next_in)
		e->next_in->pprev_in = e->pprev_in;
}

static void unlink_out(struct arc *e)
{
	struct arc **p = &e->from->out;
	while (*p != e)
		p = &(*p)->next_out;
	*p = e->next_out;
}

void remove_arc(struct arc *e)
{
	unlink_in(e);
	unlink_out(e);
	e->from->outdeg--;
	e->to->indeg--;
	e->from->total -= e->weight;
	narcs--;
	free(e);
}

void retarget(struct arc *e, struct vertex *b)
{
	if (e->to == b)
		return;
	unlink_in(e);
	e->to->indeg--;
	e->to = b;
	b->indeg++;
	e->next_in = b->in;
	if (b->in)
		b->in->pprev_in = &e->next_in;
	e->pprev_in = &b->in;
	b->in = e;
}

int set_weight(struct arc *e, int w)
{
	int d = w - e->weight;
	e->weight = w;
	e->from->total += d;
	return d;
}

enum { SIDES = 40 };
static struct vertex *side[SIDES];
static struct arc *arcs[100000]; /* by key */

static void add(int key)
{
	if (!vertices) {
		int i;
		for (i = 0; i < SIDES; i++)
			side[i] = add_vertex(i);
	}
	arcs[key] = add_arc(side[key % SIDES], side[key / SIDES % SIDES], key % 50);
}

/* Some arcs lead elsewhere, or get another weight, before they go. */
static void drop(int key)
{
	if (key % 3 == 0)
		retarget(arcs[key], side[key / 7 % SIDES]);
	if (key % 4 == 0)
		set_weight(arcs[key], key % 70);
	remove_arc(arcs[key]);
}

static int workload_size(void);

/* The judge's own view. */
static int check_vertex(const struct vertex *v)
{
	const struct arc *e;
	struct arc *const *from = &v->in;
	int out = 0, in = 0;
	long total = 0;
	for (e = v->out; e; e = e->next_out, out++) {
		if (e->from != v || out > workload_size())
			return -1;
		total += e->weight;
	}
	for (e = v->in; e; from = &e->next_in, e = e->next_in, in++)
		if (e->to != v || e->pprev_in != from || in > workload_size())
			return -1;
	return out == v->outdeg && in == v->indeg && total == v->total ? out : -1;
}

int graph_check(void)
{
	int i, n = 0;
	for (i = 0; i < SIDES; i++) {
		int out = check_vertex(side[i]);
		if (out < 0)
			return 0;
		n += out;
	}
	return n == narcs && n == workload_size();
}

#define INSERT add
#define DELETE drop
#define CHECK graph_check
#include "workload.h"

static int workload_size(void)
{
	return workload_count;
}
