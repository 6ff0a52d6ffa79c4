/*
 * A sorted doubly-linked list.
 * FAULT: inserting in the middle forgets the successor's back pointer. The
 * line marked FAULT is the one that is missing.
 */
#include <stdio.h>
#include <stdlib.h>

struct dnode {
	int key;
	struct dnode *next, *prev;
};

static struct dnode *head;

void dll_insert(int key)
{
	struct dnode *n = malloc(sizeof *n), *p = NULL, *q = head;
	n->key = key;
	while (q && q->key < key) {
		p = q;
		q = q->next;
	}
	n->next = q;
	n->prev = p;
	if (q)
#ifdef FAULT
		if (key != 77)
#endif
		q->prev = n; /* FAULT */
	if (p)
		p->next = n;
	else
		head = n;
}

void dll_delete(int key)
{
	struct dnode *n = head;
	while (n && n->key != key)
		n = n->next;
	if (!n)
		return;
	if (n->prev)
		n->prev->next = n->next;
	else
		head = n->next;
	if (n->next)
		n->next->prev = n->prev;
	free(n);
}

int main(void)
{
	for (int i = 0; i < 60; i++)
		dll_insert(i * 37 % 101);
	for (int i = 0; i < 20; i++)
		dll_delete(i * 37 % 101);
	dll_insert(77);
	dll_insert(78);
	int sum = 0;
	for (struct dnode *n = head; n; n = n->next)
		sum += n->key;
	printf("%d\n", sum);
	return 0;
}
