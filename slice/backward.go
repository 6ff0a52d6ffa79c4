package slice

import (
	"cmp"
	"context"
	"encoding/binary"
	"math/bits"
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
	// Paths bounds the memory for paths of a backward slice, in bytes; 0: 256 MB.
	// Statements found beyond it have a distance and no path.
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

// How an op of the segment in hand is reached, in 64 bits, of which the least is the best:
// the distance from the criterion, and in the lower half, the way:
//
//	n                                              by the n-th of what was pending
//	localWay | (firstSource-1-op)<<2 | kind        by an op of the segment; the latest is the best
type reached uint64

const (
	notReached = ^reached(0)
	localWay   = 1 << 31
	wayMask    = 1<<32 - 1
)

// reachedBy is how what an op of the segment uses is reached.
func reachedBy(op Node, kind EdgeKind, dist uint32) reached {
	return reached(dist)<<32 | localWay | reached(firstSource-1-op)<<2 | reached(kind)
}

func (r reached) dist() uint32 { return uint32(r >> 32) }

// local is an op of the segment and how it uses what it reaches; false: it is pending.
func (r reached) local() (op Node, kind EdgeKind, ok bool) {
	return firstSource - 1 - Node(uint32(r)&^localWay>>2), EdgeKind(r & 3), r&localWay != 0
}

// way is the op by which another one was reached, and how it uses that.
type way uint64

func wayBy(via Node, kind EdgeKind) way { return way(via)<<2 | way(kind) }

func (w way) via() Node      { return Node(w >> 2) }
func (w way) kind() EdgeKind { return EdgeKind(w & 3) }

// pending is an op of an older segment that is reached and not processed yet. There are
// millions: 24 bytes, without pointers.
type pending struct {
	node Node
	way  way
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
		switch {
		case p.node != q.node:
			return cmp.Compare(p.node, q.node)
		case p.edge != q.edge:
			return cmp.Compare(p.edge, q.edge)
		case p.dist != q.dist:
			return cmp.Compare(p.dist, q.dist)
		}
		return cmp.Compare(q.way, p.way)
	})
	b.p = slices.CompactFunc(b.p, func(p, q pending) bool { return p.node == q.node && p.edge == q.edge })
	b.next = 2 * len(b.p)
}

// sweep goes from the newest segment with something pending to the oldest. All
// uses of a definition come after it, so that when a step is processed, all that
// lead to it are known, with the shortest way.
//
// Most steps of a shape are wanted for the same ops of it; what these depend on is in a
// plan, so that a step costs what leads out of it, and not each of its ops.
type sweep struct {
	x       *Index
	o       Options
	out     *Slice
	buckets []*bucket
	free    []*bucket
	plans   *planner
	ways    *backwardWays

	ahead *ahead
	seg   *segment
	cur   int // its number
	want  [segmentLen]uint64
	need  [segmentLen<<opBits + maxStepOps]reached // of the segment's ops
	from  []pending                                // what was pending in the segment
	older []older                                  // by source, and by distant op
	found []uint32                                 // those of older that are reached
	last  [1 << 13]pending                         // what was put into buckets last
}

// older says how an op of an older segment is reached from the segment in hand.
type older struct {
	by   reached // 0: it is not
	edge edgeID
}

// Backward returns the slice of the criteria: all that they depend on.
func (x *Index) Backward(ctx context.Context, from Criteria, o Options) (*Slice, error) {
	s := &sweep{x: x, o: o, out: newSlice(x, from, o), buckets: make([]*bucket, x.segments()), ahead: newAhead(x, false)}
	defer s.ahead.stop()
	s.plans = newPlanner(s.out)
	s.ways = &backwardWays{plans: s.plans, limit: o.pathLimit()}
	s.out.ways = s.ways
	for _, n := range from {
		if n == 0 || n.Step() > x.Steps {
			return nil, ErrIndex
		}
		s.push(pending{node: n})
	}
	for i := len(s.buckets) - 1; i >= 0; i-- {
		if s.buckets[i] == nil {
			continue
		}
		if i&63 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := s.segment(i); err != nil {
			return nil, err
		}
	}
	s.plans.count()
	return s.out, nil
}

