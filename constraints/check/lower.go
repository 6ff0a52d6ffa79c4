package check

import (
	"cmp"
	"slices"
	"strings"

	"mgtrace/constraints/syntax"
	"mgtrace/types"
)

// lower turns an expression into a typed one, read as a value. A structure, a
// union or an array stays an object that is not read itself.
func (s *scope) lower(e syntax.Expr) operand {
	o := s.load(s.operand(e), syntax.ExprString(e))
	o.pos = e.Where()
	if o.src == "" {
		o.src = syntax.ExprString(e)
	}
	return o
}

func (s *scope) operand(e syntax.Expr) operand {
	switch e := e.(type) {
	case *syntax.Name:
		return s.name(e)
	case *syntax.Number:
		return operand{kind: kindNumber, expr: &Const{Src: e.Text, Int: e.Int, Float: e.Float, IsFloat: e.IsFloat}}
	case *syntax.Bool:
		v := &Const{Src: syntax.ExprString(e)}
		if e.Value {
			v.Int = 1
		}
		return operand{kind: kindCond, expr: v}
	case *syntax.Null:
		return operand{kind: kindNull, expr: &Null{Src: "NULL"}}
	case *syntax.Return:
		return s.returned(e)
	case *syntax.GlobalName:
		return s.globalName(e)
	case *syntax.Paren:
		return s.lower(e.X)
	case *syntax.Select:
		return s.selectField(e)
	case *syntax.Index:
		return s.index(e)
	}
	return s.operation(e)
}

func (s *scope) operation(e syntax.Expr) operand {
	switch e := e.(type) {
	case *syntax.Unary:
		return s.unary(e)
	case *syntax.Abs:
		if x := s.number(e.X); x != nil {
			return number(&Unary{Src: syntax.ExprString(e), Op: "abs", X: x})
		}
	case *syntax.Binary:
		return s.binary(e)
	case *syntax.Cond:
		return s.cond(e)
	case *syntax.Relation:
		return s.relation(e)
	case *syntax.Count:
		return s.count(e)
	case *syntax.Sum:
		return s.sum(e)
	case *syntax.MinMax:
		return s.minMax(e)
	}
	return operand{}
}

func number(e Expr) operand    { return operand{kind: kindNumber, expr: e} }
func condition(e Expr) operand { return operand{kind: kindCond, expr: e} }

func (s *scope) returned(e *syntax.Return) operand {
	if !s.returns {
		s.errorf(e.Pos, "`return` stands only behind `if` of enter and leave")
		return operand{}
	}
	return operand{kind: kindAny, expr: &Index{Src: "return", Slot: 0}}
}

// globalName lowers "::head".
func (s *scope) globalName(e *syntax.GlobalName) operand {
	i, ok := s.globals[e.Name]
	if !ok {
		var names []string
		for _, g := range s.spec.Globals {
			names = append(names, g.Name)
		}
		hint := didYouMean(e.Name, names)
		if hint == "" {
			hint = "; declare it: global " + e.Name + ";"
		}
		s.errorf(e.Pos, "`::%s` is not declared%s", e.Name, hint)
		return operand{}
	}
	s.spec.Globals[i].Named = true
	g := s.spec.Globals[i]
	src := "::" + e.Name
	ref := &GlobalRef{Src: src, Global: i, Layout: g.Layout, Divided: g.Divided}
	o := operand{kind: kindRef, expr: ref, src: src, pos: e.Pos, typ: g.Layout}
	if g.Layout == nil {
		return o
	}
	o.place = &Place{Base: ref, Type: g.Layout}
	if _, smart := g.Layout.Smart(); o.aggregate() && !smart {
		o.node = s.nodeOf(g.Layout, nil)
		return o
	}
	o.expr = nil // a pointer or a number: its value is meant
	return o
}

func (s *scope) unary(e *syntax.Unary) operand {
	src := syntax.ExprString(e)
	if e.Op == "not" {
		if x := s.condition(e.X); x != nil {
			return condition(&Unary{Src: src, Op: "not", X: x})
		}
		return operand{}
	}
	x := s.number(e.X)
	if x == nil {
		return operand{}
	}
	if v, ok := fold(&Unary{Op: e.Op, X: x}); ok {
		v.Src = src
		return number(v)
	}
	return number(&Unary{Src: src, Op: e.Op, X: x})
}

