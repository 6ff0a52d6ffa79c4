package mgpp

import "slices"

// carry is the move of the first size bytes of a node. Where they came through many moves
// it copies them, with the times of their storing.
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
	c := carrier{h: h, data: make([]byte, size), known: h.flags}
	c.take(old, 0, size, now)
	m.runs = slices.Clone(c.runs) // which has no room for more
	m.data = h.ops.arena.add(c.data)
	h.flags = c.known
	return m
}

// A carrier copies what a block held through the moves that brought it there. A block that is
// moved often is mostly as it was, so whole stretches of it are followed, not bytes: a program
// that lets an array of megabytes grow, and whose allocator maps it elsewhere each time, copies
// nothing.
type carrier struct {
	h     *History
	data  []byte // from the block's first byte on
	runs  []run
	known []bool // for one stretch
}

// take copies n bytes of a node from off on, as they were at t, to the same place.
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
				c.written(v, node.start, off, some)
			}
			off, k = off+some, k-some
		}
	})
}

// written copies n bytes that the operation v has stored in the node that starts at start.
func (c *carrier) written(v uint32, start, off, n uint64) {
	s := c.h.ops.site(v)
	if s.kind != OpMove {
		b := c.part(off, n)
		c.h.fetch(v, start+off, &b, 0, int(n))
		c.note(off, v, b.Written)
		return
	}
	m := &c.h.ops.moves[c.h.ops.value(v)]
	if m.behind > 0 {
		c.take(m.old, off, n, c.h.nodes.at(m.old).death-1)
		return
	}
	copy(c.data[off:off+n], c.h.ops.arena.get(m.data, m.size)[off:])
	for i, end := m.runAt(off), off+n; i < len(m.runs) && m.runs[i].off() < end; i++ {
		c.run(newRun(max(off, m.runs[i].off()), m.runs[i].origin(), m.runs[i].known()))
	}
}

// unwritten copies n bytes that no operation has written since they belong to the node.
func (c *carrier) unwritten(id NodeID, since uint32, off, n uint64) {
	b := c.part(off, n)
	v := c.h.unversioned(id, since, off, &b, 0, int(n))
	c.note(off, v, b.Written)
}

// part is a piece of the data, with flags of what is known of it.
func (c *carrier) part(off, n uint64) Bytes {
	c.known = slices.Grow(c.known[:0], int(n))[:n]
	return Bytes{Data: c.data[off : off+n], Written: c.known}
}

// note adds the runs of bytes that the operation v has stored.
func (c *carrier) note(off uint64, v uint32, known []bool) {
	for i, k := range known {
		if i == 0 || k != known[i-1] {
			c.run(newRun(off+uint64(i), v, k))
		}
	}
}

func (c *carrier) run(r run) {
	if k := len(c.runs); k == 0 || c.runs[k-1].stored != r.stored {
		c.runs = append(c.runs, r)
	}
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
