package analysis

import (
	"slices"

	"mgtrace/trace"
)

// around is a stack of calls from which the next write of a thread is done.
type around struct {
	pc    trace.Addr // of the store, or of the call of what writes
	stack []trace.Addr
}

// longest instruction of x86-64, bytes.
const longest = 15

// takeAround notes the stack of the thread's next write.
func (a *Analysis) takeAround(ev *trace.Event) {
	if a.around == nil {
		a.around = map[trace.ThreadID]around{}
	}
	a.around[ev.Thread] = around{ev.PC, slices.Clone(ev.Stack)}
}

// attribute makes a write that a library's function did the statement's of the user's
// own code that called it.
func (a *Analysis) attribute(ev *trace.Event) {
	x, ok := a.around[ev.Thread]
	if !ok {
		return
	}
	delete(a.around, ev.Thread)
	// The PC of a bulk write is within the call, and no other instruction that is
	// waited for is as near.
	if ev.PC == x.pc || ev.Kind == trace.KindBulk && ev.PC > x.pc && ev.PC < x.pc+longest {
		ev.PC, ev.Stack = a.Symbols.Own(x.stack), x.stack
	}
}