func (s *scope) binary(e *syntax.Binary) operand {
	src := syntax.ExprString(e)
	switch e.Op {
	case "and", "or":
		x, y := s.condition(e.X), s.condition(e.Y)
		if x == nil || y == nil {
			return operand{}
		}
		return condition(&Binary{Src: src, Op: e.Op, X: x, Y: y})
	case "==", "!=", "<", "<=", ">", ">=":
		return s.compare(e, src)
	}
	p, q := s.lower(e.X), s.lower(e.Y)
	if e.Op == "-" && p.kind == kindRef && q.kind == kindRef {
		return s.difference(e, p, q, src)
	}
	x, y := s.asNumber(p, noArithmetic(p, e.Op)), s.asNumber(q, noArithmetic(q, e.Op))
	if x == nil || y == nil {
		return operand{}
	}
	if k, ok := fold(y); ok && (e.Op == "/" || e.Op == "%") && !k.IsFloat && k.Int == 0 {
		s.errorf(e.Y.Where(), "division by zero")
		return operand{}
	}
	return number(&Binary{Src: src, Op: e.Op, X: x, Y: y})
}

func (s *scope) cond(e *syntax.Cond) operand {
	c := s.condition(e.C)
	x, y := s.lower(e.X), s.lower(e.Y)
	if c == nil || x.bad() || y.bad() {
		return operand{}
	}
	out := &Cond{Src: syntax.ExprString(e), C: c, X: x.expr, Y: y.expr}
	switch {
	case x.kind == kindCond && y.kind == kindCond:
		return condition(out)
	case x.numeric() && y.numeric():
		return number(out)
	case x.reference() && y.reference():
		o := operand{kind: kindRef, expr: out, node: x.node, typ: x.typ}
		if x.kind == kindNull {
			o.node, o.typ = y.node, y.typ
		}
		return o
	}
	s.errorf(y.pos, "the two values of `? :` differ in kind: %s, %s", x.describe(), y.describe())
	return operand{}
}

func (o operand) numeric() bool { return o.kind == kindNumber || o.kind == kindAny }
func (o operand) reference() bool {
	return o.kind == kindRef || o.kind == kindAny || o.kind == kindNull
}

// relation lowers "x -> y" and its kin.
func (s *scope) relation(e *syntax.Relation) operand {
	x, ok := s.end(e.X, e)
	ok = ok && s.leads(x)
	y, ok2 := s.relationTarget(e)
	if !ok || !ok2 {
		return operand{}
	}
	r := &Relation{Src: syntax.ExprString(e), Path: e.Path, Not: e.Not, From: x.expr, To: y.expr}
	for _, f := range e.Fields {
		r.Fields = append(r.Fields, s.cellNames(x.node, e.Path, f)...)
	}
	if r.Fields != nil {
		s.begins(x, r, e)
	}
	return condition(r)
}

// begins warns of a way over fields of which none is a pointer of the node at which it would have to begin.
func (s *scope) begins(x operand, r *Relation, e *syntax.Relation) {
	t := x.node
	switch {
	case x.isNode:
	case !x.aggregate():
		return // a pointer may lead to a node of a derived type
	case t == nil:
		n, ok := x.place.Base.(*Node)
		if !ok {
			return
		}
		t = n.Type
	}
	var own []string
	for i := range t.Edges {
		cell := &t.Edges[i]
		if slices.ContainsFunc(r.Fields, func(f Field) bool { return f.Means(t, cell) }) {
			return
		}
		if x.isNode || x.path == "" || strings.HasPrefix(cell.Name, x.path+".") {
			own = addOnce(own, cell.Name)
		}
	}
	if len(own) > 4 {
		own = append(own[:4], "…")
	}
	if len(own) > 0 {
		s.warnf(e.OpPos, "`%s` leads nowhere by these fields, which are none of its own (%s): name that by which it begins as well", x.src, strings.Join(own, ", "))
	}
}

// leads refuses an object in static memory whose type is no declared one: it has no edges.
func (s *scope) leads(x operand) bool {
	if !x.aggregate() || x.node != nil {
		return true
	}
	if _, static := x.place.Base.(*GlobalRef); !static {
		return true
	}
	switch {
	case x.typ.Kind == types.Array && x.typ.Elem != nil && x.typ.Elem.Kind == types.Pointer:
		s.errorf(x.pos, "`%s` is an array in static memory, and no node; its pointers are: %s[I] ->> X, or, for all of them, SUM(I in 0 to %d: %s[I] == X or %s[I] ->> X ? 1 : 0) == 1",
			x.src, x.src, max(x.typ.Count-1, 0), x.src, x.src)
	case x.typ.Kind != types.Array && x.typ.Name != "":
		s.errorf(x.pos, "`%s` is in static memory, and no node: edges lead from there if its type is declared: type %s;", x.src, x.typ.Name)
	default:
		s.errorf(x.pos, "`%s` is in static memory, and no node: name the pointer in it", x.src)
	}
	return false
}

