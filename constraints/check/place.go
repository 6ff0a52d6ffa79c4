package check

import (
	"fmt"
	"slices"

	"mgtrace/constraints/syntax"
	"mgtrace/mgpp/coded"
	"mgtrace/types"
)

// This file finds where fields lie: X.f, X[n], X.key[I], through pointers.

// selectField lowers "x.name".
func (s *scope) selectField(e *syntax.Select) operand {
	x := s.lower(e.X)
	if x.bad() {
		return x
	}
	src := syntax.ExprString(e)
	if isBuiltin(e.Name) && !s.ownField(x, e) {
		return s.builtin(x, e, src)
	}
	if e.Fields != nil {
		s.errorf(e.NamePos, "only INDEGREE, OUTDEGREE, ISROOT, ISLEAF, EXTERNAL and INTERNAL take a list of fields")
		return operand{}
	}
	if found := s.attributes(x, e.Name); len(found) > 0 {
		s.oneDefault(found, e.NamePos)
		return operand{kind: kindNumber, expr: &Attr{Src: src, Base: x.expr, Attrs: found}, src: src, pos: e.Pos}
	}
	o := s.member(x, e.Name, e.NamePos)
	o.pos = e.Pos
	return o.named(src)
}

func (o operand) named(src string) operand {
	o.src = src
	return o
}

// ownField: a C field with the name of a built-in attribute wins, with a warning.
func (s *scope) ownField(x operand, e *syntax.Select) bool {
	t := s.follow(x)
	if t == nil || e.Fields != nil {
		return false
	}
	if _, _, ok := t.Member(e.Name); !ok {
		return false
	}
	s.warnf(e.NamePos, "`%s` is the field of that name here, not the built-in attribute", syntax.ExprString(e))
	return true
}

// attributes finds the user attributes that x.name may mean. A pointer to a class means those of all
// types that derive from it. A pointer of no declared type (void *, a pointer to a member) has the attribute
// if only one type has one of that name; of several, that of the node that the pointer lies in.
func (s *scope) attributes(x operand, name string) []*Attribute {
	switch {
	case x.kind != kindRef && x.kind != kindAny:
		return nil
	case x.isNode:
		return one(s.attrs[attrKey{x.node, name}])
	case x.node != nil:
		return s.attributesThat(name, func(t *NodeType) bool { return t.Is(x.node) })
	}
	found := s.attributesOf(x, name)
	if len(found) < 2 || derives(found, x.typ) {
		return found
	}
	if i := slices.IndexFunc(found, func(a *Attribute) bool { return x.place != nil && liesIn(x.place, a.Type) }); i >= 0 {
		return found[i : i+1]
	}
	return nil
}

func one(a *Attribute) []*Attribute {
	if a == nil {
		return nil
	}
	return []*Attribute{a}
}

// derives: all the types derive from the class to which a pointer of type p leads.
func derives(found []*Attribute, p *types.Type) bool {
	if p == nil || p.Kind != types.Pointer || pointee(p) == nil {
		return false
	}
	class := pointee(p)
	return !slices.ContainsFunc(found, func(a *Attribute) bool {
		_, ok := a.Type.Layout.Base(func(b *types.Type) bool { return sameType(b, class) })
		return !ok
	})
}

// oneDefault: NULL has no type that says of which attribute its value is.
func (s *scope) oneDefault(found []*Attribute, pos syntax.Pos) {
	for _, a := range found[1:] {
		if a.Default != found[0].Default {
			s.errorf(pos, "`%s` of NULL is %d for %s and %d for %s, and the pointer may lead to either: give both the same DEFAULT", a.Name, found[0].Default, found[0].Type.Name, a.Default, a.Type.Name)
			return
		}
	}
}

// attributesOf are the attributes of a name that a pointer of no declared type may mean.
func (s *scope) attributesOf(x operand, name string) []*Attribute {
	return s.attributesThat(name, func(t *NodeType) bool {
		return x.typ == nil || x.typ.Elem == nil || x.typ.Elem.Kind == types.Void || holds(t.Layout, x.typ.Elem, 0)
	})
}

// attributesThat are the attributes of a name of such types.
func (s *scope) attributesThat(name string, such func(*NodeType) bool) (found []*Attribute) {
	for _, a := range s.spec.Attributes {
		if a.Name == name && such(a.Type) {
			found = append(found, a)
		}
	}
	return found
}

// liesIn: a place is in a variable's node of this type.
func liesIn(p *Place, t *NodeType) bool {
	n, ok := p.Base.(*Node)
	return ok && n.Type == t
}

