//go:build ignore

/* The kernel's half of the eBPF engine: one program for all probed
 * instructions, one for uretprobes, and a few tracepoints. docs/design/bpf.md
 * tells how they play together. */
#include "kernel.h"
#include "../../inline/hook/c/format.h"
#include "shared.h"
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

#define PAGE 4096
#define CHUNK 4096
#define ZF 0x40
#define DF 0x400
#define SIGSTOP_NR 19
#define MAIN_STACK_MAX (64ull << 20)
#define WAKE_EVERY 256
#define MMAP_EXEC 4		/* PROT_EXEC */
#define MMAP_ANONYMOUS 0x20	/* MAP_ANONYMOUS */

/* Set by the Go side before loading. */
const volatile __u32 target = 0;	/* pid, in our pid namespace */
const volatile __u32 pidns = 0;		/* inode of our pid namespace */
const volatile __u32 stack_bytes = 1024;	/* captured at allocator calls; a power of two up to 4096 */
const volatile __u32 frames = 0;	/* stores to stacks are wanted: some variables there are nodes */
const volatile __u64 max_data = 1 << 20;	/* bytes of one write that are read */
const volatile __u64 hold_at = 16 << 20;	/* bytes in the ring at which the target is held */
const volatile __u32 nranges = 0;

volatile __u64 held = 0;	/* SIGSTOPs sent, counted after sending */
volatile __u32 over = 0;	/* the program replaced itself: nothing more is recorded */
volatile __u64 killed = 0;	/* the fatal signal was reported */
volatile __u64 brk = 0;		/* program break */
volatile __u32 adopted = 0;	/* threads found at attach */

/* Keep the types of ring records in the object's type information. */
struct record *record_type __attribute__((unused));
struct stop *stop_type __attribute__((unused));

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 25);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct site);
} sites SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct store);
} stores SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fn);
} funcs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 512);
	__type(key, __u32);
	__type(value, struct sysdesc);
} syscalls SEC(".maps");

/* Address ranges whose stores are not wanted: static data. Sorted, disjoint. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_RANGES);
	__type(key, __u32);
	__type(value, struct range);
} ranges SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counters);
} counts SEC(".maps");

/* A store whose bytes are read after it has executed. pc 0: none. */
struct pending {
	__u64 pc, after, sp;
	__u64 addr, size, base;
	__u64 cx;	/* string: rcx at its last iteration */
	__u32 site;
	__u8 shape, unused[3];
	__u8 old[64];	/* masked, conditional: bytes before */
};

/* A call of a writer function that has not returned. sp 0: none. */
struct writer {
	__u64 sp, pc;
	__u64 dst;
	union {
		struct {
			__u64 len, count;
			__u64 old;	/* append: length of the string before; line, split: the pointer before */
		};
		__u64 passed[5];	/* format: the arguments behind it that registers held */
		struct {	/* format: pointers in a va_list */
			__u64 saved, saved_count, more;	/* where some lie, how many, and where the others do */
		};
	};
	__u64 window;	/* its own stores to so many bytes at dst are not reported */
	__u32 func;
	__u32 unused;
};

/* A write being reported. Its bytes are read from memory, chunk by chunk. It
 * lies in the thread and not on the stack: there the verifier would know its
 * numbers and follow every iteration of a loop over them. */
struct span {
	__u64 addr, size, limit, off;
	__u64 pc, sp, base;
	__u32 site;
	__u8 kind, flags, unused[2];
};

/* A traced thread. A task without one is not traced. */
struct thread {
	__u32 id;	/* in our pid namespace */
	__u32 records;
	__u64 stack_lo, stack_hi;	/* own stack, if known */
	__u64 alloc_sp, alloc_pc, alloc_ptr;	/* outermost allocator call */
	__u64 alloc_size;	/* of FR_GIVES, bytes */
	__u32 alloc_func;
	__u8 alloc_hides, alloc_uret, unused[2];
	struct pending p;
	struct writer w;
	struct format format;	/* here for the reason why a span is */
	struct span s;
};

/* What a bpf_loop callback gets: it must lie on the stack. */
struct loop {
	struct thread *t;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

/* Bounds n so that the verifier sees it: the compiler must not know n. */
#define BOUND(n, max) do { \
	asm volatile("" : "+r"(n)); \
	if ((n) > (max)) \
		(n) = (max); \
} while (0)

/* ---- counting, sending ---- */

#define COUNT(field) do { \
	__u32 zero_ = 0; \
	struct counters *c_ = bpf_map_lookup_elem(&counts, &zero_); \
	if (c_) \
		__sync_fetch_and_add(&c_->field, 1); \
} while (0)

static __always_inline int dropped(void)
{
	COUNT(dropped);
	return 0;
}

/* Hands a record to the reader. Wake-ups cost: one every WAKE_EVERY records of
 * a thread, and for what must not wait. */
static __always_inline void submit(struct thread *t, struct record *r, bool urgent)
{
	__u64 flags = BPF_RB_NO_WAKEUP;

	if (urgent || (++t->records & (WAKE_EVERY - 1)) == 0)
		flags = BPF_RB_FORCE_WAKEUP;
	bpf_ringbuf_submit(r, flags);
}

/* Holds the target while the ring is fuller than hold_at. `held` grows after
 * the signal was sent: the reader answers each growth with a SIGCONT, so none
 * of its SIGCONTs can come before the SIGSTOP that it answers.
 * The signal is the thread's own. One to the process waits for the thread that
 * got it first to run again, and until then those of the others are the same
 * pending signal and stop nobody: they filled the ring meanwhile. */
static __always_inline void hold(struct thread *t)
{
	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < hold_at)
		return;
	if (bpf_send_signal_thread(SIGSTOP_NR) == 0)
		__sync_fetch_and_add(&held, 1);
}

/* Begins a record with room for payload bytes, which the verifier must know to be constant. NULL: the ring
 * is full, and what would have been sent is counted as dropped. */
static __always_inline struct record *begin(__u64 payload, struct thread *t, __u8 kind, __u32 site,
					    __u64 pc, __u64 sp)
{
	struct record *r;

	COUNT(hits);
	r = bpf_ringbuf_reserve(&ring, sizeof(*r) + payload, 0);
	if (!r) {
		dropped();
		return NULL;
	}
	r->kind = kind;
	r->flags = 0;
	r->n = 0;
	r->site = site;
	r->thread = t->id;
	r->offset = 0;
	r->time = bpf_ktime_get_ns();
	r->pc = pc;
	r->sp = sp;
	r->addr = 0;
	r->size = 0;
	r->base = 0;
	return r;
}

