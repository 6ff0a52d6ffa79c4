/* Signals at any point. Handlers look at where they came, and store. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

struct node { struct node *next; long v; char text[40]; };

/* ---- where the program's code lies ---- */

static struct { unsigned long lo, hi; } text[64];
static int texts;

static int collect(struct dl_phdr_info *i, size_t size, void *arg)
{
	for (int k = 0; k < i->dlpi_phnum; k++)
		if (i->dlpi_phdr[k].p_type == PT_LOAD && i->dlpi_phdr[k].p_flags & PF_X) {
			text[texts].lo = i->dlpi_addr + i->dlpi_phdr[k].p_vaddr;
			text[texts].hi = text[texts].lo + i->dlpi_phdr[k].p_memsz;
			texts++;
		}
	return 0;
}

static int own(unsigned long pc)
{
	for (int i = 0; i < texts; i++)
		if (text[i].lo <= pc && pc < text[i].hi)
			return 1;
	return 0;
}

static volatile long hits, bad, wrong;
static long *tally;

static void look(int sig, siginfo_t *si, void *c)
{
	ucontext_t *u = c;
	int e = errno;

	if (!own(u->uc_mcontext.gregs[REG_RIP])) {
		if (!bad)
			fprintf(stderr, "at %llx\n", u->uc_mcontext.gregs[REG_RIP]);
		bad++;
	}
	long n = __atomic_fetch_add(&hits, 1, __ATOMIC_SEQ_CST);

	__atomic_exchange_n(&tally[n % 512], n, __ATOMIC_SEQ_CST);
	tally[513] = __atomic_exchange_n(&tally[512], sig, __ATOMIC_SEQ_CST) > 64;
	errno = e;
}

static void on(int sig, void (*f)(int, siginfo_t *, void *), int flags)
{
	struct sigaction a = { .sa_flags = SA_SIGINFO | flags };

	a.sa_sigaction = f;
	sigaction(sig, &a, 0);
}

static struct node *list;
static volatile long spins;

static long work(int n)
{
	long sum = 0;
	char buf[64];

	for (int i = 0; i < n; i++) {
		struct node *p = malloc(sizeof(*p));

		p->v = i;
		p->next = list;
		list = p;
		snprintf(p->text, sizeof(p->text), "node %d", i);
		memcpy(buf, p->text, 40);
		memset(p->text + 20, i, 20);
		asm volatile("rep movsb" : "+D"((char *){ p->text + 8 }), "+S"((char *){ buf }), "+c"((long){ 8 }) :: "memory");
		__atomic_fetch_add(&p->v, 1, __ATOMIC_SEQ_CST);
		sum += p->v + p->text[9];
		if (i % 5 == 0) {
			list = p->next;
			free(p);
		}
	}
	return sum;
}

static void timer(long target, int extra)
{
	struct itimerval v = { { 0, 1000 }, { 0, 1000 } };
	long sum = work(100), n = 0;

	on(SIGALRM, look, extra);
	setitimer(ITIMER_REAL, &v, 0);
	while (hits < target) {
		if (work(100) != sum)
			wrong++;
		while (list && n++ % 4) {
			struct node *p = list->next;

			free(list);
			list = p;
		}
	}
	memset(&v, 0, sizeof(v));
	setitimer(ITIMER_REAL, &v, 0);
	printf("bad %ld wrong %ld\n", bad, wrong);
}

/* ---- several timers in several threads ---- */

static void *spin(void *arg)
{
	long *mine = malloc(512 * sizeof(long));

	memset(mine, 0, 512 * sizeof(long));
	while (hits < 600)
		for (int i = 0; i < 512; i++)
			mine[i]++;
	for (int i = 1; i < 512; i++)
		wrong += mine[i] != mine[0];
	return 0;
}

static void threads(void)
{
	struct itimerval v = { { 0, 1000 }, { 0, 1000 } };
	pthread_t t[6];

	on(SIGALRM, look, SA_RESTART);
	for (int i = 0; i < 6; i++)
		pthread_create(&t[i], 0, spin, 0);
	setitimer(ITIMER_REAL, &v, 0);
	for (int i = 0; hits < 500; i++)
		pthread_kill(t[i % 6], SIGALRM);
	for (int i = 0; i < 6; i++)
		pthread_join(t[i], 0);
	printf("bad %ld wrong %ld\n", bad, wrong);
}

/* ---- nesting ---- */

static void inner(int sig, siginfo_t *si, void *c)
{
	look(sig, si, c);
	work(3);
}

static void outer(int sig, siginfo_t *si, void *c)
{
	look(sig, si, c);
	raise(SIGUSR2);
	work(3);
	look(sig, si, c);
}

