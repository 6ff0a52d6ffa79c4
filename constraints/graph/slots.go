package graph

import (
	"cmp"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// refresh re-reads the cells of o that overlap [lo, hi).
func (g *Graph) refresh(o ObjID, lo, hi int64, t mgpp.Timestamp) {
	lay, size := g.objs[o].lay, g.objs[o].Size
	for ci := range lay.cells {
		a, b := Overlap(lay.cells[ci].EdgeCell, lo, hi, size)
		for e := a; e < b; e++ {
			g.reread(ref{o, int32(ci), e}, t)
		}
	}
}

// reread resolves one cell at t and notes where it leads.
func (g *Graph) reread(r ref, t mgpp.Timestamp) {
	v := g.at(t)
	b := &g.objs[r.from]
	c := b.lay.cells[r.cell].EdgeCell
	tgt := v.Target(cellAddr(b, c, r.elem), c.Coded)
	to := g.resolve(tgt, c.Elem, b.Type, t)
	if to != 0 {
		g.point(r, to, tgt.Value-uint64(g.objs[to].Addr), t)
		return
	}
	if to = g.reach(r, tgt, t); to != 0 {
		g.point(r, to, 0, t)
		g.begun(to, t)
		return
	}
	g.point(r, 0, 0, t)
	switch {
	case tgt.State == mgpp.Points && tgt.Node != 0:
		g.loosen(tgt.Node, r)
	case tgt.State == mgpp.Wild && tgt.Past != 0:
		g.loosen(tgt.Past, r)
	}
	if g.members.any() && (tgt.State == mgpp.Points || tgt.State == mgpp.Wild) {
		g.members.await(trace.Addr(tgt.Value), r)
	}
}

// loosen remembers a cell that leads into a block, but to no object. Whether it
// still does is for the reader to find out.
func (g *Graph) loosen(id mgpp.NodeID, r ref) {
	l := append(g.loose[id], r)
	if n := len(l); n >= 16 && n&(n-1) == 0 { // now and then: cells come again and again
		l = compact(l)
	}
	g.loose[id] = l
}

func compact(l []ref) []ref {
	slices.SortFunc(l, func(a, b ref) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.cell, b.cell), cmp.Compare(a.elem, b.elem))
	})
	return slices.Compact(l)
}

func cellAddr(b *object, c *check.EdgeCell, elem int64) trace.Addr {
	return b.Addr + trace.Addr(c.Offset+elem*c.Stride)
}

// point notes that cell r leads to the object from t on.
func (g *Graph) point(r ref, to ObjID, off uint64, t mgpp.Timestamp) {
	b := &g.objs[r.from]
	at := b.lay.slotOf(int(r.cell), r.elem, b.Size)
	if at >= len(b.slots) {
		return
	}
	s := &b.slots[at]
	if s.to == to && (to == 0 || g.objs[to].in[s.pos].off == off) {
		return
	}
	left := s.to
	if left != 0 {
		g.unlink(s, t)
	}
	s.to, s.since = to, t
	if to != 0 {
		d := &g.objs[to]
		d.inner = d.inner || off != 0
		s.pos = int32(len(d.in))
		d.in = append(d.in, inRef{ref: r, off: off, since: t})
		d.inTimes = appendTime(d.inTimes, t)
	}
	if left != 0 {
		g.abandon(left, t)
	}
}

// unlink takes the cell of slot s out of its target's in list.
func (g *Graph) unlink(s *slot, t mgpp.Timestamp) {
	d := &g.objs[s.to]
	gone := d.in[s.pos]
	if gone.since < t {
		d.past = append(d.past, pastRef{gone, t})
	}
	d.inTimes = appendTime(d.inTimes, t)
	last := len(d.in) - 1
	if int(s.pos) != last {
		moved := d.in[last]
		d.in[s.pos] = moved
		m := &g.objs[moved.from]
		m.slots[m.lay.slotOf(int(moved.cell), moved.elem, m.Size)].pos = s.pos
	}
	d.in = d.in[:last]
}
