/* The library functions that write for their caller. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

/* What strcpy and memcpy become with _FORTIFY_SOURCE: they jump to one another. */
char *__strcpy_chk(char *, const char *, size_t);
char *__strcat_chk(char *, const char *, size_t);
void *__memcpy_chk(void *, const void *, size_t, size_t);

static int ascending(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

struct sync {
	pthread_mutex_t mutex;
	pthread_rwlock_t rwlock;
	pthread_cond_t cond;
	sem_t sem;
};

int main(void)
{
	char *volatile from = malloc(10000), *volatile p = malloc(20000);
	size_t volatile sizes[] = {0, 1, 3, 8, 15, 31, 33, 64, 100, 255, 300, 1000, 4096, 9000};
	int *ints = malloc(64 * sizeof(int));
	struct sync *s = malloc(sizeof(*s));
	time_t when = 86400;
	char *end;
	FILE *f;

	for (int i = 0; i < 10000; i++)
		from[i] = "some text to copy around "[i % 25];
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		memcpy(p, from, sizes[i]);
		memset(p + i, i, sizes[i]);
		memmove(p + 7, p, sizes[i]);	/* upwards, overlapping */
		memmove(p, p + 3, sizes[i]);	/* downwards */
		mempcpy(p + i, from + i, sizes[i]);
		bzero(p, sizes[i]);
		bcopy(from, p + 1, sizes[i]);
		explicit_bzero(p, sizes[i]);
	}
	from[60] = 0;
	strcpy(p, from);
	strcat(p, " and more");
	strncat(p, from, 10);
	end = stpcpy(p, "stpcpy");
	end = stpncpy(end, "padded", 20);
	strncpy(end, from, 30);
	strncpy(end, "short", 30);
	__strcpy_chk(p, "checked", 100);
	__strcat_chk(p, " as well", 100);
	__memcpy_chk(p, from, 40, 100);
	swab(from, p, 30);
	memfrob(p, 20);
	strxfrm(p, "collate", 5);
	snprintf(p, 10, "%s", from);
	snprintf(p, 1000, "%d %f %s", 42, 1.5, "text");
	snprintf(p, 0, "nothing");
	sprintf(p + 50, "%08x|%-20s|%c", 0xabcdu, "left", 'c');
	inet_ntop(AF_INET, "\300\0\2\1", p, 100);
	sigfillset((sigset_t *)p);
	sigemptyset((sigset_t *)p);
	gmtime_r(&when, (struct tm *)p);
	strftime(p + 100, 100, "%Y-%m-%d", (struct tm *)p);
	asctime_r((struct tm *)p, p + 200);

	f = fmemopen("a line\nanother line\nthe rest of it, without an end", 49, "r");
	if (!f)
		return 1;
	setvbuf(f, NULL, _IOFBF, 16);
	if (!fgets(p, 100, f) || !fgets(p + 100, 5, f) || fread(p + 200, 3, 5, f) != 5)
		return 2;
	if (fread(p, 100, 10, f) != 0 || fgets(p, 10, f))
		return 3;
	fclose(f);

	for (int i = 0; i < 64; i++)
		ints[i] = i * 37 % 64;
	qsort(ints, 64, sizeof(int), ascending);

	pthread_mutex_init(&s->mutex, NULL);
	pthread_mutex_lock(&s->mutex);
	pthread_mutex_unlock(&s->mutex);
	pthread_mutex_trylock(&s->mutex);
	pthread_mutex_unlock(&s->mutex);
	pthread_mutex_destroy(&s->mutex);
	pthread_rwlock_init(&s->rwlock, NULL);
	pthread_rwlock_rdlock(&s->rwlock);
	pthread_rwlock_unlock(&s->rwlock);
	pthread_rwlock_wrlock(&s->rwlock);
	pthread_rwlock_unlock(&s->rwlock);
	pthread_cond_init(&s->cond, NULL);
	pthread_cond_signal(&s->cond);
	pthread_cond_destroy(&s->cond);
	sem_init(&s->sem, 0, 1);
	sem_wait(&s->sem);
	sem_post(&s->sem);
	return sem_trywait(&s->sem);
}
