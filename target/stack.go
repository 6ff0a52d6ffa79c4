package target

import (
	"golang.org/x/sys/unix"

	"mgtrace/target/mem"
)

// StackRoom is the most that a thread's stack may grow to, as far as anybody here
// believes.
const StackRoom = 1 << 30

// StackOf is the stack of a thread that was there before us, as far as it is
// certain: stores to it are not wanted, and nothing else must look like it.
func StackOf(pid int, maps []mem.Map, regs *mem.Regs) [2]uint64 {
	m, ok := mem.FindMap(maps, regs.RSP)
	switch {
	case !ok || m.File() || m.Path == "[heap]": // of a coroutine or a handler
		return [2]uint64{}
	case m.Path == "[stack]":
		return mainStack(pid, maps, m)
	case regs.RSP < regs.FSBase && regs.FSBase < m.Hi:
		// The C library keeps a thread's descriptor at the upper end of its
		// stack (glibc, allocatestack.c). The mapping may go on: the kernel
		// joins it with one that lies behind.
		return [2]uint64{m.Lo, regs.FSBase}
	}
	return [2]uint64{}
}

// mainStack is what the main thread's stack may grow to: its limit, but never
// into what is mapped below it. Without address randomization the program's
// mappings begin 128 MB below the stack's end (mmap_base in arch/x86/mm/mmap.c).
func mainStack(pid int, maps []mem.Map, m mem.Map) [2]uint64 {
	lo := m.Hi - min(m.Hi, StackRoom)
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_STACK, nil, &limit); err == nil && limit.Cur < StackRoom {
		lo = m.Hi - min(m.Hi, limit.Cur)
	}
	for _, below := range maps {
		if below.Hi <= m.Lo {
			lo = max(lo, below.Hi)
		}
	}
	return [2]uint64{min(lo, m.Lo), m.Hi}
}

// given is the stack that the system call in which a thread is gives to the thread that it
// makes, if it says; else anything. The arguments of clone3 lie on the maker's own stack: once
// it goes on it writes over them.
func (t *tracer) given(maker *thread) [2]uint64 {
	if t.interceptor == nil {
		return [2]uint64{} // nobody asks
	}
	regs, err := getRegs(maker.tid)
	if err != nil {
		return [2]uint64{}
	}
	return cloneStack(&t.memory, &regs)
}

// cloneStack is the stack that the arguments of clone3 tell, of the registers of a thread
// that is in that call. Of another call, or where they have been written over, it is
// anything.
func cloneStack(m mem.Memory, regs *mem.Regs) [2]uint64 {
	const held = ^uint64(0) // which call it was is not known any more
	if regs.OrigRAX != unix.SYS_CLONE3 && regs.OrigRAX != held {
		return [2]uint64{}
	}
	// struct clone_args: stack, stack_size
	lo, err1 := mem.ReadUint64(m, regs.RDI+40)
	size, err2 := mem.ReadUint64(m, regs.RDI+48)
	if err1 != nil || err2 != nil || size > StackRoom {
		return [2]uint64{}
	}
	return [2]uint64{lo, lo + size}
}

// NewStack is the stack of a thread that has just been made. The mappings are read only if
// nothing else tells: with thousands of threads that takes milliseconds.
func (p *Process) NewStack(th *Stopped, regs *mem.Regs) [2]uint64 {
	const slack = 256 // what has been pushed; it begins at the upper end
	for _, s := range [][2]uint64{th.th.given, cloneStack(th, regs)} {
		if s[0] <= regs.RSP && s[1]-regs.RSP <= slack {
			return s
		}
	}
	maps, err := p.Maps()
	if err != nil {
		return [2]uint64{} // it is ending
	}
	stack := StackOf(p.PID(), maps, regs)
	stack[1] = min(stack[1], regs.RSP) // where it begins; thread-local objects lie above
	return stack
}
