package graph

import (
	"sort"

	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Nodes of a type that is reached ("enter T from ::g.f;", or "from U.f") have no allocation and no
// call that makes them: an allocator's own memory is divided by nothing but the
// pointers that lead into it (thesis 3.2.1, observation 2: pointers point to the
// head of a node). Such a node lives from the store of the first pointer that
// leads to it until the last one leads elsewhere.

// reaches returns the type of the nodes that a cell's pointers make, nil if they
// make none.
func (g *Graph) reaches(b *object, c *cell) *check.NodeType {
	for i := range g.spec.Reaches {
		r := &g.spec.Reaches[i]
		in := int(b.Global) == r.Global+1
		if r.Of != nil {
			in = b.Type == r.Of
		}
		in = in && c.Offset >= r.Lo && c.Offset < r.Hi
		if in && r.Any || r.Type.BeginsWith(c.Elem) && (in || b.Type == r.Type && b.Global == 0 && Counts(r.Type, c.EdgeCell, nil)) {
			return r.Type
		}
	}
	return nil
}

// alignment is what allocators give to their blocks on x86-64 (malloc.c,
// MALLOC_ALIGNMENT): a pointer to anything else leads to no node.
const alignment = 16

// reach makes the node that a pointer leads to, if the cell makes nodes, and
// returns it; 0 if it does not. at is the object that the pointer leads into, 0 if into none:
// within another node of the type that pointers made it is the head of one of its own.
func (g *Graph) reach(r ref, tgt mgpp.Target, at ObjID, t mgpp.Timestamp) ObjID {
	if len(g.spec.Reaches) == 0 || tgt.State != mgpp.Points || tgt.Value%alignment != 0 || g.isNil(tgt.Value) {
		return 0
	}
	b := g.objs.at(r.from)
	typ := g.reaches(b, &b.lay.cells[r.cell])
	if typ == nil || typ.Layout == nil || at != 0 && (g.objs.at(at).Member != reached || g.objs.at(at).Type != typ || g.objs.at(at).Addr == trace.Addr(tgt.Value)) {
		return 0
	}
	o := Object{Type: typ, Addr: trace.Addr(tgt.Value), Size: uint64(typ.Layout.Size), Birth: t, Member: reached}
	id := g.add(o, nil, false)
	g.members.add(g, id)
	g.turns = append(g.turns, turn{t, id})
	return id
}

// begun reads the cells of a node that has just been reached, and again those that
// led to where it is.
func (g *Graph) begun(o ObjID, t mgpp.Timestamp) {
	b := g.objs.at(o)
	addr, size := b.Addr, b.Size
	g.refresh(o, 0, int64(size), t)
	refs := g.members.awaited(addr, size)
	g.members.overlapping(g, addr, addr+trace.Addr(size), t, func(p ObjID, lo, hi int64) {
		if p != o && g.objs.at(p).Member == reached {
			refs = append(refs, g.leadingTo(p, uint64(lo), uint64(hi))...)
		}
	})
	g.rereadAll(refs, t)
}

// leadingTo returns the cells that lead to offsets [lo, hi) of an object.
func (g *Graph) leadingTo(o ObjID, lo, hi uint64) []ref {
	var refs []ref
	for i := range g.objs.at(o).in {
		r := &g.objs.at(o).in[i]
		if off := g.into(r); off >= lo && off < hi {
			refs = append(refs, r.ref())
		}
	}
	return refs
}

// reached is the Object.Member of a node that pointers made.
const reached = -1

// turn is the birth or death of a reached node, or the birth of an element in static memory.
type turn struct {
	time mgpp.Timestamp
	obj  ObjID
}

// turnedBy notes the reached nodes that the operation at t made or ended.
func (g *Graph) turnedBy(t mgpp.Timestamp, c *Changes) {
	i := sort.Search(len(g.turns), func(i int) bool { return g.turns[i].time >= t })
	for ; i < len(g.turns) && g.turns[i].time == t; i++ {
		g.turned(g.turns[i].obj, t, c)
		c.Untyped = c.Untyped || g.objs.at(g.turns[i].obj).Member <= inRow // nothing was there before
	}
}

// abandon ends a reached node to which no pointer leads any more that makes nodes.
// Its own do not count, nor pointers that are no edges (a chunk of a large bin leads
// to itself by fd_nextsize, and keeps that when it is taken).
func (g *Graph) abandon(o ObjID, t mgpp.Timestamp) {
	b := g.objs.at(o)
	if b.Member != reached || b.Death != 0 {
		return
	}
	for i := range b.in {
		r := &b.in[i]
		if from := g.objs.at(r.from); r.from != o && g.reaches(from, &from.lay.cells[r.cell]) != nil {
			return
		}
	}
	g.turns = append(g.turns, turn{t, o})
	g.end(o, t)
	for _, r := range g.leadingTo(o, 0, g.objs.at(o).Size) {
		g.reread(r, t)
	}
}
