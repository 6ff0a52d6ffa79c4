/*
 * Expressions that share their parts, found by a hash table. Built by clang at -O2 the table,
 * of which there is one and whose address goes nowhere, lies in static memory instead of on the heap.
 * FAULT: a square has its factor twice, and holds it once.
 */
#include <stdio.h>
#include <stdlib.h>

enum op { NUMBER, VARIABLE, SUM, PRODUCT, NEGATIVE };
struct expr {
	enum op op;
	int holders, number;
	struct expr *part[2], *chain;
};
enum { BUCKETS = 31 };
struct table { struct expr *bucket[BUCKETS]; int live; };

static struct table *table;

static unsigned hash(enum op op, int number, struct expr *a, struct expr *b)
{
	return (op * 7u + number * 13u + (a ? a->number * 5u + a->op : 0) + (b ? b->number * 3u + b->op : 0)) % BUCKETS;
}

static struct expr *hold(struct expr *e)
{
	if (e)
		e->holders++;
	return e;
}

void drop(struct expr *e)
{
	if (!e || --e->holders)
		return;
	struct expr **p = &table->bucket[hash(e->op, e->number, e->part[0], e->part[1])];
	while (*p != e)
		p = &(*p)->chain;
	*p = e->chain;
	table->live--;
	drop(e->part[0]);
	drop(e->part[1]);
	free(e);
}

/* It takes a and b over from who holds them. */
struct expr *make(enum op op, int number, struct expr *a, struct expr *b)
{
	unsigned h = hash(op, number, a, b);
	for (struct expr *e = table->bucket[h]; e; e = e->chain)
		if (e->op == op && e->number == number && e->part[0] == a && e->part[1] == b) {
			hold(e);
			drop(a);
			drop(b);
			return e;
		}
	struct expr *e = malloc(sizeof *e);
	e->op = op;
	e->number = number;
	e->holders = 1;
	e->part[0] = a;
	e->part[1] = b;
	e->chain = table->bucket[h];
	table->bucket[h] = e;
	table->live++;
	return e;
}

struct expr *square(struct expr *e)
{
#ifdef FAULT
	return make(PRODUCT, 0, e, e); /* FAULT */
#else
	return make(PRODUCT, 0, e, hold(e));
#endif
}

int main(void)
{
	table = calloc(1, sizeof *table);
	for (int i = 0; i < 14; i++) {
		struct expr *e = make(i & 1 ? SUM : PRODUCT, 0, make(VARIABLE, i % 4, NULL, NULL), make(NUMBER, i, NULL, NULL));
		if (i % 5 == 4)
			e = square(e);
		if (i % 3 == 2)
			e = make(NEGATIVE, 0, e, NULL);
		drop(e);
	}
	printf("%d\n", table->live);
	return 0;
}
