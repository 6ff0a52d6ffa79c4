package analysis

import (
	"slices"

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
		if f, ok := describe.BareFieldAt(c.Graph, v, o, addr); ok && tryable(&f) {
			return c.cell(o, &f, v), true
		}
	}
	return faultloc.Cell{}, false
}

func (c locatorCells) Fields(o graph.ObjID, v mgpp.View) []faultloc.Cell {
	var out []faultloc.Cell
	for _, f := range describe.BareFields(c.Graph, v, o) {
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
	if cell.Pointer {
		cell.Tags = f.Coded.Tags
	}
	cell.Unsigned = f.Type != nil && f.Type.Kind == types.Uint
	if f.Bits.Count > 0 {
		cell.Parts = c.parts(o, f, v)
	}
	if f.Type != nil && f.Bits.Count == 0 {
		cell.Values = values(f.Type)
	}
	if cell.Pointer && f.Type != nil && f.Type.Elem != nil && (f.Type.Elem.Size > 0 || f.Type.Elem.Kind == types.Pointer) {
		elem := f.Type.Elem
		cell.Places = func(o graph.ObjID) []uint64 { return places(elem, c.Object(o).Type) }
		cell.Leads = func(o graph.ObjID, at uint64) bool {
			t := c.Object(o).Type
			return t != nil && !t.Array && t.Layout != nil && holdsAt(t.Layout, elem, int64(at))
		}
	}
	return cell
}

// values are those that a number of a type has, nil if these are no few.
func values(t *types.Type) (out []int64) {
	switch t.Kind {
	case types.Bool:
		return []int64{0, 1}
	case types.Enum:
		for _, e := range t.Enumerators {
			out = append(out, e.Value)
		}
	}
	return out
}

// parts are the bit-fields that lie in the bytes of one.
func (c locatorCells) parts(o graph.ObjID, f *describe.Field, v mgpp.View) []faultloc.Part {
	var out []faultloc.Part
	for _, x := range describe.BareFields(c.Graph, v, o) {
		at := int(x.Addr) - int(f.Addr)
		if x.Bits.Count > 0 && at >= 0 && at < int(f.Size) && at*8+x.Bits.Offset+x.Bits.Count <= int(f.Size)*8 {
			out = append(out, faultloc.Part{Path: x.Path, Offset: at*8 + x.Bits.Offset, Count: x.Bits.Count, Signed: x.Type != nil && x.Type.Signed})
		}
	}
	return out
}

// maxPlaces bounds where in a node a pointer may lead to.
const maxPlaces = 4

// places are where in a node of type t that begins which a pointer to elem leads to: at its beginning, if
// it is one or begins with one (a base class), and its members, as a link that is embedded.
func places(elem *types.Type, t *check.NodeType) []uint64 {
	switch {
	case t == nil || elem.Kind == types.Void:
		return []uint64{0}
	case t.Array && t.Elem != nil:
		if typing.SameType(elem, t.Elem) {
			return []uint64{0}
		}
		return nil
	case t.Layout == nil:
		return []uint64{0}
	}
	return within(nil, elem, t.Layout, 0)
}

// within adds where in a type another one begins.
func within(out []uint64, elem, t *types.Type, at uint64) []uint64 {
	if len(out) == maxPlaces {
		return out
	}
	if typing.SameType(elem, t) {
		return append(out, at)
	}
	embedded := elem.HasMembers() || elem.Kind == types.Pointer
	for _, m := range t.Members {
		if m.Offset >= 0 && m.BitSize == 0 && m.Type != nil && (m.Offset == 0 || embedded) {
			out = within(out, elem, m.Type, at+uint64(m.Offset))
		}
	}
	return out
}

// holdsAt reports whether a structure has a member, or an element of an array, of a type at an offset.
func holdsAt(t, elem *types.Type, at int64) bool {
	switch {
	case at == 0 && typing.SameType(elem, t):
		return true
	case t.Kind == types.Array:
		return t.Elem != nil && t.Elem.Size > 0 && at < t.Size && holdsAt(t.Elem, elem, at%t.Elem.Size)
	}
	return slices.ContainsFunc(t.Members, func(m types.Member) bool {
		return m.BitSize == 0 && m.Type != nil && at >= m.Offset && at < m.Offset+m.Type.Size && holdsAt(m.Type, elem, at-m.Offset)
	})
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
