/* spec: ../specs/circular-list.cons */
/*
 * A round of players as a circular list. Two rounds that meet become one.
 * FAULT: where the rounds are joined, the end of the second is linked back to
 * the player that it was joined behind, instead of to the one that follows.
 */
#include <stdio.h>
#include <stdlib.h>

struct cnode {
	int value;
	struct cnode *next;
};

struct cnode *head;

static struct cnode *new_ring(int value)
{
	struct cnode *n = malloc(sizeof *n);
	n->value = value;
	n->next = n;
	return n;
}

static void insert_after(struct cnode *at, int value)
{
	struct cnode *n = new_ring(value);
	n->next = at->next;
	at->next = n;
}

/* Puts the whole ring other between at and its successor. */
static void join(struct cnode *at, struct cnode *other)
{
	struct cnode *last = other;
	while (last->next != other)
		last = last->next;
#ifdef FAULT
	last->next = at; /* FAULT */
#else
	last->next = at->next;
#endif
	at->next = other;
}

int main(void)
{
	head = new_ring(0);
	for (int i = 1; i < 8; i++)
		insert_after(head, i);
	struct cnode *other = new_ring(100);
	for (int i = 1; i < 5; i++)
		insert_after(other, 100 + i);
	join(head->next, other);
	printf("%d\n", head->value);
	return 0;
}
