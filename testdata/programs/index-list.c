/*
 * A queue of numbers as a list by 16-bit indices into an array. FAULT: where the last is taken out, the tail stays. An
 * index that leads out of the array would mend that as well, since no constraint looks there: it is no repair.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NONE 0xffffu

struct slot {
	uint16_t next, prev;
	uint32_t key;
};

struct pool {
	uint16_t head, tail, free, used;
	unsigned room;
	struct slot *slots;
};

static struct pool *new_pool(unsigned room)
{
	struct pool *p = calloc(1, sizeof *p);

	p->room = room;
	p->slots = malloc(room * sizeof *p->slots);
	p->head = p->tail = NONE;
	for (unsigned i = 0; i < room; i++) {
		p->slots[i].next = i + 1 < room ? i + 1 : NONE;
		p->slots[i].prev = NONE;
		p->slots[i].key = 0;
	}
	return p;
}

static void push(struct pool *p, uint32_t key)
{
	uint16_t i = p->free;
	struct slot *s = &p->slots[i];

	p->free = s->next;
	s->key = key;
	s->next = p->head;
	s->prev = NONE;
	if (p->head != NONE)
		p->slots[p->head].prev = i;
	else
		p->tail = i;
	p->head = i;
	p->used++;
}

static void drop(struct pool *p, uint16_t i)
{
	struct slot *s = &p->slots[i];

	if (s->prev != NONE)
		p->slots[s->prev].next = s->next; /* FAULT */
	else
		p->head = s->next;
	if (s->next != NONE)
		p->slots[s->next].prev = s->prev;
#ifndef FAULT
	else
		p->tail = s->prev;
#endif
	s->next = p->free;
	s->key = 0;
	p->free = i;
	p->used--;
}

int main(void)
{
	struct pool *p = new_pool(8);

	for (int i = 1; i < 40; i++) {
		if (p->used == 6)
			drop(p, p->slots[p->head].next);
		push(p, i);
		if (p->used == 5 && p->tail != NONE)
			drop(p, p->tail);
	}
	printf("%u\n", p->used);
	return 0;
}
