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

/* Waits until the tracer changes the thread's word. */
static __attribute__((noinline)) void hold(struct block *b)
{
	u32 *w = &b->held;

	__atomic_store_n(w, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(w, __ATOMIC_SEQ_CST) == 1) {
		u64 result = FUTEX_NR;
		register u64 timeout asm("r10") = 0;

		/* FUTEX_WAIT, shared: the tracer wakes it through its own mapping. */
		asm volatile("syscall" : "+a"(result) : "D"(w), "S"(0ul), "d"(1ul), "r"(timeout)
			     : "rcx", "r11", "memory");
		asm volatile("pause");	/* EINTR, or refused: look again */
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
	if (b->process->late_waiting)
		late_look(b->process);
	if (b->process->asked)
		answer(b->process);
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
