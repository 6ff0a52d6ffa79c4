package slice

import (
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

// Backward returns the slice of the criteria: all that they depend on.
//
// It goes from the newest segment with something in the slice to the oldest, twice at once: a
// marker finds what is in the slice, and a measurer, some segments behind it, how far that is
// from the criteria, and by which way.
func (x *Index) Backward(ctx context.Context, from Criteria, o Options) (*Slice, error) {
	out := newSlice(x, from, o)
	m := newMarker(out)
	far := newMeasurer(out, m.plans)
	out.ways = far.ways
	for _, n := range from {
		if n == 0 || n.Step() > x.Steps {
			return nil, ErrIndex
		}
		m.pend(n, 0)
		far.pend(n, pending{})
	}
	gathered, measured := make(chan []*batch), make(chan struct{})
	go func() {
		defer close(measured)
		for batches := range gathered {
			for _, b := range batches {
				far.batch(b)
				m.ahead.free <- b
			}
		}
	}()
	err := m.run(ctx, gathered)
	close(gathered)
	<-measured
	if err != nil {
		return nil, err
	}
	m.plans.count()
	return out, nil
}

// buckets hold what is pending, by segment.
type buckets[T any] struct {
	of   [][]T
	free [][]T
	once func([]T) []T // throws repetitions out
}

// bucketLen is the least length at which repetitions are thrown out of a bucket.
const bucketLen = 8192

func (b *buckets[T]) add(segment int, v T) {
	p := b.of[segment]
	if p == nil {
		if n := len(b.free); n > 0 {
			p, b.free = b.free[n-1], b.free[:n-1]
		} else {
			p = make([]T, 0, 16)
		}
	}
	if len(p) == cap(p) && len(p) >= bucketLen {
		if p = b.once(p); len(p) > cap(p)/2 {
			p = slices.Grow(p, cap(p))
		}
	}
	b.of[segment] = append(p, v)
}

// done empties the bucket of a segment.
func (b *buckets[T]) done(segment int) {
	b.free = append(b.free, b.of[segment][:0])
	b.of[segment] = nil
}

// marker finds what is in a backward slice. All uses of a definition come after it, so that
// when a step is reached, all that lead to it are known.
//
// Most steps of a shape are wanted for the same ops of it; what these depend on is in a
// plan, so that a step costs what leads out of it, and not each of its ops.
type marker struct {
	x     *Index
	out   *Slice
	plans *planner
	ahead *ahead

	pending buckets[uint64] // (step<<opBits | op) of its segment<<32 | the edge that leads there
	last    [1 << 15]told   // what was put into buckets last
	known   []uint64        // while repetitions are thrown out: what there is, + 1

	gathered  []*batch // to be measured
	gathering int      // segments of these
	to        chan<- []*batch

	seg   *segment
	cur   int // its number
	want  [segmentLen]uint64
	older []edgeID // the last that led to a source, or behind those to a distant op
}

// told is an op of an older segment, and an edge that leads to it.
type told struct {
	node Node
	edge edgeID
}

// markedSegment is a segment with something in the slice.
type markedSegment struct {
	seg   *segment
	steps int // where its steps end in those of the batch
}

// markedStep is a step with something in the slice, as its plan says.
type markedStep struct {
	routes *routes
	k      uint8
}

func newMarker(out *Slice) *marker {
	m := &marker{x: out.x, out: out, plans: newPlanner(out), ahead: newAhead(out.x, false)}
	m.pending = buckets[uint64]{of: make([][]uint64, m.x.segments()), once: m.once}
	m.ahead.through = m.gather
	return m
}

// once throws repetitions out.
func (m *marker) once(p []uint64) []uint64 {
	if n := 4 << bits.Len(uint(len(p))) >> 1; len(m.known) != n {
		m.known = make([]uint64, n)
	} else {
		clear(m.known)
	}
	last := uint64(len(m.known) - 1)
	n := 0
next:
	for _, v := range p {
		i := v * 0x9e3779b97f4a7c15 >> 32
		for ; m.known[i&last] != 0; i++ {
			if m.known[i&last] == v+1 {
				continue next
			}
		}
		m.known[i&last] = v + 1
		p[n] = v
		n++
	}
	return p[:n]
}

// run marks all segments, and gives them to the measurer.
func (m *marker) run(ctx context.Context, to chan<- []*batch) error {
	defer m.ahead.stop()
	m.to = to
	for i := len(m.pending.of) - 1; i >= 0; i-- {
		if m.pending.of[i] == nil {
			continue
		}
		if i&63 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := m.segment(i); err != nil {
			return err
		}
	}
	m.gather(m.ahead.now)
	m.pass()
	return nil
}

// gather takes a batch that was marked; so many that it is worth it go to the measurer at once.
func (m *marker) gather(b *batch) {
	m.gathered = append(m.gathered, b)
	if m.gathering += len(b.segs); m.gathering >= batchLen {
		m.pass()
	}
}

func (m *marker) pass() {
	m.to <- m.gathered
	m.gathered, m.gathering = nil, 0
}

// pend makes an op of an older segment pending.
func (m *marker) pend(n Node, by edgeID) {
	i := segmentOf(n.Step())
	m.pending.add(i, uint64(n-node(StepID(i<<segmentBits+1), 0))<<32|uint64(by))
}

// segment marks segment i, its last step first.
func (m *marker) segment(i int) error {
	g, err := m.ahead.segment(i)
	if err != nil {
		return err
	}
	m.cur, m.seg = i, g
	clear(m.older)
	m.older = append(m.older[:0], make([]edgeID, (len(g.sources)+len(g.distant))/sourceLen)...)
	for _, p := range m.pending.of[i] {
		m.local(uint32(p>>32), edgeID(p))
	}
	m.pending.done(i)
	b := m.ahead.now
	for k := len(g.steps) - 1; k >= 0; k-- {
		if m.want[k] != 0 {
			routes, err := m.step(k)
			if err != nil {
				return err
			}
			b.steps = append(b.steps, markedStep{routes, uint8(k)})
			m.want[k] = 0
		}
	}
	if m.want != [segmentLen]uint64{} {
		return ErrIndex // a use of what comes after it
	}
	b.marked = append(b.marked, markedSegment{g, len(b.steps)})
	return nil
}

// step takes into the slice what is wanted of a step, with all that this depends on in
// it, and goes to what that depends on.
func (m *marker) step(k int) (*routes, error) {
	g := m.seg
	d := &g.steps[k]
	p, err := m.plans.of(d.id(), m.want[k])
	if err != nil {
		return nil, err
	}
	if d.own() {
		if p, err = m.within(k, p); err != nil {
			return nil, err
		}
	}
	p.steps++
	m.out.Ops += uint64(p.size)
	refs := g.refs[2*int(d.refs):]
	edges := m.plans.edges[p.first:p.end]
	for i := range edges {
		e := &edges[i]
		ref := binary.LittleEndian.Uint16(refs[2*int(e.ref):])
		switch {
		case ref < firstSource:
			m.local(uint32(ref), p.first+edgeID(i))
		case ref == nothing:
		case ref == beforeAll:
			m.plans.before[p.first+edgeID(i)]++
		default:
			if err := m.source(ref, e.units, p.first+edgeID(i)); err != nil {
				return nil, err
			}
		}
	}
	return p.routes, nil
}

// local goes to an op of the segment.
func (m *marker) local(ref uint32, id edgeID) {
	k, op := ref>>opBits&(segmentLen-1), ref&(maxStepOps-1)
	m.want[k] |= 1 << op
	// In a damaged index, it may be one of a step that is none.
	at := m.seg.steps[:segmentLen][k].static + op
	if at >= uint32(len(m.x.statics)) {
		return
	}
	to := m.x.statics[at]
	if e := &m.plans.edges[id]; e.last[to&3] != to {
		m.plans.leads(id, to)
	}
}

// source goes to an op of an older segment, or to several ops.
func (m *marker) source(ref uint16, units uint8, id edgeID) error {
	g := m.seg
	if ref < g.firstList {
		return m.earlier(uint32(ref-firstSource), id)
	}
	before := false
	for e := range of(g.list(ref), units) {
		switch {
		case e == beforeAllInset:
			before = true
		case e < firstSource:
			m.local(e, id)
		default:
			if err := m.earlier(g.sourcesN()+e&^distant, id); err != nil {
				return err
			}
		}
	}
	if before {
		m.plans.before[id]++
	}
	return nil
}

// earlier goes to an op of an older segment: a source, or behind those a distant op.
func (m *marker) earlier(at uint32, id edgeID) error {
	if at >= uint32(len(m.older)) {
		return ErrIndex
	}
	if m.older[at] == id {
		return nil
	}
	m.older[at] = id
	n := m.seg.earlier(at)
	last := &m.last[(uint64(n)^uint64(id)<<32)*0x9e3779b97f4a7c15>>49]
	if *last == (told{n, id}) {
		return nil
	}
	if n == 0 || segmentOf(n.Step()) >= m.cur {
		return ErrIndex
	}
	*last = told{n, id}
	m.pend(n, id)
	return nil
}

// within follows the references of a step to ops of its own, until all of it is wanted.
func (m *marker) within(k int, p *plan) (*plan, error) {
	g := m.seg
	for {
		was := m.want[k]
		for id := p.first; id < p.end; id++ {
			e := &m.plans.edges[id]
			g.each(g.ref(k, int(e.ref)), e.units, func(def Node) {
				if def != 0 && def.Step() == g.first+StepID(k) {
					m.want[k] |= 1 << def.Op()
				}
			})
		}
		if m.want[k] == was {
			return p, nil
		}
		var err error
		if p, err = m.plans.of(g.steps[k].id(), m.want[k]); err != nil {
			return nil, err
		}
	}
}
