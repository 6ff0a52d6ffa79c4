package mine

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// laws makes the candidates that build on the shape.
func (m *maker) laws(s shape, globals []global, others []*portrait) {
	m.structure(s, globals, others)
	m.pointers(s)
	m.aside(s)
	m.across(others)
	m.degrees(s)
	m.heights(s)
	m.members(m.typ.Layout, "", 0)
	m.waysBack()
	m.orders(s)
	m.secondOrders(s)
	m.textOrders(s)
	m.colours(s)
	m.lanes(s)
	m.numbers()
	m.spanned()
	m.sortedArrays(s)
	m.totals(s, globals)
}

// structure: tree, list, ring, and what its roots are.
func (m *maker) structure(s shape, globals []global, others []*portrait) {
	switch s.kind {
	case tree:
		m.add("acyclic", "there is no cycle", "X ->> Y => Y !->> X")
		one := m.add("tree", "every node but the root has one parent, and there is one root",
			fmt.Sprintf("X.INDEGREE == 1 or X.INDEGREE == 0 and COUNT(%s Y: Y.ISROOT == TRUE) == 1", m.name)).because("forest")
		one.crowd, one.states = 2, 3 // a node alone has no other root beside it
		m.add("forest", "a node that is no root has one parent", "X.ISROOT == FALSE => X.INDEGREE == 1")
	case dag:
		m.add("acyclic", "there is no cycle", "X ->> Y => Y !->> X")
	case ring:
		m.add("ring", "every node has one predecessor and one successor", "X.INDEGREE == 1 and X.OUTDEGREE == 1").because("nonnull "+s.links[0].name, "forest", "outdegree")
	}
	list := s.kind == tree && len(s.links) == 1 && !s.links[0].array
	var paths []string
	for _, g := range globals {
		paths = append(paths, g.pathsTo(m.name)...)
	}
	for _, path := range paths {
		switch s.kind {
		case tree, dag:
			m.end("root "+path, path+" is the root", fmt.Sprintf("X.ISROOT == TRUE => %s == X", path))
			if list {
				m.end("last "+path, path+" is the last one", fmt.Sprintf("X.ISLEAF == TRUE => %s == X", path))
			}
		case ring, network:
			m.add("reach "+path, "every node can be reached from "+path, fmt.Sprintf("%s ->> X", path))
		}
		m.endsOfStatic(path)
	}
	if s.kind == tree {
		m.staticHeads(paths, list)
	}
	m.bothEnds(s, "", "", "", paths)
	m.secondHeads(s, paths, others)
	for _, h := range others {
		var heads []string
		var leading []*link
		for _, l := range h.links {
			if h.name() == m.name || !l.leadsTo(m.name) || l.array || related(h, m.portrait) { // an ancestor is no head
				continue
			}
			heads, leading = append(heads, l.name), append(leading, l)
			m.endsOf(h, l)
			if s.kind == tree {
				m.ends(h, l.set, m.atEnds(h, l, false), "root "+h.name()+"."+l.name, fmt.Sprintf("each root hangs on the %s of a %s", l.name, h.name()),
					fmt.Sprintf("forall %s X; exists %s H;  X.ISROOT == TRUE => H.%s == X;", m.name, h.name(), l.name))
			}
			if list {
				m.ends(h, l.set, m.atEnds(h, l, true), "last "+h.name()+"."+l.name, fmt.Sprintf("each last one hangs on the %s of a %s", l.name, h.name()),
					fmt.Sprintf("forall %s X; exists %s H;  X.ISLEAF == TRUE => H.%s == X;", m.name, h.name(), l.name))
			}
		}
		if s.kind == tree {
			m.twoHeads(h, leading)
		}
		m.bothEnds(s, h.name()+".", h.name()+" X;  ", "X.", heads)
	}
}

// atEnds: what the pointer of a head leads to was always a root, or the last one of its list. What leads anywhere may lead there by chance.
func (m *maker) atEnds(h *portrait, l *link, last bool) bool {
	return h.alone || m.toEnds == nil || m.toEnds(h, l, last)
}

// endsOf: what a head leads to begins a list, or ends it. Of a pointer that many nodes do not have that would be an accident.
func (m *maker) endsOf(h *portrait, l *link) {
	if !sameStruct(l.elem, m.typ.Layout) {
		return
	}
	for _, q := range m.own() {
		if !q.array && q.null > 0 && q.set >= 2*q.null {
			m.say("end "+h.name()+"."+l.name+" "+q.name, fmt.Sprintf("what %s of a %s leads to has no %s", l.name, h.name(), q.name),
				fmt.Sprintf("%s X;  X.%s != NULL => X.%s.%s == NULL;", h.name(), l.name, l.name, q.name)).several(8, h)
		}
	}
}

// aliveStatic: what a pointer in static memory leads to is alive.
func (m *maker) aliveStatic(path string) {
	m.say("alive "+path, "what "+path+" leads to is alive", fmt.Sprintf("%s == NULL or (%s).EXISTS == TRUE;", path, path)).atEnd(8)
}

