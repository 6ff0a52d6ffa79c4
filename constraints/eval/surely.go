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
// knows of undefined values and what they are undefined by, of dependencies, indices, aggregates,
// hypothetical views and times that are over.
//
// What is sure is what the slots of the graph say of pointers now (graph.Leads), the edges that it
// counts (graph.Edges), numbers that are written and are no larger than int64, and what follows from
// these. The functions do what eval does; TestSurely holds them to it.

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

// compiled is an expression that asks for what is sure of it in the current frame.
type compiled func(*env) fact

// surely is a constraint that is compiled.
type surely struct {
	guard, body compiled // guard nil: true
	// ties are pointers by which the guard says what the second variable is, given the first, and so on.
	// Not all: the variables cannot be found so.
	ties   []compiled
	all    bool
	memory bool // memory is read, and not the graph alone
}

// compileAll compiles the constraints of a checker.
func (c *Checker) compileAll() {
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
}

func compileConstraint(k *info) *surely {
	if k.acyclic || len(k.Loops) > 0 || k.Universal != len(k.Vars) || k.Universal == 0 {
		return nil
	}
	var m compiler
	s := &surely{body: m.compile(k.Body)}
	if k.Guard != nil {
		s.guard = m.compile(k.Guard)
	}
	if m.failed {
		return nil
	}
	s.all = true
	for slot := 1; slot < k.Universal; slot++ {
		tie := m.tie(k.Guard, slot)
		s.ties, s.all = append(s.ties, tie), s.all && tie != nil
	}
	s.memory = m.memory
	return s
}

// compiler compiles the expressions of a constraint.
type compiler struct {
	failed bool // something is not compiled
	memory bool // something reads memory
}

func (m *compiler) fail() compiled {
	m.failed = true
	return func(*env) fact { return fact{} }
}

func (m *compiler) compile(x check.Expr) compiled {
	switch x := x.(type) {
	case *check.Const:
		if !x.IsFloat {
			n := numberOf(x.Int)
			return func(*env) fact { return n }
		}
	case *check.Null:
		return func(*env) fact { return fact{kind: nowhere} }
	case *check.Node, *check.GlobalRef:
		return m.object(x)
	case *check.Load:
		return m.load(x)
	case *check.Degree:
		return m.degree(x)
	case *check.Unary:
		return m.unary(x)
	case *check.Binary:
		return m.binary(x)
	case *check.Cond:
		c, a, b := m.compile(x.C), m.compile(x.X), m.compile(x.Y)
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
	return m.fail()
}

// object is a node that is bound, or one in static memory.
func (m *compiler) object(x check.Expr) compiled {
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
	return m.fail()
}

// load reads a pointer or an integer at a constant offset of an object.
func (m *compiler) load(x *check.Load) compiled {
	p := &x.Place
	if len(p.Steps) > 0 || p.Cell != nil {
		return m.fail()
	}
	base := m.base(p.Base)
	off := uint64(p.Offset)
	if isPointer(x) {
		if x.Coded != coded.Plain {
			return m.fail()
		}
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
	m.memory = true
	return func(e *env) fact {
		b := base(e)
		if b.kind < leading {
			return fact{}
		}
		return factOf(e.scalar(trace.Addr(b.bits+off), x.Type, x.BitOffset, x.BitSize, x))
	}
}

// base is what a place hangs off: a node, or a pointer to one of the type that is expected.
func (m *compiler) base(x check.Expr) compiled {
	switch x.(type) {
	case *check.Node, *check.GlobalRef:
		return m.object(x)
	case *check.Load:
	default:
		return m.fail()
	}
	p, want := m.compile(x), pointee(x)
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

// degree is the number of edges into a node.
func (m *compiler) degree(x *check.Degree) compiled {
	if _, ok := x.Base.(*check.Node); !ok || !x.In || x.Fields != nil {
		return m.fail()
	}
	base := m.object(x.Base)
	return func(e *env) fact {
		n, known := e.g.Edges(base(e).obj, e.t)
		if !known {
			return fact{}
		}
		return numberOf(n)
	}
}

func (m *compiler) unary(x *check.Unary) compiled {
	if x.Op != "not" {
		return m.fail()
	}
	c := m.compile(x.X)
	return func(e *env) fact {
		t := c(e).tri()
		if t == unknown {
			return fact{}
		}
		return truthOf(t == no)
	}
}

func (m *compiler) binary(x *check.Binary) compiled {
	a, b := m.compile(x.X), m.compile(x.Y)
	switch x.Op {
	case "and", "or":
		decides := no
		if x.Op == "or" {
			decides = yes
		}
		return func(e *env) fact {
			switch a(e).tri() {
			case decides:
				return truthOf(decides == yes)
			case unknown:
				return fact{}
			}
			t := b(e).tri()
			if t == unknown {
				return fact{}
			}
			return truthOf(t == yes)
		}
	case "==", "!=":
		wanted := x.Op == "=="
		return func(e *env) fact {
			p, q := a(e), b(e)
			switch equal(p, q, x.Alike) {
			case yes:
				return truthOf(wanted)
			case no:
				return truthOf(!wanted)
			}
			return fact{}
		}
	case "<", "<=", ">", ">=":
		return m.numbers(a, b, func(p, q value) fact {
			return truthOf(holds(x.Op, compareNumbers(p, q, x.Unsigned)))
		})
	case "min", "max":
		return m.fail()
	}
	return m.numbers(a, b, func(p, q value) fact {
		return factOf(arithmetic(x.Op, p, q, x.Unsigned, x))
	})
}

// numbers is f of two numbers.
func (m *compiler) numbers(a, b compiled, f func(p, q value) fact) compiled {
	return func(e *env) fact {
		p, q := a(e), b(e)
		if p.kind != numeric || q.kind != numeric {
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

// tie returns the pointer to which the variable in a slot is equal wherever the guard holds, if that is
// known when those before it are; nil if there is none.
func (m *compiler) tie(guard check.Expr, slot int) compiled {
	x, ok := guard.(*check.Binary)
	if !ok {
		return nil
	}
	switch x.Op {
	case "and":
		if t := m.tie(x.X, slot); t != nil {
			return t
		}
		return m.tie(x.Y, slot)
	case "==":
		for _, s := range [2][2]check.Expr{{x.X, x.Y}, {x.Y, x.X}} {
			p, load := s[1].(*check.Load)
			if load && isVar(s[0], slot) && isPointer(p) && usesOf(p).vars>>slot == 0 {
				return m.compile(p)
			}
		}
	}
	return nil
}

// sure reports whether facts may be asked for: of the present, and with nothing noted of how they are known.
func (e *env) sure(k *info) bool {
	return k.surely != nil && e.rec == nil && e.changed == nil && e.t == e.g.Now()
}

// healthy reports whether the constraint surely has nothing against the binding of the current frame.
func (e *env) healthy(k *info) bool {
	s := k.surely
	if s.guard != nil {
		switch s.guard(e).tri() {
		case unknown:
			return false
		case no:
			return true
		}
	}
	e.c.held[k.Index] = true
	return s.body(e).tri() == yes
}

// healthyFrom is healthy for all bindings that begin with that of the first variable.
func (e *env) healthyFrom(k *info) bool {
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
