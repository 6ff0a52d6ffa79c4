/* Runs an instruction in its place and in a trampoline from the same state of
 * all registers and memory, and tells what came out: see exec_test.go, which
 * writes the cases and judges the results. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <cpuid.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define CODE 0x10000000ull	/* the instruction lies here */
#define TRAMP 0x10010000ull
#define TARGET 0x10020000ull	/* where branches of the test go */
#define DATA 0x20000000ull
#define DATA_SIZE 0x4000ull	/* behind it: no memory */
#define BLOCK 0x30000000ull
#define BLOCK_SIZE 0x5000ull
#define PROCESS 0x31000000ull
#define LOG 0x32000000ull	/* two buffers of a page, each with a guard page */
#define STATE 0x33000000ull
#define SHADOW 0x40000000ull

/* STATE: 0 registers in, 0x80 flags in, 0x88 where to begin, 0x100 the
 * harness's stack pointer, 0x108 which exit, 0x200 registers out, 0x280 flags
 * out, 0x1000 vector state in, 0x3000 out. */
asm(".text\n"
    "enter: push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
    "mov %rsp, 0x33000100\n"
    "mov $0xe7, %eax; xor %edx, %edx; xrstor 0x33001000\n"
    "mov 0x33000008, %rcx; mov 0x33000010, %rdx; mov 0x33000018, %rbx\n"
    "mov 0x33000028, %rbp; mov 0x33000030, %rsi; mov 0x33000038, %rdi; mov 0x33000040, %r8\n"
    "mov 0x33000048, %r9; mov 0x33000050, %r10; mov 0x33000058, %r11; mov 0x33000060, %r12\n"
    "mov 0x33000068, %r13; mov 0x33000070, %r14; mov 0x33000078, %r15; movq 0x33000000, %rax\n"
    "pushq 0x33000080; popfq; movq 0x33000020, %rsp; jmp *0x33000088\n"
    "leave1: movq $1, 0x33000108; jmp leave\n"
    "leave2: movq $2, 0x33000108\n"
    "leave: movq %rax, 0x33000200; mov %rcx, 0x33000208; mov %rdx, 0x33000210; mov %rbx, 0x33000218\n"
    "mov %rsp, 0x33000220; mov %rbp, 0x33000228; mov %rsi, 0x33000230; mov %rdi, 0x33000238\n"
    "mov %r8, 0x33000240; mov %r9, 0x33000248; mov %r10, 0x33000250; mov %r11, 0x33000258\n"
    "mov %r12, 0x33000260; mov %r13, 0x33000268; mov %r14, 0x33000270; mov %r15, 0x33000278\n"
    "mov 0x33000100, %rsp; pushfq; popq 0x33000280; pushq $2; popfq\n"
    "mov $0xe7, %eax; xor %edx, %edx; xsave 0x33003000\n"
    "fault_exit: mov 0x33000100, %rsp\n"
    "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n"
    /* The hook routine's entry: what a function may change, it changes. */
    "hook_entry: pushfq; pop %rcx; lea 8(%rsp), %r8; push %rbx; call hook_routine; pop %rbx\n"
    "mov $-1, %rax; mov %rax, %rcx; mov %rax, %rdx; mov %rax, %rsi; mov %rax, %rdi; mov %rax, %r8\n"
    "mov %rax, %r9; mov %rax, %r10; mov %rax, %r11; add %rax, %rax; ret\n");
extern char enter[], leave[], leave1[], leave2[], fault_exit[], hook_entry[];

struct test {
	u64 regs[16], flags, ea, pc, cursor, mode;
	u32 code_len, tramp_len;
	u8 mem[128];		/* at ea */
	u8 code[64];
	u8 tramp[2048];
	u16 reload[2048];	/* by offset */
	u64 shadow;		/* byte of all granules */
	u64 seed;
	u64 chained;		/* 1 + the register that holds the cursor at a reload; 0: none */
	u64 open[5];		/* what the thread block says of open calls: OPEN_CALL, OPEN_FREE, OPEN_WRITER, ALLOC_CALL; and QUIET */
};

