package flow

import (
	"fmt"
	"strings"
)

// String says in words what a record tells, for listings.
func (r *Record) String() string {
	var b strings.Builder
	switch r.Kind {
	case Exec:
		fmt.Fprintf(&b, "block %d, instructions %d to %d", r.Block, r.From, r.From+r.N-1)
	case Start:
		b.WriteString("the thread begins")
		if r.Number != 0 {
			fmt.Fprintf(&b, ", made by thread %d", r.Number)
		}
	case End:
		b.WriteString("the thread ends")
	case Define:
		switch r.Cause {
		case BySyscall:
			fmt.Fprintf(&b, "system call %d", r.Number)
		case BySignal:
			fmt.Fprintf(&b, "the frame of signal %d", r.Number)
		default:
			b.WriteString(r.Why)
		}
		if len(r.Mem) > 0 {
			b.WriteString(" wrote")
		}
	case Signal:
		fmt.Fprintf(&b, "signal %d before %#x", r.Number, uint64(r.PC))
		if r.Handler != 0 {
			fmt.Fprintf(&b, ", handled at %#x", uint64(r.Handler))
		}
	case Gap:
		if r.Size > 0 {
			fmt.Fprintf(&b, "%d instructions are missing: %s", r.Size, r.Why)
		} else {
			fmt.Fprintf(&b, "instructions are missing: %s", r.Why)
		}
	case Map:
		if r.Module != nil {
			fmt.Fprintf(&b, "%s was mapped at %#x", r.Module.Path, uint64(r.Module.Lo))
		}
	case Unmap:
		b.WriteString("unmapped")
	}
	for _, m := range r.Mem {
		if r.Kind != Exec {
			fmt.Fprintf(&b, " %#x+%d", uint64(m.Addr), m.Size)
		}
	}
	return b.String()
}
