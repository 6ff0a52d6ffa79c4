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

	first, end edgeID

	steps uint64   // in the slice
	least []uint32 // the least distance from the criterion of each wanted op, at all steps
}

// edge is a reference of a step that ops of a plan use.
type edge struct {
	ref   uint16 // counted from the step's first
	kind  EdgeKind
	units uint8 // of a group; 0: all that was read
	plan  uint32
	near  uint32 // in planner.nears: how far the edge is from each wanted op
	count uint16
	ops   uint64 // that use it

	last   [2]uint64 // ops (piece and op) to which it led last
	before uint64    // how often it led to what nothing in the recording wrote
}

// edgeID is a place in planner.edges; 0: no edge, a criterion.
type edgeID uint32

// near is the op that uses an edge next to a wanted op, and how far it is from there.
type near struct{ wanted, op, dist uint8 }

// planner has the plans of a slice.
type planner struct {
	out    *Slice
	latest []*plan // by piece
	known  map[planKey]*plan
	plans  []*plan
	edges  []edge
	nears  []near
}

type planKey struct {
	piece uint32
	mask  uint64
}

func newPlanner(s *Slice) planner {
	return planner{out: s, latest: make([]*plan, len(s.x.pieces)), known: map[planKey]*plan{}, edges: make([]edge, 1)}
}

// of returns the plan for ops of a piece.
func (l *planner) of(piece *Piece, mask uint64) (*plan, error) {
	p := l.latest[piece.ID-1]
	if p != nil && p.mask == mask {
		return p, nil
	}
	key := planKey{piece.ID, mask}
	q := l.known[key]
	if q == nil {
		if len(piece.ops) < bits.Len64(mask) {
			return nil, ErrIndex
		}
		q = l.make(piece, mask)
		l.known[key] = q
	}
	l.latest[piece.ID-1] = q
	return q, nil
}

// make works out a plan.
//
//  1. The ops: from the last to the first, what a wanted op uses is wanted.
//  2. The edges: what these use from before the piece, the memory that they read, and the
//     branch that all depend on.
//  3. For each edge and each wanted op, the shortest way between them.
func (l *planner) make(piece *Piece, mask uint64) *plan {
	o := l.out.Options
	p := &plan{id: uint32(len(l.plans)), piece: piece, mask: mask, all: mask, first: edgeID(len(l.edges))}
	l.plans = append(l.plans, p)
	for op := range bitsOf(mask) {
		p.wanted = append(p.wanted, uint8(op))
		p.least = append(p.least, ^uint32(0))
	}
	for op := len(piece.ops) - 1; op >= 0; op-- {
		if p.all&(1<<op) == 0 {
			continue
		}
		for use := range piece.within(op, o) {
			p.all |= 1 << use.op
			l.out.used(piece, use.op, staticOp{piece.ID, uint16(op), usedAs(use.addr)})
		}
	}
	p.size = bits.OnesCount64(p.all)
	for op := range bitsOf(p.all) {
		for _, g := range piece.ops[op].groups {
			if !g.addr || !o.NoAddress {
				l.edge(p, op, edge{ref: g.group, units: g.mask, kind: usedAs(g.addr)})
			}
		}
		for _, r := range piece.ops[op].reads {
			l.edge(p, op, edge{ref: uint16(len(piece.groups)) + r, kind: ByMemory})
		}
		if !o.NoControl {
			l.edge(p, op, edge{ref: uint16(piece.refs - 1), kind: ByControl})
		}
	}
	p.end = edgeID(len(l.edges))
	far := make([]distances, len(p.wanted))
	for i, op := range p.wanted {
		far[i].from(op, 0)
		p.spread(&far[i], o)
	}
	for id := p.first; id < p.end; id++ {
		e := &l.edges[id]
		e.near = uint32(len(l.nears))
		for i, op := range p.wanted {
			n := near{wanted: op, dist: unreached}
			for u := range bitsOf(e.ops) {
				if at := far[i][u]; at.reached && at.dist < uint32(n.dist) {
					n.op, n.dist = uint8(u), uint8(at.dist)
				}
			}
			if n.dist != unreached {
				l.nears = append(l.nears, n)
			}
		}
		e.count = uint16(uint32(len(l.nears)) - e.near)
	}
	return p
}

// unreached is more than any distance in a piece.
const unreached = maxPieceOps + 1

// edge adds that an op uses an edge.
func (l *planner) edge(p *plan, op int, e edge) {
	for id := p.first; id < edgeID(len(l.edges)); id++ {
		if q := &l.edges[id]; q.ref == e.ref && q.units == e.units && q.kind == e.kind {
			q.ops |= 1 << op
			return
		}
	}
	e.plan, e.ops = p.id, 1<<op
	l.edges = append(l.edges, e)
}

// nearest is the distance of an edge from the criterion, with those of the wanted ops, and
// the op that uses it there.
func (l *planner) nearest(e *edge, need []reached) (dist uint32, op uint8) {
	nears := l.nears[e.near:][:e.count]
	dist, op = need[nears[0].wanted].dist+uint32(nears[0].dist), nears[0].op
	for _, n := range nears[1:] {
		if d := need[n.wanted].dist + uint32(n.dist); d < dist {
			dist, op = d, n.op
		}
	}
	return dist, op
}

// leads notes that an edge leads to an op.
func (l *planner) leads(id edgeID, piece *Piece, op uint16) {
	e := &l.edges[id]
	at := uint64(piece.ID)<<opBits | uint64(op)
	to := &e.last[at&1]
	if *to == at || id == 0 || int(op) >= len(piece.ops) {
		return
	}
	*to = at
	user := l.plans[e.plan].piece.ID
	for u := range bitsOf(e.ops) {
		l.out.used(piece, op, staticOp{user, uint16(u), e.kind})
	}
}

// count tells the slice what was counted by plans.
func (l *planner) count() {
	for _, p := range l.plans {
		row := l.out.of(p.piece)
		for op := range bitsOf(p.all) {
			row[op].Count += p.steps
		}
		for id := p.first; id < p.end; id++ {
			e := &l.edges[id]
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
