/* Function entries and returns, points: allocators and writers are followed. */
#ifndef MGTRACE_INLINE_CALLS_H
#define MGTRACE_INLINE_CALLS_H

#include "format.h"
#include "late.h"
#include "member.h"
#include "paths.h"

/* Stack pointers further apart lie on different stacks. */
#define SAME_STACK (64ul << 20)

/* Says that the frame whose return address lies at frame has been left when the
 * stack pointer is sp. */
static inline bool below(u64 frame, u64 sp)
{
	return frame < sp && sp - frame < SAME_STACK;
}

/* The registers of arguments 1 to 6 (System V ABI, 3.2.3), four bits each. */
#define ARGUMENTS (RDI << 4 | RSI << 8 | RDX << 12 | RCX << 16 | R8 << 20 | R9 << 24)

/* Argument n of a function call, from 1; 0 if n is 0. */
static inline u64 argument(const struct regs *r, u8 n)
{
	return n ? r->gp[ARGUMENTS >> 4 * n & 15] : 0;
}

/* Tells the reader which stores of the thread are not wanted from here on: those
 * of an allocator in a traced file to its own data, those of a traced writer to
 * its destination. */
static void quiet(struct block *b)
{
	struct alloc *a = &b->alloc;
	u64 addr = 0, len = 0;
	u32 i;

	for (i = b->writers; i-- > 0 && !len;) {
		if (b->process->funcs[b->writer[i].func].flags & FuncTraced) {
			addr = b->writer[i].dst;
			len = b->writer[i].window;
		}
	}
	note(b, NoteQuiet, a->sp && a->f->flags & FuncHides, 0, 0, addr, len, 0);
}

/* Gives what follows a later place than what other threads did before. */
static void note_order(struct block *b)
{
	if (b->process->many)
		note(b, NoteOrder, 0, 0, 0, 0, 0, 0);
}

/* ---- stops ---- */

/* The bytes of the stack from sp on that are captured. */
static inline u64 captured(struct block *b, u64 sp)
{
	u64 n = b->process->stack_bytes;

	if (b->stack_lo <= sp && sp < b->stack_hi && n > b->stack_hi - sp)
		n = (b->stack_hi - sp) & ~7ul;
	return n;
}

static __attribute__((noinline)) void stop(struct block *b, const struct regs *r, const struct site *s, u64 sp, bool stack, u32 flags)
{
	u64 n = stack ? captured(b, sp) : 0, left;
	struct alloc *a = &b->alloc;
	struct stop *t;

	if (room(b, sizeof(*t) + n) < sizeof(*t) + n)
		n = 0;		/* buffers smaller than a stack: none then */
	if (!reserve(b, sizeof(*t) + n))
		return;
	t = start(b, KindStop, stamp(b));
	t->site = s->index;
	t->flags = flags;
	t->pc = s->pc;
	t->sp = sp;
	t->result = r->gp[RAX];
	t->block = 0;
	if (a->sp == sp && s->flags & SiteAllocLeave && a->f->role == RolePosix)
		t->block = word(a->ptr);
	t->regs[0] = word(sp);
	t->regs[1] = r->gp[RDI];
	t->regs[2] = r->gp[RSI];
	t->regs[3] = r->gp[RDX];
	t->regs[4] = r->gp[RCX];
	t->regs[5] = r->gp[R8];
	t->regs[6] = r->gp[R9];
	t->regs[7] = r->gp[RBX];
	t->regs[8] = r->gp[RBP];
	t->regs[9] = r->gp[R12];
	t->regs[10] = r->gp[R13];
	t->regs[11] = r->gp[R14];
	t->regs[12] = r->gp[R15];
	if (n) {
		left = fetch(t + 1, sp, n);
		n = (n - left) & ~7ul;
	}
	commit(b, sizeof(*t) + n);
}

/* Tells what the registers of floating-point arguments hold, of each the lower eight bytes. The
 * routine does not change them. */
