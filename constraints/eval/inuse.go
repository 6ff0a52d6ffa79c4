package eval

import (
	"math"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
	"mgtrace/types"
)

// This file says which pointer cells are in use: conditional ones, and the elements of
// arrays to which a pointer leads that says how far they are filled.

// inUse answers graph.Uses.
type inUse struct{ *Checker }

// Applies implements graph.Uses.
func (c inUse) Applies(v mgpp.View, o graph.ObjID, k *check.EdgeCell, i int64) bool {
	if !k.Conditional() && k.Own == (check.Span{}) && !isArray(c.g, o) {
		return true
	}
	stop := c.unstopped()
	r := c.env(v).applies(o, k, i)
	c.stop = stop
	return r == yes
}

// InUse reports whether an element of a pointer cell is in use, as far as is known.
func (c *Checker) InUse(v mgpp.View, o graph.ObjID, k *check.EdgeCell, i int64) bool {
	return inUse{c}.Applies(v, o, k, i)
}

// Used implements graph.Uses. What it evaluates depends on no attribute, so that
// evaluators that are just being made can be brought up to date by what it says.
func (c inUse) Used(v mgpp.View, o graph.ObjID) (lo, hi int64) {
	if c.filling == nil {
		c.filling = newEnv(c.Checker, v)
	} else {
		c.filling.reset(v, graph.Changed(v))
	}
	stop := c.unstopped()
	lo, hi = c.filling.part(o)
	c.stop = stop
	return lo, hi
}

// unstopped has nothing stopped for now, and returns who could: the graph asks while it takes over
// changes, and is not left in the middle of that.
func (c *Checker) unstopped() (stop func() bool) {
	stop, c.stop = c.stop, nil
	return stop
}

func isArray(g *graph.Graph, o graph.ObjID) bool {
	t := g.Object(o).Type
	return t != nil && t.Array
}

// applies tells whether an element of a cell counts.
func (e *env) applies(o graph.ObjID, c *check.EdgeCell, elem int64) tri {
	r := yes
	if len(c.Holds) > 0 || c.Own != (check.Span{}) {
		r = e.active(c, e.g.CellAddr(o, c, elem))
	}
	if r == yes && len(c.Used) > 0 {
		r = inAny(e.partsOf(o, c), elem)
	}
	if r == yes && !e.uses(o, c.Offset+elem*c.Stride) {
		r = no
	}
	return r
}

// onNode evaluates what is said of a node in slot 0.
func (e *env) onNode(o graph.ObjID, f func() tri) tri {
	outside := e.outside
	e.push()
	e.vars[0] = o
	r := f()
	e.pop()
	e.outside = outside
	return r
}

// parts are those of a cell of an object that are in use, as far as one recorder has been told.
type parts struct {
	obj  graph.ObjID
	cell *check.EdgeCell
	rec  *recorder
	list []part
}

// part is one of them: the elements from lo to hi, if in is yes.
type part struct {
	in     tri
	lo, hi int64
}

// partsOf evaluates which elements of a cell are in use. They are asked for one after the other. The list holds until the next call.
func (e *env) partsOf(o graph.ObjID, c *check.EdgeCell) []part {
	if p := &e.parts; p.obj != o || p.cell != c || p.rec != e.rec {
		var buf [4]part
		list := buf[:0]
		for i := range c.Used {
			x := part{lo: math.MinInt64, hi: math.MaxInt64}
			x.in = e.onNode(o, func() tri { return e.bounded(&c.Used[i], &x) })
			list = append(list, x)
		}
		e.parts = parts{o, c, e.rec, append(p.list[:0], list...)}
	}
	return e.parts.list
}

// bounded evaluates whether a part is in use, and from where to where.
func (e *env) bounded(u *check.Used, p *part) tri {
	r := yes
	if u.Cond != nil {
		r = e.eval(u.Cond).tri()
	}
	for i, bound := range [2]check.Expr{u.Lo, u.Hi} {
		if bound == nil || r == no {
			continue
		}
		n := e.eval(bound)
		switch {
		case !n.defined():
			r = unknown
		case i == 0:
			p.lo = n.int()
		default:
			p.hi = n.int()
		}
	}
	return r
}

