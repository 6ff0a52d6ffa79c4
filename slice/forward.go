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

	seg    *segment
	cur    *marks
	first  bool   // a criterion is in the segment
	hit    []far  // by source of the segment
	values values // of the step in hand
}

// far is how far something is from the criterion.
type far uint32

const notIn = ^far(0) // the slice

// values are those of a step's references, and behind them of its ops.
type values [1 << 8]far

// Where they are fits 8 bits.
var _ [1<<8 - (maxStepRefs + maxStepOps)]byte

// marks are the ops of a segment that are in the slice.
type marks struct {
	base [segmentLen]uint16 // the number of a step's first op
	far  []far              // by the op's number, + 1; 0: it is not in the slice
}

// of is that of an op, step<<opBits | op.
func (m *marks) of(op uint32) far {
	at := uint32(m.base[op>>opBits&(segmentLen-1)]) + op&(maxStepOps-1)
	if at >= uint32(len(m.far)) {
		return notIn // a damaged index
	}
	return m.far[at] - 1
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
	shape *shape
	uses  []use
	of    []uint8  // of them, for most steps all that is needed
	ends  []uint16 // by op: where its uses end
	units []uint8  // by reference: those that are used, if it is of a group
	least []far    // by op, at all steps

	mask   uint64             // the ops in the slice of the step before
	latest *uint64            // of counts
	counts map[uint64]*uint64 // steps, by their ops in the slice
}

// use is the use of a value: of what a reference leads to, or of an op of the step.
type use struct {
	of    uint8 // its place in values
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
	p := &forwardPlan{shape: shape, units: make([]uint8, shape.refs), counts: map[uint64]*uint64{}}
	used := make([]bool, shape.refs)
	for op := range shape.ops {
		if shape.frames&(1<<op) == 0 {
			for u := range shape.within(op, o) {
				p.uses = append(p.uses, use{uint8(shape.refs + int(u.op)), 0, u.kind})
			}
			for _, u := range shape.ops[op].refs {
				if !o.follows(u.kind) {
					continue
				}
				if used[u.ref] && p.units[u.ref] != u.units {
					p.units[u.ref] = someUnits
				} else {
					used[u.ref], p.units[u.ref] = true, u.units
				}
				p.uses = append(p.uses, use{uint8(u.ref), u.units, u.kind})
			}
		}
		p.ends = append(p.ends, uint16(len(p.uses)))
		p.least = append(p.least, notIn)
	}
	for _, u := range p.uses {
		p.of = append(p.of, u.of)
	}
	return p
}

// segment takes the ops of a segment that use something in the slice.
func (f *forward) segment(i int, g *segment) {
	f.seg = g
	f.first = slices.ContainsFunc(f.out.Criteria, func(n Node) bool { return segmentOf(n.Step()) == i })
	if !f.sources() && !f.first {
		return
	}
	f.cur = &marks{far: make([]far, g.ops)}
	f.marks[i] = f.cur
	for k := range g.steps {
		f.cur.base[k] = g.steps[k].base
	}
	for k := range g.steps {
		f.step(k)
	}
}

// sources finds which sources of the segment are in the slice, and says that one is.
func (f *forward) sources() (any bool) {
	g := f.seg
	f.hit = f.hit[:0]
	for at := range g.sourcesN() {
		hit := f.of(g.earlier(at))
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
	nearest, each := f.references(k, p)
	if each = each || d.own(); nearest == notIn && !f.first && !each {
		return
	}
	v := &f.values
	var in uint64
	of, at := p.of, 0
	for op, end := range p.ends {
		n := notIn
		if each {
			for _, u := range p.uses[at:end] {
				n = min(n, f.value(k, u))
			}
		} else {
			for _, i := range of[at:end] {
				n = min(n, v[i])
			}
		}
		at = int(end)
		if n != notIn {
			n++
		}
		if f.first && slices.Contains(f.out.Criteria, node(f.seg.first+StepID(k), uint16(op))) {
			n = 0
		}
		v[p.shape.refs+op] = n
		f.cur.far[int(d.base)+op] = n + 1
		if n == notIn {
			continue
		}
		in |= 1 << op
		if n < p.least[op] {
			p.least[op] = n
			f.out.reached(node(f.seg.first+StepID(k), uint16(op)), f.seg, uint32(n))
		}
	}
	if in != 0 {
		p.step(in)
	}
}

// references finds the values of a step's references, and the nearest; or that ops
// use different units of one.
func (f *forward) references(k int, p *forwardPlan) (nearest far, each bool) {
	nearest = notIn
	refs := f.seg.refs[2*int(f.seg.steps[k].refs):]
	for i, units := range p.units {
		n := notIn
		switch ref := binary.LittleEndian.Uint16(refs[2*i:]); {
		case ref < firstSource:
			n = f.cur.of(uint32(ref))
		case ref < f.seg.firstList:
			if at := int(ref - firstSource); at < len(f.hit) {
				n = f.hit[at]
			}
		case ref < beforeAll:
			if each = each || units == someUnits; !each {
				n = f.value(k, use{of: uint8(i), units: units})
			}
		}
		f.values[i] = n
		nearest = min(nearest, n)
	}
	return nearest, each
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
	if away == notIn {
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
