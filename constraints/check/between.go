package check

import (
	"fmt"

	"mgtrace/constraints/syntax"
	"mgtrace/types"
)

// This file is about two pointers into one block: which comes first, and how many elements lie between them.

// pointsTo returns what an operand points to that may be put in order: a pointer, an array, which stands for its first
// element as in C, or an object, which stands for its address. What a void pointer leads to is counted in bytes.
func pointsTo(o operand) (elem *types.Type, ok bool) {
	switch {
	case o.kind != kindRef:
		return nil, false
	case o.isNode && o.node != nil && o.node.Array:
		return o.node.elem(), true
	case o.isNode:
		return o.typ, true
	case o.aggregate() && o.typ.Kind == types.Array:
		return o.typ.Elem, true
	case o.aggregate():
		return o.typ, true
	case o.typ != nil && o.typ.Kind == types.Pointer && o.typ.Elem == nil:
		return &types.Type{Kind: types.Void, Name: "void"}, true
	case o.typ != nil && o.typ.Kind == types.Pointer:
		return o.typ.Elem, true
	}
	return nil, true
}

// elemSize is how far the elements of a type lie apart, 0 if that is not known.
func elemSize(t *types.Type) int64 {
	switch {
	case t == nil:
		return 0
	case t.Kind == types.Void:
		return 1
	}
	return max(t.Size, 0)
}

// ordered lowers "p < q" and its kin.
func (s *scope) ordered(e *syntax.Binary, x, y operand, src string) operand {
	p, q, ok := s.pair(e, x, y)
	if !ok {
		return operand{}
	}
	s.numbersInVoid(e, x, y)
	elem := elemSize(p)
	if elem == 0 || elem != elemSize(q) {
		elem = 1 // which comes first is so whatever they lead to
	}
	return condition(&Binary{Src: src, Op: e.Op, X: x.expr, Y: y.expr, Elem: elem})
}

// difference lowers "p - q".
func (s *scope) difference(e *syntax.Binary, x, y operand, src string) operand {
	p, q, ok := s.pair(e, x, y)
	if !ok {
		return operand{}
	}
	n, m := elemSize(p), elemSize(q)
	switch {
	case n == 0 || m == 0:
		for _, o := range [2]operand{x, y} {
			if t, _ := pointsTo(o); elemSize(t) > 0 {
				continue
			}
			if s.prog == nil {
				s.unknownWithout(o.pos, "`%s`", o.src)
			} else {
				s.errorf(o.pos, "a difference counts elements, and the size of what `%s` leads to is not known", o.src)
			}
			return operand{}
		}
	case n != m:
		s.errorf(e.OpPos, "a difference counts elements, and these differ in size: those of `%s` have %s (%s), those of `%s` %s (%s)",
			x.src, bytesText(n), p, y.src, bytesText(m), q)
		return operand{}
	}
	return number(&Binary{Src: src, Op: "-", X: x.expr, Y: y.expr, Elem: n})
}

func bytesText(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// pair is what two pointers lead to; false after an error.
func (s *scope) pair(e *syntax.Binary, x, y operand) (p, q *types.Type, ok bool) {
	p, ok1 := pointsTo(x)
	q, ok2 := pointsTo(y)
	switch {
	case !ok1 || !ok2:
		s.errorf(e.OpPos, "what `%s` and `%s` are is known only when they are read; name the fields that are pointers", x.src, y.src)
	case x.isNode && y.isNode:
		s.errorf(e.OpPos, "`%s` and `%s` are two nodes: only what lies in one block has an order; compare their fields", x.src, y.src)
	case isFunc(p) || isFunc(q):
		s.errorf(e.OpPos, "pointers to functions have no order")
	default:
		return p, q, true
	}
	return nil, nil, false
}

func isFunc(t *types.Type) bool { return t != nil && t.Kind == types.Func }

// numbersInVoid warns of void pointers of two structures that are put in order: of one they lead into a buffer, but keys of two
// nodes are numbers.
func (s *scope) numbersInVoid(e *syntax.Binary, x, y operand) {
	if alike(x, y) != AlikeVoid || x.place == nil || y.place == nil || x.place.Base.Text() == y.place.Base.Text() {
		return
	}
	s.warnf(e.OpPos, "`%s` and `%s` are taken as pointers into one block; numbers kept in a void pointer can be declared as such: type T = \"…\"; and struct T { long key; … }; lay the program's type out",
		x.src, y.src)
}

// noArithmetic says of a pointer where a number is expected what is written instead.
func noArithmetic(o operand, op string) string {
	if o.kind != kindRef || o.isNode || op != "+" && op != "-" {
		return ""
	}
	return fmt.Sprintf("; how many elements lie between two pointers is their difference, `P - %s`, and one of them is `%s[1]`", o.src, o.src)
}
