/* build: gcc -fno-inline */
/* run: --module libc.so.6 */
/* engine: inline */
/*
 * When a table of records is dropped, malloc's cache of the thread has no room for all of
 * them: the others go to a fast bin, a list of chunks of one size, the links of which the
 * library stores combined with their own addresses. One of these records is still the
 * last of a queue. fast-bin.cons says what must hold for the fast bins, over the library's
 * own memory.
 * FAULT: the queue is continued after its last record has been freed.
 */
#include <stdio.h>
#include <stdlib.h>

enum { RECORDS = 12 };

struct record {
	struct record *next;
	long key;
};

static struct record *table[RECORDS], *last;

void fill(void)
{
	for (int i = 0; i < RECORDS; i++) {
		table[i] = malloc(sizeof *table[i]);
		table[i]->next = NULL;
		table[i]->key = i;
	}
	last = table[RECORDS - 2];
}

void append(struct record *r)
{
	last->next = r; /* FAULT */
	last = r;
}

void drop(void)
{
	for (int i = 0; i < RECORDS; i++)
		free(table[i]);
}

int main(void)
{
	static struct record end;

	for (int round = 0; round < 5; round++) {
		fill();
#ifdef FAULT
		drop();
		append(&end);
#else
		append(&end);
		drop();
#endif
	}
	puts("done");
	return 0;
}
