/* Jobs in a ring; some wait for a while in another one, whose head is a variable of the function that has them wait.
   FAULT: they are not given back, and the last one still leads to the head when the function has been left. */
#include <stdio.h>
#include <stdlib.h>

struct link {
	struct link *next, *prev;
};

struct job {
	struct link link;
	int id, seen;
};

__attribute__((noinline)) void append(struct link *to, struct link *l)
{
	l->next = to;
	l->prev = to->prev;
	to->prev->next = l;
	to->prev = l;
}

__attribute__((noinline)) void take_out(struct link *l)
{
	l->next->prev = l->prev;
	l->prev->next = l->next;
}

__attribute__((noinline)) void add(struct link *ring, int id)
{
	struct job *j = malloc(sizeof *j);
	j->id = id;
	j->seen = 0;
	append(ring, &j->link);
}

__attribute__((noinline)) void look_at(struct link *l)
{
	((struct job *)l)->seen++;
}

__attribute__((noinline)) void give_back(struct link *ring, struct link *wait)
{
	wait->next->prev = ring->prev;
	ring->prev->next = wait->next;
	ring->prev = wait->prev;
#ifndef FAULT
	wait->prev->next = ring;
#endif
	wait->next = wait->prev = wait; /* FAULT */
}

__attribute__((noinline)) void postpone(struct link *ring, int which)
{
	struct link wait = {&wait, &wait};
	for (struct link *l = ring->next, *next; l != ring; l = next) {
		next = l->next;
		if (((struct job *)l)->id % 3 == which) {
			take_out(l);
			append(&wait, l);
		}
	}
	for (struct link *l = wait.next; l != &wait; l = l->next)
		look_at(l);
	if (wait.next != &wait)
		give_back(ring, &wait);
}

int main(void)
{
	struct link ring = {&ring, &ring};
	for (int i = 0; i < 12; i++)
		add(&ring, i);
	postpone(&ring, 1);
	add(&ring, 12);
	int n = 0;
	for (struct link *l = ring.prev; l != &ring; l = l->prev)
		n += ((struct job *)l)->id;
	printf("%d\n", n);
	return 0;
}
