package check

import (
	"fmt"

	"mgtrace/constraints/syntax"
)

// formulas resolves constraints and the rules of attributes in file order.
func (c *checker) formulas() {
	n := 0
	labels := c.labels()
	for _, s := range c.file.Stmts {
		switch s := s.(type) {
		case *syntax.Rule:
			c.rule(s)
		case *syntax.Constraint:
			n++
			label := s.Label.Name
			if label == "" {
				for label = fmt.Sprintf("c%d", n); labels[label]; label += "'" {
				}
			}
			c.constraint(s, label)
		}
	}
	for _, a := range c.spec.Attributes {
		if len(a.Rules) == 0 && len(c.errs) == 0 {
			c.errorf(a.Pos, "the attribute %s.%s has no rule: %s X;  X.%s = …;", a.Type.Name, a.Name, a.Type.Name, a.Name)
		}
	}
}

// labels returns the labels that the file gives.
func (c *checker) labels() map[string]bool {
	labels := map[string]bool{}
	for _, s := range c.file.Stmts {
		if k, ok := s.(*syntax.Constraint); ok && k.Label.Name != "" {
			if labels[k.Label.Name] {
				c.errorf(k.Label.Pos, "two constraints are called `%s`", k.Label.Name)
			}
			labels[k.Label.Name] = true
		}
	}
	return labels
}

// variable is a declared variable before its slot is known.
type variable struct {
	syntax.Ident
	quantifier string
	t          *NodeType
}

// variables resolves declarations; ok is false after an error.
func (c *checker) variables(decls []syntax.Decl) (vars []variable, ok bool) {
	ok = true
	seen := map[string]bool{}
	for _, d := range decls {
		t := c.typeOf(d.Type)
		ok = ok && t != nil
		for _, v := range d.Vars {
			if seen[v.Name] {
				c.errorf(v.Pos, "`%s` is declared already in this statement", v.Name)
				ok = false
			}
			seen[v.Name] = true
			vars = append(vars, variable{v, d.Quantifier, t})
		}
	}
	return vars, ok
}

// constraint resolves one constraint: which variables are universal, then its
// loops, guards and body.
func (c *checker) constraint(s *syntax.Constraint, label string) {
	vars, ok := c.variables(s.Decls)
	if !ok {
		return
	}
	k := &Constraint{Index: len(c.spec.Constraints), Label: label, Source: s.Text(), Pos: s.Pos}
	sc := &scope{checker: c, vars: map[string]*Node{}, indices: map[string]int{}}
	if !c.quantify(k, s, vars, sc) {
		return
	}
	for _, p := range s.Prefixes {
		if p.Guard == nil {
			k.Loops = append(k.Loops, Loop{})
		}
	}
	sc.slots, sc.indexSlots = len(k.Vars), len(k.Loops)
	if len(k.Loops) > maxLoops {
		c.errorf(s.Pos, "a constraint has at most %d loops", maxLoops)
		return
	}
	good := c.prefixes(k, s, sc)
	if sc.clash {
		return
	}
	c.everyPair(s, vars)
	k.Body = sc.condition(s.Body)
	k.Slots, k.IndexSlots = sc.slots, sc.indexSlots
	if good && k.Body != nil && !sc.dropped {
		c.spec.Constraints = append(c.spec.Constraints, k)
	}
}

// prefixes lowers guards and loops from left to right.
func (c *checker) prefixes(k *Constraint, s *syntax.Constraint, sc *scope) bool {
	ok := true
	loop := 0
	for _, p := range s.Prefixes {
		if p.Guard != nil {
			g := sc.condition(p.Guard)
			ok = ok && g != nil
			k.Guard = conjunction(k.Guard, g)
			continue
		}
		l := Loop{Name: p.Loop.Var, Lo: sc.number(p.Loop.Lo), Hi: sc.number(p.Loop.Hi), Guard: k.Guard}
		if !sc.fresh(l.Name, p.Loop.Pos) {
			sc.clash = true
			return false
		}
		ok = ok && l.Lo != nil && l.Hi != nil
		sc.indices[l.Name] = loop
		k.Loops[loop] = l
		loop++
	}
	return ok
}

func conjunction(a, b Expr) Expr {
	if a == nil || b == nil {
		return b
	}
	return &Binary{Src: a.Text() + " and " + b.Text(), Op: "and", X: a, Y: b}
}

