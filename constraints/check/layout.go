package check

import (
	"slices"
	"strings"

	"mgtrace/constraints/syntax"
	"mgtrace/cxxname"
	"mgtrace/types"
)

// layouts reads the C declarations of the file; they hide the program's types
// of the same names.
func (c *checker) layouts() {
	c.decls = types.NewDecls(c.universe)
	_, errs := c.decls.Parse(syntax.CSource(c.file))
	for _, e := range errs {
		c.errorf(syntax.Pos{File: c.file.Name, Line: e.Line, Col: e.Col}, "%s", e.Msg)
	}
	c.decls.Link()
}

// nodeTypes declares the types of nodes.
func (c *checker) nodeTypes() {
	for _, s := range c.file.Stmts {
		d, ok := s.(*syntax.TypeDecl)
		if !ok {
			continue
		}
		if c.types[d.Name] != nil {
			c.errorf(d.Pos, "the type `%s` is declared twice", d.Name)
			continue
		}
		t := &NodeType{Index: len(c.spec.Types), Name: d.Name, Array: d.Array, Group: len(c.spec.Types), Pos: d.Pos,
			Source: cxxname.Normal(d.Name)}
		c.types[d.Name] = t
		c.spec.Types = append(c.spec.Types, t)
		if d.Array {
			c.arrayElem(t, d)
			continue
		}
		c.structLayout(t, d)
		if d.Counts && t.Layout != nil {
			c.checkCounts(t, d)
		}
	}
	for _, t := range c.spec.Types {
		for _, u := range c.spec.Types {
			if t.Layout != nil && !t.Array && !u.Array && u.isBase(t.Layout) {
				t.Bases = append(t.Bases, u)
			}
		}
	}
	for _, t := range c.spec.Types {
		derives := func(u *NodeType) bool { return slices.Contains(u.Bases, t) } // members of its own lie behind the array
		if t.Layout != nil && !t.Array && !slices.ContainsFunc(c.spec.Types, derives) {
			t.Layout = t.Layout.Opened()
		}
	}
	for _, s := range c.file.Stmts {
		if g, ok := s.(*syntax.Together); ok {
			c.together(g)
		}
	}
}

func (c *checker) together(g *syntax.Together) {
	first := c.typeOf(g.Types[0])
	for _, id := range g.Types[1:] {
		t := c.typeOf(id)
		if first == nil || t == nil {
			continue
		}
		old := t.Group
		for _, u := range c.spec.Types {
			if u.Group == old {
				u.Group = first.Group
			}
		}
	}
}

// structLayout finds the layout of a type that is no array.
func (c *checker) structLayout(t *NodeType, d *syntax.TypeDecl) {
	name, pos := d.Name, d.Pos
	if d.Source != "" {
		name, pos = d.Source, d.SrcPos
		t.Source = cxxname.Normal(d.Source)
		if own := c.decls.Lookup(d.Name); own != nil && own.Kind == types.Struct { // the file's layout for the program's type
			t.Layout = own
			if c.hasType(name, pos) && c.prog != nil {
				asProgram(own, c.prog.LookupType(t.Source))
			}
			return
		}
		switch meant := c.instances(name); len(meant) {
		case 0:
		case 1:
			name, t.Source = meant[0], cxxname.Normal(meant[0])
		default:
			c.errorf(pos, "`%s` are %d types of the program; name the one that is meant, or each by a statement of its own: %s", name, len(meant), strings.Join(meant[:min(len(meant), maxInstances)], ", "))
			c.told[noLayoutOf(t)] = true
			return
		}
	}
	var found []*types.Type
	var other *types.Type
	for _, x := range c.universe.Lookup(name) {
		switch {
		case x.Kind == types.Opaque || x.Size < 0:
		case x.HasMembers():
			found = append(found, x)
		default:
			other = x
		}
	}
	found = different(found)
	if len(found) > 1 && d.Counts {
		found = withCounts(found, d)
	}
	switch {
	case len(found) == 1:
		t.Layout = found[0]
	case len(found) > 1:
		c.errorf(pos, "the program has %d types `%s` with different layouts; declare the one that is meant here: struct %s { … };", len(found), name, d.Name)
	case other != nil && other.Kind == types.Pointer && other.Elem != nil && other.Elem.Name != "":
		c.errorf(pos, "`%s` is a pointer; the type of the nodes is %s: type %s = \"%s\";", name, other.Elem, d.Name, other.Elem.Name)
	case other != nil:
		c.errorf(pos, "`%s` is %s, which has no fields; an array of it is declared by ARRAY %s OF %s;", name, other, d.Name, name)
	case !c.hasType(name, pos):
		c.told[noLayoutOf(t)] = true // it is no wonder
	case c.prog != nil && c.onlyDeclared(t):
		c.warnf(pos, "the program only declares `%s`: if a library of yours defines it, name that with --module; else every word of its nodes may be an edge, and its fields have no names", name)
	case c.prog != nil:
		c.warnf(pos, "the program has no debug information and the file declares no layout of `%s`: every word of its nodes may be an edge, and its fields have no names", name)
	}
}

