/* Many threads, at all kinds of places. */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile int stop;
static int fd[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static unsigned long gs(void)
{
	unsigned long v = 1;

	syscall(SYS_arch_prctl, ARCH_GET_GS, &v);
	return v;
}

static void *thread(void *arg)
{
	long id = (long)arg, wrong = 0;
	char c;

	switch (id % 4) {
	case 0:
		while (!stop) {
			volatile long *p = malloc(64 + id);

			for (int i = 0; i < 8; i++)
				p[i] = id + i;
			for (int i = 0; i < 8; i++)
				wrong += p[i] != id + i;
			free((void *)p);
			if (id % 3 == 0)
				usleep(100);
		}
		break;
	case 1:
		(void)!read(fd[0], &c, 1);
		break;
	case 2:
		pthread_mutex_lock(&lock);
		while (!stop)
			pthread_cond_wait(&cond, &lock);
		pthread_mutex_unlock(&lock);
		break;
	case 3:
		while (!stop) {
			struct timespec t = { 0, 3000000 };
			char *b = calloc(1, 300);

			nanosleep(&t, 0);
			memset(b, 5, 300);
			wrong += b[299] != 5;
			free(b);
		}
		break;
	}
	return (void *)(wrong * 1000 + (gs() != 0));
}

int main(int argc, char **argv)
{
	pthread_t t[120];
	long bad = 0;

	(void)!pipe(fd);
	for (long i = 0; i < 120; i++)
		pthread_create(&t[i], 0, thread, (void *)i);
	while (access(argv[1], F_OK))
		usleep(10000);
	usleep(300000); /* the threads go on without the engine */
	stop = 1;
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 120; i++)
		(void)!write(fd[1], "x", 1);
	for (int i = 0; i < 120; i++) {
		void *r;

		pthread_join(t[i], &r);
		bad += (long)r;
	}
	printf("bad %ld\n", bad);
	return 3;
}
