package slice

import "math/bits"

// routes are the ways through a step of a plan: from its wanted ops to what these, and what they
// depend on in the step, have from elsewhere. Only ways that can be the shortest are among
// them: where an op and all the ops that use it use the same, the way by the op is longer.
type routes struct {
	id    uint32 // of the plan: its place in planner.plans
	shape *shape
	uses  []uint64 // by op: the ops of the step that it uses
	mask  uint64   // the wanted ops
	all   uint64   // with what they depend on in the step
	edges []edgeUses
	users []kindUse // of edges

	// What follows is worked out when the first of its steps is measured.
	wanted []uint8  // the wanted ops; nil: it is not yet
	least  []uint32 // their least distances from the criterion, at all steps

	within []stretchedWay // users first
	out    []exit
	more   []exitWay
}

// stretchedWay is a way within a step, of one dependence or several in a row.
type stretchedWay struct {
	from, to uint8
	far      uint8
	first    int8 // -1: it is the first that leads to an op that is not wanted; 0
}

// exit is an edge that leads out of a step.
type exit struct {
	exitWay
	more  uint32 // in routes.more: other ways
	count uint8  // of them
	ref   uint8  // counted from the step's first
	units uint8  // of a group; 0: all that was read
}

// exitWay is a way out of a step: how what the edge leads to is reached, the step taken as
// the segment's first.
type exitWay struct {
	way  uint16 // the lower half of reached, but for localWay
	far  uint8  // dependences from there
	from uint8  // an op whose distance is known
}

// exitBy is the way out by which what is behind the exit is reached so, if an op is reached
// without a dependence.
func exitBy(r reached, from int) exitWay {
	return exitWay{uint16(r), uint8(r.dist()), uint8(from)}
}

// by is how what is behind the exit is reached.
func (w *exitWay) by(far *[maxStepOps]reached) reached {
	return far[w.from&(maxStepOps-1)] + (reached(w.far)<<32 | localWay | reached(w.way))
}

// A way by an op of the segment's first step fits 16 bits.
var _ [1<<16 - firstSource<<2]byte

// A reference fits 8 bits.
var _ [1<<8 - maxStepRefs]byte

// relax makes of how far the wanted ops of a step are how far all are that exits begin at.
func (p *routes) relax(far *[maxStepOps]reached) {
	for _, w := range p.within {
		to := &far[w.to&(maxStepOps-1)]
		*to = min(*to|reached(int64(w.first)), far[w.from&(maxStepOps-1)]+reached(w.far)<<32)
	}
}

// by is how what an exit leads to is reached, the step taken as the segment's first.
func (p *routes) by(e *exit, far *[maxStepOps]reached) reached {
	r := e.by(far)
	if e.count > 0 {
		for i := range p.more[e.more:][:e.count] {
			r = min(r, p.more[int(e.more)+i].by(far))
		}
	}
	return r
}

// work works them out.
//
//  1. Which ops an edge may be reached by on a shortest way; and by which of these such an op.
//     An op that is used only by ops that use the same is none: they are nearer.
//  2. From the last op to the first, how it is reached from others. Where it costs no more,
//     ways lead past an op.
//  3. The ways out.
func (p *routes) work() {
	n := bits.OnesCount64(p.mask)
	p.wanted, p.least = make([]uint8, 0, n), make([]uint32, 0, n)
	for op := range bitsOf(p.mask) {
		p.wanted, p.least = append(p.wanted, uint8(op)), append(p.least, ^uint32(0))
	}
	s := routing{routes: p}
	s.need()
	s.inside()
	s.outside()
}

// routing is what working out routes needs. Sets of ops are bits.
type routing struct {
	*routes
	usedBy    [maxStepOps]uint64 // by op: those that use it
	ends      []uint64           // by edge: the ops at which the ways to it end
	needed    uint64             // ops that ways pass or end at
	consumers [maxStepOps]int    // by op: how many ask for it
	from      [maxStepOps]uint64 // by op: those by which it is reached
	begins    [maxStepOps]uint64 // by op: those at which a way to it begins,
	far       [maxStepOps][maxStepOps]uint8
	reach     [maxStepOps]uint64 // of ops at which ways begin: from which of them others are reached
}

// nearest are those of users that are nearer than all others of them.
func (s *routing) nearest(of uint64) (ops uint64) {
	for u := range bitsOf(of) {
		if s.mask&(1<<u) != 0 || s.usedBy[u]&^of != 0 {
			ops |= 1 << u
		}
	}
	return ops
}

