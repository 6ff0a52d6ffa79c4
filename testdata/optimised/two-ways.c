/*
 * A stack whose nodes get fields by the one way or the other. An optimising compiler makes one store of the two, at
 * the line of one of them. Nothing that is declared leads to the newest node, but to all others.
 * FAULT: of some nodes the kind is wrong.
 */
#include <stdio.h>
#include <stdlib.h>

struct node {
	struct node *next;
	long key, kind, weight;
};

static struct node *head;
static long odds, evens;

#ifdef FAULT
#define WRONG(key) ((key) == 6) /* FAULT */
#else
#define WRONG(key) 0
#endif

__attribute__((noinline)) static long odd(long key)
{
	odds++;
	return key & 1;
}

__attribute__((noinline)) static long even(long key)
{
	evens++;
	return WRONG(key);
}

__attribute__((noinline)) void push(long key)
{
	struct node *n = malloc(sizeof *n);

	if (!n)
		abort();
	n->next = head;
	n->key = key;
	if (key > 3)
		n->weight = 2;
	else
		n->weight = 1;
	head = n;
	if (key & 1)
		n->kind = odd(key); /* FAULT */
	else
		n->kind = even(key); /* FAULT */
}

int main(void)
{
	long sum = 0;

	for (long i = 0; i < 12; i++)
		push(i);
	for (struct node *n = head; n; n = n->next)
		sum += n->weight * n->kind;
	printf("%ld of %ld\n", sum, odds + evens);
	return 0;
}
