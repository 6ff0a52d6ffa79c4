/* build: gcc -fno-inline */
/* run: --module libc.so.6 */
/* engine: inline */
/*
 * A session that ends is to be called "nobody", but its name is free by then. The block
 * lies in malloc's cache of the thread (tcache), and what is written over is the link to
 * the next free block of its size, which the library stores combined with the link's own
 * address. A later malloc gives out whatever that link leads to, or notices and aborts;
 * it names nobody. cached-block.cons says what must hold for the cache, over the
 * library's own memory.
 * FAULT: the name is written after it has been freed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct session {
	char *name;
	int open;
};

void login(struct session *s, const char *name)
{
	s->name = malloc(24);
	strcpy(s->name, name);
	s->open = 1;
}

void logout(struct session *s)
{
	s->open = 0;
#ifdef FAULT
	free(s->name);
	strcpy(s->name, "nobody"); /* FAULT */
#else
	strcpy(s->name, "nobody");
	free(s->name);
#endif
}

int main(void)
{
	static struct session sessions[4];

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 4; i++)
			login(&sessions[i], "somebody");
		for (int i = 0; i < 4; i++)
			logout(&sessions[i]);
	}
	puts("done");
	return 0;
}
