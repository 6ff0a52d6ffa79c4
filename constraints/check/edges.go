package check

import (
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/syntax"
	"mgtrace/cxxname"
	"mgtrace/mgpp/coded"
	"mgtrace/types"
)

// maxNesting bounds walks over members within members: damaged debug
// information may nest without end.
const maxNesting = 64

// maxCells bounds the edge cells of a type. Arrays are one cell, so that only
// arrays of structures with arrays of pointers come near it.
const maxCells = 4096

// wordType is the element of an array of unknown elements.
func wordType() *types.Type { return &types.Type{Kind: types.Int, Name: "long", Size: 8, Signed: true} }

// elem returns the type that an array's block consists of.
func (t *NodeType) elem() *types.Type {
	if t.Elem == nil && t.Array {
		t.Elem = wordType()
	}
	return t.Elem
}

// edgeCells lists the pointer cells of every type, those that count first.
func (c *checker) edgeCells() {
	tagged := map[*NodeType][]EdgeCell{}
	for _, s := range c.file.Stmts {
		if g, ok := s.(*syntax.Tag); ok {
			c.tag(g, tagged)
		}
	}
	c.embeds()
	for _, s := range c.file.Stmts {
		d, ok := s.(*syntax.TypeDecl)
		if !ok || c.types[d.Name] == nil || c.types[d.Name].Edges != nil {
			continue
		}
		t := c.types[d.Name]
		c.listEdges(t, d, tagged[t])
	}
}

// listEdges fills Edges and Default of one type.
func (c *checker) listEdges(t *NodeType, d *syntax.TypeDecl, tagged []EdgeCell) {
	var cells []EdgeCell
	switch {
	case t.Array:
		cells = pointerCells(&types.Type{Kind: types.Array, Elem: t.elem(), Count: -1, Size: -1}, 0)
	case t.Layout != nil:
		cells = pointerCells(t.Layout, 0)
	default:
		if d.List != nil {
			c.noLayout(t, d.List[0].Pos)
		}
		return
	}
	if len(cells) > maxCells {
		c.errorf(d.Pos, "%s has more than %d pointers that lie apart: declare the part of it that matters", t.Name, maxCells)
		return
	}
	qualifyHidden(t.Layout, cells)
	cells = c.withoutEmbedded(t, withTags(c.alternatives(t, d, cells), tagged))
	if d.List == nil {
		for _, cell := range cells {
			if c.canBeEdge(cell) {
				t.Edges = append(t.Edges, c.withPart(cell))
			}
		}
		t.Default = len(t.Edges)
		return
	}
	chosen := make([]bool, len(cells))
	for _, p := range d.List {
		c.choose(t, cells, chosen, p)
	}
	for _, first := range [2]bool{true, false} {
		for i, cell := range cells {
			if chosen[i] == first && (first || c.canBeEdge(cell)) {
				t.Edges = append(t.Edges, c.withPart(cell))
			}
		}
		if first {
			t.Default = len(t.Edges)
		}
	}
}

// choose marks the cells that a name of an edge list stands for: a pointer, an
// array of them, or all pointers of a member.
func (c *checker) choose(t *NodeType, cells []EdgeCell, chosen []bool, p syntax.Path) {
	found := false
	for i, cell := range cells {
		if names(p.Name, cell.Name) {
			chosen[i], found = true, true
		}
	}
	if found {
		return
	}
	if t.Layout != nil {
		if _, err := t.Layout.Find(p.Name); err == nil {
			c.errorf(p.Pos, "`%s` is no pointer, so it is no edge; if the word holds one, say `tag %s.%s & 0;`", p.Name, t.Name, p.Name)
			return
		}
	}
	c.errorf(p.Pos, "%s has no pointer field `%s`%s", t.Name, p.Name, didYouMeanOrList(p.Name, cellNames(cells)))
}

// names reports whether a name of an edge list stands for a cell.
func names(name, cell string) bool {
	name, cell = cxxname.Normal(name), cxxname.Normal(cell)
	return cell == name || strings.HasPrefix(cell, name+".")
}

func cellNames(cells []EdgeCell) []string {
	var list []string
	for _, cell := range cells {
		list = addOnce(list, cell.Name)
	}
	return list
}

