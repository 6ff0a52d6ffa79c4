package mine

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/cxxname"
	"mgtrace/trace"
	"mgtrace/types"
)

// numbers: what a field holds, and how fields of one node compare.
func (m *maker) numbers() {
	before := len(m.out)
	for _, f := range m.fields {
		m.values(f)
		m.bounds(f)
		for _, g := range m.fields {
			if f != g && f.comparable(g) {
				m.pair(f, g)
			}
		}
	}
	for _, c := range m.out[before:] {
		c.number = true
	}
}

// maxEnum is how many values make an enumeration, at most; Daikon's is 3. Each must be
// met in a tenth of the nodes.
const maxEnum = 4

// values: one of a few.
func (m *maker) values(f *field) {
	v := f.sorted()
	if f.many || len(v) == 0 || len(v) > maxEnum || f.typ.Kind == types.Bool {
		return
	}
	var s []string
	often := true
	for _, x := range v {
		s = append(s, fmt.Sprintf("X.%s == %s", f.name, f.text(x)))
		often = often && f.values[x] >= max(5, f.n/10)
	}
	words := f.name + " is one of " + plural(len(v), "value", "values")
	if len(v) == 1 {
		words = f.name + " was always " + f.text(v[0])
	}
	named := f.typ.Kind == types.Enum
	if len(v) > 2 && !named {
		return // it may well take other values in other runs
	}
	c := m.add("values "+f.name, words, strings.Join(s, " or "))
	c.because("lower "+f.name, "upper "+f.name)
	c.need = len(v)
	c.weak = len(v) == 1 || !often || !named && !small(v)
}

// small: the values are those of a flag or the like.
func small(v []int64) bool { return v[0] >= -2 && v[len(v)-1] <= 3 }

// bounds: the least and the greatest value, where the run shows that the field
// would go on if it could. After Daikon (Ernst et al., Science of Computer
// Programming 69, 2007): a bound is an accident of the run unless its value is met
// more often than the spread of the values lets expect.
func (m *maker) bounds(f *field) {
	if len(f.values) < 3 || f.typ.Kind == types.Enum {
		return
	}
	if f.clipped(f.min) && f.min <= maxBound && (f.min != 0 || f.typ.Kind != types.Uint) {
		c := m.add("lower "+f.name, fmt.Sprintf("%s is at least %d", f.name, f.min), fmt.Sprintf("X.%s >= %d", f.name, f.min))
		c.weak = f.min != 0 && f.min != 1
		c.need = 8
	}
	if f.clipped(f.max) && f.max <= maxBound {
		c := m.add("upper "+f.name, fmt.Sprintf("%s is at most %d", f.name, f.max), fmt.Sprintf("X.%s <= %d", f.name, f.max))
		c.weak, c.need = true, 8
	}
}

// maxBound is the greatest value that is proposed as a bound; greater ones are keys,
// or addresses.
const maxBound = 1 << 20

// chance is how likely it is that none of the nodes had a value less by one than the least that was met, were that as likely as each other.
func (f *field) chance() float64 {
	nodes := map[graph.ObjID]bool{}
	for s := range f.met {
		nodes[s.node] = true
	}
	others := float64(f.max - f.min + 1)
	return math.Pow(others/(others+1), float64(len(nodes)))
}

// clipped: the value is met twice as often as if all between the extremes were
// alike, and several times.
func (f *field) clipped(v int64) bool {
	expect := float64(f.n) / float64(f.max-f.min+1)
	return f.values[v] >= 5 && float64(f.values[v]) >= 2*expect
}

// comparable: the two are of one type, and their values mix.
func (f *field) comparable(g *field) bool {
	return f.typ.Name == g.typ.Name && f.typ.Kind != types.Enum && f.typ.Kind != types.Bool &&
		len(f.values) > 2 && len(g.values) > 2 && f.min <= g.max && g.min <= f.max
}

