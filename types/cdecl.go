package types

import "strings"

// specifiers is what stands before the declarators: "const struct node {…}".
type specifiers struct {
	use     use
	typedef bool
	body    bool // the type is defined right here
	attrs   attributes
}

// attributes are what __attribute__ and _Alignas ask for.
type attributes struct {
	packed bool
	align  int64 // 0: none
}

func (a *attributes) add(b attributes) {
	a.packed = a.packed || b.packed
	a.align = max(a.align, b.align)
}

// ignored are the specifiers and qualifiers that change no layout.
var ignored = map[string]bool{"const": true, "volatile": true, "restrict": true, "__restrict": true, "__restrict__": true,
	"extern": true, "static": true, "register": true, "inline": true, "__inline": true, "__inline__": true, "_Atomic": true,
	"__const": true, "__volatile__": true, "__extension__": true, "_Thread_local": true, "__thread": true, "mutable": true}

// keywords are other words that cannot be names.
var keywords = map[string]bool{"struct": true, "union": true, "enum": true, "typedef": true, "sizeof": true, "const": true,
	"volatile": true, "static": true, "extern": true, "return": true, "if": true, "for": true, "while": true}

// specifiers reads declaration specifiers up to the first declarator.
func (p *parser) specifiers() specifiers {
	var s specifiers
	var words []string // of a type such as "unsigned long int"
	start := p.tok()
	for !p.failed {
		t := p.tok()
		if p.attributes(&s.attrs) {
			continue
		}
		if t.kind != tokIdent {
			break
		}
		switch {
		case t.text == "typedef":
			s.typedef = true
			p.next()
		case ignored[t.text]:
			p.next()
		case basicWords[t.text] && s.use.t == nil:
			words = append(words, t.text)
			p.next()
		case s.use.t != nil || words != nil:
			return p.finish(s, words, start)
		case t.text == "struct" || t.text == "union" || t.text == "class":
			s.use.t, s.body = p.aggregate()
		case t.text == "enum":
			s.use.t, s.body = p.enum()
		default:
			s.use = p.typeName()
		}
	}
	return p.finish(s, words, start)
}

func (p *parser) finish(s specifiers, words []string, start token) specifiers {
	if p.failed {
		return s
	}
	if words != nil {
		s.use.t = p.basicType(words, start)
	}
	if s.use.t == nil {
		p.unexpected("a type")
	}
	return s
}

// typeName reads the name of a typedef or, as C++ allows, of a tag.
func (p *parser) typeName() use {
	t := p.next()
	if u, ok := p.typedefs[t.text]; ok {
		return u
	}
	if tag := p.tags[t.text]; tag != nil {
		return use{t: tag}
	}
	if b := p.standard(t.text); b != nil {
		return use{t: b}
	}
	if known := p.known(t.text); known != nil {
		return use{t: known}
	}
	msg := "unknown type `" + t.text + "`"
	if near := nearest(t.text, p.typeNames()); near != "" {
		msg += "; did you mean `" + near + "`?"
	}
	p.fail(t.pos, "%s", msg)
	return use{}
}

// typeNames lists what typeName knows.
func (p *parser) typeNames() []string {
	var names []string
	for name := range p.typedefs {
		names = append(names, name)
	}
	for name := range p.tags {
		names = append(names, name)
	}
	for name := range standardTypes {
		names = append(names, name)
	}
	for name := range basicWords {
		names = append(names, name)
	}
	return sorted(names)
}

// attributes reads one attribute or alignment specifier; false if there is none.
func (p *parser) attributes(a *attributes) bool {
	switch t := p.tok(); t.text {
	case "__attribute__", "__attribute":
		p.next()
		p.expect("(", " after `__attribute__`")
		p.expect("(", " after `__attribute__(`")
		for !p.failed && !p.is(")") {
			p.attribute(a)
			if !p.accept(",") {
				break
			}
		}
		p.expect(")", " after the attribute")
		p.expect(")", " after the attribute")
	case "_Alignas", "alignas":
		p.next()
		p.expect("(", " after `"+t.text+"`")
		n := int64(0)
		if p.startsType(p.tok()) {
			if u := p.abstractType(); !p.failed {
				n = u.t.Alignment()
			}
		} else {
			n = p.constant("an alignment")
		}
		p.expect(")", " after the alignment")
		p.setAlign(a, t.pos, n)
	case "__packed":
		p.next()
		a.packed = true
	default:
		return false
	}
	return true
}

// attribute reads one name of an attribute list, with its arguments.
func (p *parser) attribute(a *attributes) {
	if p.is(",") {
		return
	}
	t := p.next()
	if t.kind != tokIdent {
		p.i = max(p.i-1, 0)
		p.unexpected("the name of an attribute")
		return
	}
	switch strings.Trim(t.text, "_") {
	case "packed":
		a.packed = true
	case "aligned":
		n := int64(16) // the largest alignment of the target
		if p.accept("(") {
			n = p.constant("an alignment")
			p.expect(")", " after the alignment")
		}
		p.setAlign(a, t.pos, n)
	case "vector_size", "mode", "ms_struct", "scalar_storage_order":
		p.fail(t.pos, "the attribute `%s` is not supported here", t.text)
	default:
		if p.is("(") {
			p.skipParens()
		}
	}
}

func (p *parser) setAlign(a *attributes, pos int, n int64) {
	switch {
	case p.failed || n == 0:
	case n < 0 || n&(n-1) != 0 || n > 1<<28:
		p.fail(pos, "an alignment is a power of two up to 2^28, not %d", n)
	default:
		a.align = max(a.align, n)
	}
}

