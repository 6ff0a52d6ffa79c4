package faultloc

import (
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
)

// markWhole notes which statements ran for the last time before a moment, since the last
// healthy C-point, at which the structure was whole: what they did fitted. Not so a wrong
// number: something else may have made it right for a while. Nor what a statement never did
// before. Nor what did not matter yet, since nothing asked for it then.
func markWhole(in Input, suspects []Suspect) {
	if in.Broken == nil || in.At-in.Healthy > farAway {
		return
	}
	whole := mgpp.Timestamp(0)
	for t := in.At; t > in.Healthy+1 && whole == 0 && !in.stopped(); {
		if t--; in.Broken(t) == 0 {
			whole = t
		}
	}
	if in.stopped() {
		return
	}
	for i := range suspects {
		s := &suspects[i]
		later := func(t mgpp.Timestamp) bool { return t > whole || !in.changed(t) }
		if s.Kind == Wrote && !s.has(Basis) && !s.unanswered() && !s.strayed() && !s.oddAlone() && whole > 0 && !slices.ContainsFunc(s.Operations, later) && !s.idleAt(in, whole) {
			s.Whole = whole
		}
	}
}

// idleAt: nothing that the suspect's repair cures asked at a moment for what it had stored: it holds with the least and
// the greatest number as well. Whole as it is, the structure says nothing about the number then.
func (s *Suspect) idleAt(in Input, whole mgpp.Timestamp) bool {
	r := s.Repair
	if r == nil || !r.ofNumber() || !r.evidence(in).explains() || in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), whole) != s.Operation {
		return false
	}
	view, least := in.Model.View(whole), uint64(1)<<(8*r.Cell.Size-1)
	for _, v := range [2]uint64{least, least - 1} {
		for _, i := range r.mended(in) {
			if in.Model.Verdict(i, with(view, r.Cell, v)) == eval.Broken {
				return false
			}
		}
	}
	return true
}

// strayed: it stored to a field that nothing broken reads what was meant for another one. Nothing asked for that.
func (s *Suspect) strayed() bool {
	return slices.ContainsFunc(s.Evidence, func(e Evidence) bool { return e.Kind == Instead && e.Unread })
}

// unanswered: it is what a count does not answer, which something else may have made right for a while, or a pointer that was left to a
// node, with which nothing was wrong until that was put in elsewhere.
func (s *Suspect) unanswered() bool {
	return slices.ContainsFunc(s.Evidence, func(e Evidence) bool { return e.Unanswered || e.Bypassed })
}

// oddAlone: it stored, or counted by, what it never did before.
func (s *Suspect) oddAlone() bool {
	return slices.ContainsFunc(s.Evidence, func(e Evidence) bool {
		return e.Kind == Unlike && !e.Later && (e.Law == LawSame || e.Law == LawZero || e.Law == LawStep || e.Law == LawNull)
	})
}