// follow returns the type of the object that x is or points to, nil if unknown.
func (s *scope) follow(x operand) *types.Type {
	pointer := x.typ != nil && x.typ.Kind == types.Pointer // an element of ARRAY … OF T *
	if x.isNode || x.aggregate() || x.kind == kindAny && !pointer {
		return x.typ
	}
	if x.node != nil && !x.node.Array && x.node.Layout != nil {
		return x.node.Layout
	}
	if x.typ == nil || x.typ.Kind != types.Pointer || x.typ.Elem == nil || x.typ.Elem.Kind == types.Void {
		return nil
	}
	if t := x.typ.Elem; t.Kind != types.Opaque {
		return t
	}
	for _, t := range s.universe.Lookup(x.typ.Elem.Name) {
		if t.Size >= 0 {
			return t
		}
	}
	return nil
}

// base returns the place of the object that x is or points to.
func (s *scope) base(x operand) Place {
	if x.aggregate() {
		return *x.place
	}
	return Place{Base: x.expr}
}

// member lowers x.name to the member's place.
func (s *scope) member(x operand, name string, pos syntax.Pos) operand {
	if x.smart != nil {
		_, _, of := s.follow(x).Member(name)
		if _, _, own := x.smart.typ.Member(name); own && !of {
			return s.member(*x.smart, name, pos)
		}
	}
	t := s.memberType(x, name, pos)
	if t == nil {
		return operand{}
	}
	m, offset, ok := t.Member(name)
	if !ok {
		m, offset, ok = s.derived(&x, t, name)
	}
	if !ok {
		s.errorf(pos, "%s%s", t.NoMember(name), s.attributeHint(x, name))
		return operand{}
	}
	p := s.base(x)
	o := operand{pos: x.pos, typ: m.Type, bits: m.BitSize, path: name}
	if x.aggregate() && x.path != "" {
		o.path = x.path + "." + name
	}
	p.Offset += offset
	if m.BitSize > 0 {
		p.Offset += int64(m.BitOffset / 8)
		o.bit = m.BitOffset % 8
	}
	p.Type = m.Type
	p.Steps = append([]Step(nil), p.Steps...)
	o.place = &p
	return o
}

// derived finds the member of a declared type that derives from the class that a pointer
// leads to: the links of a C++ tree are pointers to what all nodes have in common. The
// pointer has to lead to a node of that type then. The offset is from where it leads.
func (s *scope) derived(x *operand, base *types.Type, name string) (m types.Member, offset int64, ok bool) {
	load, isLoad := x.expr.(*Load)
	if !isLoad || x.typ == nil || x.typ.Kind != types.Pointer {
		return m, 0, false
	}
	var of *NodeType
	for _, n := range s.spec.Types {
		if n.Layout == nil || n.Array {
			continue
		}
		at, derives := n.Layout.Base(func(b *types.Type) bool { return sameType(b, base) })
		found, off, has := n.Layout.Member(name)
		if !derives || !has {
			continue
		}
		if of != nil {
			return m, 0, false // several have one: it is not told which is meant
		}
		of, m, offset = n, found, off-at
	}
	if of == nil {
		return m, 0, false
	}
	down := *load
	down.To = of
	x.expr, x.node = &down, of
	return m, offset, true
}

// memberType returns the structure that holds x's members, nil after an error.
func (s *scope) memberType(x operand, name string, pos syntax.Pos) *types.Type {
	switch {
	case x.kind == kindNumber || x.kind == kindCond || x.kind == kindNull:
		s.errorf(pos, "%s: it has no fields, so no `%s`", x.describe(), name)
		return nil
	case x.node != nil && x.node.Array && (x.isNode || x.kind == kindAny):
		s.errorf(pos, "`%s` is an array: its fields have numbers, %s[1] is the first; `%s` is not one of COUNT and SIZE", x.src, x.src, name)
		return nil
	}
	t := s.follow(x)
	switch {
	case t == nil && x.node != nil:
		s.noLayout(x.node, pos)
	case t == nil && x.typ != nil && x.typ.Kind == types.Pointer && (x.typ.Elem == nil || x.typ.Elem.Kind == types.Void):
		s.errorf(pos, "`%s` is a void pointer: it is not known what it points to, so it has no `%s`; name the node it leads to: T Y;  %s == Y => … Y.%s", x.src, name, x.src, name)
	case t == nil && s.prog == nil:
		s.unknownWithout(pos, "`%s`", x.src)
	case t == nil && s.refused[x.src]:
	case t == nil:
		s.errorf(pos, "the layout of what `%s` points to is not known, so it has no `%s`", x.src, name)
	case t.Kind == types.Array:
		s.errorf(pos, "`%s` is %s, an array: it has no `%s`; its elements are %s[I]", x.src, t, name, x.src)
		return nil
	case !t.HasMembers():
		s.errorf(pos, "`%s` is %s, which has no fields, so no `%s`", x.src, t, name)
		return nil
	}
	return t
}