/* ALLOC_CALL, OPEN_CALL (and OPEN_FREE behind it) and OPEN_WRITER are given to the compiler: where
   layout has them in the thread block. */

#define MODE_STEP 1
#define MODE_SWAP 2
#define MODE_NATIVE 4		/* step through the instructions in their place too */

struct outcome {
	u64 signal, rip, regs[17], exit;
};

struct hook_call {
	u32 site, phase;
	u64 flags, sp;		/* as the routine finds them; sp before the call */
	u64 regs[18];
};

struct snap {
	u64 hooks;		/* calls of the hook routine so far */
	u64 off, same;		/* 1: memory as before, 2: as after the instruction in its place */
	u64 regs[17];
	u64 block[16], stack[18];
	u64 sum;		/* of all memory */
};

struct result {
	struct outcome native, moved;
	u64 memory_diff, vector_diff;	/* offset of the first difference; -1 */
	u8 before[128], after[128];
	u64 cursor, order;
	u8 log[8192];
	u64 hooks;
	struct hook_call hook[2];
	struct snap end;	/* where a fault came; else the end */
	u64 snaps, places;
	u64 left[3];		/* ALLOC_CALL, OPEN_CALL and OPEN_FREE in the end */
	u64 noted[19];		/* all from ALLOC_CALL on, and OPEN_WRITER */
};

static struct test *t;
static struct result res;
static struct snap snaps[1024], places[64];
static struct outcome *out;
static int moved;
static u8 initial[DATA_SIZE], final[DATA_SIZE];
static u64 components;

void hook_routine(u64 *regs, u32 site, u32 phase, u64 flags, u64 sp)
{
	struct hook_call *h = &res.hook[res.hooks & 1];
	int i;

	res.hooks++;
	h->site = site;
	h->phase = phase;
	h->flags = flags;
	h->sp = sp;
	for (i = 0; i < 18; i++) {
		h->regs[i] = regs[i];
		asm volatile("");
	}
}

static const int order[16] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
	REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };

static void take(struct snap *s, greg_t *g)
{
	int i;

	s->hooks = res.hooks;
	s->off = g[REG_RIP] - TRAMP;
	s->same = memcmp((void *)DATA, initial, DATA_SIZE) ? 0 : 1;
	s->same |= memcmp((void *)DATA, final, DATA_SIZE) ? 0 : 2;
	for (i = 0; i < 16; i++)
		s->regs[i] = g[order[i]];
	s->regs[16] = g[REG_EFL];
	s->sum = 0;
	for (i = 0; t->mode & MODE_NATIVE && i < (int)DATA_SIZE / 8; i++)
		s->sum = s->sum * 31 + ((u64 *)DATA)[i];
	memcpy(s->block, (void *)BLOCK, sizeof(s->block));
	memcpy(s->stack, (void *)(BLOCK + BLOCK_SIZE - sizeof(s->stack)), sizeof(s->stack));
}

static void handler(int sig, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
	u64 off = g[REG_RIP] - TRAMP, addr = (u64)info->si_addr;
	int i;

	if (sig == SIGTRAP) {	/* as a tracer steps: the trap flag is set anew each time */
		u64 room = BLOCK + BLOCK_SIZE - 144 - g[REG_RSP];

		g[REG_EFL] |= 0x100;
		if (g[REG_RIP] == (greg_t)leave)
			g[REG_EFL] &= ~0x100;
		if (!moved) {
			if (g[REG_RIP] - t->pc <= t->code_len && res.places < 64) {
				take(&places[res.places], g);
				places[res.places++].off = g[REG_RIP] - t->pc;
			}
			return;
		}
		if (res.snaps < 1024 && (off < t->tramp_len || room - 1 < 0x1000))
			take(&snaps[res.snaps++], g);
		return;
	}
	if (moved && t->mode & MODE_SWAP && addr - (LOG + 4096) < 4096 && off < t->tramp_len) {
		*(u64 *)BLOCK = LOG + 8192;
		g[REG_RIP] = TRAMP + t->reload[off];
		if (t->chained)
			g[order[t->chained - 1]] = LOG + 8192;
		return;
	}
	out->signal = sig;
	out->rip = g[REG_RIP];
	for (i = 0; i < 16; i++)
		out->regs[i] = g[order[i]];
	out->regs[16] = g[REG_EFL];
	if (moved)
		take(&res.end, g);
	g[REG_RIP] = (u64)fault_exit;
	g[REG_EFL] = 2;
}

