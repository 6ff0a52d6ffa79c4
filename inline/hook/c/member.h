/* Nodes that calls make wherever their memory lies. What is about to become one may lie
 * where stores were not recorded so far; and where none has been made, though much was stored
 * there, is closed when the tracer asks for it. */
#ifndef MGTRACE_INLINE_MEMBER_H
#define MGTRACE_INLINE_MEMBER_H

#include "record.h"

/* When a block at addr ended last, or another one of its hash. */
static inline u64 *ended(struct process *p, u64 addr)
{
	return &p->barren->ends[(addr >> GranuleShift) * VerdictHash >> VerdictShift & (BarrenEnded - 1)];
}

/* The block at addr ends, or moves. */
static inline void note_end(struct block *b, u64 addr)
{
	if (b->process->barren && addr)
		*ended(b->process, addr) = now(b);
}

/* Tells what lies where the argument is about to become a node, and opens that, unless all
 * stores there were recorded. Without a shadow table nobody knows: only those to blocks
 * were of use. Those to the thread's own stack never are. */
static __attribute__((noinline)) void tell_member(struct block *b, u64 addr, u64 size, u64 pc, u64 sp)
{
	struct process *p = b->process;
	struct span s = { .pc = pc, .sp = sp, .op = WriteFound };
	u64 lo = addr >> GranuleShift, n = ((addr + size - 1) >> GranuleShift) - lo + 1;

	if (!addr || addr >= USER || size > USER - addr || (b->stack_lo <= addr && addr < b->stack_hi))
		return;
	if (p->barren) {
		struct made *m = &p->barren->made[p->barren->next++ & (BarrenMembers - 1)];

		m->lo = addr;
		m->hi = addr + size;
		m->time = now(b);
	}
	if (filters(p)) {
		if (!any_closed(p, addr, size))
			return;
		/* Opened first: who writes these bytes meanwhile comes later. */
		set_granules(p->shadow + lo, n, p->open);
	}
	put_at(b, &s, addr, size);
}

/* Says whether what the tracer asks for is as it was when the tracer read of it. Only as
 * long as there is one thread: no other one frees the block, or makes a node there, meanwhile. */
static bool as_asked(struct process *p, const struct barren *n)
{
	u32 k;

	if (p->many || *ended(p, n->block) >= n->time)
		return 0;
	for (k = 0; k < BarrenMembers; k++) {
		const struct made *m = &n->made[(n->next - 1 - k) & (BarrenMembers - 1)];

		if (m->time < n->time)
			return 1;
		if (m->lo < n->addr + n->size && n->addr < m->hi)
			return 0;
	}
	return 0;		/* more than are known */
}

/* Closes the granules that lie in [lo, hi). */
static inline bool close_part(struct process *p, u64 lo, u64 hi)
{
	lo = (lo + Granule - 1) >> GranuleShift;
	hi >>= GranuleShift;
	if (lo >= hi)
		return 0;
	set_granules(p->shadow + lo, hi - lo, p->closed);
	return 1;
}

/* Closes of a new block what blocks with that stack have no nodes in. */
static inline void close_alike(struct process *p, u32 stack, u64 addr, u64 size)
{
	struct kind *k = &p->barren->kinds[stack & (BarrenKinds - 1)];

	if (__atomic_load_n(&k->stack, __ATOMIC_ACQUIRE) != stack || (k->size && k->size != size) || addr >= USER || size > USER - addr)
		return;
	close_part(p, addr, addr + (k->lo < size ? k->lo : size));
	if (k->hi < size)
		close_part(p, addr + k->hi, addr + size);
}

static __attribute__((noinline)) void answer(struct process *p)
{
	struct barren *n = p->barren;

	n->answer = as_asked(p, n) && close_part(p, n->addr, n->addr + n->size) ? BarrenClosed : BarrenRefused;
	__atomic_store_n(&p->asked, 0, __ATOMIC_RELEASE);
}

#endif
