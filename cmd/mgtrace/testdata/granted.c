/*
 * A program that uses all of its blocks that the allocator grants it beyond what it asked for, by
 * its own code, a library and the kernel. -DFAULT: it writes on into the next block.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ASKED 20

static long use(size_t asked)
{
	char *p = malloc(asked);
	size_t n = malloc_usable_size(p);
	long sum = 0;
	int ends[2];

	for (size_t i = 0; i < n; i++)
		p[i] = (char)i;
	for (size_t i = 0; i < n; i++)
		sum += p[i];
	if (pipe(ends) == 0 && write(ends[1], p, n < 4096 ? n : 4096) > 0)
		sum += read(ends[0], p, n < 4096 ? n : 4096);
	free(p);
	return sum;
}

int main(void)
{
	char *a = malloc(ASKED), *b = malloc(ASKED);
	size_t n = malloc_usable_size(a);

	b[0] = 'b';
#ifdef FAULT
	n = ASKED + 28;
#endif
	memset(a, 'a', n); /* FAULT */
	printf("%ld %c%c\n", use(ASKED) + use(1001) + use(300001), a[0], b[0]);
	fflush(stdout);
	_exit(0);
}
