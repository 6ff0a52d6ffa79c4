package faultloc

import (
	"slices"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// A pointer and what it leads to may not live at the same time.
//
//   - A pointer to a node that had been freed by then: when that was freed, something still
//     led to it.
//   - A pointer to a node that was freed after that, and the pointer is still there. Who stored it where it was already should
//     have stored another one.

// Limits of the search for stores and frees that do not fit.
const (
	maxLinked = 64      // operations of a statement that may have linked what is freed
	maxStale  = 1 << 10 // operations before a store among which a free is looked for
)

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
			if s.Operation == t && s.Repair.losesOther(in) {
				continue
			}
			return passOn(in, suspects, s.Repair, t, death, Stale)
		}
	}
	return suspects
}

// losesOther: the repair of a store puts a node there that lives, and to which nothing leads any more. That node would be
// lost as well had the free come later.
func (r *Repair) losesOther(in Input) bool {
	return r != nil && r.Target != 0 && r.evidence(in).explains() && in.Cells.Object(r.Target).Birth <= in.Healthy &&
		len(in.Cells.Into(r.Target, in.Model.View(in.At), 1)) == 0
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
	for at := t - 1; at > in.Healthy && t-at < maxStale; at-- {
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
		if k == Taken {
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

// doomed accuses the store of a pointer to a node that was there at the last healthy C-point, and
// was freed after the store, if the pointer is still there: nobody links what is about to be freed.
func doomed(in Input, suspects []Suspect) []Suspect {
	view := in.Model.View(in.At)
	for i := range suspects {
		s := &suspects[i]
		for _, t := range s.Operations[:min(len(s.Operations), maxLinked)] {
			op := in.History.Op(t)
			if t <= in.Healthy || op.Kind != mgpp.OpStore || op.Size != 8 || !in.changed(t) || in.History.LastWrite(op.Addr, 8, in.At) != t {
				continue
			}
			c, ok := in.Cells.Cell(op.Addr, view)
			v, known := read(view, op.Addr, 8)
			o := in.Cells.At(trace.Addr(v), in.Model.View(t))
			if !ok || !known || !c.Pointer || o == 0 {
				continue
			}
			if n := in.Cells.Object(o); n.Birth <= in.Healthy && n.Death > t && n.Death <= in.At {
				s.Evidence = append(s.Evidence, Evidence{Kind: Doomed})
				break
			}
		}
	}
	return suspects
}

// Limits of the search for pointers that were stored again.
const (
	maxDeaths = 16 // frees that are asked
	maxLeadTo = 4  // pointers to each node
)

// storedAgain accuses the store of a pointer that was in its cell already, and led to a node that was freed after that, if it is
// there still: what should have taken the node's place was not stored ("parent->left = n" for "parent->left = rest").
func storedAgain(in Input, suspects []Suspect, repairs []Repair) []Suspect {
	for t, n := in.At, 0; t > in.Healthy && in.At-t < maxStale && n < maxDeaths && !in.stopped(); t-- {
		op := in.History.Op(t)
		if op.Kind != mgpp.OpDeath {
			continue
		}
		n++
		before := in.Model.View(t - 1)
		o := in.Cells.At(op.Addr, before)
		if o == 0 {
			continue
		}
		for _, at := range in.Cells.Into(o, before, maxLeadTo) {
			if again := in.History.LastWrite(at, 8, in.At); again < t && in.idly(again) && uint64(at-op.Addr) >= op.Size {
				var found bool
				if suspects, found = stayed(in, suspects, repairs, o, at, again); !found {
					suspects = accuseAgain(in, suspects, again)
				}
			}
		}
	}
	return suspects
}

// idly: since the last healthy C-point, an operation stored the pointer that was in the cell.
func (in *Input) idly(t mgpp.Timestamp) bool {
	return t > in.Healthy && in.attributed(t) && in.History.Op(t).Kind == mgpp.OpStore && in.History.Op(t).Size == 8 && !in.changed(t)
}

func accuseAgain(in Input, suspects []Suspect, t mgpp.Timestamp) []Suspect {
	s := statement(in, &suspects, t)
	if s.has(Doomed) {
		return suspects
	}
	s.Operation = t
	if !slices.Contains(s.Operations, t) {
		s.Operations = append(s.Operations, t)
	}
	s.Evidence = append(s.Evidence, Evidence{Kind: Doomed, Unchanged: true, At: t})
	return suspects
}
