/* Blocks of which it is known late that they do not matter. What a frame says of the
 * blocks that are allocated in it the tracer finds out when it has read of the first one,
 * which is open until then; and what a program allocates first it often keeps, and writes
 * most. So the stack of such a call is kept, and judged again now and then. The block's first
 * granule stays open: it shows that the tracer must be told the end.
 *
 * Only as long as there is one thread: no other one frees a block, and allocates its memory
 * again, while it is being closed. */
#ifndef MGTRACE_INLINE_LATE_H
#define MGTRACE_INLINE_LATE_H

#include "shadow.h"

#define LOOK_EVERY 16		/* calls of the routine */
#define LOOK_AT 8		/* entries at a time */
#define LOOKS (1 << 14)		/* at an entry; then it is given up */

/* The entry of the block at addr, or of another one. */
static inline struct late *late_entry(struct process *p, u64 addr)
{
	return &p->late[(addr >> GranuleShift) * VerdictHash >> VerdictShift & (LateEntries - 1)];
}

/* Keeps the stack of an allocation of which not all is known. */
static __attribute__((noinline)) void late_note(struct process *p, u64 addr, u64 size, u64 sp, u64 bp, u64 window)
{
	struct late *l;

	if (!p->late || p->many || size <= Granule || addr & (Granule - 1) || addr >= USER || size > USER - addr)
		return;
	l = late_entry(p, addr);
	if (l->addr)
		return;		/* and the block stays open */
	l->cut = window > LateStack;
	l->window = l->cut ? LateStack : window;
	if (l->window < 8 || fetch(l->stack, sp, l->window))
		return;
	l->size = size;
	l->sp = sp;
	l->bp = bp;
	l->looks = 0;
	l->decided = 0;
	l->addr = addr;
	p->late_waiting++;
}

/* The block at addr ends, or changes. Says whether it was closed late. */
static inline bool late_ends(struct process *p, u64 addr)
{
	struct late *l;

	if (!p->late || !addr)
		return 0;
	l = late_entry(p, addr);
	if (l->addr != addr)
		return 0;
	l->addr = 0;
	if (!l->decided)
		p->late_waiting--;
	return l->decided;
}

/* Judges an undecided block again. */
static void late_judge(struct process *p, struct late *l)
{
	struct frames f = { .sp = l->sp, .window = l->window, .copy = (const u8 *)l->stack, .cut = l->cut };
	u64 lo = l->addr >> GranuleShift, hi = (l->addr + l->size + Granule - 1) >> GranuleShift;

	switch (walk(p, &f, l->bp)) {
	case NOT_KNOWN:
		if (++l->looks < LOOKS)
			return;
		l->addr = 0;
		break;
	case MATTERS:
		l->addr = 0;
		break;
	case STAYS_CLOSED:
		l->decided = 1;
		set_granules(p->shadow + lo + 1, hi - lo - 1, p->closed);
		break;
	}
	p->late_waiting--;
}

/* Judges some undecided blocks again, now and then. */
static __attribute__((noinline)) void late_look(struct process *p)
{
	u32 k, at = p->late_next++;

	if (at % LOOK_EVERY || p->many)
		return;
	for (k = 0; k < LOOK_AT; k++) {
		struct late *l = &p->late[(at / LOOK_EVERY * LOOK_AT + k) & (LateEntries - 1)];

		if (l->addr && !l->decided)
			late_judge(p, l);
	}
}

#endif
