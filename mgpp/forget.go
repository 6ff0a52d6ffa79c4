package mgpp

import "slices"

// thinned is what is left of a chunk of nodes of which some are forgotten.
type thinned struct {
	ids   []NodeID // ascending
	nodes []node   // of each
}

// left returns a node of a chunk that has been thinned; nil if it is forgotten.
func (ns *nodes) left(id NodeID) *node {
	c := ns.thin[uint32(id)/slabChunk]
	if i, ok := slices.BinarySearch(c.ids, id); ok {
		return &c.nodes[i]
	}
	return nil
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
	if ns.thin == nil {
		ns.thin = map[uint32]thinned{}
	}
	for c := range uint32(ns.all.n / slabChunk) {
		var rest thinned
		keep := func(id NodeID, n *node) {
			for len(but) > 0 && but[0] < id {
				but = but[1:]
			}
			if id == 0 || n.death == 0 || len(but) > 0 && but[0] == id {
				rest.ids, rest.nodes = append(rest.ids, id), append(rest.nodes, *n)
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
		} else {
			for i, id := range ns.thin[c].ids {
				keep(id, &ns.thin[c].nodes[i])
			}
		}
		ns.thin[c] = thinned{slices.Clip(rest.ids), slices.Clip(rest.nodes)}
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
	ids := slices.Concat(t.ids, h.nodes.huge, h.nodes.fixed)
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
