/* A heap of pointers to timers, each of which knows its place. */
#include <stdlib.h>
#include <string.h>

typedef struct timer {
	long when;
	int index;
	int fired;
	struct timer *chain;
} timer_t_;

typedef struct {
	timer_t_ **slot;
	int used, room;
} pqueue;

static pqueue *pq;

static pqueue *pq_new(void)
{
	pqueue *q = malloc(sizeof *q);
	q->room = 8;
	q->used = 0;
	q->slot = calloc(q->room, sizeof *q->slot);
	return q;
}

static void sift_up(pqueue *q, int i)
{
	timer_t_ *t = q->slot[i];
	while (i > 0 && q->slot[(i - 1) / 2]->when > t->when) {
		q->slot[i] = q->slot[(i - 1) / 2];
		q->slot[i]->index = i;
		i = (i - 1) / 2;
	}
	q->slot[i] = t;
	t->index = i;
}

static void sift_down(pqueue *q, int i)
{
	timer_t_ *t = q->slot[i];
	for (;;) {
		int child = 2 * i + 1;
		if (child >= q->used)
			break;
		if (child + 1 < q->used && q->slot[child + 1]->when < q->slot[child]->when)
			child++;
		if (q->slot[child]->when >= t->when)
			break;
		q->slot[i] = q->slot[child];
		q->slot[i]->index = i;
		i = child;
	}
	q->slot[i] = t;
	t->index = i;
}

timer_t_ *timer_add(pqueue *q, long when)
{
	timer_t_ *t = malloc(sizeof *t);
	t->when = when;
	t->fired = 0;
	t->chain = NULL;
	if (q->used == q->room) {
		timer_t_ **more = malloc(2 * q->room * sizeof *more);
		memcpy(more, q->slot, q->used * sizeof *more);
		memset(more + q->used, 0, q->room * sizeof *more);
		free(q->slot);
		q->slot = more;
		q->room *= 2;
	}
	t->index = q->used;
	q->slot[q->used++] = t;
	sift_up(q, t->index);
	return t;
}

void timer_cancel(pqueue *q, timer_t_ *t)
{
	int i = t->index;
	timer_t_ *last = q->slot[--q->used];
	q->slot[q->used] = NULL;
	if (t != last) {
		q->slot[i] = last;
		last->index = i;
		sift_up(q, i);
		sift_down(q, last->index);
	}
	free(t);
}

void timer_change(pqueue *q, timer_t_ *t, long when)
{
	long old = t->when;
	t->when = when;
	if (when < old)
		sift_up(q, t->index);
	else
		sift_down(q, t->index);
}

static void add(int key)
{
	if (!pq)
		pq = pq_new();
	timer_add(pq, key);
}

/* Every third timer is given another time instead of being taken out. */
static void drop(int key)
{
	int i;
	for (i = 0; i < pq->used; i++)
		if (pq->slot[i]->when == key)
			break;
	if (i == pq->used)
		return;
	if (key % 3 == 0)
		timer_change(pq, pq->slot[i], key % 2 ? key * 2 : key / 2 + 1);
	else
		timer_cancel(pq, pq->slot[i]);
}

/* The judge's own view. */
int pq_check(void)
{
	int i;
	for (i = 0; i < pq->used; i++)
		if (!pq->slot[i] || pq->slot[i]->index != i || (i > 0 && pq->slot[(i - 1) / 2]->when > pq->slot[i]->when))
			return 0;
	return pq->used <= pq->room;
}

#define INSERT add
#define DELETE drop
#define CHECK pq_check
#include "workload.h"
