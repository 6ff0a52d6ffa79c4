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

// NewStack is the stack of a thread that has just been made. The arguments of clone3 lie
// on the stack of the one that made it, which may have gone on and written over them.
func NewStack(th *Stopped, pid int, maps []mem.Map, regs *mem.Regs) [2]uint64 {
	if regs.OrigRAX == unix.SYS_CLONE3 { // struct clone_args: stack, stack_size
		lo, err1 := mem.ReadUint64(th, regs.RDI+40)
		size, err2 := mem.ReadUint64(th, regs.RDI+48)
		const slack = 256 // what has been pushed; it begins at the upper end
		if err1 == nil && err2 == nil && lo <= regs.RSP && lo+size-regs.RSP <= slack && size <= StackRoom {
			return [2]uint64{lo, lo + size}
		}
	}
	stack := StackOf(pid, maps, regs)
	stack[1] = min(stack[1], regs.RSP) // where it begins; thread-local objects lie above
	return stack
}