// endsOfStatic: the same of a pointer in static memory.
func (m *maker) endsOfStatic(path string) {
	for _, q := range m.own() {
		if !q.array && q.null > 0 && q.set >= 2*q.null {
			m.say("end "+path+" "+q.name, fmt.Sprintf("what %s leads to has no %s", path, q.name),
				fmt.Sprintf("%s != NULL => %s.%s == NULL;", path, path, q.name)).because("alive " + path).atEnd(8)
		}
	}
}

// staticHeads: each root hangs on one of several pointers in static memory, and the last one of each list: where there are several lists.
func (m *maker) staticHeads(paths []string, list bool) {
	for _, set := range headSets(paths) {
		for _, of := range []struct{ key, what, is string }{{"root", "each root", "ISROOT"}, {"last", "each last one", "ISLEAF"}} {
			if of.key == "last" && !list {
				continue
			}
			var same []string
			for _, path := range set {
				same = append(same, path+" == X")
			}
			key := of.key + " " + strings.Join(set, " ")
			m.end(key, fmt.Sprintf("%s hangs on %s", of.what, strings.Join(set, " or ")), fmt.Sprintf("X.%s == TRUE => %s", of.is, strings.Join(same, " or ")))
			for _, c := range m.out {
				if less, ok := strings.CutPrefix(c.key, m.name+" "+of.key+" "); ok && less != strings.Join(set, " ") && allIn(strings.Fields(less), set) {
					c.because(key)
				}
			}
		}
	}
}

// headSets are the sets of pointers in static memory on which lists may hang: each pair, and more than two that are alike: members of one
// name, or variables.
func headSets(paths []string) (sets [][]string) {
	few := paths[:min(len(paths), maxHeads)]
	for i, a := range few {
		for _, b := range few[i+1:] {
			sets = append(sets, []string{a, b})
		}
	}
	alike := map[string][]string{}
	var kinds []string
	for _, path := range paths {
		k := ""
		if strings.Contains(path, ".") {
			k = path[strings.LastIndexByte(path, '.')+1:]
		}
		if alike[k] == nil {
			kinds = append(kinds, k)
		}
		alike[k] = append(alike[k], path)
	}
	for _, k := range kinds {
		if n := len(alike[k]); n > 2 && n <= maxAlike {
			sets = append(sets, alike[k])
		}
	}
	return sets
}

// maxAlike bounds the heads of lists that are alike.
const maxAlike = 16

// maxHeads bounds the pointers of a head of which all pairs are tried.
const maxHeads = 6

// twoHeads: each root hangs on one of two pointers, as where nodes go from one list to another.
func (m *maker) twoHeads(h *portrait, heads []*link) {
	owner := h.name()
	single := func(l *link) string { return m.name + " root " + owner + "." + l.name }
	heads = heads[:min(len(heads), maxHeads)]
	for i, a := range heads {
		for _, b := range heads[i+1:] {
			pair := "root " + owner + "." + a.name + " " + b.name
			m.ends(h, a.set+b.set, true, pair, fmt.Sprintf("each root hangs on the %s or the %s of a %s", a.name, b.name, owner),
				fmt.Sprintf("forall %s X; exists %s H;  X.ISROOT == TRUE => H.%s == X or H.%s == X;", m.name, owner, a.name, b.name))
			for _, c := range m.out {
				if c.key == single(a) || c.key == single(b) {
					c.because(pair)
				}
			}
		}
	}
}

// end makes a candidate about the one end of a structure. It is rarely another node,
// but there are many that it could be: one will do that was seen in several states.
func (m *maker) end(key, words, formula string) { m.add(key, words, formula).atEnd(5) }

// ends makes one of which it is a node of another type that leads there. Where there are several of these one of them may do so by chance, and
// the one node is not enough; less so if they lead to others as well. Where they were seen to lead to nearly all nodes, that they do to a root says
// little: of lists of one.
func (m *maker) ends(h *portrait, led int, only bool, key, words, text string) {
	c := m.say(key, words, m.qualified(text))
	if c.atEnd(5); h.alone {
		return
	}
	c.need = 16
	if only {
		c.need = 4
	}
	if m.met > 0 {
		c.share = min(1, float64(led)/float64(m.met))
	}
}

func (c *candidate) atEnd(states int) { c.need, c.states = 1, states }

// several: a fact must be seen on so many nodes, or where there is one alone, in so many states.
func (c *candidate) several(n int, of *portrait) {
	if c.need = n; of.alone {
		c.need, c.states = 1, n
	}
}

func (p *portrait) name() string { return p.typ.Name }

