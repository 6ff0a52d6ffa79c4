/* A structure that one file knows, of which clang keeps two members where it likes. */
#include <stdlib.h>

static struct registry { int used, live; char *last, *never; } registry;
static int whole;

__attribute__((noinline)) void take(int n)
{
	registry.last = malloc(n);
	registry.live += n;
	whole++;
}

int main(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		take(i);
	return registry.live > whole && registry.last != NULL;
}
