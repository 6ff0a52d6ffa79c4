/* build: gcc -fno-inline -pthread */
/* run: --module libc.so.6 */
/* engine: inline */
/*
 * The fault of free-list.c (figure 3.8 of the thesis) in a thread: what is copied runs over
 * a free block in the thread's own arena. thread-bins.cons says what must hold for the lists
 * of all arenas, when no thread is about to change one: they take turns, and all are there
 * before the first begins and until the last has ended.
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

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_there;

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

static void steps(struct work *w, int n)
{
	for (int i = 0; i < n; i++) {
		pthread_mutex_lock(&turn);
		step(w);
		pthread_mutex_unlock(&turn);
	}
}

static struct node *make(char **large)
{
	struct node *tmp;

	pthread_mutex_lock(&turn);
	tmp = malloc(sizeof *tmp);
	*large = malloc(2000); /* lies behind tmp */
	tmp->target = malloc(64);
	pthread_mutex_unlock(&turn);
	return tmp;
}

static void *work(void *arg)
{
	struct work *w = arg;
	struct node *tmp;
	char *large, value[64];

	pthread_barrier_wait(&all_there);
	memset(value, 'x', sizeof value);
	tmp = make(&large);
	steps(w, 200);
	pthread_mutex_lock(&turn);
	free(large);
	copy(tmp, value, sizeof value);
	pthread_mutex_unlock(&turn);
	steps(w, 40);
	pthread_barrier_wait(&all_there);
	return NULL;
}

int main(void)
{
	static struct work all[THREADS];

	pthread_barrier_init(&all_there, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		all[i].seed = (unsigned)i + 1;
		pthread_create(&all[i].thread, NULL, work, &all[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i].thread, NULL);
	puts("done");
	return 0;
}