static void tell_floats(struct block *b, struct span *p)
{
	struct written *w;
	u64 *to;

	p->addr = p->base = 0;
	p->size = 64;
	if (!reserve(b, sizeof(*w) + p->size))
		return;
	w = start_write(b, p, stamp(b), 0, p->size);
	to = (u64 *)(w + 1);
	asm volatile("movq %%xmm0, %0\n\tmovq %%xmm1, %1\n\tmovq %%xmm2, %2\n\tmovq %%xmm3, %3"
		     : "=m"(to[0]), "=m"(to[1]), "=m"(to[2]), "=m"(to[3]));
	asm volatile("movq %%xmm4, %0\n\tmovq %%xmm5, %1\n\tmovq %%xmm6, %2\n\tmovq %%xmm7, %3"
		     : "=m"(to[4]), "=m"(to[5]), "=m"(to[6]), "=m"(to[7]));
	commit(b, sizeof(*w) + p->size);
}

/* Tells the text that arguments lead to, wherever it lies but in the argument's own object, which
 * tell_passed told: what lies in other blocks than nodes may not be recorded, and a function mostly
 * searches by it. */
static void tell_texts(struct block *b, const struct regs *r, u64 texts, struct span *p)
{
	u64 at, of;
	u8 n;

	for (n = 1; texts; n++, texts >>= 8) {
		at = argument(r, n);
		of = texts & 0xff;
		if (!of || !at)
			continue;
		if (of != TextHere)
			at = word(at + 8 * (of - 1));
		else if (at > p->sp && at < b->stack_hi && b->stack_lo <= p->sp)
			continue;
		if (!at)
			continue;
		p->addr = p->base = at;
		p->size = TextSize;
		put_any(b, p);
	}
}

/* Tells what the arguments of a watched function lead to on the thread's stack: stores there are
 * not recorded, and who called may keep there what the function works on. */
static __attribute__((noinline)) void tell_passed(struct block *b, const struct regs *r, const struct site *s, u64 sp)
{
	struct span p = { .pc = s->pc, .sp = sp, .op = WritePassed };
	u64 words = s->passed;
	u8 n;

	if (words >> 48)
		tell_floats(b, &p);
	words = words << 16 >> 16;
	for (n = 1; words; n++, words >>= 8) {
		p.addr = p.base = argument(r, n);
		p.size = (words & 0xff) * 8;
		if (!p.size || p.addr <= sp || p.addr >= b->stack_hi || b->stack_lo > sp)
			continue;
		if (p.size > b->stack_hi - p.addr)
			p.size = b->stack_hi - p.addr;
		put_any(b, &p);
	}
	tell_texts(b, r, s->texts, &p);
}

/* ---- writers ---- */

/* Notes where the pointers behind a format are: in registers and on the stack, or in a
 * va_list (System V ABI, 3.5.7). */
static __attribute__((noinline)) void enter_format(struct writer *w, const struct func *f, const struct regs *r)
{
	u64 list = argument(r, f->len);
	u32 used, i;

	if (f->len) {
		used = word(list);
		w->saved = word(list + 16) + used;
		w->saved_count = used <= 48 ? (48 - used) / 8 : 0;
		w->more = word(list + 8);
		return;
	}
	for (i = 0; i < 5; i++)
		w->passed[i] = argument(r, f->dst + 1 + i);
}

/* The pointer of number n behind a format, from 0. */
static u64 behind_format(const struct writer *w, const struct func *f, u64 n)
{
	u64 passed = 6 - f->dst;

	if (f->len)
		return word(n < w->saved_count ? w->saved + 8 * n : w->more + 8 * (n - w->saved_count));
	return n < passed ? w->passed[n] : word(w->sp + 8 + 8 * (n - passed));
}

/* Records what scanf and its kin wrote. */
static __attribute__((noinline)) bool leave_format(struct block *b, const struct writer *w, struct span *s, s32 assigned)
{
	const struct func *f = &b->process->funcs[w->func];
	struct format format;
	bool any = 0;
	u64 at;
	u8 c;

	format_start(&format, assigned);
	for (at = w->dst; at < w->dst + FORMAT_MAX && format.state != FORMAT_END; at++) {
		if (fetch(&c, at, 1))
			break;
		if (!format_step(&format, c))
			continue;
		s->addr = behind_format(w, f, format.argument);
		if (format.block) {
			any |= put_at(b, s, s->addr, 8);
			s->addr = word(s->addr);
		}
		any |= put_at(b, s, s->addr, format.size ? format.size : string_length(s->addr) + 1);
	}
	return any;
}

