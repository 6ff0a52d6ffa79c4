/*
 * A bipartite graph, of jobs and machines that can do them, and a matching.
 * FAULT: when a job changes over to another machine, the old machine gets the
 * new one as its mate instead of none.
 */
#include <stdio.h>
#include <stdlib.h>

enum side { JOB, MACHINE };

struct vertex {
	enum side side;
	int id;
	struct vertex *mate;
	int degree;
	struct vertex *adj[6];
};

static struct vertex *new_vertex(enum side side, int id)
{
	struct vertex *v = calloc(1, sizeof *v);
	v->side = side;
	v->id = id;
	return v;
}

void connect(struct vertex *job, struct vertex *machine)
{
	job->adj[job->degree++] = machine;
	machine->adj[machine->degree++] = job;
}

void assign(struct vertex *job, struct vertex *machine)
{
	if (machine->mate)
		machine->mate->mate = NULL;
	if (job->mate)
#ifdef FAULT
		job->mate->mate = machine; /* FAULT */
#else
		job->mate->mate = NULL;
#endif
	job->mate = machine;
	machine->mate = job;
}

int main(void)
{
	struct vertex *job[6], *machine[6];
	for (int i = 0; i < 6; i++) {
		job[i] = new_vertex(JOB, i);
		machine[i] = new_vertex(MACHINE, i);
	}
	for (int i = 0; i < 6; i++)
		for (int k = 0; k < 3; k++)
			connect(job[i], machine[(i + 2 * k) % 6]);
	for (int i = 0; i < 6; i++)
		assign(job[i], job[i]->adj[i % 2]);
	assign(job[1], job[1]->adj[2]);
	printf("%d\n", job[0]->degree);
	return 0;
}