// need finds which ops edges and needed ops are reached by.
func (s *routing) need() {
	for op := range bitsOf(s.all) {
		for use := range bitsOf(s.uses[op]) {
			s.usedBy[use] |= 1 << op
		}
	}
	need := func(ops uint64) {
		s.needed |= ops
		for op := range bitsOf(ops) {
			s.consumers[op]++
		}
	}
	s.ends = make([]uint64, len(s.edges))
	for i := range s.edges {
		e := &s.edges[i]
		var ops uint64
		for _, by := range s.users[e.by:][:e.n] {
			ops |= by.ops
		}
		s.ends[i] = s.nearest(ops)
		need(s.ends[i])
	}
	for op := range s.uses {
		if s.needed&(1<<op) != 0 {
			s.from[op] = s.nearest(s.usedBy[op])
			need(s.from[op])
		}
	}
}

// inside makes the ways within the step.
func (s *routing) inside() {
	for op := len(s.uses) - 1; op >= 0; op-- {
		if s.needed&(1<<op) == 0 {
			continue
		}
		var in uint64
		to := &s.far[op]
		for u := range bitsOf(s.from[op]) {
			for b := range bitsOf(s.begins[u]) {
				if d := s.far[u][b] + 1; in&(1<<b) == 0 || d < to[b] {
					to[b] = d
				}
				in |= 1 << b
			}
		}
		// What another one is reached from, and is no nearer than by that one.
		for b := range bitsOf(in) {
			for a := range bitsOf(s.reach[b] & in) {
				if to[a] >= s.far[b][a]+to[b] {
					in &^= 1 << a
				}
			}
		}
		wanted := s.mask&(1<<op) != 0
		n := bits.OnesCount64(in)
		if s.begins[op] = in; wanted || (n-1)*(s.consumers[op]-1) > 2 {
			first := int8(-1)
			if wanted {
				first = 0
			}
			for b := range bitsOf(in) {
				s.within = append(s.within, stretchedWay{uint8(b), uint8(op), to[b], first})
				first = 0
			}
			s.reach[op] = in
			s.begins[op], to[op] = 1<<op, 0
		}
	}
}

// outside makes the ways out.
func (s *routing) outside() {
	s.out = make([]exit, 0, len(s.edges))
	for i := range s.edges {
		uses := &s.edges[i]
		var best [maxStepOps]reached
		var in uint64
		for _, by := range s.users[uses.by:][:uses.n] {
			for op := range bitsOf(by.ops & s.ends[i]) {
				for b := range bitsOf(s.begins[op]) {
					r := reachedBy(Node(op), by.kind, uint32(s.far[op][b])+1)
					if in&(1<<b) == 0 || r < best[b] {
						best[b] = r
					}
					in |= 1 << b
				}
			}
		}
		for b := range bitsOf(in) {
			for a := range bitsOf(s.reach[b] & in) {
				if best[a].dist() >= uint32(s.far[b][a])+best[b].dist() {
					in &^= 1 << a
				}
			}
		}
		first := bits.TrailingZeros64(in)
		e := exit{exitBy(best[first], first), uint32(len(s.more)), 0, uses.ref, uses.units}
		for b := range bitsOf(in & (in - 1)) {
			s.more = append(s.more, exitBy(best[b], b))
			e.count++
		}
		s.out = append(s.out, e)
	}
}

// distances are those of the ops of a step from the criterion.
type distances [maxStepOps]struct {
	reached bool
	kind    EdgeKind
	by      int8 // the op of the step by which it is reached so; -1: from elsewhere
	dist    uint32
}

// from makes an op one that is reached from elsewhere.
func (f *distances) from(op int, dist uint32) {
	f[op].reached, f[op].by, f[op].dist = true, -1, dist
}

// spread goes from what is reached from elsewhere to what that depends on.
func (p *routes) spread(f *distances, o Options) {
	for op := len(p.shape.ops) - 1; op >= 0; op-- {
		if !f[op].reached {
			continue
		}
		for use := range p.shape.within(op, o) {
			if at := &f[use.op]; !at.reached || f[op].dist+1 < at.dist {
				at.reached, at.dist, at.by, at.kind = true, f[op].dist+1, int8(op), use.kind
			}
		}
	}
}
