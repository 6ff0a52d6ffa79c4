/*
 * A list, newest first, by indices into an array that grows. An optimising compiler has all of it in main, and keeps
 * fields of the pool in registers there, so that memory does not say what is meant. FAULT: what is initialised of the
 * array reaches one element too far.
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

#ifdef FAULT
#define LIMIT <= /* FAULT */
#else
#define LIMIT <
#endif

static void grow(struct pool *p)
{
	unsigned was = p->room;

	p->room *= 2;
	p->slots = realloc(p->slots, p->room * sizeof *p->slots);
	for (unsigned i = was; i LIMIT p->room; i++) {
		p->slots[i].next = i + 1 < p->room ? i + 1 : NONE; /* FAULT */
		p->slots[i].prev = NONE; /* FAULT */
		p->slots[i].key = 0; /* FAULT */
	}
	p->free = was;
}

static struct pool *new_pool(unsigned room)
{
	struct pool *p = calloc(1, sizeof *p);

	p->room = room;
	p->slots = malloc(room * sizeof *p->slots);
	p->head = p->tail = NONE;
	p->free = 0;
	for (unsigned i = 0; i < room; i++) {
		p->slots[i].next = i + 1 < room ? i + 1 : NONE;
		p->slots[i].prev = NONE;
		p->slots[i].key = 0;
	}
	return p;
}

static void push(struct pool *p, uint32_t key)
{
	if (p->free == NONE)
		grow(p);
	uint16_t i = p->free;
	p->free = p->slots[i].next;
	p->slots[i].key = key;
	p->slots[i].next = p->head;
	p->slots[i].prev = NONE;
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
		p->slots[s->prev].next = s->next;
	else
		p->head = s->next;
	if (s->next != NONE)
		p->slots[s->next].prev = s->prev;
	else
		p->tail = s->prev;
	s->next = p->free;
	s->key = 0;
	p->free = i;
	p->used--;
}

int main(void)
{
	struct pool *p = new_pool(8);
	unsigned r = 3;

	for (int i = 1; i <= 300; i++) {
		r = r * 1103515245 + 12345;
		if (p->used && (r >> 20) % 3 == 0) {
			uint16_t x = p->head;
			for (unsigned k = (r >> 8) % p->used; k; k--)
				x = p->slots[x].next;
			drop(p, x);
		} else {
			push(p, i);
		}
		if (i % 16 == 0 && p->tail != NONE)
			drop(p, p->tail);
	}
	printf("%u of %u\n", p->used, p->room);
	return 0;
}
