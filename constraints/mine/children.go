package mine

import (
	"fmt"
	"strings"
)

// Arrays of pointers to nodes: children in a vector or a block, what another node has lists of, the levels of a skip list.

// hung makes the candidates about what hangs on an array of pointers to nodes that have a pointer back: that it leads back, and to
// where it hangs once.
func (m *maker) hung(a *table, n size, target *portrait) {
	for _, q := range target.links {
		if q.array || !q.edge || q.union || !q.leadsTo(m.name) || !sameStruct(q.elem, m.typ.Layout) {
			continue
		}
		back := m.eachBack(fmt.Sprintf("back %s %s %s", a.name, q.name, n.name), a.name, n.last(), q).needs(a)
		back.family = "back " + a.name + " " + q.name
		up := "X." + q.name + "."
		down := m.say(fmt.Sprintf("down %s %s %s %s", target.name(), q.name, a.name, n.name), fmt.Sprintf("a %s is once among the %s of its %s", target.name(), a.name, q.name),
			fmt.Sprintf("%s X;  X.%s != NULL => SUM(I in 0 to %s: %s%s[I] == X ? 1 : 0) == 1;", target.name(), q.name, strings.Replace(n.last(), "X.", up, 1), up, a.name)).needs(a)
		down.family = "down " + q.name + " " + a.name
	}
}

// eachBack: what the elements of an array up to a last one lead to leads back by a pointer.
func (m *maker) eachBack(key, array, last string, back *link) *candidate {
	child := fmt.Sprintf("X.%s[I]", array)
	return m.say(key, fmt.Sprintf("the %s of each of %s is the node that it hangs on", back.name, array),
		fmt.Sprintf("%s X;  for I in 0 to %s, %s != NULL => %s.%s == X;", m.name, last, child, child, back.name)).because("led " + array)
}

// below makes the candidates about numbers that count what hangs on a node's array of pointers to its own kind.
func (m *maker) below(a *table, n size) {
	child := fmt.Sprintf("X.%s[I]", a.name)
	for _, f := range m.fields {
		if !f.counts() || f == n.field {
			continue
		}
		below := func(key, words, of string, k int64) {
			sum := fmt.Sprintf("SUM(I in 0 to %s: %s == NULL ? 0 : %s)", n.last(), child, of)
			c := m.compare(key+" "+f.name+" "+a.name+" "+n.name, f.name+words, "", "X."+f.name, "==", sum, k).needs(a).because("lower " + f.name)
			c.family = key + f.name + a.name
		}
		below("below", " is the number of nodes below", fmt.Sprintf("%s.%s + 1", child, f.name), 0)
		below("size", " is the number of nodes of the subtree", fmt.Sprintf("%s.%s", child, f.name), 1)
		m.alikeAmong(a, n, f)
	}
}

// alikeAmong: where a number is a parent's and one more, say, it is in order among the children, which need not be said.
func (m *maker) alikeAmong(a *table, n size, f *field) {
	for _, c := range m.out {
		if strings.HasPrefix(c.key, m.name+" edge "+f.name+" == ") {
			for _, op := range []string{"<=", ">="} {
				c.because(fmt.Sprintf("sorted %s %s %s %s", a.name, f.name, n.name, op))
			}
		}
	}
}

// lanes makes the candidates about levels of a node's pointers, of which each makes a list of its own that is part of the one below, as in a skip list.
func (m *maker) lanes(s shape) {
	if s.kind != dag && s.kind != network {
		return
	}
	for _, p := range s.links {
		if !p.array || !p.typed || p.count == 0 {
			continue
		}
		next := func(i string) string { return fmt.Sprintf("X.%s[%s]", p.name, i) }
		for _, h := range m.fields {
			if !h.counts() || h.min < 0 || h.min > 1 || h.max < 2 || p.count > 0 && h.max > p.count {
				continue
			}
			for _, k := range []int64{0, 1} { // it counts them, or is the index of the last one
				last := fmt.Sprintf("X.%s%s", h.name, offset(k-1))
				c := m.compare(fmt.Sprintf("lanes %s %s %d", p.name, h.name, k), fmt.Sprintf("as many of %s lead to a node as its %s says%s", p.name, h.name, offset(k)),
					fmt.Sprintf("X.ISROOT(%s) == FALSE", p.name), fmt.Sprintf("X.INDEGREE(%s)", p.name), "==", "X."+h.name, k)
				c.because("lower " + h.name)
				high := m.say(fmt.Sprintf("high %s %s %d", p.name, h.name, k), fmt.Sprintf("what an element of %s leads to has one of its own there", p.name),
					fmt.Sprintf("%s X;  for I in 0 to %s, %s != NULL => %s.%s%s > I;", m.name, last, next("I"), next("I"), h.name, offset(k)))
				high.need = 8
				c.family, high.family = "lanes "+p.name, "high "+p.name
				for _, f := range m.fields {
					if f == h || len(f.values) < 8 {
						continue
					}
					for _, op := range []string{"<=", ">="} {
						sub := m.compare(fmt.Sprintf("sublist %s %s %s %d", p.name, f.name, op, k), fmt.Sprintf("the list over an element of %s is part of that over the one before: its next %s is as far or farther", p.name, f.name), "",
							next("I - 1")+"."+f.name, op, next("I")+"."+f.name, 0)
						sub.Text = fmt.Sprintf("%s X;  for I in 1 to %s, %s != NULL => %s != NULL and %s %s %s;", m.name, last, next("I"), next("I - 1"), sub.left, op, sub.right)
						sub.need, sub.family = 4, "sublist "+p.name+f.name
					}
				}
			}
		}
	}
}