// pointers: back pointers, NULL, and no pointer that leads nowhere.
func (m *maker) pointers(s shape) {
	own := m.own()
	for _, p := range s.links {
		for _, q := range s.backs {
			m.inverse(p, q)
		}
	}
	for _, q := range s.backs {
		if q.array || s.kind == network {
			continue
		}
		if len(s.links) == 1 && !s.links[0].array {
			m.inverse(q, s.links[0])
		} else {
			m.add("down "+q.name, "a node is a child of its "+q.name, fmt.Sprintf("X.%s != NULL => X.%s ->(%s) X", q.name, q.name, names(s.links)))
		}
		m.add("top "+q.name, q.name+" is NULL in a root alone", fmt.Sprintf("X.ISROOT == FALSE => X.%s != NULL", q.name))
	}
	if s.kind == network {
		for _, p := range own {
			m.inverse(p, p)
			for _, q := range own {
				if p != q && !p.array {
					m.inverse(p, q)
				}
			}
			if p.array {
				m.add("mutual "+p.name, "edges of "+p.name+" go both ways", fmt.Sprintf("X ->(%s) Y => Y ->(%s) X", p.name, p.name))
			}
		}
	}
	lost := false
	for _, l := range m.links {
		lost = lost || l.edge && l.lost > 0
		if l.set > 0 && l.null == 0 && l.count == 1 && !deep(l.name) {
			words, formula := l.name+" is never NULL", fmt.Sprintf("X.%s != NULL", l.name)
			if l.when != "" {
				words, formula = words+" where it is in use", l.when+" => "+formula
			}
			m.add("nonnull "+l.name, words, formula).need = 8
		}
		if l.edge && !l.union && l.set == 0 && l.null > 0 && !internal(l.name) {
			c := m.add("null "+l.name, l.name+" was always NULL", fmt.Sprintf("X.%s == NULL", l.name))
			c.weak = true
		}
	}
	if !lost && len(own) > 0 {
		m.add("dangling", "every edge leads to a node that is alive", "X.DANGLING == 0")
	}
	m.alive(own)
	m.nullTogether(s)
}

// alive: what hangs on a node besides its edges, of another type, is there. Degrees and X.DANGLING are about edges alone.
func (m *maker) alive(own []*link) {
	for _, l := range m.links {
		led := 0
		for _, n := range l.to {
			led += n
		}
		if !l.edge || l.union || l.count != 1 || l.set == 0 || l.lost > 0 || led != l.set || slices.Contains(own, l) {
			continue
		}
		there := fmt.Sprintf("(X.%s).EXISTS == TRUE", l.name)
		key, words, unless := "alive "+l.name, "what "+l.name+" leads to is alive", fmt.Sprintf("X.%s == NULL or %s", l.name, there)
		if l.null > 0 {
			m.add(key, words, unless).several(8, m.portrait)
			continue
		}
		m.add(key+" null", words, unless).several(8, m.portrait)
		m.add(key, words, there).because("nonnull "+l.name, key+" null").need = 8
	}
}

// nullTogether: two pointers, one of which is NULL only if the other is: of a container the one by which it is empty, but not of two. Nor of the last
// nodes of lists, which are few, with those that are in none.
func (m *maker) nullTogether(s shape) {
	for _, p := range m.links {
		if s.kind == tree && len(s.links) == 1 && p == s.links[0] {
			continue
		}
		for _, q := range m.links {
			mixed := p.set > 0 && p.null > 0 && q.set > 0 && q.null > 0
			if p == q || p.union || q.union || deep(p.name) && deep(q.name) || p.count != 1 || q.count != 1 || !mixed || slices.Contains(s.backs, p) || slices.Contains(s.backs, q) {
				continue
			}
			c := m.add("null "+p.name+" "+q.name, fmt.Sprintf("where %s is NULL, %s is", p.name, q.name), fmt.Sprintf("X.%s == NULL => X.%s == NULL", p.name, q.name))
			c.share = float64(q.null) / float64(q.null+q.set)
		}
	}
}

// cells counts the pointers that a node has at most; 0 if that is not fixed.
func (s *shape) cells() int64 {
	n := int64(0)
	for _, l := range s.links {
		if l.count < 1 {
			return 0
		}
		n += l.count
	}
	return n
}

