package infer

import (
	"cmp"
	"slices"
	"sort"

	"mgtrace/trace"
)

// Snapshot is the graph at a time.
type Snapshot struct {
	Time  Timestamp
	Nodes []Part // by address
	Edges []Edge // by address
}

// Part is a node as it was: from its first address up to the end of its last.
type Part struct {
	Node  NodeID
	Start trace.Addr
	Size  uint64
	Addrs []trace.Addr // ascending
}

// Edge is what an address held: a value, and the node that it led to if it was an
// address in one.
type Edge struct {
	From   trace.Addr
	Node   NodeID // that From is of
	Value  uint64
	To     NodeID // 0: it is data
	Offset uint64 // into To
	Time   Timestamp
	PC     trace.Addr
}

// At retrieves the graph at t (algorithm 1). Nodes and edges that were made later are
// left out; what was split later is joined, and what was merged later is apart, for
// each address belongs to who owned it then; the newest edge of each address counts.
func (g *Graph) At(t Timestamp) *Snapshot {
	s := &Snapshot{Time: min(t, g.Now())}
	parts := map[NodeID]*Part{}
	for a, p := range g.places {
		id := p.at(t)
		if id == 0 {
			continue
		}
		n := parts[id]
		if n == nil {
			n = &Part{Node: id}
			parts[id] = n
		}
		n.Addrs = append(n.Addrs, a)
	}
	for _, n := range parts {
		slices.Sort(n.Addrs)
		n.Start = n.Addrs[0]
		for _, a := range n.Addrs {
			n.Size = max(n.Size, uint64(a-n.Start)+g.places[a].size(t))
		}
		s.Nodes = append(s.Nodes, *n)
	}
	slices.SortFunc(s.Nodes, func(a, b Part) int { return cmp.Compare(a.Start, b.Start) })
	for _, n := range s.Nodes {
		for _, a := range n.Addrs {
			if e, ok := g.edge(a, t); ok {
				e.Node = n.Node
				e.To, e.Offset = s.lead(&e, g)
				s.Edges = append(s.Edges, e)
			}
		}
	}
	slices.SortFunc(s.Edges, func(a, b Edge) int { return cmp.Compare(a.From, b.From) })
	return s
}

// life is the part of an address's owners around time t between which no node of it
// ended, empty if it had none then.
func (p *place) life(t Timestamp) []owning {
	lo := sort.Search(len(p.owners), func(i int) bool { return p.owners[i].time > t }) - 1
	if lo < 0 || p.owners[lo].node == 0 {
		return nil
	}
	hi := lo + 1
	for hi < len(p.owners) && p.owners[hi].node != 0 && !p.owners[hi].begins {
		hi++
	}
	for lo > 0 && !p.owners[lo].begins {
		lo--
	}
	return p.owners[lo:hi]
}

// at is the address's owner at t, 0: it had none.
func (p *place) at(t Timestamp) NodeID {
	if l := p.life(t); l != nil {
		return l[sort.Search(len(l), func(i int) bool { return l[i].time > t })-1].node
	}
	return 0
}

// size is that of the widest access in the life around t, in bytes, at least 1.
func (p *place) size(t Timestamp) uint64 {
	l := p.life(t)
	return max(l[len(l)-1].size, 1)
}

// edge is the newest edge of an address at t.
func (g *Graph) edge(a trace.Addr, t Timestamp) (Edge, bool) {
	l := g.places[a].edges
	i := sort.Search(len(l), func(i int) bool { return l[i].time > t })
	if i == 0 || l[i-1].time < g.places[a].life(t)[0].time {
		return Edge{}, false
	}
	x := l[i-1]
	return Edge{From: a, Value: x.value, Time: x.time, PC: g.changes[x.time].PC}, true
}

// lead finds the node that an edge led to: the one that has the address, or the one
// around it.
func (s *Snapshot) lead(e *Edge, g *Graph) (NodeID, uint64) {
	v := trace.Addr(e.Value)
	if g.o.Heap == nil || v == 0 || !g.o.Heap(v) {
		return 0, 0
	}
	if p := g.places[v]; p != nil {
		if id := p.at(s.Time); id != 0 {
			for k := range s.Nodes {
				if s.Nodes[k].Node == id {
					return id, uint64(v - s.Nodes[k].Start)
				}
			}
		}
	}
	for k := range s.Nodes {
		if n := &s.Nodes[k]; v >= n.Start && uint64(v-n.Start) < n.Size {
			return n.Node, uint64(v - n.Start)
		}
	}
	return 0, 0
}
