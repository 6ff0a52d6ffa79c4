package eval

import (
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
)

// spanning is the set of objects to which a way leads from one object, with a
// spanning forest that shows it: each member hangs under one that has an edge to
// it. It is kept up as edges come and go.
//
// Object o is node o+1 of the trees. Node 1 is the origin, which stands for the object
// at which the ways begin: that may be in the set too, if a way leads back to it.
type spanning struct {
	end    func(e *env) graph.ObjID // where the ways begin, 0: nowhere
	fields []check.Field            // the edges that count
	in     bool                     // the edges that the way goes are those that lead to an object, not from it
	ranges bool                     // a range: end is in it, sentinels are not

	index int // in reach.all
	nodes []spanNode
	trees linkcut
	size  int // members

	from  graph.ObjID // end at the moment
	was   graph.ObjID // and before the last step
	loose []int32     // subtrees whose edge from above is gone
	queue []int32
	succ  []graph.ObjID
	pred  []graph.ObjID
}

type spanNode struct {
	parent, child, next, prev int32 // the tree; siblings in a list
	member                    bool
}

const origin = 1

// flips are the objects that a change brought into the set or took from it.
type flips map[graph.ObjID]bool

// has reports whether o is in the set.
func (s *spanning) has(o graph.ObjID) bool {
	return int(o)+1 < len(s.nodes) && s.nodes[o+1].member
}

// members returns the set.
func (s *spanning) members() (out []graph.ObjID) {
	for n := origin + 1; n < len(s.nodes); n++ {
		if s.nodes[n].member {
			out = append(out, graph.ObjID(n-1))
		}
	}
	return out
}

// turn takes n in, or out, and notes that.
func (s *spanning) turn(n int32, f flips) {
	x := &s.nodes[n]
	x.member = !x.member
	if x.member {
		s.size++
	} else {
		s.size--
	}
	if o := graph.ObjID(n - 1); f[o] {
		delete(f, o)
	} else {
		f[o] = true
	}
}

func (s *spanning) grow(n int32) {
	if more := int(n) + 1 - len(s.nodes); more > 0 {
		s.nodes = append(s.nodes, make([]spanNode, more+len(s.nodes)/2)...)
		s.trees.grow(int32(len(s.nodes) - 1))
	}
}

func (s *spanning) hang(n, p int32, undo *[]move) {
	s.trees.link(n, p)
	c := s.nodes[p].child
	s.nodes[n].parent, s.nodes[n].next, s.nodes[n].prev = p, c, 0
	if c != 0 {
		s.nodes[c].prev = n
	}
	s.nodes[p].child = n
	*undo = append(*undo, move{n, p})
}

func (s *spanning) unhang(n int32, undo *[]move) {
	s.trees.cut(n)
	x := &s.nodes[n]
	if x.prev != 0 {
		s.nodes[x.prev].next = x.next
	} else {
		s.nodes[x.parent].child = x.next
	}
	if x.next != 0 {
		s.nodes[x.next].prev = x.prev
	}
	*undo = append(*undo, move{n, -x.parent})
	x.parent, x.next, x.prev = 0, 0, 0
}

// move is one step of a change, so that it can be taken back: n was hung under
// at, or taken from under -at.
type move struct{ n, at int32 }

// rebuild finds the set from scratch, on e's view. It returns who came and went.
func (s *spanning) rebuild(e *env) flips {
	f := flips{}
	for _, o := range s.members() {
		f[o] = true
	}
	s.size = 0
	clear(s.nodes)
	clear(s.trees.nodes)
	s.grow(origin)
	s.nodes[origin].member = true
	var undo []move
	s.from = s.end(e)
	s.spread(e, origin, nil, f, &undo)
	return f
}

// object is what a node stands for, 0 if that is nothing at the moment. What has died has no
// edges: something else may lie at its address.
func (s *spanning) object(e *env, n int32) graph.ObjID {
	o := graph.ObjID(n - 1)
	if n == origin {
		o = s.from
	}
	if !e.g.Alive(o, e.t) {
		return 0
	}
	return o
}

// edges returns what n has edges to, by cells that d touches only if that is not nil.
func (s *spanning) edges(e *env, n int32, d *graph.Dirt) []graph.ObjID {
	s.succ = s.succ[:0]
	switch o := s.object(e, n); {
	case o == 0:
	case n == origin && s.ranges:
		s.succ = append(s.succ, o)
	case s.in:
		s.succ = e.predecessors(o, s.fields, s.succ)
	default:
		s.succ = e.successorsBy(o, s.fields, d, s.succ)
	}
	if s.ranges {
		s.succ = slices.DeleteFunc(s.succ, e.isSentinel)
	}
	return s.succ
}

// sources returns what has edges to an object, which lives.
func (s *spanning) sources(e *env, o graph.ObjID) []graph.ObjID {
	s.pred = s.pred[:0]
	switch {
	case s.ranges && e.isSentinel(o):
	case s.in:
		s.pred = e.successors(o, s.fields, s.pred)
	default:
		s.pred = e.predecessors(o, s.fields, s.pred)
	}
	return s.pred
}

// leads reports whether p has an edge to m. It looks at the end that has few.
func (s *spanning) leads(e *env, p, m int32) bool {
	from, to := s.object(e, p), s.object(e, m)
	switch {
	case from == 0 || to == 0:
		return false
	case p == origin && s.ranges:
		return from == to
	case s.in || e.g.Size(from, e.t) > manyCells*8:
		return slices.Contains(s.sources(e, to), from)
	}
	return slices.Contains(s.edges(e, p, nil), to)
}

