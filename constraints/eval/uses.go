package eval

import "mgtrace/constraints/check"

// uses is what an expression refers to: variables and indices by slot.
type uses struct{ vars, idx uint64 }

func (u uses) or(w uses) uses { return uses{u.vars | w.vars, u.idx | w.idx} }

// children calls f for the direct sub-expressions of x.
func children(x check.Expr, f func(check.Expr)) {
	place := func(p *check.Place) {
		f(p.Base)
		for i := range p.Steps {
			f(p.Steps[i].I)
		}
	}
	switch x := x.(type) {
	case *check.Load:
		place(&x.Place)
	case *check.AddrOf:
		place(&x.Place)
	case *check.FieldN:
		f(x.Base)
		f(x.N)
	case *check.Attr:
		f(x.Base)
	case *check.Degree:
		f(x.Base)
	case *check.Builtin:
		f(x.Base)
	case *check.Unary:
		f(x.X)
	case *check.Binary:
		f(x.X)
		f(x.Y)
	case *check.Cond:
		f(x.C)
		f(x.X)
		f(x.Y)
	case *check.Relation:
		f(x.From)
		f(x.To)
	case *check.Aggregate:
		for _, y := range [4]check.Expr{x.Guard, x.Lo, x.Hi, x.Elem} {
			if y != nil {
				f(y)
			}
		}
	}
}

// usesOf returns what x refers to; the variable of an aggregate is its own
// affair.
func usesOf(x check.Expr) uses {
	var u uses
	switch x := x.(type) {
	case nil:
		return u
	case *check.Node:
		return uses{vars: 1 << (x.Slot & 63)}
	case *check.Index:
		return uses{idx: 1 << (x.Slot & 63)}
	}
	children(x, func(y check.Expr) { u = u.or(usesOf(y)) })
	if a, ok := x.(*check.Aggregate); ok {
		if a.Type == nil {
			u.idx &^= 1 << (a.Slot & 63)
		} else {
			u.vars &^= 1 << (a.Slot & 63)
		}
	}
	return u
}

func usesIndex(x check.Expr) bool {
	if _, ok := x.(*check.Const); ok {
		return false
	}
	return usesOf(x).idx != 0
}

// walk calls f for x and everything below it.
func walk(x check.Expr, f func(check.Expr)) {
	if x == nil {
		return
	}
	f(x)
	children(x, func(y check.Expr) { walk(y, f) })
}
