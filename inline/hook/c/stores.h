/* Stores whose extent is only known at run time, and system calls: before and
 * after. */
#ifndef MGTRACE_INLINE_STORES_H
#define MGTRACE_INLINE_STORES_H

#include "calls.h"

#define RED_ZONE 128	/* bytes below the stack pointer (System V ABI, 3.2.2) */

/* Opens an entry for what is about to execute at sp. Entries of frames that are
 * gone, and of this one, were never finished. */
static struct pending *push(struct block *b, u32 site, u64 sp)
{
	struct pending *p;

	while (b->pendings) {
		u64 old = b->pending[b->pendings - 1].sp;

		if (old != sp && !below(old, sp))
			break;
		b->pendings--;
	}
	if (b->pendings == MaxOpen) {
		fetch(&b->pending[0], (u64)&b->pending[1], sizeof(*p) * (MaxOpen - 1));
		b->pendings--;
		note(b, NoteLost, 0, 0, 0, 0, 1, 0);
	}
	p = &b->pending[b->pendings++];
	p->sp = sp;
	p->site = site;
	return p;
}

/* Takes the entry of a site that has executed off; 0 if there is none. */
static struct pending *pop(struct block *b, u32 site, u64 sp)
{
	u32 i;

	for (i = b->pendings; i-- > 0;) {
		if (b->pending[i].site == site && b->pending[i].sp == sp) {
			b->pendings = i;
			return &b->pending[i];
		}
	}
	return 0;
}

/* The effective address (Intel SDM volume 1, section 3.7.5). Operands with a
 * segment are never sites. */
static u64 address(const struct store *d, const struct regs *r, u64 pc)
{
	u64 a = d->disp;

	if (d->flags & StoreDescRIP)
		a += pc + d->len;
	if (d->base != NoReg)
		a += r->gp[d->base & 15];
	if (d->indexr != NoReg)
		a += r->gp[d->indexr & 15] * d->scale;
	if (d->flags & StoreDescAddr32)
		a = (u32)a;
	return a;
}

/* What the bit number of bts, btr and btc adds to the operand's address, in
 * bytes: it is signed and may lead anywhere (Intel SDM volume 2, "BTS"). */
static u64 bit_offset(const struct store *d, const struct regs *r)
{
	s64 bit = r->gp[d->value & 15];

	switch (d->width) {
	case 2: return ((s16)bit >> 4) * 2l;
	case 4: return ((s32)bit >> 5) * 4l;
	case 8: return (bit >> 6) * 8;
	}
	return 0;
}

/* Says whether [addr, addr+…) lies on the thread's own stack. */
static bool own_stack(struct block *b, u64 sp, u64 addr)
{
	return b->stack_lo <= sp && sp < b->stack_hi && addr >= sp - RED_ZONE && addr < b->stack_hi;
}

/* Says whether the bytes before the store are needed after it. */
static bool compares(const struct store *d)
{
	return d->width <= sizeof(((struct pending *)0)->old) && (d->shape == ShapeMasked || d->shape == ShapeCond);
}

static __attribute__((noinline)) void before_store(struct block *b, const struct regs *r, const struct site *s, u32 number, u64 sp)
{
	const struct store *d = &b->process->stores[s->store - 1];
	u64 addr, size = d->width, base = 0, n;
	struct pending *p;

	if (d->shape == ShapeString) {
		base = addr = r->gp[RDI];
		n = r->gp[RCX];
		if (d->flags & StoreDescAddr32) {
			addr = (u32)addr;
			n = (u32)n;
		}
		if (!(d->flags & StoreDescRep))
			n = 1;
		size = n * d->width;
		if (!size)
			return;
		if (r->flags & DF)
			addr -= size - d->width;
	} else {
		addr = address(d, r, s->pc);
		if (d->shape == ShapeBit)
			addr += bit_offset(d, r);
		if (d->base != NoReg)
			base = r->gp[d->base & 15];
	}
	if (own_stack(b, sp, addr))
		return;
	p = push(b, number, sp);
	p->addr = addr;
	p->size = size;
	p->base = base;
	p->index = d->index;
	p->shape = d->shape;
	if (compares(d)) {
		/* Bytes that can not be read are masked ones: they are not
		 * written either. */
		n = fetch(p->old, addr, size);
		for (; n; n--)
			p->old[size - n] = 0;
	}
}

