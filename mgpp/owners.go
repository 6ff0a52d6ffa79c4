package mgpp

// Ownership of memory has versions as bytes have. Every granule of 16 bytes
// names the newest operation that made a node its owner, and that the one
// before it. Granules that came to the same owner from the same past share
// their records: a block that takes the place of an equal one costs one.
//
// Chains of owners can be long (a loop that allocates and frees gets the same
// block each time), so each record has a second link, which leads further back
// the longer the chain is, such that any time is found in logarithmic steps:
// E. W. Myers, An applicative random-access stack, Information Processing
// Letters 17 (1983), 241-248.
type owner struct {
	time       uint32 // of the operation
	node       NodeID
	prev, jump uint32 // indices in owners.all; 0: none
	depth      uint32 // records below, this one included
}

const (
	ownerBytes = 20
	maxOwners  = 1 << 31
)

type owners struct {
	all slab[owner]
	// The last record made, and the head on which it was made.
	under, last uint32
}

func newOwners() owners {
	var o owners
	o.all.add(owner{})
	return o
}

func (o *owners) at(i uint32) *owner { return o.all.at(int(i)) }

// push makes the node the newest owner above head, and returns the new head.
func (o *owners) push(head uint32, id NodeID, t uint32) uint32 {
	if o.last != 0 && o.under == head {
		if l := o.at(o.last); l.time == t && l.node == id {
			return o.last
		}
	}
	below := o.at(head)
	if head != 0 && below.time == t && below.node == id {
		return head
	}
	i, r := o.all.next()
	r.time, r.node, r.prev, r.jump, r.depth = t, id, head, head, below.depth+1
	// Two jumps of one length below make one of twice the length.
	if j := o.at(below.jump); below.depth-j.depth == j.depth-o.at(j.jump).depth {
		r.jump = j.jump
	}
	o.under, o.last = head, uint32(i)
	return o.last
}

// find returns the newest record at or before t; 0 if there is none. Its time
// is 0 too, as that of the record at index 0 is.
func (o *owners) find(head, t uint32) uint32 {
	for head != 0 {
		r := o.at(head)
		if r.time <= t {
			break
		}
		head = r.prev
		if r.jump != 0 && o.at(r.jump).time > t {
			head = r.jump
		}
	}
	return head
}

// head returns the newest owner of addr's granule.
func (p *page) granuleOwner(addr uint64) uint32 {
	if p.owners == nil {
		return 0
	}
	return p.owners.owner[addr&pageMask/granule]
}

// own makes the node the owner of [start, start+size) from time t on.
func (h *History) own(id NodeID, start, size uint64, t uint32) {
	if h.nodes.at(id).size >= h.nodes.huge.least {
		h.nodes.addHuge(id)
		return
	}
	for end := start + max(size, 1); start < end; {
		p := h.mem.touch(start)
		o := start & pageMask
		k := min(end-start, pageSize-o)
		if k == pageSize {
			p.owner = h.owners.push(p.owner, id, t)
		} else {
			h.ownPart(p, id, o, k, t)
		}
		start += k
	}
}

func (h *History) ownPart(p *page, id NodeID, o, n uint64, t uint32) {
	if p.owners == nil {
		p.owners = new(granules)
	}
	var old, now uint32 // of the granule before: neighbours mostly agree
	for g := o / granule; g <= (o+n-1)/granule; g++ {
		if head := &p.owners.owner[g]; now != 0 && *head == old {
			*head = now
		} else {
			old = *head
			if q := h.owners.at(old).node; q != id && q != 0 && h.nodes.at(q).alive(t) {
				p.shared = true
			}
			now = h.owners.push(old, id, t)
			*head = now
		}
	}
}

// setAlive notes that [start, start+size) lies in a live node now, or that it
// does no more. Of a granule that does so in part only its first bytes ever count as alive.
func (h *History) setAlive(start, size uint64, alive bool) {
	if size >= h.nodes.huge.least {
		return // nor do those of the largest
	}
	lo, hi := start&^(granule-1), (start+size+granule-1)&^(granule-1)
	if alive {
		lo, hi = (start+granule-1)&^(granule-1), (start+size)&^(granule-1)
	}
	if end := start + size; alive && end%granule != 0 && end&^(granule-1) >= start {
		if p := h.mem.lookup(end); p != nil && p.owners != nil {
			// A node in an arena ends there: then all of the granule is alive.
			last := &p.owners.alive[end&pageMask/granule]
			*last = max(*last, uint8(end%granule))
		}
	}
	for lo < hi {
		o := lo & pageMask
		k := min(hi-lo, pageSize-o)
		if p := h.mem.lookup(lo); p != nil {
			p.setAlive(o/granule, (o+k)/granule, alive)
		}
		lo += k
	}
}

// setAlive is History.setAlive for granules [lo, hi) of a page.
func (p *page) setAlive(lo, hi uint64, alive bool) {
	if hi-lo == pageSize/granule {
		p.alive = alive
		if alive {
			return // one flag for all
		}
	}
	if p.owners != nil {
		part, bytes := p.owners.alive[lo:hi], uint8(0)
		if alive {
			bytes = granule
		}
		for i := range part {
			part[i] = bytes
		}
	}
}

// eachOwner calls f with the nodes that owned memory in addr's granule at or
// before t, newest first, until it returns false. Unless two nodes have ever
// shared a granule of the page only the newest can be alive, and only that is
// given; all asks for the others too.
func (h *History) eachOwner(p *page, addr uint64, t uint32, all bool, f func(NodeID) bool) {
	o := &h.owners
	a, b := o.find(p.granuleOwner(addr), t), o.find(p.owner, t)
	for a != 0 || b != 0 {
		x, y := o.at(a), o.at(b)
		if b == 0 || a != 0 && x.time > y.time {
			a = x.prev
		} else {
			x, b = y, y.prev
		}
		if !f(x.node) || !(all || p.shared) {
			return
		}
	}
}

// newestOwner returns the node that became an owner of addr's granule last at
// or before t.
func (h *History) newestOwner(p *page, addr uint64, t uint32) NodeID {
	i := h.owners.find(p.granuleOwner(addr), t)
	r := h.owners.at(i)
	if p.owner != 0 {
		if q := h.owners.at(h.owners.find(p.owner, t)); q.time > r.time || i == 0 {
			r = q
		}
	}
	return r.node
}
