/* spec: ../specs/static-list.cons */
/*
 * A list whose head and count are in static memory.
 * FAULT: removing a node ends the list in front of it, and loses what follows.
 */
#include <stdio.h>
#include <stdlib.h>

struct node {
	int value;
	struct node *next;
};

static struct {
	struct node *head;
	int count;
} list;

void list_push(int value)
{
	struct node *n = malloc(sizeof *n);
	n->value = value;
	n->next = list.head;
	list.head = n;
	list.count++;
}

void list_remove(int value)
{
	struct node *p = NULL, *n = list.head;
	while (n && n->value != value) {
		p = n;
		n = n->next;
	}
	if (!n)
		return;
	if (!p)
		list.head = n->next;
	else
#ifdef FAULT
		p->next = NULL; /* FAULT */
#else
		p->next = n->next;
#endif
	list.count--;
	free(n);
}

int main(void)
{
	for (int i = 0; i < 12; i++)
		list_push(i);
	list_remove(11);
	list_remove(3);
	list_remove(42);
	list_push(99);
	printf("%d\n", list.count);
	return 0;
}
