/* A hash table in the manner of uthash: each item has a handle in it, which is in a bucket's
   list and in one of all items in the order in which they were added.
   FAULT: when the table grows, the old first of a bucket is not told of the new one. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct handle {
	struct handle *prev, *next, *chain_prev, *chain;
	unsigned hash;
};

struct bucket {
	struct handle *head;
	unsigned count;
};

struct table {
	struct bucket *bucket;
	unsigned nbuckets, nitems;
	struct handle *first, *last;
};

struct user {
	char name[12];
	int age;
	struct handle h;
};

#define USER(p) ((struct user *)((char *)(p) - offsetof(struct user, h)))

static unsigned hash(const char *s)
{
	unsigned h = 5381;
	while (*s)
		h = h * 33 + (unsigned char)*s++;
	return h;
}

static void grow(struct table *t)
{
	unsigned n = t->nbuckets * 2;
	struct bucket *bucket = calloc(n, sizeof *bucket);
	for (unsigned i = 0; i < t->nbuckets; i++)
		for (struct handle *p = t->bucket[i].head, *next; p; p = next) {
			struct bucket *b = &bucket[p->hash & (n - 1)];
			next = p->chain;
			p->chain_prev = NULL;
			p->chain = b->head; /* FAULT */
#ifndef FAULT
			if (b->head)
				b->head->chain_prev = p;
#endif
			b->head = p; /* FAULT */
			b->count++;
		}
	free(t->bucket);
	t->bucket = bucket;
	t->nbuckets = n;
}

static void add(struct table *t, struct user *u)
{
	struct handle *p = &u->h;
	p->hash = hash(u->name);
	p->prev = t->last;
	if (t->last)
		t->last->next = p;
	else
		t->first = p;
	t->last = p;
	struct bucket *b = &t->bucket[p->hash & (t->nbuckets - 1)];
	p->chain = b->head;
	if (b->head)
		b->head->chain_prev = p;
	b->head = p;
	b->count++;
	t->nitems++;
	if (b->count > 4)
		grow(t);
}

static struct user *find(struct table *t, const char *name)
{
	unsigned h = hash(name);
	for (struct handle *p = t->bucket[h & (t->nbuckets - 1)].head; p; p = p->chain)
		if (p->hash == h && !strcmp(USER(p)->name, name))
			return USER(p);
	return NULL;
}

static void drop(struct table *t, struct user *u)
{
	struct handle *p = &u->h;
	if (p->prev)
		p->prev->next = p->next;
	else
		t->first = p->next;
	if (p->next)
		p->next->prev = p->prev;
	else
		t->last = p->prev;
	struct bucket *b = &t->bucket[p->hash & (t->nbuckets - 1)];
	if (p->chain_prev)
		p->chain_prev->chain = p->chain;
	else
		b->head = p->chain;
	if (p->chain)
		p->chain->chain_prev = p->chain_prev;
	b->count--;
	t->nitems--;
	free(u);
}

int main(void)
{
	struct table *t = calloc(1, sizeof *t);
	t->nbuckets = 4;
	t->bucket = calloc(t->nbuckets, sizeof *t->bucket);
	unsigned seed = 9;
	for (int i = 0; i < 120; i++) {
		char name[12];
		seed = seed * 1103515245 + 12345;
		snprintf(name, sizeof name, "u%u", (seed >> 16) % 60);
		struct user *u = find(t, name);
		if (u)
			drop(t, u);
		else {
			u = calloc(1, sizeof *u);
			strcpy(u->name, name);
			u->age = i;
			add(t, u);
		}
	}
	printf("%u items in %u buckets\n", t->nitems, t->nbuckets);
	return 0;
}
