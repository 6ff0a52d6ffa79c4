/* Threads fill a buffer that ends at a page which a tracer may guard, and begin
   anew where the cursor, which the tracer moves, says. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, BUFFER = 16 };
char *pages; /* per thread: a page and a guard */
long rounds;
void store(char *at);

/* rdi: where to store; the tracer sets it. */
asm(".globl store, touch\nstore: touch: movq $1, (%rdi)\n ret");

static void *fill(void *arg)
{
	char *page = arg;
	for (long i = 0; i < rounds; i++)
		store(page + PAGE);
	return 0;
}

__attribute__((noinline)) void ready(void) { asm volatile(""); }

int main(int argc, char **argv)
{
	pthread_t t[4];
	int threads = argc > 2 ? atoi(argv[2]) : 1;

	rounds = atol(argv[1]);
	pages = mmap(0, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (argc > 3) {
		/* Nothing but read, write, exit and the like. */
		struct sock_filter f[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpid, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		};
		struct sock_fprog p = { 4, f };
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
	}
	ready();
	for (int i = 1; i < threads; i++)
		pthread_create(&t[i], 0, fill, pages + 2 * i * PAGE);
	fill(pages);
	for (int i = 1; i < threads; i++)
		pthread_join(t[i], 0);
	puts("filled");
	return 0;
}
