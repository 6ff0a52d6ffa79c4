package syntax

import (
	"math"
	"strconv"
	"strings"
)

// The levels of precedence, loosest first (language.md, "The thesis's grammar").
const (
	precOr = iota + 1
	precAnd
	precNot
	precCompare // relations too; not chained
	precBitOr
	precBitAnd
	precShift
	precSum
	precProduct
	precUnary
	precPostfix
)

// binaryPrec returns the level of a binary operator, 0 if it is none.
func binaryPrec(t token) int {
	if t.kind == tokIdent {
		switch t.text {
		case "or":
			return precOr
		case "and":
			return precAnd
		}
		return 0
	}
	if t.kind != tokPunct {
		return 0
	}
	switch t.text {
	case "==", "!=", "<=", ">=", "<", ">", "->", "!->", "->>", "!->>":
		return precCompare
	case "|":
		return precBitOr
	case "&":
		return precBitAnd
	case "<<", ">>":
		return precShift
	case "+", "-":
		return precSum
	case "*", "/", "%":
		return precProduct
	}
	return 0
}

// expr reads "or-expression [? expr : expr]".
func (p *parser) expr() Expr {
	p.enter()
	defer p.leave()
	c := p.binary(precOr)
	if !p.tok().is("?") {
		return c
	}
	x := p.between()
	return &Cond{At{c.Where()}, c, x, p.expr()}
}

// between reads "? x :", which encloses x like parentheses.
func (p *parser) between() Expr {
	p.next()
	defer p.open(false)()
	x := p.expr()
	p.expect(":", "between the two values of `? :`")
	return x
}

func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.tok().pos, "this expression is nested too deeply (more than %d levels)", maxDepth)
	}
}

func (p *parser) leave() { p.depth-- }

// open begins a parenthesis, bracket or bar; the result ends it.
func (p *parser) open(bar bool) func() {
	old := p.inBar
	p.inBar = bar
	p.nest++
	return func() { p.inBar = old; p.nest-- }
}

// binary reads operators of level min and tighter, left-associative.
func (p *parser) binary(min int) Expr {
	if min <= precNot && p.tok().word("not") {
		p.enter()
		t := p.next()
		x := p.binary(precNot)
		p.leave()
		return p.more(&Unary{At{t.pos}, "not", x}, min)
	}
	return p.more(p.unary(), min)
}

func (p *parser) more(x Expr, min int) Expr {
	for n := 0; ; n++ {
		t := p.operator()
		prec := binaryPrec(t)
		if prec == 0 || prec < min {
			return x
		}
		if p.equivalence() {
			p.fail(t.pos, "there is no `<=>`: write two constraints with `=>`, one each way")
		}
		if n == maxChain {
			p.fail(t.pos, "this expression is too long (more than %d operators in a row)", maxChain)
		}
		if isRelation(t) {
			x = p.relation(x)
		} else {
			p.next()
			x = &Binary{At{x.Where()}, t.text, t.pos, x, p.operand(prec)}
		}
		if after := p.tok(); prec == precCompare && binaryPrec(after) == precCompare && !p.equivalence() {
			if r, ok := x.(*Relation); ok && t.is("->") && r.Fields == nil {
				p.fail(t.pos, "`->` is the relation \"has an edge to\"; a field is selected by a dot, through a pointer too: %s.%s",
					ExprString(r.X), ExprString(r.Y))
			}
			if _, ok := x.(*Relation); !ok && after.is("->") {
				p.fail(after.pos, "`->` is the relation \"has an edge to\": if what stands before it is a condition for what follows, write `=>`")
			}
			p.fail(after.pos, "comparisons and relations cannot be chained: join two of them with `and`")
		}
	}
}

// equivalence: `<=>` stands here, which other languages have.
func (p *parser) equivalence() bool { return p.tok().is("<=") && p.peek(1).is(">") }

// operand reads the right side of an operator of level prec.
func (p *parser) operand(prec int) Expr {
	p.enter()
	defer p.leave()
	return p.binary(prec + 1)
}

// operator returns the token in operator position. A bar that closes |…| is no
// operator; inside parentheses "||" is a bar and the opening of another.
func (p *parser) operator() token {
	t := p.tok()
	if p.inBar && (t.is("|") || t.is("||")) {
		return token{}
	}
	if t.is("||") && p.nest > 0 {
		p.splitBars()
		return p.tok()
	}
	return t
}

// splitBars makes the current "||" two bars: next gives the second after the first.
func (p *parser) splitBars() {
	p.toks[p.i].text = "|"
	p.split = p.toks[p.i].pos
}

func isRelation(t token) bool {
	return t.kind == tokPunct && (t.text == "->" || t.text == "!->" || t.text == "->>" || t.text == "!->>")
}

