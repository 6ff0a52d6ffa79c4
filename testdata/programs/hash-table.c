/* spec: ../specs/hash-table.cons */
/* build: clang-14 -no-pie */
/*
 * A hash table with chained entries that doubles its buckets.
 * FAULT: entries move to the new buckets by the old number of buckets, and are
 * not found there again.
 */
#include <stdio.h>
#include <stdlib.h>

struct entry {
	unsigned hash;
	int key;
	struct entry *next;
};

struct table {
	unsigned nbuckets, count;
	struct entry **bucket;
};

static unsigned hash(int key) { return (unsigned)key * 2654435761u >> 16; }

static struct table *table_new(void)
{
	struct table *t = malloc(sizeof *t);
	t->nbuckets = 4;
	t->count = 0;
	t->bucket = calloc(t->nbuckets, sizeof *t->bucket);
	return t;
}

static void grow(struct table *t)
{
	unsigned old = t->nbuckets, n = 2 * old;
	struct entry **bucket = calloc(n, sizeof *bucket), *next;
	for (unsigned i = 0; i < old; i++)
		for (struct entry *e = t->bucket[i]; e; e = next) {
			next = e->next;
#ifdef FAULT
			e->next = bucket[e->hash % old];
			bucket[e->hash % old] = e; /* FAULT */
#else
			e->next = bucket[e->hash % n];
			bucket[e->hash % n] = e;
#endif
		}
	free(t->bucket);
	t->bucket = bucket;
	t->nbuckets = n;
}

void table_put(struct table *t, int key)
{
	if (t->count == 2 * t->nbuckets)
		grow(t);
	struct entry *e = malloc(sizeof *e), **b;
	e->hash = hash(key);
	e->key = key;
	b = &t->bucket[e->hash % t->nbuckets];
	e->next = *b;
	*b = e;
	t->count++;
}

void table_remove(struct table *t, int key)
{
	struct entry **at = &t->bucket[hash(key) % t->nbuckets];
	while (*at && (*at)->key != key)
		at = &(*at)->next;
	struct entry *e = *at;
	if (!e)
		return;
	*at = e->next;
	t->count--;
	free(e);
}

int main(void)
{
	struct table *t = table_new();
	for (int i = 0; i < 24; i++)
		table_put(t, i);
	for (int i = 0; i < 24; i += 3)
		table_remove(t, i);
	printf("%d\n", t->count > 0);
	return 0;
}
