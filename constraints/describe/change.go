package describe

import (
	"fmt"
	"strings"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
	"mgtrace/types"
)

// maxChanges bounds the fields that the description of one operation lists.
const maxChanges = 4

// Change says what operation t did, in the user's field names.
func Change(g *graph.Graph, h *mgpp.History, t mgpp.Timestamp) string {
	op := h.Op(t)
	switch op.Kind {
	case mgpp.OpBirth, mgpp.OpDeath, mgpp.OpResize, mgpp.OpMove:
		return life(g, h, op)
	case mgpp.OpEnter, mgpp.OpLeave:
		if op.Kind == mgpp.OpLeave {
			return at(g, h, op.Addr, t-1) + " left the structure"
		}
		return at(g, h, op.Addr, t) + " entered the structure"
	}
	if o := g.Former(op.Node); o != 0 && g.Object(o).Death == t { // its block lives on
		return g.Name(o) + " was destroyed: its last owner gave it up"
	}
	return written(g, h, op)
}

func life(g *graph.Graph, h *mgpp.History, op mgpp.Op) string {
	name := Node(g, op.Node)
	switch op.Kind {
	case mgpp.OpBirth:
		return fmt.Sprintf("%s was allocated (%d bytes)", name, op.Size)
	case mgpp.OpDeath:
		return name + " was freed"
	case mgpp.OpResize:
		return fmt.Sprintf("%s was resized to %d bytes", name, op.Size)
	}
	return fmt.Sprintf("%s was moved and became %s", name, Node(g, op.Other))
}

// Node names a block: by its object if it is one.
func Node(g *graph.Graph, n mgpp.NodeID) string {
	if o := g.Former(n); o != 0 {
		return g.Name(o)
	}
	return fmt.Sprintf("a block at %#x", uint64(g.History().Node(n).Start))
}

func at(g *graph.Graph, h *mgpp.History, addr trace.Addr, t mgpp.Timestamp) string {
	if o := objectAt(g, h.At(t), addr); o != 0 {
		return g.Name(o)
	}
	return fmt.Sprintf("%#x", uint64(addr))
}

// written describes a store or bulk write: each field that differs.
func written(g *graph.Graph, h *mgpp.History, op mgpp.Op) string {
	parts, more := differing(g, h, op)
	s := strings.Join(parts, ", ")
	switch {
	case more >= maxLooked-maxChanges:
		s += ", and many more fields"
	case more > 0:
		s += fmt.Sprintf(", and %d more fields", more)
	}
	if s == "" {
		s = unchanged(g, h, op)
	}
	if op.Name != "" {
		s = fmt.Sprintf("%s of %d bytes: %s", op.Name, op.Size, s)
	}
	return s
}

// unchanged describes a write that left everything as it was.
func unchanged(g *graph.Graph, h *mgpp.History, op mgpp.Op) string {
	after := h.At(op.Time)
	if o := objectAt(g, after, op.Addr); o != 0 {
		if f, ok := FieldAt(g, after, o, op.Addr); ok && f.Size >= int64(op.Size) {
			return fmt.Sprintf("%s: %s, as before", Join(g.Name(o), f.Path), text(f))
		}
	}
	if op.Size == 1 {
		return "1 byte at " + at(g, h, op.Addr, op.Time)
	}
	return fmt.Sprintf("%d bytes at %s", op.Size, at(g, h, op.Addr, op.Time))
}

// maxLooked bounds how many fields, and places without an object, of one write
// are looked at.
const maxLooked = 1 << 14

// differing describes the first fields that an operation changed, and counts the rest.
func differing(g *graph.Graph, h *mgpp.History, op mgpp.Op) (parts []string, more int) {
	before, after := h.At(op.Time-1), h.At(op.Time)
	end := op.Addr + trace.Addr(op.Size)
	looked := 0
	for addr := op.Addr; addr < end && looked < maxLooked; {
		o := objectAt(g, after, addr)
		if o == 0 {
			looked++
			addr = addr&^3 + 4 // no object with a pointer is closer
			continue
		}
		start := g.Object(o).Addr
		each(g, after, o, extent{int64(addr - start), int64(end - start)}, func(s types.Scalar, at int64, path string) bool {
			looked++
			was, is := field(g, before, o, s, at, path), field(g, after, o, s, at, path)
			switch {
			case was.Text == is.Text:
			case len(parts) == maxChanges:
				more++
			default:
				parts = append(parts, fmt.Sprintf("%s: %s → %s", Join(g.Name(o), path), text(was), text(is)))
			}
			return looked < maxLooked
		})
		addr = max(addr+1, start+trace.Addr(g.Size(o, op.Time)))
	}
	return parts, more
}

// objectAt is the typed object at an address, the innermost if there are several.
func objectAt(g *graph.Graph, v mgpp.View, addr trace.Addr) graph.ObjID {
	best := graph.ObjID(0)
	for _, o := range g.At(v, addr) {
		if g.Object(o).Type != nil || best == 0 {
			best = o
		}
	}
	return best
}

// text is a value in words, never nothing.
func text(f Field) string {
	if f.Text == "" {
		return "unknown"
	}
	return f.Text
}