/* Records the new bytes of a masked store, then the old ones. */
static void put_masked(struct block *b, const struct pending *p, const struct span *s)
{
	struct written *w;
	u64 n;
	u8 *now;

	if (!reserve(b, sizeof(*w) + PAD(2 * p->size)))
		return;
	w = start_write(b, s, stamp(b), 0, 2 * p->size);
	w->flags |= WriteMasked;
	now = (u8 *)(w + 1);
	n = fetch(now, p->addr, p->size);
	fetch(now + p->size - n, (u64)p->old + p->size - n, n);
	fetch(now + p->size, (u64)p->old, p->size);
	commit(b, sizeof(*w) + PAD(2 * p->size));
}

/* Says whether a conditional store changed memory. */
static bool changed(const struct pending *p)
{
	u8 now[16];
	u64 n = p->size <= sizeof(now) ? p->size : sizeof(now), i;

	if (fetch(now, p->addr, n))
		return 1;	/* recorded as unread */
	for (i = 0; i < n; i++)
		if (now[i] != p->old[i])
			return 1;
	return 0;
}

#define ZF 0x40

static __attribute__((noinline)) void after_store(struct block *b, const struct regs *r, const struct site *s, u32 number, u64 sp)
{
	const struct store *d = &b->process->stores[s->store - 1];
	struct pending *p = pop(b, number, sp);
	struct span w;

	if (!p)
		return;
	w.addr = p->addr;
	w.size = p->size;
	w.base = p->base;
	w.pc = s->pc;
	w.sp = sp;
	w.op = WriteStore;
	w.index = p->index;
	w.flags = 0;
	if (d->shape == ShapeMasked && compares(d)) {
		put_masked(b, p, &w);
		return;
	}
	if (d->shape == ShapeCond && !(d->flags & StoreDescAtomic ? changed(p) : (r->flags & ZF) != 0))
		return;
	put(b, &w);
}

/* ---- system calls ---- */

#define UserEnd 0x7ffffffff000ul	/* TASK_SIZE_MAX with 4-level page tables */

/*
 * The end of a mapping is recorded before the call: behind it another thread may have
 * mapped the same range already, and have written there. What munmap refuses is left
 * out (mm/mmap.c; ENOMEM, when a mapping can not be split, is not foreseen).
 */
static void before_unmap(struct block *b, const struct regs *r, u64 pc, u64 sp)
{
	u64 addr = r->gp[RDI], size = r->gp[RSI];

	if (addr & 0xfff || !size || addr > UserEnd || size > UserEnd - addr)
		return;
	b->readings = 0;
	note(b, NoteUnmap, 0, pc, sp, addr, size, 0);
}

#define CLONE_NR 56
#define MLOCKALL_NR 151
#define CLONE3_NR 435
#define MCL_ONFAULT 4
#define CLONE_UNTRACED 0x00800000

/* Opens an entry for a system call of which something is changed until it has returned:
 * the word at an address of the program (at 0: in rdi), which was something else. */
static void changed_call(struct block *b, u32 number, u64 sp, u64 nr, u64 at, u64 was)
{
	struct pending *p = push(b, number, sp);

	p->call = nr;
	p->shape = PendingChanged;
	p->addr = at;
	p->base = was;
}

/*
 * System calls that write nothing, but would do what the engine does not survive.
 *
 * mlockall(2) would have the kernel fill all that is mapped: the log, which has gigabytes,
 * and the shadow table, which has terabytes. So it locks what is there, and the rest as it
 * is touched.
 *
 * Of a process or thread that is made with CLONE_UNTRACED nobody would tell the tracer: it
 * has our code, and needs to be served.
 */
static __attribute__((noinline)) void before_other(struct block *b, struct regs *r, u32 number, u64 sp)
{
	u64 nr = r->gp[RAX], arg = r->gp[RDI], flags;

	switch (nr) {
	case MLOCKALL_NR:
		if (arg & MCL_ONFAULT)
			return;
		changed_call(b, number, sp, nr, 0, arg);
		r->gp[RDI] |= MCL_ONFAULT;
		break;
	case CLONE_NR:
		if (!(arg & CLONE_UNTRACED))
			return;
		changed_call(b, number, sp, nr, 0, arg);
		r->gp[RDI] &= ~(u64)CLONE_UNTRACED;
		break;
	case CLONE3_NR:	/* struct clone_args begins with the flags */
		flags = word(arg);
		if (flags & CLONE_UNTRACED && store(arg, flags & ~(u64)CLONE_UNTRACED))
			changed_call(b, number, sp, nr, arg, flags);
		break;
	}
}

