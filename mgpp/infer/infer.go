package infer

import (
	"slices"

	"mgtrace/trace"
)

// Timestamp counts changes of the graph, from 1. 0 is the time before the first.
type Timestamp uint64

// NodeID names a node or cluster for ever. 0: none.
type NodeID uint32

// Options of a graph.
type Options struct {
	// Allocator: the allocator's own instructions are in the stream.
	Allocator bool
	// Heap says that a value is an address in the heap's ranges (brk, mmap) now. Nil:
	// none is, unless a step says so.
	Heap func(trace.Addr) bool
	// Stack returns the return addresses of the calls that are open, innermost first.
	// It is asked at the first access to an address. Nil: stacks are not kept.
	Stack func() []trace.Addr
}

// Moment is when and where something happens.
type Moment struct {
	Instant trace.Instant // 0: not known
	Thread  trace.ThreadID
	PC      trace.Addr
	Stack   []trace.Addr // return addresses, innermost first; shared, read-only
}

// Node is a set of addresses that were computed from one another, or a cluster of
// such nodes that became one.
type Node struct {
	ID      NodeID
	Birth   Timestamp
	PC      trace.Addr // that made it
	Source  NodeID     // the node that it was split out of, 0: none
	Members []Member   // of a cluster, in the order of addresses
	Head    bool       // a pointer led to its first address, or an allocator returned it
	Given   bool       // an allocator returned it
	Moved   NodeID     // the node that it was before an allocator moved it, 0: none
}

// Cluster says that the node was made by merging others.
func (n *Node) Cluster() bool { return len(n.Members) > 0 }

// Member is a node of a cluster, with the time of the merge edge that holds it.
type Member struct {
	Node NodeID
	Time Timestamp
}

// Suspect is an instruction that computed an address of one node from one of another
// (Options.Allocator is not set).
type Suspect struct {
	Time       Timestamp // of the newest change then
	PC         trace.Addr
	Base, Addr trace.Addr
	From, To   NodeID
}

// Graph is the growing graph. It is not safe for concurrent use.
type Graph struct {
	o        Options
	present  Moment   // of the step that is taken; without its PC
	changes  []Moment // by Timestamp
	firsts   []Moment // accesses
	nodes    []Node   // by NodeID
	owned    map[NodeID][]trace.Addr
	places   map[trace.Addr]*place
	suspects []Suspect
	stacks   map[string][]trace.Addr
}

// place is one address.
type place struct {
	owners []owning // by time
	edges  []stored // by time
}

// owning begins the time in which an address belongs to a node; 0: to none any more.
type owning struct {
	time   Timestamp
	node   NodeID
	size   uint64 // of the widest access up to the next one, in bytes; 0: there was none
	first  uint32 // that access, as an index of Graph.firsts
	begins bool   // it had no owner before, or the one that it had has ended
}

type stored struct {
	time  Timestamp
	value uint64
}

// New returns an empty graph.
func New(o Options) *Graph {
	return &Graph{
		o: o, changes: make([]Moment, 1), nodes: make([]Node, 1), owned: map[NodeID][]trace.Addr{},
		places: map[trace.Addr]*place{}, stacks: map[string][]trace.Addr{},
	}
}

// Present says when and in which thread the steps that follow are made.
func (g *Graph) Present(at trace.Instant, thread trace.ThreadID) {
	g.present.Instant, g.present.Thread = at, thread
}

// Now is the time of the newest change.
func (g *Graph) Now() Timestamp { return Timestamp(len(g.changes) - 1) }

// Change tells of a change when and where it was made; of a node's beginning and end that
// calls made, the stack too.
func (g *Graph) Change(t Timestamp) Moment { return g.changes[t] }

// Node returns a node or cluster.
func (g *Graph) Node(id NodeID) Node {
	if int(id) >= len(g.nodes) {
		return Node{}
	}
	return g.nodes[id]
}

// Suspects returns what connected two nodes.
func (g *Graph) Suspects() []Suspect { return g.suspects }

// owner is the node of an address now, 0: it was never met, or its node has ended.
func (g *Graph) owner(a trace.Addr) NodeID {
	if p := g.places[a]; p != nil {
		return p.owners[len(p.owners)-1].node
	}
	return 0
}

