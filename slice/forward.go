package slice

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
)

// Forward returns the forward slice of the criteria: all that depends on them. It
// goes once over the steps that come after them.
func (x *Index) Forward(ctx context.Context, from Criteria, o Options) (*Slice, error) {
	f := &forward{x: x, o: o, out: newSlice(x, from, o), marks: make([]*marks, x.segments()), ways: forwardWays{limit: o.pathLimit()}}
	f.out.ways = &f.ways
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
	ways  forwardWays
	marks []*marks // by segment; nil: nothing of it is in the slice
}

// needed says how an op was reached first.
type needed struct {
	dist uint32 // + 1; 0: not at all
	kind EdgeKind
	via  Node
}

// marks are the ops of a segment that are in the slice.
type marks struct {
	dist [segmentLen][]uint32 // by op: distance + 1; nil: none
}

// of returns what is marked of a step: nil if nothing is.
func (f *forward) of(s StepID) []uint32 {
	if m := f.marks[segmentOf(s)]; m != nil {
		return m.dist[(s-1)%segmentLen]
	}
	return nil
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
			f.uses(d, s, op, &v)
		}
		if v.dist == 0 {
			continue
		}
		f.out.take(n, d, v.dist-1)
		f.ways.add(n, v.via, v.kind)
		m := f.marks[segmentOf(s)]
		if m == nil {
			m = &marks{}
			f.marks[segmentOf(s)] = m
		}
		i := (s - 1) % segmentLen
		if m.dist[i] == nil {
			m.dist[i] = make([]uint32, len(d.piece.ops))
		}
		m.dist[i][op] = v.dist
	}
}

// uses finds the nearest of an op's definitions that is in the slice.
func (f *forward) uses(d *stepDeps, s StepID, op int, v *needed) {
	o := &d.piece.ops[op]
	from := func(def Node, kind EdgeKind) {
		if def == 0 || def.Step() > s {
			return
		}
		if dist := f.of(def.Step()); int(def.Op()) < len(dist) && dist[def.Op()] != 0 && (v.dist == 0 || dist[def.Op()]+1 < v.dist) {
			*v = needed{dist[def.Op()] + 1, kind, def}
		}
	}
	uses := func(ref int, units uint8, kind EdgeKind) {
		f.seg.each(f.seg.ref(d.refs+uint32(ref)), units, func(def Node) { from(def, kind) })
	}
	for use := range d.piece.within(op, f.o) {
		from(node(s, use.op), usedAs(use.addr))
	}
	for _, g := range o.groups {
		if !g.addr || !f.o.NoAddress {
			uses(int(g.group), g.mask, usedAs(g.addr))
		}
	}
	for _, r := range o.reads {
		uses(len(d.piece.groups)+int(r), 0, ByMemory)
	}
	if !f.o.NoControl {
		uses(d.piece.refs-1, 0, ByControl)
	}
}

// forwardWays are the ways of a forward slice. Ops come in ascending order.
type forwardWays struct {
	buf   []byte
	marks []mark
	last  Node
	n     int
	limit int
	full  bool
}

// mark is a place in the log from which it can be read.
type mark struct {
	node Node
	at   int
}

const markEvery = 128

func (l *forwardWays) add(n, via Node, kind EdgeKind) {
	if l.full {
		return
	}
	if len(l.buf) > l.limit {
		l.full = true
		return
	}
	if l.n%markEvery == 0 {
		l.marks = append(l.marks, mark{n, len(l.buf)})
		l.last = n
	}
	l.n++
	l.buf = binary.AppendUvarint(l.buf, uint64(n-l.last))
	d := uint64(0)
	if via != 0 {
		d = uint64(n - via)
	}
	l.buf = binary.AppendUvarint(l.buf, d<<2|uint64(kind))
	l.last = n
}

func (l *forwardWays) find(n Node) (via Node, kind EdgeKind, ok bool) {
	i, exact := slices.BinarySearchFunc(l.marks, n, func(m mark, n Node) int { return cmp.Compare(m.node, n) })
	if !exact {
		i--
	}
	if i < 0 {
		return 0, 0, false
	}
	c := cursor{b: l.buf, at: l.marks[i].at}
	at := l.marks[i].node
	for range markEvery {
		if c.at >= len(c.b) {
			break
		}
		at += Node(c.uvarint())
		v := c.uvarint()
		if at > n {
			break
		}
		if at == n {
			if v>>2 == 0 {
				return 0, EdgeKind(v & 3), true
			}
			return n - Node(v>>2), EdgeKind(v & 3), true
		}
	}
	return 0, 0, false
}
