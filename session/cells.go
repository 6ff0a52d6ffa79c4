package session

import (
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/describe"
	"mgtrace/constraints/graph"
	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/trace"
	"mgtrace/types"
)

// locatorHistory is the history as package faultloc asks for it.
type locatorHistory struct{ *mgpp.History }

func (h locatorHistory) Without(v mgpp.View, t mgpp.Timestamp) mgpp.View {
	return mgpp.Without(h.History, v, t)
}

func (h locatorHistory) With(v mgpp.View, addr trace.Addr, data []byte) mgpp.View {
	return mgpp.With(v, addr, data)
}

// locatorCells is the typed graph as package faultloc asks for it.
type locatorCells struct{ g *graph.Graph }

func (c locatorCells) Object(o graph.ObjID) graph.Object { return c.g.Object(o) }

func (c locatorCells) Cell(addr trace.Addr, v mgpp.View) (faultloc.Cell, bool) {
	for _, o := range c.g.At(v, addr) {
		if c.g.Object(o).Type == nil {
			continue
		}
		f, ok := describe.FieldAt(c.g, v, o, addr)
		if !ok || f.Size > 8 || f.Size < 1 {
			continue
		}
		cell := faultloc.Cell{Obj: o, Path: f.Path, Addr: f.Addr, Size: int(f.Size), Pointer: f.Pointer}
		if f.Type != nil && f.Type.Kind == types.Enum {
			for _, e := range f.Type.Enumerators {
				cell.Values = append(cell.Values, e.Value)
			}
		}
		if f.Pointer && f.Type != nil && f.Type.Elem != nil && (f.Type.Elem.Size > 0 || f.Type.Elem.Kind == types.Pointer) {
			cell.Fits = func(o graph.ObjID) bool { return leadsTo(f.Type.Elem, c.g.Object(o).Type) }
		}
		return cell, true
	}
	return faultloc.Cell{}, false
}

// leadsTo: a pointer to elem may lead to a node of type t: it is one, or begins
// with one (a base class, a first member).
func leadsTo(elem *types.Type, t *check.NodeType) bool {
	switch {
	case t == nil || elem.Kind == types.Void:
		return true
	case t.Array && t.Elem != nil:
		return sameType(elem, t.Elem)
	case t.Layout == nil:
		return true
	}
	for at := t.Layout; at != nil; {
		if sameType(elem, at) {
			return true
		}
		if len(at.Members) == 0 || at.Members[0].Offset != 0 {
			return false
		}
		at = at.Members[0].Type
	}
	return false
}

func (c locatorCells) At(addr trace.Addr, v mgpp.View) graph.ObjID {
	for _, o := range c.g.At(v, addr) {
		if c.g.Object(o).Type != nil {
			return o
		}
	}
	return 0
}

func (c locatorCells) Into(o graph.ObjID, v mgpp.View, limit int) []trace.Addr {
	var out []trace.Addr
	for _, e := range c.g.In(v, o) {
		if len(out) < limit {
			out = append(out, e.Addr)
		}
	}
	return out
}

func (c locatorCells) Alike(o graph.ObjID, v mgpp.View, limit int) []graph.ObjID {
	t := c.g.Object(o).Type
	if t == nil {
		return nil
	}
	all := c.g.Live(t, v.Time(), nil)
	slices.SortFunc(all, func(a, b graph.ObjID) int { return distance(a, o) - distance(b, o) })
	all = slices.DeleteFunc(all, func(b graph.ObjID) bool { return b == o })
	return all[:min(len(all), limit)]
}

func (c locatorCells) Near(o graph.ObjID, v mgpp.View, limit int) []graph.ObjID {
	var out []graph.ObjID
	for _, f := range describe.Fields(c.g, v, o) {
		if f.Target != 0 && len(out) < limit {
			out = append(out, f.Target)
		}
	}
	for _, e := range c.g.In(v, o) {
		if len(out) < limit {
			out = append(out, e.From)
		}
	}
	return out
}

// distance in the order of birth.
func distance(a, b graph.ObjID) int {
	if a > b {
		return int(a - b)
	}
	return int(b - a)
}
