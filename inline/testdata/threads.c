/* Threads that allocate and store while others begin and end. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node { struct node *next; long v; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct node *shared;
static struct { _Atomic long n, x; _Atomic unsigned bits; _Atomic(struct node *) top; char pad[64]; } *counters;
static long rounds = 200;

static long build(long seed)
{
	struct node *list = 0, *n;
	long sum = 0, i;

	for (i = 0; i < rounds; i++) {
		n = malloc(sizeof(*n) + seed % 7 * 8);
		n->v = seed + i;
		n->next = list;
		list = n;
		if (i % 3 == 2) {
			n = list->next;
			list->next = n->next;
			free(n);
		}
	}
	for (n = list; n; n = n->next)
		sum += n->v;
	pthread_mutex_lock(&lock);
	n = malloc(sizeof(*n));
	n->next = shared;
	n->v = sum;
	shared = n;
	pthread_mutex_unlock(&lock);
	while (seed % 2 && list) {
		n = list->next;
		free(list);
		list = n;
	}
	return sum;
}

static void *many(void *arg) { return (void *)build((long)arg); }

static void *atomics(void *arg)
{
	long i, id = (long)arg;

	for (i = 0; i < rounds * 10; i++) {
		long old = atomic_load(&counters->x);
		struct node *n;

		atomic_fetch_add(&counters->n, id);
		while (!atomic_compare_exchange_weak(&counters->x, &old, old + 1))
			;
		if (i % 16)
			continue;
		n = malloc(sizeof(*n));
		n->v = id << 32 | i;
		n->next = atomic_load(&counters->top);
		while (!atomic_compare_exchange_weak(&counters->top, &n->next, n))
			;
	}
	return 0;
}

static void *mutexes(void *arg)
{
	long i;

	for (i = 0; i < rounds * 10; i++) {
		struct node *n = malloc(sizeof(*n));

		pthread_mutex_lock(&lock);
		n->next = shared;
		n->v = shared ? shared->v + 1 : 1;
		shared = n;
		pthread_mutex_unlock(&lock);
	}
	return 0;
}

/* ---- cancellation ---- */

static volatile long cleaned;
static volatile int ready;

static void cleanup(void *p)
{
	free(p);
	__atomic_fetch_add(&cleaned, 1, __ATOMIC_SEQ_CST);
}

static void *cancelled(void *arg)
{
	volatile long *p = malloc(800);
	char c;

	pthread_cleanup_push(cleanup, (void *)p);
	if (arg) {
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
		for (long i = 0;; i++)
			p[i % 100] = i, ready = i > 1000;
	}
	ready = 1;
	while (read(*(int *)&rounds, &c, 1) == 1)
		;
	pthread_cleanup_pop(1);
	return 0;
}

static int cancels(void)
{
	int good = 0, fd[2];

	pipe(fd);
	rounds = fd[0];
	for (int i = 0; i < 60; i++) {
		pthread_t t;
		void *r;

		ready = 0;
		pthread_create(&t, 0, cancelled, (void *)(long)(i % 2));
		while (!ready)
			usleep(100);
		usleep(i * 10);
		pthread_cancel(t);
		pthread_join(t, &r);
		good += r == PTHREAD_CANCELED;
	}
	printf("%d %ld\n", good, cleaned);
	return 6;
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 4, wave = n < 50 ? n : 50, i, j;
	pthread_t t[64];
	long total = 0;
	void *(*f)(void *) = !strcmp(argv[1], "many") ? many : !strcmp(argv[1], "atomics") ? atomics : mutexes;

	if (!strcmp(argv[1], "cancels"))
		return cancels();
	if (argc > 3)
		rounds = atoi(argv[3]);
	counters = calloc(1, sizeof(*counters));
	for (i = 0; i < n; i += wave) {
		for (j = 0; j < wave; j++)
			if (pthread_create(&t[j], 0, f, (void *)(long)(i + j + 1)))
				return 3;
		for (j = 0; j < wave; j++) {
			void *r;

			pthread_join(t[j], &r);
			total += (long)r;
		}
	}
	for (struct node *p = shared; p; p = p->next)
		total += p->v;
	printf("%ld %ld %ld\n", total, (long)counters->n, (long)counters->x);
	return 5;
}
