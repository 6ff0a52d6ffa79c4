/* What small things cost: nanoseconds each, the best of many tries, so that what
 * else the machine does, and a change of buffers, is not in it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { Times = 1000, Tries = 400 };

static long *heap;
static char text[64] = "some text";
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void nothing(void)
{
	for (long i = 0; i < Times; i++)
		asm volatile("" : : "r"(heap), "r"(i));
}

static void store(void)
{
	for (long i = 0; i < Times; i++)
		asm volatile("movq %1, 8(%0)" : : "r"(heap), "r"(i) : "memory");
}

/* As the fields of a new node. */
static void four(void)
{
	for (long i = 0; i < Times; i++)
		asm volatile("movq %1, (%0)\n\tmovq %1, 8(%0)\n\tmovl $7, 16(%0)\n\tmovq $0, 24(%0)"
			     : : "r"(heap), "r"(i) : "memory");
}

/* As a count of references. */
static void add(void)
{
	for (long i = 0; i < Times; i++)
		asm volatile("addq $1, 8(%0)" : : "r"(heap) : "memory", "cc");
}

static void block(void)
{
	for (long i = 0; i < Times; i++) {
		void *p = malloc(24);

		asm volatile("" : : "r"(p));
		free(p);
	}
}

static void bulk(void)
{
	for (long i = 0; i < Times; i++)
		copy(heap, text, 24);
}

static double cost(void (*f)(void))
{
	double best = 1e9;

	for (int i = 0; i < Tries; i++) {
		double t = now();

		f();
		t = (now() - t) / Times;
		if (t < best)
			best = t;
	}
	return best;
}

int main(void)
{
	double none;

	heap = malloc(64);
	none = cost(nothing);
	printf("store %.2f\n", cost(store) - none);
	printf("four-stores %.2f\n", cost(four) - none);
	printf("add %.2f\n", cost(add) - none);
	printf("malloc+free %.2f\n", cost(block) - none);
	printf("memcpy %.2f\n", cost(bulk) - none);
	return 0;
}
