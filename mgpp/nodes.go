package mgpp

import (
	"slices"

	"mgtrace/trace"
)

// node is one block. Nodes lie in a slab by NodeID, in order of birth.
type node struct {
	start, size  uint64 // size: now
	birth, death uint32
	origin       uint32 // index in nodes.origins
	flags        nodeFlags
}

const nodeBytes = 32 // of a node

type nodeFlags uint8

const (
	nodeZeroed  nodeFlags = 1 << iota // born zero: all of its first bytes
	nodeFixed                         // a global or tracked range: found through nodes.fixed
	nodeTracked                       // not a declared object
	nodeResized                       // nodes.resizes has its sizes
	nodeRare                          // nodes.rare has more about it
	nodeBefore                        // a block that was there before the history: no operation made it
	nodeArena                         // memory that an allocator got from the kernel; see Options.Arenas
	nodeHuge                          // it is, or was, in nodes.huge
)

// alive reports whether the node lives at t.
func (n *node) alive(t uint32) bool {
	return n.birth <= t && (n.death == 0 || t < n.death)
}

func (n *node) is(f nodeFlags) bool { return n.flags&f != 0 }

// origin is where a node comes from: few places make many.
type origin struct {
	alloc uint32 // name
	stack []trace.Addr
}

// rare is what few nodes have.
type rare struct {
	moved  NodeID
	global trace.GlobalID
}

// sizes are those of a node that was resized in place, in the order of time: none at all, that
// of its birth, and what each resize made it.
type sizes []resize

// resize is one size of a node from a time on. below is the newest one before it that was not
// larger, and jump one further down that way: any is found in logarithmic steps, as owners are.
type resize struct {
	size              uint64
	time              uint32
	below, jump, down uint32 // indices, and how many lie below
}

const resizeBytes = 24

func (s sizes) push(size uint64, t uint32) sizes {
	k := uint32(len(s) - 1)
	for s[k].size > size {
		k = s[k].below
	}
	r := resize{size: size, time: t, below: k, jump: k, down: s[k].down + 1}
	if j := s[s[k].jump]; s[k].down-j.down == j.down-s[j.jump].down {
		r.jump = s[k].jump
	}
	return append(s, r)
}

// at returns the index of the size at t.
func (s sizes) at(t uint32) int {
	if k := len(s) - 1; s[k].time <= t {
		return k
	}
	k, _ := slices.BinarySearchFunc(s, t, func(r resize, t uint32) int {
		if r.time <= t {
			return -1
		}
		return 1
	})
	return max(k-1, 1)
}

// nodes are all nodes, and those that owners.go does not find: globals and
// tracked ranges, which no operation made, and blocks so large that an owner
// per page would cost too much.
type nodes struct {
	all     slab[node]
	fixed   []NodeID // by start
	longest uint64   // size of the largest fixed one
	overlap bool     // some of the fixed ones have an address in common
	huge
	resizes map[NodeID]sizes
	rare    map[NodeID]rare
	live    int
	lifetimes

	// Of the nodes of a history of nodes only that has forgotten some (forget.go), by
	// chunk of all, the first ones; the chunk itself is nil.
	thin      []*thinned
	forgotten int

	origins  []origin
	originOf []uint32 // hash table of origins: index, 0 empty; a power of two
	// lying is the origins by where their stacks lie; nil: stacks may change. recent are those
	// that were asked for last.
	lying  map[lyingStack]uint32
	recent [recentOrigins]lyingOrigin
}

// lyingOrigin is the origin of a stack.
type lyingOrigin struct {
	lyingStack
	origin uint32
}

// recentOrigins is how many there are of them, by a stack's innermost calls: a program may have one call of malloc,
// and hundreds of calls of the function around it.
const recentOrigins = 512

// lyingStack is the name of an allocator, and where a stack lies that is never changed.
type lyingStack struct {
	alloc uint32
	depth int
	first *trace.Addr
}

// huge are the blocks that are too large for an owner per page.
type huge struct {
	least uint64   // bytes of one
	all   []NodeID // in the order in which they became so
	live  []NodeID // now
	// near has those that ever had a byte in a piece of memory of `least` bytes, in the order in
	// which they came there: in one piece blocks of many times take turns.
	near map[uint64][]NodeID
}

