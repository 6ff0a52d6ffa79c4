package slice

import (
	"iter"
	"math/bits"
)

// plan is what the wanted ops of a piece depend on: in the piece, all; and the edges that
// lead out of it. It is the same for all steps of the piece of which the same is wanted.
type plan struct {
	mask  uint64 // the wanted ops
	all   uint64 // with what they depend on in the piece
	size  uint32 // how many ops that is
	id    uint32 // its place in planner.plans
	least uint32 // in planner.least: the least distance from the criterion of each wanted op, at all steps

	first, end edgeID

	piece *Piece
	steps uint64 // in the slice
}

// edge is a reference of a step that ops of a plan use: what each step of the plan needs.
type edge struct {
	near  near   // that of the first wanted op that it is of use for
	more  uint32 // in planner.nears: those of others
	count uint16 // of the others
	ref   uint16 // counted from the step's first
	kind  EdgeKind
	units uint8     // of a group; 0: all that was read
	last  [2]uint32 // ops (piece<<opBits | op) to which it led last
}

// edgeUse is what else is known of an edge.
type edgeUse struct {
	ops    uint64 // that use it
	plan   uint32
	before uint64 // how often it led to what nothing in the recording wrote
	last   Node   // the op to which it was noted last that it leads there too
}

// edgeID is a place in planner.edges; 0: no edge, a criterion.
type edgeID uint32

// near says how what an edge leads to is reached by way of a wanted op: what to add to the
// distance of that, which is the distance and, as if the step were the segment's first, the
// way by the op next to the wanted one that uses the edge.
type near struct {
	add    reached
	wanted uint64
}

func (n near) than(need *[maxPieceOps]reached) reached {
	return need[n.wanted&(maxPieceOps-1)]&^wayMask + n.add
}

// planner has the plans of a slice.
type planner struct {
	out    *Slice
	latest []latest // by piece
	known  map[planKey]*plan
	plans  []*plan
	edges  []edge
	uses   []edgeUse // of edges
	nears  []near
	least  []uint32

	// What edges led to last.
	seen [1 << 12]struct {
		edge edgeID
		to   uint32
	}
}

// latest are the two plans of a piece that were asked for last.
type latest [2]*plan

type planKey struct {
	piece uint32
	mask  uint64
}

func newPlanner(s *Slice) *planner {
	return &planner{out: s, latest: make([]latest, len(s.x.pieces)), known: map[planKey]*plan{}, edges: make([]edge, 1), uses: make([]edgeUse, 1)}
}

// of returns the plan for ops of a piece.
func (l *planner) of(piece uint32, mask uint64) (*plan, error) {
	if p := l.latest[piece-1][0]; p != nil && p.mask == mask {
		return p, nil
	}
	return l.find(piece, mask)
}

// find is of, where the plan is not that of the piece's step before.
func (l *planner) find(id uint32, mask uint64) (*plan, error) {
	last := &l.latest[id-1]
	if last[0], last[1] = last[1], last[0]; last[0] != nil && last[0].mask == mask {
		return last[0], nil
	}
	key := planKey{id, mask}
	p := l.known[key]
	if p == nil {
		piece := l.out.x.pieces[id-1]
		if len(piece.ops) < bits.Len64(mask) {
			return nil, ErrIndex
		}
		p = l.make(piece, mask)
		l.known[key] = p
	}
	last[0] = p
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
	p := &plan{id: uint32(len(l.plans)), piece: piece, mask: mask, all: mask, first: edgeID(len(l.edges)), least: uint32(len(l.least))}
	l.plans = append(l.plans, p)
	for range bitsOf(mask) {
		l.least = append(l.least, ^uint32(0))
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
	p.size = uint32(bits.OnesCount64(p.all))
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
	far := make([]distances, bits.Len64(mask))
	for op := range bitsOf(mask) {
		far[op].from(op, 0)
		p.spread(&far[op], o)
	}
	for id := p.first; id < p.end; id++ {
		e := &l.edges[id]
		e.more = uint32(len(l.nears))
		e.near.add = notReached
		for wanted := range bitsOf(mask) {
			op, dist := 0, uint32(unreached)
			for u := range bitsOf(l.uses[id].ops) {
				if at := far[wanted][u]; at.reached && at.dist < dist {
					op, dist = u, at.dist
				}
			}
			if dist == unreached {
				continue
			}
			n := near{reachedBy(node(0, 0)+Node(op), e.kind, dist+1), uint64(wanted)}
			if e.near.add == notReached {
				e.near = n
			} else {
				l.nears = append(l.nears, n)
			}
		}
		e.count = uint16(uint32(len(l.nears)) - e.more)
	}
	return p
}

// unreached is more than any distance in a piece.
const unreached = maxPieceOps + 1

// edge adds that an op uses an edge.
func (l *planner) edge(p *plan, op int, e edge) {
	for id := p.first; id < edgeID(len(l.edges)); id++ {
		if q := &l.edges[id]; q.ref == e.ref && q.units == e.units && q.kind == e.kind {
			l.uses[id].ops |= 1 << op
			return
		}
	}
	l.edges = append(l.edges, e)
	l.uses = append(l.uses, edgeUse{plan: p.id, ops: 1 << op})
}

// nearest is how what an edge leads to is reached, with how the step's wanted ops are; the
// step taken as the segment's first.
func (l *planner) nearest(e *edge, need *[maxPieceOps]reached) reached {
	r := e.near.than(need)
	if e.count > 0 {
		for _, n := range l.nears[e.more:][:e.count] {
			r = min(r, n.than(need))
		}
	}
	return r
}

// leads notes that an edge leads to an op of a piece, piece<<opBits | op.
func (l *planner) leads(id edgeID, to uint32) {
	l.edges[id].last[to&1] = to
	seen := &l.seen[(uint64(id)<<32|uint64(to))*0x9e3779b97f4a7c15>>52]
	if seen.edge == id && seen.to == to {
		return
	}
	piece, op := to>>opBits, to&(maxPieceOps-1)
	if id == 0 || piece == 0 {
		return
	}
	p := l.out.x.pieces[piece-1]
	if int(op) >= len(p.ops) {
		return // a damaged index
	}
	seen.edge, seen.to = id, to
	u := &l.uses[id]
	user := l.plans[u.plan].piece.ID
	for by := range bitsOf(u.ops) {
		l.out.used(p, uint16(op), staticOp{user, uint16(by), l.edges[id].kind})
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
			u := &l.uses[id]
			for op := range bitsOf(u.ops) {
				if l.edges[id].kind == ByMemory {
					row[op].BeforeMemory += u.before
				} else {
					row[op].BeforeRegister += u.before
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
func (f *distances) from(op int, dist uint32) {
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
