/* Programs that have little, or forbid themselves much. */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

#define DENY(nr) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static void strict(int filter)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		DENY(SYS_mmap), DENY(SYS_memfd_create), DENY(SYS_mprotect), DENY(SYS_userfaultfd), DENY(SYS_munmap),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof(f) / sizeof(*f), f };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, filter ? SECCOMP_MODE_FILTER : SECCOMP_MODE_STRICT, &p))
		syscall(SYS_exit, 77);
}

static volatile int trapped;
static volatile char handed; /* 1: system calls are handed back */

/* Of a system call that was not made. */
static void on_call(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	handed = 0;
	trapped = info->si_call_addr == (void *)u->uc_mcontext.gregs[REG_RIP] ? 1 : 2;
}

static void trap_getppid(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof(f) / sizeof(*f), f };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
	getppid();
	if (trapped != 1)
		syscall(SYS_exit, 76);
}

int main(int argc, char **argv)
{
	const char *m = argv[1];
	long *p = malloc(4096), n = 100000, sum = 0;

	if (!strcmp(m, "strict"))
		strict(0);
	else if (!strcmp(m, "filter"))
		strict(1);
	else if (!strcmp(m, "filtered")) {
		/* What executes next has the filter from its beginning. */
		struct sock_filter f[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			DENY(SYS_memfd_create),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		};
		struct sock_fprog pr = { sizeof(f) / sizeof(*f), f };

		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &pr);
		execl("/proc/self/exe", argv[2], "plain", (char *)0);
	} else if (!strcmp(m, "gs")) {
		syscall(SYS_arch_prctl, ARCH_SET_GS, p);
	} else if (!strcmp(m, "unmaps")) {
		/* All that is shared: it has nothing of its own that is. */
		unsigned long lo[64], hi[64];
		char line[500], perms[5];
		FILE *f = fopen("/proc/self/maps", "r");
		int maps = 0;

		while (f && maps < 64 && fgets(line, sizeof line, f))
			if (sscanf(line, "%lx-%lx %4s", &lo[maps], &hi[maps], perms) == 3 && perms[3] == 's')
				maps++;
		while (maps--)
			munmap((void *)lo[maps], hi[maps] - lo[maps]);
	} else if (!strcmp(m, "maps over")) {
		/* As one that believes all of it to be free. */
		unsigned long lo, hi;
		char line[500], perms[5];
		FILE *f = fopen("/proc/self/maps", "r");

		setvbuf(f, malloc(1 << 16), _IOFBF, 1 << 16);
		while (fgets(line, sizeof line, f))
			if (sscanf(line, "%lx-%lx %4s", &lo, &hi, perms) == 3 && perms[3] == 's')
				mmap((void *)lo, hi - lo, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	} else if (!strcmp(m, "limited")) {
		struct rlimit l = { 64 << 20, 64 << 20 };

		setrlimit(RLIMIT_AS, &l);
	} else if (!strcmp(m, "locked")) {
		struct rusage u;

		mlockall(MCL_CURRENT);
		getrusage(RUSAGE_SELF, &u);
		if (u.ru_maxrss > 100 << 10)
			syscall(SYS_exit, 75);
	} else if (!strcmp(m, "timeless")) {
		prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
		for (int i = 0; i < 300; i++) {
			void *volatile q = malloc(i);

			free(q);
		}
	} else if (!strcmp(m, "trap") || !strcmp(m, "dispatch")) {
		struct sigaction a = { .sa_sigaction = on_call, .sa_flags = SA_SIGINFO };

		sigaction(SIGSYS, &a, 0);
		if (m[0] == 't')
			trap_getppid();
		else {
			/* But that of getppid. */
			prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, (unsigned long)getppid, 64ul, &handed);
			handed = 1;
			getppid();
			handed = 0;
		}
	} else if (!strcmp(m, "aligned")) {
		asm volatile("pushfq\n\torl $0x40000, (%%rsp)\n\tpopfq" : : : "memory", "cc");
	} else if (!strcmp(m, "endless"))
		for (long i = 0;; i++) {
			volatile long *q = malloc(64), *v = p;

			q[i & 7] = i;
			v[i & 511] = i;
			free((void *)q);
		}
	for (long i = 0; i < n; i++)
		p[i & 511] = i;
	for (int i = 0; i < 512; i++)
		sum += p[i];
	char b[40];
	int k = 0;

	do
		b[k++] = '0' + sum % 10;
	while (sum /= 10);
	b[k++] = '\n';
	write(1, b, k);
	syscall(SYS_exit, 4);
}
