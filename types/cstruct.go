package types

// aggregate reads "struct tag", "struct tag {…}" or "struct {…}", and unions.
func (p *parser) aggregate() (t *Type, body bool) {
	kind := Struct
	keyword := p.next().text
	if keyword == "union" {
		kind = Union
	}
	if !p.enter() {
		return nil, false
	}
	defer p.leave()
	var a attributes
	for p.attributes(&a) {
	}
	tag := token{}
	if p.tok().kind == tokIdent {
		tag = p.next()
	}
	for p.attributes(&a) {
	}
	if p.is(":") {
		p.fail(p.tok().pos, "base classes cannot be declared here: such a layout comes from debug information")
		return nil, false
	}
	if !p.is("{") {
		if tag.text == "" {
			p.unexpected("a name or `{` after `" + keyword + "`")
			return nil, false
		}
		return p.tagged(tag, kind), false
	}
	t = p.openBody(tag, kind)
	if t == nil {
		return nil, false
	}
	fields := p.fields(keyword)
	if p.failed {
		return nil, false
	}
	for p.attributes(&a) {
	}
	if !p.failed {
		p.closeBody(t, kind, fields, a)
	}
	return t, true
}

// tagged returns the type of a tag, declared by this use if it is new.
func (p *parser) tagged(tag token, kind Kind) *Type {
	t := p.tags[tag.text]
	if t == nil {
		t = &Type{Kind: Opaque, Name: tag.text, Size: -1}
		p.tags[tag.text] = t
		return t
	}
	if t.Kind != Opaque && t.Kind != kind {
		p.fail(tag.pos, "`%s` was declared as something else", tag.text)
		return nil
	}
	return t
}

// openBody returns the type to be filled by a body. It stays incomplete until
// the body ends, so that it cannot contain itself.
func (p *parser) openBody(tag token, kind Kind) *Type {
	p.next() // {
	if tag.text == "" {
		return &Type{Kind: Opaque, Size: -1}
	}
	t := p.tagged(tag, kind)
	if t != nil && t.Kind != Opaque {
		p.fail(tag.pos, "`%s` is defined twice", tag.text)
		return nil
	}
	return t
}

// closeBody lays out the fields and completes the type.
func (p *parser) closeBody(t *Type, kind Kind, fields []field, a attributes) {
	l := layout{union: kind == Union, packed: a.packed}
	for i := range fields {
		f := &fields[i]
		flexible := f.t.Kind == Array && f.t.Count <= 0 && i == len(fields)-1
		if f.t.Kind == Array && f.t.Count < 0 && !flexible && kind == Struct {
			p.fail(f.pos, "an array without a size must be the last field")
			return
		}
		if flexible && f.t.Count == 0 { // GNU C's older spelling
			f.t = &Type{Kind: Array, Elem: f.t.Elem, Count: -1}
		}
		if !l.place(f) {
			p.fail(f.pos, "the type is too large")
			return
		}
	}
	t.Members, t.Kind = l.members, kind
	t.Size, t.Align = l.finish(a.align)
	delete(p.opaque, t)
	if t.Name != "" {
		p.publish(t.Name, t)
		p.define(t)
	}
	for name, u := range p.typedefs { // those that came before the definition
		if u.t == t {
			p.publish(name, t)
		}
	}
}

// fields reads the members up to and with the closing brace.
func (p *parser) fields(keyword string) []field {
	var out []field
	for !p.failed && !p.accept("}") {
		if p.tok().kind == tokEOF {
			p.unexpected("`}` at the end of the " + keyword)
			break
		}
		if p.accept(";") {
			continue
		}
		start := p.i
		before := len(p.errs)
		out = p.fieldList(out)
		if p.failed && len(p.errs) > before && p.resume(start) {
			// Go on with the next field, to find its errors too; the
			// structure is not defined.
			out = p.fields(keyword)
			p.failed = true
		}
	}
	p.checkNames(out)
	return out
}

// resume skips to behind the field that began at start; false at the end.
func (p *parser) resume(start int) bool {
	at := p.i
	p.i = start
	for braces := 0; p.tok().kind != tokEOF; {
		t := p.tok()
		if t.kind == tokPunct {
			switch {
			case t.text == "{":
				braces++
			case t.text == "}":
				braces--
			case t.text == ";" && braces == 0 && p.i >= at:
				p.next()
				p.failed = false
				return true
			}
			if braces < 0 {
				break
			}
		}
		p.next()
	}
	p.i = at
	return false
}

// fieldList reads "type a, *b, c : 3;".
func (p *parser) fieldList(out []field) []field {
	s := p.specifiers()
	if s.typedef {
		p.fail(p.tok().pos, "a typedef cannot stand in a structure")
	}
	if !p.failed && p.accept(";") {
		if t := s.use.t; t.HasMembers() {
			if s.body && t.Name == "" {
				return append(out, field{pos: p.tok().pos, t: t, packed: s.attrs.packed, align: s.attrs.align})
			}
		}
		return out // declares a tag only
	}
	for !p.failed {
		f, ok := p.field(s)
		if !ok {
			break
		}
		out = append(out, f)
		if !p.accept(",") {
			p.expect(";", " after the field")
			break
		}
	}
	return out
}

// field reads one declarator of a member, with its width if it is a bit-field.
func (p *parser) field(s specifiers) (field, bool) {
	var d declarator
	if p.is(":") {
		d = declarator{pos: p.tok().pos, apply: func(t *Type) *Type { return t }}
	} else {
		d = p.declarator()
	}
	if p.failed {
		return field{}, false
	}
	t := d.apply(s.use.t)
	if p.failed || t == nil {
		return field{}, false
	}
	f := field{name: d.name, pos: d.pos, t: p.complete(t)}
	elem := t
	for elem.Kind == Array && elem != s.use.t {
		elem = elem.Elem
	}
	if elem == s.use.t {
		f.override = s.use.align
	}
	if p.accept(":") {
		p.bitField(&f)
		for p.attributes(&d.attrs) {
		}
	} else if d.name == "" {
		p.unexpected("the name of a field")
	} else {
		p.checkField(f)
	}
	d.attrs.add(s.attrs)
	f.packed, f.align = d.attrs.packed, d.attrs.align
	return f, !p.failed
}

