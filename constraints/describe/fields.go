package describe

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
	"mgtrace/types"
)

// maxFields bounds the fields that are listed of one object.
const maxFields = 256

// Field is one scalar field of an object at a time.
type Field struct {
	Path    string // "child[2]"; "[3].key" in an array
	Addr    trace.Addr
	Size    int64 // bytes
	Type    *types.Type
	Text    string // its value in words
	Pointer bool
	Coded   coded.Pointer // Pointer: how the bytes hold it
	Target  graph.ObjID   // Pointer: the object that it leads to, 0 if none
	State   mgpp.TargetState
	Known   bool // every byte is known
	Bits    Bits
}

// Bits are those of a field in its bytes, if it is a bit-field: Count is not 0 then.
type Bits struct{ Offset, Count int }

// Fields lists the fields of an object, in order; of a large array the first.
func Fields(g *graph.Graph, v mgpp.View, o graph.ObjID) []Field { return fields(g, v, o, field) }

// BareFields is Fields without what they hold: nothing of that is put in words.
func BareFields(g *graph.Graph, v mgpp.View, o graph.ObjID) []Field { return fields(g, v, o, bare) }

// FieldAt returns the field of an object that covers an address, of several
// bit-fields the first.
func FieldAt(g *graph.Graph, v mgpp.View, o graph.ObjID, addr trace.Addr) (Field, bool) {
	return fieldAt(g, v, o, addr, field)
}

// BareFieldAt is FieldAt without what it holds.
func BareFieldAt(g *graph.Graph, v mgpp.View, o graph.ObjID, addr trace.Addr) (Field, bool) {
	return fieldAt(g, v, o, addr, bare)
}

// teller says what a field is.
type teller func(g *graph.Graph, v mgpp.View, o graph.ObjID, s types.Scalar, at int64, path string) Field

func fields(g *graph.Graph, v mgpp.View, o graph.ObjID, tell teller) []Field {
	var out []Field
	each(g, v, o, extent{0, math.MaxInt64}, func(s types.Scalar, at int64, path string) bool {
		out = append(out, tell(g, v, o, s, at, path))
		return len(out) < maxFields
	})
	return out
}

func fieldAt(g *graph.Graph, v mgpp.View, o graph.ObjID, addr trace.Addr, tell teller) (f Field, ok bool) {
	off := int64(addr - g.Object(o).Addr)
	each(g, v, o, extent{off, off + 1}, func(s types.Scalar, at int64, path string) bool {
		f, ok = tell(g, v, o, s, at, path), true
		return false
	})
	return f, ok
}

// extent is a range of offsets in an object, [lo, hi).
type extent struct{ lo, hi int64 }

// visit takes a scalar field with its offset in the object, and returns whether
// it wants another.
type visit func(s types.Scalar, at int64, path string) bool

// each visits the scalar fields that overlap in.
func each(g *graph.Graph, v mgpp.View, o graph.ObjID, in extent, f visit) {
	obj := g.Object(o)
	size := int64(g.Size(o, v.Time()))
	f = intoUnions(g, v, o, in, f)
	switch t := obj.Type; {
	case t == nil:
		// A global of no declared type has the fields that debug information gives it.
		if obj.Global > 0 && g.Spec().Globals[obj.Global-1].Layout != nil {
			scalars(g.Spec().Globals[obj.Global-1].Layout, 0, size, "", in, f)
		}
	case t.Array && t.Elem != nil:
		elements(t.Elem, 0, size, "", in, f)
	case t.Array && t.Layout != nil:
		elements(t.Layout, 0, size, "", in, f)
	case t.Layout != nil:
		if scalars(t.Layout, 0, size, "", in, f) {
			tail(t.Layout, size, in, f)
		}
	}
}

// elements visits those of an array that begins at base and ends with the object.
func elements(t *types.Type, base, size int64, name string, in extent, f visit) {
	if t.Size <= 0 {
		return
	}
	for i := max(0, in.lo-base) / t.Size; base+(i+1)*t.Size <= size && base+i*t.Size < in.hi; i++ {
		if !scalars(t, base+i*t.Size, size, fmt.Sprintf("%s[%d]", name, i), in, f) {
			return
		}
	}
}

// scalars visits those of one layout at base; what lies beyond size is not there.
func scalars(t *types.Type, base, size int64, prefix string, in extent, f visit) bool {
	for _, s := range t.Scalars() {
		lo, hi := base+s.Offset, base+s.Offset+s.Size
		if hi > size {
			return true
		}
		if lo < in.hi && hi > in.lo && !f(s, lo, Join(prefix, s.Path)) {
			return false
		}
	}
	return true
}

// tail: a flexible array counts no field, but has elements up to the
// allocation's end.
func tail(t *types.Type, size int64, in extent, f visit) {
	if a, m, first := t.Tail(); a != nil {
		in.lo = max(in.lo, m.Offset+first*a.Elem.Size)
		elements(a.Elem, m.Offset, size, m.Name, in, f)
	}
}

