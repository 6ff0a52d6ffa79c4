/* Handlers that write: on the stack they interrupt, on one of their own, nested,
 * for faults that they repair or jump out of. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static long *counts;
static volatile char *volatile page;
static sigjmp_buf env;
static volatile long *volatile nowhere = (long *)8;

static void count(int sig)
{
	counts[sig]++;
	if (sig == SIGUSR1)
		raise(SIGUSR2);			/* nested */
	counts[sig + 32]++;
}

static void repair(int sig, siginfo_t *info, void *context)
{
	counts[sig]++;
	if (info->si_addr == (void *)(page + 100))
		mprotect((void *)page, 4096, PROT_READ | PROT_WRITE);
	else
		siglongjmp(env, 1);
}

static void skip(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	counts[sig] = u->uc_mcontext.gregs[REG_RAX];
	u->uc_mcontext.gregs[REG_RIP] += 2;	/* ud2 */
}

int main(void)
{
	stack_t *s = malloc(sizeof(*s));
	struct sigaction a;
	sigset_t set;

	counts = calloc(80, sizeof(*counts));
	s->ss_sp = malloc(1 << 16);
	s->ss_size = 1 << 16;
	s->ss_flags = 0;
	sigaltstack(s, NULL);
	memset(&a, 0, sizeof(a));
	a.sa_handler = count;
	sigaction(SIGUSR1, &a, NULL);
	a.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &a, NULL);
	a.sa_flags = SA_SIGINFO | SA_ONSTACK;
	a.sa_sigaction = repair;
	sigaction(SIGSEGV, &a, NULL);
	a.sa_sigaction = skip;
	a.sa_flags = SA_SIGINFO;
	sigaction(SIGILL, &a, NULL);

	raise(SIGUSR1);
	kill(getpid(), SIGUSR2);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR1);
	counts[1] = 1;
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	counts[2] = 2;

	page = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	page[100] = 5;				/* repaired, then executed anew */
	if (!sigsetjmp(env, 1))
		*nowhere = 1;	/* jumped out of */
	counts[3] = 3;
	for (int i = 0; i < 3; i++)
		asm volatile("mov $77, %%eax; ud2" ::: "rax", "memory");
	if (!sigsetjmp(env, 1)) {
		char *d = (char *)page + 4000;
		unsigned long n = 200;		/* faults half way */
		mprotect((void *)(page + 4096), 4096, PROT_NONE);
		asm volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(0x42) : "memory");
	}
	counts[4] = 4;
	return 0;
}
