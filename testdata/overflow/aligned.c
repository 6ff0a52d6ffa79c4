/*
 * Blocks of the allocators that align. -DHOW=POSIX ALIGNED MEMALIGN; with -DFAULT a write
 * runs into the next block.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POSIX, ALIGNED, MEMALIGN };

#define ROOM 64

static char *make(size_t n)
{
	void *p = NULL;
	switch (HOW) {
	case POSIX:
		if (posix_memalign(&p, 64, n))
			exit(9);
		break;
	case ALIGNED:
		p = aligned_alloc(64, n);
		break;
	case MEMALIGN:
		p = memalign(64, n);
		break;
	}
	return p;
}

int main(void)
{
	char *a = make(ROOM), *b = malloc(ROOM);
	int n = ROOM;
#ifdef FAULT
	n += 28;
#endif
	memset(a, 'x', n); /* FAULT */
	memset(b, 'y', ROOM);
	free(a);
	_exit(0);
}
