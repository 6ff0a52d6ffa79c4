package objfile

import (
	"slices"
	"sort"
	"strings"

	"mgtrace/cxxname"
	"mgtrace/objfile/dwarf"
)

const anonymous = "(anonymous namespace)"

// nameScopes are the scopes around an entry: namespaces, classes, functions.
type nameScopes struct {
	at []nameScope // by depth
}

type nameScope struct {
	name     string // "" if it does not qualify names
	inline   bool   // an inline namespace
	function bool
}

// qualify puts the scopes in front of a name.
func (s *nameScopes) qualify(name string) string {
	var b strings.Builder
	for _, sc := range s.at {
		if sc.name != "" {
			b.WriteString(sc.name)
			b.WriteString("::")
		}
	}
	b.WriteString(name)
	return b.String()
}

// short is qualify without inline and anonymous namespaces, as a programmer
// writes the name.
func (s *nameScopes) short(name string) string {
	var b strings.Builder
	for _, sc := range s.at {
		if sc.name != "" && !sc.inline && sc.name != anonymous {
			b.WriteString(sc.name)
			b.WriteString("::")
		}
	}
	b.WriteString(name)
	return b.String()
}

func (s *nameScopes) inFunction() bool {
	for _, sc := range s.at {
		if sc.function {
			return true
		}
	}
	return false
}

// walkScopes visits the entries of a unit with the scopes around them.
func (f *File) walkScopes(u *dwarf.Unit, visit func(e *dwarf.Entry, sc *nameScopes) dwarf.Action) {
	var sc nameScopes
	inline := f.inlineNamespaces()
	u.Walk(u.Root(), func(e *dwarf.Entry, depth int) dwarf.Action {
		if depth == 0 {
			sc.at = append(sc.at, nameScope{})
			return dwarf.Into
		}
		sc.at = sc.at[:depth]
		action := visit(e, &sc)
		if action == dwarf.Into && e.Children {
			s := scopeOf(e)
			s.inline = s.inline || len(inline) > 0 && e.Tag == dwarf.TagNamespace && inline[sc.qualify(s.name)]
			sc.at = append(sc.at, s)
		}
		return action
	})
}

func scopeOf(e *dwarf.Entry) nameScope {
	switch e.Tag {
	case dwarf.TagNamespace:
		s := nameScope{name: e.String(dwarf.AttrName), inline: e.Flag(dwarf.AttrExportSymbols)}
		if s.name == "" {
			s.name = anonymous
		}
		return s
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagInterfaceType:
		return nameScope{name: e.String(dwarf.AttrName)}
	case dwarf.TagSubprogram:
		return nameScope{function: true}
	}
	return nameScope{}
}

// inlineNamespaces returns the inline namespaces of a file with partial units:
// dwz leaves out the flag of namespaces there, but it stays in other units.
func (f *File) inlineNamespaces() map[string]bool {
	d := f.info()
	d.inlineOnce.Do(func() {
		if d.data == nil || len(d.partial) == 0 && d.data.Alt == nil {
			return
		}
		d.inline = map[string]bool{"std::__cxx11": true}
		for _, u := range d.units {
			var sc nameScopes
			u.Walk(u.Root(), func(e *dwarf.Entry, depth int) dwarf.Action {
				switch {
				case depth == 0:
					sc.at = append(sc.at, nameScope{})
				case e.Tag == dwarf.TagNamespace:
					s := scopeOf(e)
					sc.at = sc.at[:depth]
					if s.inline {
						d.inline[sc.qualify(s.name)] = true
					}
					sc.at = append(sc.at, s)
				default:
					return dwarf.Over
				}
				return dwarf.Into
			})
		}
	})
	return d.inline
}

// typeName is what a type's entry is called.
type typeName struct {
	full  string // with all namespaces
	short string // without inline and anonymous ones
}

// unitTypes are the names of a unit's types, by offset.
type unitTypes struct {
	names map[uint64]typeName
	anon  map[uint64]typeName // of types without a name, by the typedef that names them
}

