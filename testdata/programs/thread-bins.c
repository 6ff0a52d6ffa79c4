/* build: gcc -fno-inline -pthread */
/* run: --module libc.so.6 */
/* engine: inline */
/*
 * The fault of free-list.c (figure 3.8 of the thesis) in a thread: what is copied runs over
 * a free block in the thread's own arena. thread-bins.cons says what must hold for the lists
 * of all arenas.
 * FAULT: the & in front of tmp->target.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 3, BLOCKS = 40 };

struct node {
	char *target;
	size_t size;
};

struct work {
	pthread_t thread;
	unsigned seed;
	char *blocks[BLOCKS];
};

static size_t any(struct work *w, size_t n)
{
	w->seed = w->seed * 1103515245u + 12345;
	return (w->seed >> 8) % n;
}

/* step takes and gives blocks of all sizes: blocks are split, joined with their
 * neighbours, sorted into bins, moved, given back to the top. */
void step(struct work *w)
{
	char **block = &w->blocks[any(w, BLOCKS)];
	switch (any(w, 4)) {
	case 0:
		free(*block);
		*block = NULL;
		break;
	case 1:
		*block = realloc(*block, 1 + any(w, 5000));
		break;
	default:
		free(*block);
		*block = any(w, 2) ? malloc(1 + any(w, 9000)) : calloc(1, 1 + any(w, 700));
	}
}

void copy(struct node *tmp, const char *value, size_t size)
{
#ifdef FAULT
	memcpy(&tmp->target, value, size); /* FAULT */
#else
	memcpy(tmp->target, value, size);
#endif
	tmp->size = size;
}

void work(struct work *w)
{
	char value[64];
	char *target = malloc(sizeof value);
	struct node *tmp = malloc(sizeof *tmp);
	char *large = malloc(2000), *last = malloc(24);

	memset(value, 'x', sizeof value);
	strcpy(large, "large");
	strcpy(last, "last");
	for (int i = 0; i < 200; i++)
		step(w);
	tmp->target = target;
	free(large); /* which lies behind tmp */
	copy(tmp, value, sizeof value);
	for (int i = 0; i < 40; i++)
		step(w);
	printf("%s %zu\n", last, tmp->size);
}

static void *begin(void *arg)
{
	work(arg);
	return NULL;
}

int main(void)
{
	static struct work all[THREADS];

	for (int i = 0; i < THREADS; i++) {
		all[i].seed = (unsigned)i + 1;
		pthread_create(&all[i].thread, NULL, begin, &all[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i].thread, NULL);
	return 0;
}
