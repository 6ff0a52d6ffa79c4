package syntax

import (
	"fmt"
	"sort"
	"strings"
)

// maxDepth bounds the nesting of expressions, so that no input exhausts the stack.
const maxDepth = 500

// maxChain bounds the operators of one level that follow each other: a tree of them is as deep,
// and each of its nodes has its text.
const maxChain = 1000

// Parse reads a specification. The file holds what could be understood; it is
// whole only if there are no errors. Errors come in the order of their places.
func Parse(name, src string) (*File, []Error) {
	s := &source{name: name, text: src}
	p := &parser{src: s, toks: lex(s), file: &File{Name: name, Src: src}}
	for p.tok().kind != tokEOF {
		p.statement()
	}
	sort.SliceStable(p.errs, func(i, j int) bool { return p.errs[i].Pos.before(p.errs[j].Pos) })
	return p.file, p.errs
}

func (p Pos) before(q Pos) bool {
	if p.Line != q.Line {
		return p.Line < q.Line
	}
	return p.Col < q.Col
}

type parser struct {
	src   *source
	toks  []token
	i     int // current token
	file  *File
	errs  []Error
	depth int  // of nested expressions
	inBar bool // directly inside |…|: a bar in operator position closes it
	nest  int  // open parentheses, brackets and bars: "||" is no separator there
	split Pos  // of the last "||" that was made two bars
}

// bail unwinds to statement after an error; it never leaves the package.
type bail struct{}

func (p *parser) tok() token { return p.toks[p.i] }

func (p *parser) peek(n int) token {
	if p.i+n < len(p.toks) {
		return p.toks[p.i+n]
	}
	return p.toks[len(p.toks)-1]
}

func (p *parser) next() token {
	t := p.tok()
	if t.is("|") && t.hi == t.lo+2 { // the first half of a split "||"
		p.toks[p.i].lo++
		p.toks[p.i].pos.Col++
		return t
	}
	if t.kind != tokEOF {
		p.i++
	}
	return t
}

func (p *parser) report(pos Pos, format string, args ...any) {
	p.errs = append(p.errs, Error{Pos: pos, Msg: fmt.Sprintf(format, args...)})
}

func (p *parser) fail(pos Pos, format string, args ...any) {
	p.report(pos, format, args...)
	panic(bail{})
}

// describe says what a token is, in the user's words.
func describe(t token) string {
	switch t.kind {
	case tokEOF:
		return "the end of the file"
	case tokString:
		return fmt.Sprintf("the text %q", t.text)
	}
	return "`" + t.text + "`"
}

// aValue is what is wanted where an expression begins.
const aValue = "a value"

// unexpected fails at the current token.
func (p *parser) unexpected(want string) {
	t := p.tok()
	switch {
	case t.kind == tokIllegal:
		p.fail(t.pos, "%s", t.text)
	case t.kind == tokString && want == aValue && p.peek(1).is(":"):
		p.fail(t.pos, "a label is a name, without quotes")
	case t.is("&&"):
		p.fail(t.pos, "write `and` for `&&`")
	case t.is("!"):
		p.fail(t.pos, "write `not` for `!`")
	case t.is("&") && want == aValue:
		p.fail(t.pos, "leave out the `&`: a node stands for its address, and a pointer is equal to a node that it points into")
	case t.is("*") && want == aValue:
		p.fail(t.pos, "leave out the `*`: a dot or an index leads through a pointer: X.next.key, X.table[0]")
	case t.is("::") && want != aValue && p.peek(1).kind == tokIdent:
		last := 1
		for p.peek(last+1).is("::") && p.peek(last+2).kind == tokIdent {
			last += 2
		}
		p.fail(t.pos, "%s is expected here, but there is `::`; an enumerator is named without its scope: %s", want, p.peek(last).text)
	case t.is("||") && want != "":
		p.fail(t.pos, "%s is expected here; `||` stands only between the two assignments of a rule: write `or` for a logical or", want)
	}
	p.fail(t.pos, "%s is expected here, but there is %s", want, describe(t))
}

func (p *parser) expect(punct, why string) token {
	if !p.tok().is(punct) {
		want := "`" + punct + "`"
		if why != "" {
			want += " " + why
		}
		p.unexpected(want)
	}
	return p.next()
}

func (p *parser) accept(punct string) bool {
	if p.tok().is(punct) {
		p.next()
		return true
	}
	return false
}

func (p *parser) acceptWord(w string) bool {
	if p.tok().word(w) {
		p.next()
		return true
	}
	return false
}

func (p *parser) expectWord(w, why string) {
	if !p.acceptWord(w) {
		t := p.tok()
		if t.kind == tokIdent && Nearest(t.text, []string{w}) != "" {
			p.fail(t.pos, "`%s` is expected here %s; did you mean it by `%s`?", w, why, t.text)
		}
		p.unexpected("`" + w + "` " + why)
	}
}

func (p *parser) ident(what string) Ident {
	t := p.tok()
	if t.kind != tokIdent {
		p.unexpected(what)
	}
	if reserved(t.text) {
		p.fail(t.pos, "%s is expected here, but `%s` is a word of the language", what, t.text)
	}
	p.next()
	return Ident{At{t.pos}, t.text}
}

