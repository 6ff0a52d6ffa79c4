package describe

import (
	"fmt"
	"strings"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
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
		verb := "entered"
		if op.Kind == mgpp.OpLeave {
			verb = "left"
		}
		return fmt.Sprintf("%s %s the structure", at(g, h, op.Addr, t), verb)
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
	before, after := h.At(op.Time-1), h.At(op.Time)
	var parts []string
	more := 0
	for addr := op.Addr; addr < op.Addr+trace.Addr(op.Size); {
		o := objectAt(g, after, addr)
		if o == 0 {
			addr++
			continue
		}
		f, ok := FieldAt(g, after, o, addr)
		if !ok {
			addr++
			continue
		}
		addr = f.Addr + trace.Addr(max(f.Size, 1))
		was, _ := FieldAt(g, before, o, f.Addr)
		if was.Text == f.Text {
			continue
		}
		if len(parts) == maxChanges {
			more++
			continue
		}
		parts = append(parts, fmt.Sprintf("%s.%s: %s → %s", g.Name(o), f.Path, text(was), text(f)))
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more fields", more))
	}
	s := strings.Join(parts, ", ")
	if s == "" {
		s = fmt.Sprintf("%d bytes at %s", op.Size, at(g, h, op.Addr, op.Time))
	}
	if op.Name != "" {
		s = fmt.Sprintf("%s of %d bytes: %s", op.Name, op.Size, s)
	}
	return s
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

// text is a value with the address behind a name, since that is what a debugger shows.
func text(f Field) string {
	if f.Text == "" {
		return "unknown"
	}
	return f.Text
}