// relation reads the arrow, its field list and the right side.
func (p *parser) relation(x Expr) Expr {
	t := p.next()
	r := &Relation{At: At{x.Where()}, OpPos: t.pos, X: x, Path: strings.HasSuffix(t.text, ">>"), Not: t.text[0] == '!'}
	if p.fieldListAhead() {
		r.Fields = p.fieldList()
	}
	r.Y = p.operand(precCompare)
	return r
}

// fieldListAhead: "(a, b.c)" and then the beginning of an operand. Without the
// operand the parentheses are the operand itself, as in X -> (Y).
func (p *parser) fieldListAhead() bool {
	if !p.tok().is("(") {
		return false
	}
	n := 1
	for ; ; n++ {
		t := p.peek(n)
		if t.is(")") {
			break
		}
		if k := p.scope(n); k > n {
			n = k - 1
			continue
		}
		if t.kind != tokIdent && !t.is(".") && !t.is(",") {
			return false
		}
	}
	t := p.peek(n + 1)
	return t.is("(") || t.is("::") || t.kind == tokIdent && !reservedOperator(t.text)
}

func reservedOperator(w string) bool { return w == "and" || w == "or" }

func (p *parser) fieldList() []Path {
	p.expect("(", "")
	list := []Path{p.path()}
	for p.accept(",") {
		list = append(list, p.path())
	}
	p.expect(")", "after the names of the fields")
	return list
}

// path reads a C field name such as link.next.
func (p *parser) path() Path {
	name := p.fieldName("the name of a field")
	for p.tok().is(".") && p.peek(1).kind == tokIdent {
		p.next()
		name.Name += "." + p.fieldName("the name of a field").Name
	}
	return name
}

// fieldName reads the name of a field. That of a C++ base class in front, with its template arguments, says which is meant of two:
// Hook<Job, 1>::next.
func (p *parser) fieldName(what string) Path {
	t := p.tok()
	if t.kind != tokIdent {
		p.unexpected(what)
	}
	last := p.next()
	for n := p.scope(0); n > 0; n = p.scope(0) {
		for range n {
			last = p.next()
		}
	}
	return Path{At{t.pos}, strings.Join(strings.Fields(p.src.text[t.lo:last.hi]), " ")}
}

// scope is how many tokens from the n-th on qualify a name: template arguments, if there are any, "::" and a name; 0: none do.
func (p *parser) scope(n int) int {
	if p.peek(n).is("<") {
		n = p.angled(n)
	}
	if n >= 0 && p.peek(n).is("::") && p.peek(n+1).kind == tokIdent {
		return n + 2
	}
	return 0
}

// angled is the token behind those in angle brackets that begin at the n-th; -1: they are none.
func (p *parser) angled(n int) int {
	for open := 0; ; n++ {
		switch t := p.peek(n); {
		case t.is("<"):
			open++
		case t.is(">"):
			open--
		case t.is(">>"):
			open -= 2
		case t.kind == tokIdent && !reservedOperator(t.text), t.kind == tokNumber, t.is(","), t.is("::"), t.is("*"), t.is("&"), t.is("("), t.is(")"), t.is("-"):
		default:
			return -1
		}
		if open <= 0 {
			return n + 1
		}
	}
}

func (p *parser) unary() Expr {
	t := p.tok()
	if t.is("-") || t.is("~") {
		p.enter()
		defer p.leave()
		p.next()
		return &Unary{At{t.pos}, t.text, p.unary()}
	}
	return p.postfix(p.primary())
}

func (p *parser) postfix(x Expr) Expr {
	for n := 0; ; n++ {
		if n > maxDepth {
			p.fail(p.tok().pos, "this expression is nested too deeply (more than %d levels)", maxDepth)
		}
		switch {
		case p.tok().is("["):
			x = p.index(x, false)
		case p.tok().is(".") && p.peek(1).is("["):
			p.next()
			x = p.index(x, true)
		case p.tok().is("."):
			p.next()
			name := p.fieldName("the name of a field or attribute")
			s := &Select{At: At{x.Where()}, X: x, Name: name.Name, NamePos: name.Pos}
			if p.tok().is("(") {
				if p.peek(1).is(")") {
					p.fail(p.tok().pos, "functions of the program are not called here; how many elements a container has is its COUNT: X.kids.COUNT")
				}
				s.Fields = p.fieldList()
			}
			x = s
		default:
			return x
		}
	}
}

func (p *parser) index(x Expr, dot bool) Expr {
	p.next()
	defer p.open(false)()
	i := p.expr()
	p.expect("]", "after the index")
	return &Index{At{x.Where()}, x, i, dot}
}

