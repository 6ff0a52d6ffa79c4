package mgpp

import (
	"errors"
	"fmt"
	"slices"

	"mgtrace/trace"
)

// ErrFull is returned when a history has reached one of its limits: 2³¹−1
// operations, 2³⁰ words of version lists, 2²³ pages of memory written.
var ErrFull = errors.New("the history is full")

const (
	maxExtent = 1 << 32 // bytes of the longest write that is believed
	maxBlock  = 1 << 42 // bytes of the largest block that is believed
	maxAddr   = 1 << 57 // user addresses end below, with 5-level paging too
)

// Apply takes the next event into the history. It returns the timestamp of the
// operation that the event became, 0 if it became none. An event may become
// several (an unmap ends many nodes, an allocation over a live node ends that
// first): they are those after Now as it was before, up to the result.
// The error is ErrFull, wrapped; the event is then not taken.
func (h *History) Apply(ev *trace.Event) (Timestamp, error) {
	if err := h.room(ev); err != nil {
		return 0, err
	}
	before := h.ops.n
	switch ev.Kind {
	case trace.KindStore, trace.KindBulk, trace.KindSyscall, trace.KindUnread:
		return Timestamp(h.applyWrite(ev)), nil
	case trace.KindAlloc:
		h.applyAlloc(ev, ev.Addr)
	case trace.KindFree:
		h.applyFree(ev, ev.Addr)
	case trace.KindRealloc:
		h.applyRealloc(ev)
	case trace.KindUnmap:
		h.applyUnmap(ev)
	case trace.KindMap:
		if h.plausible(ev, ev.Addr, ev.Size) {
			h.mapped = append(h.mapped, mapping{h.ops.n, uint64(ev.Addr), uint64(ev.Addr) + ev.Size})
		}
	case trace.KindImage:
		if n := uint64(len(ev.Data)); h.plausible(ev, ev.Addr, n) {
			h.mem.setImage(uint64(ev.Addr), ev.Data)
		}
	case trace.KindGlobal:
		h.applyGlobal(ev)
	case trace.KindLost, trace.KindTruncated:
		h.gaps = append(h.gaps, Gap{Timestamp(h.ops.n), ev.Kind, ev.Thread, ev.Size, ev.Name})
	}
	if h.ops.n == before {
		return 0, nil
	}
	return Timestamp(h.ops.n), nil
}

// room reports whether the event fits. What one event can add to the lists is
// at most a block for each list that it touches, or, touching very many, half
// of what they have already.
func (h *History) room(ev *trace.Event) error {
	n := max(ev.Size, uint64(len(ev.Data)))
	if n > maxExtent || ev.Kind == trace.KindUnmap || ev.Kind == trace.KindMap {
		n = 0 // refused later, or a block without lists
	}
	pages := n>>pageBits + 2
	words := uint64(1 << 24)
	if pages > 2 {
		words += 8*pages + uint64(h.mem.next)/2
	}
	switch {
	case uint64(h.mem.pages.len())+pages > maxPages:
		return fmt.Errorf("%w: %d pages of memory", ErrFull, h.mem.pages.len())
	case h.mem.full(words) || h.mem.splits.len() >= maxIndex-8*pageWords:
		return fmt.Errorf("%w: %d words of version lists", ErrFull, h.mem.next)
	case uint64(h.ops.n)+uint64(h.nodes.live)+2 > maxTime || len(h.ops.sites) >= maxSites-2:
		return fmt.Errorf("%w: %d operations", ErrFull, h.ops.n)
	}
	return nil
}

// plausible reports whether [addr, addr+size) can be an extent; if not, an
// anomaly is noted.
func (h *History) plausible(ev *trace.Event, addr trace.Addr, size uint64) bool {
	limit := uint64(maxExtent)
	if ev.Kind == trace.KindAlloc || ev.Kind == trace.KindRealloc || ev.Kind == trace.KindMap || ev.Kind == trace.KindUnmap {
		limit = maxBlock
	}
	if size <= limit && uint64(addr) <= maxAddr-size {
		return true
	}
	h.anomaly(Implausible, ev, addr, 0)
	return false
}

