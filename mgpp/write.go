package mgpp

import (
	"bytes"
	"slices"

	"mgtrace/trace"
)

// applyWrite records a write, or drops it if it concerns no node.
func (h *History) applyWrite(ev *trace.Event) uint32 {
	addr, size := uint64(ev.Addr), ev.Size
	if ev.Kind != trace.KindUnread && ev.Flags&trace.FlagPartial == 0 {
		size = max(size, uint64(len(ev.Data)))
	}
	if size == 0 || !h.plausible(ev, ev.Addr, size) {
		return 0
	}
	if ev.Kind == trace.KindStore && size <= maxInline && uint64(len(ev.Data)) == size && ev.Name == "" {
		return h.applyPlain(ev)
	}
	stray := false
	first, whole := h.within(h.mem.lookup(addr), addr, size)
	if !first {
		var keep bool
		if stray, keep = h.judge(uint64(ev.Base), addr, size); !keep {
			h.dropped++
			return 0
		}
	}
	if h.ops.none {
		h.ops.n++
		return h.ops.n
	}
	t := h.addWrite(ev, addr, size, stray)
	if !whole {
		h.doubtful = append(h.doubtful, t)
	}
	h.mem.write(addr, size, t)
	return t
}

// inLive returns the node that lives at addr, which lies in the page, now; 0 if
// there is none. Programs write the same nodes again and again.
func (h *History) inLive(p *page, addr uint64) NodeID {
	slot := &h.recent[addr/granule%recentNodes]
	if n := h.nodes.at(*slot); n.death == 0 && addr-n.start < n.size { // below start: wraps
		return *slot
	}
	var id NodeID
	if p != nil {
		id = h.liveIn(p, addr, h.ops.n)
	}
	if id == 0 {
		id = h.liveApart(addr, h.ops.n)
	}
	if id != 0 && !h.nodes.at(id).is(nodeArena) { // a block may be born in an arena
		*slot = id
	}
	return id
}

// judge decides about a write whose first byte lies in no live node. It is
// kept if it reaches a live node, and kept as stray if it came from one (its
// base lies in a node), hits freed memory, or lies close to a node.
func (h *History) judge(base, addr, size uint64) (stray, keep bool) {
	if h.desert(base, addr, size) {
		return false, false
	}
	now := h.ops.n
	if size > 1 {
		if h.hits = h.overlapping(h.hits, addr, size, now); len(h.hits) > 0 {
			return false, true
		}
	}
	if base != 0 && base != addr && h.liveAt(base, now) != 0 {
		return true, true
	}
	for _, a := range [2]uint64{addr, addr + size - 1} {
		if h.freedAt(a, now+1) != 0 {
			return true, true
		}
	}
	return true, h.neighbour(addr, size, now) != 0
}

// desert reports that neither a write nor its base is anywhere near a node that
// ever was. Most stores of most programs are to their stacks.
func (h *History) desert(base, addr, size uint64) bool {
	lo, hi := addr-min(addr, h.options.Slack), addr+size+h.options.Slack
	if hi-lo > pageSize || h.hugeNear(lo) || h.hugeNear(hi) || h.hugeNear(base) || h.mem.lookup(lo) != nil || h.mem.lookup(hi) != nil || h.mem.lookup(base) != nil {
		return false
	}
	found := false
	take := func(NodeID) bool { found = true; return false }
	if len(h.nodes.fixed) > 0 {
		h.nodes.eachFixed(lo, hi+1, take)
		h.nodes.eachFixed(base, base+1, take)
	}
	return !found
}

// neighbour returns the live node at t that ends at most slack bytes before
// addr, or starts at most slack bytes after [addr, addr+size).
func (h *History) neighbour(addr, size uint64, t uint32) NodeID {
	s := h.options.Slack
	var buf [8]NodeID
	if lo := addr - min(addr, s); lo < addr {
		if ids := h.overlapping(buf[:0], lo, addr-lo, t); len(ids) > 0 {
			return nearest(h, ids, addr)
		}
	}
	if end := addr + size; end+s > end {
		if ids := h.overlapping(buf[:0], end, s, t); len(ids) > 0 {
			return nearest(h, ids, end)
		}
	}
	return 0
}

// nearest returns the node that starts closest to addr.
func nearest(h *History, ids []NodeID, addr uint64) NodeID {
	return slices.MinFunc(ids, func(a, b NodeID) int {
		x, y := distance(h.nodes.at(a).start, addr), distance(h.nodes.at(b).start, addr)
		if x < y {
			return -1
		} else if x > y {
			return 1
		}
		return 0
	})
}

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }

func writeKind(k trace.Kind) OpKind {
	switch k {
	case trace.KindStore:
		return OpStore
	case trace.KindUnread:
		return OpUnread
	}
	return OpBulk
}

// addWrite appends a write in the most compact shape that holds it.
func (h *History) addWrite(ev *trace.Event, addr, size uint64, stray bool) uint32 {
	s := site{pc: uint64(ev.PC), thread: ev.Thread, flags: ev.Flags, kind: writeKind(ev.Kind), stray: stray}
	if ev.Kind == trace.KindSyscall && ev.Name == "" {
		s.name = h.ops.name("system call " + trace.SyscallName(ev.Aux))
	} else {
		s.name = h.ops.name(ev.Name)
	}
	s.base, s.delta = h.baseOf(uint64(ev.Base), addr, h.mem.lookup(addr))
	data := ev.Data[:min(uint64(len(ev.Data)), size)]
	if s.kind == OpUnread {
		data = nil
	}
	var t uint32
	known := s.kind != OpUnread && uint64(len(data)) == size
	switch {
	case known && size <= uint64(len(zeros)) && bytes.Equal(data, zeros[:size]):
		s.size, s.shape = uint16(size), shapeZeros
		t = h.ops.addAt(&s, uint32(addr&7), h.mem.touch(addr).wordNumber(addr), 0, ev.Wall)
	case known && size <= maxWords:
		s.size, s.shape = uint16(size), shapeWords
		t = h.ops.addAt(&s, uint32(addr&7), h.mem.touch(addr).wordNumber(addr), h.ops.words.addBytes(data), ev.Wall)
	default:
		s.shape = shapeWide
		i, w := h.ops.wides.next()
		w.addr, w.size, w.known = addr, size, uint64(len(data))
		if b, fill := ev.Fill(); fill {
			w.known, w.fill, w.data = size, true, h.ops.arena.add([]byte{b})
		} else if len(data) > 0 {
			w.data = h.ops.arena.add(data)
		}
		t = h.ops.addAt(&s, 0, uint32(i), 0, ev.Wall)
	}
	if s.base == baseFar {
		h.ops.bases.add(t, uint64(ev.Base))
	}
	return t
}
