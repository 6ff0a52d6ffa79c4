package dwarf

// Entry is one debugging information entry. Walk reuses it: keep Ref, not *Entry.
type Entry struct {
	Unit     *Unit
	Off      uint64
	Tag      Tag // 0: the end of a list of siblings
	Children bool

	vals []value
	next uint64
}

// value is an attribute's value as it is encoded; its meaning may need other
// sections and is worked out on demand.
type value struct {
	attr Attr
	form form
	n    uint64
	b    []byte // blocks, and strings in place
}

// Ref returns the entry's name.
func (e *Entry) Ref() Ref { return Ref{e.Unit, e.Off} }

// Read reads the entry r into e, or says that it can not.
func (r Ref) Read(e *Entry) bool { return r.Unit != nil && r.Unit.Read(r.Off, e) }

// Read reads the entry at off into e, whose memory it reuses.
func (u *Unit) Read(off uint64, e *Entry) bool {
	info := u.info()
	b := NewBuf(info[:u.end], off)
	code := b.Uleb()
	e.Unit, e.Off, e.Tag, e.Children, e.vals = u, off, 0, false, e.vals[:0]
	if b.Bad() {
		return false
	}
	if code == 0 {
		e.next = b.off
		return true
	}
	a := u.table().get(code)
	if a == nil || a.tag == 0 {
		return false
	}
	e.Tag, e.Children = a.tag, a.children
	for i := range a.fields {
		f := &a.fields[i]
		v := value{attr: f.attr, form: f.form, n: uint64(f.implicit)}
		u.readValue(&b, &v)
		e.vals = append(e.vals, v)
	}
	e.next = b.off
	return !b.bad
}

// readValue reads the value of v.form.
func (u *Unit) readValue(b *Buf, v *value) {
	for v.form == formIndirect && !b.bad {
		v.form = form(b.Uleb())
	}
	switch v.form {
	case formAddr, formData8, formRef8, formRefSig8, formRefSup8:
		v.n = b.U64()
	case formData1, formRef1, formFlag, formStrx1, formAddrx1:
		v.n = uint64(b.U8())
	case formData2, formRef2, formStrx2, formAddrx2:
		v.n = uint64(b.U16())
	case formStrx3, formAddrx3:
		v.n = uint64(b.U24())
	case formData4, formRef4, formStrx4, formAddrx4, formRefSup4:
		v.n = uint64(b.U32())
	case formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex, formGNUStrIndex:
		v.n = b.Uleb()
	case formSdata:
		v.n = uint64(b.Sleb())
	case formStrp, formLineStrp, formSecOffset, formStrpSup, formGNURefAlt, formGNUStrpAlt:
		v.n = b.offset(u.dwarf64)
	case formRefAddr:
		if u.Version == 2 {
			v.n = b.U64() // the size of an address
		} else {
			v.n = b.offset(u.dwarf64)
		}
	case formBlock1:
		v.b = b.Bytes(uint64(b.U8()))
	case formBlock2:
		v.b = b.Bytes(uint64(b.U16()))
	case formBlock4:
		v.b = b.Bytes(uint64(b.U32()))
	case formBlock, formExprloc:
		v.b = b.Bytes(b.Uleb())
	case formData16:
		v.b = b.Bytes(16)
	case formString:
		v.b = b.CString()
	case formFlagPresent:
		v.n = 1
	case formImplicitConst:
	default:
		b.bad = true
	}
}

func (e *Entry) value(a Attr) *value {
	for i := range e.vals {
		if e.vals[i].attr == a {
			return &e.vals[i]
		}
	}
	return nil
}

// Has says whether the entry has the attribute.
func (e *Entry) Has(a Attr) bool { return e.value(a) != nil }

// String returns a string attribute, "" if there is none.
func (e *Entry) String(a Attr) string {
	v := e.value(a)
	if v == nil {
		return ""
	}
	u, d := e.Unit, e.Unit.data
	switch v.form {
	case formString:
		return string(v.b)
	case formStrp:
		return stringAt(d.sec.Str, v.n)
	case formLineStrp:
		return stringAt(d.sec.LineStr, v.n)
	case formStrx, formStrx1, formStrx2, formStrx3, formStrx4, formGNUStrIndex:
		size := uint64(4)
		if u.dwarf64 {
			size = 8
		}
		if v.n > uint64(len(d.sec.StrOffsets))/size {
			return ""
		}
		b := NewBuf(d.sec.StrOffsets, u.bases().str+v.n*size)
		off := b.offset(u.dwarf64)
		if b.Bad() {
			return ""
		}
		return stringAt(d.sec.Str, off)
	case formStrpSup, formGNUStrpAlt:
		if d.Alt != nil {
			return stringAt(d.Alt.sec.Str, v.n)
		}
	}
	return ""
}

