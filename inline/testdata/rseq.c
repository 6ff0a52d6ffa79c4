/* Counters per processor, which restartable sequences count up. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/rseq.h>

#define CPUS 256

static long (*counters)[8];
static unsigned char *code;

/* Adds one to this processor's counter; 0 if it was interrupted. The sequence is longer than it
 * need be, with stores before the last one. */
static int count(struct rseq *r, long *seen)
{
	unsigned cpu = *(volatile unsigned *)&r->cpu_id_start;
	long *c = counters[cpu], was = *c;

	asm volatile goto(
		".pushsection __rseq_cs, \"aw\"\n\t"
		".balign 32\n"
		"3:\t.long 0, 0\n\t"
		".quad 1f, 2f - 1f, 4f\n\t"
		".popsection\n\t"
		"leaq 3b(%%rip), %%rax\n\t"
		"movq %%rax, %0\n"
		"1:\tcmpl %1, %2\n\t"
		"jne 4f\n\t"
		"cmpq %4, (%3)\n\t"
		"jne 4f\n\t"
		"movq %4, (%5)\n\t"
		"leaq 1(%4), %%rax\n\t"
		"movq %%rax, 8(%5)\n\t"
		"movq %%rax, (%3)\n"
		"2:\n\t"
		".pushsection .text.unlikely, \"ax\"\n\t"
		".byte 0x0f, 0xb9, 0x3d\n\t"
		".long 0x53053053\n"
		"4:\tjmp %l[interrupted]\n\t"
		".popsection"
		: : "m"(r->rseq_cs), "r"(cpu), "m"(r->cpu_id), "r"(c), "r"(was), "r"(seen) : "rax", "memory", "cc" : interrupted);
	return 1;
interrupted:
	return 0;
}

static void *worker(void *arg)
{
	struct rseq *r = (void *)((char *)__builtin_thread_pointer() + __rseq_offset);
	long n = (long)arg, *seen = calloc(2, sizeof *seen);

	while (n) {
		seen[1] = n;
		n -= count(r, seen);
	}
	return seen;
}

extern const unsigned char begin[] __asm__("__start___rseq_cs");

int main(int argc, char **argv)
{
	const long rounds = 20000;
	const struct { unsigned version, flags; unsigned long start, len, abort; } *d = (void *)begin;
	pthread_t t[8];
	long sum = 0;

	setvbuf(stdout, 0, _IOLBF, 0);
	if (!__rseq_size) {
		printf("no rseq\n");
		return 0;
	}
	for (unsigned i = 0; i < d->len; i++)
		sum = sum * 31 + ((unsigned char *)d->start)[i];
	printf("code %lx\n", sum);
	sum = 0;
	counters = calloc(CPUS, sizeof *counters);
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], 0, worker, (void *)rounds);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], 0);
	for (int i = 0; i < CPUS; i++)
		sum += counters[i][0];
	printf("%ld of %ld\n", sum, 8 * rounds);
	return 0;
}
