package slice

import (
	"context"
	"encoding/binary"
	"math/bits"
	"slices"
)

// Forward returns the forward slice of the criteria: all that depends on them. It
// goes once over the segments that come after them, and looks at the steps of those of
// which a source is in the slice.
func (x *Index) Forward(ctx context.Context, from Criteria, o Options) (*Slice, error) {
	f := &forward{x: x, o: o, out: newSlice(x, from, o), marks: make([]*marks, x.segments()), plans: make([]*forwardPlan, len(x.shapes))}
	f.out.ways = f
	first := x.Steps
	for _, n := range from {
		if n == 0 || n.Step() > x.Steps {
			return nil, ErrIndex
		}
		first = min(first, n.Step())
	}
	ahead := newAhead(x, true)
	defer ahead.stop()
	ahead.prepare = f.prepare
	for i := segmentOf(first); i < len(f.marks); i++ {
		if i&63 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		g, err := ahead.segment(i)
		if err != nil {
			return nil, err
		}
		f.segment(i, g)
	}
	f.seg = nil
	f.count()
	return f.out, nil
}

// forward is a forward slice, in the making and as the ways of its ops.
type forward struct {
	x     *Index
	o     Options
	out   *Slice
	marks []*marks       // by segment; nil: nothing of it is in the slice
	plans []*forwardPlan // by shape; nil: not asked for yet

	seg   *segment
	cur   *marks
	first bool                      // a criterion is in the segment
	hit   []far                     // by source of the segment
	kept  []far                     // of the segment's steps
	known [segmentLen << opBits]far // ops of the segment that were asked for, + 1
	refs  [maxStepRefs]far          // of the step in hand
}

// far is how far something is from the criterion.
type far uint32

const (
	notIn   far = 1 << 31 // the slice: nor is what uses it
	unknown     = notIn + 1
)

// What a step uses fits 8 bits.
var _ [1<<8 - (maxStepRefs + maxStepOps)]byte

// marks are the steps of a segment that are in the slice. Of each what its references lead to
// is kept, from which the values of its ops follow; or these, where they do not.
type marks struct {
	at    [segmentLen]uint16       // where a step's are in far; noMark: it is not in the slice
	plans [segmentLen]*forwardPlan // nil: they are its ops'
	far   []far
}

const noMark = 1<<16 - 1

// What is kept of a segment fits 16 bits.
var _ [noMark - segmentLen*maxStepRefs]byte

// of is that of an op, step<<opBits | op.
func (m *marks) of(op uint32) far {
	k := op >> opBits & (segmentLen - 1)
	if m.at[k] == noMark {
		return notIn
	}
	v, p := m.far[m.at[k]:], m.plans[k]
	op &= maxStepOps - 1
	if p == nil {
		if op >= uint32(len(v)) {
			return notIn // a damaged index
		}
		return v[op]
	}
	return p.of(op, v)
}

// of is that of an op.
func (f *forward) of(n Node) far {
	i := segmentOf(n.Step())
	if n == 0 || i >= len(f.marks) || f.marks[i] == nil {
		return notIn
	}
	return f.marks[i].of(uint32(n - node(StepID(i<<segmentBits+1), 0)))
}

// forwardPlan is what there is to do for each step of a shape.
type forwardPlan struct {
	// By op: where it begins in here, and the end; and there the references that it depends on, and
	// over how many dependences at least (<<8).
	from  []uint16
	shape *shape
	uses  []use
	ends  []uint16 // by op: where its uses end
	units []uint8  // by reference: those that are used, if it is of a group
	reach []uint64 // by reference: the ops that depend on it
	near  []far    // by reference: the nearest that it led to at all steps
	least []far    // by op, at all steps

	mask   uint64             // the ops in the slice of the step before
	latest *uint64            // of counts
	counts map[uint64]*uint64 // steps, by their ops in the slice
}

// use is the use of a value: of what a reference leads to, or of an op of the step.
type use struct {
	of    uint8 // its number among the references, or behind these among the ops
	units uint8 // of a group; 0: all
	kind  EdgeKind
}

// someUnits are the units of a reference of which ops use different ones.
const someUnits = 0xff

func (f *forward) plan(id uint32) *forwardPlan {
	p := f.plans[id-1]
	if p == nil {
		p = newForwardPlan(f.x.shape(id), f.o)
		f.plans[id-1] = p
	}
	return p
}

