package syntax

import (
	"fmt"
	"strconv"
)

// countedType reads "f FIELD n EDGE n (list);".
func (p *parser) countedType() {
	t := &TypeDecl{At: At{p.tok().pos}, Name: p.typeName()}
	p.counts(t)
	p.edgeList(t)
	p.end("the type")
	p.add(t)
}

// typeDecl reads "type f [= "…"] [FIELD n EDGE n] [edges (list)];".
// Several types may be declared at once, as several functions may be C-points: type a, b;
func (p *parser) typeDecl() {
	t := &TypeDecl{At: At{p.next().pos}, Keyword: true}
	t.Name = p.typeName()
	for p.accept(",") {
		p.add(t)
		t = &TypeDecl{At: At{p.tok().pos}, Keyword: true}
		t.Name = p.typeName()
	}
	if p.accept("=") {
		if p.tok().kind != tokString {
			p.unexpected(`the name of the C or C++ type in quotes, such as "std::_Rb_tree_node<int>",`)
		}
		t.SrcPos = p.tok().pos
		t.Source = p.next().text
	}
	if p.tok().word("FIELD") {
		p.counts(t)
	}
	if p.tok().is("*") {
		p.fail(p.tok().pos, "nodes are of the type itself, not pointers to it: type %s;", t.Name)
	}
	p.edgeList(t)
	p.end("the type")
	p.add(t)
}

// typeName reads the name that a type is declared with. A statement that began with it would be read as
// what the word stands for.
func (p *parser) typeName() string {
	if t := p.tok(); t.kind == tokString {
		p.fail(t.pos, "the specification needs a name for this type: type node = %q;", t.text)
	}
	name := p.ident("the name of a type")
	if Begins(name.Name) {
		p.fail(name.Pos, "`%[1]s` begins statements of another kind: give the type another name, as in: type %[1]s_node = \"%[1]s\";", name.Name)
	}
	return name.Name
}

func (p *parser) counts(t *TypeDecl) {
	p.expectWord("FIELD", "after the name of the type")
	t.Counts = true
	t.Fields = p.count64("the number of fields")
	p.expectWord("EDGE", "after the number of fields")
	t.Edges = p.count64("the number of pointer fields")
}

func (p *parser) edgeList(t *TypeDecl) {
	if p.acceptWord("edges") || p.tok().is("(") {
		t.List = p.fieldList()
	}
}

// count64 reads a whole number that is not negative.
func (p *parser) count64(what string) int64 {
	if p.tok().kind != tokNumber {
		p.unexpected(what)
	}
	t := p.tok()
	n, err := strconv.ParseInt(t.text, 0, 64)
	if err != nil {
		p.fail(t.pos, "%s is a whole number, `%s` is none", what, t.text)
	}
	p.next()
	return n
}

// arrayType reads "ARRAY f [OF c-type];".
func (p *parser) arrayType() {
	t := &TypeDecl{At: At{p.next().pos}, Array: true}
	t.Name = p.typeName()
	if p.tok().word("OF") {
		p.next()
		t.OfPos = p.tok().pos
		t.Of = p.raw("the type of the elements")
	}
	p.end("the array type")
	p.add(t)
}

// layout takes a C declaration as text.
func (p *parser) layout() {
	first := p.tok()
	if u, v := p.peek(1), p.peek(2); !first.word("typedef") && u.kind == tokIdent && v.kind == tokIdent {
		p.fail(first.pos, "variables are declared without `%s`: %s %s;", first.text, u.text, v.text)
	}
	depth := 0
	for {
		t := p.tok()
		switch {
		case t.kind == tokEOF:
			p.fail(first.pos, "this declaration has no end: `;` is missing")
		case t.is("{"):
			depth++
		case t.is("}"):
			depth--
		}
		if p.next(); t.is(";") && depth <= 0 {
			p.add(&Layout{At{first.pos}, p.src.text[first.lo:t.hi], first.lo, t.hi})
			return
		}
	}
}

