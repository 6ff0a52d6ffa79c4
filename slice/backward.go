package slice

import (
	"cmp"
	"context"
	"slices"
)

// EdgeKind says how a value depends on another.
type EdgeKind uint8

// The kinds.
const (
	ByRegister EdgeKind = iota // it was computed from it, through a register
	ByMemory                   // … through memory
	ByAddress                  // it tells where in memory the value was read or written
	ByControl                  // it decided whether the instruction is executed
)

func (k EdgeKind) String() string {
	return [...]string{"register", "memory", "address", "control"}[k]
}

// Options say which dependences count.
type Options struct {
	NoAddress bool // not those that only tell where in memory a value lies
	NoControl bool // not those on branches
	// Paths bounds the memory for paths, in bytes; 0: 256 MB. Statements found
	// beyond it have a distance and no path.
	Paths int
}

func (o Options) pathLimit() int {
	if o.Paths == 0 {
		return 256 << 20
	}
	return o.Paths
}

// Criteria are what a slice begins with: ops, with all that they read.
type Criteria []Node

// pending is an op of an older segment that is reached and not processed yet. There are
// millions: 24 bytes, without pointers.
type pending struct {
	node Node
	via  Node   // of which it is a definition
	dist uint32 // from the criterion
	edge edgeID // by which it was reached
}

// bucket holds what is pending in a segment.
type bucket struct {
	p    []pending
	next int // length at which repetitions are thrown out
}

func (b *bucket) add(p pending) {
	b.p = append(b.p, p)
	if len(b.p) < max(b.next, 4096) {
		return
	}
	slices.SortFunc(b.p, func(p, q pending) int {
		return cmp.Or(cmp.Compare(p.node, q.node), cmp.Compare(p.edge, q.edge), cmp.Compare(p.dist, q.dist), cmp.Compare(q.via, p.via))
	})
	b.p = slices.CompactFunc(b.p, func(p, q pending) bool { return p.node == q.node && p.edge == q.edge })
	b.next = 2 * len(b.p)
}

// sweep goes from the newest segment with something pending to the oldest. All
// uses of a definition come after it, so that when a step is processed, all that
// lead to it are known, with the shortest way.
//
// Most steps of a piece are wanted for the same ops of it; what these depend on is in a
// plan, so that a step costs what leads out of it, and not each of its ops.
//
// Three work at a time: one reads the segments that come next (ahead), the sweep
// finds what is in the slice, and one notes what is to be told of it (tally).
type sweep struct {
	x       *Index
	o       Options
	out     *Slice
	buckets []*bucket
	free    []*bucket
	plans   planner
	ahead   *ahead
	tally   *tally

	*swept
	seg   *segment
	cur   int      // its number
	want  []uint64 // by op of the segment
	found []found  // by source

	last [1 << 12]pending // what was put into buckets last
}

// swept is what was found out about a segment.
type swept struct {
	segment *aheadSegment
	bucket  *bucket   // what was pending
	need    []reached // by op, if it is wanted
	taken   []taken   // the newest first
}

// taken is a step of the segment that is in the slice.
type taken struct {
	step uint32
	plan *plan
}

// reached says how an op was reached, and how far it is from the criterion.
type reached struct {
	dist uint32
	via  via
}

// via is how an op was reached: the kind of the edge, with viaPending and what was pending, by
// its place in the bucket; or else with the op of the segment, step<<opBits | op.
type via uint32

const viaPending via = 4

const viaShift = 3

// found is how a source was reached from the segment, if edge is not 0.
type found struct {
	via  Node
	dist uint32
	edge edgeID
}

// Backward returns the slice of the criteria: all that they depend on.
func (x *Index) Backward(ctx context.Context, from Criteria, o Options) (*Slice, error) {
	s := &sweep{x: x, o: o, out: newSlice(x, from, o), buckets: make([]*bucket, x.segments())}
	s.plans = newPlanner(s.out)
	for _, n := range from {
		if n == 0 || n.Step() > x.Steps {
			return nil, ErrIndex
		}
		s.push(pending{node: n})
	}
	s.ahead = x.readAhead()
	defer s.ahead.stop()
	s.tally = newTally(s.out)
	err := s.run(ctx)
	ways := s.tally.stop()
	if err != nil {
		return nil, err
	}
	ways.plans = s.plans.plans
	s.out.ways = ways
	s.plans.count()
	return s.out, nil
}

func (s *sweep) run(ctx context.Context) error {
	for i := len(s.buckets) - 1; i >= 0; i-- {
		if s.buckets[i] == nil {
			continue
		}
		if i&15 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := s.sweep(i); err != nil {
			return err
		}
	}
	return nil
}

func (s *sweep) push(p pending) {
	i := s.x.segmentOf(p.node.Step())
	b := s.buckets[i]
	if b == nil {
		if n := len(s.free); n > 0 {
			b, s.free = s.free[n-1], s.free[:n-1]
		} else {
			b = &bucket{}
		}
		s.buckets[i] = b
	}
	b.add(p)
}

