package objfile

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"mgtrace/cxxname"
	"mgtrace/objfile/dwarf"
	"mgtrace/types"
)

// converter makes types of debug information, on demand. One type has one
// *types.Type however many units repeat it: structures of the same name, size
// and members are the same.
type converter struct {
	file *File

	mu       sync.Mutex
	memo     map[dwarf.Ref]*types.Type
	byKey    map[string]*types.Type // canonical types by signature
	pointers map[pointerKey]*types.Type
	arrays   map[arrayKey]*types.Type
	units    map[*dwarf.Unit]*unitTypes
	names    *typeIndex
	queue    []pending
	slots    map[virtualBase]int64 // where the offsets of virtual bases stand: see virtualSlot
	void     *types.Type
	function *types.Type
}

// pending is a structure whose members are still to be filled in. They are
// filled from a queue, not by recursion: types lead to types without end.
type pending struct {
	t   *types.Type
	ref dwarf.Ref
}

type pointerKey struct {
	elem *types.Type
	name string
}

type arrayKey struct {
	elem  *types.Type
	count int64
}

// maxTypeDepth bounds chains of types without a structure between them.
const maxTypeDepth = 64

// convert returns the type of an entry; Void for none.
func (c *converter) convert(r dwarf.Ref) *types.Type {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.complete(r)
}

// complete converts r and all that it leads to.
func (c *converter) complete(r dwarf.Ref) *types.Type {
	if c.memo == nil {
		c.memo = map[dwarf.Ref]*types.Type{}
		c.byKey = map[string]*types.Type{}
		c.pointers = map[pointerKey]*types.Type{}
		c.arrays = map[arrayKey]*types.Type{}
		c.units = map[*dwarf.Unit]*unitTypes{}
		c.slots = map[virtualBase]int64{}
		c.void = &types.Type{Kind: types.Void, Name: "void", Size: -1}
		c.function = &types.Type{Kind: types.Func, Size: -1}
	}
	t := c.typ(r, 0)
	var classes []*types.Type // with bases
	for len(c.queue) > 0 {
		p := c.queue[len(c.queue)-1]
		c.queue = c.queue[:len(c.queue)-1]
		if c.fill(p.t, p.ref); slices.ContainsFunc(p.t.Members, func(m types.Member) bool { return m.Base }) {
			classes = append(classes, p.t)
		}
	}
	for _, class := range classes {
		c.placeVirtual(class)
	}
	return t
}

// LookupType is types.Loader's.
func (c *converter) LookupType(name string) []*types.Type {
	c.mu.Lock()
	defer c.mu.Unlock()
	refs := c.index().lookup(name)
	var found []*types.Type
next:
	for _, r := range refs {
		t := c.complete(r.ref)
		for _, have := range found {
			if have == t {
				continue next
			}
		}
		found = append(found, t)
	}
	return found
}

// TypeNames is types.Loader's.
func (c *converter) TypeNames() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]string, 0, len(c.index().types))
	for name := range c.index().types {
		list = append(list, name)
	}
	sort.Strings(list)
	return list
}

// Const is types.Loader's. An enumerator to which units give different values
// has none.
func (c *converter) Const(name string) (int64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.index().constant(name)
	return v.v, ok && !v.ambiguous
}

// typ converts the type r, whose structures may stay in the queue.
func (c *converter) typ(r dwarf.Ref, depth int) *types.Type {
	if r.Unit == nil {
		return c.void
	}
	if t := c.memo[r]; t != nil {
		return t
	}
	var e dwarf.Entry
	if depth > maxTypeDepth || !r.Read(&e) {
		return c.opaque("")
	}
	t := c.entry(&e, depth)
	c.memo[r] = t
	return t
}

func (c *converter) entry(e *dwarf.Entry, depth int) *types.Type {
	switch e.Tag {
	case dwarf.TagTypedef, dwarf.TagTemplateAlias, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType,
		dwarf.TagAtomicType, dwarf.TagImmutableType, dwarf.TagSubrangeType:
		return c.typ(e.Target(dwarf.AttrType), depth+1)
	case dwarf.TagBaseType:
		return c.base(e)
	case dwarf.TagPointerType:
		return c.pointer(c.typ(e.Target(dwarf.AttrType), depth+1), "")
	case dwarf.TagReferenceType, dwarf.TagRvalueRefType:
		return c.pointer(c.typ(e.Target(dwarf.AttrType), depth+1), "&")
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagInterfaceType, dwarf.TagUnionType:
		return c.structure(e, depth)
	case dwarf.TagEnumerationType:
		return c.enum(e, depth)
	case dwarf.TagArrayType:
		return c.array(e, depth)
	case dwarf.TagSubroutineType:
		return c.function
	case dwarf.TagPtrToMemberType:
		return c.memberPointer(e)
	case dwarf.TagUnspecifiedType:
		if name := e.String(dwarf.AttrName); strings.Contains(name, "nullptr") {
			return c.pointer(c.void, name)
		}
		return c.void
	}
	return c.opaque("")
}