func (p *parser) primary() Expr {
	t := p.tok()
	switch t.kind {
	case tokNumber:
		return p.number()
	case tokIdent:
		return p.word()
	}
	switch {
	case t.is("("):
		return p.paren()
	case t.is("||"):
		p.splitBars()
		return p.abs()
	case t.is("|"):
		return p.abs()
	case t.is("::"):
		return p.globalName()
	}
	p.unexpected(aValue)
	return nil
}

func (p *parser) paren() Expr {
	t := p.next()
	defer p.open(false)()
	x := p.expr()
	if t := p.tok(); t.is("=>") {
		p.fail(t.pos, "`=>` does not stand inside of parentheses: write `not (a) or b` for `a => b`, or a constraint for each")
	}
	p.expect(")", "to close the parenthesis")
	return &Paren{At{t.pos}, x}
}

func (p *parser) abs() Expr {
	t := p.next()
	defer p.open(true)()
	x := p.expr()
	if p.tok().is("||") {
		p.splitBars()
	}
	if before := (Pos{File: t.pos.File, Line: t.pos.Line, Col: t.pos.Col - 1}); !p.tok().is("|") && before == p.split {
		p.fail(before, "write `or` for `||`")
	}
	p.expect("|", "to close the absolute value")
	return &Abs{At{t.pos}, x}
}

func (p *parser) globalName() Expr {
	t := p.next()
	name := p.ident("the name of an object in static memory").Name
	for p.tok().is("::") {
		p.next()
		name += "::" + p.ident("a name").Name
	}
	return &GlobalName{At{t.pos}, name}
}

func (p *parser) number() Expr {
	t := p.next()
	n := &Number{At: At{t.pos}, Text: t.text}
	if i, err := strconv.ParseInt(t.text, 0, 64); err == nil {
		n.Int = i
		return n
	}
	if u, err := strconv.ParseUint(t.text, 0, 64); err == nil {
		n.Int = int64(u)
		return n
	}
	f, err := strconv.ParseFloat(t.text, 64)
	if err != nil || math.IsInf(f, 0) || !strings.ContainsAny(t.text, ".eE") {
		p.fail(t.pos, "`%s` is no number that fits into 64 bits", t.text)
	}
	n.Float, n.IsFloat = f, true
	return n
}

// word reads what begins with an identifier.
func (p *parser) word() Expr {
	t := p.tok()
	at := At{t.pos}
	if lit, ok := literal(t.text); ok {
		p.next()
		if lit == "null" {
			return &Null{at}
		}
		return &Bool{at, lit == "true"}
	}
	if t.text == "return" {
		p.next()
		return &Return{at}
	}
	if p.peek(1).is("(") {
		switch t.text {
		case "COUNT":
			return p.count()
		case "SUM":
			return p.sum()
		case "MIN", "MAX":
			return p.minMax()
		}
		p.fail(t.pos, "`%s` is no function of the language: there are COUNT, SUM, MIN and MAX%s", t.text, instead(t.text))
	}
	if reserved(t.text) {
		p.unexpected(aValue)
	}
	p.next()
	return &Name{at, t.text}
}

func (p *parser) count() Expr {
	c := &Count{At: At{p.next().pos}}
	p.next()
	defer p.open(false)()
	c.Type = p.ident("a type")
	if p.tok().kind == tokIdent {
		c.Var = p.ident("the name of a variable")
		p.expect(":", "after the variable of COUNT")
		c.Guard = p.expr()
	}
	p.expect(")", "to close COUNT")
	return c
}

func (p *parser) sum() Expr {
	at := At{p.next().pos}
	p.next()
	defer p.open(false)()
	s := &Sum{At: at}
	if over := p.ident("the name of an index, or a type"); p.tok().kind == tokIdent && p.tok().text != "in" {
		s.Type, s.Var = over, p.ident("the name of a variable")
		p.expect(":", "after the variable of SUM")
	} else {
		s.Loop = p.ranged(at, over)
		p.expect(":", "after the range of SUM")
	}
	s.Elem = p.expr()
	p.expect(")", "to close SUM")
	return s
}

func (p *parser) minMax() Expr {
	t := p.next()
	p.next()
	defer p.open(false)()
	m := &MinMax{At: At{t.pos}, Max: t.text == "MAX", Args: []Expr{p.expr()}}
	p.expect(",", "between the values of "+t.text)
	m.Args = append(m.Args, p.expr())
	for p.accept(",") {
		m.Args = append(m.Args, p.expr())
	}
	p.expect(")", "to close "+t.text)
	return m
}

// instead says what to write for a function that the language does not have.
func instead(name string) string {
	switch name {
	case "abs", "labs", "fabs":
		return "; the absolute value of x is |x|"
	case "if":
		return "; the condition stands before `=>`: guard => body;"
	case "sizeof":
		return "; the bytes that a node X has are X.SIZE"
	}
	return didYouMean(name, []string{"COUNT", "SUM", "MIN", "MAX"})
}
