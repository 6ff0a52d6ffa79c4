package mine

import (
	"fmt"
	"math"
)

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
