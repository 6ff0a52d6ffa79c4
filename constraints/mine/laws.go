package mine

import (
	"fmt"
	"slices"
	"strings"

	"mgtrace/types"
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
	m.lists(others)
	m.waysBack(others)
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
			c := m.add(fmt.Sprintf("leaf %s %d", f.name, leaf), fmt.Sprintf("%s is %s in a leaf, else %s", f.name, f.text(leaf), f.text(inner)),
				fmt.Sprintf("X.%s == %s and X.ISLEAF == TRUE or X.%s == %s and X.ISLEAF == FALSE", f.name, f.text(leaf), f.name, f.text(inner))).because("values " + f.name)
			c.weak = f.typ.Kind != types.Enum && min(f.values[leaf], f.values[inner]) < 2 // the root alone says nothing of leaves
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

// maxBeneath bounds the pointers of a node each of which is tried alone, and maxSummed the numbers of which all pairs are.
const (
	maxBeneath = 4
	maxSummed  = 12
)

func (c *candidate) with(a ...attribute) *candidate {
	c.attr = append(c.attr, a...)
	return c
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
