package slice

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
)

// plan is what the wanted ops of a shape depend on: in the step, all; and the edges that
// lead out of it. It is the same for all steps of the shape of which the same is wanted.
type plan struct {
	mask  uint64 // the wanted ops
	all   uint64 // with what they depend on in the step
	size  uint32 // how many ops that is
	id    uint32 // its place in planner.plans
	least uint32 // in planner.least: the least distance from the criterion of each wanted op, at all steps

	relax      []relax
	first, end edgeID

	shape *shape
	steps uint64 // in the slice
}

// relax is an edge within a step, from an op to one that it uses.
type relax struct{ from, to uint8 }

// edge is a reference of a step that ops of a plan use: what each step of the plan needs.
type edge struct {
	last  [2]uint32 // ops of the program to which it led last
	more  uint32    // in planner.more: other ops by which it may be reached on a shortest way
	count uint8     // of them
	op    uint8     // by which it may be
	ref   uint16    // counted from the step's first
	kind  EdgeKind
	units uint8 // of a group; 0: all that was read
}

// edgeUse is what else is known of an edge.
type edgeUse struct {
	ops    uint64 // that use it
	users  uint32 // these: the place in planner.sets
	before uint64 // how often it led to what nothing in the recording wrote
	last   Node   // the op to which it was noted last that it leads there too
}

// edgeID is a place in planner.edges; 0: no edge, a criterion.
type edgeID uint32

// planner has the plans of a slice.
type planner struct {
	out    *Slice
	latest []latest // by shape
	known  map[planKey]*plan
	plans  []*plan
	edges  []edge
	uses   []edgeUse // of edges
	more   []uint8
	least  []uint32

	users [][maxUsers]user // of ops of the program
	sets  [][]user         // of users of edges
	set   map[string]uint32

	// Whom edges led to last.
	seen [1 << 14]struct{ users, to uint32 }
}

// user is an op of the program that uses another one: its number<<2 | kind, + 1; 0: none.
type user uint32

// latest are the two plans of a shape that were asked for last.
type latest [2]*plan

type planKey struct {
	shape uint32
	mask  uint64
}

func newPlanner(s *Slice) *planner {
	return &planner{out: s, latest: make([]latest, len(s.x.shapes)), users: make([][maxUsers]user, s.x.ops), set: map[string]uint32{}, known: map[planKey]*plan{}, edges: make([]edge, 1), uses: make([]edgeUse, 1), sets: make([][]user, 1)}
}

// of returns the plan for ops of a shape.
func (l *planner) of(shape uint32, mask uint64) (*plan, error) {
	if p := l.latest[shape-1][0]; p != nil && p.mask == mask {
		return p, nil
	}
	return l.find(shape, mask)
}

// find is of, where the plan is not that of the shape's step before.
func (l *planner) find(id uint32, mask uint64) (*plan, error) {
	last := &l.latest[id-1]
	if last[0], last[1] = last[1], last[0]; last[0] != nil && last[0].mask == mask {
		return last[0], nil
	}
	key := planKey{id, mask}
	p := l.known[key]
	if p == nil {
		shape := l.out.x.shape(id)
		if len(shape.ops) < bits.Len64(mask) {
			return nil, ErrIndex
		}
		p = l.make(shape, mask)
		l.known[key] = p
	}
	last[0] = p
	return p, nil
}

