/* Threads with structures of their own, and some that they share. */
#include <pthread.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 5, ROUNDS = 25 };

struct node { struct node *next; char name[24]; long value; };

static struct { long total, turns; } *shared;
static pthread_barrier_t began;	/* the stack of a thread that ended would be used again */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
	struct node *head = NULL;
	struct node **table = NULL;
	long id = (long)arg, n = 0, room = 0;

	pthread_barrier_wait(&began);
	for (long i = 0; i < ROUNDS; i++) {
		struct node *e = i % 3 ? malloc(sizeof(*e)) : calloc(1, sizeof(*e));
		e->next = head;
		snprintf(e->name, sizeof(e->name), "node %ld of %ld", i, id);
		e->value = i * id;
		head = e;
		if (n == room) {
			room = room ? 2 * room : 2;
			table = realloc(table, room * sizeof(*table));
		}
		table[n++] = e;
		if (i % 7 == 6) {
			head = e->next;
			memmove(table, table + 1, --n * sizeof(*table));
			memset(e, 0x55, sizeof(*e));
			free(e);
			table[n - 1] = head;
		}
		pthread_mutex_lock(&lock);
		shared->total += i;
		pthread_mutex_unlock(&lock);
		__atomic_fetch_add(&shared->turns, 1, __ATOMIC_SEQ_CST);
	}
	free(table);
	return head;
}

int main(void)
{
	pthread_t *t = malloc(THREADS * sizeof(*t));
	struct node *n, *next;
	void *result;

	pthread_barrier_init(&began, NULL, THREADS);
	shared = calloc(1, sizeof(*shared));
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &result);
		for (n = result; n; n = next) {
			next = n->next;
			n->value = 0;
			if (n->name[5] == '1')
				n->name[0] = 'N';
		}
	}
	return shared->turns != THREADS * ROUNDS;
}
