package eval

import (
	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Names tells whether the specification asks if the field at an address holds just this number: it is one that the field may
// hold, however seldom it does.
func (c *Checker) Names(addr trace.Addr, v mgpp.View, number int64) (named bool) {
	at := c.g.At(v, addr)
	names := func(field, with check.Expr) bool {
		l, ok := field.(*check.Load)
		k, constant := with.(*check.Const)
		if !ok || !constant || k.IsFloat || k.Int != number || len(l.Place.Steps) > 0 {
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
	check.Walk(c.spec, func(x check.Expr) {
		if b, ok := x.(*check.Binary); ok && (b.Op == "==" || b.Op == "!=") {
			named = named || names(b.X, b.Y) || names(b.Y, b.X)
		}
	})
	return named
}
