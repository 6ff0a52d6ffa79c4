/* Signals with values, handlers, and a blocked or ignored SIGTRAP: what arrives
   must be what was sent, in order, whatever a tracer does in between. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static int next = 1, bad, faults;
static char *page;

static void on_value(int s, siginfo_t *i, void *u)
{
	if (i->si_code != SI_QUEUE || i->si_value.sival_int != next++ || i->si_pid != getpid())
		bad++;
}

static void on_fault(int s, siginfo_t *i, void *u)
{
	if (i->si_addr != page + 8 || i->si_code != SEGV_ACCERR)
		bad++;
	faults++;
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

static void *worker(void *arg)
{
	pid_t child = fork();
	if (!child)
		_exit(3);
	int st;
	waitpid(child, &st, 0);
	if (WEXITSTATUS(st) != 3)
		bad++;
	return arg;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 100, pid = getpid();
	struct sigaction a = { .sa_sigaction = on_value, .sa_flags = SA_SIGINFO }, old;
	sigset_t trap, mask;

	sigemptyset(&trap);
	sigaddset(&trap, SIGTRAP);
	if (strstr(how, "blocked"))
		sigprocmask(SIG_BLOCK, &trap, 0);
	if (strstr(how, "ignored"))
		signal(SIGTRAP, SIG_IGN);
	if (strstr(how, "handler"))
		signal(SIGTRAP, (void (*)(int))on_value);
	if (strstr(how, "values")) {
		sigaction(SIGUSR1, &a, 0);
		sigaction(SIGRTMIN, &a, 0);
		for (int i = 1; i <= n; i++) {
			union sigval v = { .sival_int = i };
			sigqueue(pid, i % 2 ? SIGUSR1 : SIGRTMIN, v);
		}
		printf("values %d\n", next - 1);
	}
	if (strstr(how, "faults")) {
		page = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		a.sa_sigaction = on_fault;
		sigaction(SIGSEGV, &a, 0);
		for (int i = 0; i < n; i++) {
			mprotect(page, 4096, PROT_READ);
			page[8] = 1;
		}
		printf("faults %d\n", faults);
	}
	if (strstr(how, "threads")) {
		pthread_t t[4];
		for (int i = 0; i < n; i++) {
			for (int j = 0; j < 4; j++)
				pthread_create(&t[j], 0, worker, 0);
			for (int j = 0; j < 4; j++)
				pthread_join(t[j], 0);
		}
	}
	if (strstr(how, "spawn"))
		for (int i = 0; i < n; i++) {
			char *args[] = { "sh", "-c", "exit 9", 0 };
			pid_t child;
			int st;
			if (posix_spawn(&child, "/bin/sh", 0, 0, args, environ))
				bad++;
			waitpid(child, &st, 0);
			if (WEXITSTATUS(st) != 9)
				bad++;
			child = vfork();
			if (!child)
				_exit(4);
			waitpid(child, &st, 0);
			if (WEXITSTATUS(st) != 4)
				bad++;
		}
	sigprocmask(0, 0, &mask);
	sigaction(SIGTRAP, 0, &old);
	printf("bad %d blocked %d ignored %d handler %d\n", bad, sigismember(&mask, SIGTRAP),
	       old.sa_handler == SIG_IGN, old.sa_handler == (void (*)(int))on_value);
	return 0;
}