/* Sends a record without payload. */
static __always_inline void note(struct thread *t, __u8 kind, __u32 site, __u64 pc, __u64 sp,
				 __u64 addr, __u64 size, __u64 base)
{
	struct record *r = begin(0, t, kind, site, pc, sp);
	if (!r)
		return;
	r->addr = addr;
	r->size = size;
	r->base = base;
	submit(t, r, kind >= R_EXEC);
}

/* ---- writes ---- */

static __always_inline long fetch(void *to, __u64 n, __u64 from, bool sleepable)
{
	if (sleepable)
		return bpf_copy_from_user(to, n, (void *)from);
	return bpf_probe_read_user(to, n, (void *)from);
}

/* Sends the next chunk of at most cap bytes (a constant). Returns 1 when the
 * write is complete. */
static __always_inline long put(struct thread *t, const __u32 cap, bool sleepable)
{
	struct span *s = &t->s;
	struct record *r;
	__u64 left = s->limit - s->off;
	__u64 n = left < cap ? left : cap;

	r = begin(cap, t, s->kind, s->site, s->pc, s->sp);
	if (!r)
		return 1;
	r->flags = s->flags;
	r->addr = s->addr;
	r->size = s->size;
	r->base = s->base;
	r->offset = s->off;

	BOUND(n, cap);
	if (fetch(r + 1, n, s->addr + s->off, sleepable))
		r->flags |= RF_UNREAD;
	r->n = n;
	s->off += n;
	if (s->off < s->limit)
		r->flags |= RF_MORE;
	else if (s->limit < s->size)
		r->flags |= RF_PARTIAL;
	submit(t, r, false);
	return s->off >= s->limit;
}

static long chunk_sleepable(__u32 i, struct loop *l)
{
	return put(l->t, CHUNK, true);
}

static long chunk_atomic(__u32 i, struct loop *l)
{
	return put(l->t, CHUNK, false);
}

/* Begins the description of a write. */
static __always_inline struct span *span(struct thread *t, __u8 kind, __u32 site, __u64 pc, __u64 sp,
					 __u64 addr, __u64 size)
{
	struct span *s = &t->s;

	s->kind = kind;
	s->flags = 0;
	s->site = site;
	s->pc = pc;
	s->sp = sp;
	s->addr = addr;
	s->base = addr;
	s->size = size;
	return s;
}

/* Sends the thread's span. Chunks have four sizes because a reservation is
 * constant. */
static __always_inline void emit(struct thread *t, bool sleepable)
{
	struct span *s = &t->s;
	struct loop l = { t };

	s->off = 0;
	s->limit = s->size < max_data ? s->size : max_data;
	if (!s->limit)
		return;
	if (s->limit <= 8)
		put(t, 8, sleepable);
	else if (s->limit <= 64)
		put(t, 64, sleepable);
	else if (s->limit <= 512)
		put(t, 512, sleepable);
	else
		bpf_loop(1 << 16, sleepable ? chunk_sleepable : chunk_atomic, &l, 0);
}

/* Functions that are not static are verified by themselves, once, and not with each state of each caller: on_site
 * takes a seventh of the steps so. What they are given may be NULL to the verifier. */
__noinline int emit_sleepable(struct thread *t)
{
	if (t)
		emit(t, true);
	return 0;
}

__noinline int emit_atomic(struct thread *t)
{
	if (t)
		emit(t, false);
	return 0;
}

/* ---- pending stores ---- */

/* Sends what a masked store changed: new bytes, then old ones. */
static __always_inline void send_masked(struct thread *t, bool late, bool sleepable)
{
	struct pending *p = &t->p;
	__u64 n = p->size;
	struct record *r = begin(128, t, R_STORE, p->site, p->pc, p->sp);
	if (!r)
		return;
	r->flags = RF_MASKED | (late ? RF_LATE : 0);
	r->addr = p->addr;
	r->size = p->size;
	r->base = p->base;
	r->n = 128;
	BOUND(n, 64);
	if (fetch(r + 1, n, p->addr, sleepable)) {
		r->flags |= RF_UNREAD;
		r->n = 0;
	}
	__builtin_memcpy((char *)(r + 1) + 64, p->old, 64);
	submit(t, r, false);
}

/* Says whether a conditional store took place: by the zero flag if the
 * instruction was the last one executed, else by its effect. */
static __always_inline bool succeeded(struct pending *p, bool late, __u64 flags, bool sleepable)
{
	__u8 now[16] = {};
	__u64 n = p->size;
	int i;

	if (!late)
		return flags & ZF;
	BOUND(n, 16);
	if (fetch(now, n, p->addr, sleepable))
		return true;	/* reported as unread */
	for (i = 0; i < 16; i++)
		if (i < n && now[i] != p->old[i])
			return true;
	return false;
}

/* Reports the thread's pending store, which has executed: the thread is at ip
 * now. */
static __always_inline void settle(struct thread *t, __u64 ip, __u64 flags, bool sleepable)
{
	struct pending *p = &t->p;
	bool late = ip != p->after;
	struct span *s;

	if (!p->pc)
		return;
	if (p->shape == SHAPE_MASKED && p->size <= 64) {
		send_masked(t, late, sleepable);
		p->pc = 0;
		return;
	}
	if (p->shape == SHAPE_COND && !succeeded(p, late, flags, sleepable)) {
		p->pc = 0;
		return;
	}
	s = span(t, R_STORE, p->site, p->pc, p->sp, p->addr, p->size);
	s->flags = late ? RF_LATE : 0;
	s->base = p->base;
	p->pc = 0;
	if (sleepable)
		emit_sleepable(t);
	else
		emit_atomic(t);
}

/* ---- stores ---- */

static __always_inline bool excluded(__u64 addr, __u64 size)
{
	__u32 lo = 0, hi = nranges;
	int i;

	for (i = 0; i < 8 && lo < hi; i++) {	/* MAX_RANGES is 2^7 */
		__u32 mid = (lo + hi) / 2;
		struct range *r = bpf_map_lookup_elem(&ranges, &mid);

		if (!r)
			return false;
		if (addr >= r->hi)
			lo = mid + 1;
		else if (addr < r->lo)
			hi = mid;
		else
			return addr + size <= r->hi;
	}
	return false;
}

/* Says whether a store to addr is worth a record. The red zone (System V ABI)
 * reaches 128 bytes below the stack pointer. */
