package faultloc

import (
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
)

// asksLess marks experiments with a pointer that mend only since less is asked then, where a change has outdated another field with
// which the same would hold, and all of it be asked: of "X.next == NULL or X.next.prev == X" both X.next = NULL and X.next.prev = X
// make a truth, and the second is what is forgotten where a node is put in before another one.
func (l *lab) asksLess(suspects []Suspect) {
	r, was := l.forgotten(suspects)
	if r == nil {
		return
	}
	for i := range suspects {
		s := &suspects[i]
		for k := range s.Evidence {
			e := &s.Evidence[k]
			hypo := l.view
			switch op := l.in.History.Op(s.Operation); {
			case e.Hides:
				continue
			case e.Kind == RepairCell && s.Repair != nil && s.Repair.Cell.Addr != r.Cell.Addr && s.Repair.Cell.Pointer:
				hypo = s.Repair.on(hypo)
			case e.Kind == Counterfactual && e.Times == 0 && op.Kind == mgpp.OpStore:
				if c, ok := l.in.cellAt(op, hypo); !ok || !c.Pointer || c.Addr == r.Cell.Addr {
					continue
				}
				hypo = l.in.History.Without(hypo, s.Operation)
			default:
				continue
			}
			e.Hides = l.asks(hypo, was) == fewer
		}
	}
}

// forgotten is what should have been stored beside a change, if all that it mends is asked as it was, and what was asked; nil: there is
// nothing such.
func (l *lab) forgotten(suspects []Suspect) (*Repair, []reading) {
	for i := range suspects {
		for _, e := range suspects[i].Evidence {
			r := e.Mends
			if e.Kind != Outdated || r == nil || r.Hides || !r.evidence(l.in).explains() {
				continue
			}
			if was := l.readFor(r); l.asks(r.on(l.view), was) == asMany {
				return r, was
			}
		}
	}
	return nil, nil
}

// reading is an inconsistency, and what it reads at the C-point.
type reading struct {
	instance eval.Instance
	deps     []eval.Dep
}

// readFor is what the first of the inconsistencies read that a repair mends; nil: it is too much to be compared.
func (l *lab) readFor(r *Repair) (out []reading) {
	for i, inc := range l.in.Found {
		if !r.cured[i] {
			continue
		}
		deps := l.in.Model.Eval(inc.Instance, l.view).Deps
		if len(deps) > maxCompared {
			return nil
		}
		if out = append(out, reading{inc.Instance, deps}); len(out) == maxHidden {
			break
		}
	}
	return out
}

// maxCompared bounds what an inconsistency reads that is compared.
const maxCompared = 64

// extent is how much is read in a hypothetical graph.
type extent int

const (
	others extent = iota // other than at the C-point
	asMany               // the same
	fewer                // a part of it
)

// asks says how much is read of what was: what all agree in.
func (l *lab) asks(hypo mgpp.View, was []reading) (how extent) {
	for i, r := range was {
		now, is := l.in.Model.Eval(r.instance, hypo), asMany
		switch {
		case slices.ContainsFunc(now.Deps, func(d eval.Dep) bool { return !slices.Contains(r.deps, d) }):
			is = others
		case now.Verdict == eval.NotApplicable, slices.ContainsFunc(r.deps, func(d eval.Dep) bool { return !slices.Contains(now.Deps, d) }):
			is = fewer // of an implication both sides are read, whatever its guard is
		}
		if i > 0 && is != how {
			return others
		}
		how = is
	}
	return how
}
