package mgpp

import (
	"iter"
	"slices"
)

// Which node is, or was, at an address.

// maker returns the node that the operation at t made, ended or resized.
func (h *History) maker(t uint32) NodeID { return NodeID(h.ops.word(t)) }

// holds reports whether addr lies in the node as it is at t, alive or not.
func (h *History) holds(id NodeID, addr uint64, t uint32) bool {
	n := h.nodes.at(id)
	if addr < n.start {
		return false
	}
	size := n.size
	if n.is(nodeResized) {
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
		id := h.newestOwner(p, addr, t)
		if id != 0 && h.nodes.at(id).alive(t) && h.holds(id, addr, t) {
			return id
		}
		return 0
	}
	h.eachOwner(p, addr, t, false, func(id NodeID) bool {
		if h.nodes.at(id).alive(t) && h.holds(id, addr, t) {
			found = id
		}
		return found == 0
	})
	return found
}

// liveApart looks among the nodes that are not in the pages.
func (h *History) liveApart(addr uint64, t uint32) (found NodeID) {
	for id := range h.hugeAt(addr, t) {
		if h.nodes.at(id).alive(t) {
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
		h.eachOwner(p, addr, t, true, func(id NodeID) bool {
			take(id)
			return found == 0
		})
	}
	if found != 0 && h.nodes.at(found).alive(t) {
		return found
	}
	for id := range h.hugeAt(addr, t) {
		if !take(id) {
			return id
		}
	}
	h.nodes.eachFixed(addr, addr+1, func(id NodeID) bool {
		return found != 0 && h.nodes.at(id).is(nodeArena) || take(id)
	})
	return found
}

// startingAt returns the live node that starts at addr: what free means.
func (h *History) startingAt(addr uint64, t uint32) (found NodeID) {
	p := h.mem.lookup(addr)
	if p != nil && !p.shared { // without a closure: the common case
		id := h.newestOwner(p, addr, t)
		if n := h.nodes.at(id); n.start == addr && n.alive(t) && id != 0 && !n.is(nodeFixed) {
			return id
		}
	}
	match := func(id NodeID) bool {
		if n := h.nodes.at(id); n.start == addr && n.alive(t) && !n.is(nodeFixed) {
			found = id
		}
		return found == 0
	}
	if p != nil {
		h.eachOwner(p, addr, t, false, match)
	}
	for _, list := range h.nodes.huge.at(addr) {
		for i := len(list) - 1; i >= 0 && found == 0 && match(list[i]); i-- {
			if h.nodes.at(list[i]).birth <= t && h.holds(list[i], addr, t) {
				break // as in hugeAt
			}
		}
	}
	return found
}

// hugeAt gives the huge blocks that had addr last, at or before t: of those before none lives
// any more.
func (h *History) hugeAt(addr uint64, t uint32) iter.Seq[NodeID] {
	return func(yield func(NodeID) bool) {
		for _, list := range h.nodes.huge.at(addr) {
			for _, id := range slices.Backward(list) {
				if h.nodes.at(id).birth > t || !h.holds(id, addr, t) {
					continue
				}
				if !yield(id) {
					return
				}
				break
			}
		}
	}
}

// hugeNear reports whether a huge block was ever near addr.
func (h *History) hugeNear(addr uint64) bool {
	l := h.nodes.huge.at(addr)
	return len(l[0])+len(l[1]) > 0
}

// vacant reports that no node lives in [addr, addr+size) now, without looking
// at everything: false if it is not easily seen.
func (h *History) vacant(addr, size uint64) bool {
	if len(h.nodes.huge.live)+len(h.nodes.fixed) > 0 || addr&pageMask+size > pageSize {
		return false
	}
	p := h.mem.lookup(addr)
	if p == nil {
		return true
	}
	if p.shared || p.owner != 0 {
		return false
	}
	last := uint32(0)
	for a := addr &^ (granule - 1); a < addr+size; a += granule {
		if head := p.granuleOwner(a); head != last {
			if n := h.nodes.at(h.owners.at(head).node); n.death == 0 {
				return false
			}
			last = head
		}
	}
	return true
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
			h.eachOwner(p, lo, t, false, take)
			return
		}
		last := uint32(0)
		for a := lo &^ (granule - 1); a < hi; a += granule {
			if head := p.granuleOwner(a); head != last || last == 0 {
				last = head
				h.eachOwner(p, a, t, false, take)
			}
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
	large := h.nodes.huge.all
	if t == h.ops.n {
		large = h.nodes.huge.live
	}
	for _, id := range large {
		take(id)
	}
	h.nodes.eachFixed(addr, end, take)
	slices.Sort(buf)
	return slices.Compact(buf)
}
