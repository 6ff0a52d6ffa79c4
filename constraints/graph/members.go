package graph

import (
	"math"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// granuleShift makes granules of 64 bytes: what intrusive nodes are found by.
const granuleShift = 6

// members finds intrusive nodes by address, at any time. A place is an address
// at which a node of a type was ever entered; its objects follow each other in
// time.
type members struct {
	some bool // there may be intrusive nodes
	// apart: each that there ever was lay wholly in a block that kept its size, over no other object, and what
	// led to it was stored while the block was there: then it is as good as a block of its own.
	apart    bool
	hosts    blocks // apart: those that ever held one
	places   map[placeKey]*place
	granules map[trace.Addr][]*place
	waiting  map[trace.Addr][]ref // cells that point into a granule, to no object there
}

type placeKey struct {
	addr trace.Addr
	typ  int
}

type place struct {
	addr trace.Addr
	size uint64
	objs []ObjID // by birth
}

func newMembers(spec *check.Spec) members {
	m := members{some: len(spec.Members)+len(spec.Reaches)+len(spec.Rows) > 0}
	if m.some {
		m.apart = len(spec.Reaches) == 0
		m.places = map[placeKey]*place{}
		m.granules = map[trace.Addr][]*place{}
		m.waiting = map[trace.Addr][]ref{}
	}
	return m
}

// tangled: intrusive nodes may be anywhere.
func (m *members) tangled() bool { return m.some && !m.apart }

// liesApart reports whether an intrusive node that is about to be made lies wholly in its block and over no
// other object.
func (g *Graph) liesApart(o *Object) bool {
	v := g.at(o.Birth)
	n, ok := v.Node(o.Host)
	end := o.Addr + trace.Addr(o.Size)
	if !ok || end > n.Start+trace.Addr(n.Size) {
		return false
	}
	apart := true
	g.overlapping(v, o.Host, o.Addr, end, o.Birth, func(ObjID, int64, int64) { apart = false })
	return apart
}

// tangle notes that members lie apart no more: all that was not followed is, once the graph is made anew (widen).
func (g *Graph) tangle() {
	if g.members.apart {
		g.members.apart, g.tangling = false, true
	}
}

// entered makes the node that an enter directive declares.
func (g *Graph) entered(op *mgpp.Op, t mgpp.Timestamp) {
	if op.Mark < 0 || op.Mark >= len(g.spec.Members) || op.Addr == 0 {
		return
	}
	if lo, hi := g.tracked(op); hi > 0 {
		g.overlapping(g.at(t), 0, lo, hi, t, func(o ObjID, lo, hi int64) { g.refresh(o, lo, hi, t) })
	}
	typ := g.spec.Members[op.Mark].Type
	size := op.Size
	if typ.Layout != nil && typ.Layout.Size > 0 {
		size = uint64(typ.Layout.Size)
	}
	if size == 0 || g.members.current(g, op.Addr, typ, t) != 0 {
		return // entered twice: it is a node already
	}
	host, _ := g.at(t).NodeAt(op.Addr)
	o := Object{Type: typ, Host: host, Addr: op.Addr, Size: size, Birth: t, Member: int32(op.Mark + 1)}
	if g.members.apart && !g.liesApart(&o) {
		g.tangle()
	}
	g.members.hosts.add(host)
	id := g.add(o, nil, true)
	g.objs.at(id).alone = true
	g.members.add(g, id)
	refs := g.members.awaited(op.Addr, size)
	if g.members.tangled() { // what led to another node there may lead to this one
		g.overlapping(g.at(t), 0, op.Addr, op.Addr+trace.Addr(size), t, func(p ObjID, lo, hi int64) {
			if p != id {
				refs = append(refs, g.leadingTo(p, uint64(lo), uint64(hi))...)
			}
		})
	}
	g.rereadAll(refs, t)
}

// rereadAll rereads those of some cells that still exist.
func (g *Graph) rereadAll(refs []ref, t mgpp.Timestamp) {
	for _, r := range refs {
		if g.holds(r) {
			g.reread(r, t)
		}
	}
}

// tracked returns the memory that an enter directive has made known. What other nodes have there is unknown
// since then, until it is written. The end is 0 if it was known before.
func (g *Graph) tracked(op *mgpp.Op) (lo, hi trace.Addr) {
	n, ok := g.hist.NodeThen(op.Node, op.Time)
	if !ok || n.Birth != op.Time {
		return 0, 0
	}
	return n.Start, n.Start + trace.Addr(n.Size)
}

// holds reports whether the cell still exists.
func (g *Graph) holds(r ref) bool {
	b := g.objs.at(r.from)
	return b.Death == 0 && int64(r.elem) < elems(b.lay.cells[r.cell].EdgeCell, b.Size)
}

// left ends the node that a leave directive names, and lets the cells that
// lead to it lead to what else lies there.
func (g *Graph) left(op *mgpp.Op, t mgpp.Timestamp) {
	if op.Mark < 0 || op.Mark >= len(g.spec.Members) {
		return
	}
	o := g.members.current(g, op.Addr, g.spec.Members[op.Mark].Type, t-1)
	if o == 0 {
		return
	}
	g.end(o, t)
	g.rereadAll(g.leadingTo(o, 0, math.MaxUint64), t)
}

// besideBlock returns the cells that lead to what of a member lies beside a block that it overlaps.
func (g *Graph) besideBlock(o ObjID, id mgpp.NodeID, t mgpp.Timestamp) (refs []ref) {
	if !g.members.tangled() {
		return nil
	}
	b := g.objs.at(o)
	n, _ := g.at(t - 1).Node(id)
	if b.Addr < n.Start {
		refs = g.leadingTo(o, 0, uint64(n.Start-b.Addr))
	}
	if end := n.Start + trace.Addr(n.Size); b.Addr+trace.Addr(b.Size) > end {
		refs = append(refs, g.leadingTo(o, uint64(end-b.Addr), b.Size)...)
	}
	return refs
}

// add makes an intrusive object known by its address.
func (m *members) add(g *Graph, id ObjID) {
	o := g.objs.at(id)
	k := placeKey{o.Addr, o.Type.Index}
	p := m.places[k]
	if p == nil {
		p = &place{addr: o.Addr, size: o.Size}
		m.places[k] = p
		for gr := o.Addr >> granuleShift; gr <= (o.Addr+trace.Addr(o.Size)-1)>>granuleShift; gr++ {
			m.granules[gr] = append(m.granules[gr], p)
		}
	}
	p.objs = append(p.objs, id)
}

// at returns the place's object that lives at t, 0 if none.
func (p *place) at(g *Graph, t mgpp.Timestamp) ObjID {
	lo, hi := 0, len(p.objs)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if g.objs.at(p.objs[mid]).Birth <= t {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo > 0 && g.Alive(p.objs[lo-1], t) {
		return p.objs[lo-1]
	}
	return 0
}

// last returns the newest object of the place that was born at or before t.
func (p *place) last(g *Graph, t mgpp.Timestamp) ObjID {
	for i := len(p.objs) - 1; i >= 0; i-- {
		if g.objs.at(p.objs[i]).Birth <= t {
			return p.objs[i]
		}
	}
	return 0
}

// current returns the node of a type at exactly an address, 0 if none.
func (m *members) current(g *Graph, addr trace.Addr, typ *check.NodeType, t mgpp.Timestamp) ObjID {
	if p := m.places[placeKey{addr, typ.Index}]; p != nil {
		return p.at(g, t)
	}
	return 0
}

// containing calls f for each intrusive object alive at t that contains addr.
func (m *members) containing(g *Graph, addr trace.Addr, t mgpp.Timestamp, f func(ObjID)) {
	for _, p := range m.granules[addr>>granuleShift] {
		if addr >= p.addr && addr < p.addr+trace.Addr(p.size) {
			if o := p.at(g, t); o != 0 {
				f(o)
			}
		}
	}
}

// turned reports whether other intrusive objects contain addr at t1 than at t0.
func (m *members) turned(g *Graph, addr trace.Addr, t0, t1 mgpp.Timestamp) bool {
	return slices.ContainsFunc(m.granules[addr>>granuleShift], func(p *place) bool {
		return addr >= p.addr && addr < p.addr+trace.Addr(p.size) && p.at(g, t0) != p.at(g, t1)
	})
}

// overlapping calls f for each intrusive object alive at t that [lo, hi) touches.
func (m *members) overlapping(g *Graph, lo, hi trace.Addr, t mgpp.Timestamp, f func(o ObjID, lo, hi int64)) {
	for gr := lo >> granuleShift; gr <= (hi-1)>>granuleShift && hi > lo; gr++ {
		for _, p := range m.granules[gr] {
			end := p.addr + trace.Addr(p.size)
			first := max(lo, p.addr)
			if lo >= end || hi <= p.addr || max(first, gr<<granuleShift) != first {
				continue // met in an earlier granule
			}
			if o := p.at(g, t); o != 0 {
				f(o, int64(first-p.addr), int64(min(hi, end)-p.addr))
			}
		}
	}
}

// mayHold reports whether intrusive objects may lie in a block.
func (m *members) mayHold(id mgpp.NodeID) bool { return m.tangled() || m.hosts.has(id) }

// blocks is a set of blocks, of which it is asked wherever one is born or dies.
type blocks []uint64

func (b blocks) has(id mgpp.NodeID) bool {
	return int(id/64) < len(b) && b[id/64]>>(id%64)&1 != 0
}

func (b *blocks) add(id mgpp.NodeID) {
	if n := int(id/64) + 1; n > len(*b) {
		*b = append(*b, make([]uint64, n-len(*b))...)
	}
	(*b)[id/64] |= 1 << (id % 64)
}

// in returns the intrusive objects that live in a block just before t.
func (m *members) in(g *Graph, id mgpp.NodeID, t mgpp.Timestamp) []ObjID {
	if !m.mayHold(id) {
		return nil
	}
	n, ok := g.at(t - 1).Node(id)
	if !ok || n.Size == 0 {
		return nil
	}
	var out []ObjID
	m.overlapping(g, n.Start, n.Start+trace.Addr(n.Size), t-1, func(o ObjID, _, _ int64) { out = append(out, o) })
	return out
}

// await remembers a cell whose pointer leads to no object yet.
func (m *members) await(addr trace.Addr, r ref) {
	gr := addr >> granuleShift
	l := append(m.waiting[gr], r)
	if n := len(l); n >= 16 && n&(n-1) == 0 {
		l = compact(l)
	}
	m.waiting[gr] = l
}

// awaited takes out the cells that may point into [addr, addr+size).
func (m *members) awaited(addr trace.Addr, size uint64) []ref {
	var out []ref
	for gr := addr >> granuleShift; gr <= (addr+trace.Addr(size)-1)>>granuleShift; gr++ {
		out = append(out, m.waiting[gr]...)
		delete(m.waiting, gr)
	}
	return out
}
