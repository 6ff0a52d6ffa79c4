/* Read-modify-write of all kinds: exchanges, failing ones, bit strings. The kernel
 * can not probe an instruction with a LOCK prefix: a nop lets the eBPF engine read
 * what the one before it wrote. */
#include <stdint.h>
#include <stdlib.h>

#define RMW(op) asm volatile(op :: "r"(p), "r"(v), "r"(i) : "rax", "rbx", "rcx", "rdx", "cc", "memory")

int main(void)
{
	char *p = aligned_alloc(64, 4096);
	uint64_t v = 0x1122334455667788, i = 3;

	for (int n = 0; n < 512; n++)
		((uint64_t *)p)[n] = n * 0x0101010101010101ul;
	RMW("addb $3, (%0); addw $3, (%0); addl $3, (%0); addq $-3, (%0,%2,8)");
	RMW("lock addb $3, 1(%0); nop; lock addw $3, (%0); nop; lock addl $3, (%0); nop; lock addq $3, (%0)");
	RMW("subq %1, (%0); nop; lock subl %k1, (%0); andq %1, 8(%0); nop; lock andq %1, 8(%0)");
	RMW("orq %1, (%0); xorq %1, (%0); nop; lock xorw %w1, (%0); stc; adcq %1, (%0); stc; sbbl %k1, (%0); nop; lock adcq %1, (%0)");
	RMW("incq (%0); decl (%0); nop; lock incb (%0); nop; lock decw (%0); negq (%0); notq (%0); nop; lock negl (%0); nop; lock notb (%0)");
	RMW("shlq $3, (%0); shrl $1, (%0); sarb $1, (%0); rolq $5, (%0); rorw $2, (%0); mov $3, %%ecx; rclq %%cl, (%0); rcrl $1, (%0)");
	RMW("shldq $4, %1, (%0); mov $7, %%ecx; shrdl %%cl, %k1, (%0); shlq $0, (%0)");
	RMW("mov %1, %%rax; xchgq %%rax, (%0); xchgb %%al, 3(%0); xchgl %%eax, (%0); xchg %%ah, (%0)");
	RMW("mov %0, %%rbx; xchg %%rbx, (%%rbx)");
	RMW("mov %1, %%rax; xaddq %%rax, (%0); nop; lock xaddl %%eax, (%0); nop; lock xaddb %%al, (%0)");
	RMW("mov (%0), %%rax; cmpxchgq %1, (%0)");			/* succeeds */
	RMW("mov (%0), %%rax; inc %%rax; cmpxchgq %1, (%0)");		/* fails */
	RMW("mov (%0), %%rax; nop; lock cmpxchgb %b2, (%0); mov (%0), %%eax; nop; lock cmpxchgl %k2, (%0)");
	RMW("mov (%0), %%rax; not %%rax; nop; lock cmpxchgq %2, (%0); nop; lock cmpxchgw %w1, (%0)");
	RMW("mov 64(%0), %%rax; mov 72(%0), %%rdx; mov %1, %%rbx; mov %2, %%rcx; nop; lock cmpxchg16b 64(%0)");
	RMW("xor %%eax, %%eax; mov %1, %%rdx; nop; lock cmpxchg16b 64(%0); cmpxchg8b 80(%0)");
	RMW("mov 80(%0), %%eax; mov 84(%0), %%edx; cmpxchg8b 80(%0)");
	RMW("btsq $5, (%0); btrl $3, (%0); btcw $1, (%0); nop; lock btsq $6, (%0); btq $1, (%0)");
	RMW("mov $200, %%eax; bts %%rax, 128(%0); mov $-70, %%rax; btr %%rax, 256(%0); mov $33, %%eax; nop; lock btc %%eax, 128(%0)");
	RMW("cmp %0, %0; sete (%0); setne 1(%0)");
	RMW("movb %b1, (%0); movw %w1, (%0); movl %k1, (%0); movq %1, (%0,%2,4); mov %1, %%rax; movb %%ah, 9(%0)");
	RMW("movb $7, (%0); movw $7, 2(%0); movl $7, (%0); movq $-7, (%0); movbe %1, (%0)");
	RMW("lea 512(%0), %%rax; movq $9, -8(%%rax); lea -128(%%rsp), %%rsp; pushq %1; popq (%0); pushq $5; popq 8(%0); lea 128(%%rsp), %%rsp");
	return 0;
}
