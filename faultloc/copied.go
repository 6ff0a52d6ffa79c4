package faultloc

import (
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
)

// A wrong value may have been copied. Who stored it first is where to look: who copied it did
// well.
//
//   - A number that was stored in the same field of other nodes before, since the last
//     healthy C-point, and made such constraints of a node of these inconsistent as are so now.
//   - A pointer to a node that had been freed by then: when that was freed, something still
//     led to it.

// maxCopied bounds the operations among which the first store of a value is looked for.
const maxCopied = 1 << 10

// copied accuses the first store of a number that was copied.
func copied(in Input, suspects []Suspect, repairs []Repair) []Suspect {
	for i := range repairs {
		r := &repairs[i]
		if !r.ofNumber() {
			continue
		}
		last := r.lastChange(in)
		first := r.source(in, last)
		if first == 0 || in.Statement(in.History.Op(first).PC) == in.Statement(in.History.Op(last).PC) {
			continue
		}
		suspects = passOn(in, suspects, r, last, first, Copied)
	}
	return suspects
}

// source is the first store of the number that an operation left in the repair's cell, into the
// same field, from where on such constraints were broken as the repair mends; 0: none was.
func (r *Repair) source(in Input, last mgpp.Timestamp) mgpp.Timestamp {
	if last <= in.Healthy || !in.attributed(last) {
		return 0
	}
	now, ok := read(in.Model.View(last), r.Cell.Addr, r.Cell.Size)
	if !ok || now == 0 {
		return 0
	}
	for t := max(in.Healthy, last-min(last, maxCopied)) + 1; t < last; t++ {
		op := in.History.Op(t)
		if op.Kind != mgpp.OpStore || op.Size != uint64(r.Cell.Size) || op.Addr == r.Cell.Addr || !in.attributed(t) {
			continue
		}
		view := in.Model.View(t)
		v, ok := read(view, op.Addr, r.Cell.Size)
		if !ok || v != now {
			continue
		}
		c, ok := in.Cells.Cell(op.Addr, view)
		if ok && c.Addr == op.Addr && general(c.Path) == general(r.Cell.Path) && in.Cells.Object(c.Obj).Type == in.Cells.Object(r.Cell.Obj).Type && r.wrongAt(in, c, t, last) {
			return t
		}
	}
	return 0
}

// wrongAt: between a store into a cell and another operation, constraints of what the repair mends
// were broken for the cell's node.
func (r *Repair) wrongAt(in Input, c Cell, t, until mgpp.Timestamp) bool {
	mine := func(list []eval.Instance) bool {
		return slices.ContainsFunc(list, func(i eval.Instance) bool {
			return slices.Contains(i.Nodes[:], c.Obj) && slices.ContainsFunc(in.Found, func(inc eval.Inconsistency) bool { return inc.Instance.Constraint == i.Constraint })
		})
	}
	for at := t + 1; at < until && at-t < maxUntilTold; at++ {
		if mine(in.Model.Touched(at)) {
			return true
		}
	}
	return mine(in.Model.Broken(in.Model.View(until - 1)))
}

// stale accuses the free of a node to which an operation stored a pointer only after that, and
// broke something by it.
func stale(in Input, suspects []Suspect) []Suspect {
	for i := range suspects {
		s := &suspects[i]
		if !s.has(Flip) {
			continue
		}
		for _, t := range s.Operations[:min(len(s.Operations), maxLinked)] {
			death := in.died(t)
			if death <= in.Healthy || !in.attributed(death) {
				continue
			}
			return passOn(in, suspects, s.Repair, t, death, Stale)
		}
	}
	return suspects
}

// died is when the node died to which an operation stored a pointer; 0: it stored none, or the
// node lived.
func (in *Input) died(t mgpp.Timestamp) mgpp.Timestamp {
	if t <= in.Healthy {
		return 0
	}
	v, ok := in.astray(in.History.Op(t))
	if !ok {
		return 0
	}
	for at := t - 1; at > in.Healthy && t-at < maxCopied; at-- {
		if o := in.History.Op(at); o.Kind == mgpp.OpDeath && v-uint64(o.Addr) < o.Size {
			return at
		}
	}
	return 0
}

// passOn adds evidence against the first of two operations, and takes most of the weight from
// what experiments say against the last one's statement.
func passOn(in Input, suspects []Suspect, r *Repair, last, first mgpp.Timestamp, k EvidenceKind) []Suspect {
	known := len(suspects)
	s := statement(in, &suspects, first)
	if s.has(k) {
		return suspects
	}
	e := Evidence{Kind: k, Cured: len(in.Found), Of: len(in.Found)}
	if r != nil {
		in.cures(&e, r.cured)
		if s.Repair == nil && k == Copied || k == Taken {
			s.Repair = r
		}
		if known < len(suspects) {
			s.Contributes = r.mended(in)
		}
	}
	s.Operation = first
	if !slices.Contains(s.Operations, first) {
		s.Operations = append(s.Operations, first)
	}
	s.Evidence = append(s.Evidence, e)
	onward(in, &suspects, last)
	return suspects
}
