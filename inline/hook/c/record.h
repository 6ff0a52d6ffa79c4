/* Records: room, stamp, commit. What lies below the cursor is whole. */
#ifndef MGTRACE_INLINE_RECORD_H
#define MGTRACE_INLINE_RECORD_H

#include "shadow.h"

#define CHUNK 65536ul		/* greatest payload of a KindWrite */
#define SMALL 4096ul		/* a payload up to this is not split to fill a buffer */
#define PAD(n) (((n) + 3) & ~3ul)

/* Touches the guard page. The tracer gives the thread another buffer and lets it
 * go on at hook_swap_end. */
static __attribute__((noinline)) void swap(struct block *b)
{
	asm volatile("hook_swap:\tcmpb $0, (%0)\nhook_swap_end:\n" : : "r"(b->end) : "cc", "memory");
}

/* Goes to the other buffer, which is free. The tracer notices by the cursor, which is
 * therefore the last to change. */
static __attribute__((noinline)) void turn(struct block *b)
{
	u64 next = b->next;

	b->left = b->cursor;
	b->end = b->next_end;
	b->next = 0;
	asm volatile("" : : : "memory");
	b->cursor = next;
	asm volatile("" : : : "memory");
}

/* Goes there early: trampolines can not, and to meet the guard page costs much more. */
static inline void turn_early(struct block *b)
{
	if (b->next && b->cursor >= b->turn)
		turn(b);
}

/* Bytes left for a record, after a change of buffers if there are not n. */
static u64 room(struct block *b, u64 n)
{
	if (b->end - b->cursor < n) {
		if (b->next)
			turn(b);
		else
			swap(b);
	}
	return b->end - b->cursor;
}

static inline u64 stamp(struct block *b)
{
	struct process *p = b->process;
	u64 n = 1;

	/* One instruction, for the thread may be stopped anywhere. */
	if (p->many)
		asm volatile("lock xaddq %0, %1" : "+r"(n), "+m"(p->order) : : "cc", "memory");
	else
		asm volatile("xaddq %0, %1" : "+r"(n), "+m"(p->order) : : "cc", "memory");
	return n + 1;
}

static inline u64 ticks(void)
{
	u32 lo, hi;

	asm volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (u64)hi << 32 | lo;
}

/* The time of a record. */
static inline u64 now(struct block *b)
{
	u64 t;

	if (!b->readings) {
		t = ticks();
		b->readings = t - b->clock < ClockBrisk ? ClockEvery : 1;
		b->clock = t;
	}
	b->readings--;
	return b->clock;
}

/* Begins a record; there is room. */
static inline void *start(struct block *b, u32 kind, u64 order)
{
	struct head *h = (struct head *)b->cursor;

	h->tag = Special + kind;
	h->stamp = order;
	h->time = now(b);
	return h;
}

#define LINE 64		/* of the cache */

/* The log is fetched as far ahead as by trampolines, which a program that calls much has
 * too few of. */
static inline void commit(struct block *b, u32 size)
{
	u64 at = b->cursor + LogAhead, end = at + size;

	for (; at < end; at += LINE)
		asm volatile("prefetchw (%0)" : : "r"(at));
	((struct head *)b->cursor)->size = size;
	asm volatile("" : : : "memory");
	b->cursor += size;
	asm volatile("" : : : "memory");
}

static inline void fill_note(struct block *b, u32 op, u32 index, u64 pc, u64 sp, u64 addr, u64 len, u64 base)
{
	struct note *n = start(b, KindNote, stamp(b));

	n->op = op;
	n->index = index;
	n->pc = pc;
	n->sp = sp;
	n->addr = addr;
	n->len = len;
	n->base = base;
	commit(b, sizeof(*n));
}

/* Makes room for a record of n bytes, by a change of buffers. What was missed before is told
 * first. */
static __attribute__((noinline)) bool reserve_slowly(struct block *b, u64 n)
{
	u32 missed = b->missed;

	if (missed && room(b, sizeof(struct note)) >= sizeof(struct note)) {
		b->missed = 0;
		fill_note(b, NoteLost, 0, 0, 0, 0, missed, 0);
	}
	if (room(b, n) >= n)
		return 1;
	b->missed++;
	return 0;
}