func (s *sweep) push(p pending) {
	i := segmentOf(p.node.Step())
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

// segment processes segment i, its last step first.
func (s *sweep) segment(i int) error {
	g, err := s.ahead.segment(i)
	if err != nil {
		return err
	}
	s.cur, s.seg = i, g
	clear(s.want[:])
	need := s.need[:g.ops]
	for j := range need {
		need[j] = notReached
	}
	if n := (len(g.sources) + len(g.distant)) / 8; len(s.older) < n {
		s.older = make([]older, 2*n)
	}
	s.ways.begin(i)
	b := s.buckets[i]
	s.from = b.p
	for j := range b.p {
		p := &b.p[j]
		to := s.local(uint32(p.node-node(g.first, 0)), reached(p.dist)<<32|reached(j))
		if e := &s.plans.edges[p.edge]; e.last[to&1] != to {
			s.plans.leads(p.edge, to)
		}
	}
	for k := len(g.steps) - 1; k >= 0; k-- {
		if s.want[k] != 0 {
			if err := s.step(k); err != nil {
				return err
			}
		}
	}
	b.p, b.next = b.p[:0], 0
	s.free = append(s.free, b)
	s.buckets[i] = nil
	for _, at := range s.found {
		s.pend(at, s.older[at])
		s.older[at] = older{}
	}
	s.found = s.found[:0]
	return nil
}

// step takes into the slice what is wanted of a step, with all that this depends on in
// it, and goes to what that depends on.
func (s *sweep) step(k int) error {
	g := s.seg
	d := &g.steps[k]
	p, err := s.plans.of(d.id(), s.want[k])
	if err != nil {
		return err
	}
	if d.own() {
		if p, err = s.within(k, p); err != nil {
			return err
		}
	}
	need := (*[maxStepOps]reached)(s.need[d.base:])
	s.took(k, p, need)
	p.relaxed(need)
	by := byStep(k)
	refs := g.refs[2*int(d.refs):]
	edges := s.plans.edges[p.first:p.end]
	for i := range edges {
		e := &edges[i]
		id := p.first + edgeID(i)
		ref := binary.LittleEndian.Uint16(refs[2*int(e.ref):])
		if ref >= beforeAll {
			if ref == beforeAll {
				s.plans.uses[id].before++
			}
			continue
		}
		r := s.plans.nearest(e, need) - by
		if ref < firstSource {
			if to := s.local(uint32(ref), r); e.last[to&1] != to {
				s.plans.leads(id, to)
			}
			continue
		}
		src, ok := g.source(ref)
		if !ok {
			return ErrIndex
		}
		at, n, list := asList(src)
		if !list {
			s.source(uint32(ref-firstSource), r, id)
			continue
		}
		if at+n > len(g.lists)/4 {
			return ErrIndex
		}
		s.list(g.lists[4*at:4*(at+n)], e.units, r, id)
	}
	return nil
}

// took counts a step that is in the slice, and notes how its wanted ops were reached.
func (s *sweep) took(k int, p *plan, need *[maxStepOps]reached) {
	p.steps++
	s.out.Ops += uint64(p.size)
	least := s.plans.least[p.least:]
	nearest, nearer := notReached, false
	for i, m := 0, p.mask; m != 0; i, m = i+1, m&(m-1) {
		r := need[bits.TrailingZeros64(m)&(maxStepOps-1)]
		nearest = min(nearest, r)
		if r.dist() < least[i] {
			least[i], nearer = r.dist(), true
		}
	}
	if nearer {
		s.nearer(k, p)
	}
	s.ways.add(k, p, need, nearest.dist(), s.from)
}

// relaxed makes of how the wanted ops of a step are reached from elsewhere how far all are
// that edges are used by. Their ways are lost.
func (p *plan) relaxed(need *[maxStepOps]reached) {
	for _, r := range p.relax {
		to := &need[r.to&(maxStepOps-1)]
		*to = min(*to, need[r.from&(maxStepOps-1)]+1<<32)
	}
}

// byStep is what the ways by a step's ops are less than those by the same ops of the
// segment's first step.
func byStep(k int) reached { return reached(k) << (opBits + 2) }

// local goes to an op of the segment. It returns the number of the op of the program that
// it is. In a damaged index, it may be one of a step that is none; or 0.
func (s *sweep) local(ref uint32, r reached) uint32 {
	k, op := ref>>opBits&(segmentLen-1), ref&(maxStepOps-1)
	d := &s.seg.steps[:segmentLen][k]
	to := &s.need[uint32(d.base)&(1<<14-1)+op]
	*to = min(*to, r)
	s.want[k] |= 1 << op
	if at := d.static + op; at < uint32(len(s.x.statics)) {
		return s.x.statics[at]
	}
	return 0
}

// source goes to an op of an older segment: a source, or behind those a distant op.
func (s *sweep) source(at uint32, r reached, id edgeID) {
	o := &s.older[at]
	switch {
	case o.by == 0:
		*o = older{r, id}
		s.found = append(s.found, at)
	case o.edge == id:
		o.by = min(o.by, r)
	default:
		other := older{r, id}
		if r < o.by {
			*o, other = other, *o
		}
		// Who else uses it is told to it once.
		n := s.distant(at)
		if u := &s.plans.uses[other.edge]; u.last != n {
			u.last = n
			s.pend(at, other)
		}
	}
}

// distant is an op of an older segment.
func (s *sweep) distant(at uint32) Node {
	b := s.seg.sources
	if int(at) >= len(b)/8 {
		b, at = s.seg.distant, at-uint32(len(b)/8)
	}
	return Node(binary.LittleEndian.Uint64(b[8*at:]))
}

// pend makes an op of an older segment pending, unless it is.
func (s *sweep) pend(at uint32, o older) {
	n := s.distant(at)
	op, kind, _ := o.by.local()
	p := pending{n, wayBy(node(s.seg.first, 0)+op, kind), o.by.dist(), o.edge}
	last := &s.last[(uint64(n)^uint64(p.edge)<<32)*0x9e3779b97f4a7c15>>51]
	if last.node == n && last.edge == p.edge && last.dist <= p.dist {
		return
	}
	if n == 0 || segmentOf(n.Step()) >= s.cur {
		return // a damaged index
	}
	*last = p
	s.push(p)
}

// list goes to several ops.
func (s *sweep) list(elements []byte, units uint8, r reached, id edgeID) {
	before := false
	for i := 0; 4*i < len(elements); i++ {
		if units != 0 && units&(1<<i) == 0 {
			continue
		}
		switch el := binary.LittleEndian.Uint32(elements[4*i:]); {
		case el == nothingInset:
		case el == beforeAllInset:
			before = true
		case el < firstSource:
			if to := s.local(el, r); s.plans.edges[id].last[to&1] != to {
				s.plans.leads(id, to)
			}
		default:
			at := el &^ distant
			if int(at) >= len(s.seg.distant)/8 {
				return // a damaged index
			}
			s.source(uint32(len(s.seg.sources)/8)+at, r, id)
		}
	}
	if before {
		s.plans.uses[id].before++
	}
}

// within follows the references of a step to ops of its own, until all of it is wanted.
func (s *sweep) within(k int, p *plan) (*plan, error) {
	g := s.seg
	d := &g.steps[k]
	need := (*[maxStepOps]reached)(s.need[d.base:])
	for again := true; again; {
		again = false
		all := *need
		p.relaxed(&all)
		for id := p.first; id < p.end; id++ {
			e := &s.plans.edges[id]
			r := s.plans.nearest(e, &all) - byStep(k)
			g.each(g.ref(k, int(e.ref)), e.units, func(def Node) {
				if def == 0 || def.Step() != g.first+StepID(k) {
					return
				}
				if to := &need[def.Op()]; s.want[k]&(1<<def.Op()) == 0 || r.dist() < to.dist() {
					*to, again = r, true
					s.want[k] |= 1 << def.Op()
				}
			})
		}
		var err error
		if p, err = s.plans.of(d.id(), s.want[k]); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// nearer notes how far the ops of a step are from the criterion, where some of what is
// wanted is nearer than it was at all steps before.
func (s *sweep) nearer(k int, p *plan) {
	d := &s.seg.steps[k]
	var far distances
	for op := range bitsOf(p.mask) {
		far.from(op, s.need[int(d.base)+op].dist())
	}
	p.spread(&far, s.o)
	// The latest first: two may be of the same instruction.
	for op := bits.Len64(p.all) - 1; op >= 0; op-- {
		if p.all&(1<<op) == 0 {
			continue
		}
		s.out.reached(node(s.seg.first+StepID(k), uint16(op)), s.seg, far[op].dist)
	}
}
