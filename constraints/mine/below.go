package mine

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

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

// maxSpelt bounds the elements of an array that an attribute spells out.
const maxSpelt = 8
