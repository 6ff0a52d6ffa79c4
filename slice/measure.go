package slice

import (
	"encoding/binary"
	"math/bits"
)

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

// byStep is what the ways by a step's ops are less than those by the same ops of the
// segment's first step.
func byStep(k int) reached { return reached(k) << (opBits + 2) }

// way is the op by which another one was reached, and how it uses that.
type way uint64

func wayBy(via Node, kind EdgeKind) way { return way(via)<<2 | way(kind) }

func (w way) via() Node      { return Node(w >> 2) }
func (w way) kind() EdgeKind { return EdgeKind(w & 3) }

// pending is an op of an older segment that is reached and not measured yet. There are
// millions: 16 bytes, without pointers.
type pending struct {
	way  way
	dist uint32 // from the criterion
	op   uint16 // step<<opBits | op of its segment
}

// measurer finds how far from the criteria what was marked is, and by which way. It gets the
// segments from the newest to the oldest, so that when a step is reached, all ways to it are
// known.
type measurer struct {
	x    *Index
	o    Options
	out  *Slice
	ways *backwardWays

	pending buckets[pending]
	least   [segmentLen << opBits]uint16 // while repetitions are thrown out: where an op is, + 1

	seg *segment
	// By reference: of the segment's ops, not reached again once their step is done; and of its
	// sources. What nothing wrote is reached too, for nothing.
	need    [1 << 16]reached
	distant []reached           // of distant ops
	far     [maxStepOps]reached // of a step's ops: how far, without ways
	from    []pending           // what was pending in the segment
}

func newMeasurer(out *Slice, plans *planner) *measurer {
	m := &measurer{x: out.x, o: out.Options, out: out}
	m.ways = &backwardWays{plans: plans, limit: m.o.pathLimit()}
	m.pending = buckets[pending]{of: make([][]pending, m.x.segments()), once: m.nearest}
	for i := range m.need {
		m.need[i] = notReached
	}
	return m
}

// nearest keeps the nearest of what is pending for each op.
func (m *measurer) nearest(p []pending) []pending {
	n := 0
	for _, v := range p {
		at := &m.least[v.op]
		switch {
		case *at == 0:
			p[n] = v
			n++
			*at = uint16(n)
		case v.dist < p[*at-1].dist:
			p[*at-1] = v
		}
	}
	p = p[:n]
	for _, v := range p {
		m.least[v.op] = 0
	}
	return p
}

// pend makes an op of an older segment pending.
func (m *measurer) pend(n Node, p pending) {
	i := segmentOf(n.Step())
	p.op = uint16(n - node(StepID(i<<segmentBits+1), 0))
	m.pending.add(i, p)
}

// batch measures what was marked in a batch.
func (m *measurer) batch(b *batch) {
	steps := b.steps
	from := 0
	for _, g := range b.marked {
		m.segment(g.seg, steps[from:g.steps])
		from = g.steps
	}
	clear(b.steps)
	b.marked, b.steps = b.marked[:0], b.steps[:0]
}

// segment measures the steps of a segment.
func (m *measurer) segment(g *segment, steps []markedStep) {
	i := segmentOf(g.first)
	m.seg = g
	for range len(g.distant) / sourceLen {
		m.distant = append(m.distant, notReached)
	}
	m.ways.begin(i)
	m.from = m.pending.of[i]
	for j := range m.from {
		p := &m.from[j]
		m.need[p.op] = min(m.need[p.op], reached(p.dist)<<32|reached(j))
	}
	for _, s := range steps {
		m.step(int(s.k), s.routes)
	}
	m.pending.done(i)
	sources := m.need[firstSource:][:g.sourcesN()]
	m.older(sources, 0)
	m.older(m.distant, g.sourcesN())
	m.distant = m.distant[:0]
}

// older makes pending what is reached of ops of older segments, and forgets it. The first of
// them has a number.
func (m *measurer) older(ops []reached, first uint32) {
	for i, r := range ops {
		if r == notReached {
			continue
		}
		ops[i] = notReached
		op, kind, _ := r.local()
		m.pend(m.seg.earlier(first+uint32(i)), pending{way: wayBy(node(m.seg.first, 0)+op, kind), dist: r.dist()})
	}
}

// step measures the wanted ops of a step, and goes on by its routes.
func (m *measurer) step(k int, p *routes) {
	if p.wanted == nil {
		p.work()
	}
	g := m.seg
	d := &g.steps[k]
	need := (*[maxStepOps]reached)(m.need[k<<opBits:])
	if d.own() {
		m.within(k, p, need)
	}
	far := &m.far
	nearest, nearer := notReached, false
	for i, op := range p.wanted {
		r := need[op&(maxStepOps-1)]
		far[op&(maxStepOps-1)] = r &^ wayMask
		nearest = min(nearest, r)
		if r.dist() < p.least[i] {
			p.least[i], nearer = r.dist(), true
		}
	}
	m.ways.add(k, p, need, nearest.dist(), m.from)
	if nearer {
		m.nearer(k, p, need)
	}
	p.relax(far)
	by := byStep(k)
	refs := g.refs[2*int(d.refs):]
	for i := range p.out {
		e := &p.out[i]
		ref := binary.LittleEndian.Uint16(refs[2*int(e.ref):])
		r := p.by(e, far) - by
		if ref-g.firstList < beforeAll-g.firstList {
			m.list(g.list(ref), e.units, r)
		} else {
			m.need[ref] = min(m.need[ref], r)
		}
	}
	for _, op := range p.wanted {
		need[op&(maxStepOps-1)] = notReached
	}
}

// list goes to several ops.
func (m *measurer) list(list []byte, units uint8, r reached) {
	for e := range of(list, units) {
		switch {
		case e == beforeAllInset:
		case e < firstSource:
			m.need[e] = min(m.need[e], r)
		default:
			to := &m.distant[e&^distant]
			*to = min(*to, r)
		}
	}
}

// within measures what a step's references reach of its own ops. How far some of these are
// is not known yet.
func (m *measurer) within(k int, p *routes, need *[maxStepOps]reached) {
	const unknown = reached(1) << 63
	g := m.seg
	for again := true; again; {
		again = false
		for _, op := range p.wanted {
			m.far[op] = min(need[op]&^wayMask, unknown)
		}
		p.relax(&m.far)
		for i := range p.out {
			e := &p.out[i]
			r := p.by(e, &m.far) - byStep(k)
			g.each(g.ref(k, int(e.ref)), e.units, func(def Node) {
				if def == 0 || def.Step() != g.first+StepID(k) {
					return
				}
				if to := &need[def.Op()]; r < unknown && r.dist() < to.dist() {
					*to, again = r, true
				}
			})
		}
	}
}

// nearer notes how far the ops of a step are from the criterion, where some of what is
// wanted is nearer than it was at all steps before.
func (m *measurer) nearer(k int, p *routes, need *[maxStepOps]reached) {
	var far [maxStepOps]uint32
	for op := range far {
		far[op] = ^uint32(0)
	}
	for _, op := range p.wanted {
		far[op] = need[op].dist()
	}
	// The latest first: what an op uses comes before it, and two may be of the same instruction.
	for all := p.all; all != 0; {
		op := bits.Len64(all) - 1
		all &^= 1 << op
		for use := range bitsOf(p.uses[op]) {
			far[use] = min(far[use], far[op]+1)
		}
		m.out.reached(node(m.seg.first+StepID(k), uint16(op)), m.seg, far[op])
	}
}
