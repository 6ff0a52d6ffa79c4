package slice

import "context"

// Forward returns the forward slice of the criteria: all that depends on them. It
// goes once over the steps that come after them.
func (x *Index) Forward(ctx context.Context, from Criteria, o Options) (*Slice, error) {
	f := &forward{x: x, o: o, out: newSlice(x, from, o), marks: make([]*marks, x.segments())}
	f.out.forward = true
	start := map[Node]bool{}
	first := x.Steps
	for _, n := range from {
		if n == 0 || n.Step() > x.Steps {
			return nil, ErrIndex
		}
		start[n] = true
		first = min(first, n.Step())
	}
	for i := segmentOf(first); i < len(f.marks); i++ {
		if i&1023 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := x.decode(i, &f.seg); err != nil {
			return nil, err
		}
		for k := range f.seg.steps {
			f.step(k, start)
		}
	}
	return f.out, nil
}

// forward is a forward slice in the making.
type forward struct {
	x     *Index
	o     Options
	out   *Slice
	seg   segment
	marks []*marks // by segment; nil: nothing of it is in the slice
}

// marks are the ops of a segment that are in the slice.
type marks struct {
	pieces [segmentLen]*Piece
	dist   [segmentLen][]uint32 // by op: distance + 1; nil: none
}

// of returns what is marked of a step: nil if nothing is.
func (f *forward) of(s StepID) (*Piece, []uint32) {
	m := f.marks[segmentOf(s)]
	if m == nil {
		return nil, nil
	}
	k := (s - 1) % segmentLen
	return m.pieces[k], m.dist[k]
}

// step takes the ops of a step that use something in the slice.
func (f *forward) step(k int, start map[Node]bool) {
	d := &f.seg.steps[k]
	s := f.seg.first + StepID(k)
	for op := range d.piece.ops {
		n := node(s, uint16(op))
		v := needed{}
		if start[n] {
			v.dist = 1
		} else {
			if d.piece.ops[op].frame {
				continue
			}
			f.uses(d, s, &d.piece.ops[op], &v)
		}
		if v.dist == 0 {
			continue
		}
		f.out.take(n, d, v)
		m := f.marks[segmentOf(s)]
		if m == nil {
			m = &marks{}
			f.marks[segmentOf(s)] = m
		}
		i := (s - 1) % segmentLen
		if m.dist[i] == nil {
			m.pieces[i], m.dist[i] = d.piece, make([]uint32, len(d.piece.ops))
		}
		m.dist[i][op] = v.dist
	}
}

// uses finds the nearest of an op's definitions that is in the slice.
func (f *forward) uses(d *stepDeps, s StepID, o *pieceOp, v *needed) {
	from := func(def StepID, op uint16, kind EdgeKind) {
		if def == 0 {
			return
		}
		if _, dist := f.of(def); dist != nil && int(op) < len(dist) && dist[op] != 0 && (v.dist == 0 || dist[op]+1 < v.dist) {
			*v = needed{dist[op] + 1, kind, node(def, op)}
		}
	}
	kindOf := func(addr bool) EdgeKind {
		if addr {
			return ByAddress
		}
		return ByRegister
	}
	for _, l := range o.local {
		if !l.addr || !f.o.NoAddress {
			from(s, l.op, kindOf(l.addr))
		}
	}
	for _, g := range o.groups {
		if g.addr && f.o.NoAddress {
			continue
		}
		units := group{d.piece.groups[g.group].quad, g.mask}
		by := f.seg.units(d, g.group)
		for i := range uint8(4) {
			if units.mask&(1<<i) == 0 || by[i] == 0 {
				continue
			}
			if p, _ := f.of(by[i]); p != nil {
				p.defs(group{units.quad, 1 << i}, func(op uint16) { from(by[i], op, kindOf(g.addr)) })
			}
		}
	}
	memory := func(r uint32) {
		for _, def := range f.seg.memory(r) {
			from(def.Step(), def.Op(), ByMemory)
		}
	}
	if d.piece.Code == nil {
		for r := range d.nreads {
			memory(d.reads + r)
		}
	}
	for _, r := range o.reads {
		memory(d.reads + uint32(r))
	}
	if d.control != 0 && !f.o.NoControl {
		if p, _ := f.of(d.control); p != nil {
			from(d.control, p.control, ByControl)
		}
	}
}
