/*
 * Arrays of numbers in the middle of a structure, reached by an index: gcc without optimisation puts
 * a part of their offset into the index. -DFAULT: one element too many. Where an index has a number
 * taken away, what the compiler adds to the structure's address is the offset of another array.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct series {
	long id, more;
	int first[4];
	int values[10];
	double sums[3];
	short pairs[5];
	int second[4];
	int others[12];
	long last[2];
};

#ifdef FAULT
#define OVER 1
#else
#define OVER 0
#endif

__attribute__((noinline)) static void set(struct series *r, int i, int v)
{
	r->values[i] = v; /* FAULT */
}

__attribute__((noinline)) static void sum(struct series *r, long i, double v)
{
	r->sums[i] = v; /* FAULT */
}

__attribute__((noinline)) static void pair(struct series *r, short i)
{
	r->pairs[i] = (short)(i + r->second[0]); /* FAULT */
}

__attribute__((noinline)) static void blank(struct series *r, long i)
{
	memset(&r->others[i], 0, sizeof r->others[0] * 4); /* FAULT */
}

__attribute__((noinline)) static void shifted(struct series *r, long i)
{
	r->values[i - 4] = r->first[0];
	r->others[i - 4] = r->second[i % 4];
}

int main(void)
{
	struct series *r = calloc(1, sizeof *r);

	for (int i = 0; i < 10 + OVER; i++)
		set(r, i, i);
	for (int i = 0; i < 3 + OVER; i++)
		sum(r, i, i);
	for (int i = 0; i < 5 + OVER; i++)
		pair(r, (short)i);
	for (int i = 0; i < 12; i += 4)
		blank(r, i + OVER);
	for (int i = 4; i < 14; i++)
		shifted(r, i);
	printf("%d %g %d %d\n", r->values[9], r->sums[2], r->pairs[4], r->others[9]);
	free(r);
	return 0;
}