// pair: one field of a node is not greater than another.
func (m *maker) pair(f, g *field) {
	c := m.compare(fmt.Sprintf("pair %s < %s", f.name, g.name), fmt.Sprintf("%s is less than %s", f.name, g.name), "", "X."+f.name, "<", "X."+g.name, 0)
	c.because(fmt.Sprintf("pair %s <= %s", f.name, g.name))
	d := m.compare(fmt.Sprintf("pair %s <= %s", f.name, g.name), fmt.Sprintf("%s is %s at most", f.name, g.name), "", "X."+f.name, "<=", "X."+g.name, 0)
	c.need, d.need = 8, 8
	if f.name < g.name {
		e := m.compare(fmt.Sprintf("pair %s == %s", f.name, g.name), fmt.Sprintf("%s and %s are equal", f.name, g.name), "", "X."+f.name, "==", "X."+g.name, 0)
		e.because(fmt.Sprintf("pair %s <= %s", f.name, g.name), fmt.Sprintf("pair %s <= %s", g.name, f.name))
	}
}

// sortedArrays: keys in order, as many as a field says, and children between them.
func (m *maker) sortedArrays(s shape) {
	for _, a := range m.arrays {
		for _, n := range m.fields {
			if !n.counts() || n.min < 0 || n.max < 2 || n.max > a.count {
				continue
			}
			for _, op := range []string{"<", "<="} {
				c := m.compare(fmt.Sprintf("sorted %s %s %s", a.name, n.name, op), fmt.Sprintf("the first %s elements of %s are in order", n.name, a.name), "",
					fmt.Sprintf("X.%s[I - 1]", a.name), op, fmt.Sprintf("X.%s[I]", a.name), 0)
				c.Text = fmt.Sprintf("%s X;  for I in 1 to X.%s - 1, X.%s[I - 1] %s X.%s[I];", m.name, n.name, a.name, op, a.name)
				c.need, c.steps = 4, true
				if op == "<" {
					c.because(fmt.Sprintf("sorted %s %s <=", a.name, n.name))
				}
			}
			m.chain(a, n, s)
			m.room(a, n)
			m.filled(a, n, s)
			if s.kind == tree && len(s.links) == 1 && s.links[0].array && s.links[0].count > a.count {
				m.between(a, n, s.links[0])
			}
		}
	}
}

// chain: nodes follow one another in the order of their keys, as the leaves of a B+ tree, beside its edges or by themselves.
func (m *maker) chain(a *array, n *field, s shape) {
	for _, p := range m.own() {
		if p.array || !p.typed || slices.Contains(s.backs, p) {
			continue
		}
		last, first := fmt.Sprintf("X.%s[X.%s - 1]", a.name, n.name), fmt.Sprintf("X.%s.%s[0]", p.name, a.name)
		guard := fmt.Sprintf("X.%s != NULL and X.%s > 0 and X.%s.%s > 0", p.name, n.name, p.name, n.name)
		for _, op := range []string{"<", "<="} {
			c := m.compare(fmt.Sprintf("chain %s %s %s", a.name, p.name, op), fmt.Sprintf("the %s of what %s leads to are behind those of the node", a.name, p.name), guard, last, op, first, 0)
			c.need = 4
			if op == "<" {
				c.because(fmt.Sprintf("chain %s %s <=", a.name, p.name))
			}
		}
	}
}

// room: a count of elements is not greater than there is room for.
func (m *maker) room(a *array, n *field) {
	lo := int64(0)
	if n.min >= 1 && n.chance() < maxChance {
		lo = 1
	}
	c := m.add(fmt.Sprintf("room %s %s", a.name, n.name), fmt.Sprintf("%s counts elements of %s", n.name, a.name), fmt.Sprintf("%d <= X.%s and X.%s <= %d", lo, n.name, n.name, a.count))
	c.because("lower "+n.name, "upper "+n.name, "values "+n.name)
	c.need = 2
	if n.max < a.count {
		c.weak = true
	}
}

