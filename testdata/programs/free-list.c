/* build: gcc -fno-inline */
/* run: --module libc.so.6 */
/* engine: inline */
/*
 * Figure 3.8 of the thesis: the address of a pointer is passed to memcpy where the
 * pointer itself is meant. What is copied runs over the C library's list of free
 * blocks; malloc finds out later, if it does, and names nobody. free-list.cons says
 * what must hold for that list, over the library's own memory.
 * FAULT: the & in front of tmp->target.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
	char *target;
	size_t size;
};

static unsigned seed = 1;

static size_t any(size_t n)
{
	seed = seed * 1103515245u + 12345;
	return (seed >> 8) % n;
}

/* step takes and gives blocks of all sizes: blocks are split, joined with their
 * neighbours, sorted into bins, moved, given back to the top. */
void step(char **blocks, size_t n)
{
	size_t i = any(n);
	switch (any(4)) {
	case 0:
		free(blocks[i]);
		blocks[i] = NULL;
		break;
	case 1:
		blocks[i] = realloc(blocks[i], 1 + any(5000));
		break;
	default:
		free(blocks[i]);
		blocks[i] = any(2) ? malloc(1 + any(9000)) : calloc(1, 1 + any(700));
	}
}

void copy(struct node *tmp, const char *value, size_t size)
{
#ifdef FAULT
	memcpy(&tmp->target, value, size); /* FAULT */
#else
	memcpy(tmp->target, value, size);
#endif
	tmp->size = size;
}

int main(void)
{
	static char value[64];
	static char *blocks[40];
	char *target = malloc(sizeof value);
	struct node *tmp = malloc(sizeof *tmp);
	char *large = malloc(2000), *last = malloc(24);

	memset(value, 'x', sizeof value);
	strcpy(large, "large");
	strcpy(last, "last");
	for (int i = 0; i < 400; i++)
		step(blocks, 40);
	printf("%s %s\n", large, last);
	tmp->target = target;
	free(large); /* which lies behind tmp */
	copy(tmp, value, sizeof value);
	for (int i = 0; i < 40; i++)
		step(blocks, 40);
	free(last);
	printf("%zu\n", tmp->size);
	return 0;
}
