/*
 * A bipartite graph of jobs and machines with a matching. Each vertex has a
 * list of its edges; each edge is in the lists of both of its ends.
 */
#include <stdio.h>
#include <stdlib.h>

enum side { JOB, MACHINE };

struct edge {
	struct vertex *job, *machine;
	struct edge *next_of_job, *next_of_machine;
};

struct vertex {
	int id;
	enum side side;
	int degree;
	struct vertex *mate;
	struct edge *edges;
	struct vertex *next, *prev; /* all of its side */
};

struct graph {
	struct vertex *jobs, *machines;
	int matched;
};

static struct graph graph;

static void *allocate(size_t size)
{
	void *p = malloc(size);
	if (!p) {
		perror("malloc");
		exit(1);
	}
	return p;
}

static struct vertex *add_vertex(int id, enum side side)
{
	struct vertex *v = allocate(sizeof *v);
	v->id = id;
	v->side = side;
	v->degree = 0;
	v->mate = NULL;
	v->edges = NULL;
	v->prev = NULL;
	if (side == JOB) {
		v->next = graph.jobs;
		graph.jobs = v;
	} else {
		v->next = graph.machines;
		graph.machines = v;
	}
	if (v->next)
		v->next->prev = v;
	return v;
}

static struct edge *find_edge(const struct vertex *job, const struct vertex *machine)
{
	struct edge *e = job->edges;
	while (e && e->machine != machine)
		e = e->next_of_job;
	return e;
}

static void add_edge(struct vertex *job, struct vertex *machine)
{
	struct edge *e;
	if (find_edge(job, machine))
		return;
	e = allocate(sizeof *e);
	e->job = job;
	e->machine = machine;
	e->next_of_job = job->edges;
	job->edges = e;
	e->next_of_machine = machine->edges;
	machine->edges = e;
	job->degree++;
	machine->degree++;
}

static void unmatch(struct vertex *job)
{
	if (!job->mate)
		return;
	job->mate->mate = NULL;
	job->mate = NULL;
	graph.matched--;
}

static void match(struct vertex *job, struct vertex *machine)
{
	unmatch(job);
	if (machine->mate)
		unmatch(machine->mate);
	job->mate = machine;
	machine->mate = job;
	graph.matched++;
}

static void unlink_from_job(struct edge *e)
{
	struct edge *p = e->job->edges;
	if (p == e) {
		e->job->edges = e->next_of_job;
	} else {
		while (p->next_of_job != e)
			p = p->next_of_job;
		p->next_of_job = e->next_of_job;
	}
	e->job->degree--;
}

static void unlink_from_machine(struct edge *e)
{
	struct edge *p = e->machine->edges;
	if (p == e) {
		e->machine->edges = e->next_of_machine;
	} else {
		while (p->next_of_machine != e)
			p = p->next_of_machine;
		p->next_of_machine = e->next_of_machine;
	}
	e->machine->degree--;
}

static void remove_edge(struct edge *e)
{
	if (e->job->mate == e->machine)
		unmatch(e->job);
	unlink_from_job(e);
	unlink_from_machine(e);
	free(e);
}

static void remove_vertex(struct vertex *v)
{
	while (v->edges)
		remove_edge(v->edges);
	if (v->prev)
		v->prev->next = v->next;
	else if (v->side == JOB)
		graph.jobs = v->next;
	else
		graph.machines = v->next;
	if (v->next)
		v->next->prev = v->prev;
	free(v);
}

/* The first of a job's machines that is free. */
static struct vertex *free_machine(const struct vertex *job)
{
	for (struct edge *e = job->edges; e; e = e->next_of_job)
		if (!e->machine->mate)
			return e->machine;
	return NULL;
}

/* Tries to find the job a machine, if need be by moving another job. */
static void assign(struct vertex *job)
{
	struct vertex *m = free_machine(job);
	if (m) {
		match(job, m);
		return;
	}
	for (struct edge *e = job->edges; e; e = e->next_of_job) {
		struct vertex *other = e->machine->mate, *to = free_machine(other);
		if (to) {
			match(other, to);
			match(job, e->machine);
			return;
		}
	}
}

void graph_insert(int id)
{
	struct vertex *v = add_vertex(id, id % 2 ? JOB : MACHINE), *o;
	int n = 0;
	for (o = id % 2 ? graph.machines : graph.jobs; o && n < 3; o = o->next, n++) {
		if (id % 2)
			add_edge(v, o);
		else
			add_edge(o, v);
	}
	if (v->side == JOB)
		assign(v);
	else if (v->edges && !v->edges->job->mate)
		assign(v->edges->job);
}

static struct vertex *find(struct vertex *list, int id)
{
	while (list && list->id != id)
		list = list->next;
	return list;
}

void graph_delete(int id)
{
	struct vertex *v = find(id % 2 ? graph.jobs : graph.machines, id);
	if (v)
		remove_vertex(v);
}

/* The judge's own view. Returns the sum of the degrees, -1 if something is wrong. */
static int check_side(const struct vertex *list, enum side side, int *count, int *matched)
{
	const struct vertex *prev = NULL;
	int sum = 0;
	for (const struct vertex *v = list; v; prev = v, v = v->next) {
		int degree = 0;
		if (v->prev != prev || v->side != side || ++*count > 100000)
			return -1;
		for (const struct edge *e = v->edges; e; e = side == JOB ? e->next_of_job : e->next_of_machine) {
			if ((side == JOB ? e->job : e->machine) != v || ++degree > 100000)
				return -1;
		}
		if (degree != v->degree)
			return -1;
		if (v->mate) {
			if (v->mate->mate != v || v->mate->side == side)
				return -1;
			if (!find_edge(side == JOB ? v : v->mate, side == JOB ? v->mate : v))
				return -1;
			++*matched;
		}
		sum += degree;
	}
	return sum;
}

static int workload_size(void);

int graph_check(void)
{
	int count = 0, matched = 0;
	int jobs = check_side(graph.jobs, JOB, &count, &matched);
	int machines = check_side(graph.machines, MACHINE, &count, &matched);
	return jobs >= 0 && jobs == machines && matched == 2 * graph.matched && count == workload_size();
}

#define INSERT graph_insert
#define DELETE graph_delete
#define CHECK graph_check
#include "workload.h"

static int workload_size(void)
{
	return workload_count;
}