// filled: nodes other than the root are filled to some degree.
func (m *maker) filled(a *array, n *field, s shape) {
	if s.kind != tree {
		return
	}
	for k := int64(2); k <= (a.count+1)/2 && k <= n.max; k++ {
		c := m.add(fmt.Sprintf("filled %s %d", n.name, k), fmt.Sprintf("%s is at least %d but in the root", n.name, k), fmt.Sprintf("X.ISROOT == FALSE => X.%s >= %d", n.name, k))
		c.need = 8
		c.weak = n.values[k] < 5 || n.values[k]*int(n.max-n.min+1) < n.n // rarer than if all were alike
		for j := int64(2); j < k; j++ {
			c.because(fmt.Sprintf("filled %s %d", n.name, j))
		}
	}
}

// between: the keys of a child, and of all below it, lie between those beside it.
func (m *maker) between(a *array, n *field, child *link) {
	last := func(name, key, next string) attribute {
		return attribute{name, m.qualified(fmt.Sprintf("%s.%s;  %s X;  X.ISLEAF == TRUE => X.%s = X.%s[%s] || X.%s = (X.%s[%s]).%s;",
			m.name, name, m.name, name, a.name, key, name, child.name, next, name))}
	}
	id := strings.ToUpper(strings.ReplaceAll(a.name+"_"+n.name, ".", "_"))
	low, high := last("LOW_"+id, "0", "0"), last("HIGH_"+id, "X."+n.name+" - 1", "X."+n.name)
	for _, op := range []string{"<", "<="} {
		before := m.compare(fmt.Sprintf("before %s %s %s", a.name, n.name, op), fmt.Sprintf("every %s in a child comes before the one beside it", a.name), "",
			fmt.Sprintf("(X.%s[I]).%s", child.name, high.name), op, fmt.Sprintf("X.%s[I]", a.name), 0).with(high)
		before.Text = fmt.Sprintf("%s X;  for I in 0 to X.%s - 1, X.%s[I] != NULL => %s %s %s;", m.name, n.name, child.name, before.left, op, before.right)
		after := m.compare(fmt.Sprintf("after %s %s %s", a.name, n.name, op), fmt.Sprintf("every %s in the next child comes after it", a.name), "",
			fmt.Sprintf("X.%s[I]", a.name), op, fmt.Sprintf("(X.%s[I + 1]).%s", child.name, low.name), 0).with(low)
		after.Text = fmt.Sprintf("%s X;  for I in 0 to X.%s - 1, X.%s[I + 1] != NULL => %s %s %s;", m.name, n.name, child.name, after.left, op, after.right)
		before.need, after.need = 4, 4
		if op == "<" {
			before.because(fmt.Sprintf("before %s %s <=", a.name, n.name))
			after.because(fmt.Sprintf("after %s %s <=", a.name, n.name))
		}
	}
}

// totals: numbers, here or in static memory, that count the nodes.
func (m *maker) totals(s shape, globals []global) {
	all := fmt.Sprintf("COUNT(%s)", m.name)
	for _, g := range globals {
		for _, path := range g.numbers {
			c := m.say("total "+path, fmt.Sprintf("%s is the number of nodes", path), fmt.Sprintf("%s == %s;", path, all))
			c.left, c.right, c.holds, c.need = path, all, relations["=="], 3
			m.flagged(func(f *field, words, some string) {
				c := m.say("total "+path+" "+f.name+" "+words, fmt.Sprintf("%s is the number of nodes with %s %s", path, f.name, words), fmt.Sprintf("%s == %s;", path, some))
				c.left, c.right, c.holds, c.need = path, some, relations["=="], 3
				if words == "1" {
					c.because("sum all " + path + " " + f.name)
				}
			})
			size, ok := m.counted(s)
			for _, head := range g.pathsTo(m.name) {
				if path[:strings.LastIndexByte(path, '.')+1] != head[:strings.LastIndexByte(head, '.')+1] {
					continue
				}
				reached := func(key, words string, a attribute) {
					right := fmt.Sprintf("(%s).%s", head, a.name)
					r := m.say(key, words, fmt.Sprintf("%s == %s;", path, right)).with(a)
					r.left, r.right, r.holds, r.need = path, right, relations["=="], 3
					r.because("alive " + head)
					c.because(key)
				}
				key, words := "reached "+path+" "+head, fmt.Sprintf("%s is the number of nodes that hang on %s", path, head)
				if ok && s.kind == tree {
					reached(key, words, size)
				}
				for _, q := range m.seconds(s) {
					reached(key+" "+q.name, words+" over "+q.name, m.countedBy(q))
				}
			}
		}
	}
}

