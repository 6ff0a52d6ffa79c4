package graph

import (
	"cmp"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

// refresh re-reads the cells of o that overlap [lo, hi).
func (g *Graph) refresh(o ObjID, lo, hi int64, t mgpp.Timestamp) {
	g.refreshBy(o, lo, hi, &mgpp.Brief{}, t)
}

// refreshBy is refresh after a write.
func (g *Graph) refreshBy(o ObjID, lo, hi int64, op *mgpp.Brief, t mgpp.Timestamp) {
	if size := g.objs.at(o).Size; g.defers() && Grain(size) == 8 {
		g.wait(o).soiled |= Parts(lo, hi, size)
		return
	}
	g.stored(o, lo, hi, op, t)
}

// stored is refresh for a write of which the history need not be asked where it leads, most
// often.
func (g *Graph) stored(o ObjID, lo, hi int64, op *mgpp.Brief, t mgpp.Timestamp) {
	b := g.objs.at(o)
	lay, size := b.lay, b.Size
	for ci := range lay.cells {
		c := lay.cells[ci].EdgeCell
		first, end := Overlap(c, lo, hi, size)
		for e := first; e < end; e++ {
			r := ref{o, int32(ci), int32(e)}
			if (b.Member == 0 || g.members.apart) && c.Coded == coded.Plain { // a member need not lie in a block as a whole
				v, known, all := g.word(op, cellAddr(g.objs.at(o), c, e), t)
				if known {
					if to, off, known := g.leads(v); known {
						g.point(r, to, off, t)
						continue
					}
				} else if all { // so of a hundred million cells, of which the first bytes alone were recorded
					g.point(r, 0, 0, t)
					continue
				}
			}
			g.reread(r, t)
		}
	}
}

// word is what a write put into the pointer at an address, if it is known, and wrote all of it; all: it did, and nobody knows what.
func (g *Graph) word(op *mgpp.Brief, addr trace.Addr, t mgpp.Timestamp) (v uint64, known, all bool) {
	switch {
	case op.Size > 8:
		return g.hist.Wrote(t, addr)
	case op.Size == 8 && op.Addr == addr:
		return op.Value, op.Valued, false
	}
	return 0, false, false
}

// leads returns the object that a pointer leads to that is stored now, and where in it; not
// known is where there may be several, or a block without objects, or what need not lie in a
// block that lives.
func (g *Graph) leads(value uint64) (to ObjID, off uint64, known bool) {
	return g.leadsBy(&g.places, value)
}

// leadsBy is leads by a copy of the places, which remember what they were asked last.
func (g *Graph) leadsBy(p *places, value uint64) (to ObjID, off uint64, known bool) {
	if value == 0 {
		return 0, holdsNull, true
	}
	o, sure := p.over(trace.Addr(value), 1)
	if !sure || o == 0 || g.isNil(value) {
		return 0, 0, false
	}
	b := g.objs.at(o)
	off = value - uint64(b.Addr)
	return o, off, b.Death == 0 && !b.Divided && (b.Member == 0 || g.members.apart) && value >= uint64(b.Addr) && off < b.Size
}

// led is leads for a pointer that has been stored at a time: by then the object was there, and it
// was no smaller or larger.
func (g *Graph) led(p *places, value uint64, stored mgpp.Timestamp) (to ObjID, off uint64, known bool) {
	to, off, known = g.leadsBy(p, value)
	if b := g.objs.at(to); known && to != 0 {
		known = b.Birth <= stored && len(b.rare().resizes) == 0
	}
	return to, off, known
}

// Leads returns the object to which a pointer of o leads at t, and the pointer, where that is known
// without a long look at the history: the object is the only one of its block. Both are 0 of NULL.
func (g *Graph) Leads(o ObjID, addr trace.Addr, t mgpp.Timestamp) (to ObjID, value uint64, known bool) {
	if g.unsettled() || g.members.tangled() {
		return 0, 0, false
	}
	if t != g.now {
		return g.ledThen(o, addr, t)
	}
	s := g.objs.at(o).slotAt(addr)
	if s == nil {
		return 0, 0, false
	}
	if s.to == 0 {
		return 0, 0, s.off == holdsNull
	}
	d := g.objs.at(s.to)
	off := g.bytes(s.off)
	if d.Death != 0 || !d.holds(off) {
		return 0, 0, false
	}
	return s.to, uint64(d.Addr) + off, true
}

// ledThen is Leads of a time that is over: a pointer that is there still has led where it leads since it was noted, and
// of another one, or of NULL, the history has the word.
func (g *Graph) ledThen(o ObjID, addr trace.Addr, t mgpp.Timestamp) (to ObjID, value uint64, known bool) {
	if g.put.on || g.members.some {
		return 0, 0, false
	}
	s := g.objs.at(o).slotAt(addr)
	if s != nil && s.to != 0 {
		d := g.objs.at(s.to)
		if off := g.bytes(s.off); mgpp.Timestamp(d.in[s.pos].since) <= t && !g.over(s.to, t) && d.holds(off) {
			return s.to, uint64(d.Addr) + off, true
		}
	}
	value, stored := g.hist.Word(addr, t)
	if stored == 0 || value == 0 {
		return 0, 0, stored != 0
	}
	to = g.places.peek(trace.Addr(value))
	if to == 0 || to == several || g.isNil(value) {
		return 0, 0, false
	}
	d := g.objs.at(to)
	if d.Birth > stored || g.over(to, t) || !d.holds(value-uint64(d.Addr)) {
		return 0, 0, false
	}
	return to, value, true
}

// slotAt is the slot of the pointer at an address, nil if there is none, or the object has ended.
func (b *object) slotAt(addr trace.Addr) *slot {
	if i := b.lay.slotAt(int64(addr - b.Addr)); i >= 0 && int(i) < len(b.slots) {
		return &b.slots[i]
	}
	return nil
}

// holds reports whether an offset lies in an object that is the only one of its block and has always had its size.
func (b *object) holds(off uint64) bool {
	return b.alone && off < b.Size && len(b.rare().resizes) == 0
}

// Edges returns how many edges of o's structure lead to it at t, by some fields, nil: those that count by default, where that is
// known without a look at the history: the cells are in use whatever they hold.
func (g *Graph) Edges(o ObjID, fields []check.Field, t mgpp.Timestamp) (n int64, known bool) {
	b := g.objs.at(o)
	if g.unsettled() || len(g.nils) > 0 || b.Type == nil || t != g.now && g.put.on {
		return 0, false
	}
	for i := range b.in {
		r := &b.in[i]
		if t != g.now && mgpp.Timestamp(r.since) > t {
			continue
		}
		if d := g.objs.at(r.from).Death; d != 0 {
			if t == g.now {
				return 0, false
			}
			if d <= t {
				continue
			}
		}
		k, plain := g.edges(b, r, fields)
		if !plain {
			return 0, false
		}
		n += k
	}
	if t == g.now {
		return n, true
	}
	past := &b.rare().past
	for i := past.at(t); i < len(past.list); i = past.next(i+1, t) {
		k, plain := g.edges(b, &past.list[i].inRef, fields)
		if !plain {
			return 0, false
		}
		n += k
	}
	return n, true
}

// edges is 1 if a pointer that leads to b is such an edge of its structure, 0 if not. It is not plain where that
// depends on what else there is.
func (g *Graph) edges(b *object, r *inRef, fields []check.Field) (n int64, plain bool) {
	from := g.objs.at(r.from)
	switch c := &from.lay.cells[r.cell]; {
	case fields == nil && !c.counts, !c.edge || from.Type == nil || from.Type.Group != b.Type.Group,
		fields != nil && !Counts(from.Type, c.EdgeCell, fields):
		return 0, true
	case !c.plain:
		return 0, false
	}
	return 1, true
}

// quick resolves one cell at t, which is now, where that takes no view of the history. It changes nothing but p, a
// copy of the places.
func (g *Graph) quick(p *places, r ref, t mgpp.Timestamp) (to ObjID, off uint64, known bool) {
	b := g.objs.at(r.from)
	c := b.lay.cells[r.cell].EdgeCell
	if c.Coded != coded.Plain || g.members.tangled() {
		return 0, 0, false
	}
	value, stored := g.hist.Word(cellAddr(b, c, int64(r.elem)), t)
	if stored == 0 {
		return 0, 0, false
	}
	return g.led(p, value, stored)
}

// reread resolves one cell at t, which is now, and notes where it leads.
func (g *Graph) reread(r ref, t mgpp.Timestamp) {
	if to, off, known := g.quick(&g.places, r, t); known {
		g.point(r, to, off, t)
		return
	}
	b := g.objs.at(r.from)
	c := b.lay.cells[r.cell].EdgeCell
	v := g.at(t)
	tgt := v.Target(cellAddr(b, c, int64(r.elem)), c.Coded)
	to := g.resolve(tgt, c.Elem, b.Type, t)
	if made := g.reach(r, tgt, to, t); made != 0 {
		g.point(r, made, 0, t)
		g.begun(made, t)
		return
	}
	if to != 0 {
		if tgt.State != mgpp.Points && g.objs.at(to).Member != 0 {
			g.tangle() // the pointer is older than the block
		}
		g.point(r, to, tgt.Value-uint64(g.objs.at(to).Addr), t)
		return
	}
	g.point(r, 0, 0, t)
	switch {
	case tgt.State == mgpp.Points && tgt.Node != 0:
		g.loosen(tgt.Node, r)
	case tgt.State == mgpp.Wild && tgt.Past != 0:
		g.loosen(tgt.Past, r)
	}
	if g.members.some && (tgt.State == mgpp.Points || tgt.State == mgpp.Wild) {
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
	b := g.objs.at(r.from)
	at := b.lay.slotOf(int(r.cell), int64(r.elem), b.Size)
	if at >= len(b.slots) {
		return
	}
	s := &b.slots[at]
	if s.to == to && (to == 0 || g.bytes(s.off) == off) {
		if to == 0 {
			s.off = offset(off)
		}
		return
	}
	left := s.to
	if left != 0 {
		g.unlink(s, t)
	}
	if g.following {
		g.pending.otherIn(left)
		g.pending.otherIn(to)
	}
	s.to, s.off = to, g.code(off)
	if to != 0 {
		d := g.objs.at(to)
		if off != 0 {
			d.inner = true
			g.overhangs(d, off)
			g.inward = g.inward || d.lay.narrow
		}
		s.pos = int32(len(d.in))
		switch n := len(d.in); {
		case d.in == nil:
			d.in = g.ins.take(fewIn)[:0]
		case n == cap(d.in):
			d.in = slices.Grow(d.in, n) // twice as long: append leaves much more behind
		}
		d.in = append(d.in, inRef{from: r.from, elem: r.elem, since: uint32(t), cell: uint16(r.cell), near: uint16(min(off, notNear))})
		g.inChanged(d, t)
	}
	if left != 0 {
		g.abandon(left, t)
	}
}

// fewIn is how many pointers lead to most nodes, at most.
const fewIn = 4

// inChanged notes when edges into an object change.
func (g *Graph) inChanged(b *object, t mgpp.Timestamp) {
	if g.put.on {
		g.put.lost = true
		return
	}
	m := b.toRare()
	m.inTimes = appendTime(m.inTimes, t)
}

// unlink takes the cell of slot s out of its target's in list.
func (g *Graph) unlink(s *slot, t mgpp.Timestamp) {
	d := g.objs.at(s.to)
	gone := d.in[s.pos]
	if mgpp.Timestamp(gone.since) < t {
		m := d.toRare()
		g.forget(m)
		m.past.add(pastRef{gone, uint32(t), s.off})
	}
	g.inChanged(d, t)
	last := len(d.in) - 1
	if int(s.pos) != last {
		moved := d.in[last]
		d.in[s.pos] = moved
		m := g.objs.at(moved.from)
		if m.slots != nil { // it has not ended
			m.slots[m.lay.slotOf(int(moved.cell), int64(moved.elem), m.Size)].pos = s.pos
		}
	}
	d.in = d.in[:last]
}
