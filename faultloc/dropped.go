package faultloc

import (
	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Who takes a node out of a chain puts there what the node led to. If not, that is noticed when the node is freed: what is
// broken then is no fault of the free.

// dropped accuses the stores that took nodes out that were freed after that, if what the free broke for good would hold with what
// the node led to in its place. The free's flips count no more. What the node led to may be what it was taken out of, as after a
// rotation: that would only lead to itself, and belongs elsewhere.
func (l *lab) dropped(tb *contributions, suspects []Suspect) []Suspect {
	in := l.in
	whole := in.Model.View(in.At)
	for i := range suspects {
		free := &suspects[i]
		if in.History.Op(free.Operation).Kind != mgpp.OpDeath {
			continue
		}
		var by mgpp.Timestamp
		cured, all := map[eval.Instance]bool{}, 0
		for _, death := range free.Operations {
			if tb.byOp[death] == nil {
				continue
			}
			for _, f := range tb.byOp[death].flipped {
				if !f.lasting {
					continue
				}
				all++
				t, cell, v := in.takenBefore(death)
				if t == 0 {
					continue
				}
				for _, next := range v {
					if l.ownLoop(cell, next) || in.Cells.At(trace.Addr(next), whole) != 0 && !l.fits(cell, next) {
						continue // it leads there by a pointer of another type
					}
					if in.Model.Verdict(f.instance, with(whole, cell, next)) != eval.Broken {
						by, cured[f.instance] = t, true
						break
					}
				}
			}
		}
		if len(cured) == 0 || len(cured) < all || in.stopped() {
			continue
		}
		for k := range free.Evidence {
			if e := &free.Evidence[k]; e.Kind == Flip {
				e.Kind = Touch
			}
		}
		e := Evidence{Kind: Dropped, Flips: len(cured)}
		mends := make([]bool, len(in.Found))
		for i, inc := range in.Found {
			mends[i] = cured[inc.Instance]
		}
		in.cures(&e, mends)
		s := statement(in, &suspects, by)
		s.Operation = by
		s.Evidence = append(s.Evidence, e)
	}
	return suspects
}

// takenBefore is the last store before a free, since the last healthy C-point, that took a pointer to the node away and put
// none there that the node has: the cell, and the pointers of the node.
func (in *Input) takenBefore(death mgpp.Timestamp) (t mgpp.Timestamp, cell Cell, next []uint64) {
	op, before := in.History.Op(death), in.Model.View(death-1)
	for _, c := range in.Cells.Fields(in.Cells.At(op.Addr, before), before) {
		if v, ok := read(before, c.Addr, c.Size); ok && c.Pointer && v != 0 {
			next = append(next, v)
		}
	}
	for t := death - 1; t > in.Healthy && death-t < maxUnlinked && len(next) > 0; t-- {
		o := in.History.Op(t)
		if !in.attributed(t) || !in.tookOut(t, op.Addr) || uint64(o.Addr-op.Addr) < op.Size {
			continue
		}
		c, ok := in.Cells.Cell(o.Addr, in.Model.View(in.At))
		if !ok || !c.Pointer || c.Addr != o.Addr {
			return 0, Cell{}, nil
		}
		return t, c, next
	}
	return 0, Cell{}, nil
}
