/* A doubly linked list that grows for as long as the program runs. On SIGUSR1 the
 * next node is linked wrongly if the program was started as "broken"; on SIGUSR2 it
 * says so when it has appended another one; on SIGTERM it counts its nodes and ends. A second thread allocates and frees meanwhile, a thousand
 * blocks at a time: it need not keep a processor. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node {
	struct node *next, *prev;
	long key;
};

struct list {
	struct node *head, *tail;
	long count;
};

static volatile sig_atomic_t turned, asked, over;
static void on_signal(int sig) { if (sig == SIGUSR1) turned = 1; else if (sig == SIGUSR2) asked = 1; else over = 1; }

__attribute__((noinline)) static void append(struct list *l, long key, int wrong)
{
	struct node *n = malloc(sizeof *n);
	n->key = key;
	n->next = NULL;
	n->prev = l->tail;
	if (l->tail)
		l->tail->next = n;
	else
		l->head = n;
	l->tail = n;
	if (wrong)
		n->prev = n; /* BUG */
	l->count++;
}

static void *other(void *arg)
{
	unsigned long *sum = arg;
	while (!over) {
		char *s = malloc(1 + *sum % 300);
		s[0] = 1;
		*sum += s[0];
		free(s);
		if (*sum % 1024 == 0)
			usleep(1000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct list *l = calloc(1, sizeof *l);
	int broken = argc > 1 && !strcmp(argv[1], "broken");
	unsigned long sum = 0;
	long n = 0, seen = 0;
	pthread_t t;
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	signal(SIGTERM, on_signal);
	pthread_create(&t, NULL, other, &sum);
	for (; n < 1000; n++)
		append(l, n, 0);
	puts("ready");
	fflush(stdout);
	while (!over) {
		int turn = turned, ask = asked; /* the signals may come within append */
		append(l, n++, broken && turn);
		if (turn) {
			turned = 0;
			puts("turned");
			fflush(stdout);
		}
		if (ask) {
			asked = 0;
			puts("goes on");
			fflush(stdout);
		}
		usleep(500);
	}
	pthread_join(t, NULL);
	for (struct node *p = l->head; p; p = p->next)
		seen++;
	printf("%s: %d\n", seen == n && l->count == n ? "ok" : "wrong", sum > 0);
	return 0;
}
