/* A cache that drops what was used least recently: a hash table with chains, and a list. */
#include <stdlib.h>
#include <string.h>

struct item {
	int key, value;
	struct item *hnext;
	struct item *prev, *next;
};

struct cache {
	int nbuckets, count, capacity;
	struct item **buckets;
	struct item *head, *tail;
	long hits, misses;
};

static struct cache *cache;

static unsigned hash(struct cache *c, int key)
{
	return ((unsigned)key * 2654435761u >> 7) % c->nbuckets;
}

struct cache *cache_new(int capacity)
{
	struct cache *c = malloc(sizeof *c);
	c->nbuckets = 16;
	c->count = 0;
	c->capacity = capacity;
	c->buckets = calloc(c->nbuckets, sizeof *c->buckets);
	c->head = c->tail = NULL;
	c->hits = c->misses = 0;
	return c;
}

static void list_unlink(struct cache *c, struct item *it)
{
	if (it->prev)
		it->prev->next = it->next;
	else
		c->head = it->next;
	if (it->next)
		it->next->prev = it->prev;
	else
		c->tail = it->prev;
}

static void list_push(struct cache *c, struct item *it)
{
	it->prev = NULL;
	it->next = c->head;
	if (c->head)
		c->head->prev = it;
	else
		c->tail = it;
	c->head = it;
}

static struct item *find(struct cache *c, int key)
{
	struct item *it = c->buckets[hash(c, key)];
	while (it && it->key != key)
		it = it->hnext;
	return it;
}

static void hash_remove(struct cache *c, struct item *it)
{
	struct item **p = &c->buckets[hash(c, it->key)];
	while (*p != it)
		p = &(*p)->hnext;
	*p = it->hnext;
}

static void evict(struct cache *c)
{
	struct item *old = c->tail;
	hash_remove(c, old);
	list_unlink(c, old);
	c->count--;
	free(old);
}

int cache_get(struct cache *c, int key)
{
	struct item *it = find(c, key);
	if (!it) {
		c->misses++;
		return -1;
	}
	c->hits++;
	if (it != c->head) {
		list_unlink(c, it);
		list_push(c, it);
	}
	return it->value;
}

static void grow(struct cache *c)
{
	int old = c->nbuckets, i;
	struct item **from = c->buckets;
	c->nbuckets *= 2;
	c->buckets = calloc(c->nbuckets, sizeof *c->buckets);
	for (i = 0; i < old; i++) {
		struct item *it = from[i];
		while (it) {
			struct item *next = it->hnext;
			unsigned h = hash(c, it->key);
			it->hnext = c->buckets[h];
			c->buckets[h] = it;
			it = next;
		}
	}
	free(from);
}

void cache_put(struct cache *c, int key, int value)
{
	struct item *it = find(c, key);
	unsigned h;
	if (it) {
		it->value = value;
		return;
	}
	if (c->count == c->capacity)
		evict(c);
	if (c->count > 2 * c->nbuckets)
		grow(c);
	it = malloc(sizeof *it);
	it->key = key;
	it->value = value;
	h = hash(c, key);
	it->hnext = c->buckets[h];
	c->buckets[h] = it;
	list_push(c, it);
	c->count++;
}

void cache_del(struct cache *c, int key)
{
	struct item *it = find(c, key);
	if (!it)
		return;
	hash_remove(c, it);
	list_unlink(c, it);
	free(it);
	c->count--;
}

static void put(int key)
{
	if (!cache)
		cache = cache_new(700);
	cache_put(cache, key, key);
}

/* Every third key is asked for before it goes; some have been dropped by then. */
static void drop(int key)
{
	if (key % 3 == 0)
		cache_get(cache, key);
	cache_del(cache, key);
}

/* The judge's own view: nodes in the list, -1 if something is wrong. */
static int check_list(void)
{
	const struct item *it, *before = NULL;
	int n = 0;
	for (it = cache->head; it; before = it, it = it->next)
		if (it->prev != before || ++n > cache->capacity)
			return -1;
	return cache->tail == before ? n : -1;
}

int cache_check(void)
{
	int i, n = 0;
	for (i = 0; i < cache->nbuckets; i++) {
		const struct item *it;
		for (it = cache->buckets[i]; it; it = it->hnext)
			if (hash(cache, it->key) != (unsigned)i || ++n > cache->capacity)
				return 0;
	}
	return n == cache->count && check_list() == n;
}

#define INSERT put
#define DELETE drop
#define CHECK cache_check
#include "workload.h"