// canonical returns the type of a key, made by build the first time.
func (c *converter) canonical(key string, build func() *types.Type) *types.Type {
	t := c.byKey[key]
	if t == nil {
		t = build()
		c.byKey[key] = t
	}
	return t
}

func (c *converter) opaque(name string) *types.Type {
	return c.canonical("opaque "+name, func() *types.Type {
		return &types.Type{Kind: types.Opaque, Name: name, Size: -1}
	})
}

func (c *converter) pointer(elem *types.Type, name string) *types.Type {
	k := pointerKey{elem, name}
	t := c.pointers[k]
	if t == nil {
		t = &types.Type{Kind: types.Pointer, Size: 8, Elem: elem}
		if name != "&" {
			t.Name = name
		}
		c.pointers[k] = t
	}
	return t
}

func (c *converter) arrayOf(elem *types.Type, count int64) *types.Type {
	k := arrayKey{elem, count}
	t := c.arrays[k]
	if t == nil {
		t = &types.Type{Kind: types.Array, Elem: elem, Count: count, Size: -1}
		if size := elem.Size; count >= 0 && size >= 0 && (size == 0 || count <= (1<<46)/size) {
			t.Size = count * size
		} else if count >= 0 {
			t.Count = -1
		}
		c.arrays[k] = t
	}
	return t
}

// Encodings of base types (DWARF 5, table 7.11).
const (
	encAddress      = 0x01
	encBoolean      = 0x02
	encComplexFloat = 0x03
	encFloat        = 0x04
	encSigned       = 0x05
	encSignedChar   = 0x06
)

func (c *converter) base(e *dwarf.Entry) *types.Type {
	enc, _ := e.Uint(dwarf.AttrEncoding)
	size, _ := e.Uint(dwarf.AttrByteSize)
	name := e.String(dwarf.AttrName)
	if size > 1<<10 {
		return c.opaque(name)
	}
	return c.canonical(fmt.Sprintf("base %s %d %d", name, size, enc), func() *types.Type {
		t := &types.Type{Kind: types.Uint, Name: name, Size: int64(size)}
		switch enc {
		case encBoolean:
			t.Kind = types.Bool
		case encFloat:
			t.Kind = types.Float
		case encComplexFloat:
			half := &types.Type{Kind: types.Float, Name: strings.TrimPrefix(name, "complex "), Size: t.Size / 2}
			return &types.Type{Kind: types.Array, Name: name, Size: t.Size, Elem: half, Count: 2}
		case encSigned, encSignedChar:
			t.Kind, t.Signed = types.Int, true
		}
		return t
	})
}

func (c *converter) memberPointer(e *dwarf.Entry) *types.Type {
	var target dwarf.Entry
	if e.Target(dwarf.AttrType).Read(&target) && target.Tag == dwarf.TagSubroutineType {
		return c.canonical("member function pointer", func() *types.Type { // Itanium C++ ABI, section 2.3
			word := &types.Type{Kind: types.Int, Name: "long", Size: 8, Signed: true}
			return &types.Type{Kind: types.Struct, Size: 16, Members: []types.Member{
				{Name: "ptr", Type: word}, {Name: "adj", Type: word, Offset: 8},
			}}
		})
	}
	return c.canonical("member pointer", func() *types.Type {
		return &types.Type{Kind: types.Int, Size: 8, Signed: true}
	})
}

// array converts an array; the last dimension varies fastest, so it is innermost.
func (c *converter) array(e *dwarf.Entry, depth int) *types.Type {
	t := c.typ(e.Target(dwarf.AttrType), depth+1)
	var dims []int64
	e.Unit.Walk(e.Off, func(d *dwarf.Entry, level int) dwarf.Action {
		if level == 0 {
			return dwarf.Into
		}
		if d.Tag == dwarf.TagSubrangeType && len(dims) < maxTypeDepth {
			dims = append(dims, dimension(d))
		}
		return dwarf.Over
	})
	if len(dims) == 0 {
		dims = []int64{-1}
	}
	for i := len(dims) - 1; i >= 0; i-- {
		t = c.arrayOf(t, dims[i])
	}
	return t
}

