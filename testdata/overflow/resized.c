/*
 * A buffer with a gap that grows by realloc, in its place and to another one. -DFAULT: each
 * time one byte is written behind it. Sizes are those of the moment, not of the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FAULT
#define OVER 1
#else
#define OVER 0
#endif

int main(void)
{
	char *last = malloc(40); /* at the top of the heap: it grows in its place */
	memset(last, 'a', 40);
	last[39 + OVER] = 0; /* FIRST */
	last = realloc(last, 56); /* GROWN */
	last[55 + OVER] = 0; /* SECOND */
	char *behind = malloc(24);
	last = realloc(last, 2000); /* MOVED */
	last[1999 + OVER] = 0; /* THIRD */
	behind[0] = 'b';
	last = realloc(last, 100000);
	printf("%c%c\n", last[0], behind[0]);
	free(behind);
	free(last);
	return 0;
}
