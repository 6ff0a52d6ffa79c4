// Allocations of every kind. Says what a recording must show.
#include "say.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) void *inner(size_t n)
{
	void *p = malloc(n);
	asm volatile("");
	return p;
}

__attribute__((noinline)) void *outer(size_t n)
{
	void *p = inner(n + 1);
	asm volatile("");
	return p;
}

int main(void)
{
	char *p, *q, *r;
	uintptr_t was;
	void *volatile none = 0;
	void *block = none;

	p = malloc(100);
	say("alloc malloc %p 100\n", p);
	q = calloc(3, 7);
	say("alloc calloc %p 21 zeroed\n", q);
	was = (uintptr_t)p;
	p = realloc(p, 5000000);
	say("realloc %#lx %p 5000000\n", was, p);
	was = (uintptr_t)p;
	p = realloc(p, 10);
	say("realloc %#lx %p 10\n", was, p);
	r = realloc(p, 1ul << 60);
	say("refused realloc %p %lu\n", p, 1ul << 60);
	was = (uintptr_t)p;
	if (!realloc(p, 0))
		say("free %#lx\n", was);
	p = realloc(block, 33);	/* NULL, which the compiler must not know */
	say("alloc realloc %p 33\n", p);
	free(none);
	say("free %p\n", q);
	free(q);
	if (posix_memalign(&block, 64, 77) == 0)
		say("alloc posix_memalign %p 77\n", block);
	if (posix_memalign(&block, 3, 77) != 0)
		say("refused posix_memalign (nil) 77\n");
	q = strdup("hello");
	say("alloc strdup %p 6\n", q);
	say("bulk strdup %p 68656c6c6f00\n", q);
	r = malloc((size_t)none - 1);
	say("refused malloc %p %lu\n", r, -1ul);
	r = outer(9);
	say("alloc malloc %p 10 stack inner outer main\n", r);
	flush();
	return r == 0;
}
