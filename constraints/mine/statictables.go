package mine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mgtrace/constraints/check"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
	"mgtrace/types"
)

// Tables of pointers to nodes that are variables of their own in static memory, with the numbers beside them: static T *table[64];
// static T **all; static int n;. What is looked for in a node's tables is looked for in a file's: its variables are taken for the fields of
// one object, which formulas name by themselves.

// ofFile is the name of such an object's type until its variables are named, which no type of a program has.
const ofFile = "::"

// tableIn says what the elements of a table in static memory are, and how many: 0 of a pointer to a block. nil: it is none.
func tableIn(t *types.Type) (elem *types.Type, count int64) {
	if t != nil && (t.Kind == types.Array && t.Count > 1 || t.Kind == types.Pointer) {
		if e := t.Elem; e != nil && e.Kind == types.Pointer && e.Elem != nil && e.Elem.HasMembers() {
			return e, t.Count
		}
	}
	return nil, 0
}

// IsTable reports whether an object in static memory is of a type that may be a table of pointers to nodes.
func IsTable(t *types.Type) bool {
	elem, _ := tableIn(t)
	return elem != nil
}

// CountsEach reports whether it is of a type that may count what hangs on each element of a table.
func CountsEach(t *types.Type) bool {
	return t != nil && t.Kind == types.Array && t.Count > 1 && Counts(t.Elem)
}

// files are the objects that the variables of each source file make that has a table of pointers to nodes, or an
// array that may be one of places in rows, and where these lie.
func (m *mining) files(nodes []*check.NodeType, rows []*row) (of []*check.NodeType, at []trace.Addr) {
	var tables, beside []check.Variable
	for _, v := range m.run.Globals {
		elem, _ := tableIn(v.Type)
		switch {
		case !slices.Contains(m.head.globals, v.Name) && !m.embeds(v.Name):
		case elem != nil && ofNodes(elem.Elem, nodes), len(rows) > 0 && len(placesIn(v)) > 0:
			tables = append(tables, v)
		case IsPlaces(v.Type) || CountsEach(v.Type):
			beside = append(beside, v)
		}
	}
	for i, first := range tables {
		if slices.ContainsFunc(tables[:i], func(v check.Variable) bool { return v.File == first.File }) {
			continue
		}
		mine := slices.DeleteFunc(slices.Concat(tables, beside), func(v check.Variable) bool { return v.File != first.File })
		lowest := slices.MinFunc(mine, func(a, b check.Variable) int { return int(int64(a.Addr - b.Addr)) }).Addr
		t := &check.NodeType{Name: ofFile, Layout: &types.Type{Kind: types.Struct, Name: ofFile}}
		for _, v := range mine {
			off := int64(v.Addr - lowest)
			t.Layout.Members = append(t.Layout.Members, types.Member{Name: v.Name, Type: v.Type, Offset: off})
			t.Layout.Size = max(t.Layout.Size, off+v.Type.Size)
			if elem, n := tableIn(v.Type); elem != nil && n > 1 {
				t.Edges = append(t.Edges, check.EdgeCell{Name: v.Name, Offset: off, Count: n, Stride: elem.Size, Elem: elem.Elem})
			}
		}
		of, at = append(of, t), append(at, trace.Addr(lowest)+m.run.Bias)
	}
	return of, at
}

// ofNodes reports whether a type is that of nodes.
func ofNodes(t *types.Type, nodes []*check.NodeType) bool {
	return slices.ContainsFunc(nodes, func(n *check.NodeType) bool { return !n.Array && sameStruct(t, n.Layout) })
}

// lawsOfFiles makes the candidates about tables in static memory, beside the others.
func (m *mining) lawsOfFiles(t *trial, rows []*row, others []*candidate) (out []*candidate) {
	files, at := m.files(t.spec.Types, rows)
	for i, of := range files {
		p := &portrait{typ: of, alone: true}
		for _, s := range of.Layout.Scalars() {
			if s.Type != nil && integer(s.Type) && !strings.Contains(s.Path, "[") {
				p.fields = append(p.fields, newField(s))
			}
		}
		p.listArrays(of.Layout, "", 0)
		for _, moment := range times(m.looks) {
			for _, f := range p.fields {
				f.note(m.run.History.At(moment), 0, at[i])
			}
		}
		mk := newMaker(p)
		tables := tablesOf(of, t.spec.Types)
		for _, a := range tables {
			m.measure(of.Layout, a, func(moment) []trace.Addr { return at[i : i+1] })
		}
		tables = slices.DeleteFunc(tables, (*table).unseen)
		mk.arraysOf(tables, m.portraits)
		for _, a := range tables {
			for k, o := range m.portraits {
				if k < len(m.found) && sameStruct(a.elem.Elem, o.typ.Layout) {
					mk.hangsInFile(a, o, m.found[k], m.inUse(of, a, mk.fields, at[i]), slices.Max(m.land.alive))
				}
			}
		}
		m.lawsOfPlaces(mk, of.Layout, rows, func(moment) []trace.Addr { return at[i : i+1] })
		for _, c := range mk.out {
			c.nameVariables()
			for _, t := range others {
				if t.saysOfAll(c.key) {
					t.implies = append(t.implies, c.key)
				}
			}
		}
		m.said = append(m.said, mk.long...)
		out = append(out, mk.out...)
	}
	return out
}

