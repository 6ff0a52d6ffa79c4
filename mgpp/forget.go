package mgpp

import (
	"math/bits"
	"slices"
)

// thinned is what is left of a chunk of nodes of which some are forgotten.
type thinned struct {
	has    [slabChunk / 64]uint64 // a bit for each node of the chunk: it is left
	before [slabChunk / 64]uint16 // how many are, of those before each 64
	nodes  []node                 // that are left, ascending
}

// keep adds a node, behind those that have been added.
func (c *thinned) keep(id NodeID, n *node) {
	c.has[id%slabChunk/64] |= 1 << (id % 64)
	c.nodes = append(c.nodes, *n)
}

// count notes how many nodes are before which.
func (c *thinned) count() {
	n := 0
	for i, left := range c.has {
		c.before[i] = uint16(n)
		n += bits.OnesCount64(left)
	}
	c.nodes = slices.Clip(c.nodes)
}

// each gives the nodes that are left, with their numbers in the chunk.
func (c *thinned) each(f func(i uint32, n *node)) {
	at := 0
	for w, left := range c.has {
		for ; left != 0; left &= left - 1 {
			f(uint32(w*64+bits.TrailingZeros64(left)), &c.nodes[at])
			at++
		}
	}
}

// left returns a node of a chunk that has been thinned; nil if it is forgotten.
func (ns *nodes) left(id NodeID) *node {
	c := ns.thin[uint32(id)/slabChunk]
	word, bit := c.has[id%slabChunk/64], uint64(1)<<(id%64)
	if word&bit == 0 {
		return nil
	}
	return &c.nodes[int(c.before[id%slabChunk/64])+bits.OnesCount64(word&(bit-1))]
}

// Forget lets go of the nodes that no event to come can concern: all that have died but
// the last ones at each byte. It calls f with each of them before, in order of NodeID;
// what is asked about them later has no meaning. It is for a history of nodes only,
// whose memory it keeps proportional to the nodes that live and the memory that was
// theirs.
func (h *History) Forget(f func(NodeID)) {
	h.recent, h.freed = [recentNodes]NodeID{}, start{}
	h.nodes.forget(h.thinOwners(), f)
}

// Remembered is how many nodes are not forgotten.
func (h *History) Remembered() int { return h.NodeCount() - h.nodes.forgotten }

// forget forgets the nodes of all chunks that are full, but those that live and the
// given ones, which ascend.
func (ns *nodes) forget(but []NodeID, f func(NodeID)) {
	for c := range uint32(ns.all.n / slabChunk) {
		rest := new(thinned)
		keep := func(id NodeID, n *node) {
			for len(but) > 0 && but[0] < id {
				but = but[1:]
			}
			if id == 0 || n.death == 0 || len(but) > 0 && but[0] == id {
				rest.keep(id, n)
				return
			}
			f(id)
			delete(ns.resizes, id)
			delete(ns.rare, id)
			ns.forgotten++
		}
		if all := ns.all.chunks[c]; all != nil {
			for i := range all {
				keep(NodeID(c*slabChunk+uint32(i)), &all[i])
			}
			ns.all.chunks[c] = nil
			ns.thin = append(ns.thin, rest)
		} else {
			ns.thin[c].each(func(i uint32, n *node) { keep(NodeID(c*slabChunk+i), n) })
			ns.thin[c] = rest
		}
		rest.count()
	}
}

// thinOwners leaves out the owners of the past that no question about the present
// leads to. It returns the nodes that are left, and those that are in no page,
// ascending.
func (h *History) thinOwners() []NodeID {
	t := thinning{h: h, old: h.owners}
	h.owners = newOwners()
	for i := range h.mem.pages.len() {
		p := h.mem.pages.at(i)
		lo := p.number << pageBits
		floor := t.thin(&p.owner, lo, lo+pageSize, 0)
		if p.owners == nil {
			continue
		}
		for g := range p.owners.owner {
			at := lo + uint64(g)*granule
			t.thin(&p.owners.owner[g], at, at+granule, floor)
		}
	}
	ids := slices.Concat(t.ids, h.nodes.huge.all, h.nodes.fixed)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// thinning copies what is needed of all owners.
type thinning struct {
	h    *History
	old  owners
	ids  []NodeID
	kept []uint32 // of the chain that is copied, newest first

	// The chain that was copied last: its head, and what was kept of it. Neighbours
	// mostly have the same.
	last struct {
		kept []uint32
		head uint32
	}
}

// thin copies the chain of owners of [lo, hi), a granule or a page, without those at or
// before floor, and changes its head. Of the dead, an owner is needed if no newer one
// that has died had all its bytes: one that lives may shrink. It returns the time of
// the newest that has died and had all of [lo, hi); 0 if there is none.
func (t *thinning) thin(head *uint32, lo, hi uint64, floor uint32) (covered uint32) {
	t.kept = t.kept[:0]
	var bytes uint16 // of a granule, that newer owners had, which have died
	for i := *head; i != 0 && covered == 0; i = t.old.at(i).prev {
		r := t.old.at(i)
		if r.time <= floor && floor > 0 {
			break
		}
		switch n := t.h.nodes.at(r.node); {
		case n.death == 0: // it may shrink
		case n.start <= lo && hi <= n.start+n.size:
			covered = r.time
		case hi-lo == granule:
			had := n.bytesFrom(lo)
			if had&^bytes == 0 {
				continue
			}
			if bytes |= had; bytes == 1<<granule-1 {
				covered = r.time
			}
		}
		t.kept = append(t.kept, i)
	}
	if len(t.kept) > 0 && slices.Equal(t.kept, t.last.kept) {
		*head = t.last.head
		return covered
	}
	*head = 0
	for _, i := range slices.Backward(t.kept) {
		r := t.old.at(i)
		*head = t.h.owners.push(*head, r.node, r.time)
		t.ids = append(t.ids, r.node)
	}
	t.last.kept, t.last.head = append(t.last.kept[:0], t.kept...), *head
	return covered
}

// bytesFrom is which bytes of the granule at lo a node has.
func (n *node) bytesFrom(lo uint64) (m uint16) {
	for b := range uint64(granule) {
		if lo+b-n.start < n.size { // below start: wraps
			m |= 1 << b
		}
	}
	return m
}