/* Records what getline and its kin wrote: where the buffer is and how large, if that is new. */
static __attribute__((noinline)) bool leave_line(struct block *b, const struct writer *w, struct span *s, s64 n)
{
	bool any = 0;

	if (word(w->dst) != w->old)
		any |= put_at(b, s, w->dst, 8);
	if (word(w->len) != w->count)
		any |= put_at(b, s, w->len, 8);
	if (n >= 0)
		any |= put_at(b, s, word(w->dst), n + 1);
	return any;
}

/* Records what strsep and its kin wrote: how far they have come, and the end of the token. */
static __attribute__((noinline)) bool leave_split(struct block *b, const struct writer *w, struct span *s, u64 token)
{
	u64 at = word(w->dst);
	bool any = 0;
	u8 end = 1;

	if (at != w->old)
		any |= put_at(b, s, w->dst, 8);
	if (token && at)
		fetch(&end, at - 1, 1);
	if (!end)
		any |= put_at(b, s, at - 1, 1);
	return any;
}

static inline bool within(const struct func *f, u64 pc)
{
	return f->skip_lo <= pc && pc < f->skip_hi;
}

/* Records what a writer wrote. It is false if nothing of that is to be recorded. */
static bool leave_writer(struct block *b, struct writer *w, bool returned, u64 result)
{
	const struct func *f = &b->process->funcs[w->func];
	struct span s = { .addr = w->dst, .pc = w->pc, .sp = w->sp, .op = WriteBulk, .index = w->func };
	s64 n = result;
	u64 v = 0;

	if (within(f, w->pc) || !w->dst)
		return 0;	/* called by the library itself, or writes nowhere: a trampoline that notes a call does not look */
	s.base = s.addr;
	s.flags = returned ? 0 : WriteLate;
	switch (f->extent) {
	case ExtentArg:
	case ExtentProduct:
	case ExtentMinArg:
		s.size = w->len;
		break;
	case ExtentFixed:
		s.size = f->fixed;
		break;
	case ExtentAppend:
		s.addr += w->old;
		s.size = string_length(s.addr) + 1;
		break;
	case ExtentString:
		/* NULL from fgets and gets: nothing was read. 0 from sprintf:
		 * the empty string was written. */
		fetch(&v, s.addr, 1);
		if (!(returned && !result && v))
			s.size = string_length(s.addr) + 1;
		break;
	case ExtentResult:
		if (returned && n > 0)
			s.size = n;
		break;
	case ExtentResultProduct:
		if (returned && n > 0)
			s.size = n * w->len;
		break;
	case ExtentReturned:
		if (returned && result >= w->dst)
			s.size = result - w->dst + 1;
		break;
	case ExtentBounded:
		n = (s32)n;
		if (returned && n >= 0 && w->len)
			s.size = (u64)n + 1 < w->len ? (u64)n + 1 : w->len;
		break;
	case ExtentLine:
		/* asprintf returns an int: the upper half of its -1 is not set. */
		return leave_line(b, w, &s, returned && result <= 0x7fffffff ? n : -1);
	case ExtentSplit:
		return leave_split(b, w, &s, returned ? result : 0);
	case ExtentFormat:
		return leave_format(b, w, &s, returned ? n : -1);
	}
	return put(b, &s);
}

/* Says how many writers are open. */
static inline void set_writers(struct block *b, u32 n)
{
	b->writers = n;
	b->open_writer = n ? -b->writer[n - 1].sp : 0;
}

