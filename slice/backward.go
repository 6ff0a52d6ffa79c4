package slice

import (
	"cmp"
	"context"
	"encoding/binary"
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
type sweep struct {
	x       *Index
	o       Options
	out     *Slice
	buckets []*bucket
	free    []*bucket
	plans   planner
	ways    *backwardWays

	seg  segment
	cur  int // its number
	want [segmentLen]uint64
	need [segmentLen<<opBits + maxPieceOps]reached // of the segment's ops, if wanted
	last [1 << 13]pending                          // what was put into buckets last
}

// reached says how an op was reached.
type reached struct {
	via  Node
	dist uint32
	edge edgeID
}

// Backward returns the slice of the criteria: all that they depend on.
func (x *Index) Backward(ctx context.Context, from Criteria, o Options) (*Slice, error) {
	s := &sweep{x: x, o: o, out: newSlice(x, from, o), buckets: make([]*bucket, x.segments())}
	s.plans = newPlanner(s.out)
	s.ways = &backwardWays{plans: &s.plans, limit: o.pathLimit()}
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
	s.cur = i
	g := &s.seg
	if err := s.x.decode(i, g); err != nil {
		return err
	}
	clear(s.want[:])
	s.ways.begin(i)
	b := s.buckets[i]
	for _, p := range b.p {
		k, op := p.node.Step()-g.first, p.node.Op()
		s.mark(int(k), op, reached{p.via, p.dist, p.edge})
		s.plans.leads(p.edge, g.steps[k].piece, op)
	}
	b.p, b.next = b.p[:0], 0
	s.free = append(s.free, b)
	s.buckets[i] = nil
	for k := len(g.steps) - 1; k >= 0; k-- {
		if s.want[k] != 0 {
			if err := s.step(k); err != nil {
				return err
			}
		}
	}
	return nil
}

// mark notes that an op of a step of the segment is wanted, and whether that is the
// nearest way to it.
func (s *sweep) mark(k int, op uint16, r reached) bool {
	v := &s.need[s.seg.steps[k].base+uint32(op)]
	if s.want[k]&(1<<op) != 0 && v.dist <= r.dist {
		return false
	}
	s.want[k] |= 1 << op
	*v = r
	return true
}

// step takes into the slice what is wanted of a step, with all that this depends on in
// it, and goes to what that depends on.
func (s *sweep) step(k int) error {
	g := &s.seg
	d := &g.steps[k]
	p, err := s.plans.of(d.piece, s.want[k])
	if err != nil {
		return err
	}
	if d.own {
		if p, err = s.within(k, p); err != nil {
			return err
		}
	}
	need := s.need[d.base:][:maxPieceOps]
	nearer := false
	for i, op := range p.wanted {
		if need[op].dist < p.least[i] {
			p.least[i], nearer = need[op].dist, true
		}
	}
	if nearer {
		s.nearer(k, p)
	}
	p.steps++
	s.out.Ops += uint64(p.size)
	s.ways.add(k, p, need, node(g.first, 0), &s.plans)
	first := node(g.first+StepID(k), 0)
	for id := p.first; id < p.end; id++ {
		e := &s.plans.edges[id]
		ref := g.ref(d.refs + uint32(e.ref))
		if ref == nothing {
			continue
		}
		if ref == beforeAll {
			e.before++
			continue
		}
		dist, op := s.plans.nearest(e, need)
		r := reached{first + Node(op), dist + 1, id}
		if ref < firstSource {
			s.local(uint32(ref), r)
			continue
		}
		src, ok := g.source(ref)
		if !ok {
			return ErrIndex
		}
		at, n, list := asList(src)
		if !list {
			s.source(Node(src), r)
			continue
		}
		if at+n > len(g.lists)/4 {
			return ErrIndex
		}
		s.list(g.lists[4*at:4*(at+n)], e, r)
	}
	return nil
}

// local goes to an op of the segment.
func (s *sweep) local(ref uint32, r reached) {
	k, op := int(ref>>opBits), uint16(ref&(maxPieceOps-1))
	if k >= len(s.seg.steps) {
		return // a damaged index
	}
	s.mark(k, op, r)
	s.plans.leads(r.edge, s.seg.steps[k].piece, op)
}

// source goes to an op of an older segment, unless that is pending.
func (s *sweep) source(n Node, r reached) {
	p := pending{n, r.via, r.dist, r.edge}
	last := &s.last[(uint64(n)^uint64(r.edge)<<32)*0x9e3779b97f4a7c15>>51]
	if last.node == n && last.edge == r.edge && last.dist <= r.dist {
		return
	}
	if n == 0 || segmentOf(n.Step()) >= s.cur {
		return // a damaged index
	}
	*last = p
	s.push(p)
}

// list goes to several ops.
func (s *sweep) list(elements []byte, e *edge, r reached) {
	before := false
	for i := 0; 4*i < len(elements); i++ {
		if e.units != 0 && e.units&(1<<i) == 0 {
			continue
		}
		switch el := binary.LittleEndian.Uint32(elements[4*i:]); {
		case el == nothingInset:
		case el == beforeAllInset:
			before = true
		case el < firstSource:
			s.local(el, r)
		default:
			at := int(el &^ distant)
			if 8*at+8 > len(s.seg.distant) {
				return // a damaged index
			}
			s.source(Node(binary.LittleEndian.Uint64(s.seg.distant[8*at:])), r)
		}
	}
	if before {
		e.before++
	}
}

// within follows what a step reads that it has written itself, until all of it is wanted.
func (s *sweep) within(k int, p *plan) (*plan, error) {
	g := &s.seg
	d := &g.steps[k]
	step := g.first + StepID(k)
	for again := true; again; {
		again = false
		for id := p.first; id < p.end; id++ {
			e := &s.plans.edges[id]
			if e.kind != ByMemory {
				continue
			}
			dist, op := s.plans.nearest(e, s.need[d.base:][:maxPieceOps])
			g.each(g.ref(d.refs+uint32(e.ref)), 0, func(def Node) {
				if def != 0 && def.Step() == step {
					again = s.mark(k, def.Op(), reached{node(step, uint16(op)), dist + 1, id}) || again
				}
			})
		}
		var err error
		if p, err = s.plans.of(d.piece, s.want[k]); err != nil {
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
	for _, op := range p.wanted {
		far.from(op, s.need[d.base+uint32(op)].dist)
	}
	p.spread(&far, s.o)
	for op := range bitsOf(p.all) {
		s.out.reached(node(s.seg.first+StepID(k), uint16(op)), d, far[op].dist)
	}
}