// sweep processes segment i, its last step first.
func (s *sweep) sweep(i int) error {
	s.cur = i
	s.swept = s.tally.room()
	if b := s.bucket; b != nil {
		b.p, b.next = b.p[:0], 0
		s.free = append(s.free, b)
		s.ahead.put(s.segment)
	}
	s.bucket = s.buckets[i]
	s.buckets[i] = nil
	s.ahead.want(i, s.buckets)
	s.segment = s.ahead.get(i)
	if s.segment.err != nil {
		return s.segment.err
	}
	g := &s.segment.segment
	s.seg = g
	s.want = zeroed(s.want, len(g.ops)/64+2)
	s.found = zeroed(s.found, len(g.sources))
	if len(s.need) < len(g.ops)+maxPieceOps {
		s.need = make([]reached, len(g.ops)+maxPieceOps)
	}
	s.taken = s.taken[:0]
	for j, p := range s.bucket.p {
		d := &g.steps[p.node.Step()-g.first]
		if int(p.node.Op()) >= len(d.piece.ops) {
			return ErrIndex
		}
		s.local(d.base+uint32(p.node.Op()), p.dist, via(j)<<viaShift|viaPending|via(p.edge.kind()))
	}
	for k := len(g.steps) - 1; k >= 0; k-- {
		if mask := s.wanted(&g.steps[k]); mask != 0 {
			if err := s.step(k, mask); err != nil {
				return err
			}
		}
	}
	for j, f := range s.found {
		if f.edge != 0 {
			s.push(pending{g.sources[j], f.via, f.dist, f.edge})
		}
	}
	s.tally.add(s.swept)
	return nil
}

// zeroed returns n zeros, in the room of a if that is enough.
func zeroed[T any](a []T, n int) []T {
	if cap(a) < n {
		return make([]T, n, 2*n)
	}
	a = a[:n]
	clear(a)
	return a
}

// wanted are the ops of a step that are wanted.
func (s *sweep) wanted(d *stepDeps) uint64 {
	at := d.base & 63
	w := s.want[d.base>>6]>>at | s.want[d.base>>6+1]<<1<<(63-at)
	return w & (1<<len(d.piece.ops) - 1)
}

// local goes to an op of the segment.
func (s *sweep) local(n uint32, dist uint32, by via) {
	w, bit, v := &s.want[n>>6], uint64(1)<<(n&63), &s.need[n]
	if *w&bit == 0 || dist < v.dist {
		*w |= bit
		*v = reached{dist, by}
	}
}

// step takes into the slice what is wanted of a step, with all that this depends on in
// it, and goes to what that depends on.
func (s *sweep) step(k int, mask uint64) error {
	g := s.seg
	d := &g.steps[k]
	p, err := s.plans.of(d.piece, mask)
	if err != nil {
		return err
	}
	if d.own {
		if p, err = s.within(k, p); err != nil {
			return err
		}
	}
	p.steps++
	s.taken = append(s.taken, taken{uint32(k), p})
	need := (*[maxPieceOps]reached)(s.need[d.base:])
	refs := g.refs[d.refs:][:d.piece.refs]
	for i := range p.edges {
		e := &p.edges[i]
		to := refs[e.ref]
		dist, op := p.nearest(e, need)
		if to < refSource {
			s.local(uint32(to), dist+1, use(k, op, e.kind))
		} else {
			s.leave(to, k, op, dist+1, p, i)
		}
	}
	return nil
}

// use says that an op was reached by one of the segment.
func use(k int, op uint8, kind EdgeKind) via {
	return via(k<<opBits|int(op))<<viaShift | via(kind)
}

// leave follows an edge that does not lead to one op of the segment.
func (s *sweep) leave(to ref, k int, op uint8, dist uint32, p *plan, i int) {
	e := &p.edges[i]
	switch {
	case to == refNothing:
	case to == refBefore:
		e.before++
	case to < refList:
		s.source(to, found{node(s.seg.first+StepID(k), uint16(op)), dist, p.edgeID(i)})
	default:
		before := false
		for j, to := range s.seg.list(to) {
			switch {
			case e.units != 0 && e.units&(1<<j) == 0, to == refNothing:
			case to == refBefore:
				before = true
			case to < refSource:
				s.local(uint32(to), dist, use(k, op, e.kind))
			default:
				s.source(to, found{node(s.seg.first+StepID(k), uint16(op)), dist, p.edgeID(i)})
			}
		}
		if before {
			e.before++
		}
	}
}

// source goes to a source. All ways by one edge are one; by another edge it is pending too,
// for that it leads there.
func (s *sweep) source(to ref, f found) {
	v := &s.found[to-refSource]
	if v.edge == 0 || v.edge == f.edge {
		if v.edge == 0 || f.dist < v.dist {
			*v = f
		}
		return
	}
	if f.dist < v.dist {
		*v, f = f, *v
	}
	n := s.seg.sources[to-refSource]
	last := &s.last[(uint64(n)^uint64(f.edge)<<32)*0x9e3779b97f4a7c15>>52]
	if last.node == n && last.edge == f.edge {
		return
	}
	*last = pending{n, f.via, f.dist, f.edge}
	s.push(*last)
}

// within follows what a step reads that it has written itself, until all of it is wanted.
func (s *sweep) within(k int, p *plan) (*plan, error) {
	g := s.seg
	d := &g.steps[k]
	step := g.first + StepID(k)
	for again := true; again; {
		again = false
		for i := range p.edges {
			e := &p.edges[i]
			if e.kind != ByMemory {
				continue
			}
			dist, op := p.nearest(e, (*[maxPieceOps]reached)(s.need[d.base:]))
			g.each(g.refs[d.refs+uint32(e.ref)], 0, func(def Node) {
				if def == 0 || def.Step() != step {
					return
				}
				n := d.base + uint32(def.Op())
				again = again || s.wanted(d)&(1<<def.Op()) == 0 || dist+1 < s.need[n].dist
				s.local(n, dist+1, use(k, op, e.kind))
			})
		}
		var err error
		if p, err = s.plans.of(d.piece, s.wanted(d)); err != nil {
			return nil, err
		}
	}
	return p, nil
}