// Uint returns a constant or section offset.
func (e *Entry) Uint(a Attr) (uint64, bool) {
	v := e.value(a)
	if v == nil {
		return 0, false
	}
	switch v.form {
	case formData1, formData2, formData4, formData8, formUdata, formSdata, formImplicitConst, formSecOffset, formFlag, formFlagPresent:
		return v.n, true
	}
	return 0, false
}

// Int returns a constant as a signed value. Forms of a fixed size do not tell
// whether they are signed: they are taken as unsigned, as gcc and clang mean them.
func (e *Entry) Int(a Attr) (int64, bool) {
	n, ok := e.Uint(a)
	return int64(n), ok
}

// Flag says whether a flag is set.
func (e *Entry) Flag(a Attr) bool {
	v := e.value(a)
	return v != nil && (v.form == formFlag || v.form == formFlagPresent || v.form == formImplicitConst) && v.n != 0
}

// Block returns an expression or block, nil if the attribute is of another class.
func (e *Entry) Block(a Attr) []byte {
	v := e.value(a)
	if v == nil {
		return nil
	}
	switch v.form {
	case formExprloc, formBlock, formBlock1, formBlock2, formBlock4:
		return v.b
	}
	return nil
}

// Target returns the entry that an attribute refers to: in this unit, in
// another, in the supplementary file, or by type signature.
func (e *Entry) Target(a Attr) Ref {
	v := e.value(a)
	if v == nil {
		return Ref{}
	}
	u, d := e.Unit, e.Unit.data
	switch v.form {
	case formRef1, formRef2, formRef4, formRef8, formRefUdata:
		return u.at(u.Off + v.n)
	case formRefAddr:
		return d.at(v.n)
	case formGNURefAlt, formRefSup4, formRefSup8:
		if d.Alt != nil {
			return d.Alt.at(v.n)
		}
	case formRefSig8:
		return d.typeUnit(v.n)
	}
	return Ref{}
}

func (d *Data) at(off uint64) Ref {
	u := d.unitAt(off)
	if u == nil {
		return Ref{}
	}
	return u.at(off)
}

// Addr returns an address attribute.
func (e *Entry) Addr(a Attr) (uint64, bool) {
	v := e.value(a)
	if v == nil {
		return 0, false
	}
	switch v.form {
	case formAddr:
		return v.n, true
	case formAddrx, formAddrx1, formAddrx2, formAddrx3, formAddrx4, formGNUAddrIndex:
		return e.Unit.Addr(v.n)
	}
	return 0, false
}

// Action is what Walk does next.
type Action uint8

// The actions.
const (
	Into Action = iota // visit the entry's children
	Over               // visit what follows it
	Stop
)

// Walk visits the entry at off (depth 0) and what is below it, depth first.
func (u *Unit) Walk(off uint64, visit func(e *Entry, depth int) Action) {
	var e Entry
	const none = int(^uint(0) >> 1)
	depth, skip := 0, none // children below depth skip are not visited
	for off < u.end && u.Read(off, &e) {
		off = e.next
		if e.Tag == 0 {
			if depth--; depth <= skip {
				skip = none
			}
			if depth <= 0 {
				return
			}
			continue
		}
		action := Over
		if skip == none {
			action = visit(&e, depth)
		}
		if action == Stop || depth == 0 && !e.Children {
			return
		}
		if !e.Children {
			continue
		}
		if action == Over {
			if next, ok := e.sibling(); ok && depth > 0 {
				off = next
				continue
			}
			if skip == none {
				skip = depth
			}
		}
		depth++
	}
}

// sibling returns the offset behind the entry's children, if it says.
func (e *Entry) sibling() (uint64, bool) {
	v := e.value(AttrSibling)
	if v == nil {
		return 0, false
	}
	r := e.Target(AttrSibling)
	return r.Off, r.Unit == e.Unit && r.Off > e.next
}
