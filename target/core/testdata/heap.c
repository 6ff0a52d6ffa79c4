/* Allocates and frees in several threads, tells what is live and what was
   freed, optionally breaks a header, and dies. */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 2000 };
static void *block[3][N];
static int live[3][N];
static int finished;
const char constant[] = "a constant in the file"; /* left out of core files */
char variable[] = "a variable, in the core";

static unsigned next(unsigned *seed) { return *seed = *seed * 1103515245 + 12345, *seed >> 8; }

static void *work(void *arg)
{
	long t = (long)arg;
	unsigned seed = t * 77 + 1;
	for (int i = 0; i < N; i++) {
		unsigned r = next(&seed);
		size_t size = r % 100 == 0 ? 1 + next(&seed) % 300000 : 1 + next(&seed) % (r % 10 ? 200 : 3000);
		block[t][i] = malloc(size);
		memset(block[t][i], 0xa5, size);
		live[t][i] = 1;
		unsigned victim = next(&seed) % (i + 1);
		if (r % 3 == 0 && live[t][victim]) {
			free(block[t][victim]);
			live[t][victim] = 0;
			/* The address may be given out again. */
		}
	}
	/* Fill caches and fastbins. */
	for (int i = 0; i < N; i += 2)
		if (live[t][i])
			free(block[t][i]), live[t][i] = 0;
	__atomic_add_fetch(&finished, 1, __ATOMIC_RELEASE);
	if (t)
		for (;;)
			pause();
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t id;
	static char out[1 << 20]; /* stdio must not reuse what was freed */

	setvbuf(stdout, out, _IOFBF, sizeof out);
	for (long t = 1; t < 3; t++)
		pthread_create(&id, 0, work, (void *)t);
	while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) < 2)
		usleep(1000);
	work(0);
	for (int t = 0; t < 3; t++)
		for (int i = 0; i < N; i++)
			printf("%s %p %zu\n", live[t][i] ? "live" : "freed", block[t][i],
			       live[t][i] ? malloc_usable_size(block[t][i]) : 0);
	printf("constant %p\nvariable %p\nmain %p\n", (void *)constant, (void *)variable, (void *)main);
	fflush(stdout);
	if (argc > 1) { /* overrun a live block */
		for (int i = 501; i < N; i++)
			if (live[0][i] && malloc_usable_size(block[0][i]) < 1000) {
				memset((char *)block[0][i] + malloc_usable_size(block[0][i]), 0x41, 8);
				break;
			}
	}
	abort();
}