static void nested(void)
{
	stack_t s = { .ss_sp = malloc(64 << 10), .ss_size = 64 << 10 };

	sigaltstack(&s, 0);
	on(SIGUSR1, outer, SA_ONSTACK);
	on(SIGUSR2, inner, SA_ONSTACK | SA_NODEFER);
	for (int i = 0; i < 200; i++) {
		work(2);
		raise(SIGUSR1);
	}
	printf("hits %ld bad %ld\n", hits, bad);
	stack_t off = { .ss_flags = SS_DISABLE };
	sigaltstack(&off, 0);
}

/* ---- system calls ---- */

static int values;

static void value(int sig, siginfo_t *si, void *c)
{
	look(sig, si, c);
	values += si->si_value.sival_int;
}

static void calls(void)
{
	int fd[2], met[2], pid, n;
	char *b = malloc(100);

	pipe(fd);
	pipe(met);
	on(SIGUSR1, look, SA_RESTART);
	on(SIGUSR2, look, 0);
	on(SIGRTMIN, value, SA_RESTART);
	fflush(stdout);
	if (!(pid = fork())) {
		union sigval v = { .sival_int = 3 };
		int parent = getppid();

		for (int i = 0; i < 20; i++) {
			usleep(3000);
			kill(parent, SIGUSR1);
		}
		for (int i = 0; i < 10; i++) {
			usleep(1000);
			while (sigqueue(parent, SIGRTMIN, v))
				;
		}
		usleep(10000);
		write(fd[1], "restarted", 9);
		/* Until it says that a read was interrupted: it may not have begun to read yet. */
		fcntl(met[0], F_SETFL, O_NONBLOCK);
		do {
			usleep(10000);
			kill(parent, SIGUSR2);
		} while (read(met[0], &n, 1) != 1);
		write(fd[1], "end", 3);
		_exit(0);
	}
	n = read(fd[0], b, 50);
	printf("%d %.*s %d\n", n, n, b, values);
	n = read(fd[0], b, 50);
	printf("%d %s\n", n, n < 0 && errno == EINTR ? "EINTR" : "no EINTR");
	signal(SIGUSR2, SIG_IGN);
	write(met[1], "x", 1);
	n = read(fd[0], b, 50);
	printf("%d %.*s bad %ld\n", n, n, b, bad);
	waitpid(pid, 0, 0);
	struct timespec ts = { 100, 0 };
	struct itimerval v = { { 0, 20000 }, { 0, 5000 } }, none = { 0 };
	on(SIGALRM, look, SA_RESTART);
	setitimer(ITIMER_REAL, &v, 0);
	n = nanosleep(&ts, &ts);
	setitimer(ITIMER_REAL, &none, 0);
	printf("sleep %d\n", n);
}

/* ---- faults ---- */

static sigjmp_buf back;
static char *page;
static volatile int faults;
static volatile unsigned long want_pc, got_pc, got_addr, got_rdi;
static int jump;
static int leave;