// dimension returns the number of elements, -1 where it is open or computed.
// A length of zero is how C was written before flexible array members.
func dimension(d *dwarf.Entry) int64 {
	if n, ok := d.Int(dwarf.AttrCount); ok {
		if n > 0 {
			return n
		}
		return -1
	}
	n, ok := d.Int(dwarf.AttrUpperBound)
	if !ok || n < 0 || n == 0xffffffff || n+1 < 0 {
		return -1
	}
	return n + 1
}

func (c *converter) enum(e *dwarf.Entry, depth int) *types.Type {
	name := c.nameOf(e)
	size, ok := e.Uint(dwarf.AttrByteSize)
	if e.Flag(dwarf.AttrDeclaration) {
		if def, found := c.definition(e, name); found {
			return c.typ(def, depth+1)
		}
		if !ok {
			return c.opaque(name.short)
		}
	}
	t := &types.Type{Kind: types.Enum, Name: name.short, Size: int64(min(size, 16)), Enumerators: readEnumerators(e)}
	if under := c.typ(e.Target(dwarf.AttrType), depth+1); under.Kind == types.Int {
		t.Signed = true
	}
	for _, en := range t.Enumerators {
		t.Signed = t.Signed || en.Value < 0
	}
	key := fmt.Sprintf("enum %s %d %v %v", name.full, t.Size, t.Signed, t.Enumerators)
	return c.canonical(key, func() *types.Type { return t })
}

func readEnumerators(e *dwarf.Entry) (list []types.Enumerator) {
	e.Unit.Walk(e.Off, func(d *dwarf.Entry, level int) dwarf.Action {
		if d.Tag == dwarf.TagEnumerator {
			v, _ := d.Int(dwarf.AttrConstValue)
			list = append(list, types.Enumerator{Name: d.String(dwarf.AttrName), Value: v})
		}
		if level == 0 {
			return dwarf.Into
		}
		return dwarf.Over
	})
	return list
}

// nameOf returns the qualified name of a type's entry; a type without a name
// has that of its typedef.
func (c *converter) nameOf(e *dwarf.Entry) typeName {
	u := c.units[e.Unit]
	if u == nil {
		u = c.file.readUnitTypes(e.Unit)
		c.units[e.Unit] = u
	}
	if n, ok := u.names[e.Off]; ok {
		return n
	}
	return u.anon[e.Off]
}

// definition finds what a declaration declares: by its type signature, else by
// its name in all units. If units define the name differently it is not told
// which is meant, and there is none.
func (c *converter) definition(e *dwarf.Entry, name typeName) (dwarf.Ref, bool) {
	if r := e.Target(dwarf.AttrSignature); r.Unit != nil && r != e.Ref() {
		return r, true
	}
	if name.full == "" {
		return dwarf.Ref{}, false
	}
	var def dwarf.Ref
	var key string
	for _, r := range c.index().types[cxxname.Normal(name.full)] {
		if !sameKind(r.tag, e.Tag) {
			continue
		}
		if r.ref.Unit == e.Unit {
			return r.ref, true
		}
		k := c.signature(r.ref, 0)
		if def.Unit != nil && k != key {
			return dwarf.Ref{}, false
		}
		def, key = r.ref, k
	}
	return def, def.Unit != nil
}

func sameKind(a, b dwarf.Tag) bool {
	class := func(t dwarf.Tag) dwarf.Tag {
		if t == dwarf.TagClassType || t == dwarf.TagInterfaceType {
			return dwarf.TagStructType
		}
		return t
	}
	return class(a) == class(b)
}

func (c *converter) structure(e *dwarf.Entry, depth int) *types.Type {
	name := c.nameOf(e)
	size, sized := e.Uint(dwarf.AttrByteSize)
	if e.Flag(dwarf.AttrDeclaration) || !sized || size > 1<<46 {
		if def, found := c.definition(e, name); found && def != e.Ref() {
			return c.typ(def, depth+1)
		}
		return c.opaque(name.short)
	}
	if t := c.stored(e, name.full, depth); t != nil && t.Size == int64(size) {
		return t
	}
	if t := c.stdArray(e, name, depth); t != nil && t.Size == int64(size) {
		return t
	}
	r := e.Ref()
	return c.canonical(c.signature(r, 0), func() *types.Type {
		t := &types.Type{Kind: types.Struct, Name: name.short, Size: int64(size)}
		if e.Tag == dwarf.TagUnionType {
			t.Kind = types.Union
		}
		if align, ok := e.Int(dwarf.AttrAlignment); ok && align > 0 {
			t.Align = align
		}
		c.queue = append(c.queue, pending{t, r})
		return t
	})
}

