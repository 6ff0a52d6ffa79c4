package mgpp

import "slices"

// Touched returns the nodes that the operations in (from, to] wrote to, made,
// resized or ended, in order of NodeID. Writes that hit no live node touch none.
func (h *History) Touched(from, to Timestamp) []NodeID {
	seen := map[NodeID]struct{}{}
	var buf []NodeID
	for t := h.clip(from) + 1; t <= h.clip(to); t++ {
		switch s := h.ops.site(t); s.kind {
		case OpStore, OpBulk, OpUnread:
			addr, size := h.extent(t)
			if id := h.liveAt(addr, t); id != 0 && h.holds(id, addr+size-1, t) {
				seen[id] = struct{}{}
				continue
			}
			buf = h.overlapping(buf, addr, size, t)
			for _, id := range buf {
				if h.nodes.sizeAt(id, t) > 0 {
					seen[id] = struct{}{}
				}
			}
		case OpMove:
			seen[h.ops.moves[h.ops.value(t)].old] = struct{}{}
			seen[h.maker(t)] = struct{}{}
		case OpBirth, OpDeath, OpResize:
			seen[h.maker(t)] = struct{}{}
		}
	}
	out := make([]NodeID, 0, len(seen))
	for id := range seen {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}
