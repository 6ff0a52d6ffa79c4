/*
 * Dijkstra's algorithm with a heap of vertices, each of which knows its place in it. Built by
 * clang at -O2 all is inlined into main, and the heap's length is kept in a register: memory
 * has another one, from the first round to the end.
 * FAULT: what moves down is put into a place that it does not know.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

struct vertex {
	int id, dist, slot; /* slot: -2 before it was in the heap, -1 after */
	struct arc *out;
	struct vertex *via;
};
struct arc { struct vertex *to; int weight; struct arc *next; };
struct heap { struct vertex **a; int n, cap; };

static void put(struct heap *q, int i, struct vertex *v)
{
	q->a[i] = v;
	v->slot = i;
}

static void up(struct heap *q, int i)
{
	struct vertex *v = q->a[i];
	while (i > 0 && q->a[(i - 1) / 2]->dist > v->dist) {
		put(q, i, q->a[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	put(q, i, v);
}

static void down(struct heap *q, int i)
{
	struct vertex *v = q->a[i];
	for (;;) {
		int c = 2 * i + 1;
		if (c >= q->n)
			break;
		if (c + 1 < q->n && q->a[c + 1]->dist < q->a[c]->dist)
			c++;
		if (q->a[c]->dist >= v->dist)
			break;
#ifdef FAULT
		q->a[i] = q->a[c]; /* FAULT */
#else
		put(q, i, q->a[c]);
#endif
		i = c;
	}
	put(q, i, v);
}

void push(struct heap *q, struct vertex *v)
{
	if (q->n == q->cap)
		q->a = realloc(q->a, (q->cap = q->cap ? 2 * q->cap : 4) * sizeof *q->a);
	q->a[q->n] = v;
	up(q, q->n++);
}

struct vertex *pop(struct heap *q)
{
	struct vertex *v = q->a[0];
	q->n--;
	if (q->n) {
		q->a[0] = q->a[q->n];
		q->a[0]->slot = 0;
		down(q, 0);
	}
	v->slot = -1;
	return v;
}

void lower(struct heap *q, struct vertex *v, int dist)
{
	v->dist = dist;
	up(q, v->slot);
}

int main(void)
{
	enum { N = 40 };
	struct vertex *v[N];
	unsigned seed = 17;
	for (int i = 0; i < N; i++) {
		v[i] = malloc(sizeof *v[i]);
		v[i]->id = i;
		v[i]->dist = INT_MAX;
		v[i]->slot = -2;
		v[i]->out = NULL;
		v[i]->via = NULL;
	}
	for (int i = 0; i < 6 * N; i++) {
		struct arc *a = malloc(sizeof *a);
		seed = seed * 1103515245 + 12345;
		int from = (seed >> 16) % N;
		seed = seed * 1103515245 + 12345;
		a->to = v[(seed >> 16) % N];
		seed = seed * 1103515245 + 12345;
		a->weight = 1 + (seed >> 16) % 50;
		a->next = v[from]->out;
		v[from]->out = a;
	}
	struct heap *q = calloc(1, sizeof *q);
	v[0]->dist = 0;
	push(q, v[0]);
	long sum = 0;
	while (q->n) {
		struct vertex *x = pop(q);
		sum += x->dist;
		for (struct arc *a = x->out; a; a = a->next) {
			int dist = x->dist + a->weight;
			if (dist >= a->to->dist)
				continue;
			a->to->via = x;
			if (a->to->slot == -2) {
				a->to->dist = dist;
				push(q, a->to);
			} else if (a->to->slot >= 0)
				lower(q, a->to, dist);
		}
	}
	printf("%ld\n", sum);
	return 0;
}
