// A queue of sys/queue.h: the way back leads to the pointer that leads here, which lies in
// the job before or in the head. FAULT: a job that is put before another leaves the
// other's way back as it was.
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

struct job {
	int due;
	TAILQ_ENTRY(job) link;
};

static TAILQ_HEAD(, job) jobs = TAILQ_HEAD_INITIALIZER(jobs);

__attribute__((noinline)) static void put(int due) {
	struct job *j = malloc(sizeof *j), *after;
	j->due = due;
	TAILQ_FOREACH(after, &jobs, link)
		if (after->due > due)
			break;
	if (after == NULL) {
		TAILQ_INSERT_TAIL(&jobs, j, link);
		return;
	}
	j->link.tqe_prev = after->link.tqe_prev;
	j->link.tqe_next = after;
	*after->link.tqe_prev = j;
#ifndef FAULT
	after->link.tqe_prev = &j->link.tqe_next;
#endif
}

__attribute__((noinline)) static void take(int due) {
	struct job *j;
	TAILQ_FOREACH(j, &jobs, link)
		if (j->due == due) {
			TAILQ_REMOVE(&jobs, j, link);
			free(j);
			return;
		}
}

int main(void) {
	for (int i = 0; i < 40; i++)
		put(i * 17 % 41);
#ifndef FAULT
	for (int i = 0; i < 41; i += 4)
		take(i);
#endif
	puts(TAILQ_EMPTY(&jobs) ? "none" : "some");
	return 0;
}