// unknownWithout notes that a formula needs the program.
func (s *scope) unknownWithout(pos syntax.Pos, format string, args ...any) {
	s.dropped = true
	s.warnf(pos, "%s is known only together with the program; not checked here", fmt.Sprintf(format, args...))
}

func (s *scope) attributeHint(x operand, name string) string {
	if x.node == nil {
		if found := s.attributesOf(x, name); len(found) > 1 {
			return fmt.Sprintf("; %s and %s have an attribute of that name, and it may lead to either", found[0].Type.Name, found[1].Type.Name)
		}
	}
	var names []string
	for _, a := range s.spec.Attributes {
		if a.Type == x.node {
			names = append(names, a.Name)
		}
	}
	names = append(names, builtinNames[:]...)
	if near := syntax.Nearest(name, names); near != "" {
		return fmt.Sprintf("; among the attributes, did you mean `%s`?", near)
	}
	return ""
}

// index lowers "x[i]" and "x.[i]".
func (s *scope) index(e *syntax.Index) operand {
	x := s.lower(e.X)
	i := s.number(e.I)
	if x.bad() || i == nil {
		return operand{}
	}
	src := syntax.ExprString(e)
	byNumber := e.Dot || x.isNode || x.kind == kindAny || x.byNumber && !x.aggregate()
	switch {
	case byNumber:
		return s.fieldNumber(x, i, e).named(src)
	case x.aggregate() && x.typ.Kind == types.Array:
		return s.element(x, i, e).named(src)
	case x.aggregate():
		if n := s.globalNode(x); n != nil {
			return s.fieldNumber(x, i, e).named(src)
		}
		s.errorf(e.Pos, "`%s` is %s; its fields are counted by %s.[n]", x.src, x.typ, x.src)
	case x.kind == kindRef && x.typ != nil && x.typ.Kind == types.Pointer:
		return s.behindPointer(x, i, e).named(src)
	case x.kind == kindRef && s.prog == nil:
		s.unknownWithout(e.Pos, "`%s`", x.src)
	default:
		s.errorf(e.Pos, "%s: it has no elements", x.describe())
	}
	return operand{}
}

// globalNode returns the declared type of an object in static memory.
func (s *scope) globalNode(x operand) *NodeType {
	if _, ok := x.place.Base.(*GlobalRef); ok && x.place.Offset == 0 && len(x.place.Steps) == 0 {
		return s.nodeOf(x.typ, nil)
	}
	return nil
}

// element is C's own index into an array that lies in the node.
func (s *scope) element(x operand, i Expr, e *syntax.Index) operand {
	p := *x.place
	elem := x.typ.Elem
	p.Steps = append([]Step(nil), p.Steps...)
	p.Type = elem
	if k, ok := fold(i); ok {
		if k.IsFloat {
			s.errorf(e.I.Where(), "an index is a whole number")
			return operand{}
		}
		if k.Int < 0 || x.typ.Bound() >= 0 && k.Int >= x.typ.Count {
			s.errorf(e.I.Where(), "`%s` has %s, so no [%d]", x.src, elements(x.typ.Bound()), k.Int)
			return operand{}
		}
		p.Offset += k.Int * elem.Size
	} else {
		p.Steps = append(p.Steps, Step{I: i, Stride: elem.Size, Count: x.typ.Bound()})
	}
	return operand{pos: e.Pos, typ: elem, place: &p, path: x.path}
}

func elements(n int64) string {
	switch {
	case n < 0:
		return "no elements below 0"
	case n == 1:
		return "one element, [0]"
	}
	return fmt.Sprintf("%d elements, [0] to [%d]", n, n-1)
}

