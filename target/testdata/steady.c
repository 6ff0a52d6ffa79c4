/* Threads that wait in the kernel in every way, and tell if a wait ends that
   should not. A byte on standard input is a round; its end is the end. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int word, quiet[2];

static void wrong(const char *what) { printf("%s: %s\n", what, strerror(errno)); fflush(stdout); }

static void *sleeper(void *arg)
{
	struct timespec t = { 0, 3000000 };
	for (;;)
		if (nanosleep(&t, 0))
			wrong("nanosleep");
	return arg;
}

static void *futexer(void *arg)
{
	for (;;) {
		syscall(SYS_futex, &word, FUTEX_WAIT, 0, 0, 0, 0);
		wrong("futex");
	}
	return arg;
}

static void *poller(void *arg)
{
	struct pollfd p = { quiet[0], POLLIN, 0 };
	for (;;) {
		poll(&p, 1, 1000000);
		wrong("poll");
	}
	return arg;
}

static void *epoller(void *arg)
{
	struct epoll_event e = { EPOLLIN };
	int fd = epoll_create1(0);
	epoll_ctl(fd, EPOLL_CTL_ADD, quiet[0], &e);
	for (;;) {
		epoll_wait(fd, &e, 1, -1);
		wrong("epoll_wait");
	}
	return arg;
}

static void *waiter(void *arg)
{
	sigset_t set;
	sigfillset(&set);
	for (;;) {
		siginfo_t i;
		sigwaitinfo(&set, &i);
		wrong("sigwaitinfo");
	}
	return arg;
}

static void *spinner(void *arg)
{
	volatile double x = 1;
	for (;;)
		if ((x *= 1.5) > 1e100)
			x = 1;
	return arg;
}

static sem_t begun;

/* The C library blocks signals until a thread is here. */
static void *begin(void *f)
{
	sem_post(&begun);
	return ((void *(*)(void *))f)(0);
}

__attribute__((used)) static long answer(void) { return 42; } // for who calls it

int main(void)
{
	void *(*fs[])(void *) = { sleeper, futexer, poller, epoller, waiter, spinner };
	pthread_t t;
	char c;
	int n = 0;

	pipe(quiet);
	for (int i = 0; i < 6; i++)
		pthread_create(&t, 0, begin, fs[i]);
	for (int i = 0; i < 6; i++)
		sem_wait(&begun);
	puts("ready");
	fflush(stdout);
	for (;;) {
		int r = read(0, &c, 1);
		if (r < 0)
			wrong("read");
		if (r <= 0)
			break;
		n++;
	}
	printf("rounds %d\n", n);
	return 7;
}