// make works out a plan.
//
//  1. The ops: from the last to the first, what a wanted op uses is wanted.
//  2. The edges: what these use from elsewhere.
//  3. By which of its ops an edge may be reached on a shortest way; and by which of these
//     such an op. An op that is used only by ops that use the same is none: they are nearer.
func (l *planner) make(shape *shape, mask uint64) *plan {
	o := l.out.Options
	p := &plan{id: uint32(len(l.plans)), shape: shape, mask: mask, all: mask, first: edgeID(len(l.edges)), least: uint32(len(l.least))}
	l.plans = append(l.plans, p)
	for range bitsOf(mask) {
		l.least = append(l.least, ^uint32(0))
	}
	var users [maxStepOps]uint64
	for op := len(shape.ops) - 1; op >= 0; op-- {
		if p.all&(1<<op) == 0 {
			continue
		}
		for use := range shape.within(op, o) {
			p.all |= 1 << use.op
			users[use.op] |= 1 << op
			l.used(shape.static[use.op], userOf(shape, op, use.kind))
		}
	}
	p.size = uint32(bits.OnesCount64(p.all))
	for op := range bitsOf(p.all) {
		for _, u := range shape.ops[op].refs {
			if o.follows(u.kind) {
				l.edge(p, op, u)
			}
		}
	}
	p.end = edgeID(len(l.edges))
	// Those of users that are nearer than all others of them.
	nearest := func(of uint64) (ops uint64) {
		for u := range bitsOf(of) {
			if mask&(1<<u) != 0 || users[u]&^of != 0 {
				ops |= 1 << u
			}
		}
		return ops
	}
	var needed uint64
	for id := p.first; id < p.end; id++ {
		e := &l.edges[id]
		l.uses[id].users = l.setOf(shape, l.uses[id].ops, e.kind)
		ops := nearest(l.uses[id].ops)
		needed |= ops
		e.op, e.count, e.more = uint8(bits.TrailingZeros64(ops)), uint8(bits.OnesCount64(ops)-1), uint32(len(l.more))
		for u := range bitsOf(ops & (ops - 1)) {
			l.more = append(l.more, uint8(u))
		}
	}
	for op := range len(shape.ops) {
		if needed&(1<<op) == 0 {
			continue
		}
		from := nearest(users[op])
		needed |= from
		for u := range bitsOf(from) {
			p.relax = append(p.relax, relax{uint8(u), uint8(op)})
		}
	}
	slices.Reverse(p.relax) // users first
	return p
}

// edge adds that an op uses a reference.
func (l *planner) edge(p *plan, op int, u refUse) {
	for id := p.first; id < edgeID(len(l.edges)); id++ {
		if q := &l.edges[id]; q.ref == u.ref && q.units == u.units && q.kind == u.kind {
			l.uses[id].ops |= 1 << op
			return
		}
	}
	l.edges = append(l.edges, edge{ref: u.ref, units: u.units, kind: u.kind})
	l.uses = append(l.uses, edgeUse{ops: 1 << op})
}

// nearest is how what an edge leads to is reached, with how the step's ops are; the
// step taken as the segment's first.
func (l *planner) nearest(e *edge, need *[maxStepOps]reached) reached {
	r := by(e.op, need)
	if e.count > 0 {
		for _, op := range l.more[e.more:][:e.count] {
			r = min(r, by(op, need))
		}
	}
	return r + reached(e.kind)
}

// by is how what an op uses is reached by it, but for the kind of use.
func by(op uint8, need *[maxStepOps]reached) reached {
	op &= maxStepOps - 1
	return need[op]&^wayMask + reachedBy(Node(op), 0, 1)
}

// leads notes that an edge leads to an op of the program.
func (l *planner) leads(id edgeID, to uint32) {
	l.edges[id].last[to&1] = to
	users := l.uses[id].users
	seen := &l.seen[(uint64(users)<<32|uint64(to))*0x9e3779b97f4a7c15>>50]
	if seen.users == users && seen.to == to {
		return
	}
	seen.users, seen.to = users, to
	for _, u := range l.sets[users] {
		l.used(to, u)
	}
}

// setOf is the place in sets of ops of a shape that use something.
func (l *planner) setOf(s *shape, ops uint64, kind EdgeKind) uint32 {
	var all []user
	for op := range bitsOf(ops) {
		all = append(all, userOf(s, op, kind))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	var key []byte
	for _, u := range all {
		key = binary.LittleEndian.AppendUint32(key, uint32(u))
	}
	at, ok := l.set[string(key)]
	if !ok {
		at = uint32(len(l.sets))
		l.set[string(key)] = at
		l.sets = append(l.sets, all)
	}
	return at
}

// userOf is an op of a shape that uses something.
func userOf(s *shape, op int, kind EdgeKind) user { return user(s.static[op]<<2|uint32(kind)) + 1 }

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
			for _, kind := range p.shape.ops[op].before {
				if l.out.Options.follows(kind) {
					before(st, kind, p.steps)
				}
			}
		}
		for id := p.first; id < p.end; id++ {
			for op := range bitsOf(l.uses[id].ops) {
				before(l.out.of(p.shape, uint16(op)), l.edges[id].kind, l.uses[id].before)
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
func (p *plan) spread(f *distances, o Options) {
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

// within is what an op uses of its step.
func (s *shape) within(op int, o Options) iter.Seq[stepUse] {
	return func(yield func(stepUse) bool) {
		for _, u := range s.ops[op].local {
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
