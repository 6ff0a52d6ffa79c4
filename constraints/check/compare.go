package check

import (
	"fmt"

	"mgtrace/constraints/syntax"
	"mgtrace/types"
)

// compare lowers "x op y".
func (s *scope) compare(e *syntax.Binary, src string) operand {
	x, y := s.sides(e)
	if x.bad() || y.bad() {
		return operand{}
	}
	x, y = nullForZero(x, y)
	switch {
	case x.kind == kindCond || y.kind == kindCond:
		return s.compareConds(e, x, y, src)
	case x.kind == kindNull || y.kind == kindNull:
		return s.compareNull(e, x, y, src)
	case x.object() && y.object() && (e.Op == "==" || e.Op == "!="):
		return s.compareObjects(e, x, y, src)
	case x.object() && y.object() && isText(x.typ) && isText(y.typ):
		s.errorf(e.OpPos, "`%s` and `%s` are texts, of which the order is not known: == and != compare them, and their characters are numbers, as `%s` is", x.src, y.src, firstCharacter(e.X, x))
		return operand{}
	case x.reference() && y.reference() && (x.kind == kindRef || y.kind == kindRef):
		if e.Op != "==" && e.Op != "!=" {
			return s.ordered(e, x, y, src)
		}
		s.sameObjects(e, x, y)
	case x.numeric() && y.numeric():
		s.signedBit(x, y)
		s.signedBit(y, x)
	default:
		hint := ""
		for _, o := range [2]operand{x, y} {
			if _, ok := pointsTo(o); ok && e.Op != "==" && e.Op != "!=" {
				hint = fmt.Sprintf("; how many elements lie between two pointers is a number: `P - %s`", o.src)
			}
		}
		s.errorf(e.OpPos, "these cannot be compared: %s, %s%s", x.describe(), y.describe(), hint)
		return operand{}
	}
	return condition(&Binary{Src: src, Op: e.Op, X: x.expr, Y: y.expr, Unsigned: unsigned(x, y), Alike: alike(x, y)})
}

// Alike says what two references that are compared have in common.
type Alike uint8

const (
	Unlike     Alike = iota // nothing that is known
	AlikeVoid               // both are void *
	AlikeTyped              // both are pointers of one type, and not void *, or one is and the other is a member of the type to which it leads
)

// alike says whether two values are pointers of one C type, and that is not void *, or a pointer and what it may lead to.
func alike(x, y operand) Alike {
	isPointer := func(o operand) bool {
		return o.kind == kindRef && !o.isNode && !o.aggregate() && o.typ != nil && o.typ.Kind == types.Pointer
	}
	switch {
	case isPointer(x) && pointsAt(x, y), isPointer(y) && pointsAt(y, x):
		return AlikeTyped
	case !isPointer(x) || !isPointer(y) || !sameType(x.typ, y.typ):
		return Unlike
	case pointee(x.typ) == nil || pointee(x.typ).Kind == types.Void:
		return AlikeVoid
	}
	return AlikeTyped
}

// pointsAt: a pointer's type is that of pointers to a member, as of "X.link.next.prev == X.link". A node may have several members
// of the type.
func pointsAt(p, member operand) bool {
	return member.aggregate() && !member.isNode && sameType(pointee(p.typ), member.typ)
}

// sides lowers both sides; a plain name is an enumerator of the other side's
// type first.
func (s *scope) sides(e *syntax.Binary) (x, y operand) {
	old := s.enum
	defer func() { s.enum = old }()
	if _, name := e.X.(*syntax.Name); name {
		y = s.lower(e.Y)
		s.enum = enumOf(y)
		return s.lower(e.X), y
	}
	x = s.lower(e.X)
	s.enum = enumOf(x)
	return x, s.lower(e.Y)
}

// nullForZero reads the 0 of "p == 0" as NULL.
func nullForZero(x, y operand) (operand, operand) {
	zero := func(o operand) bool {
		k, ok := o.expr.(*Const)
		return ok && o.kind == kindNumber && !k.IsFloat && k.Int == 0
	}
	if x.kind == kindRef && zero(y) {
		y = operand{kind: kindNull, expr: &Null{Src: y.src}, src: y.src, pos: y.pos}
	}
	if y.kind == kindRef && zero(x) {
		x = operand{kind: kindNull, expr: &Null{Src: x.src}, src: x.src, pos: x.pos}
	}
	return x, y
}