// readUnitTypes reads the names of a unit.
func (f *File) readUnitTypes(u *dwarf.Unit) *unitTypes {
	t := &unitTypes{names: map[uint64]typeName{}, anon: map[uint64]typeName{}}
	f.walkTypes(u, func(e *dwarf.Entry, sc *nameScopes) {
		name := e.String(dwarf.AttrName)
		if name == "" {
			return
		}
		n := typeName{sc.qualify(name), sc.short(name)}
		t.names[e.Off] = n
		if e.Tag == dwarf.TagTypedef {
			if r := e.Target(dwarf.AttrType); r.Unit == u {
				if _, named := t.anon[r.Off]; !named {
					t.anon[r.Off] = n
				}
			}
		}
	})
	return t
}

// walkTypes visits the types of a unit that have names of their own scope.
func (f *File) walkTypes(u *dwarf.Unit, visit func(e *dwarf.Entry, sc *nameScopes)) {
	f.walkScopes(u, func(e *dwarf.Entry, sc *nameScopes) dwarf.Action {
		switch e.Tag {
		case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagInterfaceType:
			visit(e, sc)
			return dwarf.Into
		case dwarf.TagEnumerationType, dwarf.TagTypedef, dwarf.TagTemplateAlias, dwarf.TagBaseType, dwarf.TagUnspecifiedType:
			visit(e, sc)
			return dwarf.Over
		case dwarf.TagSubprogram, dwarf.TagLexicalBlock, dwarf.TagNamespace:
			return dwarf.Into
		}
		return dwarf.Over
	})
}

// typeIndex finds definitions by normal name, over all units.
type typeIndex struct {
	types  map[string][]typeRef // by normal name
	consts map[string]constant64

	// What lookup needs where a name is not exact: normal names by plain name, and
	// by the ends of plain names, with and without template arguments.
	plain, ending map[string][]string
}

// typeRef is a definition; those that agree in what it says besides the entry
// are taken for the same type, which every unit that includes a header repeats.
type typeRef struct {
	ref  dwarf.Ref
	tag  dwarf.Tag
	size uint64
	line uint64
	file string
}

type constant64 struct {
	v         int64
	ambiguous bool // enumerations disagree
}

func (c *converter) index() *typeIndex {
	if c.names == nil {
		c.names = &typeIndex{types: map[string][]typeRef{}, consts: map[string]constant64{}}
		d := c.file.info()
		seen := map[*dwarf.Unit]bool{}
		for _, u := range d.units {
			c.names.addUnit(c.file, u.Full(), seen)
		}
		for _, u := range d.partial {
			c.names.addUnit(c.file, u, seen)
		}
		if d.data != nil {
			for _, u := range d.data.Units() {
				if u.IsType() {
					c.names.addUnit(c.file, u, seen)
				}
			}
		}
	}
	return c.names
}

// addUnit indexes a unit, what it imports (dwz), and the type units that its
// split file has.
func (x *typeIndex) addUnit(f *File, u *dwarf.Unit, seen map[*dwarf.Unit]bool) {
	if seen[u] {
		return
	}
	seen[u] = true
	var imports []*dwarf.Unit
	u.Walk(u.Root(), func(e *dwarf.Entry, depth int) dwarf.Action {
		if depth == 0 {
			return dwarf.Into
		}
		if e.Tag == dwarf.TagImportedUnit {
			if r := e.Target(dwarf.AttrImport); r.Unit != nil {
				imports = append(imports, r.Unit)
			}
		}
		return dwarf.Over
	})
	if !u.IsType() && u.DwoID() != 0 {
		for _, t := range u.Data().Units() {
			if t.IsType() {
				imports = append(imports, t)
			}
		}
	}
	f.walkTypes(u, x.add)
	for _, i := range imports {
		x.addUnit(f, i, seen)
	}
}

func (x *typeIndex) add(e *dwarf.Entry, sc *nameScopes) {
	if e.Flag(dwarf.AttrDeclaration) {
		return
	}
	if e.Tag == dwarf.TagEnumerationType {
		x.addEnumerators(e, sc)
	}
	name := e.String(dwarf.AttrName)
	if name == "" || strings.HasPrefix(name, "DW_ATE_") { // clang's own, for conversions
		return
	}
	t := typeRef{ref: e.Ref(), tag: e.Tag}
	t.size, _ = e.Uint(dwarf.AttrByteSize)
	t.line, _ = e.Uint(dwarf.AttrDeclLine)
	if n, ok := e.Uint(dwarf.AttrDeclFile); ok {
		t.file = e.Unit.FileName(n)
	}
	full, short := cxxname.Normal(sc.qualify(name)), cxxname.Normal(sc.short(name))
	x.addName(full, t)
	if short != full {
		x.addName(short, t)
	}
}