static __always_inline bool wanted(struct thread *t, __u64 sp, __u64 addr, __u64 size)
{
	if (!frames && t->stack_lo <= sp && sp < t->stack_hi && addr >= sp - 128 && addr < t->stack_hi)
		return false;
	if (t->alloc_sp >= sp && t->alloc_hides)
		return false;	/* the allocator's own book-keeping */
	if (t->w.sp >= sp && addr - t->w.dst < t->w.window)
		return false;	/* reported as a whole when the writer returns */
	return !excluded(addr, size);
}

/* The general registers by ModRM number. */
static __always_inline void registers(__u64 *gp, struct pt_regs *ctx)
{
	gp[0] = ctx->ax;
	gp[1] = ctx->cx;
	gp[2] = ctx->dx;
	gp[3] = ctx->bx;
	gp[4] = ctx->sp;
	gp[5] = ctx->bp;
	gp[6] = ctx->si;
	gp[7] = ctx->di;
	gp[8] = ctx->r8;
	gp[9] = ctx->r9;
	gp[10] = ctx->r10;
	gp[11] = ctx->r11;
	gp[12] = ctx->r12;
	gp[13] = ctx->r13;
	gp[14] = ctx->r14;
	gp[15] = ctx->r15;
}

/* The effective address (Intel SDM volume 1, section 3.7.5). */
static __always_inline __u64 address(const struct store *d, const __u64 *gp, __u64 pc)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 a = d->disp;

	if (d->flags & ST_RIP)
		a += pc + d->len;
	if (d->base != NOREG)
		a += gp[d->base & 15];
	if (d->index != NOREG)
		a += gp[d->index & 15] * d->scale;
	if (d->flags & ST_ADDR32)
		a = (__u32)a;
	if (d->segment == 'f')
		a += task->thread.fsbase;
	else if (d->segment == 'g')
		a += task->thread.gsbase;
	return a;
}

/* What the bit number of bts, btr and btc adds to the operand's address, in
 * bytes: it is signed and may lead anywhere (Intel SDM volume 2, "BTS"). */
static __always_inline __u64 bit_offset(const struct store *d, const __u64 *gp)
{
	__u64 bit = gp[d->value & 15];

	switch (d->width) {
	case 2: return ((__s64)(__s16)bit >> 4) * 2;
	case 4: return ((__s64)(__s32)bit >> 5) * 4;
	case 8: return ((__s64)bit >> 6) * 8;
	}
	return 0;
}

/* The value with its low width bytes in reverse order (movbe). */
static __always_inline __u64 swapped(__u64 v, __u16 width)
{
	return __builtin_bswap64(v) >> ((64 - 8 * (width & 15)) & 63);
}

/* Sends a store whose value is known before it executes. */
static __always_inline void send_value(struct thread *t, const struct store *d, __u64 pc, __u64 sp,
				       __u64 addr, __u64 base, __u64 value)
{
	struct record *r = begin(8, t, R_STORE, d->site, pc, sp);
	if (!r)
		return;
	r->n = d->width < 8 ? d->width : 8;
	r->addr = addr;
	r->size = d->width;
	r->base = base;
	*(__u64 *)(r + 1) = value;
	submit(t, r, false);
}

/* Remembers a store until it has executed. */
static __always_inline void postpone(struct thread *t, const struct store *d, __u64 pc, __u64 sp,
				     __u64 addr, __u64 size, __u64 base)
{
	struct pending *p = &t->p;
	__u64 n = size;

	p->pc = pc;
	p->after = pc + d->len;
	p->sp = sp;
	p->addr = addr;
	p->size = size;
	p->base = base;
	p->site = d->site;
	p->shape = d->shape;
	if (d->shape == SHAPE_MASKED || d->shape == SHAPE_COND) {
		BOUND(n, 64);
		bpf_copy_from_user(p->old, n, (void *)addr);
	}
}

/* Remembers a rep string store once for all its iterations, each of which is
 * a hit. */
static __always_inline void string_store(struct thread *t, const struct store *d,
					 const __u64 *gp, __u64 pc, __u64 sp, __u64 flags)
{
	struct pending *p = &t->p;
	__u64 cx = gp[1], di = gp[7], addr = di, size;

	if (d->flags & ST_ADDR32) {
		cx = (__u32)cx;
		addr = (__u32)di;
	}
	if (d->flags & ST_REP && !cx)
		return;
	if (!(d->flags & ST_REP))
		cx = 1;
	size = cx * d->width;
	if (flags & DF)
		addr -= size - d->width;
	if (!wanted(t, sp, addr, size)) {
		COUNT(filtered);
		return;
	}
	postpone(t, d, pc, sp, addr, size, di);
	p->cx = gp[1];
}

/* Says whether this hit is the next iteration of the pending string store. */
static __always_inline bool iterates(struct thread *t, struct pt_regs *ctx)
{
	struct pending *p = &t->p;

	if (p->pc != ctx->ip || p->shape != SHAPE_STRING || ctx->cx >= p->cx)
		return false;
	p->cx = ctx->cx;
	return true;
}

static __noinline int store_hit(struct thread *t, struct store *d, struct pt_regs *ctx)
{
	__u64 gp[16], addr, base = 0, pc = ctx->ip, sp = ctx->sp, value;

	if (!t || !d)
		return 0;
	registers(gp, ctx);
	if (d->shape == SHAPE_STRING) {
		string_store(t, d, gp, pc, sp, ctx->flags);
		return 0;
	}
	addr = address(d, gp, pc);
	if (d->shape == SHAPE_BIT)
		addr += bit_offset(d, gp);
	if (!wanted(t, sp, addr, d->width)) {
		COUNT(filtered);
		return 0;
	}
	if (d->base != NOREG)
		base = gp[d->base & 15];
	if (d->shape == SHAPE_FIXED && d->source == SOURCE_IMM) {
		send_value(t, d, pc, sp, addr, base, d->imm);
	} else if (d->shape == SHAPE_FIXED && d->source == SOURCE_REG) {
		value = gp[d->value & 15] >> (d->shift & 63);
		if (d->flags & ST_SWAP)
			value = swapped(value, d->width);
		send_value(t, d, pc, sp, addr, base, value);
	} else {
		postpone(t, d, pc, sp, addr, d->width, base);
	}
	return 0;
}

/* A store that the kernel refuses to probe (LOCK prefix) has just executed. Its
 * address registers are unchanged: the plan takes no others. */
