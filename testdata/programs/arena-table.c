/* build: gcc -fno-inline */
/*
 * A hash table with chains whose entries and bucket arrays come from an arena
 * of the program's own.
 * FAULT: growing the table cuts the chain behind each entry that it moves, so
 * that entries are lost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena { char *base; size_t used, size; };
struct item { unsigned hash; char name[12]; int value; struct item *next; };
struct table { unsigned nbuckets, nitems; struct item **buckets; };

static struct arena arena;

void *arena_alloc(struct arena *a, size_t n)
{
	n = (n + 15) & ~(size_t)15;
	if (a->used + n > a->size)
		abort();
	void *p = a->base + a->used;
	a->used += n;
	return p;
}

static unsigned hash(const char *s)
{
	unsigned h = 5381;
	while (*s)
		h = h * 33 + (unsigned char)*s++;
	return h;
}

static void table_grow(struct table *t)
{
	unsigned n = t->nbuckets * 2;
	struct item **buckets = arena_alloc(&arena, n * sizeof *buckets);
	memset(buckets, 0, n * sizeof *buckets);
	for (unsigned i = 0; i < t->nbuckets; i++) {
		for (struct item *e = t->buckets[i], *next; e; e = next) {
			unsigned j = e->hash & (n - 1);
			next = e->next;
#ifdef FAULT
			e->next = NULL; /* FAULT */
#else
			e->next = buckets[j];
#endif
			buckets[j] = e;
		}
	}
	t->buckets = buckets;
	t->nbuckets = n;
}

void table_put(struct table *t, const char *name, int value)
{
	unsigned h = hash(name);
	if (t->nitems >= t->nbuckets * 2)
		table_grow(t);
	struct item *e = arena_alloc(&arena, sizeof *e);
	e->hash = h;
	snprintf(e->name, sizeof e->name, "%s", name);
	e->value = value;
	e->next = t->buckets[h & (t->nbuckets - 1)];
	t->buckets[h & (t->nbuckets - 1)] = e;
	t->nitems++;
}

static struct table *table_new(void)
{
	struct table *t = arena_alloc(&arena, sizeof *t);
	t->nbuckets = 4;
	t->nitems = 0;
	t->buckets = arena_alloc(&arena, t->nbuckets * sizeof *t->buckets);
	memset(t->buckets, 0, t->nbuckets * sizeof *t->buckets);
	return t;
}

int main(void)
{
	char name[12];
	arena.size = 1 << 16;
	arena.base = malloc(arena.size);
	struct table *t = table_new();
	for (int i = 0; i < 30; i++) {
		snprintf(name, sizeof name, "key%d", i * 7);
		table_put(t, name, i);
	}
	printf("%u items\n", t->nitems);
	return 0;
}
