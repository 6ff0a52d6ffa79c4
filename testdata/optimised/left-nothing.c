/*
 * A list that is verified after each operation, if the program is built to: else nothing is left of the function that
 * does so, of which the specification says that the list is whole there.
 * FAULT: of one node the list keeps no count.
 */
#include <stdio.h>
#include <stdlib.h>

struct node {
	struct node *next;
	int key;
};

struct list {
	struct node *head;
	int count;
};

static void verify(const struct list *l)
{
	int n = 0;
	for (const struct node *x = l->head; x; x = x->next)
		n++;
#ifdef VERIFY
	if (n != l->count)
		abort();
#endif
	(void)n;
}

static void push(struct list *l, int key)
{
	struct node *n = malloc(sizeof *n);
	if (!n)
		abort();
	n->key = key;
	n->next = l->head;
	l->head = n;
#ifdef FAULT
	if (key != 5) /* FAULT */
#endif
	l->count++;
	verify(l);
}

__attribute__((noinline)) static void fill(struct list *l, int from, int to)
{
	for (int key = from; key < to; key++)
		push(l, key);
}

int main(void)
{
	struct list *l = calloc(1, sizeof *l);
	if (!l)
		abort();
	for (int i = 0; i < 20; i += 2)
		fill(l, i, i + 2);
	printf("%d\n", l->count);
	return 0;
}