// pointerCells lists every pointer of a layout, arrays as one cell, a virtual
// table's pointer excepted.
func pointerCells(t *types.Type, depth int) []EdgeCell {
	if depth > maxNesting {
		return nil
	}
	switch t.Kind {
	case types.Pointer:
		return []EdgeCell{{Count: 1, Stride: 8, Elem: pointee(t)}}
	case types.Struct, types.Union:
		var out []EdgeCell
		smart, isSmart := t.Smart()
		if begin, end, ok := t.Vector(); ok { // its other pointers lead behind elements, to none
			return []EdgeCell{{Offset: begin.Offset, Count: 1, Stride: 8, Elem: pointee(begin.Type), Fills: endedBy(end.Offset - begin.Offset)}}
		}
		if cells, ok := variantCells(t, depth); ok {
			return cells
		}
		if strings.HasPrefix(t.Name, "std::enable_shared_from_this<") { // leads to the object itself
			return nil
		}
		flag, isOptional := engaged(t)
		for _, m := range t.Members {
			if m.VTable || m.BitSize > 0 || m.Type == nil {
				continue
			}
			for _, cell := range pointerCells(m.Type, depth+1) {
				cell.Name = join(m, cell.Name)
				cell.Offset += m.Offset
				if isSmart && cell.Offset == smart.Offset {
					cell.Name = "" // its own name is that of the whole
					cell.Weak = t.IsWeak()
				}
				if isOptional {
					cell.holds(flag, 1)
				}
				if pointsInside(t) {
					cell.Own = Span{-cell.Offset, t.Size - cell.Offset}
				}
				if t.Kind == types.Union {
					cell.InUnion = true
				}
				if out = append(out, cell); len(out) > maxCells {
					return out
				}
			}
		}
		return out
	case types.Array:
		return arrayCells(t, depth)
	}
	return nil
}

// qualifyHidden has the pointers of a class's bases called "Base::x" whose plain name means another field.
func qualifyHidden(t *types.Type, cells []EdgeCell) {
	if t == nil || !slices.ContainsFunc(t.Members, func(m types.Member) bool { return m.Base }) {
		return
	}
	hidden := map[int64]string{}
	for _, s := range t.Scalars() {
		if strings.Contains(s.Path, "::") {
			hidden[s.Offset] = s.Path
		}
	}
	for i := range cells {
		if name, ok := hidden[cells[i].Offset]; ok && strings.HasSuffix(name, "::"+cells[i].Name) {
			cells[i].Name = name
		}
	}
}

// arrayCells repeats the cells of the element. An array within the element
// becomes one cell for each of its own elements, unless nothing lies between.
func arrayCells(t *types.Type, depth int) []EdgeCell {
	if t.Elem == nil || t.Elem.Size <= 0 || t.Count == 0 {
		return nil
	}
	var out []EdgeCell
	for _, cell := range pointerCells(t.Elem, depth+1) {
		if cell.Count == 1 {
			cell.Count, cell.Stride = t.Bound(), t.Elem.Size
			out = append(out, cell)
			continue
		}
		if cell.Offset == 0 && cell.Count*cell.Stride == t.Elem.Size {
			if cell.Count *= t.Count; t.Bound() < 0 {
				cell.Count = -1
			}
			out = append(out, cell)
			continue
		}
		for i := int64(0); i < cell.Count && len(out) <= maxCells; i++ {
			one := cell
			one.Offset, one.Count, one.Stride = cell.Offset+i*cell.Stride, t.Bound(), t.Elem.Size
			out = append(out, one)
		}
	}
	return out
}

func join(m types.Member, rest string) string {
	switch {
	case m.Base || m.Name == "":
		return rest
	case rest == "":
		return m.Name
	}
	return m.Name + "." + rest
}

// alternatives drops of the pointers that begin at one place of a union all but the first
// that can be an edge, and those that an edge list or "cells" names: these say which of
// them is meant, or when.
func (c *checker) alternatives(t *NodeType, d *syntax.TypeDecl, cells []EdgeCell) []EdgeCell {
	var said []string
	for _, p := range d.List {
		said = append(said, p.Name)
	}
	for _, s := range c.file.Stmts {
		if k, ok := s.(*syntax.Cells); ok && c.types[k.Type.Name] == t {
			said = append(said, k.Field.Name)
		}
	}
	named := func(cell *EdgeCell) bool {
		return slices.ContainsFunc(said, func(name string) bool { return names(name, cell.Name) })
	}
	first := map[int64]int{} // by place, of what is in unions: the one that is kept
	for i := range cells {
		if cell := &cells[i]; cell.InUnion {
			if k, ok := first[cell.Offset]; !ok || !c.canBeEdge(cells[k]) && c.canBeEdge(*cell) {
				first[cell.Offset] = i
			}
		}
	}
	var out []EdgeCell
	for i := range cells {
		if cell := &cells[i]; !cell.InUnion || first[cell.Offset] == i || named(cell) {
			out = append(out, *cell)
		}
	}
	return out
}

