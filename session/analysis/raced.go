package analysis

import (
	"fmt"

	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Bounds of racedNote: operations of suspects, and operations between two that may have raced.
const (
	maxRaced   = 256
	maxBetween = 4096
)

// racedNote says that a suspect wrote a word by a locked or exchanging instruction, and another thread did so
// before it, but it is not known which of the two was first (docs/limits.md, Order between threads): the
// report may be of an order that there never was. One thread at a time runs under the other engines.
func (a *Analysis) racedNote(r *faultloc.Result) []string {
	if a.prog.Engine != trace.EngineInline && a.prog.Engine != trace.EngineKernel {
		return nil
	}
	looked := 0
	for i := range r.Suspects {
		for _, t := range r.Suspects[i].Operations {
			if looked++; looked > maxRaced {
				return nil
			}
			op := a.Hist.Op(t)
			if !locked(op) {
				continue
			}
			before := a.Hist.LastWrite(op.Addr, op.Size, t-1)
			if was := a.Hist.Op(before); before == 0 || was.Thread == op.Thread || !locked(was) || a.ordered(op) && a.ordered(was) || a.certain(before, t) {
				continue
			}
			word := a.path(uint64(op.Addr), a.Hist.Now())
			if word == "" {
				word = fmt.Sprintf("%#x", uint64(op.Addr))
			}
			return []string{word + " was written by locked instructions of two threads that may have raced, the later recorded as the first: if so, nothing may be wrong. --engine translate lets one thread run at a time, and knows the order"}
		}
	}
	return nil
}

func locked(op mgpp.Op) bool { return op.Kind == mgpp.OpStore && op.Flags&trace.FlagAtomic != 0 }

// ordered: the engine has put the operation where the value belongs that it found.
func (a *Analysis) ordered(op mgpp.Op) bool {
	return a.prog.Engine == trace.EngineInline && op.Flags&trace.FlagExchange != 0
}

// certain: what one thread did before is before what another one did then, since that one did something between
// whose own place in the order is certain too, an allocation or a locked instruction.
func (a *Analysis) certain(before, then mgpp.Timestamp) bool {
	return a.placed(a.Hist.Op(then).Thread, before, then)
}

// placed: between two changes a thread did something whose own place in the order is certain.
func (a *Analysis) placed(thread trace.ThreadID, before, then mgpp.Timestamp) bool {
	for t := then - 1; t > before; t-- {
		if then-t > maxBetween {
			return true // so long no race lasts
		}
		switch op := a.Hist.Op(t); {
		case op.Thread != thread:
		case op.Kind == mgpp.OpBirth, op.Kind == mgpp.OpDeath, locked(op):
			return true
		}
	}
	return false
}