// end closes a statement.
func (p *parser) end(after string) { p.expect(";", "after "+after) }

// resync skips to behind the next semicolon outside braces.
func (p *parser) resync() {
	depth := 0
	for {
		t := p.next()
		switch {
		case t.kind == tokEOF:
			return
		case t.is("{"):
			depth++
		case t.is("}"):
			depth--
		case t.is(";") && depth <= 0:
			return
		}
	}
}

// statement reads one statement and appends it, or reports errors and skips.
func (p *parser) statement() {
	defer p.recoverBail()
	p.nest, p.inBar, p.depth = 0, false, 0
	t := p.tok()
	if t.is(";") {
		p.fail(t.pos, "there is no statement before this `;`")
	}
	if t.kind == tokIdent && p.peek(1).is(":") { // a label first: it may be any word
		p.constraint()
		return
	}
	if t.kind == tokIdent {
		if p.peek(1).word("FIELD") {
			p.countedType()
			return
		}
		if parse, ok := directive(t.text); ok {
			parse(p)
			return
		}
		if p.peek(1).is(".") && p.peek(2).kind == tokIdent && (p.peek(3).is(";") || p.peek(3).word("DEFAULT")) {
			p.attribute()
			return
		}
	}
	p.constraint()
}

func (p *parser) recoverBail() {
	switch r := recover(); r.(type) {
	case nil:
	case bail:
		p.resync()
	default:
		panic(r)
	}
}

func (p *parser) add(s Stmt) { p.file.Stmts = append(p.file.Stmts, s) }

// directives are the words that begin a statement of their own kind.
func directive(word string) (func(*parser), bool) {
	switch word {
	case "type":
		return (*parser).typeDecl, true
	case "ARRAY":
		return (*parser).arrayType, true
	case "struct", "union", "enum", "typedef":
		return (*parser).layout, true
	case "const":
		return (*parser).constant, true
	case "tag":
		return (*parser).tag, true
	case "nil":
		return (*parser).nilDecl, true
	case "global":
		return (*parser).global, true
	case "local":
		return (*parser).local, true
	case "embed":
		return (*parser).embed, true
	case "enter", "leave":
		return (*parser).member, true
	case "root":
		return (*parser).root, true
	case "alloc":
		return (*parser).alloc, true
	case "allocator":
		return (*parser).allocator, true
	case "cpoint":
		return (*parser).cpoint, true
	case "cells":
		return (*parser).cells, true
	case "together":
		return (*parser).together, true
	case "check":
		return (*parser).check, true
	case "no":
		return (*parser).no, true
	}
	return nil, false
}

// Begins reports whether a word begins a directive: it can not be the name of a type.
func Begins(word string) bool {
	_, ok := directive(word)
	return ok
}

var directiveWords = [...]string{"type", "ARRAY", "struct", "union", "enum", "typedef", "const", "tag", "nil", "global", "local",
	"embed", "enter", "leave", "root", "alloc", "allocator", "cpoint", "cells", "together", "check", "no", "forall", "exists"}

// Directives returns the words that begin a directive or a type.
func Directives() []string { return append([]string(nil), directiveWords[:]...) }

// reserved words can name nothing.
func reserved(w string) bool {
	switch w {
	case "and", "or", "not", "for", "forall", "exists", "FIELD", "EDGE":
		return true
	}
	_, lit := literal(w)
	return lit
}

// literal recognises true, false and NULL in any case.
func literal(w string) (string, bool) {
	switch l := strings.ToLower(w); l {
	case "true", "false", "null":
		return l, true
	}
	return "", false
}

// constraint reads a constraint or the rule of an attribute: an optional
// label, declarations, guards and loops, and a body.
func (p *parser) constraint() {
	start := p.tok().pos
	var label Ident
	if p.tok().kind == tokIdent && p.peek(1).is(":") {
		label = p.ident("a label")
		p.next()
		if _, ok := directive(p.tok().text); ok && p.tok().kind == tokIdent {
			p.fail(label.Pos, "a label stands before a constraint, and `%s` begins no constraint", p.tok().text)
		}
	}
	decls, ok := p.decls()
	if t := p.tok(); len(decls) > 0 && (t.kind == tokEOF || p.startsOther()) {
		d := decls[len(decls)-1]
		if ok { // else the mistake has been told already
			p.report(d.Pos, "no constraint follows this declaration: it holds for its own statement only%s", directiveHint(d.Type.Name))
		}
		return
	}
	prefixes, body := p.clause()
	if p.tok().is("=") {
		p.rule(start, label, decls, prefixes, body, ok)
		return
	}
	p.end("the constraint")
	if ok {
		p.add(&Constraint{At{start}, label, decls, prefixes, body})
	}
}

// startsDecl: two words and then a comma or a semicolon.
func (p *parser) startsDecl() bool {
	t, u := p.tok(), p.peek(1)
	if t.word("forall") || t.word("exists") {
		return true
	}
	return t.kind == tokIdent && u.kind == tokIdent && !reserved(t.text) && !reserved(u.text)
}

