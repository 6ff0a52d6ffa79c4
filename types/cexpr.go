package types

// constant reads a constant expression, in 64-bit arithmetic.
func (p *parser) constant(what string) int64 {
	if k := p.tok(); k.kind == tokPunct && (k.text == "]" || k.text == ")" || k.text == ";" || k.text == ",") || k.kind == tokEOF {
		p.unexpected(what)
		return 0
	}
	return p.conditional()
}

func (p *parser) conditional() int64 {
	if !p.enter() {
		return 0
	}
	defer p.leave()
	c := p.binary(0)
	if !p.accept("?") {
		return c
	}
	x := p.conditional()
	p.expect(":", " after `?`")
	if p.failed {
		return 0
	}
	y := p.conditional()
	if c != 0 {
		return x
	}
	return y
}

// levels are C's binary operators, loosest first.
var levels = [][]string{{"||"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "!="}, {"<", "<=", ">", ">="}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}}

func (p *parser) binary(level int) int64 {
	if level == len(levels) {
		return p.unary()
	}
	x := p.binary(level + 1)
	for !p.failed {
		op := p.tok()
		if !p.acceptAny(levels[level]) {
			return x
		}
		x = p.apply(op, x, p.binary(level+1))
	}
	return 0
}

func (p *parser) acceptAny(ops []string) bool {
	for _, op := range ops {
		if p.accept(op) {
			return true
		}
	}
	return false
}

func (p *parser) apply(op token, x, y int64) int64 {
	switch op.text {
	case "||":
		return truth(x != 0 || y != 0)
	case "&&":
		return truth(x != 0 && y != 0)
	case "|":
		return x | y
	case "^":
		return x ^ y
	case "&":
		return x & y
	case "==":
		return truth(x == y)
	case "!=":
		return truth(x != y)
	case "<":
		return truth(x < y)
	case "<=":
		return truth(x <= y)
	case ">":
		return truth(x > y)
	case ">=":
		return truth(x >= y)
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "<<", ">>":
		return p.shift(op, x, y)
	}
	if y == 0 {
		if !p.failed {
			p.fail(op.pos, "division by zero")
		}
		return 0
	}
	if y == -1 { // the one overflow of division
		if op.text == "%" {
			return 0
		}
		return -x
	}
	if op.text == "%" {
		return x % y
	}
	return x / y
}

func (p *parser) shift(op token, x, y int64) int64 {
	if y < 0 || y > 63 {
		p.fail(op.pos, "a shift by %d", y)
		return 0
	}
	if op.text == "<<" {
		return x << y
	}
	return x >> y
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (p *parser) unary() int64 {
	if !p.enter() {
		return 0
	}
	defer p.leave()
	switch t := p.tok(); {
	case p.accept("-"):
		return -p.unary()
	case p.accept("+"):
		return p.unary()
	case p.accept("~"):
		return ^p.unary()
	case p.accept("!"):
		return truth(p.unary() == 0)
	case t.text == "sizeof" || t.text == "_Alignof" || t.text == "alignof" || t.text == "__alignof__":
		return p.sizeof()
	case p.is("(") && p.startsType(p.peek(1)):
		return p.cast()
	case p.accept("("):
		v := p.conditional()
		p.expect(")", " after the expression")
		return v
	case t.kind == tokNumber:
		p.next()
		return t.value
	case t.kind == tokIdent:
		return p.named()
	}
	p.unexpected("a constant")
	return 0
}

// named reads an enumerator or a constant that the Universe knows.
func (p *parser) named() int64 {
	t := p.next()
	if v, ok := p.consts[t.text]; ok {
		return v
	}
	if p.universe != nil {
		if v, ok := p.universe.Const(t.text); ok {
			return v
		}
	}
	msg := "`" + t.text + "` is not a known constant"
	var names []string
	for name := range p.consts {
		names = append(names, name)
	}
	if near := nearest(t.text, sorted(names)); near != "" {
		msg += "; did you mean `" + near + "`?"
	}
	p.fail(t.pos, "%s", msg)
	return 0
}

func (p *parser) sizeof() int64 {
	t := p.next()
	p.expect("(", " after `"+t.text+"`")
	if p.failed {
		return 0
	}
	pos := p.tok().pos
	u := p.abstractType()
	p.expect(")", " after the type")
	switch {
	case p.failed:
		return 0
	case u.t.Size < 0:
		p.fail(pos, "the size of %s is not known", u.t)
		return 0
	case t.text == "sizeof":
		return u.t.Size
	}
	return u.t.Alignment()
}

// cast converts to an integer type.
func (p *parser) cast() int64 {
	p.next()
	pos := p.tok().pos
	u := p.abstractType()
	p.expect(")", " after the type")
	v := p.unary()
	if p.failed {
		return 0
	}
	switch shift := 64 - uint(u.t.Size)*8; u.t.Kind {
	case Int, Uint, Enum:
		if shift >= 64 { // 128 bits hold every value
			return v
		}
		if u.t.Signed || u.t.Kind == Int {
			return v << shift >> shift
		}
		return int64(uint64(v) << shift >> shift)
	case Bool:
		return truth(v != 0)
	}
	p.fail(pos, "a constant cannot be converted to %s", u.t)
	return 0
}
