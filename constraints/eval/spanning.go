package eval

import (
	"slices"

	"mgtrace/constraints/graph"
)

// spanning is the set of objects to which a way leads from some sources, with a
// spanning forest that shows it: each member hangs under one that has an edge to
// it. It is kept up as edges come and go.
//
// Object o is node o+1 of the trees. Node 1 is the origin: its edges lead to the
// sources.
type spanning struct {
	step, back func(e *env, o graph.ObjID, buf []graph.ObjID) []graph.ObjID // edges from an object, and to it
	sources    func(e *env, buf []graph.ObjID) []graph.ObjID
	in         bool // the edges that the way goes are those that lead to an object, not from it

	index int // in reach.all
	nodes []spanNode
	trees linkcut
	size  int // members

	first []graph.ObjID // the sources at the moment
	was   []graph.ObjID // those before, where sure
	sure  bool          // the trees stand for first: nothing was taken back since
	loose []int32       // subtrees whose edge from above is gone
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
	s.first, s.sure = s.sources(e, s.first[:0]), true
	s.spread(e, origin, f, &undo)
	return f
}

// edges returns what n has edges to. What has died has none: something else may lie at
// its address.
func (s *spanning) edges(e *env, n int32) []graph.ObjID {
	s.succ = s.succ[:0]
	switch o := graph.ObjID(n - 1); {
	case n == origin:
		s.succ = append(s.succ, s.first...)
	case e.g.Alive(o, e.t):
		s.succ = s.step(e, o, s.succ)
	}
	return s.succ
}

// spread takes in what n has edges to and is not in yet, and what that leads to.
func (s *spanning) spread(e *env, n int32, f flips, undo *[]move) {
	s.queue = append(s.queue[:0], n)
	for len(s.queue) > 0 {
		n := s.queue[len(s.queue)-1]
		s.queue = s.queue[:len(s.queue)-1]
		e.visited()
		for _, o := range s.edges(e, n) {
			m := int32(o) + 1
			s.grow(m)
			if !s.nodes[m].member {
				s.turn(m, f)
				s.hang(m, n, undo)
				s.queue = append(s.queue, m)
			}
		}
	}
}

// update brings the set to e's view, where the edges of the objects of a change
// may be others. It returns who came and went, and what takes it back.
//
// Edges that are new only add. What hung by an edge that is gone looks for
// another way in, first as a whole, then node by node: the cost is that of the
// change where the rest of a subtree stays together, as it does when a list or a
// tree is changed in some places, and else the size of what fell apart.
func (s *spanning) update(e *env, ch *graph.Changes) (f flips, undo []move) {
	f = flips{}
	s.was, s.first = s.first, s.sources(e, s.was[:0])
	s.loose = s.loose[:0]
	var changed []int32
	if !s.sure || !slices.Equal(s.was, s.first) {
		changed, s.sure = append(changed, origin), true
	}
	for i := range ch.Dirt {
		d := &ch.Dirt[i]
		if (d.Life || !s.in && d.Mask != 0 || s.in && d.In) && s.has(d.Obj) {
			changed = append(changed, int32(d.Obj)+1)
		}
	}
	for _, n := range changed {
		leads := among(s.edges(e, n))
		for c := s.nodes[n].child; c != 0; {
			next := s.nodes[c].next
			if !leads(graph.ObjID(c - 1)) {
				s.unhang(c, &undo)
				s.loose = append(s.loose, c)
			}
			c = next
		}
	}
	for _, n := range changed {
		s.spread(e, n, f, &undo)
	}
	for again := true; again && len(s.loose) > 0; {
		had := len(s.loose)
		s.loose = slices.DeleteFunc(s.loose, func(n int32) bool { return s.rehang(e, n, &undo) })
		again = len(s.loose) < had && len(s.loose) <= 64
	}
	s.scatter(e, f, &undo)
	return f, undo
}

// among returns a function that reports whether an object is one of some.
func among(list []graph.ObjID) func(graph.ObjID) bool {
	if len(list) <= 32 {
		return func(o graph.ObjID) bool { return slices.Contains(list, o) }
	}
	set := make(map[graph.ObjID]bool, len(list))
	for _, o := range list {
		set[o] = true
	}
	return func(o graph.ObjID) bool { return set[o] }
}

// rehang hangs a loose subtree under a member to which the origin leads.
func (s *spanning) rehang(e *env, n int32, undo *[]move) bool {
	o := graph.ObjID(n - 1)
	if slices.Contains(s.first, o) {
		s.hang(n, origin, undo)
		return true
	}
	e.visited()
	if !e.g.Alive(o, e.t) {
		return false // the cells that lead to it are those that did when it died
	}
	s.pred = s.back(e, o, s.pred[:0])
	for _, p := range s.pred {
		if s.has(p) && s.trees.root(int32(p)+1) == origin {
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
			s.spread(e, n, f, undo)
		}
	}
}

// revert takes a change back.
func (s *spanning) revert(f flips, undo []move) {
	s.sure = false
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
