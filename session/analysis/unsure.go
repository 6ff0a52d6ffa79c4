package analysis

import (
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/trace"
)

// Where an inlined function begins and ends, debug information only says which
// instructions are its own. The compiler may have put a store of what is around it
// behind its first instruction, and one of its own behind its last; or have left one
// out whose value nothing reads before it is overwritten. So what is broken at such a
// boundary counts if it still is when the thread has come to another one and something
// has changed between, or calls a watched function, or the program ends.

// settles reports whether an event, other than an inlined boundary, settles what is
// unsure of its thread.
func settles(k trace.Kind) bool { return k == trace.KindCall || k == trace.KindReturn || ends(k) }

// ends reports whether an event settles what is unsure of all threads.
func ends(k trace.Kind) bool {
	return k == trace.KindExit || k == trace.KindExec || k == trace.KindSignal || k == trace.KindCease || k == trace.KindTruncated
}

// suspend takes what was found broken at an inlined boundary, at an instruction. It settles
// what was unsure of the thread if something has changed since, and the function that is
// inlined into has no store left to do, which is asked the less often the longer it lasts; what is new
// is unsure now. A C-point for one type does not tell what has become of the others: there may be several at one boundary.
func (a *Analysis) suspend(p *point, pc trace.Addr) {
	still := instances(p.found) // that no point has which is unsure already: there may be one for each call since
	kept := a.unsure[:0]
	for _, q := range a.unsure {
		if q.Thread != p.Thread {
			kept = append(kept, q)
			continue
		}
		if p.For != nil && p.For != q.For {
			still.remove(q.found)
			kept = append(kept, q)
			continue
		}
		q.found = still.of(q.found)
		still.remove(q.found)
		if q.time < p.time && !a.done {
			if q.lasts++; q.lasts&(q.lasts-1) == 0 {
				sure := *q
				sure.found = a.timely(q, a.Hist.At(p.time), pc)
				q.found = instances(sure.found).not(q.found)
				a.found(&sure)
			}
		}
		if len(q.found) > 0 {
			kept = append(kept, q)
		}
	}
	p.found = still.of(slices.Clone(p.found)) // the checker's own so far
	if a.unsure = kept; len(p.found) > 0 {
		a.unsure = append(a.unsure, p)
	}
}

// settleBefore takes what was unsure before a memory fault of the thread, and is still broken right before it: the fault may come of that,
// and is what would be reported else.
func (a *Analysis) settleBefore(f *eval.MemoryFault) {
	earlier := func(p *point) bool { return p.Thread == f.Thread && p.time < f.Time }
	if a.o.All || !slices.ContainsFunc(a.unsure, earlier) {
		return
	}
	right := f.Time - 1
	still := instances(a.Checker.All(a.Checker.View(right)))
	for _, p := range a.unsure {
		if !earlier(p) || a.done {
			continue
		}
		sure := *p
		if sure.found = still.of(slices.Clone(p.found)); len(sure.found) > 0 {
			sure.found = a.timely(&sure, a.Hist.At(right), f.PC)
			a.found(&sure)
		}
	}
}

// settle takes what was unsure of a thread, or of all, and is still broken.
func (a *Analysis) settle(ev *trace.Event) {
	if a.done {
		return
	}
	unsure := a.unsure
	a.unsure = nil
	for _, p := range unsure {
		if p.Thread != ev.Thread && !ends(ev.Kind) {
			a.unsure = append(a.unsure, p)
			continue
		}
		found := instances(a.Checker.Check(a.Hist.Now(), p.For)).of(p.found)
		if a.Checker.Stopped() {
			return
		}
		if p.found = found; len(found) > 0 {
			a.found(p)
		}
		if a.done {
			return
		}
	}
}

// instanceSet is what is inconsistent: tens of thousands, where a wrong length has so many elements.
type instanceSet map[eval.Instance]bool

func instances(list []eval.Inconsistency) instanceSet {
	out := make(instanceSet, len(list))
	for i := range list {
		out[list[i].Instance] = true
	}
	return out
}

// of are the members of list that are in the set, not those that are not. Of list nothing else is left.
func (s instanceSet) of(list []eval.Inconsistency) []eval.Inconsistency {
	return slices.DeleteFunc(list, func(x eval.Inconsistency) bool { return !s[x.Instance] })
}

func (s instanceSet) not(list []eval.Inconsistency) []eval.Inconsistency {
	return slices.DeleteFunc(list, func(x eval.Inconsistency) bool { return s[x.Instance] })
}

func (s instanceSet) remove(list []eval.Inconsistency) {
	for i := range list {
		delete(s, list[i].Instance)
	}
}