const (
	hugeSize = 1 << 26
	// A block in more pieces than hugePieces is said to be in the piece everywhere.
	hugePieces = 1 << 10
	everywhere = ^uint64(0)
)

// at are those that may have had addr.
func (h *huge) at(addr uint64) [2][]NodeID {
	if len(h.all) == 0 {
		return [2][]NodeID{}
	}
	return [2][]NodeID{h.near[addr/h.least], h.near[everywhere]}
}

func newNodes(stacksStay bool) nodes {
	n := nodes{
		resizes:  map[NodeID]sizes{},
		rare:     map[NodeID]rare{},
		origins:  []origin{{}},
		originOf: make([]uint32, 1<<6),
		huge:     huge{least: hugeSize, near: map[uint64][]NodeID{}},
	}
	n.all.add(node{})
	if stacksStay {
		n.lying = map[lyingStack]uint32{}
	}
	return n
}

// at returns a node; nil if it is forgotten.
func (ns *nodes) at(id NodeID) *node {
	if c := ns.all.chunks[id/slabChunk]; c != nil {
		return &c[id%slabChunk]
	}
	return ns.left(id)
}

// add appends a node.
func (ns *nodes) add(n node) NodeID {
	id := NodeID(ns.all.add(n))
	ns.live++
	ns.born(id)
	return id
}

// end records the death of a node at t.
func (ns *nodes) end(id NodeID, t uint32) {
	n := ns.at(id)
	n.death = t
	if n.is(nodeHuge) {
		i := slices.Index(ns.huge.live, id)
		ns.huge.live = slices.Delete(ns.huge.live, i, i+1)
	}
	ns.live--
	ns.died(id, t)
}

// addHuge adds a block that has become huge, or larger than it was.
func (ns *nodes) addHuge(id NodeID) {
	h, n := &ns.huge, ns.at(id)
	known := n.is(nodeHuge)
	if !known {
		n.flags |= nodeHuge
		h.all, h.live = append(h.all, id), append(h.live, id)
	}
	first, count := n.start/h.least, (n.start+n.size-1)/h.least-n.start/h.least+1
	if count > hugePieces {
		first, count = everywhere, 1
	}
	for i := range count {
		if l := h.near[first+i]; !known || !slices.Contains(l, id) {
			h.near[first+i] = append(l, id)
		}
	}
}

// intern keeps one copy of each allocator's name with a call stack.
func (ns *nodes) intern(alloc uint32, stack []trace.Addr) uint32 {
	if alloc == 0 && len(stack) == 0 {
		return 0
	}
	if ns.lying == nil || len(stack) == 0 {
		return ns.internAny(alloc, stack)
	}
	k := lyingStack{alloc, len(stack), &stack[0]}
	last := &ns.recent[trace.MixStack(stack, 4)%recentOrigins]
	if last.lyingStack == k {
		return last.origin
	}
	i, ok := ns.lying[k]
	if !ok {
		i = ns.internAny(alloc, stack)
		ns.lying[k] = i
	}
	*last = lyingOrigin{k, i}
	return i
}

// internAny is intern for a stack that may lie anywhere.
func (ns *nodes) internAny(alloc uint32, stack []trace.Addr) uint32 {
	o := origin{alloc, stack}
	slot := ns.originSlot(&o)
	if *slot != 0 {
		return *slot
	}
	i := uint32(len(ns.origins))
	*slot = i
	if ns.lying == nil {
		o.stack = slices.Clone(stack)
	}
	ns.origins = append(ns.origins, o)
	if 2*len(ns.origins) > len(ns.originOf) {
		ns.originOf = make([]uint32, 2*len(ns.originOf))
		for k := 1; k < len(ns.origins); k++ {
			*ns.originSlot(&ns.origins[k]) = uint32(k)
		}
	}
	return i
}

// originSlot returns where the origin is in the table, or would be.
func (ns *nodes) originSlot(o *origin) *uint32 {
	x := uint64(o.alloc)
	for _, a := range o.stack {
		x = (x ^ uint64(a)) * 0x9e3779b97f4a7c15
		x ^= x >> 32
	}
	mask := uint64(len(ns.originOf) - 1)
	for i := x; ; i++ {
		k := &ns.originOf[i&mask]
		if q := &ns.origins[*k]; *k == 0 || q.alloc == o.alloc && slices.Equal(q.stack, o.stack) {
			return k
		}
	}
}