static __attribute__((noinline)) void before_call(struct block *b, struct regs *r, const struct site *s, u32 number, u64 sp)
{
	u64 nr = r->gp[RAX];
	struct pending *p;
	u8 rule;

	if (nr >= SyscallCount)
		return;
	rule = b->process->syscalls[nr].rule;
	if (rule == CallNone) {
		before_other(b, r, number, sp);
		return;
	}
	if (rule == CallMunmap) {
		before_unmap(b, r, s->pc, sp);
		return;
	}
	p = push(b, number, sp);
	p->call = nr;
	p->shape = PendingSystem;
}

/* Argument n of a system call, from 1: the kernel changes none of them. */
static u64 call_argument(const struct regs *r, u8 n)
{
	return n == 4 ? r->gp[R10] : argument(r, n);
}

static void put_vector(struct block *b, struct span *s, u64 vec, u64 count, u64 left)
{
	u64 i;

	for (i = 0; i < count && i < 1024 && left; i++) {	/* IOV_MAX */
		if (!load(vec + 16 * i, &s->addr) || !load(vec + 16 * i + 8, &s->size))
			return;
		if (s->size > left)
			s->size = left;
		left -= s->size;
		s->base = s->addr;
		put(b, s);
	}
}

/* Whom the write of a system call is told of, by where that returns to: the caller of the
 * library's function that has made it, if such a writer is open. */
static u64 caller(struct block *b, u64 pc, u64 sp)
{
	const struct writer *w;
	const struct func *f;

	if (!b->writers)
		return pc;
	w = &b->writer[b->writers - 1];
	f = &b->process->funcs[w->func];
	if (w->sp < sp)
		return pc;	/* it has been left */
	return f->extent == ExtentCall || within(f, pc) ? w->pc : pc;
}

static void mapping(struct block *b, const struct regs *r, u8 rule, u64 pc, u64 sp, u64 result)
{
	u64 was;

	switch (rule) {
	case CallMmap:
		note(b, NoteMap, 0, pc, sp, result, r->gp[RSI], 0);
		break;
	case CallMremap:
		note(b, NoteUnmap, 0, pc, sp, r->gp[RDI], r->gp[RSI], 0);
		note(b, NoteMap, 0, pc, sp, result, r->gp[RDX], 0);
		break;
	case CallBrk:
		was = __atomic_exchange_n(&b->process->brk, result, __ATOMIC_SEQ_CST);
		if (was && was != result)
			note(b, NoteBreak, 0, pc, sp, result, 0, was);
		break;
	}
}

static __attribute__((noinline)) void after_call(struct block *b, struct regs *r, const struct site *s, u32 number, u64 sp)
{
	struct pending *p = pop(b, number, sp);
	const struct sysdesc *d;
	u64 result = r->gp[RAX];
	struct span w;

	b->readings = 0;
	if (p && p->shape == PendingChanged) {
		if (p->addr)
			store(p->addr, p->base);
		else
			r->gp[RDI] = p->base;
		return;
	}
	if (!p || (s64)result < 0)
		return;
	d = &b->process->syscalls[p->call];
	if (d->rule >= CallMmap) {
		mapping(b, r, d->rule, s->pc, sp, result);
		return;
	}
	w.addr = w.base = call_argument(r, d->ptr);
	w.size = 0;
	w.pc = caller(b, s->pc, sp);
	w.sp = sp;
	w.op = WriteSyscall;
	w.index = p->call;
	w.flags = 0;
	if (!w.addr)
		return;
	switch (d->rule) {
	case CallResult:
		if (d->len && call_argument(r, d->len) < result)
			result = call_argument(r, d->len);
		w.size = result * d->size;
		break;
	case CallFixed:
		w.size = d->size;
		break;
	case CallArray:
		w.size = call_argument(r, d->len) * d->size;
		break;
	case CallIOVec:
		put_vector(b, &w, w.addr, call_argument(r, d->len), result);
		return;
	case CallMessage:	/* struct msghdr: iovec at 16, its length at 24 */
		put_vector(b, &w, word(w.addr + 16), word(w.addr + 24), result);
		return;
	}
	put(b, &w);
}

#endif