// saysOfAll: it says of all nodes of a type what a candidate of this key says of those in a file's table: how many there are, or the sum of a number.
func (c *candidate) saysOfAll(key string) bool {
	words, of := strings.Fields(c.key), strings.Fields(key) // "T total ::n", "T total ::n flag 1", "T sum all ::n number"; ":: reached n table link", ":: sum n table.number size"
	switch {
	case len(words) < 3 || len(of) < 4:
		return false
	case of[1] == "reached":
		return len(words) == 3 && words[1] == "total" && words[2] == "::"+of[2]
	case of[1] == "sum":
		flag := len(words) == 5 && words[1] == "total" && words[4] == "1" && words[2] == "::"+of[2]
		sum := len(words) == 5 && words[1] == "sum" && words[2] == "all" && words[3] == "::"+of[2]
		return flag && strings.HasSuffix(of[3], "."+words[3]) || sum && strings.HasSuffix(of[3], "."+words[4])
	}
	return false
}

// inUse is the number beside a table that says how many of its elements are in use: never more than there are before the first that is NULL, and of
// several such the one that was most. nil: there is none.
func (m *mining) inUse(f *check.NodeType, a *table, fields []*field, at trace.Addr) (best *field) {
	place, err := f.Layout.Find(a.name)
	if err != nil {
		return nil
	}
	sums := map[*field]uint64{}
	for _, n := range fields {
		sums[n] = 0
	}
	for _, moment := range times(m.looks) {
		v := m.run.History.At(moment)
		first, count := at+trace.Addr(place.Offset), a.count
		if count == 0 {
			to := v.Target(first, coded.Plain)
			first, count = trace.Addr(to.Value), a.room
		}
		used := uint64(0)
		for used < uint64(min(count, maxElements)) {
			if p, ok := word(v, first+trace.Addr(8*used), 8); !ok || p == 0 {
				break
			}
			used++
		}
		for n := range sums {
			if x, ok := word(v, at+trace.Addr(n.offset), n.size); ok && x <= used {
				sums[n] += x
			} else {
				delete(sums, n)
			}
		}
	}
	for _, n := range fields {
		if sum := sums[n]; sum > 0 && (best == nil || sum > sums[best]) {
			best = n
		}
	}
	return best
}

// ofOwner is a field of the object that a file's variables make, or of the one that a chain hangs on.
var ofOwner = map[string]func() *regexp.Regexp{
	"X": sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bX\.`) }),
	"H": sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bH\.`) }),
}

// nameVariables puts the variables of a file in the place of an object's fields.
func (c *candidate) nameVariables() {
	if c.Type == ofFile {
		c.Type = "file"
	}
	for v, declared := range map[string]string{"X": ofFile + " X;  ", "H": "forall " + ofFile + " H; "} {
		rest, ok := strings.CutPrefix(c.Text, declared)
		if !ok {
			continue
		}
		named := func(s string) string { return ofOwner[v]().ReplaceAllString(s, "::") }
		c.Text, c.left, c.right = named(rest), named(c.left), named(c.right)
		if c.modulo != nil {
			c.modulo.text = named(c.modulo.text)
		}
	}
}

// maxScans bounds the steps that it takes to look for each node in a table.
const maxScans = 1 << 14

