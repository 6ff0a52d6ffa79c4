package slice

import (
	"iter"
	"math/bits"
)

// plan is what the wanted ops of a piece depend on: in the piece, all; and the edges that
// lead out of it. It is the same for all steps of the piece of which the same is wanted.
type plan struct {
	id     uint32 // its place in planner.plans
	piece  *Piece
	mask   uint64 // the wanted ops
	wanted []uint8
	all    uint64 // with what they depend on in the piece
	size   int    // how many ops that is

	edges []edge
	first edgeID // of the first
	nears []near // from each edge to each wanted op that it is reached from

	steps uint64 // in the slice
}

// edge is a reference of a step that ops of a plan use.
type edge struct {
	ref    uint16 // counted from the step's first
	kind   EdgeKind
	units  uint8  // of a group; 0: all that was read
	near   near   // how far it is from a wanted op
	others uint8  // how many more such there are
	at     uint32 // of these in plan.nears
	ops    uint64 // that use it
	before uint64 // how often it led to what nothing in the recording wrote
}

// edgeID is the number of an edge among those of all plans, and its kind; 0: no edge, a
// criterion.
type edgeID uint32

// edgeID is that of the plan's i-th edge.
func (p *plan) edgeID(i int) edgeID { return p.first + edgeID(i)<<2 | edgeID(p.edges[i].kind) }

func (id edgeID) number() int    { return int(id >> 2) }
func (id edgeID) kind() EdgeKind { return EdgeKind(id & 3) }

// near is the op that uses an edge next to a wanted op, and how far it is from there.
type near struct{ wanted, op, dist uint8 }

// planner has the plans of a slice.
type planner struct {
	out   *Slice
	known [][]*plan // by piece, those that were used last before the others
	plans []*plan
	edges int // of all plans, and one that is none
}

func newPlanner(s *Slice) planner {
	return planner{out: s, known: make([][]*plan, len(s.x.pieces)), edges: 1}
}

// of returns the plan for ops of a piece.
func (l *planner) of(piece *Piece, mask uint64) (*plan, error) {
	known := l.known[piece.ID-1]
	for i, p := range known {
		if p.mask == mask {
			if i > 0 {
				known[i], known[i-1] = known[i-1], p
			}
			return p, nil
		}
	}
	if len(piece.ops) < bits.Len64(mask) {
		return nil, ErrIndex
	}
	p := l.make(piece, mask)
	l.known[piece.ID-1] = append(known, p)
	return p, nil
}

// make works out a plan.
//
//  1. The ops: from the last to the first, what a wanted op uses is wanted.
//  2. The edges: what these use from before the piece, the memory that they read, and the
//     branch that all depend on.
//  3. For each edge and each wanted op, the shortest way between them.
func (l *planner) make(piece *Piece, mask uint64) *plan {
	o := l.out.Options
	p := &plan{id: uint32(len(l.plans)), piece: piece, mask: mask, all: mask, first: edgeID(l.edges << 2)}
	l.plans = append(l.plans, p)
	for op := range bitsOf(mask) {
		p.wanted = append(p.wanted, uint8(op))
	}
	for op := len(piece.ops) - 1; op >= 0; op-- {
		if p.all&(1<<op) == 0 {
			continue
		}
		for use := range piece.within(op, o) {
			p.all |= 1 << use.op
		}
	}
	p.size = bits.OnesCount64(p.all)
	for op := range bitsOf(p.all) {
		for _, g := range piece.ops[op].groups {
			if !g.addr || !o.NoAddress {
				p.edge(op, edge{ref: g.group, units: g.mask, kind: usedAs(g.addr)})
			}
		}
		for _, r := range piece.ops[op].reads {
			p.edge(op, edge{ref: uint16(len(piece.groups)) + r, kind: ByMemory})
		}
		if !o.NoControl {
			p.edge(op, edge{ref: uint16(piece.refs - 1), kind: ByControl})
		}
	}
	l.edges += len(p.edges)
	far := make([]distances, len(p.wanted))
	for i, op := range p.wanted {
		far[i].from(op, 0)
		p.spread(&far[i], o)
	}
	for i := range p.edges {
		e := &p.edges[i]
		e.at = uint32(len(p.nears))
		for i, op := range p.wanted {
			n := near{wanted: op, dist: unreached}
			for u := range bitsOf(e.ops) {
				if at := far[i][u]; at.reached && at.dist < uint32(n.dist) {
					n.op, n.dist = uint8(u), uint8(at.dist)
				}
			}
			if n.dist != unreached {
				p.nears = append(p.nears, n)
			}
		}
		e.near, e.others = p.nears[e.at], uint8(len(p.nears)-int(e.at)-1)
		e.at++
	}
	return p
}

