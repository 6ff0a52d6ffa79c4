package mgpp

import (
	"encoding/binary"
	"slices"

	"mgtrace/trace"
)

// node is one block. Nodes lie in a slab by NodeID, in order of birth.
type node struct {
	start, size  uint64 // size: now
	born         uint64 // size at birth
	birth, death uint32
	moved        NodeID
	alloc, stack uint32
	global       trace.GlobalID
	zeroed       bool // born zero: all of its first `born` bytes
	fixed        bool // a global or tracked range: found through nodes.fixed
	tracked      bool
	resized      bool // nodes.resizes has its sizes
}

const nodeBytes = 56 // of a node

// alive reports whether the node lives at t.
func (n *node) alive(t uint32) bool {
	return n.birth <= t && (n.death == 0 || t < n.death)
}

// resize is one size of a node from a time on.
type resize struct {
	time uint32
	size uint64
	min  uint64 // smallest size before this one
}

// nodes finds the node of an address at a time. Every granule of 16 bytes has
// the list of operations that made a node its owner, as words have versions;
// whole pages have one for all. Three kinds of node are kept apart: globals
// and tracked ranges, which no operation made, and blocks so large that a list
// per page would cost too much.
type nodes struct {
	all     slab[node]
	fixed   []NodeID // by start
	longest uint64   // size of the largest fixed one
	huge    []NodeID // by birth
	resizes map[NodeID][]resize
	live    int

	stacks  [][]trace.Addr
	stackOf map[string]uint32
	scratch []byte
}

// hugeSize is where a block is too large for lists per page.
const hugeSize = 1 << 26

func newNodes() nodes {
	n := nodes{
		resizes: map[NodeID][]resize{},
		stacks:  [][]trace.Addr{nil},
		stackOf: map[string]uint32{"": 0},
	}
	n.all.add(node{})
	return n
}

func (ns *nodes) at(id NodeID) *node { return ns.all.at(int(id)) }

// internStack keeps one copy of each call stack.
func (ns *nodes) internStack(s []trace.Addr) uint32 {
	if len(s) == 0 {
		return 0
	}
	ns.scratch = ns.scratch[:0]
	for _, a := range s {
		ns.scratch = binary.LittleEndian.AppendUint64(ns.scratch, uint64(a))
	}
	if i, ok := ns.stackOf[string(ns.scratch)]; ok {
		return i
	}
	i := uint32(len(ns.stacks))
	ns.stacks = append(ns.stacks, slices.Clone(s))
	ns.stackOf[string(ns.scratch)] = i
	return i
}

// sizeAt returns the node's size at t.
func (ns *nodes) sizeAt(id NodeID, t uint32) uint64 {
	n := ns.at(id)
	if !n.resized {
		return n.size
	}
	size := n.born
	for _, r := range slices.Backward(ns.resizes[id]) {
		if r.time <= t {
			return r.size
		}
	}
	return size
}

// since returns from when on the byte at offset off, which is inside the node
// at t, has been inside without a break: its birth, or the last resize that
// brought it in. Older versions are not its content.
func (ns *nodes) since(id NodeID, off uint64, t uint32) uint32 {
	n := ns.at(id)
	if !n.resized {
		return n.birth
	}
	rs := ns.resizes[id]
	for i, r := range slices.Backward(rs) {
		if r.time > t {
			continue
		}
		if r.min > off {
			break
		}
		before := n.born
		if i > 0 {
			before = rs[i-1].size
		}
		if before <= off {
			return r.time
		}
	}
	return n.birth
}