// degrees: how many children a node has, and numbers that say so.
func (m *maker) degrees(s shape) {
	if s.kind == scattered {
		return
	}
	n := s.cells()
	if n > 1 && s.kind != network {
		m.add("full", fmt.Sprintf("a node has %d children or none", n), fmt.Sprintf("X.ISLEAF == FALSE => X.OUTDEGREE == %d", n)).because("at least 2")
		m.add("at least 2", "a node that has children has two or more", "X.ISLEAF == FALSE => X.OUTDEGREE >= 2")
		if n == 2 {
			m.out = m.out[:len(m.out)-1]
		}
	}
	for _, f := range m.fields {
		if !f.counts() {
			continue
		}
		for _, k := range []int64{0, 1, -1} {
			c := m.compare(fmt.Sprintf("degree %s %d", f.name, k), fmt.Sprintf("%s is the number of children%s of a node that has any", f.name, offset(-k)),
				"X.ISLEAF == FALSE", "X.OUTDEGREE", "==", "X."+f.name, k)
			if k == 0 {
				m.compare("degree "+f.name, f.name+" is the number of children", "", "X.OUTDEGREE", "==", "X."+f.name, 0).because(fmt.Sprintf("degree %s 0", f.name))
			}
			c.need = 2
			if k == 1 && f.min >= 1 {
				c.because("at least 2")
			}
		}
		for _, l := range s.links {
			if l.array {
				m.compare("degree "+f.name+" "+l.name, fmt.Sprintf("%s is the number of edges of %s", f.name, l.name), "", fmt.Sprintf("X.OUTDEGREE(%s)", l.name), "==", "X."+f.name, 0)
			}
		}
	}
	m.flags(s)
}

// flags: two-valued numbers that say whether a node has children.
func (m *maker) flags(s shape) {
	if s.kind != tree && s.kind != dag {
		return
	}
	for _, f := range m.fields {
		v := f.sorted()
		if len(v) != 2 || f.many {
			continue
		}
		for i, leaf := range v {
			inner := v[1-i]
			m.add(fmt.Sprintf("leaf %s %d", f.name, leaf), fmt.Sprintf("%s is %s in a leaf, else %s", f.name, f.text(leaf), f.text(inner)),
				fmt.Sprintf("X.%s == %s and X.ISLEAF == TRUE or X.%s == %s and X.ISLEAF == FALSE", f.name, f.text(leaf), f.name, f.text(inner))).because("values " + f.name)
		}
	}
}

// counts: it may be a count.
func (f *field) counts() bool {
	return integer(f.typ) && f.min >= -1 && len(f.values) >= 2
}

func offset(k int64) string {
	switch {
	case k > 0:
		return fmt.Sprintf(" + %d", k)
	case k < 0:
		return fmt.Sprintf(" - %d", -k)
	}
	return ""
}

// relations between two numbers.
var relations = map[string]func(a, b float64) bool{
	"==": func(a, b float64) bool { return a == b },
	"!=": func(a, b float64) bool { return a != b },
	"<":  func(a, b float64) bool { return a < b },
	"<=": func(a, b float64) bool { return a <= b },
	">":  func(a, b float64) bool { return a > b },
	">=": func(a, b float64) bool { return a >= b },
}

// compare makes a candidate "guard => left op right + k" that is weighed by its
// values.
func (m *maker) compare(key, words, guard, left, op, right string, k int64) *candidate {
	formula := fmt.Sprintf("%s %s %s%s", left, op, right, offset(k))
	if guard != "" {
		formula = guard + " => " + formula
	}
	c := m.add(key, words, formula)
	rel := relations[op]
	c.left, c.right = m.qualified(left), m.qualified(right)
	c.holds = func(a, b float64) bool { return rel(a, b+float64(k)) }
	c.need = 3
	return c
}

// pointersOf lists the single pointers of the edges, elements of short arrays
// spelt out.
func (s *shape) pointersOf() []string {
	var out []string
	for _, l := range s.links {
		switch {
		case !l.array:
			out = append(out, l.name)
		case l.count > 0 && l.count <= maxSpelt:
			for i := range l.count {
				out = append(out, fmt.Sprintf("%s[%d]", l.name, i))
			}
		default:
			return nil
		}
	}
	return out
}

// maxSpelt bounds the elements of an array that an attribute spells out.
const maxSpelt = 8

// attr declares an attribute computed over all children.
func (m *maker) attr(name, rule string) attribute {
	return attribute{name, fmt.Sprintf("%s.%s;  %s X;  X.%s = %s;", m.name, name, m.name, name, m.qualified(rule))}
}

// counted is the number of nodes of a subtree. Not ok: the language can not say it.
func (m *maker) counted(s shape) (a attribute, ok bool) {
	ptrs := s.pointersOf()
	return m.attr("COUNTED", over("+", "COUNTED", ptrs)+" + 1"), len(ptrs) > 0
}

func over(fn, name string, pointers []string) string {
	var s []string
	for _, p := range pointers {
		s = append(s, fmt.Sprintf("(X.%s).%s", p, name))
	}
	switch {
	case len(s) == 1:
		return s[0]
	case fn == "+":
		return strings.Join(s, " + ")
	}
	return fn + "(" + strings.Join(s, ", ") + ")"
}

