// Executes single instructions on given states of the registers and memory, for
// execute_test.go. Both share a file of jobs: this program waits for a number on
// standard input, does as many jobs, and answers with a byte.
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define CODE 0x10000000UL
#define TAKEN (CODE + 64) // where a jump that is taken leads
#define PAGE 0x20000000UL
#define WINDOW 1024
#define MEMORY (PAGE + 4096 - WINDOW)
#define GS 0x1000

struct state {
	uint64_t gpr[16], flags, pad[7];
	uint8_t xsave[832];
	uint8_t memory[WINDOW];
};

struct job {
	uint8_t code[16];
	uint32_t len, signal, taken, stray;
	uint64_t pad[4];
	struct state in, out;
};

struct shared {
	uint64_t fs, pad[7];
	struct job jobs[];
};

uint64_t host_rsp, entry = CODE, out_gpr[16], out_flags;
uint8_t out_xsave[832] __attribute__((aligned(64)));
uint8_t taken;
uint32_t default_mxcsr = 0x1f80;

void run(struct state *);
extern char after, after_taken;

__asm__(".intel_syntax noprefix\n"
	".globl run, after, after_taken\n"
	"run:\n"
	"push rbx; push rbp; push r12; push r13; push r14; push r15\n"
	"mov [rip+host_rsp], rsp\n"
	/* x87, SSE and AVX as they are given; opmasks and the rest of ZMM become 0. */
	"mov eax, 0xe7; xor edx, edx; xrstor64 [rdi+192]\n"
	"push [rdi+128]; popfq\n"
	"mov rax, [rdi]; mov rcx, [rdi+8]; mov rdx, [rdi+16]; mov rbx, [rdi+24]\n"
	"mov rsp, [rdi+32]; mov rbp, [rdi+40]; mov rsi, [rdi+48]\n"
	"mov r8, [rdi+64]; mov r9, [rdi+72]; mov r10, [rdi+80]; mov r11, [rdi+88]\n"
	"mov r12, [rdi+96]; mov r13, [rdi+104]; mov r14, [rdi+112]; mov r15, [rdi+120]\n"
	"mov rdi, [rdi+56]\n"
	"jmp [rip+entry]\n"
	"after_taken: mov byte ptr [rip+taken], 1\n"
	"after:\n"
	"mov [rip+out_gpr], rax; mov [rip+out_gpr+8], rcx; mov [rip+out_gpr+16], rdx; mov [rip+out_gpr+24], rbx\n"
	"mov [rip+out_gpr+32], rsp; mov [rip+out_gpr+40], rbp; mov [rip+out_gpr+48], rsi; mov [rip+out_gpr+56], rdi\n"
	"mov [rip+out_gpr+64], r8; mov [rip+out_gpr+72], r9; mov [rip+out_gpr+80], r10; mov [rip+out_gpr+88], r11\n"
	"mov [rip+out_gpr+96], r12; mov [rip+out_gpr+104], r13; mov [rip+out_gpr+112], r14; mov [rip+out_gpr+120], r15\n"
	"mov rsp, [rip+host_rsp]\n"
	"pushfq; pop [rip+out_flags]; push 2; popfq\n"
	"mov eax, 7; xor edx, edx; xsave64 [rip+out_xsave]\n"
	"fninit; ldmxcsr [rip+default_mxcsr]; vzeroupper\n"
	"pop r15; pop r14; pop r13; pop r12; pop rbp; pop rbx; ret\n"
	".att_syntax\n");

static sigjmp_buf back;
static volatile int caught;

static void handler(int sig)
{
	caught = sig;
	siglongjmp(back, 1);
}

// leave writes a jump to where at p.
static void leave(uint8_t *p, void *where)
{
	memcpy(p, "\xff\x25\0\0\0\0", 6);
	memcpy(p + 6, &where, 8);
}

static int stray(void)
{
	const uint64_t *p = (void *)PAGE;
	for (int i = 0; i < (4096 - WINDOW) / 8; i++)
		if (p[i]) {
			memset((void *)PAGE, 0, 4096 - WINDOW);
			return 1;
		}
	return 0;
}

static void execute(struct job *j)
{
	uint8_t *code = (void *)CODE;
	if (memcmp(code, j->code, j->len) || code[j->len] != 0xff || code[j->len + 1] != 0x25) {
		memcpy(code, j->code, j->len);
		leave(code + j->len, &after);
	}
	memcpy((void *)MEMORY, j->in.memory, WINDOW);
	taken = 0, caught = 0;
	if (!sigsetjmp(back, 0))
		run(&j->in);
	else
		__asm__ volatile("fninit; ldmxcsr %0; vzeroupper; sub $128, %%rsp; push $2; popfq; add $128, %%rsp"
			: : "m"(default_mxcsr) : "cc", "memory");
	j->signal = caught, j->taken = taken, j->stray = stray();
	memcpy(j->out.gpr, out_gpr, sizeof out_gpr);
	j->out.flags = out_flags;
	memcpy(j->out.xsave, out_xsave, sizeof out_xsave);
	memcpy(j->out.memory, (void *)MEMORY, WINDOW);
}

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDWR);
	off_t size = lseek(fd, 0, SEEK_END);
	struct shared *s = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	void *code = mmap((void *)CODE, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	void *page = mmap((void *)PAGE, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (argc != 2 || fd < 0 || s == MAP_FAILED || code != (void *)CODE || page != (void *)PAGE)
		return 2;
	syscall(SYS_arch_prctl, 0x1001 /* ARCH_SET_GS */, GS);
	syscall(SYS_arch_prctl, 0x1003 /* ARCH_GET_FS */, &s->fs);
	leave((void *)TAKEN, &after_taken);
	static char alternate[65536];
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
	sigaltstack(&stack, 0);
	struct sigaction act = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_NODEFER};
	int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
	for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaction(signals[i], &act, 0);
	for (uint32_t n; read(0, &n, 4) == 4;) {
		for (uint32_t i = 0; i < n; i++)
			execute(&s->jobs[i]);
		if (write(1, "", 1) != 1)
			return 1;
	}
	return 0;
}
