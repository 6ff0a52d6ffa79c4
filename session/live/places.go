package live

import (
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
		if err := (*intake)(l).Event(&ev); err != nil {
			return err
		}
	}
	return nil
}