// heights: stored heights, sizes and distances, and balance.
func (m *maker) heights(s shape) {
	ptrs := s.pointersOf()
	if s.kind != tree && s.kind != dag || len(ptrs) < 2 {
		return // along a list, order tells
	}
	height := m.attr("HEIGHT", over("MAX", "HEIGHT", ptrs)+" + 1")
	short := m.attr("SHORT", over("MIN", "SHORT", ptrs)+" + 1")
	size, _ := m.counted(s)
	for _, f := range m.fields {
		if !f.counts() {
			continue
		}
		for _, k := range []int64{0, -1} {
			m.compare(fmt.Sprintf("height %s %d", f.name, k), f.name+" is the height of the subtree", "", "X."+f.name, "==", "X.HEIGHT", k).with(height).because(m.upwards(f, s)...)
			m.compare(fmt.Sprintf("short %s %d", f.name, k), f.name+" is the length of the shortest way to NULL", "", "X."+f.name, "==", "X.SHORT", k).with(short).because(m.upwards(f, s)...)
			m.compare(fmt.Sprintf("size %s %d", f.name, k), f.name+" is the number of nodes of the subtree", "", "X."+f.name, "==", "X.COUNTED", k).with(size).because(m.upwards(f, s)...)
		}
	}
	m.beneath(ptrs, size)
	m.inner(ptrs)
	for _, p := range m.links {
		if p.array || p.set == 0 || p.null == 0 || p.to[m.name] > 0 {
			continue
		}
		name := "WITH_" + strings.ToUpper(strings.ReplaceAll(p.name, ".", "_"))
		with := m.attr(name, over("+", name, ptrs)+fmt.Sprintf(" + (X.%s == NULL ? 0 : 1)", p.name))
		for _, f := range m.fields {
			if f.counts() {
				m.compare("with "+f.name+" "+p.name, fmt.Sprintf("%s is the number of nodes of the subtree that have a %s", f.name, p.name), "", "X."+f.name, "==", "X."+name, 0).with(with).because("lower "+f.name, "edge "+f.name+" >= 0")
			}
		}
	}
	if len(ptrs) == 2 {
		m.balance(ptrs[0], ptrs[1], height, short)
	}
	if len(ptrs) > 2 {
		m.levels(s, ptrs)
	}
}

// beneath: numbers that count what hangs on one pointer, as the length of all that comes before a node does, or that sum up
// another number of the subtree, or are its greatest or least.
func (m *maker) beneath(ptrs []string, size attribute) {
	for _, f := range m.fields {
		if len(ptrs) <= maxBeneath && f.counts() {
			for _, p := range ptrs {
				for _, k := range []int64{0, 1} {
					m.compare(fmt.Sprintf("under %s %s %d", f.name, p, k), fmt.Sprintf("%s is the number of nodes below %s%s", f.name, p, offset(k)),
						"", "X."+f.name, "==", fmt.Sprintf("(X.%s).COUNTED", p), k).with(size).because("lower " + f.name)
				}
			}
		}
		for _, g := range m.fields {
			if f == g || !integer(f.typ) || !integer(g.typ) || len(f.values) < 2 || len(g.values) < 2 || len(m.fields) > maxSummed {
				continue
			}
			of := f.name + " " + g.name
			if f.max > g.max && g.min >= 0 {
				name := "SUM_" + g.id()
				sum := m.attr(name, over("+", name, ptrs)+" + X."+g.name)
				m.compare("sum "+of, fmt.Sprintf("%s is the sum of %s in the subtree", f.name, g.name), "", "X."+f.name, "==", "X."+name, 0).with(sum).
					because("pair "+g.name+" <= "+f.name, "lower "+f.name, "edge "+f.name+" >= 0")
			}
			if f.max == g.max {
				m.compare("most "+of, fmt.Sprintf("%s is the greatest %s in the subtree", f.name, g.name), "", "X."+f.name, "==", "X.HIGH_"+g.id(), 0).with(m.high(g, ptrs)).
					because("pair "+g.name+" <= "+f.name, "edge "+f.name+" >= 0")
			}
			if f.min == g.min {
				m.compare("least "+of, fmt.Sprintf("%s is the least %s in the subtree", f.name, g.name), "", "X."+f.name, "==", "X.LOW_"+g.id(), 0).with(m.low(g, ptrs)).
					because("pair "+f.name+" <= "+g.name, "edge "+f.name+" <= 0")
			}
		}
	}
}

