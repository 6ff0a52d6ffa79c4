/* clang takes the first turn of the loop out of it, ahead of the others without anything between. */
#include <stdio.h>
#include <stdlib.h>

struct node { struct node *next; int key; };
struct list { struct node *head; int count; };

static void swap(struct list *a, struct list *b)
{
	struct list t = *a;
	*a = *b;
	*b = t;
}

static void push(struct list *l, int key)
{
	struct node *n = malloc(sizeof *n);
	n->key = key;
	n->next = l->head;
	l->head = n;
	l->count++;
}

int main(void)
{
	struct list *l = calloc(1, sizeof *l);
	for (int i = 0; i < 20; i++) {
		push(l, i);
		swap(l, l);
	}
	printf("%d\n", l->count);
	return 0;
}
