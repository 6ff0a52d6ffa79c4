package mine

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

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
		if elem, n := tableIn(v.Type); elem != nil && n == 0 && leadsToAny(elem.Elem, spec.Types) {
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

var identifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_]\w*$`) })

// PlainName: a name as C has it, which a specification can say.
func PlainName(name string) bool { return identifier().MatchString(name) }

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

// arraysOf makes the candidates about arrays: how far they are filled, orders, heaps,
// places that elements know, buckets of hashes, arrays that are the inverse of others.
func (m *maker) arraysOf(tables []*table, others []*portrait) {
	for _, a := range tables {
		var target *portrait // what its elements lead to
		if to := pointee(a.elem); to != nil {
			for _, o := range others {
				if sameStruct(to, o.typ.Layout) {
					target = o
				}
			}
		}
		if m.name != ofFile { // their pointers are no edges
			m.hangs(a, target, others)
		}
		m.ended(a)
		sizes, long := m.sizes(a), int64(0)
		for _, n := range sizes {
			m.capacity(a, n)
			if a.most(n) > maxElements {
				long = max(long, a.most(n))
				continue
			}
			m.used(a, n)
			m.summed(a, n, target)
			if target != nil && a.block != "" {
				m.hung(a, n, target)
			}
			if target != nil && target.name() == m.name && a.block != "" {
				m.below(a, n)
			}
			if pointee(a.elem) != nil {
				rings := len(m.out)
				m.rings(a, n, sizes)
				around := m.out[rings:]
				c := m.add("filled "+a.name+" "+n.name, n.of(a.name)+" are not NULL", fmt.Sprintf("for I in 0 to %s, X.%s[I] != NULL", n.last(), a.name)).needs(a)
				c.need, c.family = 8, a.name
				for _, r := range around {
					c.implies = append(c.implies, r.key) // from an index on that leads out of the block nothing is asked
				}
			}
			if target != nil && a.knows && a.elem.Kind == types.Pointer { // that of a smart pointer is its own
				m.add("led "+a.name, "what the elements of "+a.name+" lead to is alive",
					fmt.Sprintf("for I in 0 to %s, X.%s[I] == NULL or (X.%s[I]).EXISTS == TRUE", n.last(), a.name, a.name)).needs(a).need = 8
			}
			for _, f := range values(a, target) {
				m.ordered(a, n, f, target)
				m.placed(a, n, f)
			}
			for _, f := range keys(a, target) {
				m.hashed(a, n, f)
			}
			for _, b := range tables {
				m.inverses(a, b, n)
			}
		}
		if target != nil {
			m.chained(a, target, sizes)
		}
		if long > 0 {
			m.long = append(m.long, fmt.Sprintf("%s.%s had %d elements: no more of it was tried than how many these are", m.name, a.name, long))
		}
	}
}

// maxElements bounds the arrays of which laws of their elements are tried: each is checked at each moment.
const maxElements = 1 << 13

// most is how many elements of the array there were at most by a number of them.
func (a *table) most(n size) int64 {
	if n.field == nil && n.count == 0 {
		return a.room // a vector's own
	}
	return n.most()
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

// maxFlags bounds the members of an element that may say that it is in use.
const maxFlags = 4

// used: a number says how many elements are in use: are not NULL, have a pointer or a flag in them that says so.
func (m *maker) used(a *table, n size) {
	var tests [][2]string // the name of the member and what it is in an element in use
	if pointee(a.elem) != nil {
		tests = append(tests, [2]string{"", " != NULL"})
	} else if integer(a.elem) {
		tests = append(tests, [2]string{"", " != 0"})
	} else if a.elem.Kind == types.Struct {
		for _, s := range a.elem.Scalars() {
			if s.Type == nil || s.VTable || strings.Contains(s.Path, "[") || internal(s.Path) || len(tests) >= maxFlags {
				continue
			}
			switch {
			case s.Type.Kind == types.Pointer:
				tests = append(tests, [2]string{"." + s.Path, " != NULL"})
			case s.Type.Kind == types.Bool, integer(s.Type):
				tests = append(tests, [2]string{"." + s.Path, " != 0"})
			case s.Type.Kind == types.Enum:
				for _, e := range s.Type.Enumerators[:min(len(s.Type.Enumerators), maxFlags)] {
					tests = append(tests, [2]string{"." + s.Path, " == " + e.Name})
				}
			}
			if integer(s.Type) {
				tests = append(tests, [2]string{"." + s.Path, " == 1"})
			}
		}
	}
	for _, f := range m.fields {
		if !f.counts() || f == n.field || n.count > 0 && f.max > n.count {
			continue
		}
		for _, t := range tests {
			element := fmt.Sprintf("X.%s[I]%s", a.name, t[0])
			is := element + t[1]
			sum := fmt.Sprintf("SUM(I in 0 to %s: %s ? 1 : 0)", n.last(), is)
			words := fmt.Sprintf("%s is the number of elements of %s that are in use: %s", f.name, a.name, strings.TrimSpace(strings.TrimPrefix(t[0], ".")+t[1]))
			c := m.compare(fmt.Sprintf("used %s %s %s%s %s", a.name, f.name, t[0], t[1], n.name), words, "", "X."+f.name, "==", sum, 0).needs(a)
			c.family, c.whole = "used "+a.name+f.name, n.field != nil && (n.mask || a.lengths[n.field.name])
			c.because("capacity "+a.name+" "+f.name+" <=", "lower "+f.name)
		}
	}
}

// summed: a number is the sum of one that the elements have, or what they lead to.
func (m *maker) summed(a *table, n size, target *portrait) {
	if n.field == nil && !a.knows {
		return
	}
	for _, f := range m.fields {
		for _, v := range values(a, target) {
			if !f.counts() || f == n.field || f.max < 2 {
				continue
			}
			element := fmt.Sprintf("X.%s[I]", a.name)
			of := element + v
			if pointee(a.elem) != nil {
				of = fmt.Sprintf("%s == NULL ? 0 : %s", element, of)
			}
			sum := fmt.Sprintf("SUM(I in 0 to %s: %s)", n.last(), of)
			c := m.compare(fmt.Sprintf("sum %s %s%s %s", f.name, a.name, v, n.name), fmt.Sprintf("%s is the sum of %s over %s", f.name, cmp.Or(strings.TrimPrefix(v, "."), "them"), n.of(a.name)), "", "X."+f.name, "==", sum, 0).needs(a)
			c.family = "sum " + f.name + a.name + v
		}
	}
}

// size is a number of elements: a field of the node, the length of a member, or what a
// vector says itself.
type size struct {
	name  string // in words; "": all
	text  string // in formulas
	field *field // nil: another
	count int64  // of a member; 0: another
	mask  bool   // the field is the index of the last element
}

// modulus is what numbers are taken modulo, by an array of so many elements.
func (n size) modulus() *modulus {
	switch {
	case n.field == nil:
		return &modulus{more: float64(n.count)}
	case n.mask:
		return &modulus{text: "H." + n.field.name, more: 1}
	}
	return &modulus{text: "H." + n.field.name}
}

// of says which elements of an array these are.
func (n size) of(array string) string {
	if n.name == "" {
		return "all elements of " + array
	}
	return "the first " + n.name + " of " + array
}

// last is the index of the last element.
func (n size) last() string {
	switch {
	case n.count > 0:
		return fmt.Sprint(n.count - 1)
	case n.mask:
		return "X." + n.field.name
	}
	return n.text + " - 1"
}

// most is the greatest number that it was.
func (n size) most() int64 {
	switch {
	case n.field == nil:
		return n.count
	case n.mask:
		return n.field.max + 1
	}
	return n.field.max
}

// sizes are the numbers of elements that an array may have, the smallest first. A vector
// has its own: what other numbers of the node are about is something else.
func (m *maker) sizes(a *table) []size {
	if a.knows {
		return []size{{text: "X." + a.name + ".COUNT"}}
	}
	var out []size
	if a.count > 0 {
		out = append(out, size{name: fmt.Sprint(a.count), text: fmt.Sprint(a.count), count: a.count})
	}
	for _, f := range m.fields {
		fits := (a.count == 0 || f.max <= a.count) && (a.room == 0 || f.max <= a.room)
		if a.masks[f.name] {
			out = append(out, size{name: f.name + " + 1", text: "(X." + f.name + " + 1)", field: f, mask: true})
		} else if integer(f.typ) && f.bits[1] == 0 && f.min >= 0 && f.max >= 2 && fits {
			out = append(out, size{name: f.name, text: "X." + f.name, field: f})
		}
	}
	slices.SortStableFunc(out, func(a, b size) int { return cmp.Compare(a.most(), b.most()) })
	return out
}

// needs says that a candidate is understood only with the type of an array's block.
func (c *candidate) needs(a *table) *candidate {
	if a.block != "" {
		c.arrays = append(c.arrays, a.block)
	}
	return c
}

// loop makes a comparison of the elements of an array.
func (m *maker) loop(key, words, lo, hi, left, op, right string, a *table) *candidate {
	c := m.compare(key, words, "", left, op, right, 0).needs(a)
	c.Text = fmt.Sprintf("%s X;  for I in %s to %s, %s %s %s;", m.name, lo, hi, left, op, right)
	c.need, c.family, c.steps = 4, left+op+right, true
	return c
}

// index makes a statement that a number is the place of an element: each place at which it
// holds is evidence, but for the first one. Where no array has a second element any number that is 0 is the place, and any modulo the length.
func (m *maker) index(key, words, hi, guard, number string, a *table) *candidate {
	if guard != "" {
		guard += " => "
	}
	c := m.say(key, words, fmt.Sprintf("%s X;  for I in 0 to %s, %s%s == I;", m.name, hi, guard, number)).needs(a)
	c.need, c.family, c.placed = 8, guard+number, true
	if n := max(a.count, a.room); n > 0 {
		c.need = min(8, max(4, int(n)-1)) // of a small table all
	}
	return c
}

// values are the numbers that an element has: itself, or "." and a field; those of what
// it leads to as well.
func values(a *table, target *portrait) []string {
	switch {
	case target != nil:
		return numbersIn(target.typ.Layout)
	case a.elem.Kind == types.Struct:
		return numbersIn(a.elem)
	case integer(a.elem):
		return []string{""}
	}
	return nil
}

// maxNumbers bounds the numbers of an element that laws are made of.
const maxNumbers = 8

func numbersIn(t *types.Type) []string {
	var out []string
	for _, s := range t.Scalars() {
		if s.Type == nil || strings.Contains(s.Path, "[") || internal(s.Path) || len(out) == maxNumbers {
			continue
		}
		switch s.Type.Kind {
		case types.Int, types.Uint, types.Float:
			out = append(out, "."+s.Path)
		}
	}
	return out
}

// keys are the numbers that may tell in which bucket something is: of what the element,
// or a pointer in it, leads to.
func keys(a *table, target *portrait) [][2]string {
	var out [][2]string
	add := func(pointer string, t *types.Type) {
		for _, s := range t.Scalars() {
			if s.Type != nil && !strings.Contains(s.Path, "[") && integer(s.Type) && len(out) < maxNumbers {
				out = append(out, [2]string{pointer, pointer + "." + s.Path})
			}
		}
	}
	switch {
	case target != nil:
		add("", target.typ.Layout)
	case a.elem.Kind == types.Struct:
		for _, s := range a.elem.PointerFields() {
			if s.Type.Elem != nil && s.Type.Elem.Kind == types.Struct && !strings.Contains(s.Path, "[") {
				add("."+s.Path, s.Type.Elem)
			}
		}
	}
	return out
}

// capacity: a number says how many elements there are, or are in use.
func (m *maker) capacity(a *table, n size) {
	if a.block == "" || n.field == nil {
		return
	}
	count := fmt.Sprintf("X.%s.COUNT", a.name)
	m.compare(fmt.Sprintf("capacity %s %s ==", a.name, n.name), fmt.Sprintf("%s is the number of elements of %s", n.name, a.name), "", n.text, "==", count, 0).
		needs(a).because(fmt.Sprintf("capacity %s %s <=", a.name, n.name))
	m.compare(fmt.Sprintf("capacity %s %s <=", a.name, n.name), fmt.Sprintf("%s has room for %s elements", a.name, n.name), "", n.text, "<=", count, 0).needs(a)
}

// rings: the elements in use begin somewhere, and go on at the front behind the last one.
func (m *maker) rings(a *table, n size, sizes []size) {
	for _, first := range m.fields {
		for _, length := range sizes {
			if n.field == nil || first == n.field || first == length.field || n == length || first.min != 0 || first.max < 2 || first.max >= length.most() || n.most() > length.most() {
				continue
			}
			at := fmt.Sprintf("X.%s[(X.%s + I) %% %s]", a.name, first.name, length.text)
			c := m.add(fmt.Sprintf("ring %s %s %s %s", a.name, first.name, n.name, length.name), fmt.Sprintf("%s of %s are not NULL, from %s on, around at %s", n.name, a.name, first.name, length.name),
				fmt.Sprintf("for I in 0 to %s, %s != NULL", n.last(), at)).needs(a)
			c.need = 8
		}
	}
}

// ordered: the elements in use are sorted, or make a heap, in an array that begins with 0
// or 1. Numbers that grow with each node that is made are in order where new ones are put behind the others, until one is taken out: that it stays
// so is seen where others were made between two neighbours.
func (m *maker) ordered(a *table, n size, f string, target *portrait) {
	if n.count > 0 {
		return
	}
	what := strings.TrimSpace(a.name + " " + strings.TrimPrefix(f, "."))
	at := func(i string) string { return fmt.Sprintf("X.%s[%s]%s", a.name, i, f) }
	heap := func(base, op string) string { return fmt.Sprintf("heap %s %s %s %s", what, n.name, base, op) }
	made := target.serials(strings.TrimPrefix(f, "."))
	for i, op := range []string{"<=", ">="} {
		if made != nil {
			m.loop(fmt.Sprintf("sorted %s %s %s", what, n.name, op), n.of(what)+" are in order", "1", n.last(), at("I - 1"), op, at("I"), a).made = made
			continue
		}
		m.loop(heap("0", op), n.of(what)+" are a heap", "1", n.last(), at("(I - 1) / 2"), op, at("I"), a)
		m.loop(heap("1", op), fmt.Sprintf("%s are a heap that begins with 1", what), "2", n.text, at("I / 2"), op, at("I"), a)
		m.loop(fmt.Sprintf("sorted %s %s %s", what, n.name, op), n.of(what)+" are in order", "1", n.last(), at("I - 1"), op, at("I"), a).
			because(heap("0", op), heap("1", op), fmt.Sprintf("sorted %s %s %s", what, n.name, [...]string{">=", "<="}[i])) // both: all are alike, which is no order
	}
}

// placed: an element knows its place.
func (m *maker) placed(a *table, n size, f string) {
	if f == "" {
		return
	}
	guard := ""
	if a.elem.Kind == types.Pointer {
		guard = fmt.Sprintf("X.%s[I] != NULL", a.name)
	}
	c := m.index(fmt.Sprintf("place %s%s %s", a.name, f, n.name), fmt.Sprintf("%s is its place in %s", f[1:], a.name), n.last(), guard, fmt.Sprintf("X.%s[I]%s", a.name, f), a)
	what := a.name + " " + f[1:]
	c.because("sorted "+what+" "+n.name+" <=", "heap "+what+" "+n.name+" 0 <=", "heap "+what+" "+n.name+" 1 <=", fmt.Sprintf("hash %s%s %s", a.name, f, n.name))
}

// hashed: what hangs on an element belongs there, by a number modulo the length.
func (m *maker) hashed(a *table, n size, f [2]string) {
	pointer, key := fmt.Sprintf("X.%s[I]%s", a.name, f[0]), fmt.Sprintf("X.%s[I]%s", a.name, f[1])
	m.index(fmt.Sprintf("hash %s%s %s", a.name, f[1], n.name), fmt.Sprintf("what hangs on %s is there by its %s", a.name, f[1][1:]), n.last(),
		pointer+" != NULL", fmt.Sprintf("%s %% %s", key, n.text), a)
}

// hangs: each node hangs on one element, or on the chain that begins there.
func (m *maker) hangs(a *table, target *portrait, others []*portrait) {
	for _, o := range others {
		if o.name() == m.name || o.typ.Array || target != nil && target != o || target == nil && len(a.elem.PointerFields()) == 0 {
			continue
		}
		say := func(link, fields string) *candidate {
			c := m.say(strings.TrimSpace(fmt.Sprintf("hangs %s %s %s", o.name(), a.name, link)), fmt.Sprintf("each %s hangs on %s of a %s, once", o.name(), a.name, m.name),
				fmt.Sprintf("%s X;  X.INDEGREE(%s) == 1;", o.name(), fields)).needs(a)
			c.joined = true
			return c
		}
		say("", a.fields())
		for _, l := range o.own() {
			if !l.array {
				c := say(l.name, a.fields()+", "+l.name)
				c.implies = append(c.implies, o.name()+" forest "+l.name)
			}
		}
	}
}

// chained: the nodes of a chain are in one bucket.
func (m *maker) chained(a *table, target *portrait, sizes []size) {
	for _, l := range target.own() {
		for _, f := range target.fields {
			for _, n := range sizes {
				if l.array || !integer(f.typ) || len(f.values) < 8 || n.field != nil && !n.mask && a.short[n.field.name] {
					continue
				}
				by := strings.Replace(n.text, "X.", "H.", 1)
				c := m.say(fmt.Sprintf("bucket %s %s %s %s", target.name(), l.name, f.name, n.name), fmt.Sprintf("those of one chain over %s are in one bucket of %s", l.name, a.name), "").needs(a)
				head := fmt.Sprintf("forall %s H; forall ", m.name)
				if n.count > 0 {
					head = ""
				}
				c.left, c.right = fmt.Sprintf("X.%s.%s", l.name, f.name), "X."+f.name
				c.Text = fmt.Sprintf("%s%s X;  X.%s != NULL => %s %% %s == %s %% %s;", head, target.name(), l.name, c.left, by, c.right, by)
				c.holds, c.need = relations["=="], 2 // in two buckets at least: numbers of which all are in one say nothing
				c.modulo, c.apart = n.modulus(), true
			}
		}
	}
}

// inverses: one array leads back where another came from, or one field of an array's
// elements where another did; negative is none.
func (m *maker) inverses(a, b *table, n size) {
	if integer(a.elem) && integer(b.elem) {
		m.index(fmt.Sprintf("inverse %s %s %s", a.name, b.name, n.name), fmt.Sprintf("%s says where %s are", a.name, n.of(b.name)), n.last(), "",
			fmt.Sprintf("X.%s[X.%s[I]]", a.name, b.name), a)
	}
	if a != b || a.elem.Kind != types.Struct {
		return
	}
	fields := numbersIn(a.elem)
	guards := []string{""}
	for _, s := range a.elem.Scalars() {
		if s.BitSize == 1 || s.Type != nil && s.Type.Kind == types.Bool {
			guards = append(guards, fmt.Sprintf("X.%s[I].%s != 0 and ", a.name, s.Path))
		}
	}
	for _, f := range fields {
		for _, g := range fields {
			for i, guard := range guards {
				at := fmt.Sprintf("X.%s[I]%s", a.name, f)
				some := at + " >= 0"
				if unsignedAt(a.elem, f) {
					some = at + " != 0" // the first element is none, then
				}
				c := m.index(fmt.Sprintf("link %s%s %s %s %d", a.name, f, g, n.name, i), fmt.Sprintf("%s leads back where %s came from, in %s", g[1:], f[1:], n.of(a.name)), n.last(),
					guard+some, fmt.Sprintf("X.%s[%s]%s", a.name, at, g), a)
				for j := i + 1; j < len(guards); j++ {
					c.because(fmt.Sprintf("link %s%s %s %s %d", a.name, f, g, n.name, j))
				}
			}
		}
	}
}

// unsignedAt: the number at a path in a structure, that begins with a point, has no sign.
func unsignedAt(t *types.Type, path string) bool {
	p, err := t.Find(path[1:])
	return err == nil && p.Type != nil && p.Type.Kind == types.Uint
}

// ended: where a list of an array's elements begins or ends, by a number of the node, it goes no farther. Negative is none, or 0. A number
// that is no place of an element, as a hash, links none.
func (m *maker) ended(a *table) {
	if a.elem.Kind != types.Struct || a.block == "" {
		return
	}
	for _, h := range m.fields {
		for _, f := range numbersIn(a.elem) {
			if !integer(h.typ) || h.max < 2 || a.far[f] || !a.linked[f] || unsignedAt(a.elem, f) != (h.typ.Kind == types.Uint) {
				continue
			}
			some, none := ">= 0", "< 0"
			if h.typ.Kind == types.Uint {
				some, none = "!= 0", "== 0"
			}
			m.end(fmt.Sprintf("ended %s %s %s", a.name, h.name, f), fmt.Sprintf("that of %s at %s has no %s", a.name, h.name, f[1:]),
				fmt.Sprintf("X.%s %s => X.%s[X.%s]%s %s", h.name, some, a.name, h.name, f, none))
			m.out[len(m.out)-1].needs(a)
		}
	}
}

// join makes one structure of the types whose arrays lead to nodes, so that a node's
// edges can be counted with those of the array that it hangs on.
func (m *mining) join() {
	if m.head.given != "" {
		return // the file says which do
	}
	var all []*check.NodeType
	for _, p := range m.portraits {
		all = append(all, p.typ)
	}
	var joined []string
	for _, p := range m.portraits {
		for _, a := range tablesOf(p.typ, all) {
			for _, o := range m.portraits {
				leads := a.elem.Kind == types.Struct && len(a.elem.PointerFields()) > 0 || a.elem.Kind == types.Pointer && sameStruct(a.elem.Elem, o.typ.Layout)
				if o != p && !o.typ.Array && leads && m.land.births[a.block] > 0 == (a.block != "") {
					joined = append(joined, p.name(), a.block, o.name())
				}
			}
		}
	}
	for _, p := range m.portraits {
		if h := holdersOf(p, m.portraits); h.others && slices.ContainsFunc(p.fields, (*field).mayRefer) {
			joined = append(append(joined, p.name()), h.from...)
		}
	}
	for _, f := range familiesOf(m.portraits) {
		for _, c := range f.members {
			joined = append(joined, c.name)
			for _, a := range c.arrays {
				joined = append(joined, a.block)
			}
		}
	}
	for _, n := range m.head.names() {
		if slices.Contains(joined, n) {
			m.head.together = append(m.head.together, n)
		}
	}
}

// families leaves of statements that say the same of the first so many elements, with
// other numbers, the one that was seen of most; of alike ones that of all elements of the block, or of the smallest number.
func families(held []*candidate) []*candidate {
	best := map[[2]string]*candidate{}
	of := func(c *candidate) [2]string { return [2]string{c.Type, c.family} }
	for _, c := range held {
		b := best[of(c)]
		if b == nil || c.Stated && !b.Stated || c.Stated == b.Stated && (c.Held > b.Held || c.Held == b.Held && c.whole && !b.whole) {
			best[of(c)] = c
		}
	}
	return slices.DeleteFunc(held, func(c *candidate) bool { return c.family != "" && best[of(c)] != c })
}

// edgesAre makes degrees and paths be about the edges of a shape alone.
func (m *maker) edgesAre(s shape) {
	if m.edges = names(s.links); m.edges == "" {
		m.edges = names(m.own())
	}
}

var (
	bareDegree = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\.(INDEGREE|OUTDEGREE|ISROOT|ISLEAF)\b(\(?)`) })
	bareEdge   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(->>?) `) })
)

// qualified names the edges in a formula that does not.
func (m *maker) qualified(formula string) string {
	if m.edges == "" {
		return formula
	}
	formula = bareDegree().ReplaceAllStringFunc(formula, func(s string) string {
		if strings.HasSuffix(s, "(") {
			return s
		}
		return s + "(" + m.edges + ")"
	})
	return bareEdge().ReplaceAllString(formula, "$1("+m.edges+") ")
}

// unqualify takes the edges out of a candidate's formulas again: where no others count, those
// of the type are all.
func (c *candidate) unqualify() {
	if c.edges == "" {
		return
	}
	named := regexp.MustCompile(`(\.(?:INDEGREE|OUTDEGREE|ISROOT|ISLEAF)|->>?)\(` + regexp.QuoteMeta(c.edges) + `\)`)
	c.Text = named.ReplaceAllString(c.Text, "$1")
	for i, a := range c.attr {
		c.attr[i].text = named.ReplaceAllString(a.text, "$1")
	}
}
