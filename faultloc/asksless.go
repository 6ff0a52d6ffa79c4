package faultloc

import (
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
)

// asksLess marks experiments with a pointer that mend only since less is scope then, where a change has outdated another field with
// which the same would hold, and all of it be scope: of "X.next == NULL or X.next.prev == X" both X.next = NULL and X.next.prev = X
// make a truth, and the second is what is forgotten where a node is put in before another one.
func (l *lab) asksLess(suspects []Suspect) {
	r := l.forgotten(suspects)
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
			e.Hides = l.asks(hypo, r) == fewer
		}
	}
}

// forgotten is what should have been stored beside a change, if all that it mends is scope as it was; nil: there is nothing such.
func (l *lab) forgotten(suspects []Suspect) *Repair {
	for i := range suspects {
		for _, e := range suspects[i].Evidence {
			if r := e.Mends; e.Kind == Outdated && r != nil && !r.Hides && r.evidence(l.in).explains() && l.asks(r.on(l.view), r) == asMany {
				return r
			}
		}
	}
	return nil
}

// scope is how much is read for what a repair mends, in a hypothetical graph.
type scope int

const (
	others scope = iota // other than at the C-point
	asMany              // the same
	fewer               // a part of it
)

// asks says so of the first of the inconsistencies: what all agree in.
func (l *lab) asks(hypo mgpp.View, r *Repair) (how scope) {
	n := 0
	for i, inc := range l.in.Found {
		if !r.cured[i] {
			continue
		}
		if n++; n > maxHidden {
			break
		}
		now, then := l.in.Model.Eval(inc.Instance, l.view).Deps, l.in.Model.Eval(inc.Instance, hypo).Deps
		is := others
		switch {
		case len(now) > maxCompared || slices.ContainsFunc(then, func(d eval.Dep) bool { return !slices.Contains(now, d) }):
		case slices.ContainsFunc(now, func(d eval.Dep) bool { return !slices.Contains(then, d) }):
			is = fewer
		default:
			is = asMany
		}
		if n > 1 && is != how {
			return others
		}
		how = is
	}
	return how
}

// maxCompared bounds what an inconsistency reads that is compared.
const maxCompared = 64
