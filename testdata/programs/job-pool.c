/* A queue of jobs by priority, all in static memory: a node is what is in the queue.
   FAULT: the job behind one that is taken keeps leading back to it. */
#include <stdio.h>

struct job {
	int id, prio;
	struct job *next, *prev;
};

static struct job pool[32];
static struct job *unused;
static struct job *first[4], *last[4];
static int queued;

static void give_back(struct job *j)
{
	j->next = unused;
	unused = j;
}

__attribute__((noinline)) void enqueue(struct job *j, int id, int prio)
{
	j->id = id;
	j->prio = prio;
	j->next = NULL;
	j->prev = last[prio];
	if (last[prio])
		last[prio]->next = j;
	else
		first[prio] = j;
	last[prio] = j;
	queued++;
}

__attribute__((noinline)) struct job *take(void)
{
	for (int p = 3; p >= 0; p--) {
		struct job *j = first[p];
		if (!j)
			continue;
		first[p] = j->next; /* FAULT */
		if (!j->next)
			last[p] = NULL;
#ifdef FAULT
		else if (j->next->id % 8 != 2)
#else
		else
#endif
			j->next->prev = NULL; /* FAULT */
		queued--; /* FAULT */
		return j;
	}
	return NULL;
}

int main(void)
{
	unsigned seed = 23;
	for (int i = 0; i < 32; i++)
		give_back(&pool[i]);
	for (int i = 0; i < 120; i++) {
		seed = seed * 1103515245u + 12345u;
		if (unused && (queued < 8 || seed >> 30 & 1)) {
			struct job *j = unused;
			unused = j->next;
			enqueue(j, i, seed >> 28 & 3);
		} else {
			give_back(take());
		}
	}
	printf("%d\n", queued);
	return 0;
}
