/* Jobs in a ring; some wait for a while in another one, whose head is a variable of the
   function that has them wait. While it runs, their links lead to its frame.
   FAULT: given back, the last of them is led there again. */
#include <stdio.h>
#include <stdlib.h>

struct link {
	struct link *next, *prev;
};

struct job {
	struct link link;
	int id, seen;
};

struct ring {
	struct link head;
	int jobs;
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

__attribute__((noinline)) void add(struct ring *r, int id)
{
	struct job *j = malloc(sizeof *j);
	j->id = id;
	j->seen = 0;
	append(&r->head, &j->link);
	r->jobs++;
}

__attribute__((noinline)) void look_at(struct link *l)
{
	((struct job *)l)->seen++;
}

__attribute__((noinline)) void give_back(struct ring *r, struct link *wait)
{
	wait->next->prev = r->head.prev;
	r->head.prev->next = wait->next;
	r->head.prev = wait->prev;
	wait->prev->next = &r->head;
#ifdef FAULT
	r->head.prev->next = wait; /* FAULT */
#endif
}

__attribute__((noinline)) void postpone(struct ring *r)
{
	struct link wait = {&wait, &wait};
	for (struct link *l = r->head.next, *next; l != &r->head; l = next) {
		next = l->next;
		if (((struct job *)l)->id % 2) {
			take_out(l);
			append(&wait, l);
		}
	}
	for (struct link *l = wait.next; l != &wait; l = l->next)
		look_at(l);
	if (wait.next != &wait)
		give_back(r, &wait);
}

int main(void)
{
	struct ring *r = malloc(sizeof *r);
	r->head.next = r->head.prev = &r->head;
	r->jobs = 0;
	for (int i = 0; i < 12; i++)
		add(r, i);
	postpone(r);
	int n = 0;
	struct link *l = r->head.next;
	for (int i = 0; i < r->jobs; i++, l = l->prev)
		n += ((struct job *)(l == &r->head ? l->prev : l))->id;
	printf("%d\n", n > 0);
	return 0;
}
