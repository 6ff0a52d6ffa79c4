/* Dies of a signal that it sends itself, inside a call of the library. */
#include <signal.h>
#include <stdlib.h>

static int *order;

static int compare(const void *a, const void *b)
{
	if (*(const int *)a == 9)
		abort();
	return *(const int *)a - *(const int *)b;
}

static void last(int sig)
{
	order[0] = sig;
}

int main(void)
{
	order = malloc(16 * sizeof(int));
	signal(SIGABRT, last);
	for (int i = 0; i < 16; i++)
		order[i] = i * 5 % 16;
	qsort(order, 16, sizeof(int), compare);
	return 0;
}
