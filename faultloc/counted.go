package faultloc

import (
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
)

// Limits of the search for where a number was wrong first.
const (
	maxCounted    = 16 // stores before the last one
	maxUntilTold  = 64 // operations after a store until the constraints tell right from wrong
	maxCountedFor = 4  // inconsistencies that are asked
)

// counted follows a number back that is wrong by some difference. Each store of it that left
// it wrong by as much already, and not the last, is where to look: those behind it
// only counted on from there ("l->length = 1; … l->length++;").
func counted(in Input, suspects []Suspect, repairs []Repair) []Suspect {
	for i := range repairs {
		r := &repairs[i]
		if !r.ofNumber() {
			continue
		}
		last := r.lastChange(in)
		first, next := mgpp.Timestamp(0), last
		for range maxCounted {
			t := in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), next-min(next, 1))
			if t <= in.Healthy || !in.attributed(t) || !in.wrote(t) || !r.wrongBy(in, t, next) {
				break
			}
			if next = t; !in.usual(t) {
				first = t
			}
		}
		if first == 0 {
			first = r.aside(in, last)
		}
		if first == 0 || in.Statement(in.History.Op(first).PC) == in.Statement(in.History.Op(last).PC) {
			continue
		}
		known := len(suspects)
		s := statement(in, &suspects, first)
		if known < len(suspects) {
			s.Contributes = r.mended(in)
		}
		if s.has(Basis) {
			continue
		}
		s.Operation, s.Repair = first, r
		if !slices.Contains(s.Operations, first) {
			s.Operations = append(s.Operations, first)
		}
		s.Evidence = append(s.Evidence, Evidence{Kind: Basis, Cured: r.Cured, Of: len(in.Found)})
		onward(in, &suspects, last)
	}
	return suspects
}

// aside is a store that changed the number by as much as it is wrong now, from where on it was only counted
// on ("q->count = 0; q->count++;"); 0: there is none.
func (r *Repair) aside(in Input, last mgpp.Timestamp) mgpp.Timestamp {
	now, ok := read(in.Model.View(in.At), r.Cell.Addr, r.Cell.Size)
	if _, counts := in.step(last); !ok || !counts || last <= in.Healthy {
		return 0
	}
	for t, n := last, 0; n < maxCounted; n++ {
		t = in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), t-1)
		if t <= in.Healthy || !in.attributed(t) || !in.wrote(t) {
			return 0
		}
		if by, ok := in.step(t); ok && signed(by+r.Value-now, r.Cell.Size) == 0 && !in.usual(t) {
			return t
		}
	}
	return 0
}

// ofNumber: the repair gives a field another number, and does no harm.
func (r *Repair) ofNumber() bool {
	return !r.Cell.Pointer && r.Created == 0 && !r.Hides && len(r.Cell.Parts) == 0
}

// onward marks what experiments say against an operation's statement that went on from what was
// wrong already.
func onward(in Input, suspects *[]Suspect, t mgpp.Timestamp) {
	s := statement(in, suspects, t)
	for i := range s.Evidence {
		if e := &s.Evidence[i]; e.Kind == Counterfactual || e.Kind == RepairCell {
			e.Onward = true
		}
	}
}

// wrongBy: the first time that the constraints told, after a store at t and before the next,
// the number was wrong by the same difference as it is now.
func (r *Repair) wrongBy(in Input, t, next mgpp.Timestamp) bool {
	now, ok := read(in.Model.View(in.At), r.Cell.Addr, r.Cell.Size)
	was, ok2 := read(in.Model.View(t), r.Cell.Addr, r.Cell.Size)
	if !ok || !ok2 {
		return false
	}
	for at := t; at < next && at-t < maxUntilTold; at++ {
		view := in.Model.View(at)
		other := with(view, r.Cell, was+r.Value-now)
		n := 0
		for i, inc := range in.Found {
			if !r.cured[i] || n == maxCountedFor || in.stopped() {
				continue
			}
			n++
			real, fixed := in.Model.Eval(inc.Instance, view).Verdict == eval.Broken, in.Model.Eval(inc.Instance, other).Verdict == eval.Broken
			if real != fixed {
				return real
			}
		}
	}
	return false
}