// stored returns what lies in the buffers in which libstdc++ has the elements of its
// lists, maps and hash tables, and the objects of make_shared; nil for any other type.
// To debug information such a buffer is an array of bytes.
func (c *converter) stored(e *dwarf.Entry, name string, depth int) *types.Type {
	if !strings.HasPrefix(name, "__gnu_cxx::__aligned_membuf<") && !strings.HasPrefix(name, "__gnu_cxx::__aligned_buffer<") {
		return nil
	}
	var t *types.Type
	e.Unit.Walk(e.Off, func(p *dwarf.Entry, level int) dwarf.Action {
		if level == 0 {
			return dwarf.Into
		}
		if p.Tag == dwarf.TagTemplateTypeParam && t == nil {
			t = c.typ(p.Target(dwarf.AttrType), depth+1)
		}
		return dwarf.Over
	})
	return t
}

// stdArray returns a std::array as the array that it is, under its own name; nil for any
// other type. That the array has a class around it, and a member's name that differs by
// library, is nothing that a program means.
func (c *converter) stdArray(e *dwarf.Entry, name typeName, depth int) *types.Type {
	if !strings.HasPrefix(name.full, "std::array<") && !strings.HasPrefix(name.full, "std::__1::array<") {
		return nil
	}
	var elem *types.Type
	count := int64(-1)
	e.Unit.Walk(e.Off, func(p *dwarf.Entry, level int) dwarf.Action {
		switch {
		case level == 0:
			return dwarf.Into
		case p.Tag == dwarf.TagTemplateTypeParam && elem == nil:
			elem = c.typ(p.Target(dwarf.AttrType), depth+1)
		case p.Tag == dwarf.TagTemplateValueParam && count < 0:
			if n, ok := p.Int(dwarf.AttrConstValue); ok {
				count = n
			}
		}
		return dwarf.Over
	})
	if elem == nil || elem.Size <= 0 || count <= 0 || count > (1<<46)/elem.Size {
		return nil
	}
	return c.canonical(fmt.Sprintf("array %s %p", name.full, elem), func() *types.Type {
		return &types.Type{Kind: types.Array, Name: name.short, Size: count * elem.Size, Elem: elem, Count: count}
	})
}

// fill adds the members of a structure.
func (c *converter) fill(t *types.Type, r dwarf.Ref) {
	r.Unit.Walk(r.Off, func(e *dwarf.Entry, level int) dwarf.Action {
		if level == 0 {
			return dwarf.Into
		}
		if m, ok := readMember(e, t.Size); ok {
			m.Type = c.typ(e.Target(dwarf.AttrType), 0)
			if m.Base {
				m.Name = ""
			}
			if m.Offset < 0 {
				c.slots[virtualBase{t, m.Type}] = virtualSlot(e)
			}
			placeBits(&m)
			t.Members = append(t.Members, m)
		} else if to := c.arrow(e); to != nil && (t.Arrow == nil || e.String(dwarf.AttrName) == "operator->") {
			t.Arrow = to
		}
		return dwarf.Over
	})
}

// arrow returns what a member function that makes its class behave like a pointer
// returns, nil if e is none: operator ->, and [], which returns a reference.
func (c *converter) arrow(e *dwarf.Entry) *types.Type {
	if e.Tag != dwarf.TagSubprogram {
		return nil
	}
	if name := e.String(dwarf.AttrName); name != "operator->" && name != "operator[]" {
		return nil
	}
	if to := c.typ(e.Target(dwarf.AttrType), 0); to.Kind == types.Pointer {
		return to
	}
	return nil
}