/* Takes the innermost open writer off and records what it wrote. */
static void pop_writer(struct block *b, bool returned, u64 result)
{
	struct writer *w = &b->writer[b->writers - 1];

	u32 flags = b->process->funcs[w->func].flags;

	set_writers(b, b->writers - 1);
	if (!leave_writer(b, w, returned, result) && flags & FuncAcquires)
		note_order(b);
	if (flags & FuncTraced)
		quiet(b);
}

/* Says whether a call of a writer inside another one, o, is to be recorded: only
 * if o's library has called back into other code. What o writes is recorded as
 * a whole. */
static bool called_back(const struct func *o, u64 pc)
{
	return o->skip_hi && !within(o, pc);
}

static void enter_writer(struct block *b, const struct regs *r, u32 func, u64 sp)
{
	const struct func *f = &b->process->funcs[func], *o;
	struct alloc *a = &b->alloc;
	u64 dst = argument(r, f->dst), len = argument(r, f->len), pc, window = 0;
	bool bounded = 0;	/* its window is what it writes */
	struct writer *w;

	if (a->sp > sp && a->f->flags & (FuncHides | FuncWhole))
		return;		/* inside an allocator: its own business */
	if (a->sp == sp && a->tail)
		return;		/* an allocator jumped here at its end (strdup to memcpy) */
	if (!dst)
		return;
	pc = word(sp);
	if (within(f, pc))
		return;		/* called by the library itself */
	switch (f->extent) {
	case ExtentProduct:
		len *= argument(r, f->count);
		/* fallthrough */
	case ExtentArg:
	case ExtentMinArg:
		window = len;
		bounded = 1;
		break;
	case ExtentFixed:
		window = f->fixed;
		bounded = 1;
		break;
	case ExtentLine:
	case ExtentSplit:
	case ExtentFormat:
		break;
	default:
		window = b->process->max_data;
	}
	if (!b->writers && bounded && !(f->flags & FuncAcquires) && filters(b->process) && !any_open(b->process, dst, window))
		return;
	if (b->writers) {
		w = &b->writer[b->writers - 1];
		o = &b->process->funcs[w->func];
		if (w->sp > sp && !called_back(o, pc))
			return;
		if (w->sp == sp) {
			/* From one place one function is called: another one
			 * was jumped to (__strcpy_chk to memcpy). The same is
			 * called anew, and was left unseen before. */
			if (w->pc == pc && w->dst == dst && w->func != func)
				return;
			set_writers(b, b->writers - 1);
		}
	}
	if (b->writers == MaxOpen) {
		fetch(&b->writer[0], (u64)&b->writer[1], sizeof(*w) * (MaxOpen - 1));
		b->writers--;
		note(b, NoteLost, 0, 0, 0, 0, 1, 0);
	}
	w = &b->writer[b->writers];
	w->sp = sp;
	w->pc = pc;
	w->dst = dst;
	w->len = len;
	w->window = window;
	w->func = func;
	switch (f->extent) {
	case ExtentAppend:
		w->old = string_length(dst);
		break;
	case ExtentLine:
		w->count = word(len);
		w->old = word(dst);
		break;
	case ExtentSplit:
		w->old = word(dst);
		break;
	case ExtentFormat:
		enter_format(w, f, r);
		break;
	}
	set_writers(b, b->writers + 1);
	if (f->flags & FuncTraced)
		quiet(b);
}

/* ---- allocators ---- */

static u64 requested(const struct func *f, const struct regs *r)
{
	u64 n = f->fixed;

	if (f->bytes) {
		n = argument(r, f->bytes);
		if (f->count && __builtin_mul_overflow(n, argument(r, f->count), &n))
			n = ~0ul;	/* refused by every allocator */
	}
	return n;
}

/* Says whether the outermost call takes no block that matters, and need not be told. */
static inline bool forgets(struct process *p, const struct alloc *a)
{
	return p->config & ConfigForget && a->f->flags & FuncWhole && !a->known;
}

/* Says whether the outermost call, a realloc, gives a block that matters for one that
 * did not. To the tracer it is a new block, in which all of this is written. */
static inline bool adopts(struct process *p, const struct alloc *a)
{
	return forgets(p, a) && a->f->role == RoleRealloc && a->ptr && !a->closed;
}

