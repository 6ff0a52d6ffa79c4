/*
 * A doubly-linked list of tasks with both ends, in order of urgency. A task
 * that becomes more urgent moves towards the head.
 */
#include <stdio.h>
#include <stdlib.h>

struct dnode {
	int key;
	int moves;
	struct dnode *next, *prev;
};

struct queue {
	struct dnode *head, *tail;
	int count;
};

static struct queue queue;

static struct dnode *new_node(int key)
{
	struct dnode *n = malloc(sizeof *n);
	if (!n) {
		perror("malloc");
		exit(1);
	}
	n->key = key;
	n->moves = 0;
	n->next = NULL;
	n->prev = NULL;
	return n;
}

static struct dnode *find(const struct queue *q, int key)
{
	struct dnode *n = q->head;
	while (n && n->key != key)
		n = n->next;
	return n;
}

static void push_front(struct queue *q, struct dnode *n)
{
	n->prev = NULL;
	n->next = q->head;
	if (q->head)
		q->head->prev = n;
	else
		q->tail = n;
	q->head = n;
	q->count++;
}

static void push_back(struct queue *q, struct dnode *n)
{
	n->next = NULL;
	n->prev = q->tail;
	if (q->tail)
		q->tail->next = n;
	else
		q->head = n;
	q->tail = n;
	q->count++;
}

static void insert_before(struct queue *q, struct dnode *at, struct dnode *n)
{
	if (at == q->head) {
		push_front(q, n);
		return;
	}
	n->prev = at->prev;
	n->next = at;
	at->prev->next = n;
	at->prev = n;
	q->count++;
}

static void unlink_node(struct queue *q, struct dnode *n)
{
	if (n->prev)
		n->prev->next = n->next;
	else
		q->head = n->next;
	if (n->next)
		n->next->prev = n->prev;
	else
		q->tail = n->prev;
	q->count--;
}

static void insert_in_order(struct queue *q, struct dnode *n)
{
	struct dnode *at = q->head;
	while (at && at->key < n->key)
		at = at->next;
	if (at)
		insert_before(q, at, n);
	else
		push_back(q, n);
}

/* Makes a task one more urgent; it may have to change places. */
static void promote(struct queue *q, struct dnode *n)
{
	struct dnode *p = n->prev;
	if (!p)
		return;
	n->moves++;
	if (p->key < n->key - 1) {
		return;
	}
	/* p n → n p */
	p->next = n->next;
	if (n->next)
		n->next->prev = p;
	else
		q->tail = p;
	n->prev = p->prev;
	if (p->prev)
		p->prev->next = n;
	else
		q->head = n;
	n->next = p;
	p->prev = n;
	int key = n->key;
	n->key = p->key;
	p->key = key;
}

void queue_insert(int key)
{
	struct dnode *n = new_node(key);
	if (queue.head && key < queue.head->key)
		push_front(&queue, n);
	else
		insert_in_order(&queue, n);
	if (key % 4 == 0)
		promote(&queue, n);
}

void queue_delete(int key)
{
	struct dnode *n = find(&queue, key);
	if (!n)
		return;
	unlink_node(&queue, n);
	if (key % 9 == 0) {
		/* done in part: back for a moment, then away */
		n->moves++;
		insert_in_order(&queue, n);
		unlink_node(&queue, n);
	}
	free(n);
}

/* The judge's own view: forth and back, in order, as many as were counted. */
int queue_check(void)
{
	int n = 0, m = 0;
	for (struct dnode *d = queue.head; d; d = d->next) {
		if (n++ > queue.count)
			return 0;
		if (d->next && (d->next->key < d->key || d->next->prev != d))
			return 0;
		if (!d->next && queue.tail != d)
			return 0;
	}
	for (struct dnode *d = queue.tail; d; d = d->prev) {
		if (m++ > queue.count)
			return 0;
		if (!d->prev && queue.head != d)
			return 0;
	}
	return n == queue.count && m == n;
}

#define INSERT queue_insert
#define DELETE queue_delete
#define CHECK queue_check
#include "workload.h"
