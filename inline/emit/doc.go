// Package emit writes trampolines: for one instruction of the program, the code
// that records what it stores or calls the hook routine, executes it, and goes
// back. It also tells what each byte of that code means to one who finds a
// thread there.
//
//	m := emit.New(sites, emit.Options{Relocate: patch.Relocate})
//	code, err := m.Emit(nil, i, at)      // the trampoline of sites[i], to be put at `at`
//	p, ok := m.Where(i, at, rip-at)      // a thread was stopped there
//	if ok && p.Clean {
//		p.Restore(&regs, word) // what the program would have …
//		regs.RIP = p.PC        // … at its own program counter
//	}
//
// Invariants. Outside of calls to the hook routine a trampoline uses no stack
// and no vector register, and where it changes flags (a stamp) it puts them
// back. Behind it every register, flag and byte of the program is as the
// displaced instruction alone would have left it. A record is whole before
// Cursor is advanced over it, and nothing between the instruction at Reload and
// the one that advances Cursor destroys what a second run from Reload needs.
// Where's answer is made by the same code that emits, so the two can not
// differ.
//
// It does not decide where trampolines lie, nor which bytes of the program
// change, nor how an instruction is moved: that is package patch.
package emit