// inAny tells whether an element is in one of the parts that are in use.
func inAny(list []part, elem int64) tri {
	r := no
	for _, p := range list {
		switch {
		case p.in == no || elem < p.lo || elem > p.hi:
		case p.in == yes:
			return yes
		default:
			r = unknown
		}
	}
	return r
}

// active tells whether the cell at addr is one that C++ types say is in use.
func (e *env) active(c *check.EdgeCell, addr trace.Addr) tri {
	for _, h := range c.Holds {
		if e.read(addr+trace.Addr(h.Off), h.Size, nil) != 0 {
			return unknown
		}
		if e.decode(h.Size, unsigned).bits != h.Value {
			return no
		}
	}
	if c.Own != (check.Span{}) {
		if to, ok := e.word(addr); ok && int64(to-uint64(addr)) >= c.Own.Lo && int64(to-uint64(addr)) < c.Own.Hi {
			return no
		}
	}
	return yes
}

// unsigned is the type of the numbers of check.Holds; read-only.
var unsigned = &types.Type{Kind: types.Uint, Name: "unsigned long", Size: 8}

// uses tells whether the byte at an offset of an object is in use.
func (e *env) uses(o graph.ObjID, off int64) bool {
	if !isArray(e.g, o) {
		return true
	}
	lo, hi := e.part(o)
	return lo <= off && off < hi
}

// filled is how far an array is in use, as far as one recorder has been told.
type filled struct {
	obj    graph.ObjID
	rec    *recorder
	lo, hi int64
}

// part returns which bytes of an object are in use: of an array to which pointers lead
// that say so, what they say together, else all.
func (e *env) part(o graph.ObjID) (lo, hi int64) {
	size := int64(e.g.Size(o, e.t))
	if !isArray(e.g, o) {
		return 0, size
	}
	if f := &e.filled; f.obj == o && f.rec == e.rec {
		return f.lo, f.hi
	}
	said := false
	refs := e.inRefs(o)
	for i := range refs {
		r := &refs[i]
		if r.Cell.Fills == nil || r.Off != 0 || !e.g.Alive(r.From, e.t) {
			continue
		}
		a, b, ok := e.fill(r, size, elemSize(e.g.Object(o).Type))
		switch {
		case !ok:
		case !said:
			lo, hi, said = a, b, true
		default:
			lo, hi = min(lo, a), max(hi, b)
		}
	}
	e.done()
	if !said {
		hi = size
	}
	e.filled = filled{o, e.rec, lo, hi}
	return lo, hi
}

// fill evaluates what a pointer says of the array of a size to which it leads. ok is false
// where that is not known.
func (e *env) fill(r *graph.Ref, size, elem int64) (lo, hi int64, ok bool) {
	f := r.Cell.Fills
	if f.End != 0 {
		begin, known := e.word(r.Addr)
		end, known2 := e.word(r.Addr + trace.Addr(f.End))
		return 0, int64(min(end-begin, uint64(size))), known && known2 && end >= begin
	}
	from, to := int64(0), size/elem-1
	in := e.onNode(r.From, func() tri {
		if f.Cond != nil {
			if c := e.eval(f.Cond).tri(); c != yes {
				return c
			}
		}
		a, b := e.eval(f.Lo), e.eval(f.Hi)
		if !a.defined() || !b.defined() {
			return unknown
		}
		from, to = max(from, a.int()), min(to, b.int())
		return yes
	})
	if in == no || from > to {
		return 0, 0, in != unknown
	}
	return from * elem, (to + 1) * elem, in == yes
}

// word reads the 8 bytes at addr. ok is false if they are not all known.
func (e *env) word(addr trace.Addr) (w uint64, ok bool) {
	if e.read(addr, 8, nil) != 0 {
		return 0, false
	}
	return e.decode(8, word.Type).bits, true
}
