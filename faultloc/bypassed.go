package faultloc

import (
	"slices"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// A node is taken out of one place and put in at another. What was left behind leads to it still, and nothing is wrong with that until
// the node is put in: who does that is right.

// bypassed is, of a pointer that an operation made wrong because it still leads to a node which that writes to or leads to, the store
// that took this node out before: the last since the last healthy C-point that replaced another pointer to the node by where the node
// itself led, as the repair would. 0: there is none, or the pointer was stored since then.
func (r *Repair) bypassed(in Input, t mgpp.Timestamp) mgpp.Timestamp {
	left, ok := read(in.Model.View(in.At), r.Cell.Addr, r.Cell.Size)
	node := in.Cells.At(trace.Addr(left), in.Model.View(in.At))
	if !ok || !r.Cell.Pointer || node == 0 || uint64(in.Cells.Object(node).Addr) != left || node == r.Target || !in.putIn(node, left, t) {
		return 0
	}
	last := in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), in.At)
	return r.leftAt(in, node, max(in.Healthy, last), t)
}

// leftAt is the last store between two operations that took a pointer to a node away, but for the one that a repair would replace, and put
// in its place where the node itself led, as the repair would. 0: there is none.
func (r *Repair) leftAt(in Input, node graph.ObjID, after, before mgpp.Timestamp) mgpp.Timestamp {
	for at := range in.taken(in.Cells.Object(node).Addr, before, after) {
		op := in.History.Op(at)
		if in.Cells.At(op.Addr, in.Model.View(at)) == node {
			continue
		}
		instead, ok := read(in.Model.View(at), op.Addr, 8)
		if ok && !r.otherSide(in, node, op.Addr, instead, at) {
			continue // it may be in two structures: this is not the one that the repair is about
		}
		if ok && op.Addr != r.Cell.Addr && in.ledTo(node, instead, at-1) && in.ledTo(node, r.Value, at-1) {
			return at
		}
		return 0
	}
	return 0
}

// otherSide: a pointer and the repair's are the two sides of what takes a node out: where the one leads, the other one is, or the other
// way round, or both are the ends that one container keeps.
func (r *Repair) otherSide(in Input, node graph.ObjID, at trace.Addr, leads uint64, t mgpp.Timestamp) bool {
	view := in.Model.View(t)
	obj := in.Cells.Object(r.Cell.Obj)
	ends := uint64(at-obj.Addr) < obj.Size && obj.Type != in.Cells.Object(node).Type
	return ends || leads-uint64(obj.Addr) < obj.Size || r.Target != 0 && in.Cells.At(at, view) == r.Target
}

// putIn: an operation wrote a pointer into a node, or one to it.
func (in *Input) putIn(node graph.ObjID, addr uint64, t mgpp.Timestamp) bool {
	op, view := in.History.Op(t), in.Model.View(t)
	if op.Kind != mgpp.OpStore || op.Size != 8 {
		return false
	}
	v, ok := read(view, op.Addr, 8)
	c, known := in.cellAt(op, view)
	return ok && known && c.Pointer && (v == addr || c.Obj == node)
}

// putInBetween: between two operations one wrote a pointer into a node, or one to it. Of several pointers the compiler may make one store.
func (in *Input) putInBetween(node graph.ObjID, after, before mgpp.Timestamp) bool {
	n := in.Cells.Object(node)
	for t := before - 1; t > after && before-t < maxStale; t-- {
		op := in.History.Op(t)
		if op.Kind == mgpp.OpStore && op.Size > 8 && uint64(op.Addr-n.Addr) < n.Size || in.putIn(node, uint64(n.Addr), t) {
			return true
		}
	}
	return false
}

// ledTo: a pointer of a node held a value at a time.
func (in *Input) ledTo(node graph.ObjID, value uint64, t mgpp.Timestamp) bool {
	view := in.Model.View(t)
	return slices.ContainsFunc(in.Cells.Fields(node, view), func(c Cell) bool {
		v, ok := read(view, c.Addr, c.Size)
		return c.Pointer && ok && v == value
	})
}

// stayed accuses who took a node out, and left a pointer to it, where that was stored again, as it was, when the node was put in elsewhere,
// and the node was freed after that.
func stayed(in Input, suspects []Suspect, repairs []Repair, node graph.ObjID, at trace.Addr, again mgpp.Timestamp) ([]Suspect, bool) {
	for i := range repairs {
		r := &repairs[i]
		if r.Cell.Addr != at || !r.Cell.Pointer || r.Created > 0 || r.Orphans > 0 {
			continue
		}
		t := r.leftAt(in, node, in.Healthy, again)
		if t == 0 || !in.putInBetween(node, t, again) {
			continue
		}
		if was, ok := read(in.Model.View(t), at, 8); !ok || was != uint64(in.Cells.Object(node).Addr) {
			continue
		}
		onward(in, &suspects, again)
		s := r.accused(in, &suspects, t)
		if s.has(Outdated) {
			return suspects, true
		}
		e := Evidence{Kind: Outdated, Mends: r, At: t, Bypassed: true}
		in.cures(&e, r.cured)
		s.Evidence = append(s.Evidence, e)
		return suspects, true
	}
	return suspects, false
}