func (p *parser) checkField(f field) {
	switch {
	case f.t.Kind == Func:
		p.fail(f.pos, "the field `%s` is a function; a pointer to one is `(*%s)(…)`", f.name, f.name)
	case f.t.Kind == Void:
		p.fail(f.pos, "the field `%s` is void", f.name)
	case f.t.Size < 0:
		p.fail(f.pos, "the field `%s` is a %s, which is not defined yet; did you mean a pointer?", f.name, f.t)
	}
}

// bitField reads the width behind the colon.
func (p *parser) bitField(f *field) {
	pos := p.tok().pos
	width := p.constant("the width of the bit-field")
	if p.failed {
		return
	}
	limit := f.t.Size * 8
	switch f.t.Kind {
	case Int, Uint, Enum:
	case Bool:
		limit = 1
	default:
		p.fail(f.pos, "a bit-field of type %s", f.t)
		return
	}
	switch {
	case width < 0 || width > limit:
		p.fail(pos, "a width of %d bits; %s has %d", width, f.t, limit)
	case width == 0 && f.name != "":
		p.fail(pos, "a bit-field of no width has no name")
	}
	f.bits, f.bitField = int(width), true
}

// checkNames reports fields of the same name, those of anonymous members too.
func (p *parser) checkNames(fields []field) {
	seen := map[string]bool{}
	for _, f := range fields {
		names := []string{f.name}
		if f.name == "" && !f.bitField {
			names = f.t.MemberNames()
		}
		for _, name := range names {
			if name != "" && seen[name] {
				p.report(f.pos, "two fields are named `%s`", name)
			}
			seen[name] = true
		}
	}
}

// enum reads "enum tag", "enum tag {…}" or "enum {…}".
func (p *parser) enum() (t *Type, body bool) {
	p.next()
	var a attributes
	for p.attributes(&a) {
	}
	if p.is("class") || p.is("struct") {
		p.next()
	}
	tag := token{}
	if p.tok().kind == tokIdent {
		tag = p.next()
	}
	var underlying *Type
	if p.is(":") && p.underlies() {
		p.next()
		underlying = p.specifiers().use.t
		if !p.failed && underlying.Kind != Int && underlying.Kind != Uint {
			p.fail(tag.pos, "an enumeration of %s", underlying)
		}
	}
	if p.failed {
		return nil, false
	}
	if !p.accept("{") {
		if tag.text == "" {
			p.unexpected("a name or `{` after `enum`")
			return nil, false
		}
		t := p.tagged(tag, Enum)
		if t != nil && t.Kind == Opaque {
			t = p.complete(t)
		}
		return t, false
	}
	t = &Type{Kind: Opaque, Size: -1}
	if tag.text != "" {
		t = p.tagged(tag, Enum)
	}
	list := p.enumerators()
	for p.attributes(&a) {
	}
	if p.failed {
		return nil, false
	}
	if t.Kind != Opaque {
		p.fail(tag.pos, "`%s` is defined twice", tag.text)
		return nil, false
	}
	t.Kind, t.Enumerators = Enum, list
	t.Size, t.Signed = enumSize(list, a.packed)
	if underlying != nil {
		t.Size, t.Signed = underlying.Size, underlying.Kind == Int
	}
	delete(p.opaque, t)
	if t.Name != "" {
		p.publish(t.Name, t)
	}
	return t, true
}

// underlies tells "enum e : uint8_t" from a bit-field without name, "enum e : 3".
func (p *parser) underlies() bool { return p.peek(1).kind == tokIdent && p.startsType(p.peek(1)) }

func (p *parser) enumerators() []Enumerator {
	var out []Enumerator
	next := int64(0)
	for !p.failed && !p.accept("}") {
		t := p.tok()
		if t.kind != tokIdent {
			p.unexpected("the name of an enumerator or `}`")
			return nil
		}
		p.next()
		for p.attributes(&attributes{}) {
		}
		if p.accept("=") {
			next = p.constant("a value")
		}
		out = append(out, Enumerator{t.text, next})
		p.setConst(t, next)
		next++
		if !p.accept(",") && !p.is("}") {
			p.unexpected("`,` or `}` after the enumerator")
		}
	}
	return out
}

func (p *parser) setConst(t token, v int64) {
	if _, twice := p.consts[t.text]; twice {
		p.report(t.pos, "`%s` is defined twice", t.text)
	}
	if p.consts == nil {
		p.consts = map[string]int64{}
	}
	p.consts[t.text] = v
	if p.universe != nil && !p.failed {
		p.universe.AddConst(t.text, v)
	}
}

// enumSize is gcc's choice of the underlying type: int or unsigned int, a
// longer one if the values need it, the shortest if packed.
func enumSize(list []Enumerator, packed bool) (size int64, signed bool) {
	lo, hi := int64(0), int64(0)
	for _, e := range list {
		lo, hi = min(lo, e.Value), max(hi, e.Value)
	}
	for size = 1; size < 8; size *= 2 {
		if size < 4 && !packed {
			continue
		}
		bits := uint(size * 8)
		if lo < 0 && lo >= -1<<(bits-1) && hi < 1<<(bits-1) || lo >= 0 && hi < 1<<bits {
			break
		}
	}
	return size, lo < 0
}