static __noinline int locked_hit(struct thread *t, struct store *d, struct pt_regs *ctx)
{
	__u64 gp[16], addr, pc;
	struct span *s;

	if (!t || !d)
		return 0;
	registers(gp, ctx);
	pc = ctx->ip - d->len;
	addr = address(d, gp, pc);
	if (d->shape == SHAPE_BIT)
		addr += bit_offset(d, gp);
	if (!wanted(t, ctx->sp, addr, d->width)) {
		COUNT(filtered);
		return 0;
	}
	if (d->shape == SHAPE_COND && !(ctx->flags & ZF))
		return 0;
	s = span(t, R_STORE, d->site, pc, ctx->sp, addr, d->width);
	s->base = d->base != NOREG ? gp[d->base & 15] : 0;
	emit_sleepable(t);
	return 0;
}

/* ---- functions ---- */

/* Argument n of a function call, from 1. */
static __always_inline __u64 argument(struct pt_regs *ctx, __u8 n)
{
	__u64 a[8] = { 0, ctx->di, ctx->si, ctx->dx, ctx->cx, ctx->r8, ctx->r9, 0 };

	return a[n & 7];
}

static __always_inline __u64 word(__u64 addr)
{
	__u64 v = 0;

	bpf_copy_from_user(&v, sizeof(v), (void *)addr);
	return v;
}

/* The state of string_length's loop. */
struct length {
	__u64 at, n;
	char buf[64];
};

static long measure(__u32 i, struct length *l)
{
	long got = bpf_probe_read_user_str(l->buf, sizeof(l->buf), (void *)(l->at + l->n));

	if (got <= 0)
		return 1;
	l->n += got - 1;
	return got < sizeof(l->buf);
}

/* strlen(3) of a user string; a longer one than a megabyte is cut. */
static __always_inline __u64 string_length(__u64 at)
{
	struct length l = { .at = at };

	bpf_loop(1 << 14, measure, &l, 0);
	return l.n;
}

#define LAST_PAGE 0x7fffffffe000ULL /* of user memory, with TASK_SIZE of x86-64: where it is unless that is taken */

/* Says whether pc is where a function that is left through a uretprobe returns to
 * (kernel/events/uprobes.c, uprobe_get_trampoline_vaddr): the start of a page. A
 * writer that finds it was jumped to by such a function. */
static __always_inline bool is_trampoline(__u64 pc)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (pc & (PAGE - 1))
		return false;
	if (!bpf_core_field_exists(struct xol_area, vaddr))
		return pc == LAST_PAGE;
	return pc == BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
}

/* Notes where the pointers behind a format are: in registers and on the stack, or in a
 * va_list (System V ABI, 3.5.7). */
static __always_inline void enter_format(struct writer *w, struct fn *f, struct pt_regs *ctx)
{
	__u64 list = argument(ctx, f->len);
	__u32 used, i;

	if (f->len) {
		used = word(list);
		w->saved = word(list + 16) + used;
		w->saved_count = used <= 48 ? (48 - used) / 8 : 0;
		w->more = word(list + 8);
		return;
	}
	for (i = 0; i < 5; i++)
		w->passed[i] = argument(ctx, f->dst + 1 + i);
}

static __always_inline void enter_writer(struct thread *t, struct pt_regs *ctx, __u32 func)
{
	struct fn *f = bpf_map_lookup_elem(&funcs, &func);
	struct writer *w = &t->w;
	__u64 pc, dst, len, count;

	if (!f)
		return;
	if (w->sp > ctx->sp)
		return;		/* inside another writer */
	if (t->alloc_sp > ctx->sp && t->alloc_hides)
		return;		/* inside an allocator */
	if (t->alloc_sp == ctx->sp && t->alloc_uret)
		return;		/* an allocator jumped here at its end (strdup to memcpy) */
	if (!argument(ctx, f->dst))
		return;
	pc = word(ctx->sp);
	if ((f->skip_lo <= pc && pc < f->skip_hi) || is_trampoline(pc))
		return;		/* called, or jumped to at its end, by the library itself */
	dst = argument(ctx, f->dst);
	len = argument(ctx, f->len);
	count = argument(ctx, f->count);
	if (f->extent == EXTENT_PRODUCT)
		len *= count;
	if (w->sp == ctx->sp && w->pc == pc && w->dst == dst && w->func != func)
		return;		/* jumped to: from one place one function is called */
	w->sp = ctx->sp;
	w->pc = pc;
	w->func = func;
	w->dst = dst;
	w->len = len;
	w->count = count;
	w->window = max_data;
	switch (f->extent) {
	case EXTENT_LINE:
		w->window = 0;
		w->count = word(len);
		w->old = word(dst);
		break;
	case EXTENT_SPLIT:
		w->window = 0;
		w->old = word(dst);
		break;
	case EXTENT_FORMAT:
		w->window = 0;
		enter_format(w, f, ctx);
		break;
	case EXTENT_PRODUCT:
	case EXTENT_ARG:
	case EXTENT_MIN_ARG:
		w->window = w->len;
		break;
	case EXTENT_FIXED:
		w->window = f->fixed;
		break;
	case EXTENT_APPEND:
		w->old = string_length(w->dst);
		break;
	}
	if (!f->hides)
		w->window = 0;	/* its stores are not probed: what is was called back, or is a handler */
}

/* Sends n bytes at addr, as the thread's span says. */
static __always_inline void emit_at(struct thread *t, __u64 addr, __u64 n)
{
	t->s.addr = t->s.base = addr;
	t->s.size = n;
	emit_sleepable(t);
}

/* The state of leave_format's loop. */
struct scan {
	struct thread *t;
	__u64 sp;
	__u32 first;	/* number of the argument behind the format; 0: the others are in a va_list */
	__u32 unused;
};

/* The pointer of number n behind a format, from 0. */
static __always_inline __u64 behind_format(struct scan *v, __u64 n)
{
	struct writer *w = &v->t->w;
	__u64 passed = 7 - v->first;

	if (!v->first)
		return word(n < w->saved_count ? w->saved + 8 * n : w->more + 8 * (n - w->saved_count));
	if (n >= passed)
		return word(v->sp + 8 + 8 * (n - passed));
	BOUND(n, 4);
	return w->passed[n];
}

static long scan_one(__u32 i, struct scan *v)
{
	struct format *f = &v->t->format;
	__u64 addr;
	char c = 0;

	bpf_copy_from_user(&c, 1, (void *)(v->t->w.dst + i));	/* else it ends here */
	if (format_step(f, c)) {
		addr = behind_format(v, f->argument);
		if (f->block) {
			emit_at(v->t, addr, 8);
			addr = word(addr);
		}
		emit_at(v->t, addr, f->size ? f->size : string_length(addr) + 1);
	}
	return f->state == FORMAT_END;
}