// compareConds lowers "condition == TRUE" and comparisons of two conditions.
func (s *scope) compareConds(e *syntax.Binary, x, y operand, src string) operand {
	if e.Op != "==" && e.Op != "!=" {
		s.errorf(e.OpPos, "conditions are compared by == and != only")
		return operand{}
	}
	a, ok := s.asCond(x)
	b, ok2 := s.asCond(y)
	if !ok || !ok2 {
		return operand{}
	}
	if k, ok := a.(*Const); ok {
		a, b = b, k
	}
	if k, ok := b.(*Const); ok {
		if (k.Int != 0) == (e.Op == "==") {
			return condition(renamed(a, src))
		}
		return condition(&Unary{Src: src, Op: "not", X: a})
	}
	not := func(c Expr) Expr { return &Unary{Src: "not " + c.Text(), Op: "not", X: c} }
	if e.Op == "!=" {
		b = not(b)
	}
	both := &Binary{Src: src, Op: "and", X: a, Y: b}
	neither := &Binary{Src: src, Op: "and", X: not(a), Y: not(b)}
	return condition(&Binary{Src: src, Op: "or", X: both, Y: neither})
}

// renamed gives a comparison the text of "… == TRUE" around it.
func renamed(e Expr, src string) Expr {
	switch e := e.(type) {
	case *Binary:
		c := *e
		c.Src = src
		return &c
	case *Relation:
		c := *e
		c.Src = src
		return &c
	case *Builtin:
		c := *e
		c.Src = src
		return &c
	}
	return e
}

// asCond takes a number for a condition where it is compared with one.
func (s *scope) asCond(o operand) (Expr, bool) {
	switch o.kind {
	case kindCond:
		return o.expr, true
	case kindNumber, kindAny:
		return truth(o), true
	}
	s.errorf(o.pos, "%s: it is neither true nor false", o.describe())
	return nil, false
}

func (s *scope) compareNull(e *syntax.Binary, x, y operand, src string) operand {
	o, null := x, y
	if x.kind == kindNull {
		o, null = y, x
	}
	switch {
	case e.Op != "==" && e.Op != "!=":
		s.errorf(e.OpPos, "a pointer is compared with NULL by == and != only")
	case o.kind == kindNull:
		s.errorf(e.OpPos, "NULL is compared with NULL")
	case o.isNode:
		s.errorf(o.pos, "`%s` is a node and never NULL", o.src)
	case o.aggregate():
		s.errorf(o.pos, "%s and never NULL", o.describe())
	case o.kind == kindNumber:
		s.errorf(o.pos, "%s: it is never NULL; compare it with 0", o.describe())
	default:
		y := null.expr
		if i, ok := o.expr.(*Index); ok { // the value that a function returned
			return condition(&Binary{Src: src, Op: e.Op, X: i, Y: &Const{Src: "NULL"}})
		}
		return condition(&Binary{Src: src, Op: e.Op, X: o.expr, Y: y})
	}
	return operand{}
}

// sameObjects warns where two nodes can never be the same. Of a pointer that is read nobody knows to what it leads, whatever its type.
func (s *scope) sameObjects(e *syntax.Binary, x, y operand) {
	for _, o := range [2]operand{x, y} {
		if _, read := o.expr.(*Load); read {
			return
		}
	}
	if x.node == nil || y.node == nil || x.node == y.node || x.kind == kindAny || y.kind == kindAny {
		return
	}
	if x.node.Layout != nil && y.node.Layout != nil && (holds(x.node.Layout, y.node.Layout, 0) || holds(y.node.Layout, x.node.Layout, 0)) {
		return
	}
	if sameType(x.node.Layout, y.node.Layout) {
		return
	}
	s.warnf(e.OpPos, "`%s` is of type %s and `%s` of type %s: they are never the same", x.src, x.node.Name, y.src, y.node.Name)
}

// unsigned: a whole 64-bit unsigned field is compared with another field or a
// constant. Narrower unsigned fields fit into a signed number anyway; sums and
// differences are signed.
func unsigned(x, y operand) bool {
	wide := func(o operand) bool {
		ld, ok := o.expr.(*Load)
		return ok && o.kind == kindNumber && ld.Type.Kind == types.Uint && ld.Type.Size == 8 && (ld.BitSize == 0 || ld.BitSize == 64)
	}
	plain := func(o operand) bool {
		switch o.expr.(type) {
		case *Load, *Const:
			return true
		}
		return false
	}
	return (wide(x) || wide(y)) && plain(x) && plain(y)
}

// signedBit warns of a signed one-bit field that is compared with 1.
func (s *scope) signedBit(field, other operand) {
	ld, ok := field.expr.(*Load)
	k, ok2 := other.expr.(*Const)
	if !ok || !ok2 || ld.BitSize != 1 || !ld.Type.Signed || ld.Type.Kind == types.Bool || k.Int != 1 {
		return
	}
	s.warnf(field.pos, "`%s` is a signed field of one bit: it reads 0 or -1, never 1", field.src)
}