// quantify gives the variables their slots, universal ones first: those that
// the guard uses (bounds of loops too); without a guard all; what is said
// explicitly holds. Unused variables are dropped.
func (c *checker) quantify(k *Constraint, s *syntax.Constraint, vars []variable, sc *scope) bool {
	before, body, guarded := uses{}, uses{}, false
	for _, p := range s.Prefixes {
		if p.Guard != nil {
			guarded = true
			before.expr(p.Guard)
		} else {
			before.expr(p.Loop.Lo)
			before.expr(p.Loop.Hi)
		}
	}
	body.expr(s.Body)
	var universal, existential []variable
	for _, v := range vars {
		switch {
		case !before[v.Name] && !body[v.Name]:
			c.warnf(v.Pos, "the variable `%s` is not used; it is ignored", v.Name)
		case v.quantifier == "exists" && before[v.Name]:
			c.errorf(v.Pos, "`%s` is said to exist, but stands in the guard or in a loop's range: the guard says for which nodes the body must hold", v.Name)
			return false
		case v.quantifier == "exists", v.quantifier == "" && guarded && !before[v.Name]:
			existential = append(existential, v)
		default:
			if v.quantifier == "forall" && len(existential) > 0 && existential[len(existential)-1].quantifier == "exists" {
				c.errorf(v.Pos, "`forall` stands before `exists`: for all %s there is some %s", v.Name, existential[len(existential)-1].Name)
				return false
			}
			universal = append(universal, v)
		}
	}
	if len(universal) > maxUniversal {
		c.errorf(s.Pos, "a constraint ranges over at most %d nodes at a time, this one over %d", maxUniversal, len(universal))
		return false
	}
	k.Universal = len(universal)
	for slot, v := range append(universal, existential...) {
		k.Vars = append(k.Vars, Var{Name: v.Name, Type: v.t})
		sc.vars[v.Name] = &Node{Src: v.Name, Slot: slot, Type: v.t}
	}
	return true
}

// rule resolves a rule of an attribute.
func (c *checker) rule(s *syntax.Rule) {
	vars, ok := c.variables(s.Decls)
	if !ok {
		return
	}
	target := s.Then.Target
	x := target.X.(*syntax.Name)
	var self *NodeType
	sc := &scope{checker: c, vars: map[string]*Node{}, indices: map[string]int{}, slots: 1}
	for _, v := range vars {
		if v.Name == x.Name {
			self = v.t
			sc.vars[v.Name] = &Node{Src: v.Name, Slot: 0, Type: v.t}
		}
	}
	if self == nil {
		c.errorf(x.Pos, "`%s` is not declared: its declaration (T %s;) stands before the rule", x.Name, x.Name)
		return
	}
	for _, v := range vars {
		if v.Name != x.Name {
			c.errorf(v.Pos, "a rule computes from `%s` alone; other nodes are reached through its fields, or counted by COUNT", x.Name)
			return
		}
	}
	a := c.attrs[attrKey{self, target.Name}]
	if a == nil {
		c.unknownAttribute(self, target)
		return
	}
	c.ruleOf(a, s, sc, x.Name)
}

func (c *checker) unknownAttribute(t *NodeType, target *syntax.Select) {
	var names []string
	for _, a := range c.spec.Attributes {
		if a.Type == t {
			names = append(names, a.Name)
		}
	}
	hint := didYouMean(target.Name, names)
	if hint == "" {
		hint = fmt.Sprintf("; declare it: %s.%s; (if a comparison is meant, write `==`)", t.Name, target.Name)
	}
	c.errorf(target.NamePos, "%s has no attribute `%s`%s", t.Name, target.Name, hint)
}

func (c *checker) ruleOf(a *Attribute, s *syntax.Rule, sc *scope, self string) {
	r := Rule{Source: syntax.StmtString(s), Pos: s.Pos}
	if s.Guard != nil {
		if r.Guard = sc.condition(s.Guard); r.Guard == nil {
			return
		}
	}
	if r.Value = sc.number(s.Then.Value); r.Value == nil {
		return
	}
	if s.Else != nil {
		t := s.Else.Target
		if t.Name != a.Name || t.X.(*syntax.Name).Name != self {
			c.errorf(s.Else.Pos, "both assignments of a rule are to the same attribute, %s.%s", self, a.Name)
			return
		}
		if r.Else = sc.number(s.Else.Value); r.Else == nil {
			return
		}
	}
	r.Slots, r.IndexSlots = sc.slots, sc.indexSlots
	a.Rules = append(a.Rules, r)
}

// uses collects the plain names of an expression. Those that COUNT and SUM bind
// are not free, but a name is not bound and free in one statement (scope.fresh).
type uses map[string]bool

func (u uses) expr(e syntax.Expr) {
	switch e := e.(type) {
	case *syntax.Name:
		u[e.Name] = true
	case *syntax.Paren:
		u.expr(e.X)
	case *syntax.Select:
		u.expr(e.X)
	case *syntax.Index:
		u.expr(e.X)
		u.expr(e.I)
	case *syntax.Unary:
		u.expr(e.X)
	case *syntax.Abs:
		u.expr(e.X)
	case *syntax.Binary:
		u.expr(e.X)
		u.expr(e.Y)
	case *syntax.Cond:
		u.expr(e.C)
		u.expr(e.X)
		u.expr(e.Y)
	case *syntax.Relation:
		u.expr(e.X)
		u.expr(e.Y)
	case *syntax.Count:
		if e.Guard != nil {
			u.expr(e.Guard)
		}
	case *syntax.Sum:
		if e.Type.Name == "" {
			u.expr(e.Loop.Lo)
			u.expr(e.Loop.Hi)
		}
		u.expr(e.Elem)
	case *syntax.MinMax:
		for _, a := range e.Args {
			u.expr(a)
		}
	}
}