// attribute reads "f.h [DEFAULT e];".
func (p *parser) attribute() {
	a := &AttrDecl{At: At{p.tok().pos}, Type: p.ident("a type")}
	p.next()
	a.Name = p.next().text
	if p.acceptWord("DEFAULT") {
		a.Default = p.expr()
	}
	p.end("the attribute")
	p.add(a)
}

func (p *parser) constant() {
	c := &Const{At: At{p.next().pos}}
	c.Name = p.ident("the name of a constant").Name
	p.expect("=", "after the name of the constant")
	c.Value = p.expr()
	p.end("the constant")
	p.add(c)
}

// typeField reads "T.f".
func (p *parser) typeField() (Ident, Path) {
	t := p.ident("a type")
	p.expect(".", "and a field after the type")
	return t, p.path()
}

func (p *parser) tag() {
	t := &Tag{At: At{p.next().pos}}
	t.Type, t.Field = p.typeField()
	if p.accept("^") {
		p.expectWord("ADDRESS", "after `^`")
		p.expect(">>", "and how far the address is shifted after ADDRESS")
		t.Shift = p.expr()
	} else {
		p.expect("&", "and the mask of the tag bits, or `^ ADDRESS >> 12`, after the field")
		t.Mask = p.expr()
	}
	p.end("the tag")
	p.add(t)
}

func (p *parser) nilDecl() {
	n := &Nil{At: At{p.next().pos}}
	if p.tok().is("::") {
		n.Global.Pos = p.tok().pos
		n.Global.Name = p.globalName().(*GlobalName).Name
	} else {
		n.Type, n.Field = p.typeField()
	}
	p.end("the sentinel")
	p.add(n)
}

func (p *parser) global() {
	p.next()
	for {
		pos := p.tok().pos
		p.accept("::")
		file, name := splitFile(p.raw("the name of an object in static memory"))
		p.add(&Global{At{pos}, file, name})
		if !p.accept(",") {
			break
		}
	}
	p.end("the names of objects in static memory")
}

// local reads "local x, y in F;".
func (p *parser) local() {
	p.next()
	var names []Ident
	for {
		names = append(names, p.ident("a variable of a function"))
		if !p.accept(",") {
			break
		}
	}
	p.expectWord("in", "and its function after the variable")
	fn := p.raw("the function that has the variable")
	for _, n := range names {
		p.add(&Local{At{n.Pos}, n.Name, fn})
	}
	p.end("the function")
}

func (p *parser) embed() {
	e := &Embed{At: At{p.next().pos}}
	e.Type = p.ident("the type of the member")
	p.expectWord("in", "and the type that holds it after the type of the member")
	if p.tok().is("::") {
		e.Global = p.globalName().(*GlobalName)
		if p.acceptWord("at") {
			e.Member = p.path()
		}
		p.end("the object")
		p.add(e)
		return
	}
	e.Host = p.ident("the type that holds the member, or an object in static memory, such as ::pool,")
	p.expectWord("at", "and the member after the type that holds it")
	e.Member = p.path()
	p.end("the member")
	p.add(e)
}

// member reads "enter T at F(n|return) [if e];", "leave …", "enter T from ::g.f;" and "enter T from U.f;".
func (p *parser) member() {
	t := p.next()
	m := &Member{At: At{t.pos}, Leave: t.text == "leave"}
	m.Type = p.ident("a type")
	if !m.Leave && p.acceptWord("from") {
		switch {
		case p.tok().is("::"):
			m.From = p.postfix(p.globalName())
		case p.peek(1).is("."):
			m.Of, m.Field = p.typeField()
		default:
			p.unexpected("an object in static memory, or a field of a type, whose pointers lead to nodes, such as ::head or table.slots,")
		}
		p.end("the object or field")
		p.add(m)
		return
	}
	p.expectWord("at", "and a function after the type")
	m.FuncPos = p.tok().pos
	var args string
	m.Func, args = splitCall(p.raw("a function with the argument that is the node, such as insert(2),"))
	if args != "return" {
		m.Arg = p.argumentText(m.FuncPos, args, m.Func)
	}
	if p.acceptWord("if") {
		m.Cond = p.expr()
	}
	p.end("the function")
	p.add(m)
}

