package eval

import (
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

// maxWants bounds the values that one instance wants.
const maxWants = 16

// Wants returns values that would make comparisons of an instance hold if the other
// side had them: of "X.a == X.b + 1" the values of both sides, of "X.a < X.b" those next
// to them. They are bit patterns of 64 bits; addresses, where pointers are compared.
// Attributes and degrees are computed, so that what is wanted of them is of no use.
func (c *Checker) Wants(i Instance, v mgpp.View) (out []uint64) {
	defer c.halted()
	k, e := c.bound(i, v)
	if k == nil {
		return nil
	}
	add := func(x check.Expr, by int64) {
		w := e.eval(x)
		if !w.defined() || w.kind != integer && w.kind != pointer || len(out) >= maxWants {
			return
		}
		bits := w.bits
		if w.isNull() {
			bits = 0
		}
		if bits += uint64(by); !slices.Contains(out, bits) {
			out = append(out, bits)
		}
	}
	walk(k.Body, func(x check.Expr) {
		b, ok := x.(*check.Binary)
		if !ok {
			return
		}
		switch b.Op {
		case "==", "<=", ">=":
			add(b.X, 0)
			add(b.Y, 0)
		case "<":
			add(b.Y, -1)
			add(b.X, 1)
		case ">":
			add(b.Y, 1)
			add(b.X, -1)
		}
	})
	return out
}

// Says returns what the equations of an instance say that single cells hold, if all else in them is right: of "X.a == X.b + 1"
// the address of X.a, and the value of the other side, as Wants gives it, and that of X.b, and what is left for it; of
// "2 * X.a == X.b" half of X.b, if that is a number. Bit-fields are left out.
func (c *Checker) Says(i Instance, v mgpp.View, yield func(addr trace.Addr, bits uint64)) {
	defer c.halted()
	k, e := c.bound(i, v)
	if k == nil {
		return
	}
	walk(k.Body, func(x check.Expr) {
		if b, ok := x.(*check.Binary); ok && b.Op == "==" {
			e.solve(b.X, e.eval(b.Y), yield)
			e.solve(b.Y, e.eval(b.X), yield)
		}
	})
}

// solve tells what each cell in an expression holds where that is a value, and all else in it is right.
func (e *env) solve(x check.Expr, is value, yield func(addr trace.Addr, bits uint64)) {
	if !is.defined() || is.kind != integer {
		return
	}
	switch x := x.(type) {
	case *check.Load:
		if l := e.place(&x.Place, x); l.ok() && x.BitSize == 0 {
			yield(l.addr, is.bits)
		}
	case *check.Binary:
		l, r := e.eval(x.X), e.eval(x.Y)
		if x.Elem > 0 {
			e.solvePointers(x, l, r, int64(is.bits)*x.Elem, yield)
			return
		}
		if is.wide || l.wide || r.wide {
			return
		}
		n := int64(is.bits)
		if r.defined() && r.kind == integer {
			e.solveFor(x.X, x.Op, n, int64(r.bits), yield)
		}
		switch {
		case !l.defined() || l.kind != integer:
		case x.Op == "-":
			e.solve(x.Y, number(int64(l.bits)-n), yield)
		default:
			e.solveFor(x.Y, x.Op, n, int64(l.bits), yield)
		}
	}
}

// solvePointers solves l - r = n of two pointers, n in bytes.
func (e *env) solvePointers(x *check.Binary, l, r value, n int64, yield func(addr trace.Addr, bits uint64)) {
	leads := func(p value) bool {
		return p.kind == pointer && (p.tgt == mgpp.Points || p.tgt == mgpp.Wild)
	}
	if at, ok := e.pointerCell(x.X); ok && leads(r) {
		yield(at, r.bits+uint64(n))
	}
	if at, ok := e.pointerCell(x.Y); ok && leads(l) {
		yield(at, l.bits-uint64(n))
	}
}

// pointerCell returns where a pointer lies in memory that is stored as it is.
func (e *env) pointerCell(x check.Expr) (trace.Addr, bool) {
	ld, ok := x.(*check.Load)
	if !ok || ld.Coded != coded.Plain {
		return 0, false
	}
	l := e.place(&ld.Place, ld)
	return l.addr, l.ok()
}

// Suits returns what single pointers of an instance might be where it puts them in order or counts what lies between them, if the other one is
// right: the same place in the block of that, where the pointer's own has been freed or moved, what the other one is, the end of its block and the
// beginning.
func (c *Checker) Suits(i Instance, v mgpp.View, yield func(addr trace.Addr, bits uint64)) {
	defer c.halted()
	k, e := c.bound(i, v)
	if k == nil {
		return
	}
	suit := func(x check.Expr) {
		b, ok := x.(*check.Binary)
		if !ok || b.Elem == 0 {
			return
		}
		l, r := e.eval(b.X), e.eval(b.Y)
		e.suits(b.X, l, r, yield)
		e.suits(b.Y, r, l, yield)
	}
	walk(k.Body, suit)
	for j := range k.Loops {
		walk(k.Loops[j].Hi, suit)
	}
}

// suits is Suits for one pointer and the other one.
func (e *env) suits(x check.Expr, p, other value, yield func(addr trace.Addr, bits uint64)) {
	at, ok := e.pointerCell(x)
	lo, hi, live := e.extent(other.node)
	if !ok || !live || other.kind != pointer {
		return
	}
	if _, _, live := e.extent(p.node); p.kind == pointer && p.node != 0 && !live {
		if off := p.bits - uint64(e.c.hist.Node(p.node).Start); off <= hi-lo {
			yield(at, lo+off)
		}
	}
	yield(at, other.bits)
	yield(at, hi)
	yield(at, lo)
}

// solveFor solves x + by = n, x - by = n or x * by = n.
func (e *env) solveFor(x check.Expr, op string, n, by int64, yield func(addr trace.Addr, bits uint64)) {
	switch {
	case op == "+":
		e.solve(x, number(n-by), yield)
	case op == "-":
		e.solve(x, number(n+by), yield)
	case op == "*" && by != 0 && n%by == 0:
		e.solve(x, number(n/by), yield)
	}
}

// Lacks returns by how much the sides of the equations of an instance differ: of "X.n ==
// SUM(…)" what one of the numbers in the sum may be wrong by.
func (c *Checker) Lacks(i Instance, v mgpp.View) (out []int64) {
	defer c.halted()
	k, e := c.bound(i, v)
	if k == nil {
		return nil
	}
	walk(k.Body, func(x check.Expr) {
		b, ok := x.(*check.Binary)
		if !ok || b.Op != "==" {
			return
		}
		l, r := e.eval(b.X), e.eval(b.Y)
		if !l.defined() || !r.defined() || l.kind != integer || r.kind != integer || l.bits == r.bits {
			return
		}
		if d := int64(l.bits - r.bits); !slices.Contains(out, d) && len(out) < maxWants {
			out = append(out, d)
		}
	})
	return out
}

// bound returns the constraint of an instance with its variables bound; nil if nothing can be
// asked of its comparisons.
func (c *Checker) bound(i Instance, v mgpp.View) (*info, *env) {
	k, e := c.bind(i, v)
	if k == nil || k.acyclic || k.Universal < len(k.Vars) {
		return nil, nil
	}
	return k, e
}

// bind returns the constraint of an instance with its variables bound; nil if they can not be.
func (c *Checker) bind(i Instance, v mgpp.View) (*info, *env) {
	c.begin()
	if i.Constraint < 0 || i.Constraint >= len(c.infos) {
		return nil, nil
	}
	e, k := c.env(v), &c.infos[i.Constraint]
	if ok, _ := e.bindInstance(k, i); !ok {
		return nil, nil
	}
	return k, e
}
