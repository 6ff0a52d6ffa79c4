// Instructions that the kernel's uprobes could mistake for others. Each block is
// one instruction under a label probe_*, with its result printed; a probe on it
// must change nothing.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <stdlib.h>

struct state { uint64_t a, b; unsigned char x[64]; };
static int pick;
#define BLOCK(n, name, ...) \
	if (pick < 0 || pick == n) { struct state s; memset(&s, 0, sizeof s); \
		for (int i = 0; i < 64; i++) s.x[i] = i; \
		s.a = 0x1111; s.b = 0x2222; \
		asm volatile(__VA_ARGS__ \
			: "+a"(s.a), "+b"(s.b) : "S"(s.x) \
			: "rcx", "rdx", "r8", "r9", "r10", "xmm0", "xmm1", "xmm2", "memory", "cc"); \
		printf(name " %lx %lx", s.a, s.b); \
		for (int i = 0; i < 64; i++) printf("%02x", s.x[i]); \
		puts(""); fflush(stdout); }
#define P(name) ".globl probe_" name "\nprobe_" name ": "

__attribute__((target("avx2,fma,avx512f,avx512vl")))
int main(int argc, char **argv)
{
	char c;
	pick = argc > 1 ? atoi(argv[1]) : -1;
	if (read(0, &c, 1) < 0) return 1;
	BLOCK(0, "xchg", "movq $7, %%r8\n" P("0_xchg_r8") ".byte 0x49,0x90\n movq %%r8, %%rbx")
	BLOCK(1, "xchg32", "movq $7, %%r8\n" P("1_xchg_r8d") ".byte 0x41,0x90\n movq %%r8, %%rbx")
	BLOCK(2, "nop5", "movq $1234, -8(%%rsp)\n movq $77,-16(%%rsp)\n movq $1,-24(%%rsp)\n movq $2,-32(%%rsp)\n movq $3,-40(%%rsp)\n movq $4,-48(%%rsp)\n mov $4, %%ecx\n 1: " P("2_nop5") ".byte 0x0f,0x1f,0x44,0,0\n dec %%ecx; jnz 1b\n movq -8(%%rsp), %%rax\n movq -16(%%rsp),%%rbx\n movq -24(%%rsp),%%rcx\n addq %%rcx, %%rbx\n addq -32(%%rsp),%%rbx\n addq -40(%%rsp),%%rbx\n addq -48(%%rsp),%%rbx")
	BLOCK(3, "vcmpps", "vmovups (%%rsi), %%xmm0\n vmovups 16(%%rsi), %%xmm1\n" P("3_vcmpps") "vcmpltps %%xmm1, %%xmm0, %%xmm2\n vmovups %%xmm2, (%%rsi)")
	BLOCK(4, "vfmsub132", "vmovups (%%rsi), %%xmm0\n vmovups 16(%%rsi), %%xmm1\n" P("4_vfmsub132ps") "vfmsub132ps %%xmm1, %%xmm0, %%xmm1\n vmovups %%xmm1, (%%rsi)")
	BLOCK(5, "vfnmadd132", "vmovups (%%rsi), %%xmm0\n vmovups 16(%%rsi), %%xmm1\n" P("5_vfnmadd132ss") "vfnmadd132ss %%xmm1, %%xmm0, %%xmm1\n vmovups %%xmm1, (%%rsi)")
	BLOCK(6, "cmpps", "movups (%%rsi), %%xmm0\n movups 16(%%rsi), %%xmm1\n" P("6_cmpps") "cmpltps %%xmm1, %%xmm0\n movups %%xmm0, (%%rsi)")
	BLOCK(7, "vpaddd_ip", "vmovups (%%rsi), %%xmm0\n" P("7_vpaddd_ip") "vpaddd pattern(%%rip), %%xmm0, %%xmm0\n vmovups %%xmm0, (%%rsi)")
	BLOCK(8, "evex_ip", "vmovups (%%rsi), %%xmm0\n" P("8_evex_ip") "vpaddq pattern(%%rip), %%ymm0, %%ymm16\n vmovdqu64 %%ymm16, (%%rsi)")
	BLOCK(9, "vpermpd", "vmovups (%%rsi), %%ymm0\n" P("9_vpermpd") "vpermpd $0x1b, %%ymm0, %%ymm0\n vmovups %%ymm0, (%%rsi)")
	BLOCK(10, "vshufps", "vmovups (%%rsi), %%ymm0\n" P("10_vshufps") "vshufps $0x1b, %%ymm0, %%ymm0, %%ymm0\n vmovups %%ymm0, (%%rsi)")
	BLOCK(11, "popf", "pushfq\n" P("11_popf") "popfq\n setz %%bl")
	BLOCK(12, "pushf", P("12_pushf") "pushfq\n popq %%rbx\n and $0xcd5,%%rbx")
	BLOCK(13, "movip", P("13_mov_ip") "movq pattern(%%rip), %%rbx")
	BLOCK(14, "cmpxchgip", "mov $5,%%eax\n" P("14_cmpxchg_ip") "cmpxchgq %%rbx, scratch(%%rip)\n mov scratch(%%rip), %%rbx")
	BLOCK(15, "mulip", "mov $5,%%eax\n" P("15_mul_ip") "mulq pattern(%%rip)\n mov %%rdx, %%rbx")
	BLOCK(16, "divip", "mov $500,%%eax\n xor %%edx,%%edx\n" P("16_div_ip") "divq pattern(%%rip)\n mov %%rdx, %%rbx")
	BLOCK(17, "shldip", "mov $5,%%ecx\n" P("17_shld_ip") "shldq %%cl, %%rax, scratch(%%rip)\n mov scratch(%%rip), %%rbx")
	BLOCK(18, "cmpxchg16", "mov $5,%%eax\n mov $6, %%ecx; mov $1,%%edx;" P("18_cmpxchg16b_ip") "cmpxchg16b scratch16(%%rip)\n mov %%rdx, %%rbx")
	BLOCK(19, "loop", "mov $5,%%ecx\n 2:" P("19_loop") "loop 2b\n mov %%rcx, %%rbx")
	BLOCK(20, "jrcxz", "xor %%ecx,%%ecx\n " P("20_jrcxz") "jrcxz 3f\n mov $1, %%rbx\n 3:")
	BLOCK(21, "callind", "lea 4f(%%rip), %%rcx\n sub $256, %%rsp\n" P("21_call_ind") "call *%%rcx\n jmp 5f\n 4: mov $9, %%ebx\n" P("21_ret") "ret\n 5: add $256, %%rsp")
	BLOCK(22, "callrel", "sub $256, %%rsp\n" P("22_call_rel") "call 4f\n jmp 5f\n 4: mov $9, %%ebx\n" P("22_ret2") "repz ret\n 5: add $256, %%rsp")
	BLOCK(23, "jmpind", "lea 4f(%%rip), %%rcx\n" P("23_jmp_ind") "jmp *%%rcx\n mov $8, %%ebx\n 4: inc %%rbx")
	BLOCK(24, "callmem", "lea 4f(%%rip), %%rcx\n sub $256, %%rsp\n movq %%rcx, fptr(%%rip)\n" P("24_call_mem") "call *fptr(%%rip)\n jmp 5f\n 4: mov $9, %%ebx\n ret\n 5: add $256, %%rsp")
	BLOCK(25, "callstk", "lea 4f(%%rip), %%rcx\n sub $256, %%rsp\n movq %%rcx, 16(%%rsp)\n" P("25_call_stk") "call *16(%%rsp)\n jmp 5f\n 4: mov $9, %%ebx\n ret\n 5: add $256, %%rsp")
	BLOCK(26, "pushr", "sub $256,%%rsp\n mov $77, %%ecx\n" P("26_push") "push %%rcx\n" P("26_pop") "pop %%rbx\n add $256,%%rsp")
	BLOCK(27, "pushr9", "sub $256,%%rsp\n mov $77, %%r9\n" P("27_push_r9") "push %%r9\n" P("27_pop_r8") "pop %%r8\n mov %%r8,%%rbx\n add $256,%%rsp")
	BLOCK(28, "pushsp", "sub $256,%%rsp\n mov %%rsp, %%rcx\n" P("28_push_sp") "push %%rsp\n pop %%rbx\n sub %%rcx,%%rbx\n add $256,%%rsp")
	BLOCK(29, "pushi", "sub $256,%%rsp\n" P("29_push_imm") "push $5\n pop %%rbx\n add $256,%%rsp")
	BLOCK(30, "pushm", "sub $256,%%rsp\n" P("30_push_mem") "pushq pattern(%%rip)\n pop %%rbx\n add $256,%%rsp")
	BLOCK(31, "push16", "sub $256,%%rsp\n" P("31_push16") "pushw %%cx\n popw %%cx\n add $256,%%rsp")
	BLOCK(32, "leave", "push %%rbp\n mov %%rsp,%%rbp\n sub $256,%%rsp\n" P("32_leave") "leave\n mov $3,%%ebx")
	BLOCK(33, "bnd", "sub $256, %%rsp\n" P("33_bnd_call") ".byte 0xf2\n call 4f\n jmp 5f\n 4: mov $9, %%ebx\n" P("33_bnd_ret") ".byte 0xf2\n ret\n 5: add $256, %%rsp")
	BLOCK(34, "endbr", P("34_endbr") "endbr64\n mov $3, %%ebx")
	BLOCK(35, "notrack", "lea 4f(%%rip), %%rcx\n" P("35_notrack") "notrack jmp *%%rcx\n mov $8, %%ebx\n 4: inc %%rbx")
	BLOCK(36, "fs", P("36_fs") "mov %%fs:0, %%rbx\n cmp %%fs:16, %%rbx\n sete %%bl\n movzbl %%bl,%%ebx")
	BLOCK(37, "syscall", "mov $186,%%eax\n" P("37_syscall") "syscall\n cmp $0,%%rax\n setg %%bl\n xor %%eax,%%eax")
	BLOCK(38, "xgetbv", "xor %%ecx,%%ecx\n" P("38_xgetbv") "xgetbv\n mov $0,%%eax")
	BLOCK(39, "jcc16", "cmp %%eax,%%eax\n" P("39_je") "je 4f\n mov $4,%%ebx\n 4:\n" P("39_jne") ".byte 0x0f,0x85,2,0,0,0\n nop\n nop\n")
	BLOCK(40, "bnotaken", "cmp %%eax,%%eax\n" P("40_je_hint") ".byte 0x3e\n je 4f\n mov $4,%%ebx\n 4:\n")
	BLOCK(41, "nop66", P("41_nopw") "nopw 0(%%rax,%%rax,1)\n" P("41_nop66") ".byte 0x66,0x90\n" P("41_pause") "pause\n" P("41_nop8") "nopl 0x12345678(%%rax,%%rax,1)\n" P("41_nop9") ".byte 0x66,0x0f,0x1f,0x84,0,0,0,0,0\n" P("41_nop10") ".byte 0x66,0x2e,0x0f,0x1f,0x84,0,0,0,0,0\n" P("41_nop15") ".byte 0x66,0x66,0x66,0x66,0x66,0x2e,0x0f,0x1f,0x84,0,0,0,0,0\n")
	BLOCK(42, "enter", "push %%rbp\n sub $256,%%rsp\n mov %%rsp, %%rcx\n" P("42_enter") "enter $16,$0\n mov %%rbp,%%rbx\n leave\n sub %%rcx,%%rbx\n add $256,%%rsp\n pop %%rbp")
	BLOCK(43, "repmovs", "lea 32(%%rsi), %%rdi\n mov $16,%%ecx\n push %%rsi\n" P("43_rep_movsb") "rep movsb\n pop %%rsi\n mov %%rcx,%%rbx")
	BLOCK(44, "jmp", P("44_jmp8") "jmp 4f\n mov $2,%%ebx\n 4:\n")
	BLOCK(45, "xlat", "push %%rbx\n lea pattern(%%rip),%%rbx\n mov $3,%%eax\n" P("45_xlat") "xlat\n pop %%rbx")
	BLOCK(46, "vaes", "vmovups (%%rsi), %%xmm0\n vmovups 16(%%rsi), %%xmm1\n" P("46_vaesdec") "vaesdec %%xmm1, %%xmm0, %%xmm0\n vmovups %%xmm0, (%%rsi)")
	puts("end");
	return 0;
}
asm(".data\n.balign 64\npattern: .quad 0x11,0x22,0x33,0x44\nscratch: .quad 5,6\n.balign 16\nscratch16: .quad 5,1\nfptr: .quad 0\n.text\n");
