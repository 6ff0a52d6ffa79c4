package check

import (
	"fmt"

	"mgtrace/constraints/syntax"
	"mgtrace/types"
)

// scope is what names mean within one formula.
type scope struct {
	*checker
	vars       map[string]*Node
	indices    map[string]int // name → Index slot
	slots      int            // Var slots in use
	indexSlots int
	fieldsOf   *NodeType   // "cells": plain names are fields of this type, the node is slot 0
	returns    bool        // "return" may stand: Index slot 0
	enum       *types.Type // the enumeration that a plain name is compared with
	clash      bool        // an index has the name of a variable: the rest would mislead
	dropped    bool        // uses what only a program can tell, and there is none
}

// kind is what an expression is.
type kind uint8

const (
	kindBad    kind = iota // the error has been told
	kindNumber             // a number; a Bool field too
	kindCond               // true or false
	kindRef                // a node, a pointer, an object
	kindAny                // X[e]: a number or a pointer
	kindNull
)

// operand is a lowered expression with what is known of it.
type operand struct {
	kind kind
	expr Expr
	src  string
	pos  syntax.Pos

	typ    *types.Type // static type of the value; of a node its layout; nil if unknown
	node   *NodeType   // kindRef, kindAny: the type of node that it is or points to, nil if unknown
	isNode bool        // a bound variable: never NULL
	place  *Place      // where the value lies; nil if nowhere
	path   string      // the place's C path from where its base leads, as EdgeCell.Name has it: "u.kid" of X.u.kid[I]; "" if it was reached otherwise
	bit    int         // bit-field
	bits   int
	// byNumber: reached by X[n], so that a further [n] is a field's number again.
	byNumber bool
	cell     *EdgeCell // the edge cell that it is read from, nil if none
	smart    *operand  // the smart pointer that this pointer is in, an object; nil if none
}

func (o operand) bad() bool { return o.kind == kindBad }

// aggregate: an object itself (a structure, a union, an array), not a pointer to it.
func (o operand) aggregate() bool {
	if o.place == nil || o.typ == nil {
		return false
	}
	return o.typ.HasMembers() || o.typ.Kind == types.Array
}

// object: what lies in a node, and is none itself.
func (o operand) object() bool {
	return o.kind == kindRef && o.aggregate() && !o.isNode && o.node == nil
}

// describe says what an operand is, for messages.
func (o operand) describe() string {
	switch {
	case o.kind == kindNull:
		return "NULL"
	case o.kind == kindCond:
		return fmt.Sprintf("`%s` is a condition", o.src)
	case o.isNode:
		return fmt.Sprintf("`%s` is a node", o.src)
	case o.aggregate():
		return fmt.Sprintf("`%s` is %s", o.src, o.typ)
	case o.kind == kindRef:
		return fmt.Sprintf("`%s` is a pointer", o.src)
	case o.typ != nil:
		return fmt.Sprintf("`%s` is a number (%s)", o.src, o.typ)
	}
	return fmt.Sprintf("`%s` is a number", o.src)
}

// number lowers e, which must be a number; nil after an error.
func (s *scope) number(e syntax.Expr) Expr { return s.asNumber(s.lower(e), "") }

// asNumber is number for what is lowered; hint says what is written instead of what is none.
func (s *scope) asNumber(o operand, hint string) Expr {
	switch o.kind {
	case kindNumber, kindAny:
		return o.expr
	case kindBad:
	default:
		s.errorf(o.pos, "a number is expected here, but %s%s", o.describe(), hint)
	}
	return nil
}

// condition lowers e, which must be true or false; nil after an error.
func (s *scope) condition(e syntax.Expr) Expr {
	o := s.lower(e)
	switch {
	case o.kind == kindCond:
		return o.expr
	case o.kind == kindNumber && o.typ != nil && o.typ.Kind == types.Bool:
		return truth(o)
	case o.kind == kindNumber || o.kind == kindAny:
		s.errorf(o.pos, "a condition is expected here, but %s; write `%s != 0`", o.describe(), o.src)
	case o.kind == kindRef && !o.isNode && !o.aggregate():
		s.errorf(o.pos, "a condition is expected here, but %s; write `%s != NULL`", o.describe(), o.src)
	case !o.bad():
		s.errorf(o.pos, "a condition is expected here, but %s", o.describe())
	}
	return nil
}