// Head says that a node that was pointed to begins at an address now.
func (g *Graph) Head(a trace.Addr) bool {
	id := g.owner(a)
	return id != 0 && g.nodes[id].Head && g.owned[id][0] == a
}

func (g *Graph) tick(pc trace.Addr) {
	m := g.present
	m.PC = pc
	g.changes = append(g.changes, m)
}

func (g *Graph) newNode() *Node {
	t := g.Now()
	g.nodes = append(g.nodes, Node{ID: NodeID(len(g.nodes)), Birth: t, PC: g.changes[t].PC})
	return &g.nodes[len(g.nodes)-1]
}

// own gives an address to a node from now on.
func (g *Graph) own(a trace.Addr, id NodeID) {
	p := g.places[a]
	if p == nil {
		p = &place{}
		g.places[a] = p
	}
	now := owning{time: g.Now(), node: id, begins: true}
	if n := len(p.owners); n > 0 {
		was := p.owners[n-1]
		if was.node != 0 {
			now.size, now.first, now.begins = was.size, was.first, id == 0
		}
		if was.time == now.time {
			now.begins = now.begins || was.begins
			p.owners = p.owners[:n-1]
		}
	}
	if now.begins {
		now.size = 0
	}
	p.owners = append(p.owners, now)
	if id == 0 {
		return
	}
	l := g.owned[id]
	i, found := slices.BinarySearch(l, a)
	if !found {
		g.owned[id] = slices.Insert(l, i, a)
	}
}

// stack is that of the calls that are open. Equal ones are the same slice.
func (g *Graph) stack() []trace.Addr {
	if g.o.Stack == nil {
		return nil
	}
	s := g.o.Stack()
	key := make([]byte, 0, 8*len(s))
	for _, a := range s {
		for i := range 8 {
			key = append(key, byte(a>>(8*i)))
		}
	}
	known, ok := g.stacks[string(key)]
	if !ok {
		g.stacks[string(key)] = s
		return s
	}
	return known
}

// Touch takes an instruction that has one heap address (algorithm 2, case 1).
func (g *Graph) Touch(pc, a trace.Addr, size uint64) {
	if g.owner(a) == 0 {
		g.tick(pc)
		g.own(a, g.newNode().ID)
	}
	g.widen(pc, a, size)
}

// widen notes how many bytes are accessed at an address.
func (g *Graph) widen(pc, a trace.Addr, size uint64) {
	p := g.places[a]
	o := &p.owners[len(p.owners)-1]
	if o.size == 0 && size > 0 {
		m := g.present
		m.PC, m.Stack = pc, g.stack()
		o.first = uint32(len(g.firsts))
		g.firsts = append(g.firsts, m)
	}
	o.size = max(o.size, size)
}

// Offset takes an instruction that has a heap address and another one computed from it
// (case 2). size is that of an access at a, 0 if there is none.
func (g *Graph) Offset(pc, base, a trace.Addr, size uint64) {
	from, to := g.owner(base), g.owner(a)
	switch {
	case from == 0 && to == 0:
		g.tick(pc)
		id := g.newNode().ID
		g.own(base, id)
		g.own(a, id)
	case to == 0:
		g.tick(pc)
		g.own(a, from)
	case from == 0:
		g.tick(pc)
		g.own(base, to) // a base below the head moves the head
	case from == to:
	case g.o.Allocator:
		g.merge(pc, from, to)
	default:
		g.suspects = append(g.suspects, Suspect{g.Now(), pc, base, a, from, to})
	}
	g.widen(pc, a, size)
}

// merge makes one cluster of two nodes, either of which may be one already.
func (g *Graph) merge(pc trace.Addr, a, b NodeID) {
	g.tick(pc)
	if g.owned[b][0] < g.owned[a][0] {
		a, b = b, a
	}
	c := a
	if !g.nodes[a].Cluster() {
		if c = b; !g.nodes[b].Cluster() {
			c = g.newNode().ID
		}
	}
	var members []Member
	for _, id := range [2]NodeID{a, b} {
		if n := &g.nodes[id]; n.Cluster() {
			members = append(members, n.Members...)
		} else {
			members = append(members, Member{id, g.Now()})
		}
		if id == c {
			continue
		}
		for _, x := range g.owned[id] {
			g.own(x, c)
		}
		delete(g.owned, id)
	}
	g.nodes[c].Members = members
	g.nodes[c].Head = g.nodes[c].Head || g.nodes[a].Head
}

