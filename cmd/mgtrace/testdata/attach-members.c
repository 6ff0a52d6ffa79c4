/* Jobs that a queue links to each other: ten are in it before anybody comes, and ten are put in and taken
 * out again and again. On SIGUSR1 the next one is linked to itself, and it says so then; on SIGUSR2 it says so when
 * it has put in and taken out once more. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct job {
	struct job *next, *prev;
	int id;
};

struct queue {
	struct job *first;
	int length;
};

static volatile sig_atomic_t turned, asked, over;
static void on_signal(int sig) { if (sig == SIGUSR1) turned = 1; else if (sig == SIGUSR2) asked = 1; else over = 1; }

__attribute__((noinline)) void put(struct queue *q, struct job *j)
{
	j->prev = NULL;
	j->next = q->first;
	if (j->next)
		j->next->prev = j;
	q->first = j;
	q->length++;
	if (turned)
		j->prev = j; /* BUG */
}

__attribute__((noinline)) void drop(struct queue *q, struct job *j)
{
	if (j->prev)
		j->prev->next = j->next;
	else
		q->first = j->next;
	if (j->next)
		j->next->prev = j->prev;
	q->length--;
}

int main(void)
{
	struct queue *q = calloc(1, sizeof *q);
	struct job *job[20];
	int told = 0;

	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	signal(SIGTERM, on_signal);
	for (int i = 0; i < 20; i++) {
		job[i] = calloc(1, sizeof *job[i]);
		job[i]->id = i;
		if (i < 10)
			put(q, job[i]);
	}
	puts("ready");
	fflush(stdout);
	for (int round = 0; !over; round++) {
		int wrong = turned, ask = asked;
		for (int i = 10; i < 20; i++)
			put(q, job[i]);
		if (wrong && !told) {
			puts("turned");
			fflush(stdout);
			told = 1;
		}
		usleep(1000);
		for (int i = 10; i < 20 && !turned; i++)
			drop(q, job[i]);
		if (ask) {
			asked = 0;
			puts("goes on");
			fflush(stdout);
		}
	}
	puts("ok: 1");
	return 0;
}
