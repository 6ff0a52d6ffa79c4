package mine

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mgtrace/constraints/check"
	"mgtrace/types"
)

var identifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_]\w*$`) })

// PlainName: a name as C has it, which a specification can say.
func PlainName(name string) bool { return identifier().MatchString(name) }

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
			if e := pointee(a.elem); e != nil && e.Kind == types.Void && a.block != "" && target == nil {
				c := m.add("led "+a.name+" "+n.name, "what "+n.of(a.name)+" lead to is alive",
					fmt.Sprintf("for I in 0 to %s, X.%s[I] == NULL or (X.%s[I]).EXISTS == TRUE", n.last(), a.name, a.name)).needs(a)
				c.need, c.family = 8, "led "+a.name
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
	what := a.what(f)
	at := func(i string) string { return a.at(i) + f }
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
	c := m.index(fmt.Sprintf("place %s%s %s", a.name, f, n.name), fmt.Sprintf("%s is its place in %s", f[1:], a.name), n.last(), guard, a.at("I")+f, a)
	what := a.what(f)
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
