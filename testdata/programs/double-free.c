/* build: gcc -static */
/*
 * Buffers that are shared and freed with their last owner.
 * FAULT: dropping a buffer frees it whatever the number of its owners, so that
 * each of two owners frees it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
	int owners;
	char text[60];
};

static struct buffer *buffer_new(const char *text)
{
	struct buffer *b = malloc(sizeof *b);
	b->owners = 1;
	snprintf(b->text, sizeof b->text, "%s", text);
	return b;
}

static struct buffer *share(struct buffer *b)
{
#ifndef FAULT
	b->owners++;
#endif
	return b;
}

static void drop(struct buffer *b)
{
#ifdef FAULT
	free(b); /* FAULT */
#else
	if (--b->owners == 0)
		free(b);
#endif
}

int main(void)
{
	struct buffer *a = buffer_new("first"), *b = buffer_new("second"), *c = share(a);
	printf("%s %s\n", a->text, b->text);
	fflush(stdout);
	drop(a);
	drop(b);
	drop(c);
	return 0;
}
