package check

import (
	"slices"

	"mgtrace/constraints/syntax"
)

// everyPair warns of `T X; K Y; X.f == Y;`: without a guard it is to hold for every Y, and a pointer
// leads to one. Of a body in parts (`and`, and in each the alternatives of `or`) that is one whose
// alternatives name Y in the equality alone: with two Ys the others have to hold. So `X.next != Y or Y.prev == X`,
// a guard in other words, is none. What the user said by `forall` is meant.
func (c *checker) everyPair(s *syntax.Constraint, vars []variable) {
	for _, p := range s.Prefixes {
		if p.Guard != nil {
			return
		}
	}
	for _, clause := range operands(s.Body, "and") {
		either := operands(clause, "or")
		for i, e := range either {
			eq, ok := unparen(e).(*syntax.Binary)
			if !ok || eq.Op != "==" {
				continue
			}
			y := soleNode(eq, vars)
			if y == nil || y.quantifier != "" || usedBeside(either, i, y.Name) || ofSome(eq, vars) {
				continue
			}
			c.warnf(eq.OpPos, "without a guard `%s` is to hold for every %s `%s`, and with two of them it can not: write `exists %s %s;`, or the guard that says which is meant (`%s => …`)",
				syntax.ExprString(eq), y.t.Name, y.Name, y.t.Name, y.Name, syntax.ExprString(eq))
		}
	}
}

// operands takes apart what op joins.
func operands(e syntax.Expr, op string) []syntax.Expr {
	if b, ok := unparen(e).(*syntax.Binary); ok && b.Op == op {
		return append(operands(b.X, op), operands(b.Y, op)...)
	}
	return []syntax.Expr{e}
}

func unparen(e syntax.Expr) syntax.Expr {
	for {
		p, ok := e.(*syntax.Paren)
		if !ok {
			return e
		}
		e = p.X
	}
}

// soleNode returns the variable that an equality compares, by its bare name, with what is reached from
// others; nil: it is no such equality.
func soleNode(eq *syntax.Binary, vars []variable) *variable {
	for _, side := range [2][2]syntax.Expr{{eq.X, eq.Y}, {eq.Y, eq.X}} {
		name, ok := unparen(side[0]).(*syntax.Name)
		if !ok {
			continue
		}
		other := unparen(side[1])
		switch other.(type) {
		case *syntax.Select, *syntax.Index, *syntax.GlobalName:
		default:
			continue
		}
		named := uses{}
		named.expr(other)
		for i, v := range vars {
			if v.Name == name.Name && !named[v.Name] {
				return &vars[i]
			}
		}
	}
	return nil
}

// ofSome: the equality is with what is reached from a node that there is to be, which may be another for each.
func ofSome(eq *syntax.Binary, vars []variable) bool {
	named := uses{}
	named.expr(eq)
	return slices.ContainsFunc(vars, func(v variable) bool { return v.quantifier == "exists" && named[v.Name] })
}

// usedBeside: an alternative other than the i-th names the variable.
func usedBeside(either []syntax.Expr, i int, name string) bool {
	named := uses{}
	for k, e := range either {
		if k != i {
			named.expr(e)
		}
	}
	return named[name]
}