// relationTarget lowers the right side; a field's name there is C's "->".
func (s *scope) relationTarget(e *syntax.Relation) (operand, bool) {
	if n, ok := leftmost(e.Y).(*syntax.Name); ok && !e.Not && !e.Path && s.vars[n.Name] == nil {
		_, index := s.indices[n.Name]
		if !index && s.consts[n.Name] == nil {
			x := syntax.ExprString(e.X)
			s.errorf(e.OpPos, "`->` is the relation \"has an edge to\", and `%s` is no node; a field is selected by a dot, through a pointer too: %s.%s",
				n.Name, x, syntax.ExprString(e.Y))
			return operand{}, false
		}
	}
	return s.end(e.Y, e)
}

func leftmost(e syntax.Expr) syntax.Expr {
	for {
		switch x := e.(type) {
		case *syntax.Select:
			e = x.X
		case *syntax.Index:
			e = x.X
		default:
			return e
		}
	}
}

// end lowers one end of a relation.
func (s *scope) end(e syntax.Expr, r *syntax.Relation) (operand, bool) {
	o := s.lower(e)
	switch o.kind {
	case kindRef, kindAny:
		return o, true
	case kindBad:
	default:
		s.errorf(o.pos, "an edge or path leads between nodes, but %s", o.describe())
	}
	return o, false
}

// cellNames resolves a field of a list such as ->(next): edge cells of
// t, or (any, or t unknown) of some type. The elements of an ARRAY type, and the pointers
// in them, go by the type's name; "T.f" is f of type T alone.
func (s *scope) cellNames(t *NodeType, any bool, f syntax.Path) []Field {
	var found, ofType []Field
	var all []string
	for _, u := range s.spec.Types {
		if t != nil && u != t && (!any || u.Group != t.Group) {
			continue
		}
		of, qualified := strings.CutPrefix(f.Name, u.Name+".")
		for _, cell := range u.Edges {
			name := cell.Name
			if name == "" { // the elements of an array type: their list has its name
				name = u.Name
			}
			all = addOnce(all, name)
			switch {
			case u.Array && f.Name == u.Name:
				found = addOnce(found, Field{Of: u, Name: cell.Name})
			case names(f.Name, name):
				found = addOnce(found, Field{Name: cell.Name})
			case qualified && names(of, name):
				ofType = addOnce(ofType, Field{Of: u, Name: cell.Name})
			}
		}
	}
	if found == nil {
		found = ofType
	}
	switch {
	case found != nil:
	case t != nil && t.Layout == nil && !t.Array:
		s.noLayout(t, f.Pos)
	case t != nil:
		for _, u := range s.spec.Types {
			if !any && u.Array && u.Name == f.Name && u != t {
				s.errorf(f.Pos, "`%s` are the elements of an array: no edge of %s, but a step of a path, X ->>(FIELD, %s) Y", f.Name, t.Name, f.Name)
				return nil
			}
			if any && u.Array && u.Name == f.Name && u.Group != t.Group {
				s.errorf(f.Pos, "`%s` are the elements of an array, which is no part of the structure of %s yet: together %s, %s;", f.Name, t.Name, t.Name, u.Name)
				return nil
			}
			if any && u.Group != t.Group && slices.ContainsFunc(u.Edges, func(c EdgeCell) bool { return names(f.Name, c.Name) }) {
				s.errorf(f.Pos, "`%s` is a pointer of %s, which is no part of the structure of %s yet: together %s, %s;", f.Name, u.Name, t.Name, t.Name, u.Name)
				return nil
			}
		}
		for _, m := range s.spec.Embeds {
			if m.Host == t && names(f.Name, m.Member) {
				s.errorf(f.Pos, "`%s` is no pointer of %s: it is a node of its own (embed), at which a path may begin: X.%s ->> Y", f.Name, t.Name, f.Name)
				return nil
			}
		}
		for _, g := range s.spec.Globals {
			if !any || g.Layout == nil || !g.Layout.HasMembers() || slices.ContainsFunc(s.spec.Types, func(u *NodeType) bool {
				return u.Layout != nil && (u.Layout == g.Layout || g.Layout.Name != "" && u.Layout.Name == g.Layout.Name)
			}) {
				continue // of a type that is declared, it is no pointer
			}
			if _, err := g.Layout.Find(f.Name); err == nil {
				name := cmp.Or(g.Layout.Name, g.Name)
				s.errorf(f.Pos, "`%s` is a field of ::%s, which is no part of the structure of %s yet: type %s; together %s, %s;", f.Name, g.Name, t.Name, name, t.Name, name)
				return nil
			}
		}
		s.errorf(f.Pos, "%s has no pointer field `%s` that can be an edge%s", t.Name, f.Name, didYouMeanOrList(f.Name, all))
	default:
		s.errorf(f.Pos, "no type has a pointer field `%s` that can be an edge%s", f.Name, didYouMeanOrList(f.Name, all))
	}
	return found
}

