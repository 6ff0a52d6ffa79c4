/* Stores of vector registers of all widths, masked ones, x87 and the rest of
 * what compilers and hand-written code use. */
#include <stdint.h>
#include <stdlib.h>

#define AT(op, addr) asm volatile(op :: "r"(addr) : "rax", "memory")

__attribute__((noinline)) static void sse(char *p)
{
	uint64_t v = 0x1122334455667788, w = 0x99aabbccddeeff00;

	asm volatile("movq %0, %%xmm3; movq %1, %%xmm4; punpcklqdq %%xmm4, %%xmm3" :: "r"(v), "r"(w) : "xmm3", "xmm4");
	AT("movups %%xmm3, 3(%0)", p);
	AT("movaps %%xmm3, 16(%0)", p);
	AT("movupd %%xmm3, (%0)", p);
	AT("movdqa %%xmm3, (%0)", p);
	AT("movdqu %%xmm3, 5(%0)", p);
	AT("movntdq %%xmm3, (%0)", p);
	AT("movntps %%xmm3, (%0)", p);
	AT("movss %%xmm3, (%0)", p);
	AT("movsd %%xmm3, (%0)", p);
	AT("movlps %%xmm3, (%0)", p);
	AT("movhps %%xmm3, (%0)", p);
	AT("movlpd %%xmm3, (%0)", p);
	AT("movhpd %%xmm3, (%0)", p);
	AT("movd %%xmm3, (%0)", p);
	AT("movq %%xmm3, (%0)", p);
	AT("pextrb $3, %%xmm3, (%0)", p);
	AT("pextrw $3, %%xmm3, (%0)", p);
	AT("pextrd $3, %%xmm3, (%0)", p);
	AT("pextrq $1, %%xmm3, (%0)", p);
	AT("extractps $1, %%xmm3, (%0)", p);
	asm volatile("movq %1, %%mm0; movq %%mm0, (%0); movd %%mm0, 8(%0); movntq %%mm0, (%0); emms" :: "r"(p), "r"(v) : "mm0", "memory");
	asm volatile("movnti %1, (%0); movnti %k1, 8(%0)" :: "r"(p), "r"(w) : "memory");
	asm volatile("pcmpeqb %%xmm4, %%xmm4; psrldq $9, %%xmm4; mov %0, %%rdi; maskmovdqu %%xmm4, %%xmm3" :: "r"(p) : "xmm4", "rdi", "memory");
}

__attribute__((noinline)) static void x87(char *p)
{
	AT("fldpi; fsts (%0); fstl (%0); fstpt (%0)", p);
	AT("fld1; fstps 2(%0)", p);
	AT("fldpi; fists (%0); fistpl (%0)", p);
	AT("fldpi; fistpll (%0)", p);
	AT("fldpi; fisttps (%0)", p);
	AT("fldpi; fbstp (%0)", p);
	AT("fnstcw (%0); fnstsw (%0)", p);
	AT("stmxcsr (%0)", p);
	AT("fninit; fnstenv (%0)", p + 64);	/* fninit: else it holds where the last instruction ran */
}

__attribute__((noinline)) static void avx(char *p)
{
	uint64_t v = 0x1122334455667788;

	asm volatile("vmovq %0, %%xmm3; vpbroadcastq %%xmm3, %%ymm3; vpshufd $0x1b, %%ymm3, %%ymm4" :: "r"(v) : "xmm3", "xmm4");
	AT("vmovdqu %%ymm4, 1(%0)", p);
	AT("vmovups %%ymm4, 2(%0)", p);
	AT("vmovapd %%ymm4, (%0)", p);
	AT("vmovntps %%ymm4, (%0)", p);
	AT("vmovd %%xmm4, (%0)", p);
	AT("vmovsd %%xmm4, (%0)", p);
	AT("vextracti128 $1, %%ymm4, (%0)", p);
	AT("vextractf128 $1, %%ymm4, (%0)", p);
	AT("vpextrb $1, %%xmm4, (%0)", p);
	AT("vpcmpeqd %%ymm5, %%ymm5, %%ymm5; vpsrlq $32, %%ymm5, %%ymm5; vpsllq $31, %%ymm5, %%ymm5; vpmaskmovd %%ymm4, %%ymm5, (%0)", p);
	AT("vpmaskmovq %%ymm3, %%ymm5, 64(%0)", p);
	AT("vmaskmovps %%ymm4, %%ymm5, 96(%0)", p);
	AT("vmaskmovpd %%xmm4, %%xmm5, 128(%0)", p);
	AT("vzeroupper", p);
}

__attribute__((noinline, target("avx512f,avx512vl,avx512bw"))) static void avx512(char *p)
{
	AT("mov $0xa5c3, %%eax; kmovd %%eax, %%k1; vpternlogd $255, %%zmm7, %%zmm7, %%zmm7; vpsrld $3, %%zmm7, %%zmm7; vmovdqu64 %%zmm7, (%0)", p);
	AT("vmovdqa64 %%zmm7, 64(%0)", p);
	AT("vmovdqu8 %%zmm7, 128(%0)%{%%k1%}", p);
	AT("vmovdqu32 %%ymm7, 200(%0)%{%%k1%}", p);
	AT("vmovups %%xmm7, 300(%0)%{%%k1%}", p);
	AT("vpcompressd %%zmm7, 320(%0)%{%%k1%}", p);
	AT("vpmovdb %%zmm7, 400(%0)", p);
	AT("vextracti32x4 $1, %%zmm7, 432(%0)", p);
	AT("vzeroupper", p);
}

int main(void)
{
	char *p = aligned_alloc(64, 1024);

	sse(p);
	x87(p);
	if (__builtin_cpu_supports("avx2"))
		avx(p + 256);
	if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
		avx512(p + 512);
	return 0;
}
