/* Plays the traced process for the tests of the hook routine: maps memory, calls
 * the routine, answers its faults as the tracer would. Commands come on standard
 * input, a letter and its numbers (u64) and bytes:
 *
 *   m ADDR LEN PROT      map memory there
 *   u ADDR LEN           unmap
 *   w ADDR LEN BYTES     write
 *   r ADDR LEN           read: BYTES
 *   c CODE SWAP SWAPEND N {FROM TO ON}…   where the routine lies
 *   g BLOCK BUFFER SIZE  set GS; the thread's buffer, behind which is nothing
 *   h REGS SITE PHASE    call the routine with struct regs at REGS
 *   k HELD               let the thread go on when it is held at that word
 *   t REGS SITE PHASES N call it N times and answer the processor time in ns
 *   l                    the log: SWAPS FAULTS LEN BYTES, and empty it
 */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

typedef uint64_t u64;

static u64 code, swap, swap_end, nfix, fix[512][3];
static u64 block, buffer, size, swaps, faults;
static char *out;
static size_t outlen, outcap;

#define CURSOR (*(volatile u64 *)block)

static void need(void *to, size_t n)
{
	if (n && fread(to, n, 1, stdin) != 1)
		exit(0);
}

static u64 num(void)
{
	u64 v;

	need(&v, sizeof(v));
	return v;
}

static void answer(u64 v)
{
	fwrite(&v, sizeof(v), 1, stdout);
}

static void take(void)
{
	size_t n = CURSOR - buffer;

	if (outlen + n > outcap) {
		outcap = 2 * (outlen + n);
		out = realloc(out, outcap);
	}
	memcpy(out + outlen, (void *)buffer, n);
	memset((void *)buffer, 0xee, size);
	outlen += n;
	CURSOR = buffer;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
	u64 off = (u64)g[REG_RIP] - code;

	if (off == swap && (u64)info->si_addr == buffer + size) {
		take();
		swaps++;
		g[REG_RIP] = code + swap_end;
		return;
	}
	for (u64 i = 0; i < nfix; i++) {
		if (fix[i][0] <= off && off < fix[i][1]) {
			faults++;
			g[REG_RIP] = code + fix[i][2];
			return;
		}
	}
	fprintf(stderr, "signal %d at %#lx of the routine, address %p\n", sig, (long)off, info->si_addr);
	_exit(3);
}

static u64 now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static u64 repeat(u64 regs, unsigned site, unsigned phases, u64 n)
{
	u64 start = now();

	while (n--) {
		CURSOR = buffer;
		for (unsigned p = 0; p < phases; p++)
			((void (*)(u64, unsigned, unsigned))code)(regs, site, p);
	}
	return now() - start;
}

#define DF 0x400

/* Calls the routine with the direction flag as struct regs at regs has it. It must come back. */
static void call(u64 regs, u64 site, u64 phase)
{
	register u64 kept asm("r12") = ((u64 *)regs)[16] & DF;
	u64 want = kept, got = code;

	asm volatile("	lea -128(%%rsp), %%rsp\n"	/* the red zone */
		     "	testq %1, %1\n"
		     "	jz 1f\n"
		     "	std\n"
		     "1:	call *%0\n"
		     "	pushfq\n"
		     "	popq %0\n"
		     "	cld\n"
		     "	lea 128(%%rsp), %%rsp\n"
		     : "+b"(got), "+r"(kept), "+D"(regs), "+S"(site), "+d"(phase)
		     : : "rax", "rcx", "r8", "r9", "r10", "r11", "cc", "memory");
	if ((got & DF) != want) {
		fprintf(stderr, "the direction flag has changed\n");
		exit(2);
	}
}

static void *release(void *held)
{
	volatile uint32_t *w = held;

	while (*w != 1)
		sched_yield();
	*w = 2;
	syscall(SYS_futex, w, FUTEX_WAKE, 1, 0, 0, 0);
	return 0;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	pthread_t helper;

	sigaction(SIGSEGV, &sa, 0);
	sigaction(SIGBUS, &sa, 0);
	for (;;) {
		u64 a, b, c;
		int cmd = getchar();

		switch (cmd) {
		case 'm':
			a = num(), b = num(), c = num();
			if (mmap((void *)a, b, c, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0) != (void *)a) {
				perror("mmap");
				return 2;
			}
			break;
		case 'u':
			a = num(), b = num();
			munmap((void *)a, b);
			break;
		case 'w':
			a = num(), b = num();
			need((void *)a, b);
			break;
		case 'r':
			a = num(), b = num();
			fwrite((void *)a, b, 1, stdout);
			fflush(stdout);
			break;
		case 'c':
			code = num(), swap = num(), swap_end = num(), nfix = num();
			need(fix, nfix * sizeof(fix[0]));
			break;
		case 'g':
			block = num(), buffer = num(), size = num();
			syscall(SYS_arch_prctl, ARCH_SET_GS, block);
			memset((void *)buffer, 0xee, size);
			break;
		case 'h':
			a = num(), b = num(), c = num();
			call(a, b, c);
			break;
		case 'k':
			a = num();
			if (pthread_create(&helper, 0, release, (void *)a))
				return 2;
			pthread_detach(helper);
			break;
		case 't':
			a = num(), b = num(), c = num();
			answer(repeat(a, b, c, num()));
			fflush(stdout);
			break;
		case 'l':
			take();
			answer(swaps);
			answer(faults);
			answer(outlen);
			fwrite(out, 1, outlen, stdout);
			fflush(stdout);
			outlen = swaps = faults = 0;
			break;
		default:
			return 0;
		}
	}
}