// count lowers COUNT(T) and COUNT(T Y: g).
func (s *scope) count(e *syntax.Count) operand {
	t := s.typeOf(e.Type)
	if t == nil {
		return operand{}
	}
	a := &Aggregate{Src: syntax.ExprString(e), Type: t, Slot: s.slots}
	s.slots++
	if e.Var.Name == "" {
		return number(a)
	}
	if !s.fresh(e.Var.Name, e.Var.Pos) {
		return operand{}
	}
	if a.Guard = s.ofEach(a, e.Var.Name, s.condition, e.Guard); a.Guard == nil {
		return operand{}
	}
	return number(a)
}

// sum lowers SUM(I in a to b: e) and SUM(T Y: e).
func (s *scope) sum(e *syntax.Sum) operand {
	if e.Type.Name != "" {
		return s.sumOfNodes(e)
	}
	lo, hi := s.number(e.Loop.Lo), s.number(e.Loop.Hi)
	if !s.fresh(e.Loop.Var, e.Loop.Pos) {
		return operand{}
	}
	a := &Aggregate{Src: syntax.ExprString(e), Sum: true, Slot: s.indexSlots, Lo: lo, Hi: hi}
	s.indices[e.Loop.Var] = s.indexSlots
	s.indexSlots++
	a.Elem = s.number(e.Elem)
	delete(s.indices, e.Loop.Var)
	if lo == nil || hi == nil || a.Elem == nil {
		return operand{}
	}
	return number(a)
}

// ofEach lowers what an aggregate asks of each node of its type, which a variable stands for.
func (s *scope) ofEach(a *Aggregate, name string, lower func(syntax.Expr) Expr, e syntax.Expr) Expr {
	s.vars[name] = &Node{Src: name, Slot: a.Slot, Type: a.Type}
	defer delete(s.vars, name)
	return lower(e)
}

func (s *scope) sumOfNodes(e *syntax.Sum) operand {
	t := s.typeOf(e.Type)
	if t == nil || !s.fresh(e.Var.Name, e.Var.Pos) {
		return operand{}
	}
	a := &Aggregate{Src: syntax.ExprString(e), Sum: true, Type: t, Slot: s.slots}
	s.slots++
	if a.Elem = s.ofEach(a, e.Var.Name, s.number, e.Elem); a.Elem == nil {
		return operand{}
	}
	return number(a)
}

// fresh refuses a name that means something already, and prepares the scope.
func (s *scope) fresh(name string, pos syntax.Pos) bool {
	if s.vars == nil {
		s.vars = map[string]*Node{}
	}
	if s.indices == nil {
		s.indices = map[string]int{}
	}
	_, index := s.indices[name]
	if s.vars[name] != nil || index {
		s.errorf(pos, "`%s` is declared already in this statement", name)
		return false
	}
	return true
}

func (s *scope) minMax(e *syntax.MinMax) operand {
	op := "min"
	if e.Max {
		op = "max"
	}
	var acc Expr
	for _, a := range e.Args {
		x := s.number(a)
		switch {
		case x == nil:
			return operand{}
		case acc == nil:
			acc = x
		default:
			acc = &Binary{Src: syntax.ExprString(e), Op: op, X: acc, Y: x}
		}
	}
	return number(acc)
}

// enumOf returns the enumeration that a comparison's side is of.
func enumOf(o operand) *types.Type {
	if o.typ != nil && o.typ.Kind == types.Enum {
		return o.typ
	}
	return nil
}
