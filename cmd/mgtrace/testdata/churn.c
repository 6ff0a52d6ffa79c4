/* A queue that turns over for as long as it is told, beside one that is made at the
 * start: argv[1] nodes pass through. Node argv[2] of the first, or -argv[2] of the
 * other, is linked wrongly (0: none). argv[3]: sleep so many seconds in the end; argv[4]:
 * nodes of the first that live at once (100). */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct node {
	struct node *next, *prev;
	long key, pad[5];
};

struct queue {
	struct node *head, *tail;
	long count;
};

__attribute__((noinline)) static void push(struct queue *q, long key, long bad)
{
	struct node *n = malloc(sizeof *n);
	n->key = key;
	n->next = NULL;
	n->prev = q->tail;
	for (int i = 0; i < 5; i++)
		n->pad[i] = key * 2654435761 + i;
	if (q->tail)
		q->tail->next = n;
	else
		q->head = n;
	q->tail = n;
	if (key == bad)
		n->prev = n; /* FAULT */
	q->count++;
}

__attribute__((noinline)) static void pop(struct queue *q)
{
	struct node *n = q->head;
	q->head = n->next;
	if (q->head)
		q->head->prev = NULL;
	else
		q->tail = NULL;
	q->count--;
	free(n);
}

__attribute__((noinline)) static void check(struct queue *q)
{
	__asm__ volatile("" : : "r"(q) : "memory");
}

int main(int argc, char **argv)
{
	long n = atol(argv[1]), bad = atol(argv[2]), keep = argc > 4 ? atol(argv[4]) : 100;
	struct queue *q = calloc(1, sizeof *q), *old = calloc(1, sizeof *old);
	for (long i = 1; i <= 50; i++)
		push(old, i, bad < 0 ? -bad : 0);
	for (long i = 1; i <= n; i++) {
		push(q, i, bad);
		if (q->count > keep)
			pop(q);
		if (i % (10 * keep) == 0)
			check(q);
	}
	check(q);
	printf("%ld %ld\n", q->count, old->count);
	fflush(stdout);
	if (argc > 3)
		sleep(atoi(argv[3]));
	return 0;
}
