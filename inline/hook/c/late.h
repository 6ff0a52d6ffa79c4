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
#define LOOK_AT 32		/* entries at a time */
#define LOOKS (1 << 14)		/* at an entry; then it is given up */

/* The entry among those that the block at addr may have which has an address: its own, or 0 for one that
 * is free. LateEntries: none has. Blocks that lie beside each other in one run do so in every run: with one
 * entry for each address, those of which two have the same would be open always. */
static inline u32 late_entry(const struct late_table *t, u64 addr, u64 has)
{
	u64 home = (addr >> GranuleShift) * VerdictHash >> VerdictShift;
	u32 k;

	for (k = 0; k < LateProbes; k++) {
		u32 i = (home + k) & (LateEntries - 1);

		if (t->addr[i] == has)
			return i;
	}
	return LateEntries;
}

/* Keeps the stack of an allocation of which not all is known. */
static __attribute__((noinline)) void late_note(struct process *p, u64 addr, u64 size, u64 sp, u64 bp, u64 window)
{
	struct late_table *t = p->late;
	struct late *l;
	u32 i;

	if (!t || p->many || size <= Granule || addr & (Granule - 1) || addr >= USER || size > USER - addr)
		return;
	i = late_entry(t, addr, 0);
	if (i == LateEntries || late_entry(t, addr, addr) != LateEntries)
		return;		/* and the block stays open */
	l = &t->entries[i];
	l->cut = window > LateStack;
	l->window = l->cut ? LateStack : window;
	if (l->window < 8 || fetch(l->stack, sp, l->window))
		return;
	l->size = size;
	l->sp = sp;
	l->bp = bp;
	l->looks = 0;
	l->decided = 0;
	t->addr[i] = addr;
	p->late_taken++;
	p->late_waiting++;
}

/* The block at addr ends, or changes. Says whether it was closed late. */
static inline bool late_ends(struct process *p, u64 addr)
{
	struct late_table *t = p->late;
	u32 i;

	if (!p->late_taken || !addr)
		return 0;
	i = late_entry(t, addr, addr);
	if (i == LateEntries)
		return 0;
	t->addr[i] = 0;
	p->late_taken--;
	if (!t->entries[i].decided)
		p->late_waiting--;
	return t->entries[i].decided;
}

/* Judges the undecided block of an entry again. */
static void late_judge(struct process *p, u32 i)
{
	u64 *addr = &p->late->addr[i];
	struct late *l = &p->late->entries[i];
	struct frames f = { .sp = l->sp, .window = l->window, .copy = (const u8 *)l->stack, .cut = l->cut };
	u64 lo = *addr >> GranuleShift, hi = (*addr + l->size + Granule - 1) >> GranuleShift;

	switch (walk(p, &f, l->bp)) {
	case NOT_KNOWN:
		if (++l->looks < LOOKS)
			return;
		*addr = 0;
		p->late_taken--;
		break;
	case MATTERS:
		*addr = 0;
		p->late_taken--;
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
		u32 i = (at / LOOK_EVERY * LOOK_AT + k) & (LateEntries - 1);

		if (p->late->addr[i] && !p->late->entries[i].decided)
			late_judge(p, i);
	}
}

#endif