/* Sends what scanf and its kin wrote. */
__noinline int leave_format(struct thread *t, struct fn *f, int assigned)
{
	struct scan v = {};

	if (!t || !f)
		return 0;
	v.t = t;
	v.sp = t->s.sp;
	v.first = f->len ? 0 : f->dst + 1;
	format_start(&t->format, assigned);
	bpf_loop(FORMAT_MAX, scan_one, &v, 0);
	return 0;
}

/* Sends what getline and its kin wrote: where the buffer is and how large, if that is new. */
__noinline int leave_line(struct thread *t, __s64 n)
{
	struct writer *w;
	__u64 at;

	if (!t)
		return 0;
	w = &t->w;
	at = word(w->dst);
	if (at != w->old)
		emit_at(t, w->dst, 8);
	if (word(w->len) != w->count)
		emit_at(t, w->len, 8);
	if (n >= 0)
		emit_at(t, at, n + 1);
	return 0;
}

/* Sends what strsep and its kin wrote: how far they have come, and the end of the token. */
__noinline int leave_split(struct thread *t, __u64 token)
{
	__u64 at;
	__u8 end = 1;

	if (!t)
		return 0;
	at = word(t->w.dst);
	if (at != t->w.old)
		emit_at(t, t->w.dst, 8);
	if (token && at)
		bpf_copy_from_user(&end, 1, (void *)(at - 1));
	if (!end)
		emit_at(t, at - 1, 1);
	return 0;
}

/* Reports what the thread's open writer wrote. returned: its result is known. */
__noinline int leave_writer(struct thread *t, bool returned, __u64 result)
{
	struct writer *w;
	struct span *s;
	struct fn *f;
	__s64 n = result;
	__u32 func;
	__u8 first = 0;

	if (!t)
		return 0;
	w = &t->w;
	func = w->func;
	s = span(t, R_BULK, func, w->pc, w->sp, w->dst, 0);
	w->sp = 0;
	f = bpf_map_lookup_elem(&funcs, &func);
	if (!f)
		return 0;
	s->flags = returned ? 0 : RF_LATE;
	switch (f->extent) {
	case EXTENT_ARG:
	case EXTENT_PRODUCT:
	case EXTENT_MIN_ARG:
		s->size = w->len;
		break;
	case EXTENT_FIXED:
		s->size = f->fixed;
		break;
	case EXTENT_APPEND:
		s->addr = w->dst + w->old;
		s->size = string_length(s->addr) + 1;
		break;
	case EXTENT_STRING:
		/* NULL from fgets and gets: nothing was read. 0 from sprintf:
		 * the empty string was written. */
		bpf_copy_from_user(&first, 1, (void *)w->dst);
		if (returned && !result && first)
			return 0;
		s->size = string_length(s->addr) + 1;
		break;
	case EXTENT_RESULT:
		if (returned && n > 0)
			s->size = n;
		break;
	case EXTENT_RESULT_PRODUCT:
		if (returned && n > 0)
			s->size = n * w->len;
		break;
	case EXTENT_RETURNED:
		if (returned && result >= w->dst)
			s->size = result - w->dst + 1;
		break;
	case EXTENT_BOUNDED:
		n = (int)n;
		if (returned && n >= 0 && w->len)
			s->size = n + 1 < w->len ? n + 1 : w->len;
		break;
	case EXTENT_LINE:
		/* asprintf returns an int: the upper half of its -1 is not set. */
		return leave_line(t, returned && result <= 0x7fffffff ? n : -1);
	case EXTENT_SPLIT:
		return leave_split(t, returned ? result : 0);
	case EXTENT_FORMAT:
		return leave_format(t, f, returned ? (int)n : -1);
	}
	emit_sleepable(t);
	return 0;
}

/* Sends what posix_memalign and strdup wrote beside allocating, and what lies in a piece that a
 * declared allocator gives, or in one that it resizes and that has moved. */
static __always_inline void leave_alloc(struct thread *t, __u64 result)
{
	__u32 func = t->alloc_func;
	struct fn *f = bpf_map_lookup_elem(&funcs, &func);
	struct span *s;

	if (!f)
		return;
	s = span(t, R_BULK, func, t->alloc_pc, t->alloc_sp, 0, 0);
	if (f->role == FR_POSIX && (int)result == 0) {
		s->addr = t->alloc_ptr;
		s->size = 8;
	} else if (f->role == FR_STRDUP && result) {
		s->addr = result;
		s->size = string_length(result) + 1;
	} else if (f->role == FR_GIVES && result && result != t->alloc_ptr && t->alloc_size) {
		s->kind = R_FOUND;
		s->addr = result;
		s->size = t->alloc_size;
	} else {
		return;
	}
	s->base = s->addr;
	emit_sleepable(t);
}

/* Fills the payload of R_STOP: registers, and stack if it is wanted. */
static __always_inline void snapshot(struct thread *t, struct record *r, struct stop *p,
				     struct pt_regs *ctx, bool stack)
{
	__u64 sp = ctx->sp;
	__u64 n = stack_bytes;

	p->ret = word(sp);
	p->args[0] = ctx->di;
	p->args[1] = ctx->si;
	p->args[2] = ctx->dx;
	p->args[3] = ctx->cx;
	p->args[4] = ctx->r8;
	p->args[5] = ctx->r9;
	p->saved[0] = ctx->bx;
	p->saved[1] = ctx->bp;
	p->saved[2] = ctx->r12;
	p->saved[3] = ctx->r13;
	p->saved[4] = ctx->r14;
	p->saved[5] = ctx->r15;
	r->n = sizeof(*p);
	if (!stack)
		return;
	if (bpf_copy_from_user(p + 1, n, (void *)sp) == 0) {
		r->n = sizeof(*p) + n;
		return;
	}
	/* Less than that is left of the stack: take what its page holds. */
	n = PAGE - (sp & (PAGE - 1));
	BOUND(n, stack_bytes);
	if (bpf_copy_from_user(p + 1, n, (void *)sp) == 0)
		r->n = sizeof(*p) + n;
}

/* Sends R_STOP without the stack. */
static __noinline int stop_hit(struct thread *t, struct pt_regs *ctx, __u32 site, __u32 mode)
{
	struct record *r;

	if (!t)
		return 0;
	r = begin(sizeof(struct stop), t, R_STOP, site, ctx->ip, ctx->sp);
	if (!r)
		return 0;
	r->addr = ctx->ax;
	if (mode & SF_ALLOC_LEAVE)
		r->base = word(t->alloc_ptr);
	if (mode & SF_STACK)
		r->flags = RF_NESTED;
	snapshot(t, r, (struct stop *)(r + 1), ctx, false);
	submit(t, r, false);
	return 0;
}

