/* Messages in a ring of void pointers that grows: a container for anything.
   FAULT: of the part that had gone around one message too few is copied. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	int id;
	char text[12];
} msg;

typedef struct {
	void **slot;
	unsigned head, count, cap;
	void (*drop)(void *);
} ring;

static ring *ring_new(void (*drop)(void *))
{
	ring *r = calloc(1, sizeof *r);
	r->cap = 4;
	r->slot = calloc(r->cap, sizeof *r->slot);
	r->drop = drop;
	return r;
}

static void ring_grow(ring *r)
{
	void **slot = calloc(r->cap * 2, sizeof *slot);
	unsigned first = r->cap - r->head;
	memcpy(slot, r->slot + r->head, first * sizeof *slot);
#ifdef FAULT
	if (r->head > 1)
		memcpy(slot + first, r->slot, (r->head - 1) * sizeof *slot); /* FAULT */
#else
	memcpy(slot + first, r->slot, r->head * sizeof *slot);
#endif
	free(r->slot); /* FAULT */
	r->slot = slot;
	r->head = 0;
	r->cap *= 2;
}

static void ring_push(ring *r, void *x)
{
	if (r->count == r->cap)
		ring_grow(r);
	r->slot[(r->head + r->count++) % r->cap] = x;
}

static void *ring_pop(ring *r)
{
	void *x = r->slot[r->head];
	r->slot[r->head] = NULL;
	r->head = (r->head + 1) % r->cap;
	r->count--;
	return x;
}

int main(void)
{
	ring *r = ring_new(free);
	unsigned seed = 23;
	for (int i = 0; i < 60; i++) {
		seed = seed * 1103515245 + 12345;
		if ((seed >> 16) % 5 < 3) {
			msg *m = malloc(sizeof *m);
			m->id = i;
			snprintf(m->text, sizeof m->text, "m%d", i);
			ring_push(r, m);
		} else if (r->count)
			r->drop(ring_pop(r));
	}
	printf("%u in a ring of %u\n", r->count, r->cap);
	return 0;
}
