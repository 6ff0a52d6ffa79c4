package flow

import "mgtrace/trace"

// Call is an open call: where its return address lies, and what it is.
type Call struct {
	Slot uint64
	Ret  trace.Addr
}

// Calls are the open calls of a thread, outermost first, as call and return
// instructions tell.
type Calls []Call

// maxCalls bounds the calls that are remembered; where there are more (coroutines,
// perhaps), what is far out is forgotten.
const maxCalls = 1 << 16

// Open adds a call that put its return address at slot. It returns how many of the
// outermost calls were forgotten.
func (c *Calls) Open(slot uint64, ret trace.Addr) (forgotten int) {
	if len(*c) >= maxCalls {
		forgotten = maxCalls / 2
		*c = append((*c)[:0], (*c)[forgotten:]...)
	}
	*c = append(*c, Call{slot, ret})
	return forgotten
}

// Return takes a return by the address at slot: it closes that call and those within it,
// whose returns were not seen.
func (c *Calls) Return(slot uint64) {
	for n := len(*c); n > 0 && (*c)[n-1].Slot <= slot; n-- {
		*c = (*c)[:n-1]
	}
}

// Stack returns at most so many return addresses, innermost first.
func (c Calls) Stack(most int) []trace.Addr {
	out := make([]trace.Addr, 0, min(len(c), most))
	for i := len(c) - 1; i >= 0 && len(out) < most; i-- {
		out = append(out, c[i].Ret)
	}
	return out
}
