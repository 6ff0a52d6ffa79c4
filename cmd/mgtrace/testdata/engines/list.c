/* run: --alloc take(fixed=32) --free give(1) */
/* An allocator of the program's own. */
#include <stdlib.h>
#include <string.h>

struct cell { struct cell *next; long a, b, c; };

static struct cell *unused;
static long *count;

__attribute__((noinline)) static struct cell *take(long a)
{
	struct cell *c;
	if (!unused) {
		struct cell *chunk = malloc(8 * sizeof(*chunk));
		for (int i = 0; i < 8; i++) {
			chunk[i].next = unused;
			unused = &chunk[i];
		}
	}
	c = unused;
	unused = c->next;
	memset(c, 0, sizeof(*c));
	c->a = a;
	++*count;
	return c;
}

__attribute__((noinline)) static void give(struct cell *c)
{
	c->next = unused;
	unused = c;
	--*count;
}

int main(void)
{
	struct cell *list = NULL, *c;

	count = calloc(1, sizeof(*count));
	for (long i = 0; i < 20; i++) {
		c = take(i);
		c->next = list;
		c->b = i * i;
		list = c;
		if (i % 4 == 3) {
			list = c->next;
			give(c);
		}
	}
	return 0;
}
