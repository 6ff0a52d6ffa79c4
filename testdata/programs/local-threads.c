/* build: gcc -pthread */
/* Each thread has a list of its own in its function's frame. While one makes it there, others are at C-points.
   FAULT: a node is counted twice. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
	struct node *next;
	long value;
};

struct list {
	struct node *first;
	long count;
};

__attribute__((noinline)) void push(struct list *l, long value)
{
	struct node *n = malloc(sizeof *n);
	n->value = value;
	n->next = l->first;
	l->first = n;
#ifdef FAULT
	l->count += value == 2017 ? 2 : 1; /* FAULT */
#else
	l->count++;
#endif
}

__attribute__((noinline)) void pop(struct list *l)
{
	struct node *n = l->first;
	l->first = n->next;
	l->count--;
	free(n);
}

static void *work(void *arg)
{
	struct list mine = {0, 0};
	for (long i = 0; i < 50; i++) {
		push(&mine, i + (long)arg);
		if (i % 3 == 2)
			pop(&mine);
	}
	while (mine.first)
		pop(&mine);
	return 0;
}

int main(void)
{
	pthread_t t[4];
	for (int round = 0; round < 3; round++) {
		for (long i = 0; i < 4; i++)
			pthread_create(&t[i], 0, work, (void *)(i * 1000));
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], 0);
	}
	puts("done");
	return 0;
}
