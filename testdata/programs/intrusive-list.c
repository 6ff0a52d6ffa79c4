/* spec: ../specs/intrusive-list.cons */
/* build: gcc -fno-inline */
/*
 * Tasks of a scheduler, linked by a member, in the way of Linux. Some tasks are
 * static, some on the heap; one is a node of the list while it is queued.
 * FAULT: unlinking sets the successor's back pointer to the successor.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct list_head {
	struct list_head *next, *prev;
};

struct task {
	int pid;
	struct list_head link;
};

static struct list_head tasks = { &tasks, &tasks };
static struct task idle, init;

void task_enqueue(struct task *t)
{
	t->link.next = &tasks;
	t->link.prev = tasks.prev;
	tasks.prev->next = &t->link;
	tasks.prev = &t->link;
}

void task_dequeue(struct task *t)
{
	struct list_head *next = t->link.next, *prev = t->link.prev;
	prev->next = next;
#ifdef FAULT
	next->prev = next; /* FAULT */
#else
	next->prev = prev;
#endif
	t->link.next = t->link.prev = NULL;
}

static struct task *first(void)
{
	return (struct task *)((char *)tasks.next - offsetof(struct task, link));
}

static struct task *spawn(int pid)
{
	struct task *t = malloc(sizeof *t);
	t->pid = pid;
	return t;
}

int main(void)
{
	int sum = 0;
	init.pid = 1;
	task_enqueue(&idle);
	task_enqueue(&init);
	for (int pid = 2; pid < 8; pid++)
		task_enqueue(spawn(pid));
	for (int round = 0; round < 3; round++) {
		struct task *t = first();
		sum += t->pid;
		task_dequeue(t);
		task_enqueue(t);
	}
	struct task *t = first();
	task_dequeue(t);
	free(t);
	printf("%d\n", sum);
	return 0;
}
