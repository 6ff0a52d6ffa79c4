package mgpp

import (
	"errors"
	"fmt"
	"slices"

	"mgtrace/trace"
)

// ErrFull is returned when a history has reached one of its limits: 2³¹−1
// operations, 2²³ pages of memory written, 2²⁹ split words, and what is counted
// in roomFor.
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
	h.ops.instant = ev.Instant
	h.died = h.died[:0]
	switch ev.Kind {
	case trace.KindStore, trace.KindBulk, trace.KindSyscall, trace.KindUnread:
		t := h.applyWrite(ev)
		if t != 0 && len(ev.Stack) > 0 && !h.ops.none {
			h.stacks = append(h.stacks, stackOf{t, h.nodes.intern(0, ev.Stack)})
		}
		return Timestamp(t), nil
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
			h.mapped.add(mapping{h.ops.n, uint64(ev.Addr), uint64(ev.Addr) + ev.Size})
			if h.options.Arenas {
				h.arena(uint64(ev.Addr), ev.Size)
			}
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

// room reports whether the event fits. One operation can make an extra version
// and a split or two of each word that it touches, and a head of each granule.
func (h *History) room(ev *trace.Event) error {
	n := max(ev.Size, uint64(len(ev.Data)))
	switch {
	case ev.Kind == trace.KindRealloc && n > maxExtent:
		n = 0
		if old := h.startingAt(ev.Aux, h.ops.n); old != 0 && ev.Aux != uint64(ev.Addr) {
			n = min(h.nodes.at(old).size, ev.Size) // that are carried
		}
	case n > maxExtent, ev.Kind == trace.KindUnmap, ev.Kind == trace.KindMap:
		n = 0 // refused later, or a block that is not in the pages
	}
	return h.roomFor(1, n>>pageBits+2, min(n, 2*pageSize)+64)
}

// roomFor reports whether so many operations fit that write so many pages and
// bytes: whole pages, and bytes of other ones.
func (h *History) roomFor(ops, pages, bytes uint64) error {
	m := &h.mem
	cells := pages + bytes
	switch {
	case uint64(m.pages.len())+pages > maxPages:
		return fmt.Errorf("%w: %d pages of memory", ErrFull, m.pages.len())
	case uint64(m.extras)+cells > maxExtra || uint64(m.splits.len())+cells > maxSplit ||
		uint64(m.longs.len())+cells > maxLong || uint64(h.owners.all.len())+cells > maxOwners:
		return fmt.Errorf("%w: %d versions beside those of the operations", ErrFull, m.extras)
	case uint64(h.ops.words.n)+ops*maxWords > maxWordIndex || uint64(h.ops.wides.len())+ops > maxWordIndex:
		return fmt.Errorf("%w: %d long values", ErrFull, h.ops.words.n)
	case uint64(h.ops.n)+uint64(h.nodes.live)+ops+1 > maxTime || uint64(len(h.ops.all))+2*ops >= maxSites:
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

// lifeSite makes s, which is empty, the site of the event.
func (h *History) lifeSite(s *site, ev *trace.Event, k OpKind) {
	s.pc, s.thread, s.flags, s.kind, s.name = uint64(ev.PC), ev.Thread, ev.Flags, k, h.ops.name(ev.Name)
}

// die ends a node with an operation of its own.
func (h *History) die(ev *trace.Event, id NodeID) uint32 {
	var s site
	h.lifeSite(&s, ev, OpDeath)
	if !h.ops.none {
		s.high = h.nodes.intern(0, ev.Stack)
	}
	t := h.ops.addAt(&s, 0, uint32(id), 0, ev.Wall)
	h.end(id, t)
	return t
}

func (h *History) end(id NodeID, t uint32) {
	n := h.nodes.at(id)
	h.setAlive(n.start, n.size, false)
	h.nodes.end(id, t)
	if h.ops.none {
		h.died = append(h.died, id)
	}
}

// clear ends what still lives in [addr, addr+size), because a new block is
// there: a free was missed.
func (h *History) clear(ev *trace.Event, addr, size uint64, except NodeID) {
	if h.vacant(addr, max(size, 1)) {
		return
	}
	h.hits = h.overlapping(h.hits, addr, max(size, 1), h.ops.n)
	for _, id := range h.hits {
		if id == except || h.nodes.at(id).is(nodeArena) {
			continue
		}
		if !h.nodes.at(id).is(nodeTracked | nodeBefore) { // one found before may have been on its way to being free
			h.anomaly(AllocOverLive, ev, trace.Addr(addr), id)
		}
		h.die(ev, id)
	}
}

func (h *History) applyAlloc(ev *trace.Event, addr trace.Addr) {
	if addr == 0 || !h.plausible(ev, addr, ev.Size) {
		return
	}
	if ev.Flags&trace.FlagBefore != 0 {
		h.found(ev)
		return
	}
	h.clear(ev, uint64(addr), ev.Size, 0)
	h.birth(ev)
}

// found takes in a block that was there before the history: no operation makes
// it. Its bytes are those of the image.
func (h *History) found(ev *trace.Event) {
	if len(h.overlapping(h.hits[:0], uint64(ev.Addr), max(ev.Size, 1), h.ops.n)) > 0 {
		h.anomaly(AllocOverLive, ev, ev.Addr, 0)
		return
	}
	id := h.newNode(ev)
	n := h.nodes.at(id)
	n.birth = h.ops.n
	n.flags |= nodeBefore
	h.own(id, n.start, n.size, n.birth)
	h.setAlive(n.start, n.size, true)
}

// birth appends the birth of the event's block.
func (h *History) birth(ev *trace.Event) NodeID {
	id := h.newNode(ev)
	var s site
	h.lifeSite(&s, ev, OpBirth)
	s.high = h.nodes.at(id).origin
	t := h.ops.addAt(&s, 0, uint32(id), 0, ev.Wall)
	h.nodes.at(id).birth = t
	h.own(id, uint64(ev.Addr), ev.Size, t)
	h.setAlive(uint64(ev.Addr), ev.Size, true)
	h.recent[uint64(ev.Addr)/granule%recentNodes] = id // it is filled in next
	return id
}

func (h *History) newNode(ev *trace.Event) NodeID {
	n := node{start: uint64(ev.Addr), size: ev.Size, origin: h.nodes.intern(h.ops.name(ev.Name), ev.Stack)}
	if ev.Flags&trace.FlagZeroed != 0 {
		n.flags = nodeZeroed
	}
	return h.nodes.add(n)
}

// applyFree ends the node at addr. Anything else at addr is an anomaly.
func (h *History) applyFree(ev *trace.Event, addr trace.Addr) {
	if addr == 0 {
		return
	}
	id := h.freed.id
	if h.freed.addr != uint64(addr) || h.freed.now != h.ops.n {
		id = h.startingAt(uint64(addr), h.ops.n)
	}
	if id != 0 {
		h.die(ev, id)
		return
	}
	h.badFree(ev, addr)
}

// start is the block that starts at an address, 0 if none does, when there were
// so many operations.
type start struct {
	addr uint64
	now  uint32
	id   NodeID
}

// Freeable reports whether a live block starts at addr now: whether a free of it
// that is applied next fits.
func (h *History) Freeable(addr trace.Addr) bool {
	h.freed = start{uint64(addr), h.ops.n, h.startingAt(uint64(addr), h.ops.n)}
	return h.freed.id != 0
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
		case n.start == uint64(addr) && !h.mapped.between(uint64(addr), n.death, h.ops.n+1):
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
		if old = h.unmappedBy(ev.Thread, ev.Aux); old != 0 {
			delete(h.unmapped, ev.Thread)
			h.clear(ev, uint64(ev.Addr), ev.Size, 0)
			h.move(ev, old)
			return
		}
		h.badFree(ev, trace.Addr(ev.Aux))
		h.applyAlloc(ev, ev.Addr)
		return
	}
	if uint64(ev.Addr) != ev.Aux {
		h.clear(ev, uint64(ev.Addr), ev.Size, old)
		h.move(ev, old)
		return
	}
	if had := h.nodes.at(old).size; ev.Size > had {
		h.clear(ev, uint64(ev.Addr)+had, ev.Size-had, old)
	}
	h.resize(ev, old)
}

func (h *History) resize(ev *trace.Event, id NodeID) {
	var s site
	h.lifeSite(&s, ev, OpResize)
	t := h.ops.addAt(&s, 0, uint32(id), 0, ev.Wall)
	n := h.nodes.at(id)
	had := n.size
	h.nodes.setSize(id, ev.Size, t)
	switch {
	case had < h.nodes.huge.least && ev.Size >= h.nodes.huge.least:
		h.own(id, n.start, ev.Size, t)
	case ev.Size > had:
		h.own(id, n.start+had, ev.Size-had, t)
	}
	from := n.start
	if max(had, ev.Size) < h.nodes.huge.least { // pages before the end of the shorter one are as they were
		from = max(from, (n.start+min(had, ev.Size))&^pageMask)
	}
	h.setAlive(from, n.start+had-from, false)
	h.setAlive(from, n.start+ev.Size-from, true)
}

// move ends old, unless an unmap has, and begins its successor with the bytes carried over.
func (h *History) move(ev *trace.Event, old NodeID) {
	size := min(h.nodes.at(old).size, ev.Size)
	var m move
	if !h.ops.none {
		m = h.carry(old, size)
	}
	id := h.newNode(ev)
	var s site
	h.lifeSite(&s, ev, OpMove)
	s.shape = shapeMove
	t := h.ops.addAt(&s, 0, uint32(id), uint32(len(h.ops.moves)), ev.Wall)
	if !h.ops.none {
		h.ops.moves = append(h.ops.moves, m)
	}
	if h.nodes.at(old).death == 0 {
		h.end(old, t)
	}
	n := h.nodes.at(id)
	n.birth = t
	n.flags = n.flags&^nodeZeroed | nodeRare
	h.nodes.rare[id] = rare{moved: old}
	h.own(id, uint64(ev.Addr), ev.Size, t)
	h.setAlive(uint64(ev.Addr), ev.Size, true)
	if size > 0 && !h.ops.none {
		h.mem.write(uint64(ev.Addr), size, t)
	}
}

// applyUnmap ends the nodes that lie wholly in the range.
func (h *History) applyUnmap(ev *trace.Event) {
	if ev.Size == 0 || !h.plausible(ev, ev.Addr, ev.Size) {
		return
	}
	lo, hi := uint64(ev.Addr), uint64(ev.Addr)+ev.Size
	before := h.ops.n
	h.hits = h.overlapping(h.hits, lo, ev.Size, before)
	for _, id := range h.hits {
		if n := h.nodes.at(id); n.start >= lo && n.start+n.size <= hi {
			h.die(ev, id)
		}
	}
	if h.ops.n > before {
		h.unmapped[ev.Thread] = span{before, h.ops.n}
	}
	h.mapped.add(mapping{h.ops.n, lo, hi})
}

// unmappedBy is the node that started at addr and that the thread's last unmap has ended; 0 if
// that is none. An allocator moves a large block by mapping its memory elsewhere (mremap),
// which is told before the realloc that does it.
func (h *History) unmappedBy(thread trace.ThreadID, addr uint64) NodeID {
	last, ok := h.unmapped[thread]
	if !ok {
		return 0
	}
	id := h.formerAt(addr, h.ops.n)
	if id == 0 {
		return 0
	}
	if n := h.nodes.at(id); n.start == addr && !n.is(nodeFixed) && n.death > last.after && n.death <= last.to {
		return id
	}
	return 0
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
	n.origin = h.nodes.intern(h.ops.name(ev.Name), nil)
	n.flags |= nodeRare
	h.nodes.rare[id] = rare{global: trace.GlobalID(ev.Aux)}
}

// arena makes a node of memory that was mapped, or lets the one grow that ends
// there (brk). Blocks are looked for before it: liveAt asks the pages first.
func (h *History) arena(addr, size uint64) {
	if size == 0 {
		return
	}
	if last := h.lastArena; last != 0 {
		if n := h.nodes.at(last); n.start+n.size == addr && n.death == 0 {
			n.size += size
			h.nodes.longest = max(h.nodes.longest, n.size)
			return
		}
	}
	h.lastArena = h.fix(addr, size)
	h.nodes.at(h.lastArena).flags |= nodeTracked | nodeArena
}

// fix makes a node that no operation made, alive from now on.
func (h *History) fix(addr, size uint64) NodeID {
	id := h.nodes.add(node{start: addr, size: size, birth: h.ops.n, flags: nodeFixed})
	h.nodes.insertFixed(id)
	return id
}
