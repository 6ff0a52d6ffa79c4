package query

import (
	"iter"
	"sort"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// History is what is asked: *mgpp.History, or an index of a trace.
//
// The nodes of its views need not say where they come from: Node does.
type History interface {
	Now() mgpp.Timestamp
	At(mgpp.Timestamp) mgpp.View
	Op(mgpp.Timestamp) mgpp.Op
	LastWrite(addr trace.Addr, size uint64, t mgpp.Timestamp) mgpp.Timestamp
	FormerAt(addr trace.Addr, t mgpp.Timestamp) (mgpp.NodeID, bool)
	Node(mgpp.NodeID) mgpp.Node
	NodeSize(mgpp.NodeID, mgpp.Timestamp) uint64
	// Resizes are how the node was resized in place, in order.
	Resizes(mgpp.NodeID) []mgpp.Resize
	NodeCount() int
	Live(mgpp.Timestamp) iter.Seq[mgpp.NodeID]
	LiveCount(mgpp.Timestamp) int
	// Touched are the nodes that operations in (from, to] wrote to, made, resized or
	// ended, in order of their numbers.
	Touched(from, to mgpp.Timestamp) []mgpp.Touch
}

// AtInstant is the first operation of a history at an instant or behind it; one after the
// last if there is none. Instants grow with operations.
func AtInstant(h History, at trace.Instant) mgpp.Timestamp {
	return mgpp.Timestamp(sort.Search(int(h.Now()), func(i int) bool { return h.Op(mgpp.Timestamp(i+1)).Instant >= at }) + 1)
}

// Origins counts nodes by where they were allocated. Origins are numbered from 0;
// nodes that no allocator made have the first.
type Origins interface {
	Count() int
	Of(mgpp.NodeID) int
	// Rank is how many nodes up to this one, itself included, have an origin.
	Rank(origin int, id mgpp.NodeID) int
}

// Origin is an allocator with a call stack.
type Origin struct {
	Alloc string
	Stack []trace.Addr // innermost first; empty: unknown
}

// CountOrigins counts those of a history in memory, and lists them.
func CountOrigins(h *mgpp.History) (Origins, []Origin) {
	c := &counted{number: map[originKey]int{{}: 0}, all: []Origin{{}}, ids: make([][]mgpp.NodeID, 1)}
	c.of = append(c.of, 0)
	for n := range h.Nodes() {
		k := originKey{alloc: n.Alloc}
		if len(n.Stack) > 0 {
			k.stack = &n.Stack[0] // stacks are shared
		}
		if n.Global != 0 || n.Tracked {
			k = originKey{}
		}
		i, ok := c.number[k]
		if !ok {
			i = len(c.all)
			c.number[k] = i
			c.all = append(c.all, Origin{n.Alloc, n.Stack})
			c.ids = append(c.ids, nil)
		}
		c.of = append(c.of, int32(i))
		c.ids[i] = append(c.ids[i], n.ID)
	}
	return c, c.all
}

type originKey struct {
	alloc string
	stack *trace.Addr
}

type counted struct {
	number map[originKey]int
	all    []Origin
	of     []int32         // by NodeID
	ids    [][]mgpp.NodeID // by origin
}

func (c *counted) Count() int { return len(c.all) }

func (c *counted) Of(id mgpp.NodeID) int {
	if int(id) >= len(c.of) {
		return 0
	}
	return int(c.of[id])
}

func (c *counted) Rank(origin int, id mgpp.NodeID) int {
	ids := c.ids[origin]
	lo, hi := 0, len(ids)
	for lo < hi {
		if m := (lo + hi) / 2; ids[m] <= id {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}
