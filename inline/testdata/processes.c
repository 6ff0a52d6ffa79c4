/* Children of all kinds, made at all times. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

extern char **environ;

struct node { struct node *next; long v; };

static struct node *list;

static long grow(struct node **l, int n)
{
	long sum = 0;

	for (int i = 0; i < n; i++) {
		struct node *p = malloc(sizeof(*p));

		p->v = i;
		p->next = *l;
		*l = p;
	}
	for (struct node *p = *l; p; p = p->next)
		sum += p->v;
	return sum;
}

static int ended(int pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* A child stores and checks what it has. */
static int child(long was)
{
	struct node *mine = list;
	char *s = malloc(1 << 16);

	memset(s, 3, 1 << 16);
	for (int i = 0; i < 1 << 16; i++)
		if (s[i] != 3)
			return 1;
	return grow(&mine, 100) == was + 4950 ? 42 : 2;
}

static void forks(int n)
{
	long sum = grow(&list, 50);
	int good = 0;

	for (int i = 0; i < n; i++) {
		int pid = fork();

		if (!pid)
			_exit(child(sum));
		good += ended(pid) == 42;
		sum = grow(&list, 1);
	}
	printf("good %d\n", good);
}

static volatile int stop;

static void *busy(void *arg)
{
	struct node *l = 0;
	long n = 0;

	while (!stop) {
		grow(&l, 10);
		while (l) {
			struct node *p = l->next;

			free(l);
			l = p;
		}
		n++;
	}
	return l;
}

static void *forker(void *arg)
{
	long good = 0;

	for (int i = 0; i < 10; i++) {
		int pid = fork();

		if (!pid) {
			struct node *l = 0;

			_exit(grow(&l, 100) == 4950 ? 42 : 3);
		}
		good += ended(pid) == 42;
	}
	return (void *)good;
}

static void threads(void)
{
	pthread_t b[4], f[4];
	long good = 0;

	for (int i = 0; i < 4; i++)
		pthread_create(&b[i], 0, busy, 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&f[i], 0, forker, 0);
	for (int i = 0; i < 4; i++) {
		void *r;

		pthread_join(f[i], &r);
		good += (long)r;
	}
	stop = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(b[i], 0);
	printf("good %ld\n", good);
}

/* The one that forks has ended when its child runs. */
static void *last(void *arg)
{
	int *fd = arg;

	if (!syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) {
		struct node *l = 0;

		usleep(2000);
		write(fd[1], grow(&l, 100) == 4950 ? "y" : "n", 1);
		_exit(0);
	}
	return 0;
}

static void orphans(void)
{
	int fd[2], good = 0;

	pipe(fd);
	for (int i = 0; i < 30; i++) {
		pthread_t t;
		char c = 0;

		pthread_create(&t, 0, last, fd);
		pthread_join(t, 0);
		read(fd[0], &c, 1);
		good += c == 'y';
		ended(-1);
	}
	printf("good %d\n", good);
}

static void *spawner(void *arg)
{
	long good = 0;

	for (int i = 0; i < 10; i++) {
		char *args[] = { "sh", "-c", "exit 7", 0 };
		int pid;

		if (posix_spawn(&pid, "/bin/sh", 0, 0, args, environ))
			continue;
		good += ended(pid) == 7;
		good += system("exit 3") >> 8 == 3;
		free(malloc(40));
	}
	return (void *)good;
}

static void spawns(void)
{
	pthread_t t[4];
	long good = 0;
	FILE *f;
	char b[100] = "";
	int pid;

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], 0, spawner, 0);
	for (int i = 0; i < 4; i++) {
		void *r;

		pthread_join(t[i], &r);
		good += (long)r;
	}
	f = popen("echo hello", "r");
	fgets(b, sizeof(b), f);
	pclose(f);
	printf("good %ld %s", good, b);
	fflush(stdout);
	for (int i = 0; i < 20; i++) {
		/* It shares the memory: what it stores is ours. */
		volatile long *p = malloc(64);

		if (!(pid = vfork())) {
			p[0] = i;
			p[1] = 2;
			list->v = i;
			if (i % 2)
				_exit(9);
			execl("/bin/true", "true", (char *)0);
			_exit(1);
		}
		good += ended(pid) == (i % 2 ? 9 : 0);
		if (p[0] != i)
			good = -1000;
	}
	printf("good %ld\n", good);
}

static void *empty(void *arg)
{
	pause();
	return arg;
}

/* Without end. */
static void *makes_threads(void *arg)
{
	for (;;) {
		pthread_t t;

		if (!pthread_create(&t, 0, empty, arg))
			pthread_detach(t);
	}
}

static char stack[4][64 << 10];

static int sharing(void *arg)
{
	long *p = arg;

	for (int i = 0; i < 1000; i++)
		p[i % 8] = i;
	return 5;
}

/* Processes that share the memory and run beside us. */
static void sharers(void)
{
	int good = 0;

	for (int k = 0; k < 10; k++) {
		long *p[4];
		int pid[4];

		for (int i = 0; i < 4; i++) {
			p[i] = calloc(8, 8);
			pid[i] = clone(sharing, stack[i] + sizeof(stack[i]), CLONE_VM | SIGCHLD, p[i]);
			grow(&list, 30);
		}
		for (int i = 0; i < 4; i++) {
			good += ended(pid[i]) == 5;
			good += p[i][7] == 999;
		}
	}
	printf("good %d\n", good);
}

#ifndef CLONE_UNTRACED
#define CLONE_UNTRACED 0x00800000
#endif

