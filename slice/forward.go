package slice

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
)

// Forward returns the forward slice of the criteria: all that depends on them. It
// goes once over the segments that come after them, and looks at the steps of those of
// which a source is in the slice.
func (x *Index) Forward(ctx context.Context, from Criteria, o Options) (*Slice, error) {
	f := &forward{x: x, o: o, out: newSlice(x, from, o), marks: make([]*marks, x.segments()), ways: forwardWays{limit: o.pathLimit()}, users: make([][]uint64, len(x.pieces))}
	f.out.ways = &f.ways
	first := x.Steps
	for _, n := range from {
		if n == 0 || n.Step() > x.Steps {
			return nil, ErrIndex
		}
		first = min(first, n.Step())
	}
	for i := segmentOf(first); i < len(f.marks); i++ {
		if i&1023 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := f.segment(i); err != nil {
			return nil, err
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
	cur   *marks // its own
	first bool   // a criterion is in it
	hit   []bool // by source of the segment: it is in the slice; of a list: it has to be looked at
	ways  forwardWays
	marks []*marks   // by segment; nil: nothing of it is in the slice
	room  []uint32   // for distances
	users [][]uint64 // by piece, of each reference: the ops that use it; nil: not asked for yet
}

// needed says how an op was reached first.
type needed struct {
	dist uint32 // + 1; 0: not at all
	kind EdgeKind
	via  Node
}

// marks are the ops of a segment that are in the slice.
type marks struct {
	ops  [segmentLen]uint64
	dist [segmentLen][]uint32 // by op, if it is in the slice
}

// has says that an op is in the slice, and how far it is from the criterion.
func (f *forward) has(n Node) (dist uint32, ok bool) {
	i := segmentOf(n.Step())
	if i >= len(f.marks) || f.marks[i] == nil {
		return 0, false
	}
	m, k, op := f.marks[i], (n.Step()-1)%segmentLen, n.Op()
	if m.ops[k]&(1<<op) == 0 {
		return 0, false
	}
	return m.dist[k][op], true
}

// segment takes the ops of a segment that use something in the slice.
func (f *forward) segment(i int) error {
	g := &f.seg
	if err := f.x.decode(i, g); err != nil {
		return err
	}
	f.first = slices.ContainsFunc(f.out.Criteria, func(n Node) bool { return segmentOf(n.Step()) == i })
	if !f.sources() && !f.first {
		return nil
	}
	f.cur = &marks{}
	f.marks[i] = f.cur
	for k := range g.steps {
		if ops := f.touched(k); f.first || ops != 0 {
			f.step(k, ops)
		}
	}
	return nil
}

// sources finds which sources of the segment are in the slice, and says that one is.
func (f *forward) sources() (any bool) {
	g := &f.seg
	le := binary.LittleEndian
	f.hit = f.hit[:0]
	for at := 0; at < len(g.sources); at += 8 {
		s := le.Uint64(g.sources[at:])
		_, _, hit := asList(s)
		if !hit {
			_, hit = f.has(Node(s))
			any = any || hit
		}
		f.hit = append(f.hit, hit)
	}
	for at := 0; at < len(g.distant) && !any; at += 8 {
		_, any = f.has(Node(le.Uint64(g.distant[at:])))
	}
	return any
}

// touched are the ops of a step that may use something in the slice from outside of it.
func (f *forward) touched(k int) (ops uint64) {
	d := &f.seg.steps[k]
	users := f.users[d.piece.ID-1]
	if users == nil {
		users = d.piece.users()
		f.users[d.piece.ID-1] = users
	}
	for i := range uint32(d.piece.refs) {
		switch ref := f.seg.ref(d.refs + i); {
		case ref >= beforeAll:
		case ref >= firstSource:
			if at := int(ref - firstSource); at < len(f.hit) && f.hit[at] {
				ops |= users[i]
			}
		case f.cur.ops[ref>>opBits]&(1<<(ref&(maxPieceOps-1))) != 0:
			ops |= users[i]
		}
	}
	return ops
}

// users are the ops that use each reference.
func (p *Piece) users() []uint64 {
	out := make([]uint64, p.refs)
	for op := range p.ops {
		for _, g := range p.ops[op].groups {
			out[g.group] |= 1 << op
		}
		for _, r := range p.ops[op].reads {
			out[len(p.groups)+int(r)] |= 1 << op
		}
		out[p.refs-1] |= 1 << op
	}
	return out
}

// step takes the ops of a step that use something in the slice: of those that may, and
// of those that use what the step itself has written or computed.
func (f *forward) step(k int, ops uint64) {
	d := &f.seg.steps[k]
	s := f.seg.first + StepID(k)
	for op := range d.piece.ops {
		if !f.first && ops&(1<<op) == 0 && f.cur.ops[k] == 0 {
			continue
		}
		n := node(s, uint16(op))
		v := needed{}
		if f.first && slices.Contains(f.out.Criteria, n) {
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
		if f.cur.dist[k] == nil {
			f.cur.dist[k] = f.distances(len(d.piece.ops))
		}
		f.cur.ops[k] |= 1 << op
		f.cur.dist[k][op] = v.dist - 1
	}
}

// distances returns room for those of some ops.
func (f *forward) distances(n int) []uint32 {
	if len(f.room) < n {
		f.room = make([]uint32, 1<<14)
	}
	var out []uint32
	out, f.room = f.room[:n:n], f.room[n:]
	return out
}

// uses finds the nearest of an op's definitions that is in the slice.
func (f *forward) uses(d *stepDeps, s StepID, op int, v *needed) {
	o := &d.piece.ops[op]
	from := func(def Node, kind EdgeKind) {
		if dist, ok := f.has(def); ok && (v.dist == 0 || dist+2 < v.dist) {
			*v = needed{dist + 2, kind, def}
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