// maxInstances bounds the types that an error lists.
const maxInstances = 5

// instances are the types of the program that a pattern means, "List<*>"; none if name is the name of one.
func (c *checker) instances(name string) (meant []string) {
	if c.prog == nil || !strings.Contains(name, "*") || len(c.universe.Lookup(name)) > 0 {
		return nil
	}
	all := c.prog.TypeNames()
	names := make([]cxxname.Name, len(all))
	for i := range all {
		names[i] = cxxname.Of(all[i])
	}
	for _, i := range cxxname.Find(name, names) {
		if slices.ContainsFunc(c.universe.Lookup(all[i]), func(t *types.Type) bool { return t.Kind == types.Struct && t.Size > 0 }) && !slices.Contains(meant, all[i]) {
			meant = append(meant, all[i])
		}
	}
	slices.Sort(meant)
	return meant
}

// onlyDeclared reports whether the program has a type's name, but no definition of it.
func (c *checker) onlyDeclared(t *NodeType) bool {
	name := t.Name
	if t.Source != "" {
		name = t.Source
	}
	return len(c.prog.LookupType(cxxname.Normal(name))) > 0
}

// asProgram names the file's layout of a type as the program does: by that name its blocks and the pointers to it are known.
func asProgram(own *types.Type, found []*types.Type) {
	for _, x := range found {
		if x.Kind == types.Struct && x.Name != "" {
			own.Name = x.Name
			return
		}
	}
}

// hasType reports a type that the program lacks, if it has debug information.
func (c *checker) hasType(name string, pos syntax.Pos) bool {
	if c.prog == nil || len(c.prog.TypeNames()) == 0 || len(c.prog.LookupType(cxxname.Normal(name))) > 0 {
		return true
	}
	c.errorf(pos, "the program has no type `%s`%s", name, didYouMeanOrList(name, c.prog.TypeNames()))
	return false
}

// different drops layouts that equal an earlier one: each compilation unit has its own.
func different(list []*types.Type) []*types.Type {
	var out []*types.Type
next:
	for _, t := range list {
		for _, u := range out {
			if sameLayout(t, u) {
				continue next
			}
		}
		out = append(out, t)
	}
	return out
}

func sameLayout(a, b *types.Type) bool {
	if a == b {
		return true
	}
	if a.Kind != b.Kind || a.Size != b.Size {
		return false
	}
	x, y := a.Scalars(), b.Scalars()
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i].Path != y[i].Path || x[i].Offset != y[i].Offset || x[i].Type.Kind != y[i].Type.Kind || x[i].BitSize != y[i].BitSize {
			return false
		}
	}
	return true
}

