package provenance

import (
	"encoding/binary"
	"slices"

	"mgtrace/flow"
	"mgtrace/trace"
	"mgtrace/x86"
)

// Node is one heap block.
type Node struct {
	ID    NodeID
	Start trace.Addr
	Size  uint64 // bytes; at its last resize
	Name  string // of its allocator

	Born      trace.Instant
	BornPC    trace.Addr // the call of the allocator
	BornStack []trace.Addr
	Died      trace.Instant // 0: alive
	DiedPC    trace.Addr
	DiedStack []trace.Addr
	Moved     NodeID // realloc: the node that it went on as
	Resized   Resize // the last realloc that left it where it is
}

// Resize is a realloc that gave a block another size in its place. At 0: there was none.
type Resize struct {
	At    trace.Instant
	PC    trace.Addr
	Stack []trace.Addr
}

func (n *Node) alive() bool { return n.Died == 0 }

// holds says that the range lies within the block.
func (n *Node) holds(addr, size uint64) bool {
	off := addr - uint64(n.Start)
	return off < n.Size && size <= n.Size-off
}

type heap struct {
	nodes []Node // by NodeID; 0 is unused
	at    map[trace.Addr]NodeID
	live  map[uint64][]NodeID // by the pages in which they start; nil: not wanted
}

func newHeap() heap { return heap{nodes: make([]Node, 1), at: map[trace.Addr]NodeID{}} }

// Node returns a block that a fault names.
func (c *Checker) Node(id NodeID) Node {
	if int(id) >= len(c.heap.nodes) {
		return Node{}
	}
	return c.heap.nodes[id]
}

// Nodes is how many blocks there were.
func (c *Checker) Nodes() int { return len(c.heap.nodes) - 1 }

// Heap takes an event of the heap. It must come before the records of later instants,
// and, where an allocator returns, at the latest right behind the record with its ret.
func (c *Checker) Heap(ev *trace.Event) {
	h := &c.heap
	switch ev.Kind {
	case trace.KindAlloc:
		c.born(ev)
	case trace.KindFree:
		id, ok := h.at[ev.Addr]
		if !ok || !h.nodes[id].alive() {
			c.badFree(ev)
			return
		}
		h.died(id, ev)
	case trace.KindRealloc:
		id, ok := h.at[trace.Addr(ev.Aux)]
		switch {
		case !ok || !h.nodes[id].alive():
			if ev.Aux != 0 {
				c.badFree(&trace.Event{Kind: ev.Kind, Thread: ev.Thread, Instant: ev.Instant, PC: ev.PC, Addr: trace.Addr(ev.Aux), Name: ev.Name, Stack: ev.Stack})
			}
			c.born(ev)
		case ev.Addr == trace.Addr(ev.Aux):
			h.nodes[id].Size = ev.Size
			h.nodes[id].Resized = Resize{At: max(ev.Instant, 1), PC: ev.PC, Stack: slices.Clone(ev.Stack)}
			c.given(ev.Thread, id)
		default:
			h.died(id, ev)
			h.nodes[id].Moved = c.born(ev)
		}
	case trace.KindBulk:
		c.stored(ev)
	case trace.KindUnmap:
		// A block in a mapping of its own is freed before that is unmapped.
	}
}

// stored takes the address of a block that an allocator stored for its caller
// (posix_memalign), instead of returning it.
func (c *Checker) stored(ev *trace.Event) {
	t := c.threads[ev.Thread]
	if t == nil || len(ev.Data) != 8 {
		return
	}
	id, ok := c.heap.at[trace.Addr(binary.LittleEndian.Uint64(ev.Data))]
	switch {
	case !ok || !c.heap.nodes[id].alive():
	case t.inside > 0:
		t.cell = uint64(ev.Addr)
	default:
		c.mem.set(uint64(ev.Addr), 8, address(id, atStart))
		t.general[x86.RAX] = None
	}
}

func (c *Checker) born(ev *trace.Event) NodeID {
	h := &c.heap
	if old, ok := h.at[ev.Addr]; ok && h.nodes[old].alive() {
		h.died(old, ev) // its free was missed
	}
	id := NodeID(len(h.nodes))
	if h.live != nil {
		p := uint64(ev.Addr) >> pageBits
		h.live[p] = append(h.live[p], id)
	}
	h.nodes = append(h.nodes, Node{ID: id, Start: ev.Addr, Size: ev.Size, Name: ev.Name, Born: ev.Instant, BornPC: ev.PC, BornStack: slices.Clone(ev.Stack)})
	h.at[ev.Addr] = id
	c.given(ev.Thread, id)
	return id
}

// given notes what the allocator that the thread is in, or has just left, returns.
func (c *Checker) given(id trace.ThreadID, n NodeID) {
	t := c.threads[id]
	switch {
	case t == nil:
	case t.inside > 0:
		t.born = n
	case t.awaiting:
		t.general[0] = address(n, atStart)
		t.awaiting = false
	}
}

func (h *heap) died(id NodeID, ev *trace.Event) {
	n := &h.nodes[id]
	n.Died, n.DiedPC, n.DiedStack = max(ev.Instant, 1), ev.PC, slices.Clone(ev.Stack)
	if h.live == nil {
		return
	}
	p := uint64(n.Start) >> pageBits
	if rest := slices.DeleteFunc(h.live[p], func(k NodeID) bool { return k == id }); len(rest) > 0 {
		h.live[p] = rest
	} else {
		delete(h.live, p)
	}
}

// granted is how many bytes behind a block an allocator may grant, or a fourth of the block if that
// is more: it rounds up to a chunk or a class of sizes, or to pages.
const granted = 4096

// grants says that an access may be to what the allocator granted beyond the end of a live block:
// it is near, and no other block that lives starts before its end.
func (h *heap) grants(n *Node, x flow.Mem) bool {
	start, end := uint64(n.Start), uint64(n.Start)+n.Size
	hi := uint64(x.Addr) + uint64(x.Size)
	if uint64(x.Addr) < start || hi <= end || hi-end > max(granted, n.Size/4) {
		return false
	}
	for p := end >> pageBits; p <= (hi-1)>>pageBits; p++ {
		for _, id := range h.live[p] {
			if at := uint64(h.nodes[id].Start); at >= end && at < hi {
				return false
			}
		}
	}
	return true
}

// containing is the block that lies at addr: one that lives, else the one that died
// last; 0 if none ever did. It looks at all of them.
func (h *heap) containing(addr trace.Addr) NodeID {
	found := NodeID(0)
	for i := len(h.nodes) - 1; i > 0; i-- {
		n := &h.nodes[i]
		if addr < n.Start || uint64(addr-n.Start) >= n.Size {
			continue
		}
		if n.alive() {
			return n.ID
		}
		if found == 0 {
			found = n.ID
		}
	}
	return found
}
