/* Jobs in a ring whose head is a variable of main; others live in the frames of a function that calls itself, and are
   empty when it returns.
   FAULT: taking a job out is not counted once. */
#include <stdio.h>
#include <stdlib.h>

struct link {
	struct link *next, *prev;
};

struct job {
	struct link link;
	int id;
};

struct ring {
	struct link head;
	long jobs;
};

static void init(struct ring *r)
{
	r->head.next = r->head.prev = &r->head;
	r->jobs = 0;
}

__attribute__((noinline)) void append(struct ring *r, struct job *j)
{
	j->link.next = &r->head;
	j->link.prev = r->head.prev;
	r->head.prev->next = &j->link;
	r->head.prev = &j->link;
	r->jobs++;
}

__attribute__((noinline)) struct job *take(struct ring *r)
{
	struct job *j = (struct job *)r->head.next;
	j->link.next->prev = j->link.prev;
	j->link.prev->next = j->link.next;
	j->link.next = j->link.prev = &j->link;
#ifdef FAULT
	if (j->id != 5) /* FAULT */
#endif
		r->jobs--;
	return j;
}

__attribute__((noinline)) void make(struct ring *r, int id)
{
	struct job *j = malloc(sizeof *j);
	j->id = id;
	j->link.next = j->link.prev = &j->link;
	append(r, j);
}

/* Reverses what is in a ring. */
__attribute__((noinline)) void reverse(struct ring *r, int depth)
{
	struct ring mine;
	init(&mine);
	while (r->head.next != &r->head)
		append(&mine, take(r));
	if (depth > 0)
		reverse(&mine, depth - 1);
	while (mine.head.next != &mine.head)
		append(r, take(&mine));
}

int main(void)
{
	struct ring jobs;
	init(&jobs);
	for (int i = 0; i < 8; i++)
		make(&jobs, i);
	reverse(&jobs, 2);
	long sum = 0;
	for (int i = 0; jobs.head.next != &jobs.head; i++) {
		struct job *j = take(&jobs);
		sum += i * j->id;
		free(j);
	}
	printf("%ld\n", sum);
	return 0;
}
