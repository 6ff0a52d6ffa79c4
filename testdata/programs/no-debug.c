/* build: gcc -g0 */
/*
 * A queue, built without debug information: the specification declares the
 * layout, and the report names addresses.
 * FAULT: skipping an element unlinks the one behind it, too, and frees neither.
 */
#include <stdio.h>
#include <stdlib.h>

struct elem {
	struct elem *next;
	long value;
};

struct queue {
	struct elem *head;
	struct elem **tail;
	long length;
};

__attribute__((noinline)) void queue_put(struct queue *q, long value)
{
	struct elem *e = malloc(sizeof *e);
	e->next = NULL;
	e->value = value;
	*q->tail = e;
	q->tail = &e->next;
	q->length++;
}

__attribute__((noinline)) void queue_skip(struct elem *e)
{
#ifdef FAULT
	e->next = e->next->next->next; /* FAULT */
#else
	struct elem *gone = e->next;
	e->next = gone->next;
	free(gone);
#endif
}

int main(void)
{
	struct queue *q = malloc(sizeof *q);
	q->head = NULL;
	q->tail = &q->head;
	q->length = 0;
	for (int i = 0; i < 10; i++)
		queue_put(q, i);
	queue_skip(q->head->next);
	q->length--;
	printf("%ld\n", q->length);
	return 0;
}