// behindPointer is C's own index through a pointer.
func (s *scope) behindPointer(x operand, i Expr, e *syntax.Index) operand {
	elem := x.typ.Elem
	if elem == nil || elem.Size <= 0 {
		s.errorf(e.Pos, "`%s` is %s: the size of its elements is not known", x.src, x.typ)
		return operand{}
	}
	p := Place{Base: s.row(x).expr, Type: elem}
	if k, ok := fold(i); ok && !k.IsFloat && k.Int >= 0 {
		p.Offset = k.Int * elem.Size
	} else {
		p.Steps = []Step{{I: i, Stride: elem.Size, Count: -1, Back: true}}
	}
	return operand{pos: e.Pos, typ: elem, place: &p}
}

// fieldNumber is the n-th scalar field of a node, from 1.
func (s *scope) fieldNumber(x operand, n Expr, e *syntax.Index) operand {
	k, constant := fold(n)
	if constant && k.IsFloat {
		s.errorf(e.I.Where(), "a field has a whole number, from 1")
		return operand{}
	}
	t, array := s.follow(x), false
	if x.node != nil && x.node.Array {
		t, array = x.node.elem(), true
	}
	switch {
	case t == nil && x.node != nil:
		s.noLayout(x.node, e.Pos)
		return operand{}
	case t == nil && s.prog == nil:
		s.unknownWithout(e.Pos, "`%s`", x.src)
		return operand{}
	case t == nil:
		s.errorf(e.Pos, "the layout of `%s` is not known: its fields have no numbers", x.src)
		return operand{}
	}
	if constant && k.Int < 1 {
		s.errorf(e.I.Where(), "fields are numbered from 1, there is no [%d]", k.Int)
		return operand{}
	}
	if !constant {
		if x.node == nil {
			s.errorf(e.I.Where(), "only a node's fields have numbers that are computed")
			return operand{}
		}
		to := s.pointedBy(x.node, t)
		if to != x.node && t.Kind != types.Pointer {
			t = to.Layout // the pointers of its elements lead there
		}
		return operand{kind: kindAny, expr: &FieldN{Src: syntax.ExprString(e), Base: x.expr, N: n, Of: x.node, To: to},
			pos: e.Pos, node: to, typ: t, byNumber: true}
	}
	return s.scalar(x, t, array, k.Int, e)
}

// pointedBy is the type of node that the pointers of n lead to, n itself if
// they are of several types.
func (s *scope) pointedBy(n *NodeType, t *types.Type) *NodeType {
	var to *NodeType
	for _, cell := range n.Edges {
		if cell.Elem == nil {
			continue
		}
		u := s.nodeOf(cell.Elem, n)
		if to != nil && u != to {
			return n
		}
		to = u
	}
	if to == nil {
		return n
	}
	return to
}

// scalar is the field of a constant number.
func (s *scope) scalar(x operand, t *types.Type, array bool, n int64, e *syntax.Index) operand {
	p := s.base(x)
	per := t.NumScalars()
	if array && per > 0 {
		p.Offset += (n - 1) / per * t.Size
		n = (n-1)%per + 1
	}
	f, ok := t.ScalarN(n)
	if !ok {
		s.errorf(e.I.Where(), "%s has %d fields, there is no [%d]: %s", t, per, n, fieldList(t.Scalars()))
		return operand{}
	}
	p.Offset += f.Offset
	p.Type = f.Type
	return operand{pos: e.Pos, typ: f.Type, place: &p, bit: f.BitOffset, bits: f.BitSize, byNumber: true}
}

// load reads the scalar at a place; objects stay where they are.
func (s *scope) load(o operand, src string) operand {
	if o.place == nil || o.expr != nil {
		return o
	}
	o.src = src
	if f, ok := o.typ.Smart(); ok {
		whole, in := o, *o.place
		in.Offset, in.Type = in.Offset+f.Offset, f.Type
		o.typ, o.place, o.smart = f.Type, &in, &whole
	}
	if o.aggregate() {
		o.kind = kindRef
		o.expr = &AddrOf{Src: src, Place: *o.place}
		o.node = s.nodeOf(o.typ, nil)
		return o
	}
	if o.typ.Kind == types.Opaque && o.typ.Size < 0 {
		s.errorf(o.pos, "`%s` is %s, of which only the name is known: clang leaves out what a library defines, unless told -fstandalone-debug", src, o.typ)
		return operand{}
	}
	if !o.readable() {
		s.errorf(o.pos, "`%s` is %s, which cannot be read", src, o.typ)
		return operand{}
	}
	cell, owner := s.cellAt(&o)
	ld := &Load{Src: src, Place: *o.place, Type: o.typ, BitOffset: o.bit, BitSize: o.bits}
	ld.Weak = o.smart != nil && o.smart.typ.IsWeak()
	o.kind = kindNumber
	if o.typ.Kind == types.Pointer {
		o.kind = kindRef
		o.node = s.nodeOf(pointee(o.typ), owner)
	}
	if owner == nil {
		cell, owner = s.taggedBehind(&o)
	}
	word := cell != nil && o.kind == kindNumber && o.typ.Size == 8 && o.bits == 0 && s.tagged[tagKey{owner, cell.Name}]
	if word { // an integer that holds a pointer
		o.kind = kindRef
		o.node = s.nodeOf(cell.Elem, owner)
		o.typ = &types.Type{Kind: types.Pointer, Size: 8, Elem: cell.Elem}
		if cell.Elem != owner.Layout { // where a place behind it begins, taggedBehind asks
			ld.Type = o.typ
		}
	}
	if cell != nil && o.kind == kindRef { // not another member of a union
		o.cell = cell
		ld.Coded = cell.Coded
		if cell.Conditional() {
			ld.Place.Cell = cell
		}
	}
	ld.To = o.node
	o.expr = ld
	return o
}

