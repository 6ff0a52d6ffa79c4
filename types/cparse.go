package types

import (
	"fmt"
	"sort"

	"mgtrace/cxxname"
)

const (
	// maxObject bounds sizes and offsets: the user half of the address space.
	maxObject = 1 << 47
	// maxDepth bounds nested declarators, structures and expressions.
	maxDepth = 100
	// maxErrors is how many errors Parse reports before it gives up.
	maxErrors = 20
)

// Decls is a scope of C declarations. What is declared becomes known in its
// Universe, which supplies the names that the text itself does not declare.
type Decls struct {
	universe *Universe
	tags     map[string]*Type
	typedefs map[string]use
	opaque   map[*Type][]*Type // pointers that were made to a type not yet defined
	basic    map[string]*Type
}

// use is a type as a declaration names it. A typedef may carry an alignment.
type use struct {
	t     *Type
	align int64 // 0: the type's own
}

// NewDecls returns an empty scope over u.
func NewDecls(u *Universe) *Decls {
	return &Decls{universe: u, tags: map[string]*Type{}, typedefs: map[string]use{},
		opaque: map[*Type][]*Type{}, basic: map[string]*Type{}}
}

// ParseC parses C declarations into a scope of their own.
func ParseC(src string) (*Decls, []Error) {
	d := NewDecls(NewUniverse(nil))
	_, errs := d.Parse(src)
	return d, errs
}

// Lookup returns the type that this scope declares by a name, or nil. A
// typedef comes before a tag of the same name.
func (d *Decls) Lookup(name string) *Type {
	normal := cxxname.Normal(name)
	if u, ok := d.typedefs[normal]; ok && normal == name {
		return u.t
	}
	if t := d.tags[normal]; t != nil && t.Size >= 0 {
		return t
	}
	return nil
}

// Parse reads declarations of structures, unions, enumerations and typedefs,
// and adds them to the scope and its Universe. It returns the named structures
// and unions that src defines, in order, and all errors in order of position.
// With errors, what could be read is declared nevertheless.
func (d *Decls) Parse(src string) ([]*Type, []Error) {
	p := &parser{Decls: d, toks: lex(src)}
	for p.tok().kind != tokEOF && len(p.errs) < maxErrors {
		start := p.i
		p.declaration()
		if p.failed {
			p.recover(start)
		}
	}
	for i := range p.errs {
		p.errs[i].Line, p.errs[i].Col = position(src, p.errs[i].Offset)
	}
	sort.SliceStable(p.errs, func(i, j int) bool { return p.errs[i].Offset < p.errs[j].Offset })
	return p.defined, p.errs
}

// Link directs pointers to types that the scope only names ("struct x *") to
// what the Universe knows by that name. Call it after the last Parse.
func (d *Decls) Link() {
	for t, pointers := range d.opaque {
		found := d.known(t.Name)
		if found == nil || t.Kind != Opaque {
			continue
		}
		for _, p := range pointers {
			p.Elem = found
		}
		delete(d.opaque, t)
	}
}

// known returns a complete type from the Universe.
func (d *Decls) known(name string) *Type {
	if d.universe == nil || name == "" {
		return nil
	}
	for _, t := range d.universe.Lookup(name) {
		if t != nil && t.Size >= 0 {
			return t
		}
	}
	return nil
}

func (d *Decls) publish(name string, t *Type) {
	if d.universe != nil {
		d.universe.Add(name, t)
	}
}

// parser reads one text into a scope.
type parser struct {
	*Decls
	toks    []token
	i       int
	errs    []Error
	failed  bool // an error was met: unwind to the next declaration
	depth   int
	defined []*Type
	consts  map[string]int64
}

func (p *parser) tok() token { return p.toks[p.i] }

func (p *parser) peek(n int) token { return p.toks[min(p.i+n, len(p.toks)-1)] }

func (p *parser) next() token {
	t := p.toks[p.i]
	if p.i < len(p.toks)-1 {
		p.i++
	}
	return t
}

func (p *parser) is(text string) bool {
	t := p.tok()
	return t.text == text && (t.kind == tokPunct || t.kind == tokIdent)
}

func (p *parser) accept(text string) bool {
	if p.is(text) {
		p.next()
		return true
	}
	return false
}

func (p *parser) expect(text, where string) {
	if !p.accept(text) {
		p.unexpected("`" + text + "`" + where)
	}
}

// unexpected reports that something else was expected at the current token.
func (p *parser) unexpected(want string) {
	t := p.tok()
	if t.kind == tokBad {
		p.fail(t.pos, "%s", t.msg)
		return
	}
	p.fail(t.pos, "expected %s, found %s", want, t.describe())
}

// fail reports an error after which this declaration cannot be read on.
func (p *parser) fail(pos int, format string, args ...any) {
	if !p.failed {
		p.report(pos, format, args...)
	}
	p.failed = true
}

// report reports an error after which reading goes on.
func (p *parser) report(pos int, format string, args ...any) {
	if p.failed || len(p.errs) >= maxErrors {
		return
	}
	p.errs = append(p.errs, Error{Offset: pos, Msg: fmt.Sprintf(format, args...)})
}

// recover skips to behind the end of the declaration that began at start.
func (p *parser) recover(start int) {
	p.failed = false
	p.depth = 0
	at := p.i
	p.i = start
	for braces := 0; p.tok().kind != tokEOF; {
		t := p.next()
		switch {
		case t.kind != tokPunct:
		case t.text == "{":
			braces++
		case t.text == "}":
			braces--
		case t.text == ";" && braces <= 0 && p.i > at:
			return
		}
	}
}

// enter counts nesting; false, with an error, if there is too much of it.
func (p *parser) enter() bool {
	p.depth++
	if p.depth > maxDepth {
		p.fail(p.tok().pos, "nested too deeply")
	}
	return !p.failed
}

func (p *parser) leave() { p.depth-- }

// declaration reads "specifiers declarator, …;" at file level.
func (p *parser) declaration() {
	if p.accept(";") {
		return
	}
	s := p.specifiers()
	for s.typedef && !p.failed {
		pos := p.tok().pos
		if d := p.declarator(); !p.failed {
			p.defineTypedef(pos, d, s)
		}
		if !p.accept(",") {
			break
		}
	}
	if p.tok().kind != tokEOF { // the last `;` may be the caller's
		p.expect(";", " after the declaration")
	}
}

// defineTypedef makes the name of d stand for its type.
func (p *parser) defineTypedef(pos int, d declarator, s specifiers) {
	t := d.apply(s.use.t)
	if p.failed || t == nil {
		return
	}
	if d.name == "" {
		p.fail(pos, "a typedef needs a name")
		return
	}
	if t == s.use.t {
		p.nameAnonymous(s, d.name)
	}
	align := max(d.attrs.align, s.attrs.align)
	if align == 0 && t == s.use.t {
		align = s.use.align
	}
	p.typedefs[d.name] = use{t, align}
	if t.Kind != Opaque && t.Kind != Void {
		p.publish(d.name, t)
	}
	if t.HasMembers() {
		p.define(t)
	}
}

// nameAnonymous gives "typedef struct {…} node;" its name.
func (p *parser) nameAnonymous(s specifiers, name string) {
	if s.body && s.use.t.Name == "" {
		s.use.t.Name = name
	}
}

// define adds t to what this text defines.
func (p *parser) define(t *Type) {
	for _, have := range p.defined {
		if have == t {
			return
		}
	}
	p.defined = append(p.defined, t)
}
