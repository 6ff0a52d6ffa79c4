package analysis

import (
	"mgtrace/trace"
)

// ownOf is what Own says of a stack.
type ownOf struct {
	first *trace.Addr // of the stack, which never changes
	depth int
	pc    trace.Addr
}

// recentStacks is how many stacks are remembered. A program may allocate by one call of malloc, and by
// hundreds of calls of the function around it.
const recentStacks = 1 << 10

// own is the user's own statement on a stack: a program allocates by the same stacks again and again.
func (a *Analysis) own(stack []trace.Addr) trace.Addr {
	last := &a.owns[trace.MixStack(stack, 8)%recentStacks]
	if last.first != &stack[0] || last.depth != len(stack) {
		*last = ownOf{&stack[0], len(stack), a.Symbols.Own(stack)}
	}
	return last.pc
}

// jumped is the statement of a call that returns to ret: of the jump that stood in its place, where
// pc is not that of the call itself.
func (a *Analysis) jumped(pc, ret trace.Addr, callee string) trace.Addr {
	if pc != ret-1 {
		return pc
	}
	k := tail{ret, callee}
	last := &a.lastTails[uint64(ret)*0x9e3779b97f4a7c15>>32%recentTails]
	if last.of == k && ret != 0 {
		return last.at
	}
	at, known := a.tails[k]
	if !known {
		at = pc
		if jump, ok := a.Symbols.Tail(ret, callee); ok {
			at = jump
		}
		a.tails[k] = at
	}
	*last = jumpOf{k, at}
	return at
}

// recentTails is how many answers of jumped are at hand: to look one up among all takes longer than the rest of
// what is done for a call of free.
const recentTails = 1 << 8

// jumpOf is an answer of jumped.
type jumpOf struct {
	of tail
	at trace.Addr
}

// tail asks by which jump a call has come to another function, see symbol.Table.Tail.
type tail struct {
	ret    trace.Addr
	callee string
}

func ofCall(k trace.Kind) bool {
	switch k {
	case trace.KindBulk, trace.KindSyscall, trace.KindAlloc, trace.KindFree, trace.KindRealloc, trace.KindRefused:
		return true
	}
	return false
}