// skipParens passes over "( … )".
func (p *parser) skipParens() {
	open := p.next()
	for depth := 1; depth > 0; {
		t := p.next()
		switch {
		case t.kind == tokEOF:
			p.fail(open.pos, "this `(` is never closed")
			return
		case t.kind == tokPunct && t.text == "(":
			depth++
		case t.kind == tokPunct && t.text == ")":
			depth--
		}
	}
}

// declarator is a declared name and what it makes of the type before it.
type declarator struct {
	name  string
	pos   int // of the name, or where it would stand
	apply func(*Type) *Type
	attrs attributes
}

// declarator reads pointers, a name or parentheses, then arrays and parameters.
// The name may be missing.
func (p *parser) declarator() declarator {
	d := declarator{pos: p.tok().pos, apply: func(t *Type) *Type { return t }}
	if !p.enter() {
		return d
	}
	defer p.leave()
	pointers := p.pointers(&d.attrs)
	inner := d.apply
	d.pos = p.tok().pos
	switch {
	case p.is("(") && p.nested():
		p.next()
		in := p.declarator()
		p.expect(")", " after the declarator")
		inner = in.apply
		d.name, d.pos = in.name, in.pos
		d.attrs.add(in.attrs)
	case p.tok().kind == tokIdent && p.tok().text != "__attribute__":
		if keywords[p.tok().text] || basicWords[p.tok().text] {
			p.unexpected("a name")
		}
		d.name = p.next().text
	}
	suffixes := p.suffixes()
	for p.attributes(&d.attrs) {
	}
	d.apply = func(t *Type) *Type {
		for range pointers {
			t = p.pointerTo(t)
		}
		for i := len(suffixes) - 1; i >= 0; i-- {
			t = suffixes[i](t)
		}
		return inner(t)
	}
	return d
}

// nested tells "(*f)" from the parameters of a function without a name.
func (p *parser) nested() bool {
	t := p.peek(1)
	return t.kind == tokPunct && (t.text == "*" || t.text == "(" || t.text == "[") ||
		t.kind == tokIdent && (t.text == "__attribute__" || !p.startsType(t))
}

func (p *parser) pointers(a *attributes) int {
	n := 0
	for !p.failed {
		switch t := p.tok(); {
		case p.is("*") || p.is("&"):
			n++
			p.next()
			if n > maxDepth {
				p.fail(t.pos, "nested too deeply")
			}
		case t.kind == tokIdent && ignored[t.text]:
			p.next()
		case p.attributes(a):
		default:
			return n
		}
	}
	return n
}

// suffixes reads "[n]" and "(parameters)".
func (p *parser) suffixes() []func(*Type) *Type {
	var out []func(*Type) *Type
	for !p.failed {
		switch pos := p.tok().pos; {
		case p.is("("):
			p.skipParens()
			out = append(out, func(t *Type) *Type { return &Type{Kind: Func, Size: -1, Elem: t} })
		case p.accept("["):
			for p.tok().kind == tokIdent && ignored[p.tok().text] {
				p.next()
			}
			n := int64(-1)
			if !p.is("]") {
				n = p.constant("the number of elements")
				if n < 0 {
					p.fail(pos, "an array cannot have %d elements", n)
				}
			}
			p.expect("]", " after the number of elements")
			out = append(out, func(t *Type) *Type { return p.arrayOf(pos, t, n) })
			if len(out) > maxDepth {
				p.fail(pos, "nested too deeply")
			}
		default:
			return out
		}
	}
	return out
}

func (p *parser) pointerTo(t *Type) *Type {
	pointer := &Type{Kind: Pointer, Size: 8, Elem: t}
	if t != nil && t.Kind == Opaque {
		p.opaque[t] = append(p.opaque[t], pointer)
	}
	return pointer
}

func (p *parser) arrayOf(pos int, elem *Type, n int64) *Type {
	if p.failed || elem == nil {
		return nil
	}
	if elem = p.complete(elem); elem.Size < 0 || elem.Kind == Void || elem.Kind == Array && elem.Count < 0 {
		p.fail(pos, "an array of %s, whose size is not known", elem)
		return nil
	}
	if elem.Size > 0 && n > maxObject/elem.Size {
		p.fail(pos, "an array of %d elements is too large", n)
		return nil
	}
	return &Type{Kind: Array, Elem: elem, Count: n, Size: max(n, 0) * elem.Size}
}

// complete returns the definition of a type that the text only names, where
// the Universe has one.
func (p *parser) complete(t *Type) *Type {
	if t.Kind == Opaque {
		if found := p.known(t.Name); found != nil {
			return found
		}
	}
	return t
}

// abstractType reads a type without a name, as in sizeof(type).
func (p *parser) abstractType() use {
	s := p.specifiers()
	if p.failed {
		return use{}
	}
	d := p.declarator()
	if d.name != "" {
		p.fail(d.pos, "a type has no name here: `%s`", d.name)
	}
	if p.failed {
		return use{}
	}
	t := d.apply(s.use.t)
	if p.failed || t == nil {
		return use{}
	}
	return use{t: p.complete(t)}
}

// startsType reports whether a type begins with this token.
func (p *parser) startsType(t token) bool {
	if t.kind != tokIdent {
		return false
	}
	switch t.text {
	case "struct", "union", "enum", "class":
		return true
	}
	_, isTypedef := p.typedefs[t.text]
	return isTypedef || ignored[t.text] || basicWords[t.text] || p.tags[t.text] != nil || standardTypes[t.text].size != 0
}