// flagged tells of each flag of the nodes, and each of its two values, how those are counted that have it.
func (m *maker) flagged(of func(f *field, value, count string)) {
	for _, f := range m.fields {
		if !f.distinguishes() {
			continue
		}
		for _, v := range f.sorted() {
			of(f, f.text(v), fmt.Sprintf("COUNT(%s Y: Y.%s == %s)", m.name, f.name, f.text(v)))
		}
	}
}

// countsOf: fields of a head that count the nodes of other types.
func (m *maker) countsOf(others []*portrait, shapes []shape) {
	for _, f := range m.fields {
		if !f.counts() {
			continue
		}
		for i, o := range others {
			t := o.name()
			if t == m.name || o.typ.Array {
				continue
			}
			c := m.compare("total "+f.name+" "+t, fmt.Sprintf("%s is the number of %s", f.name, t), "", "X."+f.name, "==", fmt.Sprintf("COUNT(%s)", t), 0)
			if m.alone {
				newMaker(o).flagged(func(g *field, value, some string) {
					m.compare("total "+f.name+" "+t+" "+g.name+" "+value, fmt.Sprintf("%s is the number of %s with %s %s", f.name, t, g.name, value), "", "X."+f.name, "==", some, 0).because("sum all " + f.name + " " + t + " " + g.name)
				})
			}
			d := m.compare("others "+f.name+" "+t, fmt.Sprintf("%s is the number of %s but one, as where the first is none", f.name, t), "", "X."+f.name, "==", fmt.Sprintf("COUNT(%s)", t), -1)
			for _, l := range m.links {
				if l.array || l.union || !l.leadsTo(t) {
					continue
				}
				key := "reached " + f.name + " " + l.name
				if m.reached(key, o, shapes[i], f, l) {
					c.because(key)
					d.because(key + " head")
				}
				c.because(m.countsOfSecond(o, shapes[i], f, l)...)
			}
		}
	}
}

// led: a number is how many nodes have a pointer to this one, as a wheel counts the timers that are set, and an element of a document those of
// which it is the parent.
func (m *maker) led(others []*portrait) {
	for _, f := range m.fields {
		for _, o := range others {
			if f.counts() && f.max >= 2 && !o.typ.Array {
				m.ledBy(o, f)
			}
		}
	}
}

func (m *maker) ledBy(o *portrait, f *field) {
	for _, l := range o.links {
		if l.array || !l.edge || l.to[m.name] == 0 || !sameStruct(l.elem, m.typ.Layout) {
			continue
		}
		key, beside := ledKey(f, o, l.name), "reached "+f.name+" "
		c := m.compare(key, fmt.Sprintf("%s is the number of %s of which %s leads to the node", f.name, o.name(), l.name),
			"", "X."+f.name, "==", fmt.Sprintf("COUNT(%s Y: Y.%s == X)", o.name(), l.name), 0)
		c.because("total "+f.name+" "+o.name(), "lower "+f.name)
		for _, x := range m.out {
			if strings.HasPrefix(x.key, m.name+" "+beside) {
				x.because(key)
			}
		}
	}
}