// setSize records a resize at time t.
func (ns *nodes) setSize(id NodeID, size uint64, t uint32) {
	n := ns.at(id)
	rs := ns.resizes[id]
	least := n.size
	if len(rs) > 0 {
		least = min(least, rs[len(rs)-1].min)
	}
	ns.resizes[id] = append(rs, resize{t, size, least})
	n.size, n.resized = size, true
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

// maker returns the node that the operation at t made the owner of memory.
func (h *History) maker(t uint32) NodeID { return NodeID(h.ops.word(t)) }

// own makes the node the owner of [start, start+size) from time t on.
func (h *History) own(id NodeID, start, size uint64, t uint32) {
	if h.nodes.at(id).size >= hugeSize {
		if !slices.Contains(h.nodes.huge, id) {
			h.nodes.huge = append(h.nodes.huge, id)
		}
		return
	}
	for end := start + max(size, 1); start < end; {
		p, _ := h.mem.touch(start)
		o := start & pageMask
		k := min(end-start, pageSize-o)
		if k == pageSize {
			p.owner = h.mem.push(p.owner, t)
		} else {
			h.ownPart(p, id, o, k, t)
		}
		start += k
	}
}

func (h *History) ownPart(p *page, id NodeID, o, n uint64, t uint32) {
	if p.owners == nil {
		p.owners = new([pageSize / granule]head)
	}
	for g := o / granule; g <= (o+n-1)/granule; g++ {
		if prev := h.mem.find(p.owners[g], t); prev != 0 {
			if q := h.maker(prev); q != id && h.nodes.at(q).alive(t) {
				p.shared = true
			}
		}
		p.owners[g] = h.mem.push(p.owners[g], t)
	}
}

// owners calls f with the nodes that owned memory in addr's granule at or
// before t, newest first, until it returns false. Unless two nodes have ever
// shared a granule of the page only the newest can be alive, and only that is
// given; all asks for the others too.
func (h *History) owners(p *page, addr uint64, t uint32, all bool, f func(NodeID) bool) {
	var g head
	if p.owners != nil {
		g = p.owners[addr&pageMask/granule]
	}
	a, b := h.mem.find(g, t), h.mem.find(p.owner, t)
	for a != 0 || b != 0 {
		if !f(h.maker(max(a, b))) || !(all || p.shared) {
			return
		}
		if a > b {
			a = h.mem.find(g, a-1)
		} else {
			b = h.mem.find(p.owner, b-1)
		}
	}
}

// holds reports whether addr lies in the node as it is at t, alive or not.
func (h *History) holds(id NodeID, addr uint64, t uint32) bool {
	n := h.nodes.at(id)
	if addr < n.start {
		return false
	}
	size := n.size
	if n.resized {
		size = h.nodes.sizeAt(id, t)
	}
	return addr-n.start < size
}

// liveAt returns the node that contains addr at t, 0 if there is none.
func (h *History) liveAt(addr uint64, t uint32) (found NodeID) {
	if p := h.mem.lookup(addr); p != nil {
		if found = h.liveIn(p, addr, t); found != 0 {
			return found
		}
	}
	return h.liveApart(addr, t)
}

// liveIn looks for the live node at addr in its page.
func (h *History) liveIn(p *page, addr uint64, t uint32) (found NodeID) {
	if !p.shared { // without a closure: the common case
		var v uint32
		if p.owners != nil {
			v = h.mem.find(p.owners[addr&pageMask/granule], t)
		}
		if p.owner != 0 {
			v = max(v, h.mem.find(p.owner, t))
		}
		if v == 0 {
			return 0
		}
		if id := h.maker(v); h.nodes.at(id).alive(t) && h.holds(id, addr, t) {
			return id
		}
		return 0
	}
	h.owners(p, addr, t, false, func(id NodeID) bool {
		if h.nodes.at(id).alive(t) && h.holds(id, addr, t) {
			found = id
		}
		return found == 0
	})
	return found
}

// liveApart looks among the nodes that are not in the pages.
func (h *History) liveApart(addr uint64, t uint32) (found NodeID) {
	for _, id := range slices.Backward(h.nodes.huge) {
		if h.nodes.at(id).alive(t) && h.holds(id, addr, t) {
			return id
		}
	}
	if len(h.nodes.fixed) > 0 {
		h.nodes.eachFixed(addr, addr+1, func(id NodeID) bool {
			if h.nodes.at(id).alive(t) && h.holds(id, addr, t) {
				found = id
			}
			return found == 0
		})
	}
	return found
}

// formerAt returns the node that contained addr last at or before t, alive or
// dead; 0 if none ever did.
func (h *History) formerAt(addr uint64, t uint32) (found NodeID) {
	take := func(id NodeID) bool {
		n := h.nodes.at(id)
		if n.birth > t || !h.holds(id, addr, t) {
			return true
		}
		if found == 0 || n.alive(t) || n.death > h.nodes.at(found).death {
			found = id
		}
		return !n.alive(t)
	}
	if p := h.mem.lookup(addr); p != nil {
		h.owners(p, addr, t, true, func(id NodeID) bool {
			take(id)
			return found == 0
		})
	}
	if found != 0 && h.nodes.at(found).alive(t) {
		return found
	}
	for _, id := range slices.Backward(h.nodes.huge) {
		if !take(id) {
			return id
		}
	}
	h.nodes.eachFixed(addr, addr+1, take)
	return found
}

// startingAt returns the live node that starts at addr: what free means.
func (h *History) startingAt(addr uint64, t uint32) (found NodeID) {
	match := func(id NodeID) bool {
		if n := h.nodes.at(id); n.start == addr && n.alive(t) && !n.fixed {
			found = id
		}
		return found == 0
	}
	if p := h.mem.lookup(addr); p != nil {
		h.owners(p, addr, t, false, match)
	}
	for i := len(h.nodes.huge) - 1; i >= 0 && found == 0; i-- {
		match(h.nodes.huge[i])
	}
	return found
}

// overlapping returns the nodes alive at t that have a byte in [addr,
// addr+size), or start there with no byte at all, by NodeID. The result is
// valid until the next call with the same buffer.
func (h *History) overlapping(buf []NodeID, addr, size uint64, t uint32) []NodeID {
	buf = buf[:0]
	end := addr + size
	take := func(id NodeID) bool {
		n := h.nodes.at(id)
		if !n.alive(t) {
			return true
		}
		if s := max(h.nodes.sizeAt(id, t), 1); n.start < end && addr-min(addr, n.start) < s && !slices.Contains(buf[max(0, len(buf)-8):], id) {
			buf = append(buf, id)
		}
		return true
	}
	inPage := func(p *page, lo, hi uint64) {
		if p.owners == nil {
			h.owners(p, lo, t, false, take)
			return
		}
		for a := lo &^ (granule - 1); a < hi; a += granule {
			h.owners(p, a, t, false, take)
		}
	}
	if pages := size>>pageBits + 2; pages > uint64(h.mem.pages.len()) {
		for i := range h.mem.pages.len() {
			p := h.mem.pages.at(i)
			if lo, hi := p.number<<pageBits, (p.number+1)<<pageBits; lo < end && addr < hi {
				inPage(p, max(lo, addr), min(hi, end))
			}
		}
	} else {
		for a := addr; a < end; a = (a>>pageBits + 1) << pageBits {
			if p := h.mem.lookup(a); p != nil {
				inPage(p, a, min(end, (a>>pageBits+1)<<pageBits))
			}
		}
	}
	for _, id := range h.nodes.huge {
		take(id)
	}
	h.nodes.eachFixed(addr, end, take)
	slices.Sort(buf)
	return slices.Compact(buf)
}