// truth is "o != 0".
func truth(o operand) Expr {
	return &Binary{Src: o.src, Op: "!=", X: o.expr, Y: &Const{Src: "0"}}
}

// constant evaluates e, which may use constants only; nil after an error.
func (s *scope) constant(e syntax.Expr) *Const {
	n := len(s.errs)
	x := s.number(e)
	if x == nil {
		return nil
	}
	if v, ok := fold(x); ok {
		v.Src = syntax.ExprString(e)
		return v
	}
	if len(s.errs) == n {
		s.errorf(e.Where(), "`%s` is no constant", syntax.ExprString(e))
	}
	return nil
}

// integer is constant for whole numbers.
func (s *scope) integer(e syntax.Expr) *Const {
	v := s.constant(e)
	if v != nil && v.IsFloat {
		s.errorf(e.Where(), "a whole number is expected here, not %s", v.Src)
		return nil
	}
	return v
}

// fold evaluates an expression of constants.
func fold(e Expr) (*Const, bool) {
	switch e := e.(type) {
	case *Const:
		return &Const{Src: e.Src, Int: e.Int, Float: e.Float, IsFloat: e.IsFloat}, true
	case *Unary:
		x, ok := fold(e.X)
		if !ok {
			return nil, false
		}
		return foldUnary(e.Op, x)
	case *Binary:
		x, ok := fold(e.X)
		y, ok2 := fold(e.Y)
		if !ok || !ok2 {
			return nil, false
		}
		if x.IsFloat || y.IsFloat {
			return foldFloat(e.Op, x.float(), y.float())
		}
		return foldInt(e.Op, x.Int, y.Int)
	}
	return nil, false
}

func (c *Const) float() float64 {
	if c.IsFloat {
		return c.Float
	}
	return float64(c.Int)
}

func foldUnary(op string, x *Const) (*Const, bool) {
	switch {
	case op == "-" && x.IsFloat:
		return &Const{Float: -x.Float, IsFloat: true}, true
	case op == "-":
		return &Const{Int: -x.Int}, true
	case op == "~" && !x.IsFloat:
		return &Const{Int: ^x.Int}, true
	case op == "abs" && x.IsFloat:
		return &Const{Float: max(x.Float, -x.Float), IsFloat: true}, true
	case op == "abs":
		return &Const{Int: max(x.Int, -x.Int)}, true
	}
	return nil, false
}

func foldFloat(op string, x, y float64) (*Const, bool) {
	var v float64
	switch op {
	case "+":
		v = x + y
	case "-":
		v = x - y
	case "*":
		v = x * y
	case "/":
		if y == 0 {
			return nil, false
		}
		v = x / y
	case "min":
		v = min(x, y)
	case "max":
		v = max(x, y)
	default:
		return nil, false
	}
	return &Const{Float: v, IsFloat: true}, true
}

func foldInt(op string, x, y int64) (*Const, bool) {
	var v int64
	switch op {
	case "+":
		v = x + y
	case "-":
		v = x - y
	case "*":
		v = x * y
	case "/", "%":
		if y == 0 {
			return nil, false
		}
		if v = x / y; op == "%" {
			v = x - y*v
		}
	case "&":
		v = x & y
	case "|":
		v = x | y
	case "<<", ">>":
		if y < 0 || y > 63 {
			return nil, false
		}
		if v = x >> y; op == "<<" {
			v = x << y
		}
	case "min":
		v = min(x, y)
	case "max":
		v = max(x, y)
	default:
		return nil, false
	}
	return &Const{Int: v}, true
}