// tallies: each element of an array of numbers counts the nodes of another type with its place in a field: of all, or of those that lead here, as
// the timers on each level of a wheel.
func (m *maker) tallies(others []*portrait) {
	for _, a := range m.arrays {
		if a.count > maxTally {
			continue
		}
		for _, o := range others {
			if o.typ.Array || o.name() == m.name {
				continue
			}
			guards := map[string]string{"": ""}
			for _, l := range o.links {
				if !l.array && l.edge && l.to[m.name] > 0 && sameStruct(l.elem, m.typ.Layout) {
					guards[l.name] = fmt.Sprintf("Y.%s == X and ", l.name)
				}
			}
			for _, f := range o.fields {
				if !integer(f.typ) && f.typ.Kind != types.Enum || len(f.values) < 2 || f.min < 0 || f.max >= a.count {
					continue
				}
				for _, by := range slices.Sorted(maps.Keys(guards)) {
					element, count := fmt.Sprintf("X.%s[I]", a.name), fmt.Sprintf("COUNT(%s Y: %sY.%s == I)", o.name(), guards[by], f.name)
					c := m.compare(strings.TrimSpace(fmt.Sprintf("tally %s %s %s %s", a.name, o.name(), f.name, by)), fmt.Sprintf("each %s is the number of %s with its place as %s", a.name, o.name(), f.name), "", element, "==", count, 0)
					c.Text = fmt.Sprintf("%s X;  for I in 0 to %d, %s == %s;", m.name, a.count-1, element, count)
				}
			}
		}
	}
}

// maxTally bounds the elements of such an array.
const maxTally = 64

func ledKey(f *field, of *portrait, pointer string) string {
	return "led " + f.name + " " + of.name() + " " + pointer
}

// sumsOf: fields of a head that sum up a number of the nodes that hang on one of its pointers, as the volume of a queue of orders.
func (m *maker) sumsOf(others []*portrait, shapes []shape) {
	for i, o := range others {
		ptrs := shapes[i].pointersOf()
		if o.name() == m.name || shapes[i].kind != tree || len(ptrs) == 0 || len(m.fields) > maxSummed || len(o.fields) > maxSummed {
			continue
		}
		for _, l := range m.links {
			if l.array || l.union || !l.leadsTo(o.name()) {
				continue
			}
			for _, f := range m.fields {
				for _, g := range o.fields {
					if !integer(f.typ) || !integer(g.typ) || len(f.values) < 2 || len(g.values) < 2 || g.min < 0 || f.max < g.max {
						continue
					}
					name, key := "SUM_"+g.id(), "sum "+f.name+" "+l.name+" "+g.name
					sum := newMaker(o).attr(name, over("+", name, ptrs)+" + X."+g.name)
					m.compare(key, fmt.Sprintf("%s is the sum of %s of the %s that hang on %s", f.name, g.name, o.name(), l.name),
						"", "X."+f.name, "==", fmt.Sprintf("(X.%s).%s", l.name, name), 0).with(sum).because("lower " + f.name)
					for _, c := range m.out { // where nothing hangs on what it leads to
						if c.key == m.name+" copy "+f.name+" "+l.name+"."+g.name {
							c.because(key)
						}
					}
				}
			}
		}
	}
}

// reached: a number of a head counts what hangs on one of its pointers, as where there are several lists.
func (m *maker) reached(key string, o *portrait, s shape, f *field, l *link) bool {
	words := fmt.Sprintf("%s is the number of %s that hang on %s", f.name, o.name(), l.name)
	switch s.kind {
	case tree:
		if size, ok := newMaker(o).counted(s); ok {
			m.compare(key, words, "", "X."+f.name, "==", fmt.Sprintf("(X.%s).COUNTED", l.name), 0).with(size)
			m.compare(key+" head", words+", less the first", "", "X."+f.name, "==", fmt.Sprintf("(X.%s).COUNTED", l.name), -1).with(size)
			return true
		}
	case ring:
		ring := fmt.Sprintf("COUNT(%s Y: X.%s ->>(%s) Y)", o.name(), l.name, names(s.links))
		m.compare(key, words, "", "X."+f.name, "==", ring, 0)
		m.compare(key+" head", words+", less the head of the ring", "", "X."+f.name, "==", ring, -1)
		return true
	}
	return false
}