func (h *History) anomaly(k AnomalyKind, ev *trace.Event, addr trace.Addr, id NodeID) {
	h.anomalies = append(h.anomalies, Anomaly{
		Kind: k, Time: Timestamp(h.ops.n), Thread: ev.Thread, PC: ev.PC, Wall: ev.Wall,
		Addr: addr, Size: ev.Size, Node: id, Name: ev.Name, Stack: slices.Clone(ev.Stack),
	})
}

// applyWrite records a write, or drops it if it concerns no node.
func (h *History) applyWrite(ev *trace.Event) uint32 {
	addr, size := uint64(ev.Addr), ev.Size
	if ev.Kind != trace.KindUnread && ev.Flags&trace.FlagPartial == 0 {
		size = max(size, uint64(len(ev.Data)))
	}
	if size == 0 || !h.plausible(ev, ev.Addr, size) {
		return 0
	}
	stray := false
	if !h.inLive(addr) {
		var keep bool
		if stray, keep = h.judge(ev, addr, size); !keep {
			h.dropped++
			return 0
		}
	}
	t := h.addWrite(ev, addr, size, stray)
	h.mem.write(addr, size, t)
	return t
}

// inLive reports whether addr lies in a live node now. Programs write the same
// nodes again and again.
func (h *History) inLive(addr uint64) bool {
	slot := &h.recent[addr/granule%recentNodes]
	n := *slot
	if n != nil && n.death == 0 && addr-n.start < n.size { // below start: wraps
		return true
	}
	var id NodeID
	if p, _ := h.mem.fast(addr); p != nil {
		id = h.liveIn(p, addr, h.ops.n)
	}
	if id == 0 {
		id = h.liveApart(addr, h.ops.n)
	}
	if id == 0 {
		return false
	}
	*slot = h.nodes.at(id)
	return true
}

// judge decides about a write whose first byte lies in no live node. It is
// kept if it reaches a live node, and kept as stray if it came from one (its
// base lies in a node), hits freed memory, or lies close to a node.
func (h *History) judge(ev *trace.Event, addr, size uint64) (stray, keep bool) {
	now := h.ops.n
	if size > 1 {
		if h.hits = h.overlapping(h.hits, addr, size, now); len(h.hits) > 0 {
			return false, true
		}
	}
	if ev.Base != 0 && uint64(ev.Base) != addr && h.liveAt(uint64(ev.Base), now) != 0 {
		return true, true
	}
	for _, a := range [2]uint64{addr, addr + size - 1} {
		if id := h.formerAt(a, now); id != 0 && !h.remapped(a, h.nodes.at(id).death) {
			return true, true
		}
	}
	return true, h.neighbour(addr, size, now) != 0
}

// remapped reports whether addr was mapped or unmapped at or after t: what was
// freed there before has nothing to do with it any more.
func (h *History) remapped(addr uint64, t uint32) bool {
	for _, m := range slices.Backward(h.mapped) {
		if m.time < t {
			return false
		}
		if m.lo <= addr && addr < m.hi {
			return true
		}
	}
	return false
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
		s.name = h.ops.name(fmt.Sprintf("system call %d", ev.Aux))
	} else {
		s.name = h.ops.name(ev.Name)
	}
	far := false
	if ev.Base != 0 {
		if d := int64(addr - uint64(ev.Base)); d >= minDelta && d <= maxDelta {
			s.base, s.delta = baseDelta, int32(d)
		} else {
			s.base, far = baseFar, true
		}
	}
	data := ev.Data[:min(uint64(len(ev.Data)), size)]
	if s.kind == OpUnread {
		data = nil
	}
	var t uint32
	if s.kind == OpStore && size <= maxArena && uint64(len(data)) == size {
		_, page := h.mem.touch(addr)
		word := page<<wordBits | uint32(addr&pageMask>>3)
		s.size, s.shape = uint16(size), shapeInline
		var value uint64
		if size <= maxInline {
			for i, b := range data {
				value |= uint64(b) << (8 * i)
			}
		} else {
			s.shape, value = shapeArena, uint64(h.ops.arena.add(data))
		}
		t = h.ops.add(&s, uint32(addr&7), word, value, ev.Wall)
	} else {
		s.shape = shapeWide
		w := wide{addr: addr, size: size, known: uint64(len(data))}
		if len(data) > 0 {
			w.data = h.ops.arena.add(data)
		}
		t = h.ops.add(&s, 0, uint32(h.ops.wides.add(w)), 0, ev.Wall)
	}
	if far {
		h.ops.farBases = append(h.ops.farBases, farBase{t, uint64(ev.Base)})
	}
	return t
}