// inner: numbers of nodes that have children are made of those of the children, as the lengths in a rope, the weights in a Huffman tree, the ends
// of the stretches in a segment tree.
func (m *maker) inner(ptrs []string) {
	if len(ptrs) > maxBeneath || len(m.fields) > maxSummed {
		return
	}
	for _, f := range m.fields {
		if !integer(f.typ) || len(f.values) < 3 {
			continue
		}
		if len(ptrs) == 2 {
			l, r := ptrs[0]+"."+f.name, ptrs[1]+"."+f.name
			both := func(what, words, formula string, join func(a, b float64) float64) *candidate {
				c := m.add("inner "+what+" "+f.name, f.name+" is "+words+" of the children's", fmt.Sprintf("X.%s != NULL and X.%s != NULL => X.%s == %s", ptrs[0], ptrs[1], f.name, formula))
				c.left, c.right, c.other, c.join, c.holds, c.need = "X."+f.name, "X."+l, "X."+r, join, relations["=="], 4
				return c
			}
			both("sum", "the sum", fmt.Sprintf("X.%s + X.%s", l, r), func(a, b float64) float64 { return a + b })
			both("most", "the greatest", fmt.Sprintf("MAX(X.%s, X.%s)", l, r), math.Max).because("edge " + f.name + " >= 0")
			both("least", "the least", fmt.Sprintf("MIN(X.%s, X.%s)", l, r), math.Min).because("edge " + f.name + " <= 0")
		}
		for _, g := range m.fields {
			if !integer(g.typ) || len(g.values) < 3 || g.min > f.max || f.min > g.max {
				continue
			}
			for _, p := range ptrs {
				c := m.compare(fmt.Sprintf("inner %s %s %s", f.name, p, g.name), fmt.Sprintf("%s is the %s of %s", f.name, g.name, p), fmt.Sprintf("X.%s != NULL", p),
					"X."+f.name, "==", fmt.Sprintf("X.%s.%s", p, g.name), 0)
				c.need = 4
				if f == g {
					c.because("inner most "+f.name, "inner least "+f.name)
				}
			}
			for _, k := range []int64{0, -1} {
				if len(ptrs) != 2 || f == g {
					break
				}
				m.compare(fmt.Sprintf("inner meet %s %s %d", f.name, g.name, k), fmt.Sprintf("the %s of %s is the %s of %s%s", f.name, ptrs[0], g.name, ptrs[1], offset(k)),
					fmt.Sprintf("X.%s != NULL and X.%s != NULL", ptrs[0], ptrs[1]), "X."+ptrs[0]+"."+f.name, "==", "X."+ptrs[1]+"."+g.name, k).need = 4
			}
		}
	}
}

// maxBeneath bounds the pointers of a node each of which is tried alone, and maxSummed the numbers of which all pairs are.
const (
	maxBeneath = 4
	maxSummed  = 12
)

// id is a field's name as part of an attribute's.
func (f *field) id() string { return strings.ToUpper(strings.ReplaceAll(f.name, ".", "_")) }

// high and low are the greatest and the least of a number in a subtree.
func (m *maker) high(f *field, ptrs []string) attribute {
	return m.extreme("HIGH", "MAX", "-", f, ptrs)
}
func (m *maker) low(f *field, ptrs []string) attribute { return m.extreme("LOW", "MIN", "", f, ptrs) }

func (m *maker) extreme(name, fn, sign string, f *field, ptrs []string) attribute {
	name += "_" + f.id()
	of := []string{"X." + f.name}
	for _, p := range slices.Sorted(slices.Values(ptrs)) {
		of = append(of, fmt.Sprintf("(X.%s).%s", p, name))
	}
	return attribute{name, fmt.Sprintf("%s.%s DEFAULT %s%d;  %s X;  X.%s = %s(%s);", m.name, name, sign, int64(math.MaxInt64), m.name, name, fn, strings.Join(of, ", "))}
}

// upwards are the keys of what follows for a number that counts what lies below.
func (m *maker) upwards(f *field, s shape) []string {
	keys := []string{"lower " + f.name, "edge " + f.name + " > 0", "edge " + f.name + " >= 0"}
	for _, p := range s.pointersOf() {
		keys = append(keys, "below "+f.name+" "+p+" <", "below "+f.name+" "+p+" <=")
	}
	return keys
}

func (c *candidate) with(a ...attribute) *candidate {
	c.attr = append(c.attr, a...)
	return c
}

// balance of a binary tree.
func (m *maker) balance(l, r string, height, short attribute) {
	for _, f := range m.fields {
		if f.min < -2 || f.max > 2 || len(f.values) < 2 {
			continue
		}
		for _, d := range [2][2]string{{l, r}, {r, l}} {
			c := m.add(fmt.Sprintf("factor %s %s", f.name, d[0]), fmt.Sprintf("%s is the height of %s less that of %s", f.name, d[0], d[1]),
				fmt.Sprintf("X.%s == (X.%s).HEIGHT - (X.%s).HEIGHT", f.name, d[0], d[1])).with(height).because("lower "+f.name, "upper "+f.name)
			c.need = 3
		}
	}
	flat := m.add("balanced", "the heights of both sides differ by one at most", fmt.Sprintf("|(X.%s).HEIGHT - (X.%s).HEIGHT| <= 1", l, r)).with(height)
	flat.left, flat.right = fmt.Sprintf("(X.%s).HEIGHT", l), fmt.Sprintf("(X.%s).HEIGHT", r)
	flat.holds = func(a, b float64) bool { return a-b <= 1 && b-a <= 1 }
	flat.need = 4
	for _, d := range [2][2]string{{l, r}, {r, l}} {
		c := m.compare("leaning "+d[0], fmt.Sprintf("the shortest way to NULL leads over %s", d[1]), "",
			fmt.Sprintf("(X.%s).SHORT", d[0]), ">=", fmt.Sprintf("(X.%s).SHORT", d[1]), 0).with(short).because("null " + d[0] + " " + d[1])
		c.need = 3
	}
}

