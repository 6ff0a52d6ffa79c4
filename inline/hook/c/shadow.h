/* The shadow table: which granules' stores are recorded. */
#ifndef MGTRACE_INLINE_SHADOW_H
#define MGTRACE_INLINE_SHADOW_H

#include "block.h"

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

/* Says whether blocks that the call before address allocates stay closed. */
static bool stays_closed(struct process *p, u64 address)
{
	u64 i = address * VerdictHash >> VerdictShift, k;

	if (!p->verdicts)
		return 0;
	for (k = 0; k < VerdictProbes; k++) {
		const volatile struct verdict *v = &p->verdicts[(i + k) & p->verdict_mask];

		if (v->address == address)
			return v->verdict == VerdictClosed;
		if (!v->address)
			return 0;
	}
	return 0;
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

/* A block was allocated. It is opened, or closed: then the bytes that it may
 * share with another block are left as they are. */
static void shadow_block(struct process *p, const struct func *f, u64 addr, u64 size, u64 caller)
{
	bool closed = stays_closed(p, caller), whole = !(addr & (Granule - 1)) && !(f->flags & FuncDeclared);
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
