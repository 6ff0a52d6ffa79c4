package mine

import (
	"slices"
	"strconv"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
	"mgtrace/types"
)

// table is an array that a node has: a member, or a block that a field leads to.
type table struct {
	name  string      // of the field: "bucket"
	elem  *types.Type // of the elements
	block string      // the ARRAY type of the block; "": the array is a member
	count int64       // of a member: its elements
	row   *row        // what its numbers are the places of; nil: it has no such
	first *field      // where those of these begin that are in use; nil: with the first
	knows bool        // how many elements it has: a vector
	room  int64       // of a block: the most elements that any was seen to have behind the pointer; 0: none was seen
	// far are the numbers in the elements that were seen to be no places of other elements: behind the end of their block.
	far map[string]bool
	// linked are those of them that were seen to be a place, as one that links elements is.
	linked map[string]bool
	// masks says of numbers of the node whether each was one less than the number of elements, and that a power of two.
	masks map[string]bool
	// lengths says of them whether each was the number of elements.
	lengths map[string]bool
	// short are the numbers of the node that are not how many elements of pointers are in use: one of these lay behind so many.
	short map[string]bool
}

// maxTables bounds the arrays of a type that laws are made of.
const maxTables = 8

// blocks declares ARRAY types for what the nodes' pointers may lead to: blocks of
// pointers to nodes, of numbers, and of structures that are no nodes. One that the
// language refuses is none.
func (m *mining) blocks(spec *check.Spec) {
	var elems []*types.Type
	for _, nt := range spec.Types {
		if nt.Array {
			elems = append(elems, nt.Elem)
		}
	}
	declare := func(e *types.Type, name string) {
		if slices.ContainsFunc(elems, func(o *types.Type) bool { return sameElem(e, o) }) {
			return
		}
		for _, text := range elemTexts(e, spec.Types) {
			d := typeDecl{name: unused(name+"_array", m.head.names()), elem: text}
			m.head.types = append(m.head.types, d)
			if _, errs := load(m.head.text(), m.run.Program); len(errs) == 0 {
				elems = append(elems, e)
				return
			}
			m.head.types = m.head.types[:len(m.head.types)-1]
		}
	}
	for _, nt := range spec.Types {
		if nt.Array || nt.Layout == nil {
			continue
		}
		for _, s := range nt.Layout.Scalars() {
			if s.Type != nil && s.Type.Kind == types.Pointer && s.Type.Elem != nil && !s.VTable && !internal(s.Path) && !strings.Contains(s.Path, "[") {
				declare(s.Type.Elem, s.Path[strings.LastIndexByte(s.Path, '.')+1:])
			}
		}
	}
	for _, v := range m.run.Globals {
		if elem, n := tableIn(v.Type); elem != nil && n == 0 && ofNodes(elem.Elem, spec.Types) {
			declare(elem, v.Name)
		}
	}
}

// withoutBlocks drops the arrays of pointers that no block is, and says whether there were
// any: a pointer to a pointer may lead into a node, as that of sys/queue.h does, and would
// be an edge in the trials, which declare the array, and none in what is written. Of structures it drops those of which each block holds one:
// that is an object of its own.
func (m *mining) withoutBlocks(g *graph.Graph) bool {
	n := len(m.head.types)
	several := severalIn(g)
	m.head.types = slices.DeleteFunc(m.head.types, func(d typeDecl) bool {
		if strings.HasSuffix(d.elem, "*") {
			return !d.given && m.land.births[d.name] == 0
		}
		return !d.given && m.land.births[d.name] > 0 && slices.ContainsFunc(g.Spec().Types, func(t *check.NodeType) bool {
			return t.Name == d.name && t.Array && t.Elem.Kind == types.Struct && !several[t]
		})
	})
	return len(m.head.types) < n
}

// severalIn are the array types of which a block ever held more than one element.
func severalIn(g *graph.Graph) map[*check.NodeType]bool {
	several := map[*check.NodeType]bool{}
	for o := graph.ObjID(1); int(o) <= g.Objects(); o++ {
		if b := g.Object(o); b.Type != nil && b.Type.Array && b.Type.Elem != nil {
			two := 2 * uint64(b.Type.Elem.Size)
			several[b.Type] = several[b.Type] || b.Size >= two || g.Size(o, b.Birth) >= two
		}
	}
	return several
}

