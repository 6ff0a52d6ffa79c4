/* A handler that the kernel takes away when it calls it, and that the program installs anew
 * each time. Standard input's end is the end. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile int calls, values;
static void install(void);

void handler(int sig, siginfo_t *info, void *context)
{
	calls++;
	values += info->si_value.sival_int;
	install();
}

static void install(void)
{
	struct sigaction a = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART | SA_RESETHAND };

	sigaction(SIGUSR1, &a, 0);
}

int main(void)
{
	char c;

	install();
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	printf("calls %d values %d\n", calls, values);
	return 0;
}
