/* Structures that one file knows, of which clang keeps the members that are used where it likes. */
#include <stdlib.h>

static struct registry { int used, live; char *last, *never; } registry;
static struct { char *first; int count; } whole_in_pieces;
static struct { struct { int a, b; } near; long far; } nested;
static struct { int zero; int set; } between = { 0, 7 }; /* in .bss and .data */
static int whole;

__attribute__((noinline)) void take(int n)
{
	registry.last = malloc(n);
	registry.live += n;
	if (!whole_in_pieces.first)
		whole_in_pieces.first = registry.last;
	whole_in_pieces.count++;
	nested.near.b ^= n;
	nested.far += nested.near.b;
	between.zero++;
	between.set *= 3;
	whole++;
}

int main(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		take(i);
	return registry.live > whole && registry.last != NULL && whole_in_pieces.first != NULL
		&& whole_in_pieces.count + nested.far + between.zero > between.set;
}