/* Records the outermost call as a whole. Its stack and the registers that
 * unwinding needs are as they were when it was entered. Returns the number of that stack, 0
 * if it is not known. */
static u32 tell_alloc(struct block *b, const struct regs *r, u64 result)
{
	struct alloc *a = &b->alloc;
	u64 n = captured(b, a->sp), size;
	struct allocated *t;
	u32 known = 0;

	if (forgets(b->process, a) && (a->closed || a->f->role == RoleFree))
		return 0;
	if (n && (known = known_stack(b, r, a->pc, a->sp, n)))
		n = 0;
	size = n ? AllocStack + n : AllocSize;
	if (n && room(b, size) < size) {
		n = 0;		/* buffers smaller than a stack: none then */
		size = AllocSize;
	}
	if (!reserve(b, size))
		return 0;
	t = start(b, KindAlloc, stamp(b));
	t->func = a->index;
	t->known = known;
	t->ret = a->pc;
	t->sp = a->sp;
	t->ptr = adopts(b->process, a) ? 0 : a->ptr;
	t->bytes = a->size;
	t->result = result;
	if (n) {
		t->regs[0] = r->gp[RBX];
		t->regs[1] = r->gp[RBP];
		t->regs[2] = r->gp[R12];
		t->regs[3] = r->gp[R13];
		t->regs[4] = r->gp[R14];
		t->regs[5] = r->gp[R15];
		size -= (fetch(t + 1, a->sp, n) + 7) & ~7ul;
	}
	commit(b, size);
	return known;
}

/* Says whether all of a call is told when it begins. */
static inline bool only_free(const struct func *f)
{
	return f->role == RoleFree && (f->flags & (FuncWhole | FuncHides)) == FuncWhole;
}

/* Says whether a call ends a block of which nobody knows. */
static bool ends_unknown(struct block *b, const struct regs *r, const struct func *f)
{
	struct process *p = b->process;

	return p->config & ConfigForget && only_free(f) && !is_open(p, argument(r, f->ptr)) && !p->lengths;
}

/* Tells the end of a block that was closed late, and is about to be given to realloc: what it
 * holds the tracer does not know. From here on it is as any block that does not matter. */
static __attribute__((noinline)) void tell_end(struct block *b, const struct regs *r)
{
	struct alloc *a = &b->alloc;
	u64 size = a->size;

	a->known = 1;
	a->size = 0;
	tell_alloc(b, r, 0);	/* as realloc(ptr, 0) does */
	a->known = 0;
	a->size = size;
	set_granules(b->process->shadow + (a->ptr >> GranuleShift), 1, b->process->closed);
}

/* The outermost call, which has been entered, may end a block. Of one that the tracer knows
 * it must be told that, which an open granule shows. */
static void judge_old(struct block *b, const struct regs *r)
{
	struct process *p = b->process;
	struct alloc *a = &b->alloc;

	if (a->f->role != RoleFree && a->f->role != RoleRealloc)
		return;
	if (late_ends(p, a->ptr) && a->f->role == RoleRealloc)
		tell_end(b, r);
	a->known = is_open(p, a->ptr);
	shadow_close(p, a);
	note_end(b, a->ptr);
}

/* Decides whether the block matters that the outermost call is about to give, when it returns:
 * its stack, and the registers that tell more of it, are as they were when it was entered.
 * Where calls are forgotten, the others leave their blocks open. */
static void judge_new(struct block *b, const struct regs *r)
{
	struct process *p = b->process;
	struct alloc *a = &b->alloc;
	enum judgement judged = MATTERS;

	if (p->barren && a->f->role == RoleRealloc && a->ptr && !a->known)
		judged = STAYS_CLOSED;	/* what lies there the tracer does not know */
	else if (a->size && a->size < p->least && a->f->role != RoleFree)
		judged = STAYS_CLOSED;
	else if (a->f->role != RoleFree && (!(p->config & ConfigForget) || (a->f->flags & FuncWhole && !a->known)))
		judged = judge_block(p, a->sp, r->gp[RBP], captured(b, a->sp), b->stack_lo <= a->sp && a->sp < b->stack_hi);
	a->closed = judged == STAYS_CLOSED;
	a->unsure = judged == NOT_KNOWN;
}

