package mgpp

import (
	"bytes"
	"maps"
	"slices"

	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

// reference is the plainest history there is: a full copy of every node's
// bytes after each operation. The tests hold History to it.
type reference struct {
	slack uint64
	snaps []refGraph // by time
	log   []refOp    // by time; log[0] is unused
	dead  map[NodeID]refNode
	bases NodeID // newest NodeID
	image map[uint64]byte
	maps  []refMap
	bad   []AnomalyKind
	drops uint64

	unmapped map[NodeID]bool // by the last unmap that ended any
}

type refGraph map[NodeID]refNode

type refNode struct {
	start uint64
	bytes []refByte // never changed in place once in a snapshot
	birth uint32
	death uint32
	fixed bool
	track bool
}

type refByte struct {
	val    byte
	ok     bool
	newest uint32
	origin uint32
}

type refOp struct {
	kind        OpKind
	addr, size  uint64 // bytes written
	node, other NodeID
	data        []byte
	stray       bool
}

type refMap struct {
	time   uint32
	lo, hi uint64
}

func newReference(slack uint64) *reference {
	return &reference{slack: slack, snaps: []refGraph{{}}, log: []refOp{{}}, dead: map[NodeID]refNode{}, image: map[uint64]byte{}}
}

func (r *reference) now() uint32    { return uint32(len(r.snaps) - 1) }
func (r *reference) live() refGraph { return r.snaps[r.now()] }

// op appends an operation whose graph is a copy of the one before, and returns it.
func (r *reference) op(o refOp) (uint32, refGraph) {
	r.log = append(r.log, o)
	r.snaps = append(r.snaps, maps.Clone(r.live()))
	return r.now(), r.live()
}

func (n refNode) end() uint64         { return n.start + uint64(len(n.bytes)) }
func (n refNode) holds(a uint64) bool { return n.start <= a && a < n.end() }

// at prefers blocks to fixed nodes, and of those the innermost and youngest,
// as History does.
func (g refGraph) at(a uint64) NodeID {
	var found NodeID
	for id, n := range g {
		if !n.holds(a) {
			continue
		}
		f := g[found]
		if found == 0 || f.fixed && (!n.fixed || n.start > f.start || n.start == f.start && id > found) {
			found = id
		}
	}
	return found
}

func (g refGraph) starting(a uint64) NodeID {
	for id, n := range g {
		if n.start == a && !n.fixed {
			return id
		}
	}
	return 0
}

func (g refGraph) overlapping(lo, hi uint64) []NodeID {
	var ids []NodeID
	for id, n := range g {
		if n.start < hi && lo < n.start+max(1, uint64(len(n.bytes))) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// former returns the dead node that was at a last.
func (r *reference) former(a uint64) (best refNode, id NodeID) {
	for i, n := range r.dead {
		if n.holds(a) && (id == 0 || n.death > best.death) {
			best, id = n, i
		}
	}
	return best, id
}

func (r *reference) remapped(a uint64, since uint32) bool {
	for _, m := range r.maps {
		if m.time >= since && m.lo <= a && a < m.hi {
			return true
		}
	}
	return false
}

func (r *reference) apply(e *trace.Event) {
	switch e.Kind {
	case trace.KindStore, trace.KindBulk, trace.KindSyscall, trace.KindUnread:
		r.write(e)
	case trace.KindAlloc:
		r.clear(uint64(e.Addr), e.Size, 0)
		r.birth(e)
	case trace.KindFree:
		r.free(uint64(e.Addr))
	case trace.KindRealloc:
		r.realloc(e)
	case trace.KindUnmap:
		ended := map[NodeID]bool{}
		for _, id := range r.live().overlapping(uint64(e.Addr), uint64(e.Addr)+e.Size) {
			if n := r.live()[id]; n.start >= uint64(e.Addr) && n.end() <= uint64(e.Addr)+e.Size {
				r.die(id)
				ended[id] = true
			}
		}
		if len(ended) > 0 {
			r.unmapped = ended
		}
		r.maps = append(r.maps, refMap{r.now(), uint64(e.Addr), uint64(e.Addr) + e.Size})
	case trace.KindGlobal:
		for i, b := range e.Data {
			r.image[uint64(e.Addr)+uint64(i)] = b
		}
		r.fix(uint64(e.Addr), e.Size, false)
	}
}

func (r *reference) fix(addr, size uint64, track bool) NodeID {
	n := refNode{start: addr, bytes: make([]refByte, size), birth: r.now(), fixed: true, track: track}
	for i := range n.bytes {
		b, ok := r.image[addr+uint64(i)]
		n.bytes[i] = refByte{val: b, ok: ok}
	}
	r.bases++
	r.live()[r.bases] = n
	return r.bases
}

func (r *reference) enter(k OpKind, addr, size uint64) {
	t, g := r.op(refOp{kind: k})
	id := g.at(addr)
	if k == OpEnter && (id == 0 || !g[id].holds(addr+size-1)) {
		id = r.fix(addr, size, true)
	}
	r.log[t].node = id
}

func (r *reference) keep(e *trace.Event, lo, hi uint64) (stray, keep bool) {
	g := r.live()
	if g.at(lo) != 0 || hi-lo > 1 && len(g.overlapping(lo, hi)) > 0 {
		return false, true
	}
	if e.Base != 0 && uint64(e.Base) != lo && g.at(uint64(e.Base)) != 0 {
		return true, true
	}
	for _, a := range []uint64{lo, hi - 1} {
		if n, id := r.former(a); id != 0 && !r.remapped(a, n.death) {
			return true, true
		}
	}
	return true, len(g.overlapping(lo-r.slack, lo)) > 0 || len(g.overlapping(hi, hi+r.slack)) > 0
}

func (r *reference) write(e *trace.Event) {
	lo, hi := uint64(e.Addr), uint64(e.Addr)+e.Size
	if e.Size == 0 {
		return
	}
	stray, keep := r.keep(e, lo, hi)
	if !keep {
		r.drops++
		return
	}
	kind := map[trace.Kind]OpKind{trace.KindStore: OpStore, trace.KindBulk: OpBulk, trace.KindSyscall: OpBulk, trace.KindUnread: OpUnread}[e.Kind]
	data := slices.Clone(e.Data)
	if b, ok := e.Fill(); ok {
		data = bytes.Repeat([]byte{b}, int(e.Size))
	}
	t, g := r.op(refOp{kind: kind, addr: lo, size: e.Size, data: data, stray: stray})
	for id, n := range g {
		if n.start >= hi || lo >= n.end() {
			continue
		}
		n.bytes = slices.Clone(n.bytes)
		for a := max(lo, n.start); a < min(hi, n.end()); a++ {
			b := refByte{newest: t, origin: t}
			if i := a - lo; i < uint64(len(data)) {
				b.val, b.ok = data[i], true
			}
			n.bytes[a-n.start] = b
		}
		g[id] = n
	}
}

func (r *reference) die(id NodeID) {
	t, g := r.op(refOp{kind: OpDeath, node: id})
	r.bury(g, id, t)
}

func (r *reference) bury(g refGraph, id NodeID, t uint32) {
	n := g[id]
	n.death = t
	r.dead[id] = n
	delete(g, id)
}

func (r *reference) clear(addr, size uint64, except NodeID) {
	for _, id := range r.live().overlapping(addr, addr+max(1, size)) {
		if id == except {
			continue
		}
		if !r.live()[id].track {
			r.bad = append(r.bad, AllocOverLive)
		}
		r.die(id)
	}
}

func (r *reference) birth(e *trace.Event) {
	r.bases++
	t, g := r.op(refOp{kind: OpBirth, node: r.bases})
	n := refNode{start: uint64(e.Addr), bytes: make([]refByte, e.Size), birth: t}
	if e.Flags&trace.FlagZeroed != 0 {
		for i := range n.bytes {
			n.bytes[i] = refByte{ok: true, newest: t, origin: t}
		}
	}
	g[r.bases] = n
}

func (r *reference) free(addr uint64) {
	if id := r.live().starting(addr); id != 0 {
		r.die(id)
		return
	}
	r.badFree(addr)
}

func (r *reference) badFree(addr uint64) {
	if r.live().at(addr) != 0 {
		r.bad = append(r.bad, FreeInside)
	} else if n, id := r.former(addr); id != 0 && n.start == addr && !r.remapped(addr, n.death) {
		r.bad = append(r.bad, FreeTwice)
	} else {
		r.bad = append(r.bad, FreeUnknown)
	}
}

func (r *reference) realloc(e *trace.Event) {
	old := r.live().starting(e.Aux)
	if was, id := r.former(e.Aux); old == 0 && r.live().at(e.Aux) == 0 && r.unmapped[id] && !was.fixed && was.start == e.Aux { // mremap
		r.unmapped = nil
		r.clear(uint64(e.Addr), e.Size, 0)
		r.move(e, id, was)
		return
	}
	if old == 0 {
		r.badFree(e.Aux)
		r.clear(uint64(e.Addr), e.Size, 0)
		r.birth(e)
		return
	}
	was := r.live()[old]
	if uint64(e.Addr) == e.Aux {
		if had := uint64(len(was.bytes)); e.Size > had {
			r.clear(uint64(e.Addr)+had, e.Size-had, old)
		}
		_, g := r.op(refOp{kind: OpResize, node: old})
		was.bytes = was.carried(e.Size)
		g[old] = was
		return
	}
	r.clear(uint64(e.Addr), e.Size, old)
	r.move(e, old, was)
}

// carried is the bytes of a node that has become so long.
func (n refNode) carried(size uint64) []refByte {
	kept := min(uint64(len(n.bytes)), size)
	return append(slices.Clone(n.bytes[:kept]), make([]refByte, size-kept)...)
}

// move makes the successor of a node, which may have died.
func (r *reference) move(e *trace.Event, old NodeID, was refNode) {
	kept, bytes := min(uint64(len(was.bytes)), e.Size), was.carried(e.Size)
	r.bases++
	t, g := r.op(refOp{kind: OpMove, addr: uint64(e.Addr), size: kept, node: old, other: r.bases})
	if _, alive := g[old]; alive {
		r.bury(g, old, t)
	}
	for i := range bytes[:kept] {
		bytes[i].newest = t
	}
	g[r.bases] = refNode{start: uint64(e.Addr), bytes: bytes, birth: t}
}

// read gives the bytes at t without the operations in undone.
func (r *reference) read(id NodeID, addr, n uint64, t uint32, undone ...uint32) []refByte {
	node := r.snaps[t][id]
	out := slices.Clone(node.bytes[addr-node.start : addr-node.start+n])
	for i := range out {
		for slices.Contains(undone, out[i].newest) && r.log[out[i].newest].size > 0 {
			u := out[i].newest - 1
			before, alive := r.snaps[u][id]
			off := addr - node.start + uint64(i)
			out[i] = refByte{}
			if alive && off < uint64(len(before.bytes)) {
				out[i] = before.bytes[off]
			}
		}
	}
	return out
}

func (r *reference) target(id NodeID, addr uint64, as coded.Pointer, t uint32, undone ...uint32) Target {
	var v uint64
	var since uint32
	for i, b := range r.read(id, addr, 8, t, undone...) {
		if !b.ok {
			return Target{}
		}
		v |= uint64(b.val) << (8 * i)
		since = max(since, b.origin)
	}
	v = as.Decode(v, addr)
	x := Target{State: Null, Value: v, Since: Timestamp(since)}
	if v == 0 {
		return x
	}
	to := r.snaps[since].at(v)
	if to == 0 {
		x.State = Wild
		x.Past = r.snaps[since].at(v - 1)
		return x // dangling at birth is checked by hand
	}
	now, alive := r.snaps[t][to]
	start := r.snaps[since][to].start
	switch {
	case !alive:
		x.State, x.Node, x.Offset, x.Reused = Dangling, to, v-start, r.snaps[t].at(v)
	case !now.holds(v):
		x.State, x.Past = Wild, to
	default:
		x.State, x.Node, x.Offset = Points, to, v-start
	}
	return x
}