// levels: all leaves of a tree with many children are on one level.
func (m *maker) levels(s shape, ptrs []string) {
	if len(s.links) != 1 || !s.links[0].array {
		return
	}
	child := s.links[0].name
	level := attribute{"LEVEL", m.qualified(fmt.Sprintf("%s.LEVEL;  %s X;  X.ISLEAF == TRUE => X.LEVEL = 1 || X.LEVEL = (X.%s[0]).LEVEL + 1;", m.name, m.name, child))}
	c := m.add("level", "all leaves are on one level",
		fmt.Sprintf("for I in 1 to %d, X.%s[I] != NULL => (X.%s[I]).LEVEL == (X.%s[0]).LEVEL", len(ptrs)-1, child, child, child)).with(level)
	c.left, c.right = fmt.Sprintf("(X.%s[I]).LEVEL", child), fmt.Sprintf("(X.%s[0]).LEVEL", child)
	c.holds, c.need = relations["=="], 2
}

// orders: numbers that grow or fall along edges, and search trees.
func (m *maker) orders(s shape) {
	ptrs := s.pointersOf()
	if s.kind == scattered || s.kind == network && len(s.links) == 0 {
		return
	}
	for _, f := range m.fields {
		if len(f.values) < 2 {
			continue
		}
		if s.kind != network && s.kind != ring {
			if s.plain() || !f.serial() {
				m.alongEdges(f, s)
			}
			if len(ptrs) == 2 {
				m.searchTree(f, ptrs[0], ptrs[1])
				m.searchTree(f, ptrs[1], ptrs[0])
			}
		}
		for _, l := range s.links {
			if !f.distinguishes() {
				continue
			}
			// Two-valued: the sides of a bipartite graph.
			c := m.add("sides "+f.name+" "+l.name, fmt.Sprintf("an edge of %s leads to another %s", l.name, f.name), fmt.Sprintf("X ->(%s) Y => X.%s != Y.%s", l.name, f.name, f.name))
			c.left, c.right, c.holds, c.need = "X."+f.name, "Y."+f.name, relations["!="], 1
		}
		if f.distinguishes() && len(s.links) > 1 {
			c := m.add("sides "+f.name, fmt.Sprintf("an edge leads to another %s", f.name), fmt.Sprintf("X -> Y => X.%s != Y.%s", f.name, f.name))
			c.left, c.right, c.holds, c.need = "X."+f.name, "Y."+f.name, relations["!="], 1
			for _, l := range s.links {
				c.because("sides " + f.name + " " + l.name)
			}
		}
	}
}

// distinguishes: a few values, so that "another one" says something.
func (f *field) distinguishes() bool { return len(f.values) == 2 && !f.many }

// plain: the structure is a list. Numbers that grow with each node that is made (field.serial) grow downwards in a tree until a node is moved
// in it, as its nodes hang on what is older at first, which is no law. In a list they say whether the new ones go to its end.
func (s *shape) plain() bool { return len(s.links) == 1 && !s.links[0].array && !s.links[0].shared }

// alongEdges: the number in a node and the one in what it leads to.
func (m *maker) alongEdges(f *field, s shape) {
	single := len(s.links) == 1 && !s.links[0].array && s.links[0].typed
	left, right, guard := "X."+f.name, "Y."+f.name, "X -> Y"
	if single {
		guard, right = fmt.Sprintf("X.%s != NULL", s.links[0].name), fmt.Sprintf("X.%s.%s", s.links[0].name, f.name)
	}
	add := func(op string, k int64, words string, covers ...string) *candidate {
		c := m.compare(fmt.Sprintf("edge %s %s %d", f.name, op, k), words, guard, left, op, right, k)
		c.need = 3
		switch {
		case op == "==" && k == 0:
			c.need = 2
		case op == "<" || op == ">":
			c.alike = f.alike()
		}
		for _, x := range covers {
			c.because(fmt.Sprintf("edge %s %s 0", f.name, x))
		}
		return c
	}
	f1 := f.name
	sides := func(what string) (keys []string) { // what follows for all that lies below
		for _, p := range s.pointersOf() {
			keys = append(keys, what+" "+f.name+" "+p+" <", what+" "+f.name+" "+p+" <=")
		}
		return keys
	}
	heap := ""
	if s.kind == tree && !single {
		heap = "heap order: "
	}
	add("<", 0, heap+f1+" grows along edges", "<=", "!=").because(sides("above")...)
	add("<=", 0, heap+f1+" does not fall along edges").because(sides("above")...)
	add(">", 0, heap+f1+" falls along edges", ">=", "!=").because(sides("below")...)
	add(">=", 0, heap+f1+" does not grow along edges").because(sides("below")...)
	same := add("==", 0, f1+" is the same all along", "<=", ">=")
	for _, p := range s.pointersOf() {
		same.because("inner " + f.name + " " + p + " " + f.name)
	}
	add("==", -1, f1+" grows by one along edges", "<", "<=", "!=")
	add("==", 1, f1+" falls by one along edges", ">", ">=", "!=")
	half := m.compare("edge "+f.name+" half", f1+" is halved along edges", guard, right, "==", left+" / 2", 0)
	half.right, half.holds = left, func(a, b float64) bool { return a == math.Trunc(b/2) }
	half.because("edge "+f.name+" > 0", "edge "+f.name+" >= 0")
}

