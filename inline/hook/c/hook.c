//go:build ignore

/* The hook routine of the in-process engine: what trampolines call where a
 * plain record will not do. docs/design/inline.md tells when.
 *
 * It runs in the traced program, on a stack of its own, with nothing but what
 * GS points to. It calls nobody, makes no system call (but to wait),
 * and uses general registers only. It is compiled to one piece of code without
 * data and without relocations, which works wherever it lies. */
#include "stores.h"

/* The routine begins here: void hook(struct regs *, u32 site, u32 phase). */
asm(".text\n"
    "hook_start:\n"
    "\tjmp hook_main\n");

#define FUTEX_NR 202	/* futex(2) */
#define EINTR 4
#define EAGAIN 11

/* Waits while a word has a value, for some time (0: without end). FUTEX_WAIT, shared: the
 * tracer wakes it through its own mapping. */
static __attribute__((noinline)) s64 wait(u32 *w, u32 value, const u64 *time)
{
	s64 result = FUTEX_NR;
	register const u64 *timeout asm("r10") = time;

	asm volatile("syscall" : "+a"(result) : "D"(w), "S"(0ul), "d"((u64)value), "r"(timeout)
		     : "rcx", "r11", "memory");
	asm volatile("pause");	/* EINTR, or refused: the caller looks again */
	return result;
}

/* Waits until the tracer changes the thread's word. */
static void hold(struct block *b)
{
	u32 *w = &b->held;

	__atomic_store_n(w, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(w, __ATOMIC_SEQ_CST) == 1)
		wait(w, 1, 0);
}

/* Waits until somebody takes the killed tracer's place. If nobody does, no thread waits
 * any more. */
static void orphan(struct process *p)
{
	u64 limit[2];	/* struct timespec */
	u32 w;

	limit[0] = OrphanSeconds, limit[1] = 0;
	while ((w = __atomic_load_n(&p->tracer, __ATOMIC_SEQ_CST)) & TracerDied) {
		s64 result = wait(&p->tracer, w, limit);

		if (result && result != -EINTR && result != -EAGAIN)
			__atomic_store_n(&p->tracer, 0, __ATOMIC_SEQ_CST);
	}
}

static __attribute__((used)) void hook_main(struct regs *r, u32 number, u32 phase)
{
	const struct site *s;
	struct block *b;
	u64 sp = r->gp[RSP];

	/* The hook stack lies right behind the block. */
	asm volatile("movq %%gs:%c1, %0" : "=r"(b) : "i"(HookSP));
	b = (struct block *)((u64)b - HookStack - BlockSize);
	if (__builtin_expect(b->process->tracer & TracerDied, 0))
		orphan(b->process);
	s = &b->process->sites[number];
	if (phase) {
		if (s->flags & SiteSyscall)
			after_call(b, r, s, number, sp);
		else if (s->store)
			after_store(b, r, s, number, sp);
		return;
	}
	turn_early(b);
	prune(b, sp);
	if (s->flags & SiteSyscall) {
		before_call(b, r, s, number, sp);
		return;
	}
	functions(b, r, s, sp);
	if (s->store)
		before_store(b, r, s, number, sp);
	if (s->flags & SiteHold)
		hold(b);
}