/* Sends R_STOP with the stack: an outermost allocator call. */
static __noinline int stack_hit(struct thread *t, struct pt_regs *ctx, __u32 site)
{
	struct record *r;

	if (!t)
		return 0;
	r = begin(sizeof(struct stop) + stack_bytes, t, R_STOP, site, ctx->ip, ctx->sp);
	if (!r)
		return 0;
	r->addr = ctx->ax;
	r->size = t->w.sp;	/* a uretprobe may have replaced what lies there */
	r->base = t->w.pc;
	snapshot(t, r, (struct stop *)(r + 1), ctx, true);
	submit(t, r, false);
	return 0;
}

/* Tells what the arguments of a watched function lead to on the thread's stack: stores there are
 * not recorded, and who called may keep there what the function works on. */
static __noinline int tell_passed(struct thread *t, struct pt_regs *ctx, struct site *d)
{
	__u64 addr, size;
	int i;

	if (!t || !d || t->stack_lo > ctx->sp || ctx->sp >= t->stack_hi)
		return 0;
	for (i = 0; i < 6; i++) {
		addr = argument(ctx, i + 1);
		size = d->passed[i] * 8;
		if (!size || addr <= ctx->sp || addr >= t->stack_hi)
			continue;
		if (size > t->stack_hi - addr)
			size = t->stack_hi - addr;
		span(t, R_PASSED, 0, ctx->ip, ctx->sp, addr, size);
		emit_sleepable(t);
	}
	return 0;
}

/* Tells the text that arguments lead to, wherever it lies but in the argument's own object, which
 * tell_passed told: what lies in other blocks than nodes may not be recorded. */
static __noinline int tell_texts(struct thread *t, struct pt_regs *ctx, struct site *d)
{
	__u64 at;
	__u8 of;
	int i;

	if (!t || !d)
		return 0;
	for (i = 0; i < 6; i++) {
		at = argument(ctx, i + 1);
		of = d->texts[i];
		if (!of || !at)
			continue;
		if (of != TEXT_HERE)
			at = word(at + 8 * (of - 1));
		else if (at > ctx->sp && at < t->stack_hi && t->stack_lo <= ctx->sp)
			continue;
		if (!at)
			continue;
		span(t, R_PASSED, 0, ctx->ip, ctx->sp, at, TEXT_SIZE);
		emit_sleepable(t);
	}
	return 0;
}

/* ---- threads ---- */

/* The number of a task in our pid namespace; its global one if it has none. */
static __always_inline __u32 number(struct task_struct *task)
{
	struct pid *pid = task->thread_pid;
	__u32 level;
	int i;

	if (!pid)
		return task->pid;
	level = BPF_CORE_READ(pid, level);
#pragma unroll
	for (i = 0; i < 8; i++) {	/* namespaces nest up to 32 deep; 8 is plenty */
		struct upid u = {};

		if (i > level)
			break;
		bpf_core_read(&u, sizeof(u), &pid->numbers[i]);
		if (BPF_CORE_READ(u.ns, ns.inum) == pidns)
			return u.nr;
	}
	return task->pid;
}

static __always_inline struct thread *tracked(struct task_struct *task)
{
	if (over)
		return 0;
	return bpf_task_storage_get(&threads, task, 0, 0);
}

/* The thread of a hit. It was made known at attach or at its fork, unless
 * memory was short then. */
static __always_inline struct thread *current_thread(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t;

	if (over)
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (t && !t->id)
		t->id = number(task);
	return t;
}

/* ---- programs ---- */

const volatile bool never = false;

/* Keeps the frames of a uprobe's program on the stack of the task. Since 6.13 those of 64 bytes and more
 * are put into memory of the processor (kernel/bpf/verifier.c, bpf_enable_priv_stack), since a kprobe's
 * program is neither preempted nor run twice on one processor at a time. A uprobe's is of the same type and is
 * preempted, and a sleepable one waits for pages too: then the next thread that hits a probe there writes over the
 * registers that this one had read, and its store was reported as this one's. A tail call exempts a
 * program; this one is never executed, and the verifier takes it out. */
#define ON_OWN_STACK(ctx) do { \
	if (never) \
		bpf_tail_call(ctx, NULL, 0); \
} while (0)

/* Forgets calls whose frames are gone: the stack pointer is above them. */
static __always_inline void prune(struct thread *t, __u64 sp)
{
	if (t->w.sp && sp > t->w.sp && sp - t->w.sp < MAIN_STACK_MAX)
		leave_writer(t, false, 0);
	if (t->alloc_sp && sp > t->alloc_sp)
		t->alloc_sp = 0;
}

static __always_inline void enter_alloc(struct thread *t, struct pt_regs *ctx, __u32 func)
{
	struct fn *f = bpf_map_lookup_elem(&funcs, &func);

	if (!f)
		return;
	t->alloc_sp = ctx->sp;
	t->alloc_pc = word(ctx->sp);
	t->alloc_ptr = argument(ctx, f->ptr);
	t->alloc_size = f->len ? argument(ctx, f->len) : f->fixed;
	if (f->count)
		t->alloc_size *= argument(ctx, f->count);
	t->alloc_func = func;
	t->alloc_hides = f->hides;
	t->alloc_uret = f->uret;
}

/* The functions and points of a site. */
static __always_inline void functions(struct thread *t, struct pt_regs *ctx, struct site *s,
				      __u32 cookie)
{
	__u32 flags = s->flags;
	/* A function with a uretprobe that jumps to another allocator returns
	 * with it: from the same place of the stack. */
	bool nested = t->alloc_sp > ctx->sp || (t->alloc_sp == ctx->sp && t->alloc_uret);

	if (t->alloc_sp != ctx->sp)
		flags &= ~SF_ALLOC_LEAVE;
	if (flags & SF_WRITER_ENTER)
		enter_writer(t, ctx, s->writer - 1);
	if (flags & SF_PASSED) {
		tell_passed(t, ctx, s);
		tell_texts(t, ctx, s);
	}
	if (flags & SF_STACK && !nested)
		stack_hit(t, ctx, cookie);
	else if (flags & SF_EMIT)
		stop_hit(t, ctx, cookie, flags);
	if (flags & SF_WRITER_LEAVE && t->w.sp == ctx->sp && !(flags & SF_TAIL))
		leave_writer(t, true, ctx->ax);
	if (flags & SF_ALLOC_ENTER && !nested)
		enter_alloc(t, ctx, s->alloc - 1);
	if (flags & SF_ALLOC_LEAVE) {
		if (!(flags & SF_TAIL))
			leave_alloc(t, ctx->ax);
		t->alloc_sp = 0;
	}
}