// pointee is what a pointer leads to, nil for void.
func pointee(t *types.Type) *types.Type {
	if t.Elem == nil || t.Elem.Kind == types.Void {
		return nil
	}
	return t.Elem
}

// canBeEdge: pointers to declared types, to members and bases of them or to what derives
// from them, void pointers, and tagged words.
func (c *checker) canBeEdge(cell EdgeCell) bool {
	if cell.Elem == nil || cell.Coded != coded.Plain || c.nodeOf(cell.Elem, nil) != nil {
		return true
	}
	for _, t := range c.spec.Types {
		if holds(t.Layout, cell.Elem, 0) || holds(t.Elem, cell.Elem, 0) || t.isBase(cell.Elem) {
			return true
		}
	}
	return false
}

// withPart says of a cell whether what it points to is a node, or part of one.
func (c *checker) withPart(cell EdgeCell) EdgeCell {
	cell.Part = cell.Elem != nil && c.nodeOf(cell.Elem, nil) == nil
	return cell
}

// isBase reports whether a class derives from the type.
func (t *NodeType) isBase(class *types.Type) bool {
	if t.Layout == nil {
		return false
	}
	_, ok := class.Base(func(b *types.Type) bool { return sameType(t.Layout, b) })
	return ok
}

// holds reports whether a part of t, at any depth, is of type part.
func holds(t, part *types.Type, depth int) bool {
	if t == nil || depth > maxNesting || !part.HasMembers() {
		return false
	}
	for _, m := range t.Members {
		x := m.Type
		for x != nil && x.Kind == types.Array {
			x = x.Elem
		}
		if x != nil && (sameType(x, part) || holds(x, part, depth+1)) {
			return true
		}
	}
	return false
}

// sameType compares types of different compilation units, or of the file and
// the program: by name where they have one.
func sameType(a, b *types.Type) bool {
	switch {
	case a == b:
		return true
	case a == nil || b == nil:
		return false
	case a.Kind == types.Pointer && b.Kind == types.Pointer:
		x, y := pointee(a), pointee(b)
		return x == nil && y == nil || sameType(x, y)
	}
	aggregate := func(t *types.Type) bool {
		return t.HasMembers() || t.Kind == types.Opaque
	}
	if aggregate(a) && aggregate(b) {
		return a.Name != "" && cxxname.Normal(a.Name) == cxxname.Normal(b.Name)
	}
	return a.Kind == b.Kind && a.Size == b.Size && !aggregate(a) && a.Kind != types.Array && a.Kind != types.Void
}

// nodeOf returns the declared type of the nodes that a pointer to t points to,
// nil if there is none. Where several fit, prefer wins.
func (c *checker) nodeOf(t *types.Type, prefer *NodeType) *NodeType {
	if t == nil {
		return nil
	}
	if prefer != nil && isNode(prefer, t) && !(prefer.Array && slices.ContainsFunc(c.spec.Types, prefer.rowOf)) {
		return prefer
	}
	for _, array := range [2]bool{false, true} {
		for _, n := range c.spec.Types {
			if n.Array == array && isNode(n, t) {
				return n
			}
		}
	}
	return nil
}

func isNode(n *NodeType, t *types.Type) bool {
	if n.Array {
		return n.Elem != nil && sameType(n.Elem, t)
	}
	if n.Layout != nil && sameType(n.Layout, t) {
		return true
	}
	aggregate := t.HasMembers() || t.Kind == types.Opaque
	return aggregate && t.Name != "" && cxxname.Normal(t.Name) == n.Source
}

