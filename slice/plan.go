package slice

import (
	"iter"
	"math/bits"
)

// plan is what the wanted ops of a shape depend on: in the step, all; and the edges that
// lead out of it. It is the same for all steps of the shape of which the same is wanted.
type plan struct {
	shape      *shape
	mask       uint64 // the wanted ops
	all        uint64 // with what they depend on in the step
	size       uint32 // how many ops that is
	first, end edgeID
	steps      uint64 // in the slice
	routes     *routes
}

// edge is a reference of a step that ops of a plan use: what each step of the plan needs.
type edge struct {
	last  [4]uint32 // ops of the program to which it led last
	ref   uint8     // counted from the step's first
	units uint8     // of a group; 0: all that was read
}

// edgeUses are who uses an edge. They stay as they are.
type edgeUses struct {
	by     uint32 // in planner.by: where they begin
	static uint32 // in Index.statics: where the shape's ops begin
	n      uint8  // of them
	ref    uint8
	units  uint8
}

// kindUse is a use by several ops.
type kindUse struct {
	ops  uint64
	kind EdgeKind
}

// edgeID is a place in planner.edges; 0: no edge, a criterion.
type edgeID uint32

// planner has the plans of a slice.
type planner struct {
	out    *Slice
	shapes []*planned // by shape; nil: not asked for yet
	last   []latest   // by shape
	latest [1 << 12]*plan
	known  map[planKey]*plan
	plans  []*plan
	edges  []edge
	before []uint64   // how often an edge led to what nothing in the recording wrote
	uses   []edgeUses // of edges
	by     []kindUse

	users [][maxUsers]user // of ops of the program

	// Whom edges led to last.
	seen [1 << 14]struct {
		edge edgeID
		to   uint32
	}
}

// planned is a shape, as the slice's options have it.
type planned struct {
	shape  *shape
	static uint32   // in Index.statics: where its ops begin
	within []uint64 // by op: the ops of the step that it uses
	edges  []plannedEdge
	told   uint64 // the ops of which it was noted what they use in the step
}

// latest is the plan of a shape that was asked for last.
type latest struct {
	mask uint64 // 0: none was
	plan *plan
}

// plannedEdge is a reference, and which ops use it.
type plannedEdge struct {
	ref   uint8
	units uint8
	by    []kindUse
}

// user is an op of the program that uses another one: its number<<2 | kind, + 1; 0: none.
type user uint32

type planKey struct {
	shape *planned
	mask  uint64
}

func newPlanner(s *Slice) *planner {
	return &planner{out: s, shapes: make([]*planned, len(s.x.shapes)), last: make([]latest, len(s.x.shapes)), users: make([][maxUsers]user, s.x.ops), known: map[planKey]*plan{}, edges: make([]edge, 1), before: make([]uint64, 1), uses: make([]edgeUses, 1)}
}

// of returns the plan for ops of a shape.
func (l *planner) of(id uint32, mask uint64) (*plan, error) {
	if last := &l.last[id-1]; last.mask == mask {
		return last.plan, nil
	}
	return l.find(id, mask)
}

// find is of, where the plan is not that of the shape's step before.
func (l *planner) find(id uint32, mask uint64) (*plan, error) {
	s := l.shapes[id-1]
	if s == nil {
		s = newPlanned(l.out.x.shape(id), l.out.Options)
		s.static = l.out.x.sizes[id-1].static
		l.shapes[id-1] = s
	}
	latest := &l.latest[(mask^uint64(id)<<32)*0x9e3779b97f4a7c15>>52]
	p := *latest
	if p == nil || p.shape != s.shape || p.mask != mask {
		if len(s.shape.ops) < bits.Len64(mask) {
			return nil, ErrIndex
		}
		key := planKey{s, mask}
		if p = l.known[key]; p == nil {
			p = l.make(s, mask)
			l.known[key] = p
		}
		*latest = p
	}
	l.last[id-1].mask, l.last[id-1].plan = mask, p
	return p, nil
}

func newPlanned(shape *shape, o Options) *planned {
	s := &planned{shape: shape, within: make([]uint64, len(shape.ops))}
	for op := range shape.ops {
		for use := range shape.within(op, o) {
			s.within[op] |= 1 << use.op
		}
		for _, u := range shape.usedRefs(op) {
			if o.follows(u.kind) {
				s.uses(op, u)
			}
		}
	}
	return s
}