// unreached is more than any distance in a piece.
const unreached = maxPieceOps + 1

// edge adds that an op uses an edge.
func (p *plan) edge(op int, e edge) {
	for i := range p.edges {
		if q := &p.edges[i]; q.ref == e.ref && q.units == e.units && q.kind == e.kind {
			q.ops |= 1 << op
			return
		}
	}
	e.ops = 1 << op
	p.edges = append(p.edges, e)
}

// nearest is the distance of an edge from the criterion, with those of the wanted ops, and
// the op that uses it there.
func (p *plan) nearest(e *edge, need *[maxPieceOps]reached) (dist uint32, op uint8) {
	dist, op = need[e.near.wanted&(maxPieceOps-1)].dist+uint32(e.near.dist), e.near.op
	if e.others == 0 {
		return dist, op
	}
	for _, n := range p.nears[e.at:][:e.others] {
		if d := need[n.wanted&(maxPieceOps-1)].dist + uint32(n.dist); d < dist {
			dist, op = d, n.op
		}
	}
	return dist, op
}

// count tells the slice what was counted by plans.
func (l *planner) count() {
	for _, p := range l.plans {
		l.out.Ops += p.steps * uint64(p.size)
		row := l.out.of(p.piece)
		for op := range bitsOf(p.all) {
			row[op].Count += p.steps
		}
		for i := range p.edges {
			e := &p.edges[i]
			for op := range bitsOf(e.ops) {
				if e.kind == ByMemory {
					row[op].BeforeMemory += e.before
				} else {
					row[op].BeforeRegister += e.before
				}
			}
		}
	}
}

// distances are those of the ops of a piece from the criterion.
type distances [maxPieceOps]struct {
	reached bool
	kind    EdgeKind
	by      int8 // the op of the piece by which it is reached so; -1: from elsewhere
	dist    uint32
}

// from makes an op one that is reached from elsewhere.
func (f *distances) from(op uint8, dist uint32) {
	f[op].reached, f[op].by, f[op].dist = true, -1, dist
}

// spread goes from what is reached from elsewhere to what that depends on.
func (p *plan) spread(f *distances, o Options) {
	for op := len(p.piece.ops) - 1; op >= 0; op-- {
		if !f[op].reached {
			continue
		}
		for use := range p.piece.within(op, o) {
			if at := &f[use.op]; !at.reached || f[op].dist+1 < at.dist {
				at.reached, at.dist, at.by, at.kind = true, f[op].dist+1, int8(op), usedAs(use.addr)
			}
		}
	}
}

// within is what an op uses of its piece.
func (p *Piece) within(op int, o Options) iter.Seq[localUse] {
	return func(yield func(localUse) bool) {
		for _, l := range p.ops[op].local {
			if !(l.addr && o.NoAddress) && p.frames&(1<<l.op) == 0 && !yield(l) {
				return
			}
		}
	}
}

// usedAs says how a register is used.
func usedAs(addr bool) EdgeKind {
	if addr {
		return ByAddress
	}
	return ByRegister
}

// bitsOf are the numbers of the bits of a word that are set, ascending.
func bitsOf(w uint64) iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; w != 0; w &= w - 1 {
			if !yield(bits.TrailingZeros64(w)) {
				return
			}
		}
	}
}
