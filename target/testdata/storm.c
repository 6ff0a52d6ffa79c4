/* Takes many signals that nobody minds: each is one stop for a tracer. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static long count;

static void *storm(void *arg)
{
	int pid = getpid(), tid = syscall(SYS_gettid);

	for (long i = 0; i < count; i++)
		syscall(SYS_tgkill, pid, tid, SIGWINCH);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[8];
	int threads = argc > 2 ? atoi(argv[2]) : 1;

	count = atol(argv[1]);
	for (int i = 1; i < threads; i++)
		pthread_create(&t[i], 0, storm, 0);
	storm(0);
	for (int i = 1; i < threads; i++)
		pthread_join(t[i], 0);
	return 0;
}