/* Makes room for a record of n bytes; mostly there is. */
static inline bool reserve(struct block *b, u64 n)
{
	return (!b->missed && b->end - b->cursor >= n) || reserve_slowly(b, n);
}

static __attribute__((noinline)) void note(struct block *b, u32 op, u32 index, u64 pc, u64 sp,
					   u64 addr, u64 len, u64 base)
{
	if (reserve(b, sizeof(struct note)))
		fill_note(b, op, index, pc, sp, addr, len, base);
}

/* A write to be recorded. */
struct span {
	u64 addr, size, base, pc, sp;
	u32 op, index, flags;
};

static struct written *start_write(struct block *b, const struct span *s, u64 order, u64 off, u64 bytes)
{
	struct written *w = start(b, KindWrite, order);

	w->op = s->op;
	w->flags = s->flags;
	w->index = s->index;
	w->bytes = bytes;
	w->pc = s->pc;
	w->sp = s->sp;
	w->addr = s->addr;
	w->len = s->size;
	w->base = s->base;
	w->off = off;
	return w;
}

/* Records the bytes of s, chunk by chunk. What follows a byte that can not be
 * read is told as one chunk without bytes. */
static __attribute__((noinline)) void put_chunks(struct block *b, const struct span *s)
{
	u64 max = b->process->max_data, limit = s->size < max ? s->size : max;
	u64 off = 0, order = 0, n, left, bad = 0;
	u32 last = limit < s->size ? WritePartial : 0;
	struct written *w;

	while (off < limit) {
		left = limit - off;
		if (!reserve(b, sizeof(*w) + (bad ? 0 : PAD(left < SMALL ? left : SMALL)))) {
			if (bad || b->end - b->cursor < sizeof(*w) + 64)
				return;
			b->missed--;	/* a buffer smaller than SMALL will do */
		}
		if (!order)
			order = stamp(b);
		if (bad) {
			w = start_write(b, s, order, off, left);
			w->flags |= WriteUnread | last;
			commit(b, sizeof(*w));
			return;
		}
		n = (b->end - b->cursor - sizeof(*w)) & ~3ul;
		if (n > CHUNK)
			n = CHUNK;
		if (n > left)
			n = left;
		w = (struct written *)b->cursor;
		bad = fetch(w + 1, s->addr + off, n);
		n -= bad;
		if (!n)
			continue;
		start_write(b, s, order, off, n);
		off += n;
		w->flags |= off < limit ? WriteMore : last;
		commit(b, sizeof(*w) + PAD(n));
	}
}

/* Records the bytes of s, mostly few, as one record. It is false if that can not be. */
static inline bool put_whole(struct block *b, const struct span *s)
{
	struct written *w = (struct written *)b->cursor;
	u64 n = s->size, order;

	if (n > SMALL || n > b->process->max_data || b->missed || b->end - b->cursor < sizeof(*w) + PAD(n))
		return 0;
	order = stamp(b);	/* who writes these bytes meanwhile comes later */
	if (fetch(w + 1, s->addr, n))
		return 0;
	start_write(b, s, order, 0, n);
	commit(b, sizeof(*w) + PAD(n));
	return 1;
}

/* Records the bytes of s, wherever they lie. */
static inline void put_any(struct block *b, const struct span *s)
{
	if (s->size && !put_whole(b, s))
		put_chunks(b, s);
}

/* Records the bytes of s. It is false if none of them is to be recorded. */
static bool put(struct block *b, const struct span *s)
{
	if (filters(b->process) && !any_open(b->process, s->addr, s->size))
		return 0;
	put_any(b, s);
	return 1;
}

/* Records n bytes at addr, as s says. */
static bool put_at(struct block *b, struct span *s, u64 addr, u64 n)
{
	s->addr = s->base = addr;
	s->size = n;
	return put(b, s);
}

#endif