/* clone(2) of which the registers are looked at afterwards. */
static long raw_clone(long flags, void *sp)
{
	long r, rdi = flags;

	asm volatile("xorl %%edx, %%edx\n\txorl %%r10d, %%r10d\n\txorl %%r8d, %%r8d\n\tsyscall"
		     : "=a"(r), "+D"(rdi) : "0"(SYS_clone), "S"(sp) : "rcx", "rdx", "r8", "r10", "r11", "memory");
	if (r && rdi != flags)
		printf("rdi is %lx, not %lx\n", rdi, flags);
	return r;
}

/* Nobody would be told of these. */
static void untraced(void)
{
	unsigned long args[8];
	long sum = grow(&list, 50);
	int good = 0;

	for (int i = 0; i < 10; i++) {
		long *p = calloc(8, 8), pid = raw_clone(CLONE_UNTRACED | SIGCHLD, 0);

		if (!pid)
			_exit(child(sum));
		good += ended(pid) == 42;

		memset(args, 0, sizeof args);
		args[0] = CLONE_UNTRACED;
		args[4] = SIGCHLD;
		pid = syscall(SYS_clone3, args, sizeof args);
		if (!pid)
			_exit(child(sum));
		good += ended(pid) == 42 && args[0] == CLONE_UNTRACED;

		pid = clone(sharing, stack[0] + sizeof(stack[0]), CLONE_UNTRACED | CLONE_VM | SIGCHLD, p);
		good += ended(pid) == 5 && p[7] == 999;
	}
	args[0] = ~0ul;
	good += syscall(SYS_clone3, args, sizeof args) == -1 && errno == EINVAL && args[0] == ~0ul;
	good += syscall(SYS_clone3, 8, sizeof args) == -1 && errno == EFAULT;
	printf("good %d\n", good);
}

/* The parent stores while its child is still to be seen. */
static void signalled(void)
{
	volatile long *cells = malloc(64 * sizeof(*cells));
	long failed = 0;

	for (int i = 0; i < 100; i++) {
		int pid = fork();

		if (!pid)
			_exit(7);
		for (int k = 0; k < 20000; k++)
			cells[k % 64] = k;
		failed += ended(pid) != 7;
	}
	printf("failed %ld\n", failed);
}

/* A page of code that does not store. */
__attribute__((noinline, aligned(4096))) static int unlucky(void) { return 13; }
__attribute__((noinline, aligned(4096))) static int after(void) { return 14; }

/* What of the code differs from its files, and in how many pages that are the process's own. */
static void compare(int pages)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	int pagemap = open("/proc/self/pagemap", O_RDONLY);
	char line[4500], perms[8], path[4096];
	unsigned long lo, hi, at, differ = 0, own = 0, word;

	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095s", &lo, &hi, perms, &at, path) != 5 || perms[2] != 'x' || path[0] != '/')
			continue;
		char *is = malloc(hi - lo);
		int fd = open(path, O_RDONLY);
		long n = pread(fd, is, hi - lo, at);

		for (long i = 0; i < n; i++)
			differ += is[i] != ((char *)lo)[i];
		for (unsigned long a = lo; a < hi; a += 4096)
			if (pread(pagemap, &word, 8, a / 4096 * 8) == 8)
				own += word >> 63 && !(word >> 61 & 1);
		close(fd);
		free(is);
	}
	fclose(maps);
	close(pagemap);
	printf("%lu bytes of the code differ, unlucky %d\n", differ, unlucky());
	if (pages)
		printf("%s pages are my own\n", own < 8 ? "few" : "many"); /* where a tracer has had a breakpoint */
}

/* The code of a child is that of the files, or what the program itself has made of it. */
static void code(int changes)
{
	if (changes) {
		unsigned char *at = (unsigned char *)unlucky;

		mprotect(at, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
		while (*at != 13)
			at++;
		*(volatile unsigned char *)at = 7;
		mprotect((void *)unlucky, 4096, PROT_READ | PROT_EXEC);
	}
	for (int i = 0; i < 3; i++) {
		int pid = fork();

		if (!pid) {
			compare(!changes);
			exit(grow(&list, 10) == 48 && after() == 14 ? 0 : 1);
		}
		printf("ended %d\n", ended(pid));
	}
}

int main(int argc, char **argv)
{
	const char *m = argv[1];

	setvbuf(stdout, 0, _IOLBF, 0);
	grow(&list, 3);
	if (!strcmp(m, "signalled"))
		signalled();
	else if (!strcmp(m, "forks"))
		forks(100);
	else if (!strcmp(m, "threads"))
		threads();
	else if (!strcmp(m, "orphans"))
		orphans();
	else if (!strcmp(m, "spawns"))
		spawns();
	else if (!strcmp(m, "sharers"))
		sharers();
	else if (!strcmp(m, "untraced"))
		untraced();
	else if (!strcmp(m, "code"))
		code(0);
	else if (!strcmp(m, "changed code"))
		code(1);
	else if (!strcmp(m, "exec")) {
		printf("now\n");
		execl("/bin/echo", "echo", "after", (char *)0);
	} else if (!strcmp(m, "exec among threads")) {
		pthread_t t;

		for (int i = 0; i < 4; i++)
			pthread_create(&t, 0, makes_threads, 0);
		usleep(5000);
		execl("/bin/echo", "echo", "after", (char *)0);
	} else if (!strcmp(m, "daemon")) {
		if (!fork()) {
			setsid();
			usleep(100000);
			grow(&list, 10);
			printf("the child is alive\n");
			exit(0);
		}
		usleep(300000);
	}
	return 0;
}
