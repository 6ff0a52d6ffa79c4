/* Calls and stores of all kinds that are told of at sites; with an argument, a signal
   comes every other moment. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

struct node {
	struct node *next;
	char name[40];
	int n;
};

static volatile int ticks;

static void tick(int sig)
{
	ticks += sig;
}

int main(int argc, char **argv)
{
	struct itimerval every = {{0, 1500}, {0, 1500}};
	struct node *list = 0, *p;
	int i, old;

	(void)argv;
	if (argc > 1) {
		signal(SIGALRM, tick);
		setitimer(ITIMER_REAL, &every, 0);
	}
	for (i = 0; i < 2000; i++) {
		p = malloc(sizeof *p);
		memcpy(p->name, "0123456789012345678901234567", 20 + i % 8);
		strcpy(p->name + 4, "abc");
		asm volatile("mov %0, %%rdi; mov $40, %%ecx; xor %%eax, %%eax; rep stosb" : : "r"(p->name) : "rax", "rcx", "rdi", "memory");
		p->n = old = i;
		__sync_bool_compare_and_swap(&p->n, old, old + 1);
		p->next = list;
		list = p;
		if (i % 3 == 0) {
			list = p->next;
			free(p);
		}
	}
	memset(&every, 0, sizeof every);
	setitimer(ITIMER_REAL, &every, 0);
	return list->n != 1999 + 1;
}