// tag resolves "tag T.f & mask;" and "tag T.f ^ ADDRESS >> shift;".
func (c *checker) tag(g *syntax.Tag, tagged map[*NodeType][]EdgeCell) {
	sc := &scope{checker: c}
	t, as := c.typeOf(g.Type), coded.Plain
	if g.Shift != nil {
		shift := sc.integer(g.Shift)
		if t == nil || shift == nil {
			return
		}
		if shift.Int < 1 || shift.Int > 63 {
			c.errorf(g.Shift.Where(), "an address is shifted by 1 to 63 bits")
			return
		}
		as.Shift = uint8(shift.Int)
	} else {
		mask := sc.integer(g.Mask)
		if t == nil || mask == nil {
			return
		}
		as.Tags = uint64(mask.Int)
	}
	if t.Layout == nil {
		c.noLayout(t, g.Type.Pos)
		return
	}
	p, ok := c.fieldPath(t, g.Field)
	if !ok {
		return
	}
	cell := EdgeCell{Name: g.Field.Name, Offset: p.Offset, Count: 1, Stride: 8, Coded: as}
	x := p.Type
	if x.Kind == types.Array && x.Elem != nil {
		cell.Count, cell.Stride, x = x.Count, x.Elem.Size, x.Elem
	}
	if x.Size != 8 || p.BitSize > 0 {
		c.errorf(g.Field.Pos, "`%s` is %s, which is too small for a pointer", g.Field.Name, x)
		return
	}
	if x.Kind == types.Pointer {
		cell.Elem = pointee(x)
	} else {
		cell.Elem = t.Layout
		if within := enclosing(t.Layout, p.Offset); within != nil {
			cell.Elem = within
		}
		c.tagged[tagKey{t, cell.Name}] = true
	}
	tagged[t] = append(tagged[t], cell)
}

// enclosing returns the innermost member of a node that has a name for its type and the word at offset in
// it, nil if it is the node's own or of a class that it derives from, or that member is the node's first: what such
// a word leads to is a member of its kind, as what the pointers beside it lead to.
func enclosing(t *types.Type, offset int64) (within *types.Type) {
	from := int64(0)
	for depth := 0; depth <= maxNesting; depth++ {
		at := slices.IndexFunc(t.Members, func(m types.Member) bool {
			return !m.Base && m.Type != nil && m.Type.Kind == types.Struct && m.Offset <= offset && offset < m.Offset+m.Type.Size
		})
		if at < 0 {
			break
		}
		m := &t.Members[at]
		t, offset, from = m.Type, offset-m.Offset, from+m.Offset
		if t.Name != "" && from > 0 {
			within = t
		}
	}
	return within
}

// fieldPath finds a field of t by its C path.
func (c *checker) fieldPath(t *NodeType, p syntax.Path) (types.Place, bool) {
	place, err := t.Layout.Find(p.Name)
	if err == nil {
		return place, true
	}
	c.errorf(p.Pos, "%s", strings.TrimSuffix(err.Error(), "."))
	return types.Place{}, false
}

// withTags puts the tagged words among the pointers.
func withTags(cells, tagged []EdgeCell) []EdgeCell {
	for _, tag := range tagged {
		placed := false
		for i := range cells {
			if cells[i].Offset == tag.Offset {
				cells[i].Coded = cells[i].Coded.With(tag.Coded)
				placed = true
			}
		}
		if !placed {
			cells = append(cells, tag)
		}
	}
	return cells
}

// embeds resolves "embed T in Host at f;".
func (c *checker) embeds() {
	for _, s := range c.file.Stmts {
		e, ok := s.(*syntax.Embed)
		if !ok || e.Global != nil {
			continue
		}
		t, host := c.typeOf(e.Type), c.typeOf(e.Host)
		if t == nil || host == nil {
			continue
		}
		if host.Layout == nil {
			c.noLayout(host, e.Host.Pos)
			continue
		}
		for _, m := range c.membersAt(host, e.Member, t) {
			c.spec.Embeds = append(c.spec.Embeds, Embed{Type: t, Host: host, Member: e.Member.Name, Offset: m.Offset, Pos: e.Pos})
		}
	}
}

// membersAt returns the members of host of type t that a path leads to. An array on its
// way stands for its elements.
func (c *checker) membersAt(host *NodeType, path syntax.Path, t *NodeType) []types.Place {
	isT := func(m *types.Type) bool { return isNode(t, m) }
	members := []types.Place{{Type: host.Layout}}
	for step := range strings.SplitSeq(path.Name, ".") {
		var next []types.Place
		for _, m := range members {
			p, err := m.Type.Find(step)
			if err != nil {
				c.errorf(path.Pos, "%s", strings.TrimSuffix(err.Error(), "."))
				return nil
			}
			p.Offset += m.Offset
			next = appendElements(next, p, isT)
		}
		members = next
	}
	switch {
	case len(members) == 0:
		c.errorf(path.Pos, "`%s.%s` has no fixed number of elements", host.Name, path.Name)
	case len(members) > maxCells:
		c.errorf(path.Pos, "`%s.%s` has more than %d elements", host.Name, path.Name, maxCells)
		return nil
	case !isT(members[0].Type):
		c.errorf(path.Pos, "`%s.%s` is %s, not %s", host.Name, path.Name, members[0].Type, t.Name)
		return nil
	}
	return members
}