func (h *History) lifeSite(ev *trace.Event, k OpKind) *site {
	return &site{pc: uint64(ev.PC), thread: ev.Thread, flags: ev.Flags, kind: k, name: h.ops.name(ev.Name)}
}

// die ends a node with an operation of its own.
func (h *History) die(ev *trace.Event, id NodeID) uint32 {
	t := h.ops.add(h.lifeSite(ev, OpDeath), 0, uint32(id), 0, ev.Wall)
	h.end(id, t)
	return t
}

func (h *History) end(id NodeID, t uint32) {
	h.nodes.at(id).death = t
	h.nodes.live--
}

// clear ends what still lives in [addr, addr+size), because a new block is
// there: a free was missed.
func (h *History) clear(ev *trace.Event, addr, size uint64, except NodeID) {
	h.hits = h.overlapping(h.hits, addr, max(size, 1), h.ops.n)
	for _, id := range h.hits {
		if id == except {
			continue
		}
		if !h.nodes.at(id).tracked {
			h.anomaly(AllocOverLive, ev, trace.Addr(addr), id)
		}
		h.die(ev, id)
	}
}

func (h *History) applyAlloc(ev *trace.Event, addr trace.Addr) {
	if addr == 0 || !h.plausible(ev, addr, ev.Size) {
		return
	}
	h.clear(ev, uint64(addr), ev.Size, 0)
	h.birth(ev)
}

// birth appends the birth of the event's block.
func (h *History) birth(ev *trace.Event) NodeID {
	id := h.newNode(ev)
	t := h.ops.add(h.lifeSite(ev, OpBirth), 0, uint32(id), ev.Size, ev.Wall)
	h.nodes.at(id).birth = t
	h.own(id, uint64(ev.Addr), ev.Size, t)
	return id
}

func (h *History) newNode(ev *trace.Event) NodeID {
	id := NodeID(h.nodes.all.add(node{
		start: uint64(ev.Addr), size: ev.Size, born: ev.Size,
		alloc: h.ops.name(ev.Name), stack: h.nodes.internStack(ev.Stack),
		zeroed: ev.Flags&trace.FlagZeroed != 0,
	}))
	h.nodes.live++
	return id
}

// applyFree ends the node at addr. Anything else at addr is an anomaly.
func (h *History) applyFree(ev *trace.Event, addr trace.Addr) {
	if addr == 0 {
		return
	}
	if id := h.startingAt(uint64(addr), h.ops.n); id != 0 {
		h.die(ev, id)
		return
	}
	h.badFree(ev, addr)
}

// badFree says what is wrong with freeing addr.
func (h *History) badFree(ev *trace.Event, addr trace.Addr) {
	id := h.formerAt(uint64(addr), h.ops.n)
	kind := FreeUnknown
	if id != 0 {
		n := h.nodes.at(id)
		switch {
		case n.alive(h.ops.n):
			kind = FreeInside
		case n.start == uint64(addr) && !h.remapped(uint64(addr), n.death):
			kind = FreeTwice
		}
	}
	h.anomaly(kind, ev, addr, id)
}

func (h *History) applyRealloc(ev *trace.Event) {
	switch {
	case ev.Aux == 0:
		h.applyAlloc(ev, ev.Addr)
		return
	case ev.Addr == 0: // realloc(p, 0) that freed
		h.applyFree(ev, trace.Addr(ev.Aux))
		return
	case !h.plausible(ev, ev.Addr, ev.Size):
		return
	}
	old := h.startingAt(ev.Aux, h.ops.n)
	if old == 0 {
		h.badFree(ev, trace.Addr(ev.Aux))
		h.applyAlloc(ev, ev.Addr)
		return
	}
	h.clear(ev, uint64(ev.Addr), ev.Size, old)
	if uint64(ev.Addr) == ev.Aux {
		h.resize(ev, old)
	} else {
		h.move(ev, old)
	}
}

