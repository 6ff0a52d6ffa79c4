package mgpp

import (
	"encoding/binary"
	"slices"

	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

// snapshot is the graph at a time, without the bytes of the operations in
// undone (overlay.go).
type snapshot struct {
	h      *History
	t      uint32
	undone *[]uint32 // nil: none; most snapshots are small
}

// At returns the memory graph at t: nodes with birth <= t < death, bytes as of
// their newest version at or before t. Times after Now are Now.
func (h *History) At(t Timestamp) View { return &snapshot{h: h, t: h.clip(t)} }

// without are the operations that are undone.
func (s *snapshot) without() []uint32 {
	if s.undone == nil {
		return nil
	}
	return *s.undone
}

func (s *snapshot) Time() Timestamp { return Timestamp(s.t) }

func (s *snapshot) Node(id NodeID) (Node, bool) {
	return s.h.NodeThen(id, Timestamp(s.t))
}

func (s *snapshot) NodeAt(addr trace.Addr) (NodeID, bool) {
	id := s.h.liveAt(uint64(addr), s.t)
	return id, id != 0
}

func (s *snapshot) Read(addr trace.Addr, b *Bytes) bool {
	return s.h.read(uint64(addr), b, s.t, s.without(), nil)
}

func (s *snapshot) Target(addr trace.Addr, as coded.Pointer) Target {
	return s.h.target(uint64(addr), as, s.t, s.without())
}

// read fills b from the live node at addr. times, if not nil, receives each
// byte's version.
func (h *History) read(addr uint64, b *Bytes, t uint32, undone, times []uint32) bool {
	id := h.liveAt(addr, t)
	if id == 0 {
		return false
	}
	if n := len(b.Data); n > 1 && !h.holds(id, addr+uint64(n)-1, t) {
		return false
	}
	h.readNode(id, addr-h.nodes.at(id).start, b, t, undone, times)
	return true
}

// readNode fills b with the bytes of the node from offset off on, at t.
func (h *History) readNode(id NodeID, off uint64, b *Bytes, t uint32, undone, times []uint32) {
	n := len(b.Data)
	b.Written = slices.Grow(b.Written[:0], n)[:n]
	b.Newest = 0
	addr := h.nodes.at(id).start + off
	if undone == nil && times == nil && n <= 8 {
		if v := h.mem.single(addr, uint32(n), t); v != 0 && v >= h.nodes.at(id).birth && !h.nodes.at(id).is(nodeResized) {
			h.fetch(v, addr, b, 0, n)
			b.Newest = Timestamp(v)
			return
		}
	}
	var window [64]uint32
	for i := 0; i < n; i += len(window) {
		k := min(len(window), n-i)
		h.mem.times(addr+uint64(i), window[:k], t)
		if undone != nil {
			h.undo(addr+uint64(i), window[:k], undone)
		}
		h.readWindow(id, off+uint64(i), window[:k], b, i, t)
		if times != nil {
			copy(times[i:], window[:k])
		}
	}
}

// undo replaces each version that is undone by the one before it.
func (h *History) undo(addr uint64, times, undone []uint32) {
	for i := range times {
		for times[i] != 0 && slices.Contains(undone, times[i]) {
			h.mem.times(addr+uint64(i), times[i:i+1], times[i]-1)
		}
	}
}

// readWindow fills b from index i on with the bytes whose versions are times,
// and changes times to what counts: a version from before the byte belonged to
// the node is none.
func (h *History) readWindow(id NodeID, off uint64, times []uint32, b *Bytes, i int, t uint32) {
	n := h.nodes.at(id)
	for j := 0; j < len(times); {
		since, most := n.birth, len(times)
		if n.is(nodeResized) {
			var until uint64
			since, until = h.nodes.since(id, off+uint64(j), t)
			most = int(min(uint64(most), until-off))
		}
		v := times[j]
		k := j + 1
		for k < most && times[k] == v {
			k++
		}
		if v != 0 && v >= since {
			h.fetch(v, n.start+off+uint64(j), b, i+j, k-j)
		} else {
			v = h.unversioned(id, since, off+uint64(j), b, i+j, k-j)
			for q := j; q < k; q++ {
				times[q] = v
			}
		}
		b.Newest = max(b.Newest, Timestamp(v))
		j = k
	}
}

// versions fills times with the versions of the node's bytes from offset off on, at t, as
// readNode tells them: one from before the byte belonged to the node is none.
func (h *History) versions(id NodeID, off uint64, times []uint32, t uint32) {
	n, born := h.nodes.at(id), h.nodes.bornSize(id)
	h.mem.times(n.start+off, times, t)
	since, until := n.birth, uint64(0)
	for i, v := range times {
		at := off + uint64(i)
		if n.is(nodeResized) && at >= until {
			since, until = h.nodes.since(id, at, t)
		}
		if v != 0 && v >= since {
			continue
		}
		times[i] = 0
		if n.is(nodeZeroed) && since == n.birth && at < born {
			times[i] = n.birth
		}
	}
}

// unversioned fills m bytes that no operation has written: calloc's zeros, the
// image of an object that was there before, or unwritten.
func (h *History) unversioned(id NodeID, since uint32, off uint64, b *Bytes, i, m int) uint32 {
	n, born := h.nodes.at(id), h.nodes.bornSize(id)
	var v uint32
	for q := range m {
		b.Data[i+q], b.Written[i+q] = 0, false
		switch {
		case n.is(nodeZeroed) && since == n.birth && off+uint64(q) < born:
			b.Written[i+q] = true
			v = n.birth
		case n.is(nodeFixed), n.is(nodeBefore) && since == n.birth && off+uint64(q) < born:
			b.Data[i+q], b.Written[i+q] = h.mem.imageByte(n.start + off + uint64(q))
		}
	}
	return v
}

// target resolves the pointer cell at addr.
func (h *History) target(addr uint64, as coded.Pointer, t uint32, undone []uint32) Target {
	if undone == nil {
		if value, v := h.plainWord(addr, t); v != 0 {
			return h.resolve(as.Decode(value, addr), v, t)
		}
	}
	var data [8]byte
	var written [8]bool
	var times [8]uint32
	b := Bytes{Data: data[:], Written: written[:]}
	if !h.read(addr, &b, t, undone, times[:]) || slices.Contains(b.Written, false) {
		return Target{}
	}
	h.origins(times[:], addr)
	since := slices.Max(times[:])
	return h.resolve(as.Decode(binary.LittleEndian.Uint64(data[:]), addr), since, t)
}

// Number reads size bytes at addr as a number, eight at most. It is not ok where one of them is not known. Of a history's own view
// that takes no memory, and of a word that was written as one no search for its bytes.
func Number(v View, addr trace.Addr, size int) (n uint64, ok bool) {
	for p, changed := v.(*patched); changed; p, changed = v.(*patched) {
		if _, data := p.overlap(addr, size); data != nil {
			break
		}
		v = p.View
	}
	s, own := v.(*snapshot)
	if own && size == 8 && s.undone == nil {
		if n, stored := s.h.plainWord(uint64(addr), s.t); stored != 0 {
			return n, true
		}
	}
	var data [8]byte
	var written [8]bool
	if own {
		b := Bytes{Data: data[:size], Written: written[:size]}
		ok = s.h.read(uint64(addr), &b, s.t, s.without(), nil)
	} else {
		b := Bytes{Data: make([]byte, size), Written: make([]bool, size)}
		ok = v.Read(addr, &b)
		copy(data[:], b.Data)
		copy(written[:], b.Written)
	}
	if !ok || slices.Contains(written[:size], false) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(data[:]), true
}

// plainWord returns the word at addr, in a live node, and when it was stored, if that
// was by one write: as nearly all pointers are. The time is 0 where it takes a longer look.
func (h *History) plainWord(addr uint64, t uint32) (value uint64, stored uint32) {
	if addr&7 != 0 {
		return 0, 0
	}
	p := h.mem.lookup(addr)
	v := h.mem.singleIn(p, addr, 8, t)
	if v == 0 {
		return 0, 0
	}
	id := h.liveIn(p, addr, t)
	if id == 0 {
		id = h.liveApart(addr, t)
	}
	if n := h.nodes.at(id); id == 0 || n.is(nodeResized) || v < n.birth || addr-n.start+8 > n.size {
		return 0, 0
	}
	if value, known := h.wordOf(v, addr); known {
		return value, v
	}
	return 0, 0
}

// wordOf returns the word at addr as a write made it that wrote all of it, if its bytes are
// known.
func (h *History) wordOf(t uint32, addr uint64) (value uint64, known bool) {
	s := h.ops.site(t)
	switch s.shape {
	case shapeInline:
		return uint64(s.high)<<32 | uint64(h.ops.value(t)), true
	case shapeZeros:
		return 0, true
	}
	start, _ := h.extent(t)
	off := addr - start
	switch s.shape {
	case shapeWords:
		return h.ops.words.word(h.ops.value(t), off), true
	case shapeWide:
		w := h.ops.wides.at(int(h.ops.word(t)))
		if w.fill && off+8 <= w.size {
			return uint64(h.ops.arena.get(w.data, 1)[0]) * 0x0101010101010101, true
		}
		if off+8 <= w.known {
			return binary.LittleEndian.Uint64(h.ops.arena.get(w.data, w.known)[off:]), true
		}
	}
	return 0, false
}

// resolve says what a value that was stored at `since` leads to at t. The node
// is that which it pointed into when it was stored.
func (h *History) resolve(value uint64, since, t uint32) Target {
	r := Target{State: Null, Value: value, Since: Timestamp(since)}
	if value == 0 {
		return r
	}
	id := h.liveAt(value, since)
	if h.options.Arenas && (id == 0 || !h.nodes.at(id).alive(t)) {
		id = h.liveAt(value, t) // freed memory is the allocator's, and alive
	}
	if id == 0 {
		r.State = Wild
		r.Past = h.liveAt(value-1, since)
		if f := h.formerAt(value, since); f != 0 && r.Past == 0 {
			r.State, r.Node, r.Offset = Dangling, f, value-h.nodes.at(f).start
			r.Reused = h.liveAt(value, t)
		}
		return r
	}
	n := h.nodes.at(id)
	switch {
	case !n.alive(t):
		r.State, r.Node, r.Offset, r.Reused = Dangling, id, value-n.start, h.liveAt(value, t)
	case !h.holds(id, value, t):
		r.State, r.Past = Wild, id
	default:
		r.State, r.Node, r.Offset = Points, id, value-n.start
	}
	return r
}
