package mgpp

import "slices"

// What a realloc carries over.

// carry is the move of the first size bytes of a node. Where they came through many moves
// it notes where each was stored, and when.
func (h *History) carry(old NodeID, size uint64) move {
	m := move{old: old, size: size, behind: 1}
	if n := h.nodes.at(old); n.is(nodeRare) && h.nodes.rare[old].moved != 0 {
		m.behind += h.ops.moves[h.ops.value(n.birth)].behind
	}
	if m.behind <= maxBehind {
		return m
	}
	m.behind = 0
	now := h.ops.n
	if n := h.nodes.at(old); n.death != 0 {
		now = n.death - 1
	}
	c := carrier{h: h}
	c.take(old, 0, size, now)
	m.runs = slices.Clone(c.runs) // which has no room for more
	return m
}

// carried copies bytes that a move carried, from offset off of the block on, and says which are
// known.
func (h *History) carried(m *move, off uint64, data []byte, known []bool) {
	for r := m.runAt(off); len(data) > 0; r++ {
		k := uint64(len(data))
		if r+1 < len(m.runs) {
			k = min(k, m.runs[r+1].off()-off)
		}
		h.stored(m.runs[r], off, data[:k], known[:k])
		data, known, off = data[k:], known[k:], off+k
	}
}

// stored copies the bytes of a run.
func (h *History) stored(r run, off uint64, data []byte, known []bool) {
	switch t := r.origin(); {
	case !r.known(), t != 0 && h.ops.site(t).kind == OpBirth: // or zeros
		clear(data)
	case t == 0:
		for i := range data {
			data[i], _ = h.mem.imageByte(h.nodes.at(r.node).start + off + uint64(i))
		}
	default:
		h.fetch(t, h.nodes.at(r.node).start+off, &Bytes{Data: data, Written: known}, 0, len(data))
	}
	setAll(known, r.known())
}

// A carrier finds where the bytes of a block were stored, through the moves that brought it
// there. A block that is moved often is mostly as it was, so whole stretches of it are followed,
// not bytes, and none is copied: a program may let an array of megabytes grow a hundred
// thousand times, whose allocator maps it elsewhere each time and copies nothing.
type carrier struct {
	h    *History
	runs []run
}

// take finds n bytes of a node from off on, as they were at t.
func (c *carrier) take(id NodeID, off, n uint64, t uint32) {
	node := c.h.nodes.at(id)
	c.h.mem.eachStretch(node.start+off, n, t, func(k uint64, v uint32) {
		for k > 0 {
			since, some := node.birth, k
			if node.is(nodeResized) {
				var until uint64
				since, until = c.h.nodes.since(id, off, t)
				some = min(k, until-off)
			}
			if v == 0 || v < since {
				c.unwritten(id, since, off, some)
			} else {
				c.written(id, v, off, some)
			}
			off, k = off+some, k-some
		}
	})
}

// written finds n bytes that the operation v has stored in a node.
func (c *carrier) written(id NodeID, v uint32, off, n uint64) {
	if c.h.ops.site(v).kind != OpMove {
		known := min(n, c.h.knownFrom(v, c.h.nodes.at(id).start+off))
		c.run(off, known, v, true, id)
		c.run(off+known, n-known, v, false, 0)
		return
	}
	m := &c.h.ops.moves[c.h.ops.value(v)]
	if m.behind > 0 {
		c.take(m.old, off, n, c.h.nodes.at(m.old).death-1)
		return
	}
	for i, end := m.runAt(off), off+n; i < len(m.runs) && m.runs[i].off() < end; i++ {
		r := m.runs[i]
		c.run(max(off, r.off()), 1, r.origin(), r.known(), r.node)
	}
}

// unwritten finds n bytes that no operation has written since they belong to the node.
func (c *carrier) unwritten(id NodeID, since uint32, off, n uint64) {
	var data [64]byte
	var known [64]bool
	if node := c.h.nodes.at(id); !node.is(nodeZeroed | nodeFixed | nodeBefore) {
		c.run(off, n, 0, false, 0)
		return
	}
	for n > 0 {
		k := min(n, uint64(len(data)))
		v := c.h.unversioned(id, since, off, &Bytes{Data: data[:], Written: known[:]}, 0, int(k))
		for i, is := range known[:k] {
			if is {
				c.run(off+uint64(i), 1, v, true, id)
			} else {
				c.run(off+uint64(i), 1, v, false, 0)
			}
		}
		off, n = off+k, n-k
	}
}

// run notes a run of n bytes, if there are any.
func (c *carrier) run(off, n uint64, origin uint32, known bool, node NodeID) {
	if n == 0 {
		return
	}
	r := newRun(off, origin, known, node)
	if k := len(c.runs); k == 0 || c.runs[k-1].stored != r.stored || c.runs[k-1].node != r.node {
		c.runs = append(c.runs, r)
	}
}

// knownFrom is how many of the bytes that an operation has stored are known from addr on, at
// the least.
func (h *History) knownFrom(t uint32, addr uint64) uint64 {
	if h.ops.site(t).shape != shapeWide {
		return ^uint64(0)
	}
	w := h.ops.wides.at(int(h.ops.word(t)))
	return w.known - min(addr-w.addr, w.known)
}

// eachStretch calls f with the lengths of what the range consists of, and with the newest
// version at or before t that all bytes of a stretch have in common; 0: none.
func (m *memory) eachStretch(addr, n uint64, t uint32, f func(n uint64, v uint32)) {
	var length uint64
	var version uint32
	add := func(k uint64, v uint32) {
		if v != version && length > 0 {
			f(length, version)
			length = 0
		}
		length, version = length+k, v
	}
	for n > 0 {
		o := addr & pageMask
		k := min(n, pageSize-o)
		if p := m.lookup(addr); p == nil {
			add(k, 0)
		} else {
			m.eachStretchIn(p, o, k, t, add)
		}
		addr, n = addr+k, n-k
	}
	if length > 0 {
		f(length, version)
	}
}

// eachStretchIn is eachStretch in one page; neighbours may have the same version.
func (m *memory) eachStretchIn(p *page, o, n uint64, t uint32, add func(n uint64, v uint32)) {
	whole := m.find(p.whole, t)
	if p.words == nil {
		add(n, whole)
		return
	}
	for end := o + n; o < end; {
		from := o
		for o < end && p.words[o>>3] == 0 { // never written but with the page
			o = min(o&^7+8, end)
		}
		if o > from {
			add(o-from, whole)
			continue
		}
		k := min(o&^7+8, end) - o
		if h := p.words[o>>3]; h.split() {
			var times [8]uint32
			m.cellTimes(h, 8, uint32(o&7), times[:k], t, whole)
			for _, v := range times[:k] {
				add(1, v)
			}
		} else {
			add(k, max(whole, m.find(h, t)))
		}
		o += k
	}
}
