package eval

import (
	"fmt"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/mgpp"
)

// Two pointers have an order, and a number of elements between them, where C gives them one: both lead into one block, or
// stand at its end, as the pointer to the end of an array does. NULL is as far as NULL: a stack that has no block yet is empty.
// What begins at the end of a block does not matter: whether a pointer was to it or to the end, its value does not tell. Of two
// that lead to memory of which nothing is known their addresses are taken, as the program takes them.

// ordered evaluates x.Op of two pointers.
func (e *env) ordered(x *check.Binary, p, q value) value {
	n := e.between(x, p, q)
	switch {
	case !n.defined():
		return n
	case x.Op != "-":
		return truth(holds(x.Op, compare(n.int(), 0)))
	case n.int()%x.Elem != 0:
		return undef(noWhole, x)
	}
	return number(n.int() / x.Elem)
}

// between is how many bytes p lies behind q.
func (e *env) between(x *check.Binary, p, q value) value {
	if p.kind != pointer || q.kind != pointer {
		return undef(notScalar, x)
	}
	switch {
	case p.isNull() && q.isNull():
		return number(0)
	case p.isNull():
		return undef(throughNull, x.X)
	case q.isNull():
		return undef(throughNull, x.Y)
	case e.inOne(p, q), e.unknown(p, q) && e.unknown(q, p):
		return number(int64(p.bits - q.bits))
	}
	if v := e.astray(p, q, x.X); v.why != 0 {
		return v
	}
	if v := e.astray(q, p, x.Y); v.why != 0 {
		return v
	}
	return undef(elsewhere, x)
}

// astray says why a pointer leads into no block, nor to the end of one, where another one leads into a block; why is 0 if it does.
func (e *env) astray(p, other value, at check.Expr) (v value) {
	switch {
	case p.tgt == mgpp.Dangling:
		if _, _, ok := e.extent(p.node); ok {
			return v
		}
		return e.dead(p, at)
	case p.tgt != mgpp.Wild || p.obj != 0:
		return v
	case p.node == 0:
		v = undef(throughWild, at)
		v.bits = p.bits
		if lo, hi, ok := e.extent(other.node); ok && p.bits < hi+max(hi-lo, near) && p.bits > lo-max(hi-lo, near) {
			v.why, v.node = beyond, other.node
		}
		return v
	}
	switch _, hi, ok := e.extent(p.node); {
	case !ok:
		return undef(throughDead, at)
	case p.bits > hi: // it has become smaller
		v = undef(beyond, at)
		v.bits, v.node = p.bits, p.node
	}
	return v
}

// near is how many bytes from a block an address is said to lie beside it.
const near = 256

// beyondText says how far an address lies from a block.
func (e *env) beyondText(v value) string {
	lo, hi, _ := e.extent(v.node)
	if v.bits < lo {
		return bytesText(lo-v.bits) + " before the block"
	}
	return bytesText(v.bits-hi) + " behind the end of the block"
}

// inOne reports whether two pointers lead into one block, or stand at its end.
func (e *env) inOne(p, q value) bool {
	switch {
	case p.obj != 0 && q.obj != 0 && p.obj == q.obj: // where no block is, too
		return true
	case e.stand(p, q, p.node), e.stand(p, q, q.node):
		return true
	case p.bits == q.bits && p.tgt == mgpp.Dangling && q.tgt == mgpp.Dangling:
		return e.endsAt(p) != 0 // both stand at the end of a block, behind which another one has been freed
	}
	return false
}

// unknown reports whether a pointer leads to memory of which nothing is known, as that of a buffer on a stack, in static memory or from mmap,
// or to its end, where another one leads there: what is declared in static memory may begin behind it.
func (e *env) unknown(p, other value) bool {
	nowhere := func(v value) bool { return v.tgt == mgpp.Wild && v.node == 0 && v.obj == 0 }
	if p.node == 0 || !nowhere(other) {
		return nowhere(p)
	}
	n := e.c.hist.Node(p.node)
	return n.Global != 0 && uint64(n.Start) == p.bits && other.bits < p.bits || e.isPiece(n)
}

