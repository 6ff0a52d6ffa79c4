package live

import (
	"mgtrace/objfile"
	"mgtrace/target/mem"
	"mgtrace/trace"
)

// maxPlaces is of how many threads it is told where they were when mgtrace ended the program.
const maxPlaces = 64

// places tells where the threads are of a process that is held to be ended. All that it did is there.
func (l *Program) places() error {
	threads, err := l.proc.Threads()
	if err != nil {
		return nil // it has ended meanwhile
	}
	read := func(addr uint64, b []byte) bool {
		n, _ := l.proc.ReadMemory(b, addr) // n tells
		return n == len(b)
	}
	for _, id := range threads[:min(len(threads), maxPlaces)] {
		regs, err := l.proc.Regs(id)
		if err != nil {
			continue // it is ending
		}
		ev := trace.Event{Kind: trace.KindHeld, Thread: trace.ThreadID(id), Wall: -1, PC: trace.Addr(regs.RIP), Name: l.held}
		for i, at := range objfile.Unwind(unwindable(&regs), unwindDepth, l.file, read) {
			if i > 0 {
				ev.Stack = append(ev.Stack, trace.Addr(at.Regs.PC()))
			}
		}
		if err := (*intake)(l).Event(&ev); err != nil {
			return err
		}
	}
	return nil
}

// unwindable are registers as unwinding wants them.
func unwindable(regs *mem.Regs) (out objfile.Regs) {
	for n := range out.R {
		if v, ok := regs.DWARF(n); ok {
			out.Set(n, v)
		}
	}
	return out
}