// appendElements appends p or, if it is an array, its elements, down to those that are
// meant or have none, and not much more than maxCells.
func appendElements(to []types.Place, p types.Place, meant func(*types.Type) bool) []types.Place {
	if p.Type.Kind != types.Array || p.Type.Elem == nil || meant(p.Type) {
		return append(to, p)
	}
	for i := int64(0); i < p.Type.Count && len(to) <= maxCells; i++ {
		to = appendElements(to, types.Place{Type: p.Type.Elem, Offset: p.Offset + i*p.Type.Elem.Size}, meant)
	}
	return to
}

// withoutEmbedded drops the cells that belong to an embedded node.
func (c *checker) withoutEmbedded(t *NodeType, cells []EdgeCell) []EdgeCell {
	var out []EdgeCell
	for _, cell := range cells {
		inside := false
		for _, e := range c.spec.Embeds {
			if e.Host == t && e.Type.Layout != nil && cell.Offset >= e.Offset && cell.Offset < e.Offset+e.Type.Layout.Size {
				inside = true
			}
		}
		if !inside {
			out = append(out, cell)
		}
	}
	return out
}

// noLayoutOf is by what it is known that noLayout has spoken of a type, or need not.
func noLayoutOf(t *NodeType) string { return "layout " + t.Name }

// noLayout says, once for each type, that its fields are not known.
func (c *checker) noLayout(t *NodeType, pos syntax.Pos) {
	how := "declare it here (" + fmt.Sprintf("struct %s { … };", t.Name) + ") or check together with the program"
	switch {
	case c.prog != nil && c.onlyDeclared(t):
		how = "the program only declares it; if a library of yours defines it, name that with --module LIBRARY"
	case c.prog != nil && len(c.prog.TypeNames()) == 0:
		how = "the program has no debug information about types: compile it with -g, or declare it here: " + fmt.Sprintf("struct %s { … };", t.Name)
	case c.prog != nil:
		how = "declare it here: " + fmt.Sprintf("struct %s { … };", t.Name)
	}
	c.once(noLayoutOf(t), pos, "the layout of %s is not known: %s", t.Name, how)
}

// conditionalCells resolves "cells T: f[lo..hi] if e;".
func (c *checker) conditionalCells() {
	said := map[*EdgeCell]string{}
	for _, s := range c.file.Stmts {
		d, ok := s.(*syntax.Cells)
		if !ok {
			continue
		}
		t := c.typeOf(d.Type)
		if t == nil {
			continue
		}
		if t.Layout == nil {
			c.noLayout(t, d.Type.Pos)
			continue
		}
		c.cells(t, d, said)
	}
}

// cells resolves one; said is by which name each cell was said something of. What is said of one name again holds as well; of another
// one, as of a member of what was named, it holds instead.
func (c *checker) cells(t *NodeType, d *syntax.Cells, said map[*EdgeCell]string) {
	found := false
	sc := &scope{checker: c, fieldsOf: t, slots: 1}
	var lo, hi, cond Expr
	if d.Lo != nil {
		lo, hi = sc.number(d.Lo), sc.number(d.Hi)
	}
	if d.Cond != nil {
		cond = sc.condition(d.Cond)
	}
	for i := range t.Edges {
		cell := &t.Edges[i]
		if !names(d.Field.Name, cell.Name) {
			continue
		}
		found = true
		if d.Lo != nil && cell.Count == 1 {
			c.fills(cell, d, lo, hi, cond)
			continue
		}
		if said[cell] != d.Field.Name {
			cell.Used, said[cell] = nil, d.Field.Name
		}
		cell.Used = append(cell.Used, Used{lo, hi, cond})
	}
	if !found {
		c.errorf(d.Field.Pos, "`%s` is no pointer of %s that can be an edge%s", d.Field.Name, t.Name, didYouMeanOrList(d.Field.Name, cellNames(t.Edges)))
	}
}