// manifold lists the types whose blocks hold several of them, one behind the other: they
// are the elements of arrays. Where their own links lead to the beginning of each block, and nowhere else into one, they are nodes with
// something behind them, as chunks of an arena are.
func (m *mining) manifold(t *trial) []string {
	var out []string
	for i, nt := range t.spec.Types {
		if nt.Array || nt.Layout == nil || nt.Layout.Size <= 0 || m.head.types[i].given {
			continue
		}
		blocks, several, begins, within := 0, 0, 0, 0
		for _, at := range times(m.looks) {
			v := m.run.History.At(at)
			for _, o := range t.graph.Live(nt, at, nil) {
				blocks++
				for _, s := range nt.Layout.PointerFields() {
					to := v.Target(t.graph.Object(o).Addr+trace.Addr(s.Offset), coded.Plain)
					switch {
					case !sameStruct(s.Type.Elem, nt.Layout) || to.State != mgpp.Points:
					case to.Offset == 0:
						begins++
					default:
						within++
					}
				}
				if n := int64(t.graph.Size(o, at)); n >= 2*nt.Layout.Size && n%nt.Layout.Size == 0 {
					several++
				}
			}
		}
		if several > 0 && several == blocks && (begins == 0 || within > 0) {
			out = append(out, nt.Name)
		}
	}
	return out
}

// elemTexts are the ways to write the type of the elements of an array; none: it is no
// array that laws are made of.
func elemTexts(e *types.Type, nodes []*check.NodeType) []string {
	node := func(t *types.Type) *check.NodeType {
		for _, n := range nodes {
			if sameStruct(t, n.Layout) {
				return n
			}
		}
		return nil
	}
	switch e.Kind {
	case types.Int, types.Uint:
		if e.Size > 1 { // a block of characters is a text
			return []string{e.Name}
		}
	case types.Pointer:
		if n := node(e.Elem); n != nil {
			return []string{n.Name + " *"}
		}
		if e.Elem == nil || e.Elem.Kind == types.Void {
			return []string{"void *"}
		}
	case types.Struct:
		if to := pointee(e); to != nil {
			if node(to) != nil {
				return []string{strconv.Quote(e.Name)}
			}
			return nil
		}
		if node(e) == nil && PlainName(e.Name) && !slices.ContainsFunc(nodes, func(n *check.NodeType) bool { return within(e, n.Layout) || derives(e, n.Layout) }) {
			return []string{"struct " + e.Name, e.Name}
		}
	}
	return nil
}

// derives reports whether a class has another one among its bases: its objects are nodes of that one's type.
func derives(class, from *types.Type) bool {
	_, ok := class.Base(func(b *types.Type) bool { return sameStruct(b, from) })
	return ok
}

// within reports whether a type is that of a member of another: pointers to it lead into
// that.
func within(t, whole *types.Type) bool {
	return whole != nil && slices.ContainsFunc(whole.Members, func(m types.Member) bool { return sameStruct(t, m.Type) || within(t, m.Type) })
}

func sameElem(a, b *types.Type) bool {
	if a == nil || b == nil || a.Kind != b.Kind {
		return false
	}
	if a.Kind == types.Pointer {
		void := func(t *types.Type) bool { return t == nil || t.Kind == types.Void }
		return void(a.Elem) && void(b.Elem) || sameElem(a.Elem, b.Elem)
	}
	return a.Name == b.Name && a.Size == b.Size
}

// tablesOf lists the arrays of a type.
func tablesOf(t *check.NodeType, all []*check.NodeType) []*table {
	var out []*table
	if t.Layout == nil || t.Array {
		return nil
	}
	for _, s := range t.Layout.Scalars() {
		if s.Type == nil || s.Type.Kind != types.Pointer || strings.Contains(s.Path, "[") || internal(s.Path) {
			continue
		}
		for _, n := range all {
			if n.Array && sameElem(s.Type.Elem, n.Elem) {
				out = append(out, &table{name: s.Path, elem: n.Elem, block: n.Name, knows: s.End != 0})
			}
		}
	}
	for i := range t.Edges {
		if c := &t.Edges[i]; c.Count > 1 && c.Elem != nil && !sameStruct(c.Elem, t.Layout) {
			out = append(out, &table{name: c.Name, elem: &types.Type{Kind: types.Pointer, Elem: c.Elem}, count: c.Count})
		}
	}
	return out[:min(len(out), maxTables)]
}

