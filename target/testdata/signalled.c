/* Gets signals with values, or faults, one after the other, until standard input is
 * closed; says how many came otherwise than they should. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static sigjmp_buf back;
static volatile sig_atomic_t sum, faults;

static void on_value(int s, siginfo_t *i, void *u)
{
	sum += i->si_value.sival_int;
}

static void on_fault(int s, siginfo_t *i, void *u)
{
	faults += i->si_code > 0;
	siglongjmp(back, 1);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_flags = SA_SIGINFO };
	struct pollfd in = { 0, POLLIN, 0 };
	int bad = 0, faulty = argc > 1 && !strcmp(argv[1], "fault");

	sa.sa_sigaction = on_value;
	sigaction(SIGRTMIN, &sa, 0);
	sa.sa_sigaction = on_fault;
	sigaction(SIGILL, &sa, 0);
	puts("ready");
	fflush(stdout);
	for (volatile int n = 1; poll(&in, 1, 0) == 0; n++)
	{
		for (volatile int i = 0; i < 100; i++)
		{
			if (!faulty)
			{
				sum = 0;
				pthread_sigqueue(pthread_self(), SIGRTMIN, (union sigval){ 5 });
				bad += sum != 5;
				continue;
			}
			faults = 0;
			if (!sigsetjmp(back, 1))
				__asm__ volatile("ud2");
			bad += faults != 1;
		}
	}
	printf("%d failed\n", bad);
	return 0;
}