func withCounts(list []*types.Type, d *syntax.TypeDecl) []*types.Type {
	var out []*types.Type
	for _, t := range list {
		if t.NumScalars() == d.Fields && int64(len(t.PointerFields())) == d.Edges {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return list
	}
	return out
}

// checkCounts holds FIELD and EDGE against the layout.
func (c *checker) checkCounts(t *NodeType, d *syntax.TypeDecl) {
	fields, edges := t.Layout.NumScalars(), int64(len(t.Layout.PointerFields()))
	if fields != d.Fields {
		c.errorf(d.Pos, "%s has %d fields, not %d: %s", d.Name, fields, d.Fields, fieldList(t.Layout.Scalars()))
	}
	if edges != d.Edges {
		c.errorf(d.Pos, "%s has %d pointer fields, not %d%s", d.Name, edges, d.Edges, pointerList(t.Layout))
	}
}

func fieldList(scalars []types.Scalar) string {
	const few = 16
	var names []string
	for i, s := range scalars {
		if i == few {
			names = append(names, "…")
			break
		}
		names = append(names, s.Path)
	}
	return strings.Join(names, ", ")
}

func pointerList(t *types.Type) string {
	if p := t.PointerFields(); len(p) > 0 {
		return ": " + fieldList(p)
	}
	return ""
}

// arrayElem finds the type of an array's elements.
func (c *checker) arrayElem(t *NodeType, d *syntax.TypeDecl) {
	if d.Of != "" {
		t.Elem = c.cType(d.Of, d.OfPos)
		return
	}
	for _, x := range c.universe.Lookup(d.Name) {
		if x.Size > 0 {
			if t.Elem = x; x.Kind == types.Array && x.Elem != nil {
				t.Elem = x.Elem
			}
			return
		}
	}
	c.warnf(d.Pos, "the elements of `%s` are taken for 8-byte integers; say what they are: ARRAY %s OF int;", d.Name, d.Name)
}

// cType resolves a C type name such as "struct S" or "entry *".
func (c *checker) cType(text string, pos syntax.Pos) *types.Type {
	base := strings.TrimSpace(text)
	pointers := 0
	for strings.HasSuffix(base, "*") {
		base = strings.TrimSpace(strings.TrimSuffix(base, "*"))
		pointers++
	}
	t := c.namedType(base)
	if t == nil && pointers > 0 && (c.prog == nil || len(c.prog.TypeNames()) == 0) {
		t = &types.Type{Kind: types.Opaque, Name: cxxname.Normal(base), Size: -1}
	}
	if t == nil && c.prog != nil && len(c.prog.TypeNames()) == 0 {
		c.errorf(pos, "no type `%s` is known: the program has no debug information about types: compile it with -g, or declare it here: struct %s { … };", base, strings.TrimPrefix(base, "struct "))
		return nil
	}
	if t == nil {
		names := c.typeNames()
		if c.prog != nil {
			names = append(names, c.prog.TypeNames()...)
		}
		c.errorf(pos, "no type `%s` is known%s", base, didYouMean(base, names))
		return nil
	}
	if pointers == 0 && t.Size <= 0 {
		c.errorf(pos, "the size of `%s` is not known, so no array can be made of it", base)
		return nil
	}
	for ; pointers > 0; pointers-- {
		t = &types.Type{Kind: types.Pointer, Size: 8, Elem: t}
	}
	return t
}

// namedType finds a type by name: a declared node type, a known type, or a
// basic type of C.
func (c *checker) namedType(name string) *types.Type {
	if t := c.types[name]; t != nil && t.Layout != nil {
		return t.Layout
	}
	for _, x := range c.universe.Lookup(name) {
		if x.Size > 0 {
			return x
		}
	}
	const alias = "mgtrace_elem"
	d, errs := types.ParseC("typedef " + name + " " + alias + ";")
	if len(errs) > 0 {
		return nil
	}
	if t := d.Lookup(alias); t != nil && (t.Kind == types.Void || t.Size > 0) {
		return t
	}
	return nil
}
