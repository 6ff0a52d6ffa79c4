package faultloc

import (
	"slices"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// What a statement stores it has from somewhere, and mostly from the same place each time, as seen from
// the node that it writes to: t->left = l->right takes what hangs to the right of the child that t has
// on its left, n->key = key what the function was called with. Of the places near a node, and of
// the arguments of the call, those are kept that held the value in all executions.

// Origin is where a statement has had its values from: right before each execution it held By less than what
// was stored.
type Origin struct {
	Arg   int    // of the call of a watched function, from 1 on; 0: it is a field
	Via   string // the pointer of the node that is written to by which the field is reached, "" if it is the node's own
	Field string
	Far   int // elements from the one that is written, in the same array; Field is ""
	By    int64
}

// spot is a place that may hold a value that is stored: an argument, or a field of the node that is written to, or of
// one that this leads to.
type spot struct {
	arg     int         // from 1 on; 0: it is a field
	element bool        // at is counted from the cell that is written
	of      graph.ObjID // a node of the type that is written to
	to      graph.ObjID // a node of the type that the pointer at via leads to; 0: the field is the node's own
	via, at trace.Addr  // bytes, from where the node begins
}

// origin is a spot with what is known of it.
type origin struct {
	Origin
	spot
	n      int // executions in which it was there
	first  uint64
	varied bool // not all of them stored the first value
}

// Limits of the comparison with what lies near.
const (
	maxSpots    = 256 // that a statement may have its values from
	maxArgs     = 6   // of a call
	maxElements = 2   // how far from each other elements of an array are that are moved
)

// origins are the spots that held the value in all executions.
func (c *comparer) origins(ops []mgpp.Timestamp) (out []origin) {
	begun := false
	for _, t := range ops {
		w := c.write(t)
		if !w.ok || !w.hasValue || len(w.cell.Parts) > 0 {
			continue
		}
		if !begun && w.value == 0 {
			continue // that all is 0 shows nothing
		}
		if !begun {
			for _, s := range c.spots(w) {
				if v, ok := c.holds(&s.spot, w, t); ok {
					s.By, s.first = signed(w.value-v, w.cell.Size), w.value
					if s.By == 0 || !w.cell.Pointer {
						out = append(out, s)
					}
				}
			}
			begun = true
		}
		out = slices.DeleteFunc(out, func(o origin) bool {
			v, there := c.holds(&o.spot, w, t)
			return there && signed(w.value-v, w.cell.Size) != o.By
		})
		for i := range out {
			o := &out[i]
			if _, there := c.holds(&o.spot, w, t); there {
				o.n++
				o.varied = o.varied || w.value != o.first
			}
		}
	}
	return slices.DeleteFunc(out, func(o origin) bool {
		return o.n < minRelated || !o.varied || o.By != 0 && o.Arg == 0 && o.n < maxLike // numbers near each other often differ by the same
	})
}

// strayed returns the origin that an execution did not have its value from, though it was there. What was there, and what led
// there, must have been so at the last healthy C-point: else it may be that which is wrong.
func (c *comparer) strayed(list []origin, t mgpp.Timestamp) *origin {
	w := c.write(t)
	if !w.ok || !w.hasValue {
		return nil
	}
	for i := range list {
		o := &list[i]
		if v, there := c.holds(&o.spot, w, t); there && signed(w.value-v, w.cell.Size) != o.By && c.kept(&o.spot, w, t, v) {
			return o
		}
	}
	return nil
}

// followed: an execution had its value from where all have had theirs, and it was so at the last healthy C-point.
func (c *comparer) followed(list []origin, t mgpp.Timestamp) bool {
	w := c.write(t)
	return w.ok && w.hasValue && slices.ContainsFunc(list, func(o origin) bool {
		v, there := c.holds(&o.spot, w, t)
		return there && signed(w.value-v, w.cell.Size) == o.By && c.kept(&o.spot, w, t, v)
	})
}

// kept: a spot held the same at the last healthy C-point as before an execution.
func (c *comparer) kept(s *spot, w *write, t mgpp.Timestamp, v uint64) bool {
	if s.arg > 0 {
		return true
	}
	base := c.in.Cells.Object(w.obj)
	if base.Birth > c.in.Healthy {
		return false
	}
	now, then := c.in.Model.View(t-1), c.in.Model.View(c.in.Healthy)
	at := base.Addr + s.at
	switch {
	case s.element:
		at = w.cell.Addr + s.at
	case s.to != 0:
		is, _ := read(now, base.Addr+s.via, 8)
		was, ok := read(then, base.Addr+s.via, 8)
		if !ok || is != was {
			return false
		}
		at = trace.Addr(is) + s.at
	}
	was, ok := read(then, at, w.cell.Size)
	return ok && was == v
}

// spots are the places from which a statement may have what it stored.
func (c *comparer) spots(w *write) (out []origin) {
	add := func(s spot, n Origin) {
		if len(out) < maxSpots {
			s.of = w.obj
			out = append(out, origin{Origin: n, spot: s})
		}
	}
	if !w.cell.Pointer && c.in.Args != nil {
		for k := 1; k <= maxArgs; k++ {
			add(spot{arg: k}, Origin{Arg: k})
		}
	}
	base := c.in.Cells.Object(w.obj).Addr
	own := c.layout(w.obj, w.at)
	for _, f := range own {
		at := f.Addr - base
		if f.Size == w.cell.Size && f.Pointer == w.cell.Pointer {
			far := int(int64(f.Addr-w.cell.Addr) / int64(f.Size))
			switch array := General(f.Path) == General(w.cell.Path); {
			case f.Addr == w.cell.Addr:
			case !array:
				add(spot{at: at}, Origin{Field: f.Path})
			case far >= -maxElements && far <= maxElements:
				add(spot{element: true, at: f.Addr - w.cell.Addr}, Origin{Far: far})
			}
		}
		v, ok := read(c.in.Model.View(w.at-1), f.Addr, f.Size)
		if !f.Pointer || !ok || v == 0 {
			continue
		}
		o := c.in.Cells.At(trace.Addr(v), c.in.Model.View(w.at-1))
		if o == 0 || uint64(c.in.Cells.Object(o).Addr) != v {
			continue
		}
		for _, g := range c.layout(o, w.at) {
			if g.Size == w.cell.Size && g.Pointer == w.cell.Pointer && g.Addr != w.cell.Addr {
				add(spot{to: o, via: at, at: g.Addr - c.in.Cells.Object(o).Addr}, Origin{Via: f.Path, Field: g.Path})
			}
		}
	}
	return out
}

// layout are the fields of a node.
func (c *comparer) layout(o graph.ObjID, t mgpp.Timestamp) []Cell {
	return c.in.Cells.Fields(o, c.in.Model.View(t))
}

// holds is the number that a spot held right before an execution; there is none where the way there ends.
func (c *comparer) holds(s *spot, w *write, t mgpp.Timestamp) (uint64, bool) {
	if s.arg > 0 {
		args := c.in.Args(t)
		if s.arg > len(args) {
			return 0, false
		}
		return args[s.arg-1], true
	}
	view := c.in.Model.View(t - 1)
	base := c.in.Cells.Object(w.obj)
	if base.Type != c.in.Cells.Object(s.of).Type {
		return 0, false
	}
	switch {
	case s.element:
		at := w.cell.Addr + s.at
		if at < base.Addr || uint64(at-base.Addr)+uint64(w.cell.Size) > base.Size {
			return 0, false
		}
		return read(view, at, w.cell.Size)
	case s.to == 0:
		return read(view, base.Addr+s.at, w.cell.Size)
	}
	v, ok := read(view, base.Addr+s.via, 8)
	if !ok || v == 0 {
		return 0, false
	}
	o := c.in.Cells.At(trace.Addr(v), view)
	if o == 0 {
		return 0, false
	}
	if to := c.in.Cells.Object(o); uint64(to.Addr) != v || to.Type != c.in.Cells.Object(s.to).Type {
		return 0, false
	}
	return read(view, trace.Addr(v)+s.at, w.cell.Size)
}
