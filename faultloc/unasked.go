package faultloc

import (
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// maxOtherwise bounds the other values that are tried for a cell whose store would mend all only by not being asked for any more.
const maxOtherwise = 16

// unasked: who links a node breaks what the next store makes whole: `n->next = at->next;` asks for a way back, which
// `at->next->prev = n;` stores. Where that one, after it, has stored something else, the inconsistency would be gone without the
// first, and with NULL in its place, only since nothing would be asked any more, and with the right value in the other cell it is
// asked, and holds. Then the experiments with the first say the same, and little; unless another value would mend all and be asked.
func (l *lab) unasked(suspects []Suspect) {
	if l.in.Cells == nil || !l.in.looksFor(Unasked) {
		return
	}
	answered, ok := l.answered(suspects)
	if !ok {
		return
	}
	for i := range suspects {
		s := &suspects[i]
		if s.Kind != Wrote || !settled(*s) || s.Operation >= answered || s.Operation <= l.in.Healthy || !l.wasNotAsked(s.Operation) || l.askedOtherwise(s.Operation) {
			continue
		}
		for k := range s.Evidence {
			if e := &s.Evidence[k]; e.Kind == Counterfactual || e.Kind == RepairCell || e.Kind == Swapped {
				e.Unasked = true
			}
		}
	}
}

// answered is the newest store of a cell that with another value would mend all that is broken, each of which would be asked still.
func (l *lab) answered(suspects []Suspect) (last mgpp.Timestamp, ok bool) {
	for i := range suspects {
		s := &suspects[i]
		if s.Kind != Wrote || s.Repair == nil || len(s.Repair.Others) > 0 || !slices.ContainsFunc(s.Evidence, func(e Evidence) bool { return e.Kind == RepairCell && e.settles() }) || l.quiet(s.Repair.on(l.view)) {
			continue
		}
		t := s.Repair.lastChange(l.in)
		if t > max(last, l.in.Healthy) && l.in.attributed(t) && l.in.Statement(l.in.History.Op(t).PC) == l.in.Statement(s.PC) {
			last, ok = t, true
		}
	}
	return last, ok
}

// quiet: of something that is broken nothing is asked on a view, or nothing of the nodes to which its own lead any more, as where a
// pointer is NULL.
func (l *lab) quiet(v mgpp.View) bool {
	return slices.ContainsFunc(l.in.Found[:min(len(l.in.Found), maxHidden)], func(inc eval.Inconsistency) bool {
		r := l.in.Model.Eval(inc.Instance, v)
		return r.Verdict == eval.NotApplicable || l.beyond(inc.Instance, l.in.Model.Eval(inc.Instance, l.view).Deps) && !l.beyond(inc.Instance, r.Deps)
	})
}

// beyond: dependencies of an instance are bytes of other nodes than its own.
func (l *lab) beyond(i eval.Instance, deps []eval.Dep) bool {
	return slices.ContainsFunc(deps, func(d eval.Dep) bool {
		return d.Kind == eval.DepBytes && !slices.ContainsFunc(i.Nodes[:], func(o graph.ObjID) bool {
			own := l.in.Cells.Object(o)
			return o != 0 && uint64(d.Addr-own.Addr) < own.Size
		})
	})
}

// wasNotAsked: without a store something that is broken would not be asked.
func (l *lab) wasNotAsked(t mgpp.Timestamp) bool {
	return l.in.wrote(t) && l.quiet(l.in.History.Without(l.view, t))
}

// askedOtherwise: with another value of a field that a store wrote, of several where a compiler has made one of them, all would hold, and
// be asked. It is so where there are no trials left.
func (l *lab) askedOtherwise(t mgpp.Timestamp) bool {
	if l.exhausted() {
		return true
	}
	op := l.in.History.Op(t)
	for at, end := op.Addr, op.Addr+trace.Addr(min(op.Size, storeBytes)); at < end; {
		c, ok := l.in.Cells.Cell(at, l.view)
		if !ok {
			at++ // no field is there
			continue
		}
		at = c.Addr + trace.Addr(c.Size)
		values := l.values(c, l.inherited(c), nil)
		if slices.ContainsFunc(values[:min(len(values), maxOtherwise)], func(v uint64) bool {
			hypo := l.with(c, v)
			o, worth := l.try(hypo, len(l.in.Found))
			return worth && o.n == len(l.in.Found) && o.created == 0 && !l.quiet(hypo) && l.orphans(hypo, c.Addr, uint64(c.Size)) == 0
		}) {
			return true
		}
	}
	return false
}