static void *map(u64 at, u64 size, int prot)
{
	void *p = mmap((void *)at, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);

	if (p != (void *)at) {
		perror("mmap");
		exit(3);
	}
	return p;
}

static void jump(u64 from, void *to)
{
	u8 *p = (u8 *)from;

	memcpy(p, "\xff\x25\0\0\0\0", 6);	/* jmp [rip] */
	memcpy(p + 6, &to, 8);
}

static void run(u64 from, struct outcome *o, u64 flags)
{
	u64 *st = (u64 *)STATE;

	memset((void *)(STATE + 0x3000), 0, 0x2000);
	memcpy(st, t->regs, sizeof(t->regs));
	st[16] = flags;
	st[17] = from;
	st[33] = 0;
	out = o;
	((void (*)(void))enter)();
	o->exit = st[33];
	if (!o->signal)
		memcpy(o->regs, st + 64, sizeof(o->regs));
}

/* The vector state: random, by the test's seed. */
static u64 rng;
static u64 random64(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng;
}

static void fill(u8 *p, u32 n)
{
	for (u32 i = 0; i < n; i += 8) {
		u64 v = random64();
		memcpy(p + i, &v, n - i < 8 ? n - i : 8);
	}
}

static void vectors(u8 *image)
{
	u32 a, b, c, d, i;

	memset(image, 0, 0x2000);
	asm volatile("fninit; fld1; fldpi; fldl2e; fldlg2; xsave (%0)" :: "r"(image), "a"(7), "d"(0) : "memory");
	fill(image + 160, 256);
	for (i = 2; i < 8; i++) {
		if (!(components >> i & 1))
			continue;
		__cpuid_count(13, i, a, b, c, d);
		fill(image + b, a);
	}
	memcpy(image + 512, &components, 8);
}

/* The first byte where two vector states differ, but for what x87 tells of its
 * last instruction. */
static u64 differ(const u8 *a, const u8 *b)
{
	for (int i = 0; i < 0x1000; i++)
		if (a[i] != b[i] && !(i >= 6 && i < 24) && !(i >= 464 && i < 576))
			return i;
	return -1;
}

static void data(void)
{
	u64 n = DATA + DATA_SIZE - t->ea;

	rng = t->seed;
	fill((u8 *)DATA, DATA_SIZE);
	if (t->ea - DATA < DATA_SIZE)
		memcpy((void *)t->ea, t->mem, n < 128 ? n : 128);
	/* What ret pops, and indirect branches load. */
	if (t->regs[4] - DATA < DATA_SIZE)
		*(u64 *)t->regs[4] = TARGET;
}

