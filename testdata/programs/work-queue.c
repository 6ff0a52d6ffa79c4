/* build: gcc -pthread */
/* A queue that threads wait at: nearly always one of them is inside of take, waiting.
   FAULT: who takes the last one leaves the tail leading to it, ten times: a C-point between
   the two ends of one such time is not certain, for who took may still be on its way out of
   take when the next is put. The last of all is taken rightly, so that the end shows nothing. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct work {
	int id;
	struct work *next;
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct work *head, *tail;
	int closed;
};

static struct queue *queue;

__attribute__((noinline)) void put(struct queue *q, struct work *w)
{
	pthread_mutex_lock(&q->lock);
	w->next = NULL;
	if (q->head)
		q->tail->next = w;
	else
		q->head = w;
	q->tail = w;
	pthread_cond_signal(&q->more);
	pthread_mutex_unlock(&q->lock);
}

__attribute__((noinline)) struct work *take(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	while (!q->head && !q->closed)
		pthread_cond_wait(&q->more, &q->lock);
	struct work *w = q->head;
	if (w) {
		q->head = w->next; /* FAULT */
#ifdef FAULT
		if (w->id < 40 || w->id == 80)
#endif
			if (!q->head)
				q->tail = NULL;
	}
	pthread_mutex_unlock(&q->lock);
	return w;
}

static void *consume(void *arg)
{
	long n = 0;
	struct work *w;
	while ((w = take(arg))) {
		n++;
		free(w);
	}
	return (void *)n;
}

/* taken waits until the queue is empty. */
static void taken(struct queue *q)
{
	for (int empty = 0; !empty;) {
		pthread_mutex_lock(&q->lock);
		empty = !q->head;
		pthread_mutex_unlock(&q->lock);
	}
}

int main(void)
{
	pthread_t t[3];
	long n = 0;
	queue = calloc(1, sizeof *queue);
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->more, NULL);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, consume, queue);
	for (int i = 0; i <= 80; i++) {
		struct work *w = malloc(sizeof *w);
		w->id = i;
		put(queue, w);
		if (i % 4 == 0)
			taken(queue);
	}
	pthread_mutex_lock(&queue->lock);
	queue->closed = 1;
	pthread_cond_broadcast(&queue->more);
	pthread_mutex_unlock(&queue->lock);
	for (int i = 0; i < 3; i++) {
		void *got;
		pthread_join(t[i], &got);
		n += (long)got;
	}
	printf("%ld taken\n", n);
	return 0;
}