/* The outermost allocator call ends without having returned. */
static void drop_alloc(struct block *b)
{
	struct alloc *a = &b->alloc;
	bool hides = a->f->flags & FuncHides;

	a->sp = b->open_call = b->open_free = 0;
	if (hides)
		quiet(b);
}

static void enter_alloc(struct block *b, const struct regs *r, u32 func, u64 sp)
{
	struct process *p = b->process;
	const struct func *f = &p->funcs[func];
	struct alloc *a = &b->alloc;
	bool hidden = a->sp && a->f->flags & FuncHides;

	if (ends_unknown(b, r, f)) {
		if (a->sp)
			drop_alloc(b);	/* it was left unseen */
		return;
	}
	a->sp = sp;
	b->open_call = b->open_free = 0;
	*(only_free(f) ? &b->open_free : &b->open_call) = -sp;
	a->pc = word(sp);
	a->ptr = argument(r, f->ptr);
	a->size = requested(f, r);
	a->f = f;
	a->index = func;
	a->tail = 0;
	a->granules = 0;
	a->closed = a->known = a->unsure = 0;
	if (filters(p))
		judge_old(b, r);
	if (f->role == RoleFree && f->flags & FuncWhole && a->ptr)
		tell_alloc(b, r, 0);
	if (hidden || f->flags & FuncHides)
		quiet(b);
}

/* Records what an allocator wrote beside allocating. */
static __attribute__((noinline)) void put_beside(struct block *b, u64 addr, u64 size)
{
	const struct alloc *a = &b->alloc;
	struct span s = { .pc = a->pc, .sp = a->sp, .op = WriteBulk, .index = a->index };

	put_at(b, &s, addr, size);
}

/* Records what lies in a piece that a declared allocator gives out. Its chunk may be zeroed, or have
 * been filled in when it was no block that anybody knew. Of one that is resized where it is that is known: it may be large,
 * and grow a little at a time. */
static __attribute__((noinline)) void put_given(struct block *b, u64 addr)
{
	const struct alloc *a = &b->alloc;
	struct span s = { .pc = a->pc, .sp = a->sp, .op = WriteFound };

	if (a->f->role == RoleRealloc && addr == a->ptr)
		return;
	if (a->size && addr < USER && a->size <= USER - addr)
		put_at(b, &s, addr, a->size);
}

/* The outermost allocator call returns. */
static void leave_alloc(struct block *b, const struct regs *r, u64 result)
{
	struct alloc *a = &b->alloc;
	struct process *p = b->process;
	u64 block = result, wrote = 0, size = 0;	/* so many bytes there, beside allocating */
	u32 stack;

	if (filters(p))
		judge_new(b, r);
	switch (a->f->role) {
	case RolePosix:
		block = 0;
		if ((s32)result == 0) {
			wrote = a->ptr;
			size = 8;
			block = word(a->ptr);
		}
		break;
	case RoleStrdup:
		if (result) {
			wrote = result;
			size = a->size = string_length(result) + 1;
		}
		break;
	case RoleRealloc:
		if (!result && a->size)
			shadow_reopen(p, a);
		if (result && result == a->ptr) {
			a->closed = !a->known;	/* in place it stays what it was */
		} else if (result && filters(p) && adopts(p, a)) {
			wrote = result;
			size = a->size;
		}
		break;
	case RoleFree:
		block = 0;
		break;
	}
	if (block && filters(p) && !(p->barren && block == a->ptr && !a->known))
		shadow_block(p, a->f, block, a->size, a->closed);
	if (block && a->unsure && !a->closed && (a->f->flags & (FuncWhole | FuncDeclared)) == FuncWhole)
		late_note(p, block, a->size, a->sp, r->gp[RBP], captured(b, a->sp));
	if (a->f->flags & FuncWhole && a->f->role != RoleFree) {
		stack = tell_alloc(b, r, block);
		if (p->barren && stack && block && a->f->role == RoleBlock)
			close_alike(p, stack, block, a->size);
	}
	if (size)
		put_beside(b, wrote, size);
	if (block && a->f->flags & FuncDeclared)
		put_given(b, block);
	drop_alloc(b);
}

