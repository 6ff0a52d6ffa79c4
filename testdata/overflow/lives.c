/*
 * Blocks that are used after their life: read and written after free, after realloc
 * moved them, freed twice, freed in the middle. -DHOW=READ WRITE MOVED TWICE MIDDLE LATER;
 * without -DFAULT the same in order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ, WRITE, MOVED, TWICE, MIDDLE, LATER };

struct item {
	struct item *next;
	long value;
};

static struct item *make(long value)
{
	struct item *i = malloc(sizeof *i);
	i->next = NULL;
	i->value = value;
	return i;
}

int main(void)
{
	struct item *a = make(1), *b = make(2);
	volatile long sum = 0;
	a->next = b;

	switch (HOW) {
	case READ:
#ifdef FAULT
		free(a);
		sum += a->value; /* FAULT */
#else
		sum += a->value;
		free(a);
#endif
		break;
	case WRITE:
#ifdef FAULT
		free(a);
		memset(&a->value, 0, sizeof a->value); /* FAULT */
#else
		memset(&a->value, 0, sizeof a->value);
		free(a);
#endif
		break;
	case MOVED: {
		struct item *c = realloc(a, 4000 * sizeof *a);
#ifdef FAULT
		sum += a->value; /* FAULT */
#else
		sum += c->value;
#endif
		free(c);
		break;
	}
	case TWICE:
		free(a);
#ifdef FAULT
		make(5)->next = NULL; /* it has the block now */
		free(b);
		free(b); /* FAULT */
#endif
		break;
	case MIDDLE:
#ifdef FAULT
		free(&a->value); /* FAULT */
#else
		free(a);
#endif
		break;
	case LATER: { /* the block is another's by then */
		struct item *old = b;
		free(b);
		struct item *c = make(3);
#ifdef FAULT
		old->value = 7; /* FAULT */
#else
		c->value = 7;
		(void)old;
#endif
		sum += c->value;
		break;
	}
	}
	printf("%ld\n", sum);
	fflush(stdout);
	_exit(0);
}
