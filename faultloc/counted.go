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
		if _, told := r.says(in); !told && !in.counts(last) {
			continue // by how much it is wrong, only an equation says
		}
		first := r.countedFrom(in)
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

// countedFrom is the oldest store of the number, of one that is not what its statement always does, from which on it was wrong by
// as much as it is now. 0: there is none.
func (r *Repair) countedFrom(in Input) (first mgpp.Timestamp) {
	next := r.lastChange(in)
	for range maxCounted {
		t := in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), next-min(next, 1))
		if t <= in.Healthy || !in.attributed(t) || !in.wrote(t) || !r.wrongBy(in, t, next) {
			break
		}
		if next = t; !in.usual(t) {
			first = t
		}
	}
	return first
}

// counted is the last store of the number by which it was not only counted on ("n->words++") from one that was wrong by as much
// as it is now, with the repair as it was then. Of any other number it is the last store.
func (r *Repair) counted(in Input) (*Repair, mgpp.Timestamp) {
	last := in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), in.At)
	if !r.ofNumber() || !in.looksFor(Basis) || r.countedFrom(in) != 0 {
		return r, last
	}
	for range maxCounted {
		by, ok := in.step(last)
		prev := in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), last-min(last, 1))
		if last <= in.Healthy || !ok || !in.counts(last) {
			break
		}
		shifted := *r
		shifted.Value -= by
		if !shifted.needed(in, max(prev, in.Healthy), last) {
			break
		}
		r, last = &shifted, prev
	}
	return r, last
}

// needed: at some time between two, all that the repair cures was broken, and would have held with its number.
func (r *Repair) needed(in Input, from, to mgpp.Timestamp) bool {
	for t := from; t < to && t-from < maxUntilTold; t++ {
		was, would := in.verdicts(in.Model.View(t)), in.verdicts(with(in.Model.View(t), r.Cell, r.Value))
		if !slices.ContainsFunc(r.mended(in), func(i eval.Instance) bool { return in.stopped() || !was(i) || would(i) }) {
			return true
		}
	}
	return false
}

// aside is a store that changed the number by as much as it is wrong now, from where on it was only counted
// on ("q->count = 0; q->count++;"); 0: there is none.
func (r *Repair) aside(in Input, last mgpp.Timestamp) mgpp.Timestamp {
	now, ok := read(in.Model.View(in.At), r.Cell.Addr, r.Cell.Size)
	if !ok || last <= in.Healthy || !in.counts(last) {
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

// counts: an operation changed the number by one, or by as much as its instruction did the time before.
func (in *Input) counts(t mgpp.Timestamp) (counts bool) {
	step, ok := in.step(t)
	if !ok || step == 1 || step+1 == 0 {
		return ok
	}
	in.earlier(t, t, func(e mgpp.Timestamp) bool {
		by, ok := in.step(e)
		counts = ok && by == step
		return false
	})
	return counts
}

// ofNumber: the repair gives one field another number, and does no harm.
func (r *Repair) ofNumber() bool {
	return !r.Cell.Pointer && len(r.Others) == 0 && r.Created == 0 && !r.Hides && len(r.Cell.Parts) == 0
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
			real, fixed := in.Model.Verdict(inc.Instance, view) == eval.Broken, in.Model.Verdict(inc.Instance, other) == eval.Broken
			if real != fixed {
				return real
			}
		}
	}
	return false
}