static void one(void)
{
	static u8 native[0x2000];
	u64 n = t->ea - DATA < DATA_SIZE ? DATA + DATA_SIZE - t->ea : 0;

	memset(&res, 0, sizeof(res));
	if (n > 128)
		n = 128;
	vectors((u8 *)STATE + 0x1000);

	memset((void *)CODE, 0xcc, 0x1000);
	memcpy((void *)t->pc, t->code, t->code_len);
	jump(t->pc + t->code_len, leave1);
	data();
	memcpy(initial, (void *)DATA, DATA_SIZE);
	memcpy(res.before, (void *)t->ea, n);
	moved = 0;
	run(t->pc, &res.native, t->flags | (t->mode & MODE_NATIVE ? 0x100 : 0));
	memcpy(final, (void *)DATA, DATA_SIZE);
	memcpy(res.after, (void *)t->ea, n);
	memcpy(native, (void *)(STATE + 0x3000), 0x2000);

	memset((void *)t->pc, 0xcc, t->code_len);
	memset((void *)TRAMP, 0xcc, 0x1000);
	memcpy((void *)TRAMP, t->tramp, t->tramp_len);
	memset((void *)(SHADOW + (DATA >> 4) - 4096), (int)t->shadow, DATA_SIZE / 16 + 8192);
	memset((void *)BLOCK, 0x5a, BLOCK_SIZE);
	memset((void *)LOG, 0, 4096);
	memset((void *)(LOG + 8192), 0, 4096);
	u64 *b = (u64 *)BLOCK;
	b[0] = t->cursor;
	b[6] = LOG + 4096;
	b[7] = PROCESS;
	b[9] = BLOCK + BLOCK_SIZE;
	b[15] = 0; /* Since */
	b[12] = (u64)hook_entry;
	memcpy(b + OPEN_CALL / 8, t->open, 2 * sizeof(u64));
	b[OPEN_WRITER / 8] = t->open[2];
	b[ALLOC_CALL / 8] = t->open[3];
	((unsigned *)b)[QUIET / 4] = (unsigned)t->open[4];
	*(u64 *)PROCESS = 1000;
	data();
	moved = 1;
	run(TRAMP, &res.moved, t->flags | (t->mode & MODE_STEP ? 0x100 : 0));
	if (!res.moved.signal)
		memcpy(res.end.block, b, sizeof(res.end.block));
	res.memory_diff = -1;
	for (u64 i = 0; i < DATA_SIZE; i++)
		if (((u8 *)DATA)[i] != final[i]) {
			res.memory_diff = i;
			break;
		}
	res.vector_diff = differ(native, (u8 *)STATE + 0x3000);
	res.left[0] = b[ALLOC_CALL / 8];
	memcpy(res.left + 1, b + OPEN_CALL / 8, 2 * sizeof(u64));
	memcpy(res.noted, b + ALLOC_CALL / 8, 18 * sizeof(u64));
	res.noted[18] = b[OPEN_WRITER / 8];
	res.cursor = b[0];
	res.order = *(u64 *)PROCESS;
	memcpy(res.log, (void *)LOG, 4096);
	memcpy(res.log + 4096, (void *)(LOG + 8192), 4096);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
	stack_t alt = { .ss_sp = malloc(1 << 20), .ss_size = 1 << 20 };
	static struct test test;
	u32 lo, hi;

	asm volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	components = lo & 0xe7;
	sigaltstack(&alt, 0);
	sigaction(SIGSEGV, &sa, 0);
	sigaction(SIGBUS, &sa, 0);
	sigaction(SIGILL, &sa, 0);
	sigaction(SIGTRAP, &sa, 0);
	sigaction(SIGFPE, &sa, 0);
	map(CODE, 0x30000, PROT_READ | PROT_WRITE | PROT_EXEC);
	map(DATA, DATA_SIZE, PROT_READ | PROT_WRITE);
	map(BLOCK, BLOCK_SIZE, PROT_READ | PROT_WRITE);
	map(PROCESS, 4096, PROT_READ | PROT_WRITE);
	map(LOG, 4096, PROT_READ | PROT_WRITE);
	map(LOG + 8192, 4096, PROT_READ | PROT_WRITE);
	map(STATE, 0x5000, PROT_READ | PROT_WRITE);
	map(SHADOW + (DATA >> 4) - 4096, DATA_SIZE / 16 + 8192, PROT_READ | PROT_WRITE);
	jump(TARGET, leave2);
	if (syscall(SYS_arch_prctl, 0x1001 /* ARCH_SET_GS */, BLOCK))
		return 3;
	t = &test;
	while (fread(&test, sizeof(test), 1, stdin) == 1) {
		one();
		fwrite(&res, sizeof(res), 1, stdout);
		fwrite(snaps, sizeof(snaps[0]), res.snaps, stdout);
		fwrite(places, sizeof(places[0]), res.places, stdout);
	}
	return fflush(stdout) != 0;
}