/* ---- sites ---- */

/* Forgets calls whose frames are gone. What writers among them wrote is recorded
 * as it is now. */
static inline void prune(struct block *b, u64 sp)
{
	while (b->open_writer && below(-b->open_writer, sp))
		pop_writer(b, 0, 0);
	if (b->alloc.sp && below(b->alloc.sp, sp))
		drop_alloc(b);
}

static void leave_site(struct block *b, const struct regs *r, u32 flags, u64 sp)
{
	struct alloc *a = &b->alloc;
	u64 result = r->gp[RAX];

	if (a->sp != sp)
		return;
	if (flags & SiteAllocLeave && flags & SiteTail) {
		a->tail = 1;
	} else if (flags & SiteAllocLeave) {
		leave_alloc(b, r, result);
	} else if (flags & SiteReturn && a->tail) {
		/* A function that it jumped to, and that is none of its own,
		 * returns in its place. */
		if (!(a->f->flags & FuncWhole))
			note(b, NoteReturn, a->index, 0, sp, result, 0, a->f->role == RolePosix ? word(a->ptr) : 0);
		leave_alloc(b, r, result);
	}
}

/* The points of a site, and the allocators that it enters or leaves. */
static inline void stops(struct block *b, const struct regs *r, const struct site *s, u64 sp, bool nested)
{
	struct alloc *a = &b->alloc;
	u32 flags = s->flags;
	bool allocates = flags & (SiteAllocEnter | SiteAllocLeave);
	const struct func *outer = flags & SiteAllocEnter && !nested ? &b->process->funcs[s->alloc - 1] : a->sp ? a->f : 0;
	bool whole = allocates && (!outer || outer->flags & FuncWhole);

	if (flags & SiteStop || (allocates && !whole))
		stop(b, r, s, sp, flags & SiteStack && !nested,
		     whole ? StopWhole : nested && flags & SiteStack ? StopNested : 0);
}

/* Stores to variables that are blocks are recorded as long as their function runs. */
static __attribute__((noinline)) void frame(struct process *p, const struct site *s, u64 sp)
{
	u64 lo = sp + s->frame_lo, hi = sp + s->frame_hi;

	if (!filters(p) || hi <= lo || hi > USER)
		return;
	lo >>= GranuleShift;
	hi = (hi + Granule - 1) >> GranuleShift;
	set_granules(p->shadow + lo, hi - lo, s->flags & SiteFrameEnter ? p->open : p->closed);
}

/* The functions and points of a site. */
static inline void functions(struct block *b, const struct regs *r, const struct site *s, u64 sp)
{
	struct alloc *a = &b->alloc;
	u32 flags = s->flags;
	/* One that an allocator jumped to is inside it too. */
	bool nested = a->sp > sp || (a->sp == sp && a->tail);

	if (s->passed)
		tell_passed(b, r, s, sp);
	if (s->member)
		tell_member(b, argument(r, s->member & 15), s->member >> 4, s->pc, sp);
	if (flags & SiteWriterEnter)
		enter_writer(b, r, s->writer - 1, sp);
	if (flags & (SiteStop | SiteAllocEnter | SiteAllocLeave))
		stops(b, r, s, sp, nested);
	if (flags & SiteWriterLeave && !(flags & SiteTail) && b->open_writer == -sp)
		pop_writer(b, 1, r->gp[RAX]);
	if (flags & SiteOrder)
		note_order(b);
	if (flags & SiteAllocEnter && !nested)
		enter_alloc(b, r, s->alloc - 1, sp);
	if (flags & (SiteFrameEnter | SiteFrameLeave))
		frame(b->process, s, sp);
	if (flags & (SiteAllocLeave | SiteReturn))
		leave_site(b, r, flags, sp);
}

#endif