func (o operand) readable() bool {
	if o.typ == nil {
		return false
	}
	switch o.typ.Kind {
	case types.Int, types.Uint, types.Bool, types.Float, types.Enum, types.Pointer:
		return true
	}
	return false
}

// cellAt finds the edge cell that an operand's place belongs to, and the type it is of. In
// a union several may lie there: the one of the same path is meant, and none if another
// member has the place that leads to something else.
func (s *scope) cellAt(o *operand) (*EdgeCell, *NodeType) {
	owner := s.ownerOf(o.place.Base)
	if owner == nil {
		return nil, nil
	}
	var found *EdgeCell
	for i := range owner.Edges {
		cell := &owner.Edges[i]
		if _, ok := cell.Element(o.place.Offset); !ok {
			continue
		}
		if cell.Name == o.path {
			return cell, owner
		}
		if found == nil {
			found = cell
		}
	}
	if found != nil && o.path != "" && o.typ.Kind == types.Pointer && found.Elem != nil && !sameType(found.Elem, pointee(o.typ)) {
		found = nil
	}
	return found, owner
}

// taggedBehind finds the tagged word that an operand's place belongs to where a pointer leads to a member
// of nodes, as the links of an intrusive tree do, and a type of nodes that has it. All types that have such
// a member have to say the same of it: it is not told which of them is meant.
func (s *scope) taggedBehind(o *operand) (cell *EdgeCell, owner *NodeType) {
	ld, ok := o.place.Base.(*Load)
	if !ok || ld.Type == nil || ld.Type.Kind != types.Pointer || ld.Type.Elem == nil || len(o.place.Steps) > 0 {
		return nil, nil
	}
	for _, n := range s.spec.Types {
		for _, at := range membersOf(n.Layout, ld.Type.Elem, 0, 0) {
			here := taggedAt(n, at+o.place.Offset)
			if here == nil || cell != nil && (here.Coded != cell.Coded || !sameType(here.Elem, cell.Elem)) {
				return nil, nil
			}
			cell, owner = here, n
		}
	}
	return cell, owner
}

// taggedAt returns the tagged cell of a node at an offset, nil if there is none, or not always.
func taggedAt(n *NodeType, offset int64) *EdgeCell {
	for i := range n.Edges {
		cell := &n.Edges[i]
		if _, ok := cell.Element(offset); ok && cell.Coded != coded.Plain && !cell.Conditional() {
			return cell
		}
	}
	return nil
}

// membersOf returns the offsets of the parts of t that are of type part, at any depth; not those in arrays.
func membersOf(t, part *types.Type, from int64, depth int) (at []int64) {
	if t == nil || depth > maxNesting || !part.HasMembers() {
		return nil
	}
	for _, m := range t.Members {
		switch {
		case m.Type == nil, m.Offset < 0:
		case sameType(m.Type, part):
			at = append(at, from+m.Offset)
		default:
			at = append(at, membersOf(m.Type, part, from+m.Offset, depth+1)...)
		}
	}
	return at
}

// ownerOf returns the type of the node that a place starts at.
func (s *scope) ownerOf(base Expr) *NodeType {
	switch b := base.(type) {
	case *Node:
		return b.Type
	case *Load:
		return b.To
	case *FieldN:
		return b.Of
	case *GlobalRef:
		return s.nodeOf(b.Layout, nil)
	}
	return nil
}
