package mgpp

import "mgtrace/trace"

// Brief is what of an operation costs no search: enough to tell whether it
// matters.
type Brief struct {
	Kind   OpKind
	Addr   trace.Addr // of a write
	Size   uint64     // of a write, bytes
	Value  uint64     // of a store, if Valued
	Valued bool       // it is at hand: stores of most values of up to 8 bytes
	Node   NodeID     // what was born, died or was resized; OpMove: the new node
	Old    NodeID     // OpMove: the node that it was before
	Origin Origin     // OpBirth, OpMove: that of Node
}

// Origin is an allocator with a call stack, by number: nodes of one origin come
// from one place of the program.
type Origin uint32

// Brief makes b the operation at t in short; its Kind is OpNone if there is none.
func (h *History) Brief(t Timestamp, b *Brief) {
	*b = Brief{}
	if t == 0 || t > Timestamp(h.ops.n) {
		return
	}
	u := uint32(t)
	s := h.ops.site(u)
	b.Kind = s.kind
	switch s.kind {
	case OpStore, OpBulk, OpUnread:
		addr, size := h.extent(u)
		b.Addr, b.Size = trace.Addr(addr), size
		if s.shape == shapeInline {
			b.Value, b.Valued = uint64(s.high)<<32|uint64(h.ops.value(u)), true
		}
	case OpBirth:
		b.Node = h.maker(u)
		b.Origin = Origin(h.nodes.at(b.Node).origin)
	case OpMove:
		b.Node, b.Old = h.maker(u), h.ops.moves[h.ops.value(u)].old
		b.Origin = Origin(h.nodes.at(b.Node).origin)
	case OpDeath, OpResize:
		b.Node = h.maker(u)
	}
}

// Deed is who did an operation.
type Deed struct {
	Kind   OpKind
	Thread trace.ThreadID
	PC     trace.Addr
	Name   string // as Op's
	Size   uint64 // of a write, bytes
}

// Deed returns who did the operation at t, without a search; its Kind is OpNone if there is none.
func (h *History) Deed(t Timestamp) (d Deed) {
	if t == 0 || t > Timestamp(h.ops.n) {
		return d
	}
	s := h.ops.site(uint32(t))
	d = Deed{Kind: s.kind, Thread: s.thread, PC: trace.Addr(s.pc), Name: h.ops.names[s.name]}
	switch s.kind {
	case OpStore, OpBulk, OpUnread:
		_, d.Size = h.extent(uint32(t))
	}
	return d
}

// Wrote returns the word that the write at t put at an address, if it wrote all of it and its
// bytes are known. Where they are not, nobody knows the word from then on.
func (h *History) Wrote(t Timestamp, addr trace.Addr) (v uint64, known, all bool) {
	if lo, size := h.extent(uint32(t)); uint64(addr) < lo || uint64(addr)+8 > lo+size {
		return 0, false, false
	}
	v, known = h.wordOf(uint32(t), uint64(addr))
	return v, known, true
}

// Word returns the word at an address at t, in a live node, and when it was stored, if that was by
// one write that wrote all of it, as nearly all pointers are. The time is 0 where it takes a longer look.
func (h *History) Word(addr trace.Addr, t Timestamp) (v uint64, stored Timestamp) {
	v, at := h.plainWord(uint64(addr), h.clip(t))
	return v, Timestamp(at)
}

// Statement returns what an operation did, and the address of its statement, without a
// search.
func (h *History) Statement(t Timestamp) (OpKind, trace.Addr) {
	if t == 0 || t > Timestamp(h.ops.n) {
		return OpNone, 0
	}
	s := h.ops.site(uint32(t))
	return s.kind, trace.Addr(s.pc)
}

// Fixed reports whether no operation made the node: a declared object, or a
// block that was there before the history began.
func (h *History) Fixed(id NodeID) bool {
	if !h.has(id) {
		return false
	}
	n := h.nodes.at(id)
	return n.is(nodeBefore) || n.is(nodeFixed) && h.nodes.rare[id].global != 0
}

// Doubtful returns the i-th of the writes that may have gone beyond a live node,
// from 0, in order of time: those whose first byte lies in none, and those that
// run past the end of that in which it lies. A few others are among them; no
// write that does so is missing. It is not ok where there are no more.
func (h *History) Doubtful(i int) (t Timestamp, ok bool) {
	if i < 0 || i >= len(h.doubtful) {
		return 0, false
	}
	return Timestamp(h.doubtful[i]), true
}

// within reports whether a write lies wholly in the node that lives at its first
// byte now. The history must not have it yet: nodes are as the write finds them.
// p is the page of addr, nil if there is none.
func (h *History) within(p *page, addr, size uint64) (first, whole bool) {
	if p.inside(addr, size) {
		return true, true
	}
	id := h.inLive(p, addr)
	if p != nil && p.shared {
		id = h.liveAt(addr, h.ops.n)
	}
	if id == 0 {
		return p.inside(addr, 1), false
	}
	n := h.nodes.at(id)
	return true, size <= n.size-(addr-n.start)
}
