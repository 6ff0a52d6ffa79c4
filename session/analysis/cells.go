package analysis

import (
	"mgtrace/constraints/check"
	"mgtrace/constraints/describe"
	"mgtrace/constraints/graph"
	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/session/typing"
	"mgtrace/trace"
	"mgtrace/types"
)

// locatorCells is the typed graph as package faultloc asks for it.
type locatorCells struct{ *graph.Graph }

func (c locatorCells) Cell(addr trace.Addr, v mgpp.View) (faultloc.Cell, bool) {
	for _, o := range c.Graph.At(v, addr) {
		if b := c.Object(o); b.Type == nil && b.Global == 0 {
			continue
		}
		if f, ok := describe.FieldAt(c.Graph, v, o, addr); ok && tryable(&f) {
			return c.cell(o, &f, v), true
		}
	}
	return faultloc.Cell{}, false
}

func (c locatorCells) Fields(o graph.ObjID, v mgpp.View) []faultloc.Cell {
	var out []faultloc.Cell
	for _, f := range describe.Fields(c.Graph, v, o) {
		if tryable(&f) {
			out = append(out, c.cell(o, &f, v))
		}
	}
	return out
}

// tryable: the field's value is a number that can be tried.
func tryable(f *describe.Field) bool { return f.Size >= 1 && f.Size <= 8 }

func (c locatorCells) cell(o graph.ObjID, f *describe.Field, v mgpp.View) faultloc.Cell {
	cell := faultloc.Cell{Obj: o, Path: f.Path, Addr: f.Addr, Size: int(f.Size)}
	cell.Pointer = f.Pointer && f.Coded.Shift == 0 // else its bytes are no address
	if f.Bits.Count > 0 {
		cell.Parts = c.parts(o, f, v)
	}
	if f.Type != nil && f.Type.Kind == types.Enum && f.Bits.Count == 0 {
		for _, e := range f.Type.Enumerators {
			cell.Values = append(cell.Values, e.Value)
		}
	}
	if cell.Pointer && f.Type != nil && f.Type.Elem != nil && (f.Type.Elem.Size > 0 || f.Type.Elem.Kind == types.Pointer) {
		elem := f.Type.Elem
		cell.Fits = func(o graph.ObjID) bool { return leadsTo(elem, c.Object(o).Type) }
	}
	return cell
}

// parts are the bit-fields that lie in the bytes of one.
func (c locatorCells) parts(o graph.ObjID, f *describe.Field, v mgpp.View) []faultloc.Part {
	var out []faultloc.Part
	for _, x := range describe.Fields(c.Graph, v, o) {
		at := int(x.Addr) - int(f.Addr)
		if x.Bits.Count > 0 && at >= 0 && at < int(f.Size) && at*8+x.Bits.Offset+x.Bits.Count <= int(f.Size)*8 {
			out = append(out, faultloc.Part{Path: x.Path, Offset: at*8 + x.Bits.Offset, Count: x.Bits.Count, Signed: x.Type != nil && x.Type.Signed})
		}
	}
	return out
}

// leadsTo: a pointer to elem may lead to a node of type t: it is one, or begins
// with one (a base class, a first member).
func leadsTo(elem *types.Type, t *check.NodeType) bool {
	switch {
	case t == nil || elem.Kind == types.Void:
		return true
	case t.Array && t.Elem != nil:
		return typing.SameType(elem, t.Elem)
	case t.Layout == nil:
		return true
	}
	for at := t.Layout; at != nil; {
		if typing.SameType(elem, at) {
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
