/*
 * Two queues with their lengths and sums, which change places now and then. An optimising compiler has all in main:
 * it makes one store of the two ways to link an item, and of the fields that a new queue begins with (clang).
 * FAULT: where they change places, one is given the other's sum, which is its own: the compiler leaves the store out.
 */
#include <stdio.h>
#include <stdlib.h>

typedef struct item {
	struct item *next;
	int value;
} item;

typedef struct queue {
	item *head, *tail;
	int len;
	long sum;
} queue;

static queue *make(void)
{
	queue *q = malloc(sizeof *q);
	if (!q)
		abort();
	q->head = q->tail = NULL;
	q->len = 0;
	q->sum = 0;
	return q;
}

static void push(queue *q, int value)
{
	item *i = malloc(sizeof *i);
	if (!i)
		abort();
	i->value = value;
	i->next = NULL;
	if (q->tail)
		q->tail->next = i;
	else
		q->head = i;
	q->tail = i;
	q->len++;
	q->sum += value;
}

static int pop(queue *q)
{
	item *i = q->head;
	if (!i)
		return -1;
	int value = i->value;
	q->head = i->next;
	if (!q->head)
		q->tail = NULL;
	q->len--;
	q->sum -= value;
	free(i);
	return value;
}

static void swap(queue *a, queue *b)
{
	item *head = a->head, *tail = a->tail;
	int len = a->len;
	long sum = a->sum;
	a->head = b->head;
	a->tail = b->tail;
	a->len = b->len;
	a->sum = b->sum;
	b->head = head;
	b->tail = tail;
	b->len = len;
#ifdef FAULT
	b->sum = a->sum; /* FAULT */
	(void)sum;
#else
	b->sum = sum;
#endif
}

int main(void)
{
	queue *a = make(), *b = make();
	unsigned s = 9;
	for (int i = 0; i < 300; i++) {
		s = s * 1103515245 + 12345;
		queue *q = s & 0x10000 ? a : b;
		switch ((s >> 20) % 8) {
		case 0: case 1: case 2:
			push(q, (s >> 24) % 100);
			break;
		case 6:
			swap(a, b);
			break;
		default:
			pop(q);
		}
	}
	printf("%d %d\n", a->len, b->len);
	return 0;
}
