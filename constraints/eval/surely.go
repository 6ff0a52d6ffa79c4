package eval

import (
	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

// Nearly all instances of a program that works are healthy, and of a healthy one nobody asks why. So
// each constraint that can be is compiled, once, to a chain of functions that answer "it surely holds,
// or its guard surely does not" or "ask": then it is evaluated as everything is (instance.go), which alone
// knows of undefined values and what they are undefined by, of dependencies, aggregates and
// hypothetical views. Of a constraint with indices that is done for each of them.
//
// What is sure is what the graph says of pointers (graph.Leads), the edges that it
// counts (graph.Edges), numbers that are written and are no larger than int64, and what follows from
// these. The functions do what eval does, in the same order, up to where nothing is sure: which attributes ask
// for which decides what is a cycle. TestSurely holds them to it.

// fact is what is sure of an expression.
type fact struct {
	kind factKind
	obj  graph.ObjID // of a reference
	bits uint64      // a number, also 0 and 1; the address of a reference
}

type factKind uint8

const (
	ask     factKind = iota // nothing is sure
	numeric                 // an integer that an int64 holds
	nowhere                 // NULL
	leading                 // a pointer into an object that is the only one there
	itself                  // a node
)

func numberOf(n int64) fact { return fact{kind: numeric, bits: uint64(n)} }

func truthOf(b bool) fact {
	if b {
		return fact{kind: numeric, bits: 1}
	}
	return fact{kind: numeric}
}

// tri reads a fact as a condition.
func (f fact) tri() tri {
	switch {
	case f.kind == ask:
		return unknown
	case f.kind == nowhere, f.kind == numeric && f.bits == 0:
		return no
	}
	return yes
}

// compiled is an expression that tells what is sure of it in the current frame; nil: nothing ever is.
type compiled func(*env) fact

// never is what may be asked where nothing is ever sure.
func never(*env) fact { return fact{} }

func (f compiled) orNever() compiled {
	if f == nil {
		return never
	}
	return f
}

// surely is a constraint that is compiled.
type surely struct {
	guard, body compiled
	// ties are pointers by which the guard says what the second variable is, given the first, and so on.
	// Not all: the variables cannot be found so.
	ties []compiled
	all  bool
	// edge is what the guard of two variables says besides, if not that: an edge leads from the first to the second. Nil: it does not.
	edge *check.Relation
}

// surelyRule is a rule of an attribute that is compiled.
type surelyRule struct{ guard, value, other compiled }

// compileAll compiles the constraints and the rules of a checker.
func (c *Checker) compileAll() {
	c.rules = make([][]surelyRule, len(c.spec.Attributes))
	for i, a := range c.spec.Attributes {
		c.rules[i] = make([]surelyRule, len(a.Rules))
	}
	if len(c.spec.Nils) > 0 || len(c.spec.Roots) > 0 {
		return // what is NULL, and what a variable, is to be found out first
	}
	for _, t := range c.spec.Types {
		for i := range t.Edges {
			if t.Edges[i].Fills != nil {
				return // as is what of an array is in use
			}
		}
	}
	for i := range c.infos {
		c.infos[i].surely = compileConstraint(&c.infos[i])
	}
	for i, a := range c.spec.Attributes {
		for j := range a.Rules {
			r := &a.Rules[j]
			c.rules[i][j] = surelyRule{compile(r.Guard), compile(r.Value), compile(r.Else)}
		}
	}
}

func compileConstraint(k *info) *surely {
	if k.acyclic || k.Universal != len(k.Vars) || k.Universal == 0 {
		return nil
	}
	s := &surely{guard: compile(k.Guard), body: compile(k.Body), all: len(k.Loops) == 0}
	if s.guard == nil && s.body == nil {
		return nil
	}
	for slot := 1; slot < k.Universal; slot++ {
		tie := compileTie(k.Guard, slot)
		s.ties, s.all = append(s.ties, tie), s.all && tie != nil
	}
	if !s.all && len(k.Loops) == 0 && k.Universal == 2 {
		s.edge = edgeOf(k.Guard)
	}
	s.guard, s.body = s.guard.orNever(), s.body.orNever()
	return s
}

// compile compiles an expression; none is true.
func compile(x check.Expr) compiled {
	switch x := x.(type) {
	case nil:
		return func(*env) fact { return truthOf(true) }
	case *check.Const:
		if !x.IsFloat {
			n := numberOf(x.Int)
			return func(*env) fact { return n }
		}
	case *check.Null:
		return func(*env) fact { return fact{kind: nowhere} }
	case *check.Index:
		slot := x.Slot
		return func(e *env) fact {
			if slot >= len(e.idx) || e.idx[slot] == unbound {
				return fact{}
			}
			return numberOf(e.idx[slot])
		}
	case *check.Relation:
		return compileRelation(x)
	case *check.Node, *check.GlobalRef:
		return compileObject(x)
	case *check.Load:
		return compileLoad(x)
	case *check.Attr:
		return compileAttr(x)
	case *check.Degree:
		return compileDegree(x)
	case *check.Unary:
		return compileUnary(x)
	case *check.Binary:
		return compileBinary(x)
	case *check.Cond:
		c, a, b := compile(x.C), compile(x.X).orNever(), compile(x.Y).orNever()
		if c == nil {
			return nil
		}
		return func(e *env) fact {
			switch c(e).tri() {
			case yes:
				return a(e)
			case no:
				return b(e)
			}
			return fact{}
		}
	}
	return nil
}

// compileObject compiles a node that is bound, or one in static memory.
func compileObject(x check.Expr) compiled {
	of := func(e *env, o graph.ObjID) fact {
		if o == 0 {
			return fact{}
		}
		return fact{kind: itself, obj: o, bits: uint64(e.g.Object(o).Addr)}
	}
	switch x := x.(type) {
	case *check.Node:
		slot := x.Slot
		return func(e *env) fact { return of(e, e.vars[slot]) }
	case *check.GlobalRef:
		i := x.Global
		return func(e *env) fact { return of(e, e.g.Global(i)) }
	}
	return nil
}

// compileLoad compiles what reads a pointer or an integer at a constant offset of an object.
func compileLoad(x *check.Load) compiled {
	p := &x.Place
	base := compileBase(p.Base)
	if base == nil || p.Cell != nil || x.Coded != coded.Plain {
		return nil
	}
	if len(p.Steps) > 0 {
		if base = compileSteps(base, p.Steps); base == nil {
			return nil
		}
	}
	off := uint64(p.Offset)
	if isPointer(x) {
		return func(e *env) fact {
			b := base(e)
			if b.kind < leading {
				return fact{}
			}
			o, word, known := e.g.Leads(b.obj, trace.Addr(b.bits+off), e.t)
			switch {
			case !known:
				return fact{}
			case o == 0:
				return fact{kind: nowhere}
			}
			return fact{kind: leading, obj: o, bits: word}
		}
	}
	return func(e *env) fact {
		b := base(e)
		if b.kind < leading {
			return fact{}
		}
		return factOf(e.scalar(trace.Addr(b.bits+off), x.Type, x.BitOffset, x.BitSize, x))
	}
}

// compileSteps compiles what a place hangs off, and so many bytes behind it as the indices say: in arrays of which the length is known.
func compileSteps(base compiled, steps []check.Step) compiled {
	index := make([]compiled, len(steps))
	for i := range steps {
		if index[i] = compile(steps[i].I); index[i] == nil || steps[i].Count < 0 {
			return nil
		}
	}
	return func(e *env) fact {
		b := base(e)
		if b.kind < leading {
			return fact{}
		}
		for i := range steps {
			n := index[i](e)
			if n.kind != numeric || int64(n.bits) < 0 || int64(n.bits) >= steps[i].Count {
				return fact{}
			}
			b.bits += n.bits * uint64(steps[i].Stride)
		}
		return b
	}
}

// compileBase compiles what a place hangs off: a node, or a pointer to one of the type that is expected.
func compileBase(x check.Expr) compiled {
	if _, ok := x.(*check.Load); !ok {
		return compileObject(x)
	}
	p, want := compile(x), pointee(x)
	if p == nil {
		return nil
	}
	return func(e *env) fact {
		f := p(e)
		if f.kind == leading && want != nil && !e.g.Object(f.obj).Type.Is(want) {
			return fact{}
		}
		return f
	}
}

func factOf(v value) fact {
	if v.kind != integer || v.wide {
		return fact{}
	}
	return fact{kind: numeric, bits: v.bits}
}

// compileAttr compiles an attribute of a node, or of NULL.
func compileAttr(x *check.Attr) compiled {
	base := compile(x.Base)
	if base == nil {
		return nil
	}
	return func(e *env) fact {
		b := base(e)
		switch {
		case b.kind == nowhere:
			return numberOf(x.Attrs[0].Default)
		case b.kind < leading:
			return fact{}
		}
		for _, a := range x.Attrs {
			if e.g.Object(b.obj).Type == a.Type {
				return factOf(e.attr(attrKey{int32(a.Index), b.obj}))
			}
		}
		return fact{}
	}
}

// compileDegree compiles the number of edges into a node, or out of it.
func compileDegree(x *check.Degree) compiled {
	if _, ok := x.Base.(*check.Node); !ok {
		return nil
	}
	base := compileObject(x.Base)
	if x.In {
		return func(e *env) fact {
			n, known := e.g.Edges(base(e).obj, x.Fields, e.t)
			if !known {
				return fact{}
			}
			return numberOf(n)
		}
	}
	return func(e *env) fact {
		o, n := base(e).obj, int64(0)
		known := e.eachLed(o, x.Fields, func(to graph.ObjID) bool {
			if t := e.g.Object(to).Type; t != nil && t.Group == e.g.Object(o).Type.Group {
				n++
			}
			return true
		})
		if !known {
			return fact{}
		}
		return numberOf(n)
	}
}

// compileRelation compiles an edge from one node to another.
func compileRelation(x *check.Relation) compiled {
	if x.Path {
		return nil
	}
	from, to := compile(x.From), compile(x.To)
	if from == nil || to == nil {
		return nil
	}
	return func(e *env) fact {
		a, b := from(e), to(e)
		if a.kind < leading || b.kind < leading || e.g.Object(b.obj).Type == nil {
			return fact{}
		}
		found := false
		if !e.eachLed(a.obj, x.Fields, func(o graph.ObjID) bool {
			found = o == b.obj
			return !found
		}) {
			return fact{}
		}
		return truthOf(found != x.Not)
	}
}

// eachLed calls f for what the pointers of a node lead to by some fields, nil: those that count by default, until it returns false. It
// returns false where of one of those before that it is not known.
func (e *env) eachLed(from graph.ObjID, fields []check.Field, f func(graph.ObjID) bool) bool {
	typ := e.g.Object(from).Type
	if typ == nil || typ.Array {
		return false
	}
	size := e.g.Size(from, e.t)
	for i := range typ.Edges {
		c := &typ.Edges[i]
		if !counts(typ, i, fields) {
			continue
		}
		if c.Conditional() || c.Own != (check.Span{}) || c.Coded != coded.Plain {
			return false
		}
		for k, n := int64(0), graph.Elems(c, size); k < n; k++ {
			to, _, known := e.g.Leads(from, e.g.CellAddr(from, c, k), e.t)
			if !known {
				return false
			}
			if to != 0 && !f(to) {
				return true
			}
		}
	}
	return true
}

func compileUnary(x *check.Unary) compiled {
	c := compile(x.X)
	switch {
	case c == nil:
		return nil
	case x.Op == "not":
		return func(e *env) fact {
			t := c(e).tri()
			if t == unknown {
				return fact{}
			}
			return truthOf(t == no)
		}
	case x.Op == "abs":
		return func(e *env) fact {
			if f := c(e); f.kind == numeric && int64(f.bits) >= 0 {
				return f
			} else if f.kind == numeric {
				return factOf(arithmetic("-", number(0), number(int64(f.bits)), false, x))
			}
			return fact{}
		}
	}
	return nil
}

func compileBinary(x *check.Binary) compiled {
	a, b := compile(x.X), compile(x.Y)
	switch x.Op {
	case "and", "or":
		if a == nil {
			return nil
		}
		return compileLogic(a, b.orNever(), x.Op == "or")
	}
	if a == nil || b == nil {
		return nil
	}
	switch x.Op {
	case "==", "!=":
		wanted := x.Op == "=="
		return func(e *env) fact {
			p := a(e)
			if p.kind == ask {
				return p
			}
			switch equal(p, b(e), x.Alike) {
			case yes:
				return truthOf(wanted)
			case no:
				return truthOf(!wanted)
			}
			return fact{}
		}
	case "<", "<=", ">", ">=":
		return ofNumbers(a, b, func(p, q value) fact {
			return truthOf(holds(x.Op, compareNumbers(p, q, x.Unsigned)))
		})
	case "min", "max":
		return ofNumbers(a, b, func(p, q value) fact {
			if (compareNumbers(p, q, x.Unsigned) <= 0) == (x.Op == "min") {
				return factOf(p)
			}
			return factOf(q)
		})
	}
	return ofNumbers(a, b, func(p, q value) fact {
		return factOf(arithmetic(x.Op, p, q, x.Unsigned, x))
	})
}

// compileLogic compiles a and b, or a or b.
func compileLogic(a, b compiled, or bool) compiled {
	decides := no
	if or {
		decides = yes
	}
	return func(e *env) fact {
		switch a(e).tri() {
		case decides:
			return truthOf(or)
		case unknown:
			return fact{}
		}
		t := b(e).tri()
		if t == unknown {
			return fact{}
		}
		return truthOf(t == yes)
	}
}

// ofNumbers is f of two numbers.
func ofNumbers(a, b compiled, f func(p, q value) fact) compiled {
	return func(e *env) fact {
		p := a(e)
		if p.kind != numeric {
			return fact{}
		}
		q := b(e)
		if q.kind != numeric {
			return fact{}
		}
		return f(number(int64(p.bits)), number(int64(q.bits)))
	}
}

// equal reports whether two facts are the same number, or lead to the same node (identical).
func equal(p, q fact, alike check.Alike) tri {
	sure := func(b bool) tri {
		if b {
			return yes
		}
		return no
	}
	switch {
	case p.kind == ask, q.kind == ask, (p.kind == numeric) != (q.kind == numeric):
		return unknown
	case p.kind == numeric:
		return sure(p.bits == q.bits)
	case p.kind == nowhere, q.kind == nowhere:
		return sure(p.kind == q.kind)
	case p.obj == q.obj:
		return sure(alike != check.AlikeTyped || p.bits == q.bits)
	case p.kind == itself && q.kind == itself:
		return unknown // one may lie in the other
	}
	return no // nothing else lies where a pointer leads of which it is known
}

// compileTie compiles the pointer to which the variable in a slot is equal wherever the guard holds, if that is
// known when those before it are; nil if there is none.
func compileTie(guard check.Expr, slot int) compiled {
	x, ok := guard.(*check.Binary)
	if !ok {
		return nil
	}
	switch x.Op {
	case "and":
		if t := compileTie(x.X, slot); t != nil {
			return t
		}
		return compileTie(x.Y, slot)
	case "==":
		for _, s := range [2][2]check.Expr{{x.X, x.Y}, {x.Y, x.X}} {
			p, load := s[1].(*check.Load)
			if load && isVar(s[0], slot) && isPointer(p) && usesOf(p).vars>>slot == 0 {
				return compile(p)
			}
		}
	}
	return nil
}

// edgeOf is what a guard says of an edge from the first variable to the second, without which it does not hold; nil: nothing.
func edgeOf(guard check.Expr) *check.Relation {
	switch x := guard.(type) {
	case *check.Binary:
		if x.Op == "and" {
			if r := edgeOf(x.X); r != nil {
				return r
			}
			return edgeOf(x.Y)
		}
	case *check.Relation:
		if !x.Not && !x.Path && isVar(x.From, 0) && isVar(x.To, 1) {
			return x
		}
	}
	return nil
}

// factual reports whether facts may be asked for: of the history's own view, and with nothing noted of how they are known.
func (e *env) factual() bool { return e.rec == nil && e.changed == nil }

// sure reports whether a constraint may be asked whether it is healthy.
func (e *env) sure(k *info) bool { return k.surely != nil && e.factual() }

// healthy reports whether the constraint surely has nothing against the binding of the current frame.
func (e *env) healthy(k *info) bool {
	switch k.surely.guard(e).tri() {
	case unknown:
		return false
	case no:
		return true
	}
	e.held[k.Index] = true
	return k.surely.body(e).tri() == yes
}

// healthyFrom is healthy for all bindings that begin with that of the first variable.
func (e *env) healthyFrom(k *info) bool {
	if k.surely.edge != nil {
		return e.healthyEdges(k)
	}
	if !k.surely.all {
		return false
	}
	for i, tie := range k.surely.ties {
		f := tie(e)
		if f.kind == ask {
			return false
		}
		if f.kind != leading {
			return true
		}
		if b := e.g.Object(f.obj); b.Type != k.Vars[i+1].Type || b.Global != 0 {
			return true
		}
		e.vars[i+1] = f.obj
	}
	return e.healthy(k)
}

// healthyEdges is healthyFrom where the guard says that an edge leads to the second variable.
func (e *env) healthyEdges(k *info) bool {
	healthy := true
	known := e.eachLed(e.vars[0], k.surely.edge.Fields, func(to graph.ObjID) bool {
		if b := e.g.Object(to); b.Type == k.Vars[1].Type && b.Global == 0 {
			e.vars[1] = to
			healthy = e.healthy(k)
		}
		return healthy
	})
	return known && healthy
}

// quick evaluates an expression of a rule, which is compiled.
func (e *env) quick(x check.Expr, f compiled) value {
	if f != nil && e.factual() {
		e.c.tick()
		if v := f(e); v.kind == numeric {
			return number(int64(v.bits))
		}
	}
	return e.eval(x)
}