// searchTree: what hangs on l is smaller, what hangs on r is greater, at any depth. Where only one of the two
// holds it is a heap whose nodes have their first child and their next sibling, as a pairing heap.
func (m *maker) searchTree(f *field, l, r string) {
	serial := f.serial()
	id, high, low := f.id(), m.high(f, []string{l, r}), m.low(f, []string{l, r})
	for _, op := range []string{"<", "<="} {
		c := m.compare("below "+f.name+" "+l+" "+op, fmt.Sprintf("search tree: %s in all of %s comes before", f.name, l),
			fmt.Sprintf("X.%s != NULL", l), fmt.Sprintf("(X.%s).HIGH_%s", l, id), op, "X."+f.name, 0).with(high)
		d := m.compare("above "+f.name+" "+r+" "+op, fmt.Sprintf("search tree: %s in all of %s comes after", f.name, r),
			fmt.Sprintf("X.%s != NULL", r), "X."+f.name, op, fmt.Sprintf("(X.%s).LOW_%s", r, id), 0).with(low)
		c.need, d.need = 4, 4
		if op == "<" {
			c.alike, d.alike = f.alike(), f.alike()
		}
		c.serial, d.serial = serial, serial
		c.alone, d.alone = fmt.Sprintf("heap order: %s in all of %s comes before", f.name, l), fmt.Sprintf("heap order: %s in all of %s comes after", f.name, r)
		for _, op := range []string{"<", "<="} {
			c.halves = append(c.halves, m.name+" above "+f.name+" "+r+" "+op)
			d.halves = append(d.halves, m.name+" below "+f.name+" "+l+" "+op)
		}
		if op == "<" {
			c.because("below " + f.name + " " + l + " <=")
			d.because("above " + f.name + " " + r + " <=")
		}
	}
}

// colours: two-valued numbers that balance a red-black tree.
func (m *maker) colours(s shape) {
	ptrs := s.pointersOf()
	if s.kind != tree {
		return
	}
	for _, f := range m.fields {
		v := f.sorted()
		if len(v) != 2 || f.many {
			continue
		}
		for i, black := range v {
			red := v[1-i]
			is := func(x string, c int64) string { return fmt.Sprintf("%s.%s == %s", x, f.name, f.text(c)) }
			c := m.add(fmt.Sprintf("red %s %d", f.name, red), fmt.Sprintf("no child of a node with %s %s has it too", f.name, f.text(red)),
				fmt.Sprintf("%s and X -> Y => %s", is("X", red), is("Y", black)))
			c.need = 12
			c.because("sides " + f.name)
			r := m.add(fmt.Sprintf("root %s %d", f.name, black), fmt.Sprintf("a root has %s %s", f.name, f.text(black)), fmt.Sprintf("X.ISROOT == TRUE => %s", is("X", black)))
			r.need, r.number = 4, true
			if len(ptrs) != 2 {
				continue
			}
			bh := attribute{"BH_" + fmt.Sprint(black), fmt.Sprintf("%s.BH DEFAULT 1;  %s X;  X.BH = (X.%s).BH + (%s ? 1 : 0);", m.name, m.name, ptrs[0], is("X", black))}
			name := "BH"
			if i == 1 {
				name = "BH2"
			}
			bh.text = strings.ReplaceAll(bh.text, "BH", name)
			bh.name = name
			words, left, right := fmt.Sprintf("all ways down meet as many nodes with %s %s", f.name, f.text(black)), fmt.Sprintf("(X.%s).%s", ptrs[0], name), fmt.Sprintf("(X.%s).%s", ptrs[1], name)
			below := fmt.Sprintf("black below %s %d", f.name, black) // a root may be a dummy, on one side of which the tree hangs
			m.compare(below, words+", but from a root", "X.ISROOT == FALSE", left, "==", right, 0).with(bh).need = 2
			m.compare(fmt.Sprintf("black %s %d", f.name, black), words, "", left, "==", right, 0).with(bh).because(below).need = 2
		}
	}
}

// text writes a value as the language has it: an enumerator by name.
func (f *field) text(v int64) string {
	for _, e := range f.typ.Enumerators {
		if e.Value == v && e.Name != "" {
			return e.Name
		}
	}
	return fmt.Sprint(v)
}