// argumentText reads the number in "F(n)".
func (p *parser) argumentText(pos Pos, s, fn string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 6 {
		p.fail(pos, "which argument is it? write its number from 1 to 6 in parentheses, such as %s(1), or %s(return) for the returned pointer", fn, fn)
	}
	return n
}

func (p *parser) root() {
	r := &Root{At: At{p.next().pos}}
	r.Type = p.ident("a type")
	p.expectWord("from", "and an object in static memory, such as ::root, after the type")
	if !p.tok().is("::") {
		p.unexpected("an object in static memory, such as ::root,")
	}
	r.From = p.postfix(p.globalName())
	if p.acceptWord("via") {
		r.Via = append(r.Via, p.path())
		for p.accept(",") {
			r.Via = append(r.Via, p.path())
		}
	}
	p.end("the root")
	p.add(r)
}

func (p *parser) alloc() {
	a := &Alloc{At: At{p.next().pos}}
	a.Type = p.ident("a type")
	p.expectWord("at", "and a source line or a function after the type")
	for {
		a.Sites = append(a.Sites, p.allocSite())
		if !p.accept(",") {
			break
		}
	}
	p.end("the allocation sites")
	p.add(a)
}

func (p *parser) allocSite() AllocSite {
	s := AllocSite{At: At{p.tok().pos}}
	text := p.raw("a source line or a function", "call", "offset")
	if file, line, ok := splitLine(text); ok {
		s.File, s.Line = file, line
	} else {
		s.Func = text
	}
	for {
		switch {
		case p.acceptWord("call"):
			pos := p.tok().pos
			if s.Call = int(p.count64("the number of the call, from 1,")); s.Call < 1 {
				p.fail(pos, "calls are numbered from 1")
			}
		case p.acceptWord("offset"):
			s.Offset = p.count64("the size of the header in bytes")
		default:
			return s
		}
	}
}

// allocator reads "allocator f(size=2, count=1, bytes=48) [frees g(1) [and later]];".
func (p *parser) allocator() {
	a := &Allocator{At: At{p.next().pos}}
	var args string
	pos := p.tok().pos
	a.Func, args = splitCall(p.raw("a function, such as pool_get(size=2),", "frees"))
	p.allocatorArgs(a, pos, args)
	if p.acceptWord("frees") {
		a.FreePos = p.tok().pos
		a.Free, args = splitCall(p.raw("the function that frees, such as pool_put(1),", "and"))
		a.FreeArg = p.argumentText(a.FreePos, args, a.Free)
		if p.acceptWord("and") {
			a.Later = true
			if !p.acceptWord("later") {
				p.unexpected("`later`, of a function that frees what was given out behind it as well,")
			}
		}
	}
	p.end("the allocator")
	p.add(a)
}

func (p *parser) allocatorArgs(a *Allocator, pos Pos, args string) {
	for _, arg := range splitList(args) {
		var n int64
		key, val := splitEqual(arg)
		n, err := strconv.ParseInt(val, 0, 64)
		if err != nil || n < 1 || key != "bytes" && n > 6 {
			p.fail(pos, "`%s`: an allocator says where its size is: size=2 (argument 2), count=1 (argument 1 multiplies it), or bytes=48 (always that many), and old=1 (argument 1 is a block that it resizes)", arg)
		}
		switch key {
		case "size":
			a.Size = int(n)
		case "count":
			a.Count = int(n)
		case "bytes":
			a.Bytes = n
		case "old":
			a.Old = int(n)
		default:
			p.fail(pos, "`%s` is none of size, count, bytes and old%s", key, didYouMean(key, []string{"size", "count", "bytes", "old"}))
		}
	}
	if a.Old > 0 && a.Size == 0 {
		p.fail(pos, "an allocator that resizes a block (old=%d) has an argument with the size: size=N", a.Old)
	}
	if (a.Size == 0) == (a.Bytes == 0) {
		p.fail(pos, "an allocator has either size=N (the argument with the size) or bytes=N (always that many)")
	}
}

func (p *parser) cpoint() {
	c := &CPoint{At: At{p.next().pos}}
	for {
		c.Points = append(c.Points, p.point())
		if !p.accept(",") {
			break
		}
	}
	if p.acceptWord("for") {
		c.For = p.types()
	}
	p.end("the C-points")
	p.add(c)
}

