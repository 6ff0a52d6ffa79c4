/*
 * Players in a round: a circular singly-linked list. A player joins behind
 * somebody, and leaves by name.
 */
#include <stdio.h>
#include <stdlib.h>

struct cnode {
	int value;
	int wins;
	struct cnode *next;
};

/* The player whose turn it is, and how many there are. */
struct round {
	struct cnode *current;
	int players;
};

static struct round round_;

static struct cnode *new_player(int value)
{
	struct cnode *n = malloc(sizeof *n);
	if (!n) {
		perror("malloc");
		exit(1);
	}
	n->value = value;
	n->wins = 0;
	n->next = n;
	return n;
}

/* The player before n. */
static struct cnode *previous(struct cnode *n)
{
	struct cnode *p = n;
	while (p->next != n)
		p = p->next;
	return p;
}

static struct cnode *find(int value)
{
	struct cnode *n = round_.current;
	if (!n)
		return NULL;
	do {
		if (n->value == value)
			return n;
		n = n->next;
	} while (n != round_.current);
	return NULL;
}

static void advance(int steps)
{
	while (steps-- > 0 && round_.current)
		round_.current = round_.current->next;
}

static void join_behind(struct cnode *at, struct cnode *n)
{
	n->next = at->next;
	at->next = n;
}

static void join_before(struct cnode *at, struct cnode *n)
{
	struct cnode *p = previous(at);
	n->next = at;
	p->next = n;
}

/* Takes the part from first to last out and puts it behind the player at. */
static void move_part(struct cnode *before, struct cnode *last, struct cnode *at)
{
	struct cnode *first = before->next;
	before->next = last->next;
	last->next = at->next;
	at->next = first;
}

/* Two players change places with those that follow them. */
static void reseat(void)
{
	struct cnode *before = round_.current, *last;
	if (round_.players < 6)
		return;
	last = before->next->next;
	move_part(before, last, last->next->next);
}

void ring_insert(int value)
{
	struct cnode *n = new_player(value);
	if (!round_.current) {
		round_.current = n;
		round_.players = 1;
		return;
	}
	if (value % 3 == 0)
		join_before(round_.current, n);
	else
		join_behind(round_.current, n);
	round_.players++;
	if (value % 5 == 0)
		advance(value % 7);
	if (value % 11 == 0)
		reseat();
}

void ring_delete(int value)
{
	struct cnode *n = find(value), *p;
	if (!n)
		return;
	if (n->next == n) {
		round_.current = NULL;
		round_.players = 0;
		free(n);
		return;
	}
	p = previous(n);
	p->next = n->next;
	if (round_.current == n)
		round_.current = n->next;
	p->wins++;
	round_.players--;
	free(n);
}

/* The judge's own view: one ring, of as many players as were counted. */
int ring_check(void)
{
	struct cnode *slow = round_.current, *n = round_.current;
	int count = 0;
	if (!n)
		return round_.players == 0;
	do {
		if (!n || count > round_.players)
			return 0;
		count++;
		n = n->next;
		if (count % 2 == 0)
			slow = slow->next;
		if (n == slow && n != round_.current)
			return 0;
	} while (n != round_.current);
	return count == round_.players;
}

#define INSERT ring_insert
#define DELETE ring_delete
#define CHECK ring_check
#include "workload.h"
