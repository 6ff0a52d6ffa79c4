package live

import (
	"encoding/binary"

	"mgtrace/objfile"
	"mgtrace/session/typing"
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
	for _, id := range threads[:min(len(threads), maxPlaces)] {
		regs, err := l.proc.Regs(id)
		if err != nil {
			continue // it is ending
		}
		ev := trace.Event{Kind: trace.KindHeld, Thread: trace.ThreadID(id), Wall: -1, PC: trace.Addr(regs.RIP), Name: l.held}
		levels := typing.Activations(&regs, l.file, l.proc)
		for _, at := range levels[1:min(len(levels), unwindDepth)] {
			ev.Stack = append(ev.Stack, trace.Addr(at.Regs.PC()))
		}
		ev.Args = l.inHand(levels, l.Symbols.Own(append([]trace.Addr{ev.PC + 1}, ev.Stack...)))
		if err := (*intake)(l).Event(&ev); err != nil {
			return err
		}
	}
	return nil
}

// maxInHand is how much of a call's stack is looked at, bytes.
const maxInHand = 4 << 10

// inHand are the words that may be pointers of what the registers and the stack held in the call that was at an address of the program's own.
func (l *Program) inHand(levels []objfile.Level, own trace.Addr) (out []uint64) {
	for i := range levels[:min(len(levels), unwindDepth)] {
		at := &levels[i]
		if trace.Addr(at.Lookup()) != own {
			continue
		}
		add := func(v uint64) {
			if v >= minWild && v < uint64(trace.UserEnd) {
				out = append(out, v)
			}
		}
		for n := range 16 {
			if at.Regs.Known>>n&1 != 0 && n != objfile.RegSP {
				add(at.Regs.R[n])
			}
		}
		if i+1 < len(levels) && levels[i+1].Regs.SP() > at.Regs.SP() {
			stack := make([]byte, min(levels[i+1].Regs.SP()-at.Regs.SP(), maxInHand)&^7)
			n, _ := l.proc.ReadMemory(stack, at.Regs.SP()) // n tells
			for stack = stack[:n&^7]; len(stack) > 0; stack = stack[8:] {
				add(binary.LittleEndian.Uint64(stack))
			}
		}
		return out
	}
	return nil
}