func (h *History) resize(ev *trace.Event, id NodeID) {
	t := h.ops.add(h.lifeSite(ev, OpResize), 0, uint32(id), ev.Size, ev.Wall)
	n := h.nodes.at(id)
	had := n.size
	h.nodes.setSize(id, ev.Size, t)
	switch {
	case had < hugeSize && ev.Size >= hugeSize:
		h.own(id, n.start, ev.Size, t)
	case ev.Size > had:
		h.own(id, n.start+had, ev.Size-had, t)
	}
}

// move ends old and begins its successor with the bytes carried over.
func (h *History) move(ev *trace.Event, old NodeID) {
	size := min(h.nodes.at(old).size, ev.Size)
	m := h.carry(old, size)
	id := h.newNode(ev)
	s := h.lifeSite(ev, OpMove)
	s.shape = shapeMove
	t := h.ops.add(s, 0, uint32(id), uint64(len(h.ops.moves)), ev.Wall)
	h.ops.moves = append(h.ops.moves, m)
	h.end(old, t)
	n := h.nodes.at(id)
	n.birth, n.moved, n.zeroed = t, old, false
	h.own(id, uint64(ev.Addr), ev.Size, t)
	if size > 0 {
		h.mem.write(uint64(ev.Addr), size, t)
	}
}

// carry copies the first size bytes of a node with the times of their storing.
func (h *History) carry(old NodeID, size uint64) move {
	m := move{old: old, size: size}
	now := h.ops.n
	data := make([]byte, size)
	var times [64]uint32
	for off := uint64(0); off < size; off += uint64(len(times)) {
		part := times[:min(uint64(len(times)), size-off)]
		b := Bytes{Data: data[off : off+uint64(len(part))], Written: h.flags[:0]}
		h.readNode(old, off, &b, now, nil, part)
		h.flags = b.Written
		for i, t := range part {
			r := run{off + uint64(i), h.origin(t, h.nodes.at(old).start+off+uint64(i)), b.Written[i]}
			if k := len(m.runs); k == 0 || m.runs[k-1].origin != r.origin || m.runs[k-1].known != r.known {
				m.runs = append(m.runs, r)
			}
		}
	}
	m.data = h.ops.arena.add(data)
	return m
}

// applyUnmap ends the nodes that lie wholly in the range.
func (h *History) applyUnmap(ev *trace.Event) {
	if ev.Size == 0 || !h.plausible(ev, ev.Addr, ev.Size) {
		return
	}
	lo, hi := uint64(ev.Addr), uint64(ev.Addr)+ev.Size
	h.hits = h.overlapping(h.hits, lo, ev.Size, h.ops.n)
	for _, id := range h.hits {
		if n := h.nodes.at(id); n.start >= lo && n.start+n.size <= hi {
			h.die(ev, id)
		}
	}
	h.mapped = append(h.mapped, mapping{h.ops.n, lo, hi})
}

// applyGlobal makes a declared object a node: from the start if nothing has
// happened yet, else (a module loaded later) from the present time on.
func (h *History) applyGlobal(ev *trace.Event) {
	if !h.plausible(ev, ev.Addr, max(ev.Size, uint64(len(ev.Data)))) {
		return
	}
	h.mem.setImage(uint64(ev.Addr), ev.Data)
	id := h.fix(uint64(ev.Addr), ev.Size)
	n := h.nodes.at(id)
	n.global, n.alloc = trace.GlobalID(ev.Aux), h.ops.name(ev.Name)
}

// fix makes a node that no operation made, alive from now on.
func (h *History) fix(addr, size uint64) NodeID {
	id := NodeID(h.nodes.all.add(node{start: addr, size: size, born: size, birth: h.ops.n, fixed: true}))
	h.nodes.live++
	h.nodes.insertFixed(id)
	return id
}
