// Every shape of store, once each, to the heap. Prints what each one wrote:
//   S addr bytes...      bytes are in hexadecimal, in address order
//   N addr               nothing was written there
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	char what;
	const char *name;
	unsigned char *at;
	int n;
	unsigned char bytes[64];
} notes[64];
static int count;

static void wrote(const char *name, void *at, int n)
{
	notes[count].what = 'S';
	notes[count].name = name;
	notes[count].at = at;
	notes[count].n = n;
	memcpy(notes[count++].bytes, at, n);
}

static void nothing(const char *name, void *at)
{
	notes[count].what = 'N';
	notes[count].name = name;
	notes[count++].at = at;
}

__attribute__((noinline)) static void run(unsigned char *p)
{
	uint64_t v = 0x1122334455667788, w;
	unsigned char ok;

	asm volatile("movb $0x5a, (%0)" :: "r"(p) : "memory");
	wrote("mov imm8", p, 1);
	p += 64;
	asm volatile("movw $0x1234, 6(%0)" :: "r"(p) : "memory");
	wrote("mov imm16", p + 6, 2);
	p += 64;
	asm volatile("movl %k1, (%0)" :: "r"(p), "r"(v) : "memory");
	wrote("mov reg32", p, 4);
	p += 64;
	asm volatile("movq $-2, (%0)" :: "r"(p) : "memory");
	wrote("mov imm32 to 64", p, 8);
	p += 64;
	asm volatile("movq %1, 8(%0,%2,4)" :: "r"(p), "r"(v), "r"(3ul) : "memory");
	wrote("mov base+index*4+8", p + 20, 8);
	p += 64;
	asm volatile("mov %1, %%rax; movb %%ah, (%0)" :: "r"(p), "r"(v) : "rax", "memory");
	wrote("mov ah", p, 1);
	p += 64;
	*p = 7;
	wrote("store of C", p, 1);
	asm volatile("addl $3, (%0)" :: "r"(p) : "memory");
	wrote("add rmw", p, 4);
	p += 64;
	asm volatile("incq (%0)" :: "r"(p) : "memory");
	wrote("inc rmw", p, 8);
	w = 5;
	asm volatile("lock xaddq %0, (%1)" : "+r"(w) : "r"(p) : "memory");
	wrote("lock xadd", p, 8);
	w = 6;
	asm volatile("xaddq %0, (%1)" : "+r"(w) : "r"(p) : "memory");
	wrote("xadd", p, 8);
	w = 99;
	asm volatile("xchgq %0, (%1)" : "+r"(w) : "r"(p) : "memory");
	wrote("xchg", p, 8);
	asm volatile("lock orl $0x100, (%0)" :: "r"(p) : "memory");
	wrote("lock or", p, 4);
	p += 64;
	asm volatile("movq %1, %%xmm3; movups %%xmm3, 3(%0)" :: "r"(p), "r"(v) : "xmm3", "memory");
	wrote("movups", p + 3, 16);
	p += 64;
	asm volatile("movq %1, %%xmm3; movsd %%xmm3, (%0)" :: "r"(p), "r"(v) : "xmm3", "memory");
	wrote("movsd", p, 8);
	p += 64;
	asm volatile("fld1; fstpl (%0)" :: "r"(p) : "memory");
	wrote("fstp", p, 8);
	p += 64;
	asm volatile("cmp %0, %0; sete (%0)" :: "r"(p) : "memory");
	wrote("sete", p, 1);
	p += 64;
	asm volatile("movbe %1, (%0)" :: "r"(p), "r"(v) : "memory");
	wrote("movbe", p, 8);
	p += 64;
	asm volatile("btsq %1, (%0)" :: "r"(p), "r"(131ul) : "memory");
	wrote("bts beyond", p + 16, 8);
	p += 64;
	{
		unsigned char *d = p;
		unsigned long n = 24;
		asm volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(0x42) : "memory");
		wrote("rep stosb", p, 24);
		p += 64;
		d = p;
		n = 3;
		unsigned char *s = p - 64;
		asm volatile("rep movsq" : "+D"(d), "+c"(n), "+S"(s) :: "memory");
		wrote("rep movsq", p, 24);
		p += 64;
		d = p + 24;
		n = 4;
		asm volatile("std; rep stosq; cld" : "+D"(d), "+c"(n) : "a"(0x0102030405060708) : "memory");
		wrote("std rep stosq", p, 32);
		p += 64;
		d = p;
		n = 0;
		asm volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(0x42) : "memory");
		nothing("rep stosb of 0", p);
		asm volatile("stosl" : "+D"(d) : "a"(0x04030201) : "memory");
		wrote("stosl", p, 4);
	}
	p += 64;
	w = 0;
	asm volatile("cmpxchgq %3, %1; sete %0" : "=q"(ok), "+m"(*(uint64_t *)p), "+a"(w) : "r"(v) : "memory");
	wrote("cmpxchg", p, 8);
	p += 64;
	w = 1;
	asm volatile("cmpxchgq %3, %1; sete %0" : "=q"(ok), "+m"(*(uint64_t *)p), "+a"(w) : "r"(v) : "memory");
	nothing("cmpxchg fails", p);
	w = 0;
	asm volatile("lock cmpxchgq %3, %1; sete %0" : "=q"(ok), "+m"(*(uint64_t *)p), "+a"(w) : "r"(v) : "memory");
	wrote("lock cmpxchg", p, 8);
	p += 64;
	w = 1;
	asm volatile("lock cmpxchgq %3, %1; sete %0" : "=q"(ok), "+m"(*(uint64_t *)p), "+a"(w) : "r"(v) : "memory");
	nothing("lock cmpxchg fails", p);
	p += 64;
	{
		unsigned char *d = p;
		asm volatile("movq %1, %%xmm3; pcmpeqb %%xmm4, %%xmm4; pslldq $12, %%xmm4; psrldq $10, %%xmm4;"
			     "movdqu %%xmm4, %%xmm5; movq %1, %%xmm3; punpcklqdq %%xmm3, %%xmm3; maskmovdqu %%xmm4, %%xmm3"
			     :: "D"(d), "r"(v) : "xmm3", "xmm4", "xmm5", "memory");
		wrote("maskmovdqu", p + 2, 4);
	}
}