func newForwardPlan(shape *shape, o Options) *forwardPlan {
	p := &forwardPlan{from: make([]uint16, len(shape.ops)+1, 8*len(shape.ops)), shape: shape, units: make([]uint8, shape.refs), reach: make([]uint64, shape.refs), counts: map[uint64]*uint64{}}
	used := make([]bool, shape.refs)
	var away [maxStepRefs]uint8 // of the op in hand, by reference; 0: it does not depend on it
	for op := range shape.ops {
		p.from[op] = uint16(len(p.from))
		if shape.frames&(1<<op) == 0 {
			clear(away[:shape.refs])
			by := func(ref uint8, n uint8) {
				if away[ref] == 0 || n < away[ref] {
					away[ref] = n
				}
			}
			for u := range shape.within(op, o) {
				p.uses = append(p.uses, use{uint8(shape.refs + int(u.op)), 0, u.kind})
				for _, r := range p.from[p.from[u.op]:p.from[u.op+1]] {
					by(uint8(r), uint8(r>>8)+1)
				}
			}
			for _, u := range shape.usedRefs(op) {
				if !o.follows(u.kind) {
					continue
				}
				if used[u.ref] && p.units[u.ref] != u.units {
					p.units[u.ref] = someUnits
				} else {
					used[u.ref], p.units[u.ref] = true, u.units
				}
				p.uses = append(p.uses, use{u.ref, u.units, u.kind})
				by(u.ref, 1)
			}
			for ref, n := range away[:shape.refs] {
				if n > 0 {
					p.from = append(p.from, uint16(ref)|uint16(n)<<8)
					p.reach[ref] |= 1 << op
				}
			}
		}
		p.from[op+1] = uint16(len(p.from))
		p.ends = append(p.ends, uint16(len(p.uses)))
		p.least = append(p.least, notIn)
	}
	for range shape.refs {
		p.near = append(p.near, notIn)
	}
	return p
}

// of is that of an op, with what the step's references lead to.
func (p *forwardPlan) of(op uint32, refs []far) far {
	n := notIn
	if op >= uint32(len(p.ends)) {
		return n // a damaged index
	}
	for _, from := range p.from[p.from[op]:p.from[op+1]] {
		n = min(n, refs[from&0xff]+far(from>>8))
	}
	return n
}

// segment takes the ops of a segment that use something in the slice.
func (f *forward) segment(i int, g *segment) {
	f.seg = g
	f.first = slices.ContainsFunc(f.out.Criteria, func(n Node) bool { return segmentOf(n.Step()) == i })
	if !f.sources() && !f.first {
		return
	}
	f.cur, f.kept = &marks{}, f.kept[:0]
	f.marks[i] = f.cur
	clear(f.known[:])
	for k := range f.cur.at {
		f.cur.at[k] = noMark
	}
	for k := range g.steps {
		f.step(k)
	}
	f.cur.far = slices.Clone(f.kept)
}

// prepare does for a batch what can be done before its turn: the plans, and the sources in
// segments that are done with.
func (f *forward) prepare(b *batch, done int) {
	for i := range b.segs {
		if b.errs[i] != nil {
			continue
		}
		g := &b.segs[i]
		for k := range g.steps {
			f.plan(g.steps[k].id())
		}
		for at := range g.sourcesN() {
			hit := unknown
			if n := g.earlier(at); segmentOf(n.Step()) < done {
				hit = f.of(n)
			}
			g.known = append(g.known, hit)
		}
	}
}

// sources finds which sources of the segment are in the slice, and says that one is.
func (f *forward) sources() (any bool) {
	g := f.seg
	f.hit = f.hit[:0]
	for at := range g.sourcesN() {
		hit := unknown
		if len(g.known) > 0 {
			hit = g.known[at]
		}
		if hit == unknown {
			hit = f.of(g.earlier(at))
		}
		any = any || hit != notIn
		f.hit = append(f.hit, hit)
	}
	for at := g.sourcesN(); at < g.sourcesN()+uint32(len(g.distant)/sourceLen) && !any; at++ {
		any = f.of(g.earlier(at)) != notIn
	}
	return any
}

// step takes the ops of a step that use something in the slice.
func (f *forward) step(k int) {
	d := &f.seg.steps[k]
	p := f.plan(d.id())
	if d.own() || f.first {
		f.each(k, p)
		return
	}
	in, nearer, each := f.references(k, p)
	if each {
		f.each(k, p)
		return
	}
	if in == 0 {
		return
	}
	refs := f.refs[:len(p.units)]
	f.keep(k, p, refs)
	p.step(in)
	if !nearer {
		return
	}
	for i, n := range refs {
		p.near[i] = min(p.near[i], n)
	}
	for op := range p.least {
		f.nearer(k, p, op, p.of(uint32(op), refs))
	}
}

