/* build: gcc -fno-inline -pthread */
/* run: --module libc.so.6 */
/* engine: inline */
/*
 * The sessions of cached-block.c, each served by a thread of its own: the names that are
 * freed lie in the cache that malloc keeps for that thread, in an arena which is not the
 * main one. Threads come and go, and later ones take over the arenas. thread-cache.cons
 * says what must hold for the caches, over the library's own memory.
 * FAULT: the name is written after it has been freed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 3, SESSIONS = 4 };

struct session {
	char *name;
	int open;
};

void login(struct session *s, const char *name)
{
	s->name = malloc(24);
	strcpy(s->name, name);
	s->open = 1;
}

void logout(struct session *s)
{
	s->open = 0;
#ifdef FAULT
	free(s->name);
	strcpy(s->name, "nobody"); /* FAULT */
#else
	strcpy(s->name, "nobody");
	free(s->name);
#endif
}

static void *serve(void *arg)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct session sessions[SESSIONS];

	for (int round = 0; round < 10; round++) {
		pthread_mutex_lock(&lock);
		for (int i = 0; i < SESSIONS; i++)
			login(&sessions[i], "somebody");
		for (int i = 0; i < SESSIONS; i++)
			logout(&sessions[i]);
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int turn = 0; turn < 2; turn++) {
		for (int i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, serve, NULL);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	puts("done");
	return 0;
}
