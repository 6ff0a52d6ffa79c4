// Package hook is the routine that trampolines call in the traced process where
// a plain record will not do: function entries and returns, points, system
// calls, stores whose extent is only known at run time. It is written in C
// (folder c), compiled to one position-independent piece of code without data,
// and checked in; go generate makes it anew.
//
//	copy(memory, hook.Code)               // anywhere; entry at its first byte
//	t := hook.New(plan, image, members)          // what it needs to know of the plan
//	n := t.Add(sites, i, pc, false)       // number of a hook site, for emit
//	n = t.AddSyscall(pc)
//	// t.Sites, t.Stores, t.Funcs, hook.Syscalls(): to memory, their addresses to
//	// the process block (layout.Sites, …)
//
// The routine touches the guard page at [SwapAt, SwapEnd) when a buffer is full:
// the thread gets another one and goes on at SwapEnd. Where it reads memory of the
// program that has gone away, [Fixup] says where it goes on; the bytes are then
// recorded as not read.
//
// Invariants: the routine changes no register that its caller does not save, and
// nothing of the program's memory; records are whole when the cursor passes
// them; in the order docs/design/inline.md promises.
package hook
