/* Stacks that the tracer knows. It notes on what the unwinding of a stack depended: some
 * registers and some words of it. Where these are the same again, so is what unwinding finds,
 * and the number of the stack says as much as all of its bytes. */
#ifndef MGTRACE_INLINE_PATHS_H
#define MGTRACE_INLINE_PATHS_H

#include "record.h"

/* Says whether the registers, and n bytes of stack from sp on, are as those of a path. While
 * the tracer changes it, it may have any content. */
static inline bool leads(const struct path *p, const struct regs *r, u64 sp, u64 n)
{
	u32 counts = *(const volatile u16 *)&p->counts, regs = counts & 255, all = regs + (counts >> 8), i;
	u64 v;

	if ((p->end && n >= p->end + 8ul) || all > PathWords)
		return 0;
	for (i = 0; i < regs; i++)
		if (r->gp[p->where[i] & 15] != p->want[i])
			return 0;
	for (; i < all; i++)
		if (p->where[i] + 8ul > n || !load(sp + p->where[i], &v) || v != p->want[i])
			return 0;
	return 1;
}

/* The number of the stack of a call that returns to pc, with n bytes from sp on, where the
 * return address lies; 0: it is not known. */
static u32 known_stack(struct block *b, const struct regs *r, u64 pc, u64 sp, u64 n)
{
	const struct path_set *s = b->process->paths;
	u32 seq, stack, i;

	if (!s)
		return 0;
	s += (pc * PathHash ^ (sp + 8)) * PathHash >> (64 - PathBits);
	for (i = 0; i < PathWays; i++) {
		const volatile struct path_key *k = &s->keys[i];

		seq = k->seq;
		if (k->pc != pc || k->sp != sp + 8 || seq & 1)
			continue;
		stack = k->stack;
		if (!stack || !leads(&s->paths[i], r, sp, n))
			continue;
		asm volatile("" : : : "memory");
		if (k->seq == seq)
			return stack;
	}
	return 0;
}

#endif
