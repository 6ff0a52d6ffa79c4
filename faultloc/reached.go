package faultloc

import (
	"slices"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// A loop goes from node to node by the same pointer, and through an array in equal steps. What leads from the node that
// was written to last to the one that is written to now is a law of the two statements, if it was so in all executions.

// reach is what has led from one node to the next, wherever an execution of a statement came behind another one.
type reach struct {
	n     int
	forth []trace.Addr // bytes in the one before: pointers to the next
	back  []trace.Addr // bytes in the next one: pointers to the one before
	step  int64        // bytes from cell to cell in the same node
	same  bool         // all were in the same node, at this step
}

// before is the operation right before another one of its thread, 0 if that is the first since a C-point.
func (c *comparer) before(t mgpp.Timestamp) (mgpp.Timestamp, int) {
	run, i := c.seq[c.in.History.Op(t).Thread], c.place[c.in.At-t]
	if i+1 >= len(run) || run[i+1].interval != run[i].interval {
		return 0, 0
	}
	return run[i+1].t, c.h.plain[run[i+1].st]
}

// reaches learns what leads to where a statement writes, by the statement before.
func (c *comparer) reaches(ops []mgpp.Timestamp) map[int]*reach {
	out := map[int]*reach{}
	for _, t := range ops {
		p, st := c.before(t)
		w, from := c.stores(t), c.stores(p)
		if w == nil || from == nil {
			continue
		}
		r := out[st]
		if r == nil {
			r = &reach{same: true, step: int64(w.cell.Addr - from.cell.Addr)}
			r.forth, r.back = c.pointers(from, w, t), c.pointers(w, from, t)
			out[st] = r
		}
		r.n++
		r.same = r.same && w.obj == from.obj && int64(w.cell.Addr-from.cell.Addr) == r.step
		r.forth = slices.DeleteFunc(r.forth, func(at trace.Addr) bool { return !c.leads(from, at, w, t) })
		r.back = slices.DeleteFunc(r.back, func(at trace.Addr) bool { return !c.leads(w, at, from, t) })
	}
	return out
}

// jumped: nothing led from the node before to the one that was written to as it always did.
func (c *comparer) jumped(m map[int]*reach, t mgpp.Timestamp) (of int, beside mgpp.Timestamp) {
	p, st := c.before(t)
	r := m[st]
	if p <= c.in.Healthy || r == nil || r.n < minRelated {
		return 0, 0
	}
	w, from := c.stores(t), c.stores(p)
	if w == nil || from == nil {
		return 0, 0
	}
	broken := r.same && (w.obj != from.obj || int64(w.cell.Addr-from.cell.Addr) != r.step) ||
		slices.ContainsFunc(r.forth, func(at trace.Addr) bool { return !c.leads(from, at, w, t) && c.old(from, at, t) }) ||
		slices.ContainsFunc(r.back, func(at trace.Addr) bool { return !c.leads(w, at, from, t) && c.old(w, at, t) })
	if !broken {
		return 0, 0
	}
	return r.n, p
}

// old: a pointer of a node led to the same at the last healthy C-point as right before a time. One that was
// stored since then may be what is wrong.
func (c *comparer) old(from *write, at trace.Addr, t mgpp.Timestamp) bool {
	o := c.in.Cells.Object(from.obj)
	is, ok := read(c.in.Model.View(t-1), o.Addr+at, 8)
	was, ok2 := read(c.in.Model.View(c.in.Healthy), o.Addr+at, 8)
	return o.Birth <= c.in.Healthy && ok && ok2 && is == was
}

// stores is what an operation wrote, nil if it is no store of a field.
func (c *comparer) stores(t mgpp.Timestamp) *write {
	if t == 0 {
		return nil
	}
	if op := c.in.History.Op(t); op.Kind != mgpp.OpStore || op.Size > 8 {
		return nil
	}
	if w := c.write(t); w.ok {
		return w
	}
	return nil
}

// pointers are those of one node that led to another right before a time.
func (c *comparer) pointers(from, to *write, t mgpp.Timestamp) (out []trace.Addr) {
	base := c.in.Cells.Object(from.obj).Addr
	for _, f := range c.layout(from.obj, t) {
		if at := f.Addr - base; f.Pointer && c.leads(from, at, to, t) {
			out = append(out, at)
		}
	}
	return out
}

// leads: the pointer at some bytes of a node led to another one right before a time.
func (c *comparer) leads(from *write, at trace.Addr, to *write, t mgpp.Timestamp) bool {
	v, ok := read(c.in.Model.View(t-1), c.in.Cells.Object(from.obj).Addr+at, 8)
	return ok && from.obj != to.obj && v == uint64(c.in.Cells.Object(to.obj).Addr)
}
