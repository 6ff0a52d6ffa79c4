/* spec: ../specs/doubly-linked-list.cons */
/*
 * A cache that keeps its entries in the order of their last use.
 * FAULT: when an entry is taken out of its place to move to the front, the back
 * pointer of its successor is set to the front at once.
 */
#include <stdio.h>
#include <stdlib.h>

struct dnode {
	int key;
	struct dnode *next, *prev;
};

static struct dnode *front;

static void push_front(struct dnode *n)
{
	n->prev = NULL;
	n->next = front;
	if (front)
		front->prev = n;
	front = n;
}

static void move_to_front(struct dnode *n)
{
	if (n == front)
		return;
	n->prev->next = n->next;
	if (n->next) {
#ifdef FAULT
		n->next->prev = front; /* FAULT */
#else
		n->next->prev = n->prev;
#endif
	}
	push_front(n);
}

static void use(int key)
{
	struct dnode *n = front;
	while (n && n->key != key)
		n = n->next;
	if (n) {
		move_to_front(n);
		return;
	}
	n = malloc(sizeof *n);
	n->key = key;
	push_front(n);
}

int main(void)
{
	for (int i = 0; i < 10; i++)
		use(i);
	use(9);
	use(4);
	use(12);
	printf("%d\n", front->key);
	return 0;
}