// global is an object in static memory that leads to nodes.
type global struct {
	name    string
	paths   map[string][]string // by type: pointers to its nodes
	numbers []string
	scalars map[string]types.Scalar // by path: the pointers and numbers, Offset the virtual address in the file
}

func (g *global) pathsTo(t string) []string { return g.paths[t] }

// several reports whether a pointer in static memory was seen to lead to different nodes.
func (m *mining) several(g *global, path string) bool {
	first := uint64(0)
	for _, at := range times(m.looks) {
		x, ok := word(m.run.History.At(at), m.run.Bias+trace.Addr(g.scalars[path].Offset), 8)
		switch {
		case !ok || x == 0:
		case first == 0:
			first = x
		case first != x:
			return true
		}
	}
	return false
}

// leading returns the globals that have pointers to nodes of the types, and the numbers.
func leading(vars []check.Variable, types []*check.NodeType) []global {
	var out []global
	for _, v := range vars {
		if g, ok := globalOf(v, types); ok && !slices.ContainsFunc(out, func(o global) bool { return o.name == g.name }) {
			out = append(out, g)
		}
	}
	return out
}

// sameStruct: one type of the program, whose units have each their own.
func sameStruct(a, b *types.Type) bool {
	return a != nil && b != nil && a.Kind == b.Kind && a.Name != "" && cxxname.Normal(a.Name) == cxxname.Normal(b.Name)
}

// baseOf: a structure is a base of a class, as the links of a list's nodes are.
func baseOf(base, class *types.Type) bool {
	if class == nil {
		return false
	}
	_, ok := class.Base(func(t *types.Type) bool { return sameStruct(base, t) })
	return ok
}

func globalOf(v check.Variable, nodes []*check.NodeType) (global, bool) {
	g := global{name: v.Name, paths: map[string][]string{}, scalars: map[string]types.Scalar{}}
	if v.Type == nil {
		return g, false
	}
	note := func(s types.Scalar) {
		path := "::" + v.Name
		if s.Path != "" {
			path += "." + s.Path
		}
		s.Path, s.Offset = path, int64(v.Addr)+s.Offset
		g.scalars[path] = s
		switch s.Type.Kind {
		case types.Pointer:
			for _, n := range nodes {
				if sameStruct(s.Type.Elem, n.Layout) || baseOf(s.Type.Elem, n.Layout) {
					g.paths[n.Name] = append(g.paths[n.Name], path)
				}
			}
		case types.Int, types.Uint:
			g.numbers = append(g.numbers, path)
		}
	}
	whole := types.Scalar{Type: v.Type, Size: v.Type.Size}
	elem, _ := tableIn(v.Type)
	switch v.Type.Kind {
	case types.Pointer:
		note(whole)
	case types.Int, types.Uint:
		if IsPlaces(v.Type) {
			note(whole)
		}
	case types.Struct:
		for _, s := range v.Type.Scalars() {
			if s.Type != nil && !strings.Contains(s.Path, "[") && !internal(s.Path) {
				note(s)
			}
		}
	}
	return g, len(g.paths) > 0 || v.Type.Kind != types.Struct && len(g.numbers) > 0 || elem != nil && ofNodes(elem.Elem, nodes) || len(placesIn(v)) > 0
}

// Counts reports whether a number in static memory is of a type that counts nodes: no flag, and no character.
func Counts(t *types.Type) bool {
	return t != nil && (t.Kind == types.Int || t.Kind == types.Uint) && t.Size >= 4
}
