/* Boxes of slots in a list. Their blocks fill granules of malloc's to the last byte.
   FAULT: one slot too many is cleared. */
#include <stdio.h>
#include <stdlib.h>

struct box { struct box *next; int used, room; long slot[]; };
static struct box *boxes;

static __attribute__((noinline)) struct box *box_new(int room)
{
	struct box *b = malloc(sizeof *b + room * sizeof b->slot[0]);

	b->next = boxes;
	b->used = 0;
	b->room = room;
#ifdef FAULT
	for (int i = 0; i <= room; i++)
#else
	for (int i = 0; i < room; i++)
#endif
		b->slot[i] = -1; /* FAULT */
	return boxes = b;
}

static __attribute__((noinline)) void put(long value)
{
	struct box *b = boxes;

	if (!b || b->used == b->room)
		b = box_new(4);
	b->slot[b->used++] = value;
}

int main(void)
{
	for (long i = 0; i < 11; i++)
		put(i * i);
	for (struct box *b = boxes; b; b = b->next)
		printf("%d of %d, %ld\n", b->used, b->room, b->slot[0]);
	return 0;
}
