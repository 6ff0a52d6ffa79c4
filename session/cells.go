package session

import (
	"mgtrace/constraints/check"
	"mgtrace/constraints/describe"
	"mgtrace/constraints/graph"
	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/trace"
	"mgtrace/types"
)

// locatorCells is the typed graph as package faultloc asks for it.
type locatorCells struct{ *graph.Graph }

func (c locatorCells) Cell(addr trace.Addr, v mgpp.View) (faultloc.Cell, bool) {
	for _, o := range c.Graph.At(v, addr) {
		if c.Object(o).Type == nil {
			continue
		}
		f, ok := describe.FieldAt(c.Graph, v, o, addr)
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
			cell.Fits = func(o graph.ObjID) bool { return leadsTo(f.Type.Elem, c.Object(o).Type) }
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
	for _, o := range c.Graph.At(v, addr) {
		if c.Object(o).Type != nil {
			return o
		}
	}
	return 0
}

func (c locatorCells) Near(o graph.ObjID, v mgpp.View, limit int) []graph.ObjID {
	return describe.Near(c.Graph, v, o, limit)
}
