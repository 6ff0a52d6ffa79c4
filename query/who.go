package query

import (
	"iter"
	"strings"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Change is an operation as it concerns a cell or a node.
type Change struct {
	Op     mgpp.Op
	What   string // "qdtree#2 → NULL", "allocated, 56 bytes"
	Before string // of a cell: its value; "" where it has several
	After  string
	Same   bool // it stored what was there
}

// Writers returns what made a cell what it is at t, newest first: every write to
// it, reallocs that carried it over and what was written before them, and at last
// the allocation of its node, or the realloc by which that grew to have it.
func (n *Names) Writers(c Cell, t mgpp.Timestamp) iter.Seq[Change] {
	return func(yield func(Change) bool) {
		node := n.hist.Node(c.Node)
		if c.Dead {
			t = min(t, node.Death-1)
		}
		since := n.since(&node, t)
		for {
			at := n.hist.LastWrite(c.Addr, c.Size, t)
			if at == 0 || at < since(c.Addr) {
				break
			}
			t = at - 1
			op := n.hist.Op(at)
			switch {
			case op.Kind == mgpp.OpMove && op.Other == c.Node:
				if !yield(Change{Op: op, What: n.life(op)}) {
					return
				}
				old := n.hist.Node(op.Node)
				c.Addr = old.Start + (c.Addr - node.Start)
				c.Node, node = old.ID, old
				since = n.since(&node, t)
			case at < since(max(op.Addr, c.Addr)): // before that part of the cell was the node's
			case !yield(n.written(op, c)):
				return
			}
		}
		if first := since(c.Addr); first > 0 {
			if op := n.hist.Op(first); op.Kind == mgpp.OpBirth || op.Kind == mgpp.OpResize {
				yield(Change{Op: op, What: n.life(op)})
			}
		}
	}
}

// life says what an operation did to a node as a whole.
func (n *Names) life(op mgpp.Op) string {
	switch op.Kind {
	case mgpp.OpBirth:
		return n.Name(op.Node) + " was allocated, " + byteCount(op.Size)
	case mgpp.OpDeath:
		return n.Name(op.Node) + " was freed"
	case mgpp.OpResize:
		return n.Name(op.Node) + " was resized to " + byteCount(op.Size)
	case mgpp.OpMove:
		return n.Name(op.Node) + " was moved and became " + n.Name(op.Other) + ", " + byteCount(op.Size)
	}
	return ""
}

// maxParts bounds the fields that the description of one write lists.
const maxParts = 4

// written describes a write as it concerns a cell: by the fields that it changed.
func (n *Names) written(op mgpp.Op, c Cell) Change {
	out := Change{Op: op, Same: true}
	before, after := n.hist.At(op.Time-1), n.hist.At(op.Time)
	lo, hi := max(op.Addr, c.Addr), min(op.Addr+trace.Addr(op.Size), c.Addr+trace.Addr(c.Size))
	if c.Node == 0 {
		out.Same = false
		out.What = byteCount(op.Size) + " written where no node is"
		return out
	}
	start := n.hist.Node(c.Node).Start
	var parts []string
	fields, more := 0, 0
	path, size := "", uint64(0) // of the last
	each := func(f func(Field) bool) { n.each(after, c.Node, uint64(lo-start), uint64(hi-start), f) }
	if c.as.Type != nil {
		each = func(f func(Field) bool) { f(c.field()) }
	}
	each(func(f Field) bool {
		was, is := f, f
		n.read(before, &was)
		n.read(after, &is)
		fields++
		path, size = f.Path, f.Size
		out.Before, out.After = was.Value, is.Value
		if was.Value == is.Value && was.Known == is.Known {
			return fields < maxFields
		}
		out.Same = false
		if len(parts) == maxParts {
			more++
		} else {
			parts = append(parts, f.Path+": "+was.Value+" → "+is.Value)
		}
		return fields < maxFields
	})
	switch {
	case fields == 1:
		out.What = out.Before + " → " + out.After
		if out.Same {
			out.What = out.After + ", as before"
		}
		if c.Size > size {
			out.What = path + ": " + out.What
		}
		return out
	case out.Same:
		out.What = byteCount(op.Size) + ", as before"
	default:
		out.What = strings.Join(parts, ", ")
		if more > 0 {
			out.What += ", and " + count(more, "more field", "more fields")
		}
	}
	out.Before, out.After = "", ""
	return out
}