static __always_inline void lookup_store(struct thread *t, struct pt_regs *ctx, __u32 index, bool locked)
{
	struct store *d;

	index--;
	d = bpf_map_lookup_elem(&stores, &index);
	if (!d)
		return;
	if (locked)
		locked_hit(t, d, ctx);
	else
		store_hit(t, d, ctx);
}

/* A probed instruction is about to execute. In order: the store before it is
 * settled, the functions and points at it are reported, its own store is sent
 * or remembered. */
SEC("uprobe.multi.s")
int on_site(struct pt_regs *ctx)
{
	__u32 cookie = bpf_get_attach_cookie(ctx);
	struct thread *t = current_thread();
	struct site *s;

	ON_OWN_STACK(ctx);
	if (over)
		return 0;
	COUNT(probes);
	s = bpf_map_lookup_elem(&sites, &cookie);
	if (!s)
		return 0;
	if (!t) {
		COUNT(hits);
		return dropped();
	}
	if (iterates(t, ctx))
		return 0;
	settle(t, ctx->ip, ctx->flags, true);
	prune(t, ctx->sp);
	if (s->locked)
		lookup_store(t, ctx, s->locked, true);
	if (s->flags)
		functions(t, ctx, s, cookie);
	if (s->store)
		lookup_store(t, ctx, s->store, false);
	hold(t);
	return 0;
}

/* A function returned. The return address is popped already: sp - 8 is where
 * it lay. */
SEC("uprobe.multi.s")
int on_uret(struct pt_regs *ctx)
{
	__u32 func = bpf_get_attach_cookie(ctx);
	struct thread *t = current_thread();
	__u64 sp = ctx->sp - 8, block = 0;
	bool alloc;
	struct fn *f;

	ON_OWN_STACK(ctx);
	if (over)
		return 0;
	COUNT(probes);
	f = bpf_map_lookup_elem(&funcs, &func);
	if (!f)
		return 0;
	if (!t) {
		COUNT(hits);
		return dropped();
	}
	settle(t, ctx->ip, ctx->flags, true);
	if (f->dst) {
		if (t->w.sp == sp)
			leave_writer(t, true, ctx->ax);
		prune(t, sp);
		hold(t);
		return 0;
	}
	prune(t, sp);
	alloc = t->alloc_sp == sp && t->alloc_func == func;
	if (alloc && f->role == FR_POSIX)
		block = word(t->alloc_ptr);
	note(t, R_URET, func, ctx->ip, sp, ctx->ax, 0, block);
	if (alloc) {
		leave_alloc(t, ctx->ax);
		t->alloc_sp = 0;
	}
	hold(t);
	return 0;
}

/* Run once at attach, over all tasks: marks the target's threads. */
SEC("iter/task")
int adopt(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct mm_struct *mm;
	struct thread *t;

	if (!task)
		return 0;
	if (number(task->group_leader) != target)
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t)
		return 0;
	t->id = number(task);
	mm = task->mm;
	if (t->id == target && mm) {
		t->stack_hi = mm->env_end;
		t->stack_lo = mm->start_stack - MAIN_STACK_MAX;
		brk = mm->brk;
	}
	__sync_fetch_and_add(&adopted, 1);
	return 0;
}

/* clone3(2): the child's stack is in its argument. */
static __always_inline void child_stack(struct thread *t)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u64 stack[2] = {};

	if (regs->orig_ax != 435)
		return;
	bpf_probe_read_user(stack, sizeof(stack), (void *)(regs->di + 40));
	t->stack_lo = stack[0];
	t->stack_hi = stack[0] + stack[1];
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct thread *p = tracked(parent), *t;

	if (!p)
		return 0;
	if (child->tgid != parent->tgid) {
		note(p, R_FORK, number(child), 0, 0, 0, 0, child->mm == parent->mm);
		return 0;
	}
	t = bpf_task_storage_get(&threads, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t) {
		COUNT(hits);
		return dropped();
	}
	t->id = number(child);
	child_stack(t);
	note(t, R_THREAD, p->id, 0, 0, 0, 0, 0);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old)
{
	struct thread *t = tracked(task);

	if (!t)
		return 0;
	note(t, R_EXEC, 0, 0, 0, 0, 0, 0);
	over = 1;
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct thread *t = tracked(task);
	struct signal_struct *sig;
	int status;

	if (!t)
		return 0;
	note(t, R_THREAD_EXIT, 0, 0, 0, 0, 0, 0);
	sig = task->signal;
	if (sig->live.counter)
		return 0;
	status = task->group_leader->exit_code;
	if (sig->flags & 4)	/* SIGNAL_GROUP_EXIT */
		status = sig->group_exit_code;
	note(t, R_EXIT, status, 0, 0, 0, 0, 0);
	return 0;
}

/* Signals that end a process by default, as a bit mask of 1 << (number - 1):
 * all but CHLD, CONT, STOP, TSTP, TTIN, TTOU, URG, WINCH (signal(7)). */
#define BIT(n) (1ull << ((n) - 1))
#define HARMLESS (BIT(17) | BIT(18) | BIT(19) | BIT(20) | BIT(21) | BIT(22) | BIT(23) | BIT(28))
#define FAULTS (BIT(4) | BIT(6) | BIT(7) | BIT(8) | BIT(11))

/* A fault stopped the pending store: it did not execute, or a string only in
 * part. */
static __always_inline void interrupted(struct thread *t, struct pt_regs *regs)
{
	struct pending *p = &t->p;
	__u64 done;

	if (!p->pc || p->pc != regs->ip)
		return;
	if (p->shape != SHAPE_STRING) {
		p->pc = 0;
		return;
	}
	/* base is rdi before the first iteration. */
	if (regs->di > p->base) {
		p->size = regs->di - p->base;
	} else if (regs->di < p->base) {
		done = p->base - regs->di;
		p->addr = p->addr + p->size - done;
		p->size = done;
	} else {
		p->pc = 0;
	}
}

