/*
 * A cache of pages whose slots lie in one array: links are indices, and -1 is none. Built by
 * gcc at -O2 the store to cap is left out, since nothing reads it.
 * FAULT: the last slot is taken out, and the one before it is not told so.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NIL (-1)

struct slot { int32_t page; int16_t prev, next, chain; uint8_t dirty, used; };
struct cache {
	int cap, n;
	int16_t head, tail, vacant;
	uint32_t hits, misses;
	int16_t bucket[16];
	struct slot *slot;
};

static struct cache *cache_new(int cap)
{
	struct cache *c = malloc(sizeof *c);
	c->cap = cap;
	c->n = 0;
	c->head = c->tail = NIL;
	c->hits = c->misses = 0;
	c->slot = malloc(cap * sizeof *c->slot);
	for (int i = 0; i < 16; i++)
		c->bucket[i] = NIL;
	for (int i = 0; i < cap; i++) {
		c->slot[i].used = 0;
		c->slot[i].dirty = 0;
		c->slot[i].page = -1;
		c->slot[i].prev = c->slot[i].chain = NIL;
		c->slot[i].next = i + 1 < cap ? i + 1 : NIL;
	}
	c->vacant = 0;
	return c;
}

static void take_out(struct cache *c, int i)
{
	struct slot *s = &c->slot[i];
	if (s->prev == NIL)
		c->head = s->next;
#ifdef FAULT
	else if (s->next != NIL)
#else
	else
#endif
		c->slot[s->prev].next = s->next; /* FAULT */
	if (s->next != NIL)
		c->slot[s->next].prev = s->prev;
	else
		c->tail = s->prev; /* FAULT */
	s->prev = s->next = NIL; /* FAULT */
}

static void put_first(struct cache *c, int i)
{
	struct slot *s = &c->slot[i];
	s->prev = NIL;
	s->next = c->head;
	if (c->head != NIL)
		c->slot[c->head].prev = i;
	else
		c->tail = i;
	c->head = i;
}

static void unchain(struct cache *c, int i)
{
	int16_t *p = &c->bucket[c->slot[i].page & 15];
	while (*p != i)
		p = &c->slot[*p].chain;
	*p = c->slot[i].chain;
	c->slot[i].chain = NIL;
}

int cache_drop(struct cache *c, int page)
{
	for (int i = c->bucket[page & 15]; i != NIL; i = c->slot[i].chain)
		if (c->slot[i].page == page) {
			take_out(c, i);
			unchain(c, i);
			c->slot[i].used = 0;
			c->slot[i].page = -1;
			c->slot[i].next = c->vacant;
			c->vacant = i;
			c->n--;
			return 1;
		}
	return 0;
}

int cache_get(struct cache *c, int page, int dirty)
{
	for (int i = c->bucket[page & 15]; i != NIL; i = c->slot[i].chain)
		if (c->slot[i].page == page) {
			if (i != c->head) {
				take_out(c, i);
				put_first(c, i);
			}
			c->slot[i].dirty |= dirty;
			c->hits++;
			return i;
		}
	c->misses++;
	if (c->vacant == NIL)
		cache_drop(c, c->slot[c->tail].page);
	int i = c->vacant;
	c->vacant = c->slot[i].next;
	c->slot[i].page = page;
	c->slot[i].used = 1;
	c->slot[i].dirty = dirty;
	put_first(c, i);
	c->slot[i].chain = c->bucket[page & 15];
	c->bucket[page & 15] = i;
	c->n++;
	return i;
}

int main(void)
{
	struct cache *c = cache_new(8);
	unsigned x = 5;
	for (int i = 0; i < 150; i++) {
		x = x * 1664525u + 1013904223u;
		cache_get(c, (x >> 20) % 40, i & 1);
		if (i % 7 == 3)
			cache_drop(c, (x >> 20) % 40);
		else if (i % 9 == 3)
			cache_drop(c, (x >> 10) % 40);
	}
	printf("n %d hits %u misses %u\n", c->n, c->hits, c->misses);
	return 0;
}
