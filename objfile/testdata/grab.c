/* gcc -O3 makes a copy of grab for calls with this arena and 32 bytes. */
#include <stddef.h>

static char arena[4096];
static size_t used;

static __attribute__((noinline)) void *grab(char *from, size_t bytes, int zero)
{
	char *p = from + used;
	used += bytes;
	if (zero)
		for (size_t i = 0; i < bytes; i++)
			p[i] = 0;
	return p;
}

int main(int argc, char **argv) { return grab(arena, 32, argc) == grab(arena, 32, argc + 1); }