// Store takes a store of a value: of data (case 3), or of a heap address, which is an
// edge to its node (case 4). Both take one timestamp, with all that they change. root is
// the address that the value was computed from, if it is known: where the allocator's
// code is not in the stream, a value of a node's is no node of its own.
func (g *Graph) Store(pc, a trace.Addr, size uint64, value uint64, root trace.Addr) {
	g.tick(pc)
	if g.owner(a) == 0 {
		g.own(a, g.newNode().ID)
	}
	g.widen(pc, a, size)
	v := trace.Addr(value)
	if size == 8 && value != 0 && g.o.Heap != nil && g.o.Heap(v) {
		if g.o.Allocator || root == 0 || root == v || g.owner(root) == 0 {
			g.pointed(v)
		}
	}
	p := g.places[a]
	p.edges = append(p.edges, stored{g.Now(), value})
}

// Point takes a store of a heap address outside of the heap: no edge, but what it points
// to is a node, as in Store.
func (g *Graph) Point(pc, v, root trace.Addr) {
	if g.o.Heap == nil || !g.o.Heap(v) || !g.o.Allocator && root != 0 && root != v && g.owner(root) != 0 {
		return
	}
	if id := g.owner(v); id == 0 || g.owned[id][0] != v {
		g.tick(pc)
	}
	g.pointed(v)
}

// pointed makes v the head of a node, or a node, as algorithm 2 has it for what is
// pointed to.
func (g *Graph) pointed(v trace.Addr) {
	id := g.owner(v)
	switch {
	case id == 0 && !g.o.Allocator && g.inside(v):
	case id == 0:
		n := g.newNode()
		n.Head = true
		g.own(v, n.ID)
	case g.owned[id][0] == v:
		g.nodes[id].Head = true
	case g.o.Allocator:
		g.split(id, v)
	}
}

// inside says that v lies between the addresses of a node: a pointer there is an edge
// with an offset.
func (g *Graph) inside(v trace.Addr) bool {
	for back := trace.Addr(8); back <= 64; back += 8 {
		if id := g.owner(v - back); id != 0 {
			l := g.owned[id]
			return l[len(l)-1] > v
		}
	}
	return false
}

// split takes the addresses from v on out of a node.
func (g *Graph) split(id NodeID, v trace.Addr) {
	l := g.owned[id]
	i, _ := slices.BinarySearch(l, v)
	rest := slices.Clone(l[i:])
	g.owned[id] = l[:i:i]
	n := g.newNode()
	n.Source, n.Head = id, true
	for _, a := range rest {
		g.own(a, n.ID)
	}
}

// Begin takes the return of a call that gave out a block (its instructions are not in
// the stream): a new node begins there, and what was there before has ended.
func (g *Graph) Begin(a trace.Addr, born Moment) {
	g.changes = append(g.changes, born)
	if id := g.owner(a); id != 0 {
		g.end(id, a)
	}
	n := g.newNode()
	n.Head, n.Given = true, true
	g.own(a, n.ID)
}

// Move takes the return of a call that was given the first address of a node and returned
// one that may be another: the node goes on there, as a new one.
func (g *Graph) Move(from, to trace.Addr, at Moment) {
	id := g.owner(from)
	if from == to && id != 0 {
		return
	}
	if id == 0 || g.owned[id][0] != from {
		g.Begin(to, at)
		return
	}
	g.changes = append(g.changes, at)
	g.end(id, from)
	if old := g.owner(to); old != 0 {
		g.end(old, to)
	}
	n := g.newNode()
	n.Head, n.Given, n.Moved = true, true, id
	g.own(to, n.ID)
}

// End takes a call that was given the first address of a node back.
func (g *Graph) End(pc, a trace.Addr) {
	if id := g.owner(a); id != 0 && g.owned[id][0] == a {
		g.tick(pc)
		g.changes[g.Now()].Stack = g.stack()
		g.end(id, a)
	}
}

// end takes the addresses of a node from a on away from it.
func (g *Graph) end(id NodeID, a trace.Addr) {
	l := g.owned[id]
	i, _ := slices.BinarySearch(l, a)
	for _, x := range l[i:] {
		g.own(x, 0)
	}
	if g.owned[id] = l[:i:i]; i == 0 {
		delete(g.owned, id)
	}
}
