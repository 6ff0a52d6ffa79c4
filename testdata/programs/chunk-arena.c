/* build: gcc -fno-inline */
/*
 * Lists in an arena that has chunks of malloc's: the first is taken by who makes the arena, the
 * others where a piece does not fit any more. All go when a page is done, and the pieces with
 * them.
 * FAULT: the list is not emptied before.
 */
#include <stdio.h>
#include <stdlib.h>

struct chunk {
	struct chunk *next;
	size_t used;
	char memory[1000];
};
struct arena {
	struct chunk *chunks;
};
struct word {
	struct word *next;
	int length;
};
struct page {
	struct word *words;
	int count;
};

static void more(struct arena *a)
{
	struct chunk *c = malloc(sizeof *c);
	c->next = a->chunks;
	c->used = 0;
	a->chunks = c;
}

void *arena_get(struct arena *a, size_t size)
{
	if (a->chunks->used + size > sizeof a->chunks->memory)
		more(a);
	void *piece = a->chunks->memory + a->chunks->used;
	a->chunks->used += (size + 15) & ~(size_t)15;
	return piece;
}

void done(struct arena *a, struct page *p)
{
#ifdef FAULT
	if (p->count < 80) /* FAULT */
#endif
		p->words = NULL; /* FAULT */
	p->count = 0; /* FAULT */
	for (struct chunk *c = a->chunks, *next; c; c = next) {
		next = c->next;
		free(c); /* FAULT */
	}
	a->chunks = NULL;
}

void add(struct arena *a, struct page *p, int length)
{
	struct word *w = arena_get(a, sizeof *w);
	w->length = length;
	w->next = p->words;
	p->words = w;
	p->count++;
}

int main(void)
{
	struct arena *a = calloc(1, sizeof *a);
	struct page *p = calloc(1, sizeof *p);
	for (int i = 0; i < 5; i++) {
		more(a);
		for (int j = 0; j < 40 + 15 * i; j++)
			add(a, p, j % 11);
		printf("page %d: %d words\n", i, p->count);
		done(a, p);
	}
	return 0;
}
