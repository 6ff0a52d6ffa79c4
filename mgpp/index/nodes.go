package index

import (
	"fmt"
	"hash/crc32"
	"io"
	"iter"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// node is a row of the table of nodes, or what a row of cover tells of it.
type node struct {
	id           mgpp.NodeID
	birth, death uint64 // death: alive if it never died
	start, size  uint64 // size: its last
	what         uint64 // the bits; of a whole one its origin too
	group        uint64

	// Only a whole one has what follows.
	whole   bool
	special uint64
	rank    uint64 // it is number rank of its group, from 1
}

func (n *node) is(bit uint64) bool  { return n.what&bit != 0 }
func (n *node) origin() int         { return int(n.what >> whatBits) }
func (n *node) alive(t uint64) bool { return n.birth <= t && t < n.death }
func (n *node) global() bool        { return n.is(bitFixed) && !n.is(bitTracked) }

// moved is the node that a node was before a realloc, 0 if it is none of that.
func (x *Index) moved(n *node) mgpp.NodeID {
	if !n.is(bitMoved) {
		return 0
	}
	w, _ := x.whole(n.id)
	return mgpp.NodeID(w.special)
}

// node returns a node, whole or not.
func (x *Index) node(id mgpp.NodeID) (n node, ok bool) {
	if have := x.known.find(id); have != nil {
		return *have, true
	}
	return x.whole(id)
}

// whole returns a node with all that is known of it.
func (x *Index) whole(id mgpp.NodeID) (n node, ok bool) {
	if id == 0 || int(id) > x.d.Nodes {
		return node{}, false
	}
	if have := x.known.find(id); have != nil && have.whole {
		return *have, true
	}
	r, ok := x.rowAt(tabNodes, uint64(id)-1)
	if !ok {
		return node{}, false
	}
	return *x.known.add(node{id: id, birth: r[0], death: r[4], start: r[2], size: r[3], what: r[5], whole: true, special: r[6], group: r[7], rank: r[8]}), true
}

// owner returns the node of a row of cover.
func (x *Index) owner(r *row) (n node, ok bool) {
	id := mgpp.NodeID(r[2])
	if have := x.known.find(id); have != nil {
		return *have, true
	}
	if r[6]&bitResized != 0 || id == 0 || int(id) > x.d.Nodes { // the row may be of a resize
		return x.whole(id)
	}
	return *x.known.add(node{id: id, birth: r[1], death: r[5], start: firstGranule(r[0]) - r[3], size: r[4], what: r[6] & whatMask, group: r[6] >> whatBits}), true
}

// NodeCount returns the number of nodes that ever were.
func (x *Index) NodeCount() int { return x.d.Nodes }

// bornBy is how many nodes were born at or before t: their numbers ascend.
func (x *Index) bornBy(t uint64) mgpp.NodeID {
	return mgpp.NodeID(x.search(tabNodes, t+1, 0))
}

// Node returns the node with its last size.
func (x *Index) Node(id mgpp.NodeID) mgpp.Node {
	n, ok := x.whole(id)
	if !ok {
		return mgpp.Node{}
	}
	out := x.nodeAt(&n, uint64(x.d.Now))
	o := x.origin(n.origin())
	out.Alloc, out.Stack = o.alloc, o.stack
	return out
}

// nodeAt is the node with its size at t, without where it comes from.
func (x *Index) nodeAt(n *node, t uint64) mgpp.Node {
	out := mgpp.Node{
		ID: n.id, Start: trace.Addr(n.start), Size: x.sizeAt(n, t), Birth: mgpp.Timestamp(n.birth),
		Tracked: n.is(bitTracked), Before: n.is(bitBefore),
	}
	if n.death != alive {
		out.Death = mgpp.Timestamp(n.death)
	}
	if n.global() {
		w, _ := x.whole(n.id)
		out.Global = trace.GlobalID(w.special)
	}
	out.Moved = x.moved(n)
	return out
}

// sizes are those of a node that was resized: at its birth, and from each time on.
func (x *Index) sizes(id mgpp.NodeID) (out []row) {
	x.scan(tabResizes, x.search(tabResizes, uint64(id), 0), func(r *row) bool {
		if r[0] != uint64(id) {
			return false
		}
		out = append(out, *r)
		return true
	})
	return out
}

func (x *Index) sizeAt(n *node, t uint64) uint64 {
	if !n.is(bitResized) {
		return n.size
	}
	list := x.sizes(n.id)
	size := n.size
	for i, r := range list {
		if i == 0 || r[1] <= t {
			size = r[2]
		}
	}
	return size
}

// since is from when on the byte at an offset, which is in the node at t, has been
// in it without a break.
func (x *Index) since(n *node, off, t uint64) uint64 {
	from := n.birth
	if !n.is(bitResized) {
		return from
	}
	before := uint64(0)
	for i, r := range x.sizes(n.id) {
		if i > 0 && r[1] > t {
			break
		}
		if i > 0 && before <= off && r[2] > off {
			from = r[1]
		}
		before = r[2]
	}
	return from
}

// bornSize is the node's size at its birth.
func (x *Index) bornSize(n *node) uint64 {
	if !n.is(bitResized) {
		return n.size
	}
	if list := x.sizes(n.id); len(list) > 0 {
		return list[0][2]
	}
	return n.size
}

// NodeSize returns the node's size at t.
func (x *Index) NodeSize(id mgpp.NodeID, t mgpp.Timestamp) uint64 {
	n, ok := x.node(id)
	if !ok {
		return 0
	}
	return x.sizeAt(&n, uint64(t))
}

// Resizes returns how the node was resized in place.
func (x *Index) Resizes(id mgpp.NodeID) (out []mgpp.Resize) {
	n, ok := x.node(id)
	if !ok || !n.is(bitResized) {
		return nil
	}
	was := uint64(0)
	for i, r := range x.sizes(id) {
		if i > 0 {
			out = append(out, mgpp.Resize{Time: mgpp.Timestamp(r[1]), Was: was, Size: r[2]})
		}
		was = r[2]
	}
	return out
}

func (x *Index) holds(n *node, addr, t uint64) bool {
	return addr >= n.start && addr-n.start < x.sizeAt(n, t)
}

// eachOwner gives the nodes that became owners of memory that covers addr at or
// before t, with the time, of each cover the newest first, until f returns false,
// which ends those of the cover.
func (x *Index) eachOwner(addr, t uint64, f func(n node, from uint64) bool) {
	for level := range x.d.MaxLevel + 1 {
		x.eachOwnerOf(coverKey(level, addr), t, f)
	}
}

// fewGranules is how many times 16 bytes of a range are looked up one by one; of a longer one
// all rows are read.
const fewGranules = 64

// eachOwnerIn gives the nodes that became owners of memory in a range at or before t, some
// several times, in no order; false may end those of a cover that are older. Where a place
// has more than most of them, older ones may be left out.
func (x *Index) eachOwnerIn(addr, size, t uint64, most int, f func(n node, from uint64) bool) {
	if size <= 16*fewGranules {
		for a := addr; a < addr+size; a = a&^15 + 16 {
			k := 0
			x.eachOwner(a, t, func(n node, from uint64) bool {
				k++
				return f(n, from) && k < most
			})
		}
		return
	}
	for level := range x.d.MaxLevel + 1 {
		last := coverKey(level, addr+size-1)
		x.scan(tabCover, x.search(tabCover, coverKey(level, addr), 0), func(r *row) bool {
			if r[0] > last {
				return false
			}
			if r[1] <= t {
				if n, ok := x.owner(r); ok {
					f(n, r[1])
				}
			}
			return true
		})
	}
}

// eachOwnerOf is eachOwner for one cover.
func (x *Index) eachOwnerOf(cover, t uint64, f func(n node, from uint64) bool) {
	x.eachBefore(tabCover, cover, t+1, func(r row) bool {
		n, ok := x.owner(&r)
		return ok && f(n, r[1])
	})
}

// liveAt returns the node that contains addr at t.
func (x *Index) liveAt(addr, t uint64) (found node, ok bool) {
	if x.latest.lives(addr, t) {
		return x.latest, true
	}
	recent := &x.recent[addr>>4%recentNodes]
	if recent.lives(addr, t) {
		return *recent, true
	}
	if found, ok = x.findLive(addr, t); ok && x.lasting(&found) {
		x.latest, *recent, x.recent[found.start>>4%recentNodes] = found, found, found
	}
	return found, ok
}

// lives says whether a node that is remembered by its address is what lives there.
func (n *node) lives(addr, t uint64) bool {
	return n.id != 0 && n.alive(t) && addr-n.start < n.size
}

// lasting says whether all bytes of a node are its own as long as it lives: it was not resized,
// and is a block, or an object in static memory, which ends where a block begins there, unless
// another one overlaps it.
func (x *Index) lasting(n *node) bool {
	return !n.is(bitResized) && (!n.is(bitFixed) || n.global() && !x.d.Overlap)
}

// overlapped says whether bytes of a node may be another one's too: both are in static memory.
func (x *Index) overlapped(n *node) bool { return n.is(bitFixed) && x.d.Overlap }

// findLive looks for blocks first, of which one is there at most: it may lie in memory
// that is a node, too. Of objects in static memory that overlap it is the one that begins last.
func (x *Index) findLive(addr, t uint64) (found node, ok bool) {
	for level := 0; level <= x.d.MaxLevel && (!ok || found.is(bitFixed)); level++ {
		x.eachOwnerOf(coverKey(level, addr), t, func(n node, _ uint64) bool {
			if n.alive(t) && x.holds(&n, addr, t) {
				if !ok || n.before(&found) {
					found, ok = n, true
				}
				return x.overlapped(&n)
			}
			// What was there before it began has ended; but it may have only the rest of
			// the granule.
			return n.is(bitResized) || n.is(bitFixed) || addr < n.start || addr-n.start >= n.size
		})
	}
	return found, ok
}

// before reports whether of two nodes with an address in common it is n that has it.
func (n *node) before(o *node) bool {
	if n.is(bitFixed) != o.is(bitFixed) {
		return o.is(bitFixed)
	}
	return n.start > o.start || n.start == o.start && n.id > o.id
}

// FormerAt returns the node that contained addr last, at or before t, alive or dead.
func (x *Index) FormerAt(addr trace.Addr, t mgpp.Timestamp) (mgpp.NodeID, bool) {
	n, ok := x.formerAt(uint64(addr), uint64(min(t, x.d.Now)))
	return n.id, ok
}

func (x *Index) formerAt(addr, t uint64) (found node, ok bool) {
	x.eachOwner(addr, t, func(n node, _ uint64) bool {
		if !x.holds(&n, addr, t) {
			return true
		}
		switch living := n.alive(t); {
		case !ok, living && (!found.alive(t) || n.before(&found)), !living && !found.alive(t) && n.death > found.death:
			found, ok = n, true
		}
		return x.overlapped(&n)
	})
	return found, ok
}

// Live returns the nodes alive at t, in order of birth.
func (x *Index) Live(t mgpp.Timestamp) iter.Seq[mgpp.NodeID] {
	return func(yield func(mgpp.NodeID) bool) {
		at := uint64(min(t, x.d.Now))
		tab := x.table(tabNodes)
		if !tab.Most && tab.Blocks > 0 {
			x.fail(fmt.Errorf("%w: no deaths of nodes", ErrCorrupt))
			return
		}
		if x.fail(tab.open()) {
			return
		}
		for b := range tab.Blocks {
			p, err := tab.page(b / pageBlocks)
			if x.fail(err) {
				return
			}
			if p.key(b % pageBlocks)[0] > at {
				return
			}
			if p.most(b%pageBlocks) <= at {
				continue // all had died
			}
			k, err := tab.block(b)
			if x.fail(err) {
				return
			}
			rows := k.rows(rows{})
			for i := range rows.len() {
				if r := rows.at(i); r[0] <= at && at < r[4] && !yield(mgpp.NodeID(r[1])) {
					return
				}
			}
		}
	}
}

// LiveCount is how many nodes are alive at t.
func (x *Index) LiveCount(t mgpp.Timestamp) int {
	at := uint64(min(t, x.d.Now))
	return int(x.bornBy(at)) - int(x.search(tabEnds, at+1, 0))
}

// origin reads an origin.
func (x *Index) origin(i int) origin {
	if o, ok := x.origins[i]; ok {
		return o
	}
	r, ok := x.rowAt(tabOrigins, uint64(i))
	if n := uint64(x.d.Origins.Len); !ok || r[1] > n || r[2] > n-r[1] {
		x.fail(fmt.Errorf("%w: origin %d", ErrCorrupt, i))
		return origin{}
	}
	b := make([]byte, r[2])
	if _, err := x.f.ReadAt(b, x.d.Origins.At+int64(r[1])); err != nil && err != io.EOF {
		x.fail(err)
		return origin{}
	}
	o, err := decodeOrigin(b)
	if err == nil && uint64(crc32.Checksum(b, castagnoli)) != r[3] {
		o, err = origin{}, ErrCorrupt
	}
	x.fail(err)
	x.origins[i] = o
	return o
}

// Count is how many groups nodes are in; group 0 is that of nodes which no allocator
// made.
func (x *Index) Count() int { return max(x.d.Groups, 1) }

// Of returns the group of a node.
func (x *Index) Of(id mgpp.NodeID) int {
	n, ok := x.node(id)
	if !ok || n.group >= uint64(x.Count()) {
		return 0
	}
	return int(n.group)
}

// Rank is how many nodes up to this one are in a group.
func (x *Index) Rank(group int, id mgpp.NodeID) int {
	if n, ok := x.whole(id); ok && n.group == uint64(group) {
		return int(n.rank)
	}
	return int(x.search(tabGroups, uint64(group), uint64(id)+1) - x.search(tabGroups, uint64(group), 0))
}

// chunkOf returns the number of the chunk that made the operation at t.
func (x *Index) chunkOf(t uint64) int { return x.chunks.of(t) }

// Touched returns the nodes that operations in (from, to] wrote to, made, resized or
// ended.
func (x *Index) Touched(from, to mgpp.Timestamp) []mgpp.Touch {
	seen := mgpp.Touches{}
	to = min(to, x.d.Now)
	a, b := uint64(from), uint64(to)
	if a >= b {
		return nil
	}
	x.ended(a, b, seen)
	if x.chunkOf(b)-x.chunkOf(a+1) < maxParts {
		x.written(a, b, seen)
	} else {
		for id := range x.Live(to) {
			if n, ok := x.node(id); ok && n.birth <= a && x.LastWrite(trace.Addr(n.start), x.sizeAt(&n, b), to) > from {
				seen.Write(id, 0, n.size)
			}
		}
	}
	list := seen.List()
	x.expect(list, a, b)
	return list
}

// ended adds the nodes that were born or died in (a, b], and those that were resized.
func (x *Index) ended(a, b uint64, seen mgpp.Touches) {
	for id := x.bornBy(a) + 1; id <= x.bornBy(b); id++ {
		seen.All(id)
	}
	x.scan(tabEnds, x.search(tabEnds, a+1, 0), func(r *row) bool {
		if r[0] > b {
			return false
		}
		seen.All(mgpp.NodeID(r[1]))
		return true
	})
	x.scan(tabResizes, 0, func(r *row) bool {
		if r[1] > a && r[1] <= b {
			seen.All(mgpp.NodeID(r[0]))
		}
		return true
	})
}