static void fix(int sig, siginfo_t *si, void *c)
{
	ucontext_t *u = c;

	faults++;
	got_pc = u->uc_mcontext.gregs[REG_RIP];
	got_addr = (unsigned long)si->si_addr;
	got_rdi = u->uc_mcontext.gregs[REG_RDI];
	tally[faults % 100] = got_addr;
	if (jump)
		siglongjmp(back, 1);
	mprotect((void *)(got_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE);
}

extern char store_at[], store_end[], rep_at[], vec_at[], lock_at[];

static __attribute__((noinline)) void store(char *p, long v)
{
	asm volatile("store_at: mov %1, (%0)\nstore_end: nop; nop; nop" :: "r"(p), "r"(v) : "memory");
}

static __attribute__((noinline)) void locked(char *p)
{
	asm volatile("lock_at: lock incq (%0)\n nop" :: "r"(p) : "memory", "cc");
}

static __attribute__((noinline)) void vector(char *p)
{
	asm volatile("vec_at: movdqu %%xmm0, (%0)\n nop" :: "r"(p) : "memory");
}

static __attribute__((noinline)) void rep(char *p, char *from, long n)
{
	asm volatile("rep_at: rep movsb\n nop" : "+D"(p), "+S"(from), "+c"(n) :: "memory");
}

static void check(const char *what, char *at, char *addr)
{
	printf("%s: %s %s\n", what, got_pc == (unsigned long)at ? "at its place" : "ELSEWHERE",
	       got_addr == (unsigned long)addr ? "its address" : "ANOTHER ADDRESS");
}

static void faulting(void)
{
	char *from = malloc(8192);

	memset(from, 7, 8192);
	page = mmap(0, 16 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	on(SIGSEGV, fix, 0);
	for (jump = 0; jump < 2; jump++) {
		for (int i = 0; i < 50; i++) {
			mprotect(page, 16 * 4096, PROT_NONE);
			if (!sigsetjmp(back, 1))
				store(page + 4096 + 8 * i, i);
		}
		check("mov", store_at, page + 4096 + 8 * 49);
		if (!jump)
			printf("%ld\n", *(long *)(page + 4096 + 8 * 49));
		mprotect(page, 16 * 4096, PROT_NONE);
		if (!sigsetjmp(back, 1))
			locked(page + 64);
		check("lock inc", lock_at, page + 64);
		if (!sigsetjmp(back, 1))
			vector(page + 8192 + 48);
		check("movdqu", vec_at, page + 8192 + 48);
		mprotect(page, 4096, PROT_READ | PROT_WRITE);
		if (!sigsetjmp(back, 1))
			rep(page + 4096 - 100, from, 300);
		check("rep movsb", rep_at, page + 4096);
	}
	/* A block that the store reaches the end of: part of it is written. */
	char *block = aligned_alloc(4096, 8192);
	memset(block, 1, 8192);
	jump = 1;
	mprotect(block + 4096, 4096, PROT_NONE);
	for (int i = 0; i < 20; i++)
		if (!sigsetjmp(back, 1))
			rep(block + 4096 - 10 * i - 1, from + i, 300);
	mprotect(block + 4096, 4096, PROT_READ | PROT_WRITE);
	check("half", rep_at, block + 4096);
	/* Downwards. */
	memset(from, 9, 8192);
	mprotect(block, 4096, PROT_NONE);
	if (!sigsetjmp(back, 1)) {
		char *d = block + 4096 + 57, *s = from + 500;
		long n = 300;

		asm volatile("std; rep movsb; cld" : "+D"(d), "+S"(s), "+c"(n) :: "memory");
	}
	asm volatile("cld");
	mprotect(block, 4096, PROT_READ | PROT_WRITE);
	for (int i = 0; i < 100; i++)
		leave += block[4096 + i];
	printf("down %d faults %d\n", leave, faults);
}

/* ---- SIGSEGV is blocked while much is written ---- */

static void *blocked(void *arg)
{
	sigset_t s;
	long *p = malloc(4096);

	sigfillset(&s);
	pthread_sigmask(SIG_BLOCK, &s, 0);
	for (long i = 0; i < 300000; i++)
		p[i & 511] = i;
	return p;
}

static void blocking(void)
{
	pthread_t t[4];
	long sum = 0;

	on(SIGSEGV, fix, 0);
	jump = 0;
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], 0, blocked, 0);
	for (int i = 0; i < 4; i++) {
		void *p;

		pthread_join(t[i], &p);
		sum += ((long *)p)[511];
	}
	struct sigaction a;
	sigaction(SIGSEGV, 0, &a);
	printf("%ld faults %d handler %s\n", sum, faults, a.sa_sigaction == fix ? "kept" : "LOST");
}

/* ---- a handler that leaves by longjmp, from anywhere ---- */

static void out(int sig, siginfo_t *si, void *c)
{
	look(sig, si, c);
	if (leave)
		siglongjmp(back, 1);
}

/* One shot a time: siglongjmp unblocks the signal before it leaves the stack, so
   that a slow machine under a steady timer would nest handlers without end. */
static void leaving(void)
{
	long *p = calloc(64, 8);

	on(SIGALRM, out, 0);
	leave = 1;
	while (hits < 300) {
		struct itimerval v = { { 0, 0 }, { 0, 500 + hits * 7 % 600 } };

		if (sigsetjmp(back, 1)) {
			p[0]++;
			continue;
		}
		setitimer(ITIMER_REAL, &v, 0);
		for (int i = 0;; i = (i + 1) & 0xffffff)
			p[1 + i % 60] = i;
	}
	leave = 0;
	printf("bad %ld\n", bad);
}

int main(int argc, char **argv)
{
	const char *m = argv[1];

	dl_iterate_phdr(collect, 0);
	tally = calloc(600, sizeof(long));
	if (!strcmp(m, "timer"))
		timer(400, 0);
	else if (!strcmp(m, "restart"))
		timer(400, SA_RESTART);
	else if (!strcmp(m, "threads"))
		threads();
	else if (!strcmp(m, "nested"))
		nested();
	else if (!strcmp(m, "calls"))
		calls();
	else if (!strcmp(m, "faults"))
		faulting();
	else if (!strcmp(m, "blocked"))
		blocking();
	else if (!strcmp(m, "leave"))
		leaving();
	fflush(stdout);
	return 0;
}
