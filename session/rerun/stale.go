package rerun

import (
	"mgtrace/mgpp"
	"mgtrace/replay"
	"mgtrace/trace"
)

// ReadFreed is a block that a call freed, and went on to use by an address that it had before that.
type ReadFreed struct {
	Free  mgpp.Timestamp // the operation that freed it
	PC    trace.Addr     // the instruction that used it
	Calls []uint64       // return addresses of the calls around that, innermost first
}

// FindReadFreed executes a call for that. What was in a freed block nobody has recorded, so that the call may do something else
// from there on than it did: until the free it does what was recorded.
func FindReadFreed(p Program, call Call) (out ReadFreed, ok bool) {
	r := &Rerun{p: p, call: call}
	was, err := r.recorded()
	if err != nil {
		return out, false
	}
	size := func(addr uint64) uint64 {
		v := p.History.At(call.From)
		id, ok := v.NodeAt(trace.Addr(addr))
		n, _ := v.Node(id)
		if !ok || uint64(n.Start) != addr {
			return 0
		}
		return n.Size
	}
	r.guesses(func(w *world) bool {
		c := r.again()
		c.MaxSteps, c.Brief, c.Size = maxCall, false, size
		run := replay.New(w).Run(c)
		if run.Stale == nil {
			return false
		}
		n, last := 0, -1
		for k := range run.Effects[:run.Stale.Freed+1] {
			if n < len(was) && agrees(&run.Effects[k], &was[n], false) {
				n, last = n+1, k
			}
		}
		if last != run.Stale.Freed {
			return false
		}
		out, ok = ReadFreed{call.From + mgpp.Timestamp(n), trace.Addr(run.Stale.PC), run.Stale.Calls}, true
		return true
	})
	return out, out.Free != 0
}
