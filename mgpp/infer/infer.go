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
}

// Node is a set of addresses that were computed from one another, or a cluster of
// such nodes that became one.
type Node struct {
	ID      NodeID
	Birth   Timestamp
	PC      trace.Addr // that made it
	Source  NodeID     // the node that it was split out of, 0: none
	Members []Member   // of a cluster, in the order of addresses
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
	now      Timestamp
	nodes    []Node // by NodeID
	owned    map[NodeID][]trace.Addr
	places   map[trace.Addr]*place
	suspects []Suspect
}

// place is one address.
type place struct {
	size   uint64   // of the widest access, in bytes
	owners []owning // by time
	edges  []stored // by time
}

type owning struct {
	time Timestamp
	node NodeID
}

type stored struct {
	time  Timestamp
	pc    trace.Addr
	value uint64
	heap  bool // it is an address in the heap
}

// New returns an empty graph.
func New(o Options) *Graph {
	return &Graph{o: o, nodes: make([]Node, 1), owned: map[NodeID][]trace.Addr{}, places: map[trace.Addr]*place{}}
}

// Now is the time of the newest change.
func (g *Graph) Now() Timestamp { return g.now }

// Node returns a node or cluster.
func (g *Graph) Node(id NodeID) Node {
	if int(id) >= len(g.nodes) {
		return Node{}
	}
	return g.nodes[id]
}

// Suspects returns what connected two nodes.
func (g *Graph) Suspects() []Suspect { return g.suspects }

// owner is the node of an address now, 0: it was never met.
func (g *Graph) owner(a trace.Addr) NodeID {
	if p := g.places[a]; p != nil {
		return p.owners[len(p.owners)-1].node
	}
	return 0
}

func (g *Graph) tick() Timestamp {
	g.now++
	return g.now
}

func (g *Graph) newNode(pc trace.Addr) *Node {
	g.nodes = append(g.nodes, Node{ID: NodeID(len(g.nodes)), Birth: g.now, PC: pc})
	return &g.nodes[len(g.nodes)-1]
}

// own gives an address to a node from now on.
func (g *Graph) own(a trace.Addr, id NodeID) {
	p := g.places[a]
	if p == nil {
		p = &place{size: 1}
		g.places[a] = p
	}
	if n := len(p.owners); n > 0 && p.owners[n-1].time == g.now {
		p.owners[n-1].node = id
	} else {
		p.owners = append(p.owners, owning{g.now, id})
	}
	l := g.owned[id]
	i, found := slices.BinarySearch(l, a)
	if !found {
		g.owned[id] = slices.Insert(l, i, a)
	}
}

// Touch takes an instruction that has one heap address (algorithm 2, case 1).
func (g *Graph) Touch(pc, a trace.Addr, size uint64) {
	if g.owner(a) == 0 {
		g.tick()
		g.own(a, g.newNode(pc).ID)
	}
	g.widen(a, size)
}

// widen notes how many bytes are accessed at an address.
func (g *Graph) widen(a trace.Addr, size uint64) {
	p := g.places[a]
	p.size = max(p.size, size)
}

// Offset takes an instruction that has a heap address and another one computed from it
// (case 2). size is that of an access at a, 0 if there is none.
func (g *Graph) Offset(pc, base, a trace.Addr, size uint64) {
	from, to := g.owner(base), g.owner(a)
	switch {
	case from == 0 && to == 0:
		g.tick()
		id := g.newNode(pc).ID
		g.own(base, id)
		g.own(a, id)
	case to == 0:
		g.tick()
		g.own(a, from)
	case from == 0:
		g.tick()
		g.own(base, to) // a base below the head moves the head
	case from == to:
	case g.o.Allocator:
		g.merge(pc, from, to)
	default:
		g.suspects = append(g.suspects, Suspect{g.now, pc, base, a, from, to})
	}
	g.widen(a, size)
}

// merge makes one cluster of two nodes, either of which may be one already.
func (g *Graph) merge(pc trace.Addr, a, b NodeID) {
	g.tick()
	if g.owned[b][0] < g.owned[a][0] {
		a, b = b, a
	}
	c := a
	if !g.nodes[a].Cluster() {
		if c = b; !g.nodes[b].Cluster() {
			c = g.newNode(pc).ID
		}
	}
	var members []Member
	for _, id := range [2]NodeID{a, b} {
		if n := &g.nodes[id]; n.Cluster() {
			members = append(members, n.Members...)
		} else {
			members = append(members, Member{id, g.now})
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
}

// Store takes a store of a value: of data (case 3), or of a heap address, which is an
// edge to its node (case 4). Both take one timestamp, with all that they change.
func (g *Graph) Store(pc, a trace.Addr, size uint64, value uint64) {
	g.tick()
	if g.owner(a) == 0 {
		g.own(a, g.newNode(pc).ID)
	}
	g.widen(a, size)
	v := trace.Addr(value)
	heap := size == 8 && value != 0 && g.o.Heap != nil && g.o.Heap(v)
	if heap {
		g.pointed(pc, v)
	}
	p := g.places[a]
	p.edges = append(p.edges, stored{g.now, pc, value, heap})
}

// pointed makes v the head of a node, or a node, as algorithm 2 has it for what is
// pointed to.
func (g *Graph) pointed(pc, v trace.Addr) {
	id := g.owner(v)
	switch {
	case id == 0 && !g.o.Allocator && g.inside(v):
	case id == 0:
		g.own(v, g.newNode(pc).ID)
	case g.o.Allocator && g.owned[id][0] != v:
		g.split(pc, id, v)
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
func (g *Graph) split(pc trace.Addr, id NodeID, v trace.Addr) {
	l := g.owned[id]
	i, _ := slices.BinarySearch(l, v)
	rest := slices.Clone(l[i:])
	g.owned[id] = l[:i:i]
	n := g.newNode(pc)
	n.Source = id
	for _, a := range rest {
		g.own(a, n.ID)
	}
}