__attribute__((noinline, target("avx2,avx512f,avx512vl,avx512bw"))) static void runVectors(unsigned char *p)
{
	uint64_t v = 0x1122334455667788;

	if (!__builtin_cpu_supports("avx2"))
		return;
	/* Instructions whose opcode byte is that of a jump, push or nop outside
	 * the vector encodings come between: they must do what they do. */
	asm volatile("vmovq %1, %%xmm3; vpbroadcastq %%xmm3, %%ymm3; vpshufd $0x1b, %%ymm3, %%ymm4; vmovdqu %%ymm4, (%0)"
		     :: "r"(p), "r"(v) : "xmm3", "xmm4", "memory");
	wrote("vmovdqu ymm", p, 32);
	p += 64;
	asm volatile("vmovups %%ymm4, (%0)" :: "r"(p) : "memory");
	wrote("vmovups ymm", p, 32);
	p += 64;
	asm volatile("vmovd %%xmm4, (%0)" :: "r"(p) : "memory");
	wrote("vmovd", p, 4);
	p += 64;
	asm volatile("vpextrb $1, %%xmm4, (%0)" :: "r"(p) : "memory");
	wrote("vpextrb", p, 1);
	p += 64;
	asm volatile("vzeroupper; movq %1, (%0)" :: "r"(p), "r"(v) : "memory");
	wrote("mov after vzeroupper", p, 8);
	p += 64;
	if (!__builtin_cpu_supports("avx512bw"))
		return;
	asm volatile("vpbroadcastb %k1, %%zmm16; vmovdqu64 %%zmm16, (%0)" :: "r"(p), "r"(v) : "memory");
	wrote("vmovdqu64 zmm", p, 64);
}

int main(void)
{
	unsigned char *p = malloc(4096);
	int i, j;

	memset(p, 0, 4096);
	run(p);
	runVectors(p + 2560);
	for (i = 0; i < count; i++) {
		printf("%c %p", notes[i].what, (void *)notes[i].at);
		if (notes[i].what == 'S') {
			putchar(' ');
			for (j = 0; j < notes[i].n; j++)
				printf("%02x", notes[i].bytes[j]);
		}
		printf(" # %s\n", notes[i].name);
	}
	free(p);
	return 0;
}
