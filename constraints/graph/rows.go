package graph

import (
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Elements of arrays in static memory ("embed T in ::pool;") have no allocation, and most of a large array may never be used.
// Such a node lives from the first write to it on, or from the start if it holds something then. A library's function that
// clears memory makes none, for it clears what is to be used later. They are members (members.go) that lie apart.

// inRow is the Object.Member of a node of Spec.Rows[0]; those of the next ones are below it.
const inRow = reached - 1

// rows are the objects in static memory that parts of are nodes: few.
type rows []heldRows

type heldRows struct {
	host mgpp.NodeID
	Span
	list []int // indices in Spec.Rows
	spec *check.Spec
	over bool // its library was unloaded
}

func (x rows) find(host mgpp.NodeID) *heldRows {
	for i := range x {
		if x[i].host == host {
			return &x[i]
		}
	}
	return nil
}

// base is where an object in static memory begins.
func (x rows) base(host mgpp.NodeID) trace.Addr {
	if h := x.find(host); h != nil {
		return h.Lo
	}
	return 0
}

// in reports whether any of [lo, hi) is part of what may be a node.
func (x rows) in(host mgpp.NodeID, lo, hi trace.Addr) bool {
	h := x.find(host)
	return h != nil && slices.ContainsFunc(h.list, func(k int) bool {
		r := &h.spec.Rows[k]
		i := r.From(int64(lo - h.Lo))
		return i < r.Count() && h.Lo+trace.Addr(r.At(i)) < hi
	})
}

// unread: nothing of an object in static memory is read but through nodes in it.
func (g *Graph) unread(global int) bool {
	return !g.spec.Globals[global].Named && g.typeOfGlobal(global) == nil
}

// untypedGlobal is the layout of an object in static memory that is of no declared type.
func (g *Graph) untypedGlobal(i int) *layout {
	if g.unread(i) && slices.ContainsFunc(g.spec.Rows, func(r check.Row) bool { return r.Global == i }) {
		return &layout{}
	}
	return untyped(g.spec.Globals[i].Layout)
}

// hold makes known that parts of an object in static memory that has appeared may be nodes, and makes those that hold something.
func (g *Graph) hold(o ObjID, t mgpp.Timestamp) {
	b := g.objs.at(o)
	h := heldRows{host: b.Host, Span: Span{b.Addr, b.Addr + trace.Addr(b.Size)}, spec: g.spec}
	for k := range g.spec.Rows {
		if g.spec.Rows[k].Global == int(b.Global)-1 {
			h.list = append(h.list, k)
		}
	}
	if h.list == nil {
		return
	}
	b.Divided = true
	g.rows = append(g.rows, h)
	g.bearFilled(&h, h.Lo, h.Hi, t)
}

// bears reports whether a write makes nodes, or may.
func (g *Graph) bears(op *mgpp.Op) bool {
	lo, hi := op.Addr, op.Addr+trace.Addr(op.Size)
	for i := range g.rows {
		h := &g.rows[i]
		for _, k := range h.list {
			if !h.over && g.unborn(h, k, lo, hi, func(trace.Addr) bool { return true }) {
				return true
			}
		}
	}
	return false
}

// unborn calls f for where parts that are no nodes yet begin, and [lo, hi) touches them, until that says true.
func (g *Graph) unborn(h *heldRows, k int, lo, hi trace.Addr, f func(trace.Addr) bool) bool {
	r := &g.spec.Rows[k]
	if hi <= h.Lo {
		return false
	}
	for i, n := r.From(int64(lo)-int64(h.Lo)), r.Count(); i < n; i++ {
		at := h.Lo + trace.Addr(r.At(i))
		if at >= hi {
			break
		}
		if g.members.places[placeKey{at, r.Type.Index}] == nil && f(at) {
			return true
		}
	}
	return false
}

// bear makes the nodes to which a write is the first.
func (g *Graph) bear(op *mgpp.Op, t mgpp.Timestamp) {
	for i := range g.rows {
		h := &g.rows[i]
		switch lo, hi := max(op.Addr, h.Lo), min(op.Addr+trace.Addr(op.Size), h.Hi); {
		case lo >= hi, h.over:
		case op.Kind == mgpp.OpBulk:
			g.bearFilled(h, lo, hi, t)
		default:
			g.bearIn(h, lo, hi, t, func(trace.Addr, trace.Addr) bool { return true })
		}
	}
}

// bearIn makes the nodes of [lo, hi) that there are not yet, and of which a part that lies there is wanted.
func (g *Graph) bearIn(h *heldRows, lo, hi trace.Addr, t mgpp.Timestamp, wanted func(lo, hi trace.Addr) bool) {
	for _, k := range h.list {
		size := trace.Addr(g.spec.Rows[k].Type.Layout.Size)
		g.unborn(h, k, lo, hi, func(at trace.Addr) bool {
			if wanted(max(at, lo), min(at+size, hi)) {
				g.bearAt(h, k, at, t)
			}
			return false
		})
	}
}

// scanned is how many bytes are looked at before a look at what nodes there may be: most of a large array holds nothing.
const scanned = 1 << 16

// bearFilled makes those of [lo, hi) that are known to hold something other than zeros there: of a long write the first bytes
// alone are recorded.
func (g *Graph) bearFilled(h *heldRows, lo, hi trace.Addr, t mgpp.Timestamp) {
	b := mgpp.NewBytes(int(min(hi-lo, scanned)))
	filled := func(lo, hi trace.Addr) bool {
		part := mgpp.Bytes{Data: b.Data[:hi-lo], Written: b.Written[:hi-lo]}
		return g.at(t).Read(lo, &part) && slices.ContainsFunc(part.Data, func(c byte) bool { return c != 0 })
	}
	for end := lo; lo < hi; lo = end {
		if end = min(lo+scanned, hi); filled(lo, end) {
			g.bearIn(h, lo, end, t, filled)
		}
	}
}

func (g *Graph) bearAt(h *heldRows, k int, at trace.Addr, t mgpp.Timestamp) {
	typ := g.spec.Rows[k].Type
	size := uint64(typ.Layout.Size)
	id := g.add(Object{Type: typ, Host: h.host, Addr: at, Size: size, Birth: t, Member: int32(inRow - k)}, nil, true)
	g.objs.at(id).alone = true
	g.members.hosts.add(h.host)
	g.members.add(g, id)
	g.turns = append(g.turns, turn{t, id})
	refs := g.members.awaited(at, size)
	for _, o := range g.of(h.host) { // one of a declared type may have been meant
		off := uint64(at - g.objs.at(o).Addr)
		refs = append(refs, g.leadingTo(o, off, off+size)...)
	}
	g.rereadAll(refs, t)
}

// InRow reports whether an object is part of one in static memory, as an element of an array there: it was never allocated.
func (g *Graph) InRow(o ObjID) bool { return g.objs.at(o).Member <= inRow }

// bare: an object in static memory is no node, and parts of it are.
func (g *Graph) bare(o ObjID) bool {
	b := g.objs.at(o)
	return b.Divided && b.Type == nil
}

// place makes known where an object lies. A node in an object in static memory of which nothing else is read takes its place, but
// where it has only a part of a granule: there may be another node beside it, or none yet.
func (g *Graph) place(o *Object) {
	const mask = 1<<placeShift - 1
	lo, hi := o.Addr, o.Addr+trace.Addr(o.Size)
	if o.Member <= inRow && g.unread(g.spec.Rows[inRow-o.Member].Global) {
		first, end := (lo+mask)&^mask, hi&^mask
		if first < end {
			g.places.put(o.ID, first, end, func(had ObjID) bool { return g.living(had) && !g.objs.at(had).Divided })
			g.places.put(o.ID, lo, first, g.lives)
			lo = end
		}
	}
	g.places.put(o.ID, lo, hi, g.lives)
}
