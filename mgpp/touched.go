package mgpp

import (
	"cmp"
	"slices"
)

// Touch is a node that operations wrote to, made, resized or ended.
type Touch struct {
	Node NodeID
	// Lo and Hi are the part of it, by offset, outside of which they wrote nothing:
	// all of it if they did more than write.
	Lo, Hi uint64
}

// Touches collects them.
type Touches map[NodeID]Touch

// All notes that something was done to a node as a whole.
func (s Touches) All(id NodeID) { s[id] = Touch{id, 0, 1<<64 - 1} }

// Write notes that bytes [lo, hi) of a node, by offset, were written.
func (s Touches) Write(id NodeID, lo, hi uint64) {
	if x, ok := s[id]; ok {
		lo, hi = min(lo, x.Lo), max(hi, x.Hi)
	}
	s[id] = Touch{id, lo, hi}
}

// List returns them in order of NodeID.
func (s Touches) List() []Touch {
	out := make([]Touch, 0, len(s))
	for _, x := range s {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b Touch) int { return cmp.Compare(a.Node, b.Node) })
	return out
}

// Touched returns the nodes that the operations in (from, to] wrote to, made,
// resized or ended, in order of NodeID. Writes that hit no live node touch none; one to
// several objects in static memory that overlap (a variable with two names) touches all of them.
func (h *History) Touched(from, to Timestamp) []Touch {
	seen := Touches{}
	var buf []NodeID
	for t := h.clip(from) + 1; t <= h.clip(to); t++ {
		switch s := h.ops.site(t); s.kind {
		case OpStore, OpBulk, OpUnread:
			addr, size := h.extent(t)
			if id := h.liveAt(addr, t); id != 0 && h.holds(id, addr+size-1, t) && !(h.nodes.overlap && h.nodes.at(id).is(nodeFixed)) {
				lo := addr - h.nodes.at(id).start
				seen.Write(id, lo, lo+size)
				continue
			}
			buf = h.overlapping(buf, addr, size, t)
			for _, id := range buf {
				start, n := h.nodes.at(id).start, h.nodes.sizeAt(id, t)
				if n > 0 {
					seen.Write(id, max(addr, start)-start, min(addr+size-start, n))
				}
			}
		case OpMove:
			if old := h.ops.moves[h.ops.value(t)].old; h.nodes.at(old).death == t { // else an unmap had ended it
				seen.All(old)
			}
			seen.All(h.maker(t))
		case OpBirth, OpDeath, OpResize:
			seen.All(h.maker(t))
		}
	}
	return seen.List()
}
