// Executes an instruction where it was and its relocated copy, each from the same
// registers, flags and memory, and says where the two end up differently.
//
// Input, a line per case, all hexadecimal:
//   address of the original, of the copy, bytes of the original, of the copy
// Output, a line per case: "ok", or what differs.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { PAGES = 0x40000, DATA = 0x10000, TARGET = 0x800, STACK = 0x20000, STACKSIZE = 0x1000 };

typedef struct {
	long long regs[23];
	int sig;
	unsigned char data[0x1000], stack[STACKSIZE];
} result;

static ucontext_t home;
static volatile int running;
static unsigned long base, entry, flags, counter;
static result *out;

static void setup(ucontext_t *u)
{
	greg_t *g = u->uc_mcontext.gregs;
	unsigned long data = base + DATA, target = base + TARGET;
	for (int i = 0; i < 8; i++)
		g[REG_R8 + i] = 0x1111111100000000 * (i + 1) + i;
	g[REG_RAX] = target;
	g[REG_RBX] = data;
	g[REG_RCX] = counter;
	g[REG_RDX] = 3;
	g[REG_RSI] = data + 64;
	g[REG_RDI] = data + 128;
	g[REG_RBP] = data + 256;
	g[REG_R12] = data + 512;
	g[REG_RSP] = base + STACK + STACKSIZE / 2;
	g[REG_EFL] = flags;
	g[REG_RIP] = entry;
}

static void handler(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *u = ctx;
	if (!running) {
		running = 1;
		home = *u;
		setup(u);
		return;
	}
	running = 0;
	for (int i = 0; i < 23; i++)
		out->regs[i] = u->uc_mcontext.gregs[i];
	out->sig = sig;
	memcpy(out->data, (void *)(base + DATA), sizeof out->data);
	memcpy(out->stack, (void *)(base + STACK), STACKSIZE);
	memcpy(u->uc_mcontext.gregs, home.uc_mcontext.gregs, sizeof home.uc_mcontext.gregs);
}

static int unhex(const char *s, unsigned char *to)
{
	int n = 0;
	for (unsigned v; sscanf(s, "%2x", &v) == 1; s += 2)
		to[n++] = v;
	return n;
}

static void run(unsigned long at, unsigned long original, const unsigned char *code, int n, result *r)
{
	base = original & ~0xfffUL;
	memset((void *)base, 0xcc, DATA);
	memset((void *)(at & ~0xfffUL), 0xcc, 0x1000);
	for (unsigned i = 0; i < 0x1000; i += 8)
		*(unsigned long *)(base + DATA + i) = i < 512 ? 0x0102030405060708 * i : base + TARGET;
	for (unsigned i = 0; i < STACKSIZE; i += 8)
		*(unsigned long *)(base + STACK + i) = base + TARGET;
	memcpy((void *)at, code, n);
	entry = at;
	out = r;
	__asm__ volatile("int3" ::: "memory");
}

static void map(unsigned long at, unsigned long n)
{
	void *p = mmap((void *)(at & ~0xfffUL), n, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (p != (void *)(at & ~0xfffUL)) {
		printf("no memory at %lx\n", at);
		exit(1);
	}
}

int main(void)
{
	static char line[1024], a[256], b[256];
	static result one, two;
	static unsigned char x[128], y[128], alt[65536];
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	stack_t st = {.ss_sp = alt, .ss_size = sizeof alt};
	sigaltstack(&st, 0);
	int signals[] = {SIGTRAP, SIGSEGV, SIGILL, SIGBUS};
	for (int i = 0; i < 4; i++)
		sigaction(signals[i], &sa, 0);
	while (fgets(line, sizeof line, stdin)) {
		unsigned long from, to, differ = 0;
		if (sscanf(line, "%lx %lx %255s %255s", &from, &to, a, b) != 4)
			continue;
		map(from, PAGES);
		map(to, 0x1000);
		int n = unhex(a, x), m = unhex(b, y);
		for (int v = 0; v < 12 && !differ; v++) {
			counter = (unsigned long[]){0, 1, 5}[v % 3];
			flags = 0x202 | (v / 3 & 1 ? 0x8d5 : 0) | (v / 6 ? 0x440 : 0);
			run(from, from, x, n, &one);
			run(to, from, y, m, &two);
			// An int3 leaves RIP behind it; a fault leaves it at the instruction.
			if (one.sig == SIGTRAP && two.sig == SIGTRAP && two.regs[REG_RIP] == to + m + 1 && one.regs[REG_RIP] == from + n + 1)
				two.regs[REG_RIP] = one.regs[REG_RIP];
			two.regs[REG_EFL] &= ~0x10100UL;
			one.regs[REG_EFL] &= ~0x10100UL;
			for (int i = 0; i <= REG_EFL; i++)
				if (one.regs[i] != two.regs[i]) {
					printf("variant %d, register %d: %llx instead of %llx; ", v, i, two.regs[i], one.regs[i]);
					differ = 1;
				}
			if (one.sig != two.sig || one.sig != SIGTRAP) {
				printf("signals %d, %d; ", one.sig, two.sig);
				differ = 1;
			}
			if (memcmp(one.data, two.data, sizeof one.data) || memcmp(one.stack, two.stack, STACKSIZE)) {
				printf("memory; ");
				differ = 1;
			}
		}
		puts(differ ? "" : "ok");
		munmap((void *)(from & ~0xfffUL), PAGES);
		munmap((void *)(to & ~0xfffUL), 0x1000);
	}
	return 0;
}
