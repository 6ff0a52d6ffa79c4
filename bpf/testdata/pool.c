// An allocator of the program's own, which links its free blocks through
// themselves and sets up the blocks that it hands out.
#include "say.h"
#include <stdlib.h>

struct block {
	struct block *next;
	long value;
};

static struct block *avail;
static long *header;

/* Its stores are not probed: some go to the block that is handed out next, and
 * would be seen. */
__attribute__((noinline)) void refill(void)
{
	struct block *chunk = malloc(8 * sizeof(*chunk));
	for (int i = 0; i < 8; i++) {
		chunk[i].next = avail;
		avail = &chunk[i];
	}
}

__attribute__((noinline)) struct block *pool_get(long value)
{
	struct block *b;

	if (!avail)
		refill();
	b = avail;
	avail = b->next;
	b->next = 0;
	b->value = value;
	++*header;
	return b;
}

__attribute__((noinline)) void pool_put(struct block *b)
{
	b->next = avail;
	avail = b;
	--*header;
}

int main(void)
{
	struct block *a, *b;

	header = malloc(sizeof(*header));
	say("alloc malloc %p 8\n", (void *)header);
	*header = 0;
	say("store %p 0000000000000000\n", (void *)header);
	a = pool_get(5);
	say("store %p 0100000000000000\n", (void *)header);
	say("alloc pool_get %p 16\n", (void *)a);
	say("store %p 0000000000000000\n", (void *)a);
	say("store %p 0500000000000000\n", (void *)&a->value);
	a->value = 6;
	say("store %p 0600000000000000\n", (void *)&a->value);
	pool_put(a);
	say("free %p\n", (void *)a);
	say("store %p 0000000000000000\n", (void *)header);
	b = pool_get(7);
	say("store %p 0100000000000000\n", (void *)header);
	say("alloc pool_get %p 16\n", (void *)b);
	say("store %p 0000000000000000\n", (void *)b);
	say("store %p 0700000000000000\n", (void *)&b->value);
	flush();
	return 0;
}