// hangsInFile: each node hangs on an element of the table or on the chain that begins there, at the place that a number of the node tells; the
// elements lead to first ones of chains, which are alive; as many hang on each as another array says. used is the number of elements in use.
func (m *maker) hangsInFile(a *table, o *portrait, s shape, used *field, alive int) {
	node := newMaker(o)
	each := func(n size, guard, body string) string {
		return fmt.Sprintf("%s X;  for I in 0 to %s, %sX.%s[I]%s;", m.name, n.last(), guard, a.name, body)
	}
	some := fmt.Sprintf("X.%s[I] != NULL => ", a.name)
	for _, n := range m.sizes(a) {
		if a.most(n) > maxElements || used != nil && n.field != used {
			continue
		}
		what := n.of(a.name)
		if n.field == nil {
			what = "the elements of " + a.name
		}
		c := m.say("led "+a.name+" "+n.name, "what "+what+" lead to is alive", each(n, "", fmt.Sprintf(" == NULL or (X.%s[I]).EXISTS == TRUE", a.name))).needs(a)
		c.several(8, m.portrait)
		c.family = "led " + a.name
		if used != nil && int(a.most(n))*alive <= maxScans {
			where := fmt.Sprintf("SUM(I in 0 to %s: ::%s[I] == X ? 1 : 0)", strings.Replace(n.last(), "X.", "::", 1), a.name)
			node.scanned(m, "once "+a.name+" "+n.name, fmt.Sprintf("each %s is once among %s", o.name(), n.of(a.name)), where+" == 1", a).because("twice " + a.name + " " + n.name)
			node.scanned(m, "twice "+a.name+" "+n.name, fmt.Sprintf("no %s is twice among %s", o.name(), n.of(a.name)), where+" <= 1", a)
		}
	}
	node.placedInFile(m, a, nil)
	all := size{name: fmt.Sprint(a.count), text: fmt.Sprint(a.count), count: a.count}
	for _, l := range o.own() {
		if a.count == 0 || a.count > maxElements || l.array || !l.typed || slices.Contains(s.backs, l) {
			continue
		}
		node.placedInFile(m, a, l)
		m.say("first "+a.name+" "+l.name, fmt.Sprintf("what the elements of %s lead to is the first one over %s", a.name, l.name),
			fmt.Sprintf("%s X;  for I in 0 to %s, %s(X.%s[I]).ISROOT(%s) == TRUE;", m.name, all.last(), some, a.name, l.name)).several(8, m.portrait)
		for _, q := range o.own() {
			if q != l && !q.array && q.set > 0 && q.null > 0 {
				m.say("end "+a.name+" "+q.name, fmt.Sprintf("what the elements of %s lead to has no %s", a.name, q.name), each(all, some, "."+q.name+" == NULL")).several(8, m.portrait)
			}
		}
		counted := node.countedBy(l)
		hung := fmt.Sprintf("(X.%s[I]).%s", a.name, counted.name)
		for _, c := range m.arrays {
			if c.count == a.count {
				m.loop("counts "+c.name+" "+a.name+" "+l.name, fmt.Sprintf("%s says how many hang on each of %s over %s", c.name, a.name, l.name), "0", all.last(),
					fmt.Sprintf("X.%s[I]", c.name), "==", hung, a).with(counted).steps = false
			}
		}
		for _, f := range m.fields {
			if f.counts() {
				m.compare("reached "+f.name+" "+a.name+" "+l.name, fmt.Sprintf("%s is the number of %s that hang on %s over %s", f.name, o.name(), a.name, l.name), "",
					"X."+f.name, "==", fmt.Sprintf("SUM(I in 0 to %s: %s)", all.last(), hung), 0).with(counted)
			}
		}
		if int(a.count) <= maxRoots {
			node.scanned(m, "hangs "+a.name+" "+l.name, fmt.Sprintf("each first one over %s hangs on %s, once", l.name, a.name),
				fmt.Sprintf("X.ISROOT(%s) == TRUE => SUM(I in 0 to %s: ::%s[I] == X ? 1 : 0) == 1", l.name, all.last(), a.name), a)
		}
	}
}

// maxRoots bounds the elements of a table in which the first one of each chain is looked for.
const maxRoots = 128

// scanned makes a candidate about each node of this type, for the maker of a file's.
func (m *maker) scanned(into *maker, key, words, formula string, a *table) *candidate {
	c := m.add(key, words, formula).needs(a)
	c.need = 8
	into.out = append(into.out, c)
	return c
}

// placedInFile: a node is in the table at the place that a number of it tells, or that number modulo the length; or on the chain over l that
// begins there.
func (m *maker) placedInFile(into *maker, a *table, l *link) {
	for _, f := range m.fields {
		room := max(a.count, a.room)
		if !integer(f.typ) || f.bits[1] > 0 || f.min < 0 || len(f.values) < 2 {
			continue
		}
		at, words := "X."+f.name, f.name
		if f.max >= room {
			if a.count == 0 {
				continue // the length of a block changes
			}
			at, words = fmt.Sprintf("X.%s %% %d", f.name, a.count), fmt.Sprintf("%s modulo %d", f.name, a.count)
		}
		head := fmt.Sprintf("::%s[%s]", a.name, at)
		if l == nil {
			c := m.scanned(into, "place "+a.name+" "+f.name, fmt.Sprintf("each %s is in %s at its %s", m.name, a.name, words), head+" == X", a)
			for _, l := range m.own() {
				c.because("hangs "+a.name+" "+f.name+" "+l.name, "hangs "+a.name+" "+l.name)
			}
			continue
		}
		c := m.scanned(into, fmt.Sprintf("hangs %s %s %s", a.name, f.name, l.name), fmt.Sprintf("each %s hangs on %s at its %s, or on the chain over %s there", m.name, a.name, words, l.name),
			fmt.Sprintf("%s == X or %s ->>(%s) X", head, head, l.name), a)
		c.because("hangs " + a.name + " " + l.name)
		n := fmt.Sprint(a.count)
		c.implies = append(c.implies, fmt.Sprintf("%s bucket %s %s %s %s", into.name, m.name, l.name, f.name, n), fmt.Sprintf("%s hash %s.%s %s", into.name, a.name, f.name, n),
			fmt.Sprintf("%s place %s.%s %s", into.name, a.name, f.name, n))
	}
}