// measure takes the room of an array: the most elements that there were behind a field's pointer to the end of the block that it leads to,
// in the nodes that were looked at, of which owners tells the addresses, and which numbers in them lead beyond it. That may be a block of another type, or one that several such
// pointers lead into.
func (m *mining) measure(of *types.Type, a *table, owners func(moment) []trace.Addr) {
	place, err := of.Find(a.name)
	if a.block == "" || err != nil || a.elem.Size <= 0 {
		return
	}
	a.far, a.linked, a.masks, a.lengths, a.short = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, look := range m.looks {
		v := m.run.History.At(look.at)
		for _, owner := range owners(look) {
			to := v.Target(owner+trace.Addr(place.Offset), coded.Plain)
			if n, ok := v.Node(to.Node); ok && to.State == mgpp.Points {
				count := int64(n.Size-to.Offset) / a.elem.Size
				a.room = max(a.room, count)
				a.beyond(v, n.Start+trace.Addr(to.Offset), count)
				a.masked(v, owner, of, count)
				a.behind(v, owner, of, n.Start+trace.Addr(to.Offset), count)
			}
		}
	}
}

// owners tells the addresses of the nodes of a type.
func (t *trial) owners(of *check.NodeType) func(moment) []trace.Addr {
	return func(m moment) (at []trace.Addr) {
		for _, o := range t.graph.Live(of, m.at, nil) {
			at = append(at, t.graph.Object(o).Addr)
		}
		return at
	}
}

// beyond notes the numbers in elements of a block that are no places in it, and those that are. A few bits hold none.
func (a *table) beyond(v mgpp.View, first trace.Addr, count int64) {
	for _, f := range numbersIn(a.elem) {
		s, err := a.elem.Find(f[1:])
		if err != nil || s.BitSize > 0 || s.Type.Kind == types.Float || s.Type.Size > 8 {
			continue
		}
		for i := int64(0); i < min(count, maxMeasured) && !a.far[f]; i++ {
			n, ok := word(v, first+trace.Addr(i*a.elem.Size+s.Offset), s.Type.Size)
			negative := s.Type.Kind == types.Int && n>>(8*s.Type.Size-1) == 1
			a.far[f] = ok && !negative && n >= uint64(count)
			a.linked[f] = a.linked[f] || ok && !negative && (n != 0 || s.Type.Kind == types.Int)
		}
	}
}

// masked notes which numbers of a node are how many elements a block has, or masks of places in it.
func (a *table) masked(v mgpp.View, node trace.Addr, of *types.Type, count int64) {
	for _, s := range of.Scalars() {
		if s.Type == nil || !integer(s.Type) || s.BitSize > 0 || s.Size > 8 {
			continue
		}
		n, ok := word(v, node+trace.Addr(s.Offset), s.Size)
		note := func(all map[string]bool, is bool) {
			was, known := all[s.Path]
			all[s.Path] = ok && is && (was || !known)
		}
		note(a.masks, n+1 == uint64(count) && n&(n+1) == 0 && n >= leastMask)
		note(a.lengths, n == uint64(count))
	}
}

// behind notes which numbers of a node are less than the place of a pointer in a block that is not NULL, or as much.
func (a *table) behind(v mgpp.View, node trace.Addr, of *types.Type, first trace.Addr, count int64) {
	last := int64(-1)
	for i := min(count, maxMeasured) - 1; i > last && a.elem.Kind == types.Pointer; i-- {
		if n, ok := word(v, first+trace.Addr(8*i), 8); ok && n != 0 {
			last = i
		}
	}
	for _, s := range of.Scalars() {
		if s.Type == nil || last < 0 || s.BitSize > 0 || s.Size > 8 {
			continue
		}
		if n, ok := word(v, node+trace.Addr(s.Offset), s.Size); ok && n <= uint64(last) {
			a.short[s.Path] = true
		}
	}
}

// leastMask is the least number that is taken for a mask: smaller ones are soon one less than something.
const leastMask = 3

// maxMeasured bounds the elements of a block whose numbers are looked at.
const maxMeasured = 1024

// unseen: no pointer led to a block that is known. A law of its elements would be undefined, at each index up to what was taken for their number.
func (a *table) unseen() bool { return a.block != "" && a.room == 0 }

// fields are the names under which the array's cells are edges, in a list of fields.
func (a *table) fields() string {
	if a.block != "" {
		return a.block
	}
	return a.name
}

// pointee is what an element leads to that is a pointer, or a smart one; nil: it is none.
func pointee(elem *types.Type) *types.Type {
	if elem.Kind == types.Pointer {
		return elem.Elem
	}
	if _, _, vector := elem.Vector(); vector {
		return nil
	}
	if s, ok := elem.Smart(); ok {
		return s.Type.Elem
	}
	return nil
}