// name resolves a plain name.
func (s *scope) name(e *syntax.Name) operand {
	o := operand{src: e.Name, pos: e.Pos}
	if v := s.vars[e.Name]; v != nil {
		return s.nodeOperand(v, e.Name, e.Pos)
	}
	if slot, ok := s.indices[e.Name]; ok {
		o.kind, o.expr = kindNumber, &Index{Src: e.Name, Slot: slot}
		return o
	}
	if s.fieldsOf != nil && hasField(s.fieldsOf, e.Name) {
		node := s.nodeOperand(&Node{Src: s.fieldsOf.Name, Slot: 0, Type: s.fieldsOf}, s.fieldsOf.Name, e.Pos)
		return s.load(s.member(node, e.Name, e.Pos), e.Name)
	}
	if v := s.consts[e.Name]; v != nil {
		o.kind, o.expr = kindNumber, &Const{Src: e.Name, Int: v.Int, Float: v.Float, IsFloat: v.IsFloat}
		return o
	}
	if v, ok := s.enumerator(e); ok {
		o.kind, o.expr = kindNumber, &Const{Src: e.Name, Int: v}
		return o
	}
	if s.prog == nil && s.layoutMissing() {
		s.dropped = true // it may be an enumerator of a type that is not known here
		return o
	}
	s.unknownName(e)
	return o
}

// layoutMissing: some type has no layout, so that not all enumerators are known.
func (s *scope) layoutMissing() bool {
	for _, t := range s.spec.Types {
		if t.Layout == nil && !t.Array {
			return true
		}
	}
	return false
}

func (s *scope) nodeOperand(v *Node, src string, pos syntax.Pos) operand {
	n := &Node{Src: src, Slot: v.Slot, Type: v.Type}
	return operand{kind: kindRef, expr: n, src: src, pos: pos, typ: v.Type.Layout, node: v.Type, isNode: true}
}

// enumerator looks a name up: in the enumeration it is compared with, in those
// of the declared types, then in the file and the program.
func (s *scope) enumerator(e *syntax.Name) (int64, bool) {
	if s.enum != nil {
		for _, x := range s.enum.Enumerators {
			if x.Name == e.Name {
				return x.Value, true
			}
		}
	}
	var values []int64
	for _, t := range s.spec.Types {
		walkEnums(t.Layout, 0, func(x types.Enumerator) {
			if x.Name == e.Name {
				values = addOnce(values, x.Value)
			}
		})
	}
	if len(values) == 1 {
		return values[0], true
	}
	if len(values) > 1 {
		s.errorf(e.Pos, "`%s` is an enumerator with several values (%d and %d); say which: const %s = %d;", e.Name, values[0], values[1], e.Name, values[0])
		return values[0], true
	}
	return s.universe.Const(e.Name)
}

func walkEnums(t *types.Type, depth int, f func(types.Enumerator)) {
	if t == nil || depth > maxNesting {
		return
	}
	for _, x := range t.Enumerators {
		f(x)
	}
	if t.Kind == types.Array {
		walkEnums(t.Elem, depth+1, f)
	}
	for _, m := range t.Members {
		walkEnums(m.Type, depth+1, f)
	}
}

func (s *scope) unknownName(e *syntax.Name) {
	var names []string
	for v := range s.vars {
		names = append(names, v)
	}
	for v := range s.indices {
		names = append(names, v)
	}
	for v := range s.consts {
		names = append(names, v)
	}
	for _, t := range s.spec.Types {
		walkEnums(t.Layout, 0, func(x types.Enumerator) { names = addOnce(names, x.Name) })
	}
	hint := didYouMean(e.Name, names)
	for _, t := range s.spec.Types {
		if hint == "" && hasField(t, e.Name) && len(s.vars) > 0 {
			hint = fmt.Sprintf("; a field is written with its node: %s.%s", firstVar(s.vars), e.Name)
		}
	}
	if hint == "" && s.types[e.Name] != nil {
		hint = fmt.Sprintf("; it is a type: declare a variable of it: %s X;", e.Name)
	}
	if _, ok := s.globals[e.Name]; ok && hint == "" {
		hint = fmt.Sprintf("; an object in static memory is written ::%s", e.Name)
	}
	if hint == "" && (e.Name == "nullptr" || e.Name == "nil" || e.Name == "None") {
		hint = "; write NULL"
	}
	if hint == "" {
		hint = fmt.Sprintf("; a macro or constant is declared by const %s = …;", e.Name)
	}
	s.errorf(e.Pos, "`%s` is neither a variable of this statement nor a constant%s", e.Name, hint)
}

func firstVar(vars map[string]*Node) string {
	best, slot := "", 0
	for name, v := range vars {
		if best == "" || v.Slot < slot {
			best, slot = name, v.Slot
		}
	}
	return best
}
