package eval

import (
	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Names tells whether the specification provides for a number in the field at an address, where like fields hold what lies between lo and hi:
// it asks if the field holds just this number, or allows it as the least or the greatest, or a guard tells it apart from all others
// ("X.refs >= 0 => …"). Then it is one that the field may hold, however seldom it does.
func (c *Checker) Names(addr trace.Addr, v mgpp.View, number, lo, hi int64) (named bool) {
	at := c.g.At(v, addr)
	is := func(x check.Expr) bool {
		l, ok := x.(*check.Load)
		if !ok || len(l.Place.Steps) > 0 {
			return false
		}
		typ := typeOfBase(l.Place.Base)
		for _, o := range at {
			if b := c.g.Object(o); typ != nil && b.Type.Is(typ) && b.Addr+trace.Addr(l.Place.Offset) == addr {
				return true
			}
		}
		return false
	}
	compared := func(x check.Expr, by func(op string, with int64) bool) {
		b, ok := x.(*check.Binary)
		if !ok || named {
			return
		}
		if k, ok := b.Y.(*check.Const); ok && !k.IsFloat && is(b.X) {
			named = by(b.Op, k.Int)
		}
		if k, ok := b.X.(*check.Const); ok && !k.IsFloat && is(b.Y) {
			named = named || by(turned(b.Op), k.Int)
		}
	}
	check.Walk(c.spec, func(x check.Expr) {
		compared(x, func(op string, with int64) bool {
			return with == number && (op == "==" || op == "!=" || op == "<=" || op == ">=")
		})
	})
	check.WalkGuards(c.spec, func(x check.Expr) {
		compared(x, func(op string, with int64) bool {
			holds, known := inOrder(op, number, with)
			least, _ := inOrder(op, lo, with)
			greatest, _ := inOrder(op, hi, with)
			return known && holds != least && holds != greatest
		})
	})
	return named
}

// inOrder tells whether two numbers are in an order, of an operator that is one.
func inOrder(op string, a, b int64) (holds, known bool) {
	switch op {
	case "<":
		return a < b, true
	case "<=":
		return a <= b, true
	case ">":
		return a > b, true
	case ">=":
		return a >= b, true
	}
	return false, false
}

// turned is the operator of the same comparison with its sides exchanged.
func turned(op string) string {
	switch op {
	case "<":
		return ">"
	case "<=":
		return ">="
	case ">":
		return "<"
	case ">=":
		return "<="
	}
	return op
}
