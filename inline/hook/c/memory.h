/* Reading the program's memory, and writing there. An instruction that may fault has an entry in
 * .extable: where its range begins and ends, and where to go on after a fault,
 * as distances from the routine's beginning. The tracer, who sees the SIGSEGV
 * or SIGBUS, sets RIP accordingly. */
#ifndef MGTRACE_INLINE_MEMORY_H
#define MGTRACE_INLINE_MEMORY_H

#include "block.h"

#define FIXUP(from, to, on) \
	".pushsection .extable,\"a\"\n" \
	".long " from " - hook_start, " to " - hook_start, " on " - hook_start\n" \
	".popsection\n"

#define DF 0x400	/* the direction flag */
#define LONG 512ul	/* bytes: from there on `rep movsb` is faster than a loop */

/* Copies n bytes. Returns how many of them, at the end, could not be read. A word
 * of which a part can not be read is copied by bytes. */
static inline u64 fetch(void *to, u64 from, u64 n)
{
	u64 word;

	if (n >= LONG) {
		/* The program's direction flag may be set. To pop all flags would take longer. */
		asm volatile("	pushfq\n"
			     "	popq %3\n"
			     "	cld\n"
			     "1:	rep movsb\n"
			     "2:	testq %4, %3\n"
			     "	jz 3f\n"
			     "	std\n"
			     "3:\n" FIXUP("1b", "2b", "2b")
			     : "+D"(to), "+S"(from), "+c"(n), "=&r"(word) : "i"(DF) : "cc", "memory");
		return n;
	}
	asm volatile("	subq $8, %2\n"
		     "	jb 3f\n"
		     "1:	movq (%1), %3\n"
		     "2:	movq %3, (%0)\n"
		     "	addq $8, %0\n"
		     "	addq $8, %1\n"
		     "	subq $8, %2\n"
		     "	jae 1b\n"
		     "	cmpq $-8, %2\n"
		     "	je 3f\n"
		     "7:	movq (%1,%2), %3\n"
		     "8:	movq %3, (%0,%2)\n"
		     "	movq $-8, %2\n"
		     "3:	addq $8, %2\n"
		     "	jz 6f\n"
		     "4:	movb (%1), %b3\n"
		     "5:	movb %b3, (%0)\n"
		     "	addq $1, %0\n"
		     "	addq $1, %1\n"
		     "	subq $1, %2\n"
		     "	jnz 4b\n"
		     "6:\n" FIXUP("1b", "2b", "3b") FIXUP("7b", "8b", "3b") FIXUP("4b", "5b", "6b")
		     : "+r"(to), "+r"(from), "+r"(n), "=&q"(word) : : "cc", "memory");
	return n;
}

/* Loads the word at from. */
static inline bool load(u64 from, u64 *v)
{
	u64 word = 0;
	u32 failed = 1;

	asm volatile("1:\tmovq (%2), %0\n\txorl %1, %1\n2:\n" FIXUP("1b", "2b", "2b")
		     : "+r"(word), "+r"(failed) : "r"(from) : "cc", "memory");
	*v = word;
	return !failed;
}

/* Stores a word at to. */
static inline bool store(u64 to, u64 v)
{
	u32 failed = 1;

	asm volatile("1:\tmovq %2, (%1)\n\txorl %0, %0\n2:\n" FIXUP("1b", "2b", "2b")
		     : "+r"(failed) : "r"(to), "r"(v) : "cc", "memory");
	return !failed;
}

/* The word at from; 0 if it can not be read. */
static inline u64 word(u64 from)
{
	u64 v;

	load(from, &v);
	return v;
}

/* strlen(3). A longer string than a megabyte is cut, as is one that runs into
 * memory that can not be read. Aligned words never reach into another page. */
static u64 string_length(u64 at)
{
	u64 a = at & ~7ul, v, zero, limit = at + (1 << 20);

	for (; a < limit; a += 8) {
		if (!load(a, &v))
			return a > at ? a - at : 0;
		if (a < at)
			v |= (1ul << (8 * (at - a))) - 1;
		/* The lowest set bit marks the first zero byte (Mycroft). */
		zero = (v - 0x0101010101010101ul) & ~v & 0x8080808080808080ul;
		if (zero)
			return a + (__builtin_ctzl(zero) >> 3) - at;
	}
	return limit - at;
}

#endif