// point reads "f[:entry|:exit|:each…]" or "file:line".
func (p *parser) point() Point {
	pt := Point{At: At{p.tok().pos}}
	text := p.raw("a function or a source line", "for")
	if file, line, ok := splitLine(text); ok {
		pt.File, pt.Line = file, line
		return pt
	}
	for {
		name, suffix, ok := splitSuffix(text)
		if !ok {
			break
		}
		switch suffix {
		case "entry":
			pt.Entry = true
		case "exit":
			pt.Exit = true
		case "each":
			pt.Each = true
		default:
			p.fail(pt.Pos, "`:%s` is none of :entry, :exit, :each and a line number%s", suffix,
				didYouMean(suffix, []string{"entry", "exit", "each"}))
		}
		text = name
	}
	if !pt.Entry && !pt.Exit {
		pt.Entry, pt.Exit = true, true
	}
	pt.Func = text
	return pt
}

func (p *parser) together() {
	t := &Together{At: At{p.next().pos}}
	t.Types = p.types()
	p.end("the types")
	if len(t.Types) < 2 {
		p.report(t.Pos, "`together` joins two or more types")
	}
	p.add(t)
}

func (p *parser) types() []Ident {
	list := []Ident{p.ident("a type")}
	for p.accept(",") {
		list = append(list, p.ident("a type"))
	}
	return list
}

// cells reads "cells T: f[lo..hi] [if e];", or "f[i]" for one element.
func (p *parser) cells() {
	c := &Cells{At: At{p.next().pos}}
	c.Type = p.ident("a type")
	p.expect(":", "after the type")
	c.Field = p.path()
	if p.tok().is("[") {
		p.cellRange(c)
	}
	if p.acceptWord("if") {
		c.Cond = p.expr()
	}
	p.end("the cells")
	if c.Lo == nil && c.Cond == nil {
		p.report(c.Pos, "`cells` says which elements are in use, by a range (child[0..n]), a condition (if leaf == 0), or both")
	}
	p.add(c)
}

func (p *parser) cellRange(c *Cells) {
	p.next()
	defer p.open(false)()
	if c.Lo = p.expr(); p.tok().is("]") { // a single element
		p.next()
		c.Hi = c.Lo
		return
	}
	p.expect("..", "between the two ends of the range")
	c.Hi = p.expr()
	p.expect("]", "after the range")
}

func (p *parser) no() {
	t := p.next()
	if p.tok().word("check") {
		p.checkAt(t.pos, true)
		return
	}
	p.expectWord("cpoint", "or `check` after `no`")
	p.expectWord("end", "after `no cpoint`")
	p.end("`no cpoint end`")
	p.add(&NoEnd{At{t.pos}})
}

func (p *parser) check() { p.checkAt(p.tok().pos, false) }

func (p *parser) checkAt(pos Pos, no bool) {
	p.next()
	c := &Check{At: At{pos}, No: no, What: p.checkKind()}
	if p.acceptWord("for") {
		c.For = p.types()
	}
	p.end("the check")
	p.add(c)
}

func (p *parser) checkKind() string {
	t := p.tok()
	switch {
	case p.acceptWord("bounds"), p.acceptWord("dangling"):
		return t.text
	case p.acceptWord("use"):
		p.accept("-")
		p.expectWord("after", "free after `use`")
		p.accept("-")
		p.expectWord("free", "after `use after`")
		return "use after free"
	case p.acceptWord("double"):
		p.accept("-")
		p.expectWord("free", "after `double`")
		return "double free"
	}
	p.unexpected("one of bounds, use after free, double free and dangling" + didYouMeanToken(t))
	return ""
}

func didYouMeanToken(t token) string {
	if t.kind != tokIdent {
		return ""
	}
	return didYouMean(t.text, []string{"bounds", "use", "double", "dangling"})
}

func didYouMean(name string, among []string) string {
	if near := Nearest(name, among); near != "" {
		return fmt.Sprintf("; did you mean `%s`?", near)
	}
	return ""
}
