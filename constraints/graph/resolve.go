package graph

import (
	"cmp"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/trace"
	"mgtrace/types"
)

// Resolve returns the object that a pointer cell of an object of type from
// with a
// pointee of type elem leads to at t, 0 if it leads to none. Where several objects
// contain the address (an embedded node and its host) it is the one of the
// type pointed to, else one of from's structure, else the outermost; of nodes that
// pointers made, the one whose head is nearest.
func (g *Graph) Resolve(t mgpp.Timestamp, tgt mgpp.Target, elem *types.Type, from *check.NodeType) ObjID {
	return g.resolve(tgt, elem, from, t)
}

func (g *Graph) resolve(tgt mgpp.Target, elem *types.Type, from *check.NodeType, t mgpp.Timestamp) ObjID {
	if tgt.State != mgpp.Points && tgt.State != mgpp.Wild || g.isNil(tgt.Value) {
		return 0
	}
	best, rank := ObjID(0), -1
	g.containing(tgt, t, func(o ObjID) {
		if r := preference(g.objs.at(o), elem, from); best == 0 || r > rank || r == rank && g.fitsBetter(o, best) {
			best, rank = o, r
		}
	})
	return best
}

// ObjectOf returns the object of a type that a pointer leads into, 0 if none;
// any object, preferring the outermost, if the type is nil.
func (g *Graph) ObjectOf(t mgpp.Timestamp, tgt mgpp.Target, want *check.NodeType) ObjID {
	if tgt.State != mgpp.Points && tgt.State != mgpp.Wild {
		return 0
	}
	best := ObjID(0)
	g.containing(tgt, t, func(o ObjID) {
		b := g.objs.at(o)
		if (want == nil || b.Type == want) && (best == 0 || g.fitsBetter(o, best)) {
			best = o
		}
	})
	return best
}

// ObjectsOf appends all objects of a type that a pointer leads into: several where nodes that calls made overlap.
func (g *Graph) ObjectsOf(t mgpp.Timestamp, tgt mgpp.Target, want *check.NodeType, buf []ObjID) []ObjID {
	if tgt.State != mgpp.Points && tgt.State != mgpp.Wild {
		return buf
	}
	g.containing(tgt, t, func(o ObjID) {
		if g.objs.at(o).Type == want {
			buf = append(buf, o)
		}
	})
	return buf
}

// fitsBetter reports whether a pointer into both o and p is rather one to o: of nodes that
// pointers made, which may overlap (a chunk of malloc's may be smaller than its structure), and of
// those of one size, to the one with the nearer head, else to the outer one.
func (g *Graph) fitsBetter(o, p ObjID) bool {
	a, b := g.objs.at(o), g.objs.at(p)
	if a.Member == reached && b.Member == reached || a.Size == b.Size {
		return a.Addr > b.Addr
	}
	return a.Size > b.Size
}

// containing calls f for each object that a pointer leads into at t.
func (g *Graph) containing(tgt mgpp.Target, t mgpp.Timestamp, f func(ObjID)) {
	addr := trace.Addr(tgt.Value)
	if tgt.State == mgpp.Points {
		for _, o := range g.of(tgt.Node) {
			if g.bare(o) && g.rows.in(tgt.Node, addr, addr+1) {
				continue // an element, or what none is yet
			}
			if b := g.objs.at(o); addr >= b.Addr && uint64(addr-b.Addr) < g.Size(o, t) && g.Alive(o, t) {
				f(o)
			}
		}
	}
	if g.members.some {
		g.members.containing(g, addr, t, f)
	}
}

// preference orders the objects that contain a pointer's address.
func preference(o *object, elem *types.Type, from *check.NodeType) int {
	r := 0
	if o.Type != nil {
		r = 1
		if from != nil && o.Type.Group == from.Group {
			r = 2
		}
		if sameLayout(o.Type, elem) {
			r = 4
		}
	}
	return r
}

func sameLayout(t *check.NodeType, l *types.Type) bool {
	if l == nil || t.Layout == nil || t.Array {
		return false
	}
	return t.Layout == l || l.Name != "" && t.Layout.Name == l.Name && t.Layout.Kind == l.Kind
}

// Begins reports whether a pointer to a type leads to the beginning of an object that is of it: it means the object, and not its first member.
func (g *Graph) Begins(o ObjID, a trace.Addr, elem *types.Type) bool {
	b := g.objs.at(o)
	return a == b.Addr && b.Type != nil && sameLayout(b.Type, elem)
}

// isNil reports whether a value points into a static sentinel.
func (g *Graph) isNil(value uint64) bool {
	for _, s := range g.nils {
		if a := trace.Addr(value); a >= s.Lo && a < s.Hi {
			return true
		}
	}
	return false
}

// IsNil reports whether an address lies in a sentinel that the specification
// names by a global ("nil ::x;").
func (g *Graph) IsNil(value uint64) bool { return len(g.nils) > 0 && g.isNil(value) }

// At returns the objects alive at the view's time that contain addr, the
// outermost first.
func (g *Graph) At(v mgpp.View, addr trace.Addr) []ObjID {
	var out []ObjID
	tgt := mgpp.Target{State: mgpp.Wild, Value: uint64(addr)}
	if id, ok := v.NodeAt(addr); ok {
		tgt.State, tgt.Node = mgpp.Points, id
	}
	g.containing(tgt, v.Time(), func(o ObjID) { out = append(out, o) })
	slices.SortStableFunc(out, func(a, b ObjID) int { return cmp.Compare(g.objs.at(b).Size, g.objs.at(a).Size) })
	return out
}

// Covered returns the object of a type that lay at addr last, at or before t,
// dead now: what a pointer that leads to no object may have led to.
func (g *Graph) Covered(addr trace.Addr, t mgpp.Timestamp) ObjID {
	best := ObjID(0)
	for _, p := range g.members.granules[addr>>granuleShift] {
		if addr >= p.addr && addr < p.addr+trace.Addr(p.size) {
			if o := p.last(g, t); o != 0 && (best == 0 || g.objs.at(o).Death > g.objs.at(best).Death) {
				best = o
			}
		}
	}
	return best
}

// FormerAt returns the object, dead or alive, of a block that an address was
// in, 0 if there was none.
func (g *Graph) FormerAt(node mgpp.NodeID, addr uint64) ObjID {
	for _, o := range g.of(node) {
		if b := g.objs.at(o); addr >= uint64(b.Addr) && addr-uint64(b.Addr) < b.Size {
			return o
		}
	}
	return 0
}
