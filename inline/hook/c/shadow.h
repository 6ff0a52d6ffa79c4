/* The shadow table: which granules' stores are recorded. */
#ifndef MGTRACE_INLINE_SHADOW_H
#define MGTRACE_INLINE_SHADOW_H

#include "memory.h"

#define USER (1ul << 47)	/* addresses of user memory are below */

static inline bool filters(struct process *p)
{
	return p->config & ConfigFilter;
}

/* Sets n bytes at t to v. Reads first: what is as wanted stays untouched, so
 * that blocks which stay closed cost no memory. */
static void set_granules(u8 *t, u64 n, u8 v)
{
	u64 v8 = v * 0x0101010101010101ul;

	for (; n && (u64)t & 7; n--, t++)
		if (*t != v)
			*t = v;
	for (; n >= 8; n -= 8, t += 8)
		if (*(u64 *)t != v8)
			*(u64 *)t = v8;
	for (; n; n--, t++)
		if (*t != v)
			*t = v;
}

/* Says whether the stores to an address are recorded. */
static inline bool is_open(struct process *p, u64 addr)
{
	return addr && addr < USER && p->shadow[addr >> GranuleShift] != p->closed;
}

/* Says whether stores to any of the n bytes at addr are. */
static bool any_open(struct process *p, u64 addr, u64 n)
{
	u64 closed = p->closed * 0x0101010101010101ul;
	const u8 *t, *end;

	if (!n || addr >= USER || n > USER - addr)
		return 1;	/* nobody can tell */
	t = p->shadow + (addr >> GranuleShift);
	end = p->shadow + ((addr + n - 1) >> GranuleShift) + 1;
	for (; end - t >= 8; t += 8)
		if (*(const u64 *)t != closed)
			return 1;
	for (; t < end; t++)
		if (*t != p->closed)
			return 1;
	return 0;
}

/* Says whether stores to any of the n bytes at addr, which are user memory, are not. */
static bool any_closed(struct process *p, u64 addr, u64 n)
{
	const u8 *t = p->shadow + (addr >> GranuleShift), *end = p->shadow + ((addr + n - 1) >> GranuleShift);

	for (; t <= end; t++)
		if (*t == p->closed)
			return 1;
	return 0;
}

/* What is known of a return address; 0: nothing. */
static const struct verdict *verdict_on(struct process *p, u64 address)
{
	u64 i = address * VerdictHash >> VerdictShift, k;

	for (k = 0; k < VerdictProbes; k++) {
		const struct verdict *v = &p->verdicts[(i + k) & p->verdict_mask];
		u64 a = __atomic_load_n(&v->address, __ATOMIC_ACQUIRE);

		if (a == address)
			return v;
		if (!a)
			return 0;
	}
	return 0;
}

/* Says whether an address lies in code that opens what is allocated in it. */
static bool is_named(struct process *p, u64 address)
{
	u32 k;

	for (k = 0; k < p->named_count; k++)
		if (address - p->named[k].lo < p->named[k].size)
			return 1;
	return 0;
}

/* is_named, apart from the loop that asks it seldom: only of what lies between the first such code and the last. */
static __attribute__((noinline)) bool surely_named(struct process *p, u64 address)
{
	return is_named(p, address);
}

static inline bool named_between(struct process *p, u64 address, u64 lo, u64 span)
{
	return __builtin_expect(address - lo < span, 0) && surely_named(p, address);
}

/* Says whether such code may have called: whether a word of [sp, sp + window) lies there.
 * safe: all of it can be read. */
static bool named(struct process *p, u64 sp, u64 window, bool safe)
{
	u64 lo = p->named_lo, span = p->named_span;
	u64 end = sp + (window & ~7ul), address;

	/* Eight at a time, each with a jump that is mostly not taken: nothing is kept of a word that is none. */
	for (; safe && end - sp >= 64; sp += 64) {
		const volatile u64 *w = (const u64 *)sp;

		if (named_between(p, w[0], lo, span) || named_between(p, w[1], lo, span) || named_between(p, w[2], lo, span) ||
		    named_between(p, w[3], lo, span) || named_between(p, w[4], lo, span) || named_between(p, w[5], lo, span) ||
		    named_between(p, w[6], lo, span) || named_between(p, w[7], lo, span))
			return 1;
	}
	for (; sp < end && load(sp, &address); sp += 8)
		if (named_between(p, address, lo, span))
			return 1;
	return 0;
}

/* What frames say of a block. */
enum judgement { MATTERS, STAYS_CLOSED, NOT_KNOWN };

/* The stack of an allocation: the program's, or a copy of it. */
struct frames {
	u64 sp, window;	/* so many bytes of it count */
	const u8 *copy;	/* 0: it is the program's */
	bool cut;	/* the copy: more counted */
};