// readMember reads a member or base class, without its type; not ok for what
// takes no room in the structure. The place of a bit-field is still counted
// from the start of the structure (Offset 0, BitOffset in bits).
func readMember(e *dwarf.Entry, structSize int64) (m types.Member, ok bool) {
	switch e.Tag {
	case dwarf.TagInheritance:
		m.Base = true
		if n, _ := e.Uint(dwarf.AttrVirtuality); n != 0 {
			m.Offset = -1 // depends on the object
			return m, true
		}
	case dwarf.TagMember:
		if e.Flag(dwarf.AttrExternal) || e.Flag(dwarf.AttrDeclaration) {
			return m, false // static
		}
	default:
		return m, false
	}
	m.Name = e.String(dwarf.AttrName)
	m.VTable = strings.HasPrefix(m.Name, "_vptr") && (len(m.Name) == 5 || m.Name[5] == '.' || m.Name[5] == '$')
	off, ok := memberOffset(e)
	if !ok || off < 0 || off > structSize {
		return m, false
	}
	bits, isBits := e.Int(dwarf.AttrBitSize)
	if !isBits || bits <= 0 {
		m.Offset = off
		return m, true
	}
	m.BitSize = int(min(bits, 128))
	pos := off * 8
	if n, ok := e.Int(dwarf.AttrDataBitOffset); ok {
		pos += n
	} else if n, ok := e.Int(dwarf.AttrBitOffset); ok {
		// DWARF 2 and 3: counted from the most significant bit of the unit.
		size, ok := e.Int(dwarf.AttrByteSize)
		if !ok {
			size = 4
		}
		pos += size*8 - n - bits
	}
	if pos < 0 || pos/8 > structSize {
		return m, false
	}
	m.BitOffset = int(pos)
	return m, true
}

// memberOffset reads DW_AT_data_member_location: a constant, or in DWARF 2 an
// expression that adds one. Without it the member lies at the start.
func memberOffset(e *dwarf.Entry) (int64, bool) {
	if n, ok := e.Int(dwarf.AttrDataMemberLoc); ok {
		return n, true
	}
	expr := e.Block(dwarf.AttrDataMemberLoc)
	if expr == nil {
		return 0, !e.Has(dwarf.AttrDataMemberLoc)
	}
	b := dwarf.NewBuf(expr, 0)
	if b.U8() != 0x23 { // DW_OP_plus_uconst
		return 0, false
	}
	n := b.Uleb()
	return int64(n), !b.Bad() && !b.More() && n < 1<<46
}

// placeBits puts a bit-field into the aligned storage unit of its type, or
// where it crosses one, into the bytes from its first.
func placeBits(m *types.Member) {
	if m.BitSize == 0 {
		return
	}
	pos := int64(m.BitOffset)
	if size := m.Type.Size * 8; size > 0 && pos%size+int64(m.BitSize) <= size {
		m.Offset = pos / size * m.Type.Size
	} else {
		m.Offset = pos / 8
	}
	m.BitOffset = int(pos - m.Offset*8)
}

// signature spells out a structure so that two of the same signature have the
// same layout. Structures with names stand for themselves in it.
func (c *converter) signature(r dwarf.Ref, depth int) string {
	var e dwarf.Entry
	if !r.Read(&e) || depth > maxTypeDepth {
		return "?"
	}
	size, _ := e.Uint(dwarf.AttrByteSize)
	kind := 's'
	if e.Tag == dwarf.TagUnionType {
		kind = 'u'
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%c %s %d{", kind, c.nameOf(&e).full, size)
	r.Unit.Walk(r.Off, func(e *dwarf.Entry, level int) dwarf.Action {
		if level == 0 {
			return dwarf.Into
		}
		if m, ok := readMember(e, int64(size)); ok && b.Len() < 1<<20 {
			fmt.Fprintf(&b, "%s@%d:%d:%d %s;", m.Name, m.Offset, m.BitOffset, m.BitSize, c.spell(e.Target(dwarf.AttrType), depth+1))
		}
		return dwarf.Over
	})
	b.WriteByte('}')
	return b.String()
}

// spell names a type for a signature.
func (c *converter) spell(r dwarf.Ref, depth int) string {
	prefix := ""
	var e dwarf.Entry
	for ; r.Unit != nil; depth++ {
		if depth > maxTypeDepth || !r.Read(&e) {
			return "?"
		}
		switch e.Tag {
		case dwarf.TagPointerType, dwarf.TagReferenceType, dwarf.TagRvalueRefType:
			prefix += "*"
		case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType:
		case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagInterfaceType, dwarf.TagUnionType:
			if n := c.nameOf(&e); n.full != "" {
				return prefix + n.full
			}
			return prefix + c.signature(r, depth+1)
		case dwarf.TagArrayType:
			e.Unit.Walk(e.Off, func(d *dwarf.Entry, level int) dwarf.Action {
				if level == 0 {
					return dwarf.Into
				}
				if d.Tag == dwarf.TagSubrangeType {
					prefix += fmt.Sprintf("[%d]", dimension(d))
				}
				return dwarf.Over
			})
		default:
			size, _ := e.Uint(dwarf.AttrByteSize)
			return fmt.Sprintf("%s%x %s %d", prefix, uint(e.Tag), c.nameOf(&e).full, size)
		}
		r = e.Target(dwarf.AttrType)
	}
	return prefix + "void"
}
