// Four threads write to their own blocks, then one crashes or all end: threads
// N [crash|exit|loop]. Says how many stores each block got.
#include "say.h"
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long rounds;
static uint64_t *block[4];

__attribute__((noinline)) void fill(uint64_t *p, long n)
{
	for (long i = 0; i < n; i++)
		p[i & 7] = i;
}

static void *worker(void *p)
{
	fill(p, rounds);
	return NULL;
}

__attribute__((noinline)) void crash(volatile int *p)
{
	*p = 42;
}

int main(int argc, char **argv)
{
	pthread_t t[4];

	rounds = atol(argv[1]);
	for (int i = 0; i < 4; i++) {
		block[i] = malloc(64);
		say("%p\n", (void *)block[i]);
	}
	flush();
	if (argc > 2 && !strcmp(argv[2], "fork")) {
		pid_t pid = fork();
		if (pid == 0) {
			fill(block[0], 10);
			_exit(7);
		}
		waitpid(pid, NULL, 0);
	}
	if (argc > 2 && !strcmp(argv[2], "exec"))
		execl("/bin/true", "true", (char *)0);
	if (argc > 2 && !strcmp(argv[2], "loop"))
		for (;;)
			fill(block[0], 8);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, worker, block[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	if (argc > 2 && !strcmp(argv[2], "crash"))
		crash((int *)0x1234);
	return 3;
}