// Join puts a field behind what it belongs to: "qdtree#1.child[0]", "slots#2[4]".
func Join(prefix, path string) string {
	if prefix == "" || path == "" || strings.HasPrefix(path, "[") {
		return prefix + path
	}
	return prefix + "." + path
}

// bare is a field without what it holds: what has no bytes holds no pointer.
func bare(g *graph.Graph, v mgpp.View, o graph.ObjID, s types.Scalar, at int64, path string) Field {
	obj := g.Object(o)
	f := Field{Path: path, Addr: obj.Addr + trace.Addr(at), Size: s.Size, Type: s.Type, Bits: Bits{s.BitOffset, s.BitSize}}
	if as := CodedAs(g, o, f.Addr); holdsPointer(&s, as) {
		var data [8]byte
		var written [8]bool
		if v.Read(f.Addr, &mgpp.Bytes{Data: data[:], Written: written[:]}) {
			f.Pointer, f.Coded = true, as
		}
	}
	return f
}

func holdsPointer(s *types.Scalar, as coded.Pointer) bool {
	return s.Size == 8 && s.Type != nil && (s.Type.Kind == types.Pointer || as != coded.Plain)
}

func field(g *graph.Graph, v mgpp.View, o graph.ObjID, s types.Scalar, at int64, path string) Field {
	obj := g.Object(o)
	f := Field{Path: path, Addr: obj.Addr + trace.Addr(at), Size: s.Size, Type: s.Type, Bits: Bits{s.BitOffset, s.BitSize}}
	var data [16]byte
	var written [16]bool
	n := min(s.Size, 16)
	b := mgpp.Bytes{Data: data[:n], Written: written[:n]}
	if !v.Read(f.Addr, &b) {
		f.Text = "not readable"
		return f
	}
	known := 0
	for _, w := range b.Written {
		if w {
			known++
		}
	}
	f.Known = known == len(b.Written)
	switch {
	case known == 0:
		f.Text = "never written"
	case !f.Known:
		f.Text = "partly written"
	}
	as := CodedAs(g, o, f.Addr)
	if holdsPointer(&s, as) {
		f.Pointer, f.Coded = true, as
		pointer(g, v, o, &f)
		if bits := as.Tag(binary.LittleEndian.Uint64(b.Data), uint64(f.Addr)); bits != 0 && f.Known {
			f.Text += fmt.Sprintf(" tag %d", bits)
		}
	} else if s.Type == bareWord && known > 0 {
		f.Text = bareText(b)
	} else if f.Known {
		f.Text = types.Read(s, b.Data).String()
	}
	return f
}

// pointer fills in what a pointer field leads to.
func pointer(g *graph.Graph, v mgpp.View, o graph.ObjID, f *Field) {
	tgt := v.Target(f.Addr, f.Coded)
	f.State = tgt.State
	switch tgt.State {
	case mgpp.Unwritten:
		return
	case mgpp.Null:
		f.Text = "NULL"
		return
	}
	f.Target = g.Resolve(v.Time(), tgt, f.Type.Elem, g.Object(o).Type)
	f.Text = Target(g, tgt, f.Target)
	if f.Target == 0 && tgt.State == mgpp.Points {
		if o := g.FormerAt(tgt.Node, tgt.Value); o != 0 && g.Object(o).Birth <= v.Time() && !g.Alive(o, v.Time()) {
			f.Text += " (destroyed " + g.Name(o) + ")"
		}
	}
}

// CodedAs says how the edge cell of an object at addr holds its pointer.
func CodedAs(g *graph.Graph, o graph.ObjID, addr trace.Addr) coded.Pointer {
	obj := g.Object(o)
	if obj.Type == nil {
		return coded.Plain
	}
	return obj.Type.CodedAt(int64(addr - obj.Addr))
}

// Target puts a pointer's value into words: "qdtree#3", "qdtree#3+8",
// "0x1000 (no node)", "0x1000 (function visit)", "0x55e0 (freed qdtree#2)".
func Target(g *graph.Graph, tgt mgpp.Target, o graph.ObjID) string {
	addr := fmt.Sprintf("%#x", tgt.Value)
	if g.IsNil(tgt.Value) {
		return "nil (" + addr + ")"
	}
	if o != 0 {
		if off := trace.Addr(tgt.Value) - g.Object(o).Addr; off != 0 {
			return fmt.Sprintf("%s+%d", g.Name(o), off)
		}
		return g.Name(o)
	}
	switch tgt.State {
	case mgpp.Dangling:
		name := "memory"
		if dead := g.Former(tgt.Node); dead != 0 {
			name = g.Name(dead)
		}
		if tgt.Reused != 0 {
			return fmt.Sprintf("%s (freed %s; the address is in use again)", addr, name)
		}
		return fmt.Sprintf("%s (freed %s)", addr, name)
	case mgpp.Wild:
		if f := g.Entry(trace.Addr(tgt.Value)); f != "" {
			return addr + " (function " + f + ")"
		}
		return addr + " (no node)"
	}
	return addr
}
