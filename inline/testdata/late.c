/* A program that opens a library while it runs, closes it, and opens it again
 * at another address. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int stop;

static void *busy(void *arg)
{
	long n = 0;

	while (!stop) {
		long *p = malloc(64);

		p[0] = n++;
		p[7] = n;
		free(p);
		if (n % 50 == 0)
			usleep(1000);
	}
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t t[3];
	long sum = 0;
	int children = 0;
	void *before = 0;
	int moved = 0;

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], 0, busy, 0);
	for (int i = 0; i < 6; i++) {
		void *h = dlopen(argv[1], i % 2 ? RTLD_NOW : RTLD_LAZY);
		long *(*fill)(long n, const char *s);
		void (*mutate)(long *p);
		Dl_info d;
		int pid, status;

		if (!h) {
			puts(dlerror());
			return 1;
		}
		fill = dlsym(h, "late_fill");
		mutate = dlsym(h, "late_mutate");
		dladdr(fill, &d);
		moved += d.dli_fbase != before;
		before = d.dli_fbase;
		for (int k = 0; k < 20; k++) {
			long *p = fill(k, "text");

			mutate(p);
			sum += p[0] + p[9] + strlen((char *)&p[20]);
		}
		if (!(pid = fork())) {
			long *p = fill(7, "child");

			mutate(p);
			_exit(p[0] == 8 ? 9 : 1);
		}
		waitpid(pid, &status, 0);
		children += WEXITSTATUS(status) == 9;
		if (i == 5)
			break;
		dlclose(h);
		if (i % 2) /* the next one can not lie there */
			mmap(before, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (!(pid = fork()))
			_exit(9);
		waitpid(pid, &status, 0);
		children += WEXITSTATUS(status) == 9;
	}
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	printf("%ld children %d moved %s\n", sum, children, moved > 2 ? "yes" : "no");
	return 0;
}
