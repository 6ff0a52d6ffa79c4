package rerun

import (
	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

// Outlived is a pointer by which a call came to a block that had been freed, whether another one lies there now or not.
type Outlived struct {
	Addr   trace.Addr
	PC     trace.Addr     // the instruction that read or wrote there
	Before mgpp.Timestamp // the last operation before the pointer was read
	Freed  mgpp.Timestamp // the operation that freed the block to which it led when it was stored
}

// Outlived are the pointers in recorded memory by which the call came to what had been freed, in the order in which they were followed.
func (r *Rerun) Outlived() (out []Outlived) {
	for _, l := range r.was.Leads {
		before := r.Time(l.Effects)
		to := r.p.History.At(before).Target(trace.Addr(l.Addr), coded.Pointer{})
		if to.State != mgpp.Dangling {
			continue
		}
		if n := r.p.History.Node(to.Node); n.Death != 0 && n.Death <= before {
			out = append(out, Outlived{trace.Addr(l.Addr), trace.Addr(l.PC), before, n.Death})
		}
	}
	return out
}