/* The word at an address of the stack; 0 if it is not there. */
static inline u64 stack_word(const struct frames *f, u64 at)
{
	if (!f->copy)
		return word(at);
	return at - f->sp <= f->window - 8 ? *(const u64 *)(f->copy + (at - f->sp)) : 0;
}

/* Walks outwards from the call whose return address lies at f->sp. rbp is as it was when
 * the call was made. */
static enum judgement walk(struct process *p, const struct frames *f, u64 bp)
{
	u64 cfa = f->sp + 8, limit = f->sp + f->window, next;
	u32 k, leans = 0;

	for (k = 0; k < WalkFrames; k++) {
		const struct verdict *v = verdict_on(p, stack_word(f, cfa - 8));

		if (!v)
			return NOT_KNOWN;
		if (v->says & SaysOpen)
			return MATTERS;
		if (v->says & SaysClosed)
			return STAYS_CLOSED;
		if (!leans)
			leans = v->says & (SaysLeansOpen | SaysLeansClosed);
		if (v->says & SaysEnds || v->base == BaseNone)
			break;
		if (v->base == BaseUnknown)
			return MATTERS;
		next = (v->base == BaseBP ? bp : cfa) + v->offset;
		if (next <= cfa || next > limit) {
			if (f->cut)
				return MATTERS;
			break;
		}
		if (v->bp)
			bp = stack_word(f, next + v->bp);
		cfa = next;
	}
	return leans == SaysLeansClosed ? STAYS_CLOSED : MATTERS;
}

/* Says whether a block stays closed that the call allocates whose return address lies
 * at sp. rbp is as it was when the call was made. As much of the stack is looked at as
 * the tracer is told: [sp, sp + window). safe: it is the thread's own stack. */
static enum judgement judge_block(struct process *p, u64 sp, u64 bp, u64 window, bool safe)
{
	struct frames f = { .sp = sp, .window = window };

	if (p->named_count && named(p, sp, window, safe))
		return MATTERS;
	if (p->config & ConfigSettled)
		return STAYS_CLOSED;
	if (!p->verdicts)
		return MATTERS;
	return walk(p, &f, bp);
}

/* Notes the number of granules of the block at addr. A block of n granules has
 * room for n bytes, and n never takes more. */
static void set_length(struct process *p, u64 addr, u64 n)
{
	u8 *t = p->lengths + (addr >> GranuleShift);

	for (; n >= 0x80; n >>= 7)
		*t++ = n | 0x80;
	*t = n;
}

/* The number of granules of the block at addr, which is forgotten; 0: not known. */
static u64 take_length(struct process *p, u64 addr)
{
	u8 *t = p->lengths + (addr >> GranuleShift);
	u64 n = 0;
	int shift;

	for (shift = 0; shift < 49; shift += 7, t++) {
		n |= (u64)(*t & 0x7f) << shift;
		if (!(*t & 0x80))
			break;
	}
	p->lengths[addr >> GranuleShift] = 0;
	return n;
}

/* A block was allocated. It is opened, with what lies behind it where that is no other
 * block's, or closed: then the bytes that it may share with another block are left as they are. */
static __attribute__((noinline)) void shadow_block(struct process *p, const struct func *f, u64 addr, u64 size, bool closed)
{
	bool whole = !(addr & (Granule - 1)) && !(f->flags & FuncDeclared);
	u64 lo = addr >> GranuleShift, hi;

	if (!size)
		size = 1;
	if (!addr || addr >= USER || size > USER - addr)
		return;
	hi = (addr + size + Granule - 1) >> GranuleShift;
	if (p->lengths && whole)
		set_length(p, addr, hi - lo);
	if (closed && !whole) {
		lo = (addr + Granule - 1) >> GranuleShift;
		hi = (addr + size) >> GranuleShift;
		if (hi <= lo)
			return;
	}
	if (!closed && whole && p->config & ConfigBehind && size < USER - addr - 8)
		hi = (addr + size + 8 + Granule - 1) >> GranuleShift;
	set_granules(p->shadow + lo, hi - lo, closed ? p->closed : p->open);
}

/* The block at a->ptr ends. */
static void shadow_close(struct process *p, struct alloc *a)
{
	u64 addr = a->ptr;

	a->granules = 0;
	if (!p->lengths || !addr || addr >= USER || addr & (Granule - 1))
		return;
	a->granules = take_length(p, addr);
	if (!a->granules)
		return;
	a->was = p->shadow[addr >> GranuleShift];
	set_granules(p->shadow + (addr >> GranuleShift), a->granules, p->closed);
}

/* The block at a->ptr did not end after all. */
static void shadow_reopen(struct process *p, struct alloc *a)
{
	if (!a->granules)
		return;
	set_length(p, a->ptr, a->granules);
	set_granules(p->shadow + (a->ptr >> GranuleShift), a->granules, a->was);
}

#endif
