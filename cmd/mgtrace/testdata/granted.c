/*
 * A program that uses all of its blocks that the allocator grants it beyond what it asked for, by
 * its own code, a library and the kernel. -DFAULT: it writes on into the next block. -DLIBRARY is
 * the part that may be in a library, -DMAIN the rest.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ASKED 20

#ifdef MAIN
long use(size_t asked);
#else
long use(size_t asked)
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
#endif

#ifndef LIBRARY
int main(void)
{
	char *a = malloc(ASKED), *b = malloc(ASKED);
#ifdef MAIN
	size_t n = ASKED;
#else
	size_t n = malloc_usable_size(a);
#endif

	b[0] = 'b';
#ifdef FAULT
	n = ASKED + 28;
#endif
	memset(a, 'a', n); /* FAULT */
	printf("%ld %c%c\n", use(ASKED) + use(1001) + use(300001), a[0], b[0]);
	fflush(stdout);
	_exit(0);
}
#endif
