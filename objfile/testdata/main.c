#include <stdio.h>
#include <stdlib.h>
#include "list.h"

struct hidden_here { char c; };
enum mode mode = SECOND;
static list the_list;
static int calls = 7;

struct big { long a[5]; };
struct pair { long a; double b; };

__attribute__((noinline)) struct big mixed(struct pair p, int i, double d, struct big b, long double ld, char c, long x, long y, long z)
{
	b.a[0] = p.a + i + (long)d + (long)ld + c + x + y + z;
	return b;
}

__attribute__((noinline)) int helper(int n)
{
	if (n > 1000000)
		exit(3);
	printf("helper %d\n", n);
	return n + calls;
}

__attribute__((noinline)) int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b + helper(0);
}

int main(int argc, char **argv)
{
	struct hidden_here here = { 'x' };
	int numbers[] = { 3, 1, 2 };
	for (int i = 0; i < 3; i++)
		push(&the_list, i, argv[0]);
	qsort(numbers, 3, sizeof *numbers, compare);
	struct pair p = { 1, 2 };
	struct big b = mixed(p, argc, 3, (struct big){ { 1 } }, 4, 5, 6, 7, 8);
	return walk(&the_list) + here.c + (int)b.a[0] == 0;
}