SEC("tp_btf/signal_deliver")
int BPF_PROG(on_signal, int sig, void *info, struct k_sigaction *ka)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = tracked(task);
	struct pt_regs *regs;
	__u64 addr = 0;
	int code = 0;

	if (!t || sig < 1 || sig > 64)
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	if (sig == 9) {		/* how every thread of a process ends: which signal did it? */
		sig = task->signal->group_exit_code & 0x7f;
		if (!sig || __sync_lock_test_and_set(&killed, 1))
			return 0;
		note(t, R_SIGNAL, sig, regs->ip, regs->sp, 0, 0, 0);
		return 0;
	}
	interrupted(t, regs);
	if (!(FAULTS & BIT(sig)) && (ka->sa.sa_handler != 0 || HARMLESS & BIT(sig)))
		return 0;
	if (ka->sa.sa_handler == 0)
		killed = 1;
	/* siginfo: number, errno, code, then at 16 the fault address. Small
	 * numbers stand for signals without one. */
	if ((__u64)info > 1) {
		bpf_probe_read_kernel(&code, sizeof(code), info + 8);
		if (code > 0 && sig != 6)
			bpf_probe_read_kernel(&addr, sizeof(addr), info + 16);
	}
	note(t, R_SIGNAL, sig, regs->ip, regs->sp, addr, 0, ka->sa.sa_handler != 0);
	return 0;
}

/* ---- system calls ---- */

/* Argument n of a system call, from 1. */
static __always_inline __u64 sysarg(struct pt_regs *regs, __u8 n)
{
	__u64 a[8] = { 0, regs->di, regs->si, regs->dx, regs->r10, regs->r8, regs->r9, 0 };

	return a[n & 7];
}

/* The elements of an iovec array that a call of nr filled. */
struct scatter {
	struct thread *t;
	__u64 vec, count, left;
	__u64 pc, sp;
	__u32 nr;
	__u32 unused;
};

static long scatter_one(__u32 i, struct scatter *v)
{
	__u64 iov[2] = {}, size;

	if (i >= v->count || !v->left)
		return 1;
	if (bpf_probe_read_user(iov, sizeof(iov), (void *)(v->vec + 16 * i)))
		return 1;
	size = iov[1] < v->left ? iov[1] : v->left;
	v->left -= size;
	span(v->t, R_SYSCALL, v->nr, v->pc, v->sp, iov[0], size);
	emit_atomic(v->t);
	return 0;
}

/* Whom the write of a system call is told of, by where that returns to: the caller of the
 * library's function that has made it, if such a writer is open. */
static __always_inline __u64 caller(struct thread *t, struct pt_regs *regs)
{
	__u64 pc = regs->ip;
	__u32 func = t->w.func;
	struct fn *f;

	if (t->w.sp < regs->sp)
		return pc;	/* none is open, or it has been left */
	f = bpf_map_lookup_elem(&funcs, &func);
	if (f && (f->extent == EXTENT_CALL || (f->skip_lo <= pc && pc < f->skip_hi)))
		return t->w.pc;
	return pc;
}

/* The file of a descriptor of the current process; NULL: it has no such one any more. */
static __always_inline struct file *file_of(__u64 fd)
{
	struct fdtable *fdt = BPF_CORE_READ(bpf_get_current_task_btf(), files, fdt);
	struct file **files = BPF_CORE_READ(fdt, fd), *file = NULL;

	if (fd < BPF_CORE_READ(fdt, max_fds))
		bpf_probe_read_kernel(&file, sizeof(file), &files[fd]);
	return file;
}

/* Code of a file was mapped: which one tells where a library lies that the program opens. */
static __always_inline void code(struct thread *t, struct pt_regs *regs, __u64 ret)
{
	struct file *file = file_of(regs->r8);
	struct record *r;

	if (!file)
		return;
	r = begin(0, t, R_CODE, BPF_CORE_READ(file, f_inode, i_sb, s_dev), regs->ip, regs->sp);
	if (!r)
		return;
	r->offset = regs->r9 / PAGE;
	r->addr = ret;
	r->size = regs->si;
	r->base = BPF_CORE_READ(file, f_inode, i_ino);
	submit(t, r, false);
}

static __always_inline void mapping(struct thread *t, struct pt_regs *regs, __u8 rule, __u64 ret)
{
	__u64 pc = regs->ip, sp = regs->sp, was;

	switch (rule) {
	case SY_MMAP:
		note(t, R_MAP, 0, pc, sp, ret, regs->si, 0);
		if ((regs->dx & MMAP_EXEC) && !(regs->r10 & MMAP_ANONYMOUS))
			code(t, regs, ret);
		break;
	case SY_MUNMAP:
		note(t, R_UNMAP, 0, pc, sp, regs->di, regs->si, 0);
		break;
	case SY_MREMAP:
		note(t, R_UNMAP, 0, pc, sp, regs->di, regs->si, 0);
		note(t, R_MAP, 0, pc, sp, ret, regs->dx, 0);
		break;
	case SY_BRK:
		was = brk;
		brk = ret;
		if (was && was != ret)
			note(t, R_BRK, 0, pc, sp, ret, 0, was);
		break;
	}
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long ret)
{
	struct thread *t = tracked(bpf_get_current_task_btf());
	__u32 nr = regs->orig_ax;
	struct scatter v = {};
	struct sysdesc *d;
	__u64 addr, size = 0;
	__u64 msg[4] = {};

	if (!t)
		return 0;
	d = bpf_map_lookup_elem(&syscalls, &nr);
	if (!d || d->rule == SY_NONE || ret < 0)
		return 0;
	settle(t, regs->ip, 0, false);
	if (d->rule >= SY_MMAP) {
		mapping(t, regs, d->rule, ret);
		return 0;
	}
	addr = sysarg(regs, d->ptr);
	if (!addr)
		return 0;
	switch (d->rule) {
	case SY_RESULT:
		size = ret;
		if (d->len && sysarg(regs, d->len) < size)
			size = sysarg(regs, d->len);
		size *= d->size;
		break;
	case SY_FIXED:
		size = d->size;
		break;
	case SY_ARRAY:
		size = sysarg(regs, d->len) * d->size;
		break;
	case SY_IOVEC:
	case SY_MSGHDR:
		v.t = t;
		v.nr = nr;
		v.pc = caller(t, regs);
		v.sp = regs->sp;
		v.left = ret;
		v.vec = addr;
		v.count = sysarg(regs, d->len);
		if (d->rule == SY_MSGHDR) {	/* struct msghdr: iovec at 16, its length at 24 */
			bpf_probe_read_user(msg, sizeof(msg), (void *)addr);
			v.vec = msg[2];
			v.count = msg[3];
		}
		bpf_loop(1024, scatter_one, &v, 0);	/* IOV_MAX */
		hold(t);
		return 0;
	}
	span(t, R_SYSCALL, nr, caller(t, regs), regs->sp, addr, size);
	emit_atomic(t);
	hold(t);
	return 0;
}