// keep keeps values of a step: of its references, or of its ops. It returns where they are.
func (f *forward) keep(k int, p *forwardPlan, v []far) []far {
	at := len(f.kept)
	f.kept = append(f.kept, v...)
	f.cur.at[k], f.cur.plans[k], f.cur.far = uint16(at), p, f.kept
	return f.kept[at:]
}

// nearer notes how far an op of a step is, if it was farther at all steps before.
func (f *forward) nearer(k int, p *forwardPlan, op int, n far) {
	if n < p.least[op] {
		p.least[op] = n
		f.out.reached(node(f.seg.first+StepID(k), uint16(op)), f.seg, uint32(n))
	}
}

// each is step op by op: where a step uses what it wrote itself, or ops use different units of
// what a reference leads to, or a criterion may be among them.
func (f *forward) each(k int, p *forwardPlan) {
	v := f.keep(k, nil, slices.Repeat([]far{notIn}, len(p.ends)))
	var in uint64
	at := 0
	for op, end := range p.ends {
		n := notIn
		for _, u := range p.uses[at:end] {
			n = min(n, f.value(k, u)+1)
		}
		at = int(end)
		if f.first && slices.Contains(f.out.Criteria, node(f.seg.first+StepID(k), uint16(op))) {
			n = 0
		}
		v[op] = n
		if n < notIn {
			in |= 1 << op
			f.nearer(k, p, op, n)
		}
	}
	if in == 0 {
		f.kept, f.cur.at[k] = f.kept[:f.cur.at[k]], noMark
		return
	}
	p.step(in)
}

// references finds the values of a step's references: the ops that depend on them, and that one
// is nearer than at all steps before; or that ops use different units of one.
func (f *forward) references(k int, p *forwardPlan) (in uint64, nearer, each bool) {
	refs := f.seg.refs[2*int(f.seg.steps[k].refs):]
	for i, units := range p.units {
		n := notIn
		switch ref := binary.LittleEndian.Uint16(refs[2*i:]); {
		case ref < firstSource:
			at := &f.known[ref&(segmentLen<<opBits-1)]
			if *at == 0 {
				*at = f.cur.of(uint32(ref)) + 1
			}
			n = *at - 1
		case ref < f.seg.firstList:
			if at := int(ref - firstSource); at < len(f.hit) {
				n = f.hit[at]
			}
		case ref < beforeAll:
			if units == someUnits {
				return 0, false, true
			}
			n = f.value(k, use{of: uint8(i), units: units})
		}
		f.refs[i] = n
		if n < notIn {
			in |= p.reach[i]
		}
		nearer = nearer || n < p.near[i]
	}
	return in, nearer, false
}

// value is that of a use of step k. Where a step reads what it wrote itself, that is known
// only when its ops before are.
func (f *forward) value(k int, u use) far {
	n := notIn
	f.defs(f.seg, k, u, func(def Node) { n = min(n, f.of(def)) })
	return n
}

// defs calls yield with what a use of step k means.
func (f *forward) defs(g *segment, k int, u use, yield func(Node)) {
	if op := int(u.of) - g.shape(k).refs; op >= 0 {
		yield(node(g.first+StepID(k), uint16(op)))
	} else {
		g.each(g.ref(k, int(u.of)), u.units, yield)
	}
}

// step counts one of which these ops are in the slice.
func (p *forwardPlan) step(in uint64) {
	if in != p.mask {
		p.mask, p.latest = in, p.counts[in]
		if p.latest == nil {
			p.latest = new(uint64)
			p.counts[in] = p.latest
		}
	}
	*p.latest++
}

// count tells the slice what was counted by plans.
func (f *forward) count() {
	for _, p := range f.plans {
		if p == nil {
			continue
		}
		for in, n := range p.counts {
			for op := range bitsOf(in) {
				f.out.of(p.shape, uint16(op)).Count += *n
			}
			f.out.Ops += *n * uint64(bits.OnesCount64(in))
		}
	}
}

// find returns a definition of an op that is as near as the op says.
func (f *forward) find(n Node) (via Node, kind EdgeKind, ok bool) {
	away := f.of(n)
	if away >= notIn {
		return 0, 0, false
	}
	if away == 0 {
		return 0, 0, true
	}
	g, k, err := f.x.meet(n)
	if err != nil {
		return 0, 0, false
	}
	p := f.plan(g.steps[k].id())
	begin := 0
	if op := n.Op(); op > 0 {
		begin = int(p.ends[op-1])
	}
	for _, u := range p.uses[begin:p.ends[n.Op()]] {
		f.defs(g, k, u, func(def Node) {
			if !ok && f.of(def) == away-1 {
				via, kind, ok = def, u.kind, true
			}
		})
	}
	return via, kind, ok
}