// manyCells is for how many pointers an object may have room that are all looked at.
const manyCells = 64

// spread takes in what n has edges to and is not in yet, and what that leads to. Of n's
// edges only those are looked at that d touches, if that is not nil.
func (s *spanning) spread(e *env, n int32, d *graph.Dirt, f flips, undo *[]move) {
	s.queue = append(s.queue[:0], n)
	for len(s.queue) > 0 {
		n := s.queue[len(s.queue)-1]
		s.queue = s.queue[:len(s.queue)-1]
		e.visited()
		for _, o := range s.edges(e, n, d) {
			m := int32(o) + 1
			s.grow(m)
			if !s.nodes[m].member {
				s.turn(m, f)
				s.hang(m, n, undo)
				s.queue = append(s.queue, m)
			}
		}
		d = nil
	}
}

// update brings the set to e's view, where the edges of the objects of a change
// may be others. It returns who came and went, and what takes it back.
//
// Edges that are new only add. What hung by an edge that is gone looks for
// another way in, first as a whole, then node by node: the cost is that of the
// change where the rest of a subtree stays together, as it does when a list or a
// tree is changed in some places, and else the size of what fell apart. Of a table
// with many pointers only those are looked at that changed.
func (s *spanning) update(e *env, ch *graph.Changes) (f flips, undo []move) {
	f = flips{}
	s.was, s.from = s.from, s.end(e)
	s.loose = s.loose[:0]
	if s.from != s.was {
		for c := s.nodes[origin].child; c != 0; {
			next := s.nodes[c].next
			s.part(e, c, &undo)
			c = next
		}
	}
	for i := range ch.Dirt { // an edge that is gone has changed both of its ends
		d := &ch.Dirt[i]
		if !s.has(d.Obj) || !s.enters(d) {
			continue
		}
		p := graph.ObjID(s.nodes[d.Obj+1].parent - 1)
		if p+1 == origin {
			p = s.from
		}
		if x := ch.Find(p); x != nil && s.leaves(x) {
			s.part(e, int32(d.Obj)+1, &undo)
		}
	}
	if s.from != s.was {
		s.spread(e, origin, nil, f, &undo)
	}
	for i := range ch.Dirt {
		d := &ch.Dirt[i]
		if !s.leaves(d) {
			continue
		}
		if s.has(d.Obj) {
			s.spread(e, int32(d.Obj)+1, d, f, &undo)
		}
		if d.Obj == s.from {
			s.spread(e, origin, d, f, &undo)
		}
	}
	for again := true; again && len(s.loose) > 0; {
		had := len(s.loose)
		s.loose = slices.DeleteFunc(s.loose, func(n int32) bool { return s.rehang(e, n, &undo) })
		again = len(s.loose) < had && len(s.loose) <= 64
	}
	s.scatter(e, f, &undo)
	return f, undo
}

// leaves: edges from the object may be others, in the direction of the way.
func (s *spanning) leaves(d *graph.Dirt) bool {
	return d.Life || s.in && d.In || !s.in && d.Mask != 0
}

// enters: edges to the object may be others, in the direction of the way.
func (s *spanning) enters(d *graph.Dirt) bool {
	return d.Life || s.in && d.Mask != 0 || !s.in && d.In
}

// part makes the subtree at n a loose one unless the edge to it from above is still there.
func (s *spanning) part(e *env, n int32, undo *[]move) {
	if p := s.nodes[n].parent; p != 0 && !s.leads(e, p, n) {
		s.unhang(n, undo)
		s.loose = append(s.loose, n)
	}
}

// rehang hangs a loose subtree under a member to which the origin leads.
func (s *spanning) rehang(e *env, n int32, undo *[]move) bool {
	e.visited()
	o := s.object(e, n)
	switch {
	case o == 0:
		return false // the cells that lead to it are those that did when it died
	case s.ranges && o == s.from:
		s.hang(n, origin, undo)
		return true
	}
	for _, p := range s.sources(e, o) {
		switch {
		case p == s.from && !s.ranges:
			s.hang(n, origin, undo)
			return true
		case s.has(p) && s.trees.root(int32(p)+1) == origin:
			s.hang(n, int32(p)+1, undo)
			return true
		}
	}
	return false
}

// scatter takes the loose subtrees apart: each of their nodes finds a way in, or
// is out.
func (s *spanning) scatter(e *env, f flips, undo *[]move) {
	for i := 0; i < len(s.loose); i++ {
		for c := s.nodes[s.loose[i]].child; c != 0; c = s.nodes[s.loose[i]].child {
			s.unhang(c, undo)
			s.loose = append(s.loose, c)
		}
	}
	for _, n := range s.loose {
		s.turn(n, f)
	}
	for _, n := range s.loose {
		if !s.nodes[n].member && s.rehang(e, n, undo) {
			s.turn(n, f)
			s.spread(e, n, nil, f, undo)
		}
	}
}

// revert takes the last change back.
func (s *spanning) revert(f flips, undo []move) {
	s.from = s.was
	var ignored []move
	for _, m := range slices.Backward(undo) {
		if m.at > 0 {
			s.unhang(m.n, &ignored)
		} else {
			s.hang(m.n, -m.at, &ignored)
		}
	}
	back := flips{}
	for o := range f {
		s.turn(int32(o)+1, back)
	}
}