// uses adds that an op uses a reference.
func (s *planned) uses(op int, u refUse) {
	var e *plannedEdge
	for i := range s.edges {
		if e = &s.edges[i]; e.ref == u.ref && e.units == u.units {
			for j := range e.by {
				if e.by[j].kind == u.kind {
					e.by[j].ops |= 1 << op
					return
				}
			}
			e.by = append(e.by, kindUse{1 << op, u.kind})
			return
		}
	}
	s.edges = append(s.edges, plannedEdge{u.ref, u.units, []kindUse{{1 << op, u.kind}}})
}

// make works out a plan.
func (l *planner) make(s *planned, mask uint64) *plan {
	p := &plan{shape: s.shape, mask: mask, all: mask, first: edgeID(len(l.edges))}
	for op := len(s.shape.ops) - 1; op >= 0; op-- {
		if p.all&(1<<op) == 0 {
			continue
		}
		p.all |= s.within[op]
		if s.told&(1<<op) == 0 {
			s.told |= 1 << op
			for use := range s.shape.within(op, l.out.Options) {
				l.used(s.shape.static[use.op], userOf(s.shape.static[op], use.kind))
			}
		}
	}
	p.size = uint32(bits.OnesCount64(p.all))
	for i := range s.edges {
		e := &s.edges[i]
		from := len(l.by)
		for _, u := range e.by {
			if u.ops &= p.all; u.ops != 0 {
				l.by = append(l.by, u)
			}
		}
		if n := len(l.by) - from; n > 0 {
			l.before = append(l.before, 0)
			l.edges = append(l.edges, edge{ref: e.ref, units: e.units})
			l.uses = append(l.uses, edgeUses{uint32(from), s.static, uint8(n), e.ref, e.units})
		}
	}
	p.end = edgeID(len(l.edges))
	p.routes = &routes{id: uint32(len(l.plans)), shape: s.shape, uses: s.within, mask: mask, all: p.all, edges: l.uses[p.first:p.end], users: l.by}
	l.plans = append(l.plans, p)
	return p
}

// leads notes that an edge leads to an op of the program.
func (l *planner) leads(id edgeID, to uint32) {
	l.edges[id].last[to&3] = to
	seen := &l.seen[(uint64(id)<<32|uint64(to))*0x9e3779b97f4a7c15>>50]
	if seen.edge == id && seen.to == to {
		return
	}
	seen.edge, seen.to = id, to
	e := &l.uses[id]
	for _, by := range l.by[e.by:][:e.n] {
		for ops := by.ops; ops != 0; ops &= ops - 1 {
			op := l.out.x.statics[int(e.static)+bits.TrailingZeros64(ops)]
			l.used(to, userOf(op, by.kind))
		}
	}
}

// userOf is an op of the program that uses something.
func userOf(op uint32, kind EdgeKind) user { return user(op<<2|uint32(kind)) + 1 }

// used notes that an op of the program is used by another, if few users of it are known.
func (l *planner) used(op uint32, by user) {
	users := &l.users[op]
	for i, u := range users {
		if u == by {
			return
		}
		if u == 0 {
			users[i] = by
			return
		}
	}
}

// count tells the slice what was counted by plans.
func (l *planner) count() {
	before := func(st *Stat, kind EdgeKind, n uint64) {
		if kind == ByMemory {
			st.BeforeMemory += n
		} else {
			st.BeforeRegister += n
		}
	}
	for _, p := range l.plans {
		for op := range bitsOf(p.all) {
			st := l.out.of(p.shape, uint16(op))
			if st.Count == 0 {
				st.Users = l.usersOf(p.shape.static[op])
			}
			st.Count += p.steps
			for _, kind := range p.shape.usedBefore(op) {
				if l.out.Options.follows(kind) {
					before(st, kind, p.steps)
				}
			}
		}
		for id := p.first; id < p.end; id++ {
			e := &l.uses[id]
			for _, by := range l.by[e.by:][:e.n] {
				for op := range bitsOf(by.ops) {
					before(l.out.of(p.shape, uint16(op)), by.kind, l.before[id])
				}
			}
		}
	}
}

// usersOf are the users of an op of the program.
func (l *planner) usersOf(op uint32) (all []User) {
	for _, u := range l.users[op] {
		if u == 0 {
			break
		}
		p, op := l.out.x.static(uint32(u-1) >> 2)
		all = append(all, User{p, op, EdgeKind((u - 1) & 3)})
	}
	return all
}

// within is what an op uses of its step.
func (s *shape) within(op int, o Options) iter.Seq[stepUse] {
	return func(yield func(stepUse) bool) {
		for _, u := range s.localUses(op) {
			if o.follows(u.kind) && s.frames&(1<<u.op) == 0 && !yield(u) {
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