func (x *typeIndex) addName(name string, t typeRef) {
	for _, have := range x.types[name] {
		if have.tag == t.tag && have.size == t.size && have.line == t.line && have.file == t.file && t.line != 0 {
			return
		}
	}
	x.types[name] = append(x.types[name], t)
}

func (x *typeIndex) addEnumerators(e *dwarf.Entry, sc *nameScopes) {
	enum, scoped := e.String(dwarf.AttrName), e.Flag(dwarf.AttrEnumClass)
	for _, en := range readEnumerators(e) {
		if !scoped {
			x.addConst(sc.short(en.Name), en.Value)
		}
		if enum != "" {
			x.addConst(sc.short(enum+"::"+en.Name), en.Value)
		}
	}
}

func (x *typeIndex) addConst(name string, v int64) {
	have, ok := x.consts[name]
	x.consts[name] = constant64{v, ok && (have.ambiguous || have.v != v)}
}

// constant finds the enumerator that a specification means: that of this very name, else the one whose name ends with it
// ("Leaf" is "tree::Kind::Leaf"), if all that do are one number. A number that the program keeps in an integer
// or a bit-field has no type to which its enumerator belongs. Those of the C++ library are not meant.
func (x *typeIndex) constant(name string) (constant64, bool) {
	v, found := x.consts[name]
	if found {
		return v, true
	}
	for full, c := range x.consts {
		if !strings.HasSuffix(full, "::"+name) || strings.HasPrefix(full, "std::") || strings.HasPrefix(full, "__gnu_cxx::") {
			continue
		}
		c.ambiguous = c.ambiguous || found && (v.ambiguous || v.v != c.v)
		v, found = c, true
	}
	return v, found
}

// lookup finds the types that a specification means by a normal name: those of
// this very name, else those whose plain name is the same, else the only one whose
// name ends with it ("Lru::Entry" is "cache::Lru<int>::Entry" if there is no other),
// and else the only one that ends so but for template arguments left out.
func (x *typeIndex) lookup(name string) []typeRef {
	if refs := x.types[name]; len(refs) > 0 {
		return refs
	}
	if x.plain == nil {
		x.indexPlain()
	}
	plain := cxxname.Plain(name)
	names := x.plain[plain]
	if len(names) == 0 {
		names = x.only(x.ending[plain], func(string) bool { return true })
	}
	if len(names) == 0 {
		names = x.only(x.ending[cxxname.WithoutArgs(plain)], func(full string) bool { return beginsEnding(plain, full) })
	}
	var found []typeRef
	for _, n := range names {
		found = append(found, x.types[n]...)
	}
	sort.Slice(found, func(i, j int) bool { return found[i].ref.Off < found[j].ref.Off })
	return found
}

// only returns the names of the one type that is meant; none if there are several. A type
// in an anonymous namespace has two names, with and without it.
func (x *typeIndex) only(among []string, meant func(plain string) bool) (names []string) {
	one := ""
	for _, n := range among {
		switch plain := cxxname.Plain(n); {
		case !meant(plain):
		case one != "" && one != plain && !slices.Equal(x.types[names[0]], x.types[n]):
			return nil
		default:
			one = plain
			names = append(names, n)
		}
	}
	return names
}

// beginsEnding: a name is the end of a full one but for template arguments.
func beginsEnding(name, full string) bool {
	for end, ok := full, true; ok; end, ok = cxxname.Inner(end) {
		if cxxname.Begins(name, end) {
			return true
		}
	}
	return false
}

func (x *typeIndex) indexPlain() {
	x.plain, x.ending = map[string][]string{}, map[string][]string{}
	for name := range x.types {
		plain := cxxname.Plain(name)
		x.plain[plain] = append(x.plain[plain], name)
		for end, ok := plain, true; ok; end, ok = cxxname.Inner(end) {
			if end != plain {
				x.ending[end] = append(x.ending[end], name)
			}
			if bare := cxxname.WithoutArgs(end); bare != end {
				x.ending[bare] = append(x.ending[bare], name)
			}
		}
	}
}