// isPiece reports whether a block is one that an allocator of the program's own gives out, of memory that nobody was told of.
func (e *env) isPiece(n mgpp.Node) bool {
	return slices.ContainsFunc(e.c.spec.Allocators, func(a check.Allocator) bool { return a.Func == n.Alloc })
}

// stand reports whether two pointers lead into a live block, or stand at its end.
func (e *env) stand(p, q value, id mgpp.NodeID) bool {
	lo, hi, ok := e.extent(id)
	_, live := e.v.Node(id)
	in := func(v value) bool {
		switch {
		case v.node == id, v.tgt == mgpp.Points, !live: // of another block: one in it, or that begins at its end
			return lo <= v.bits && v.bits <= hi
		}
		return v.bits == hi
	}
	return ok && in(p) && in(q)
}

// endsAt returns the live block at whose end a pointer stands, 0 if none: what it leads to, or has led to, may begin there.
func (e *env) endsAt(p value) mgpp.NodeID {
	if p.kind != pointer || p.isNull() || p.node == 0 {
		return 0
	}
	id, begins := p.node, e.c.hist.Node(p.node).Start
	if p.tgt != mgpp.Wild {
		if uint64(begins) != p.bits {
			return 0
		}
		id, _ = e.v.NodeAt(begins - 1)
	}
	if _, hi, live := e.extent(id); !live || hi != p.bits {
		return 0
	}
	if e.rec != nil {
		e.rec.dep(Dep{Kind: DepLife, Node: id})
	}
	return id
}

// extent returns where a live block begins and ends, or a chunk that an allocator of the program's own divides.
func (e *env) extent(id mgpp.NodeID) (lo, hi uint64, ok bool) {
	if id == 0 {
		return 0, 0, false
	}
	n, ok := e.v.Node(id)
	if !ok && len(e.c.spec.Allocators) > 0 {
		n = e.c.hist.Node(id)
		ok = e.divided(n)
	}
	return uint64(n.Start), uint64(n.Start) + n.Size, ok
}

// divided reports whether a block is no block any more since an allocator has given out a piece of it: nobody has freed it.
func (e *env) divided(n mgpp.Node) bool {
	return n.Death != 0 && n.Death <= e.t && e.c.hist.Op(n.Death).Name == ""
}

// oneEnd reports whether two pointers of one address stand at the end of one block: what has begun there meanwhile may have taken
// one of them for its own.
func (e *env) oneEnd(p, q value) bool {
	return p.tgt != mgpp.Dangling && q.tgt != mgpp.Dangling && (p.tgt == mgpp.Wild) != (q.tgt == mgpp.Wild) && e.inOne(p, q)
}

// distance writes how far two pointers are from each other.
func (e *env) distance(x *check.Binary) string {
	p, q := e.eval(x.X), e.eval(x.Y)
	switch {
	case !p.defined():
		return e.text(p)
	case !q.defined():
		return e.text(q)
	}
	n := e.between(x, p, q)
	if n.defined() && n.int()%x.Elem != 0 {
		return fmt.Sprintf("%d bytes", n.int())
	}
	if n.defined() {
		n = number(n.int() / x.Elem)
	}
	return e.text(n)
}

// operandText names an operand: what an order is about is a difference.
func operandText(x check.Expr) string {
	b, ok := x.(*check.Binary)
	if !ok || b.Op == "-" {
		return x.Text()
	}
	return side(b.X) + " - " + side(b.Y)
}

// side writes one side of a difference.
func side(x check.Expr) string {
	if _, ok := x.(*check.Cond); ok {
		return "(" + x.Text() + ")"
	}
	return x.Text()
}

// standing says at the end of what a pointer stands.
func (e *env) standing(p value) string {
	_, hi, ok := e.extent(p.node)
	switch {
	case !ok:
		return "at the end of freed memory"
	case p.bits != hi:
		return "behind the end of its block"
	}
	if o := e.g.FormerAt(p.node, p.bits-1); o != 0 {
		return "the end of " + e.g.Name(o)
	}
	return "the end of a block"
}