// startsOther: a statement that cannot go on a constraint begins here.
func (p *parser) startsOther() bool {
	t, u := p.tok(), p.peek(1)
	if t.kind != tokIdent || u.is(".") || u.is("[") {
		return false
	}
	_, ok := directive(t.text)
	return ok || u.is(":") || u.word("FIELD")
}

// decls reads declarations. After a mistake in one it goes on with the next,
// so that a constraint is not read as another statement; ok is false then.
func (p *parser) decls() (list []Decl, ok bool) {
	ok = true
	for p.startsDecl() && !(len(list) > 0 && p.startsOther()) {
		d, good := p.decl()
		ok = ok && good
		list = append(list, d)
	}
	return list, ok
}

func (p *parser) decl() (d Decl, ok bool) {
	n := len(p.errs)
	defer func() { ok = len(p.errs) == n }()
	defer p.recoverBail()
	d.At = At{p.tok().pos}
	if t := p.tok(); t.word("forall") || t.word("exists") {
		d.Quantifier = p.next().text
	}
	d.Type = p.ident("a type")
	for {
		d.Vars = append(d.Vars, p.ident("the name of a variable"))
		if !p.accept(",") {
			break
		}
	}
	if !p.tok().is(";") {
		if hint := directiveHint(d.Type.Name); hint != "" {
			p.fail(d.Type.Pos, "`%s` is no word that begins a statement%s", d.Type.Name, hint)
		}
		if last := len(d.Vars) - 1; last > 0 && p.tok().kind == tokIdent && (p.peek(1).is(";") || p.peek(1).is(",")) { // "a X, b Y" for "a X; b Y"
			p.fail(d.Vars[last].Pos, "variables of another type are declared behind a `;`: `%s %s; %s %s;`", d.Type.Name, d.Vars[last-1].Name, d.Vars[last].Name, p.tok().text)
		}
	}
	p.end("the declaration of variables")
	return d, true
}

func directiveHint(word string) string {
	if near := Nearest(word, directiveWords[:]); near != "" {
		return fmt.Sprintf("; did you mean `%s`?", near)
	}
	return ""
}

// clause reads "(expr => | for I in a to b,)* expr".
func (p *parser) clause() ([]Prefix, Expr) {
	var prefixes []Prefix
	for {
		if p.tok().word("for") {
			prefixes = append(prefixes, Prefix{Loop: p.loop()})
			p.expect(",", "after the range of the loop")
			continue
		}
		e := p.expr()
		if !p.accept("=>") {
			return prefixes, e
		}
		prefixes = append(prefixes, Prefix{Guard: e})
		if len(prefixes) > maxChain {
			p.fail(p.tok().pos, "this formula is too long (more than %d conditions in a row)", maxChain)
		}
	}
}

func (p *parser) loop() Loop {
	at := At{p.next().pos} // "for"
	return p.ranged(at, p.ident("the name of an index"))
}

// ranged reads "in a to b" for the index v.
func (p *parser) ranged(at At, v Ident) Loop {
	p.expectWord("in", "after the index of the range")
	lo := p.expr()
	p.expectWord("to", "between the two ends of the range")
	return Loop{at, v.Name, lo, p.expr()}
}

// rule goes on behind the target of the first assignment.
func (p *parser) rule(start Pos, label Ident, decls []Decl, prefixes []Prefix, target Expr, ok bool) {
	if label.Name != "" {
		p.fail(label.Pos, "a rule of an attribute takes no label; if a comparison is meant, write `==`")
	}
	r := &Rule{At: At{start}, Decls: decls, Then: p.assign(target)}
	for i, pre := range prefixes {
		switch {
		case pre.Guard == nil:
			p.fail(pre.Loop.Pos, "a rule of an attribute takes no loop; SUM, MIN and MAX go over a range")
		case i > 0:
			p.fail(pre.Guard.Where(), "a rule has one guard: join the two with `and`")
		default:
			r.Guard = pre.Guard
		}
	}
	if bar := p.tok(); p.accept("||") {
		if r.Guard == nil {
			p.fail(bar.pos, "`||` needs a guard before the first assignment: guard => terminal || non-terminal")
		}
		e := p.assign(p.expr())
		r.Else = &e
	}
	p.end("the rule")
	if ok {
		p.add(r)
	}
}

func (p *parser) assign(target Expr) Assign {
	eq := p.tok()
	sel, ok := target.(*Select)
	if !ok || sel.Fields != nil {
		p.fail(target.Where(), "only an attribute is assigned to, such as X.HEIGHT; if a comparison is meant, write `==`")
	}
	if _, ok := sel.X.(*Name); !ok {
		p.fail(target.Where(), "a rule assigns to the attribute of its variable, such as X.HEIGHT, not of what a field points to; if a comparison is meant, write `==`")
	}
	if !eq.is("=") {
		p.unexpected("`=`")
	}
	p.next()
	return Assign{At{target.Where()}, sel, p.expr()}
}