func (ns *nodes) bytes() uint64 {
	n := uint64(ns.all.len()-ns.forgotten)*nodeBytes + ns.lifetimes.bytes() + uint64(len(ns.rare))*24
	for _, s := range ns.resizes {
		n += 64 + uint64(cap(s))*resizeBytes
	}
	n += uint64(cap(ns.origins))*32 + uint64(len(ns.originOf))*4
	for i := range ns.origins {
		n += uint64(len(ns.origins[i].stack)) * 8
	}
	n += uint64(len(ns.lying)) * 48
	return n
}

// bornSize returns the node's size at birth.
func (ns *nodes) bornSize(id NodeID) uint64 {
	n := ns.at(id)
	if n.is(nodeResized) {
		return ns.resizes[id][1].size
	}
	return n.size
}

// sizeAt returns the node's size at t.
func (ns *nodes) sizeAt(id NodeID, t uint32) uint64 {
	n := ns.at(id)
	if !n.is(nodeResized) {
		return n.size
	}
	s := ns.resizes[id]
	return s[s.at(t)].size
}

// since returns from when on the byte at offset off, which is inside the node
// at t, has been inside without a break: its birth, or the last resize that
// brought it in. Older versions are not its content. So it is of those behind it, up to offset until.
func (ns *nodes) since(id NodeID, off uint64, t uint32) (time uint32, until uint64) {
	n := ns.at(id)
	if !n.is(nodeResized) {
		return n.birth, n.size
	}
	s := ns.resizes[id]
	k := s.at(t)
	if s[k].size <= off {
		return s[k].time, off + 1 // outside
	}
	for s[k].size > off {
		until = s[k].size
		if j := s[k].jump; s[j].size > off {
			k = int(j)
		} else {
			k = int(s[k].below)
		}
	}
	return s[k+1].time, until
}

func (ns *nodes) setSize(id NodeID, size uint64, t uint32) {
	n := ns.at(id)
	s := ns.resizes[id]
	if s == nil {
		s = sizes{{}}.push(n.size, n.birth)
	}
	ns.resizes[id] = s.push(size, t)
	n.size = size
	n.flags |= nodeResized
}

// insertFixed adds a global or a tracked range to the index by address.
func (ns *nodes) insertFixed(id NodeID) {
	n := ns.at(id)
	i, _ := slices.BinarySearchFunc(ns.fixed, n.start, func(x NodeID, a uint64) int {
		if ns.at(x).start <= a {
			return -1
		}
		return 1
	})
	ns.eachFixed(n.start, n.start+n.size, func(x NodeID) bool {
		ns.overlap = ns.overlap || ns.at(x).start+ns.at(x).size > n.start
		return !ns.overlap
	})
	ns.fixed = slices.Insert(ns.fixed, i, id)
	ns.longest = max(ns.longest, n.size)
}

// eachFixed calls f with the fixed nodes that may overlap [addr, end), from
// high addresses to low, until it returns false.
func (ns *nodes) eachFixed(addr, end uint64, f func(NodeID) bool) {
	lo, hi := 0, len(ns.fixed)
	for lo < hi {
		if m := (lo + hi) / 2; ns.at(ns.fixed[m]).start < end {
			lo = m + 1
		} else {
			hi = m
		}
	}
	for i := lo - 1; i >= 0; i-- {
		if s := ns.at(ns.fixed[i]).start; s < addr && addr-s >= ns.longest {
			return
		}
		if !f(ns.fixed[i]) {
			return
		}
	}
}

// Overlap reports whether objects in static memory overlap, as a variable with two names does.
func (h *History) Overlap() bool { return h.nodes.overlap }

// Resizes returns how the node was resized in place, in order.
func (h *History) Resizes(id NodeID) []Resize {
	if !h.has(id) || !h.nodes.at(id).is(nodeResized) {
		return nil
	}
	s := h.nodes.resizes[id]
	out := make([]Resize, len(s)-2)
	for i, r := range s[2:] {
		out[i] = Resize{Timestamp(r.time), s[i+1].size, r.size}
	}
	return out
}

// Zeroed reports whether a node's first bytes were zero at its birth.
func (h *History) Zeroed(id NodeID) bool { return h.has(id) && h.nodes.at(id).is(nodeZeroed) }

// Died returns the nodes that the event which was applied last has ended: of a
// history of nodes only.
func (h *History) Died() []NodeID { return h.died }
