package mine

import (
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/types"
)

// Reference counts: a number of a node that says how many pointers lead to it, from whatever types.

// holders are the pointers that lead to nodes of a type.
type holders struct {
	fields []string // each name once, as it stands in a degree
	from   []string // the types that have them, and the arrays that they are elements of
	blocks []*table
	others bool // some are other types'
}

// holdersOf finds the pointers that lead to nodes of a type.
func holdersOf(p *portrait, all []*portrait) holders {
	var h holders
	var nodes []*check.NodeType
	for _, o := range all {
		nodes = append(nodes, o.typ)
	}
	add := func(field string, from ...string) {
		if !slices.Contains(h.fields, field) {
			h.fields = append(h.fields, field)
		}
		h.from = append(h.from, from...)
	}
	for _, o := range all {
		for _, l := range o.links {
			header := o == p && deep(l.name) && l.to[p.name()] == l.self // of an empty container, which leads to itself
			if l.edge && l.to[p.name()] > 0 && !o.typ.Array && !header && !l.toPart(p.typ.Layout) {
				add(l.name, o.name())
				h.others = h.others || o != p
			}
		}
		for _, a := range tablesOf(o.typ, nodes) {
			if a.block != "" && a.elem.Kind == types.Pointer && sameStruct(a.elem.Elem, p.typ.Layout) {
				add(a.block, o.name(), a.block)
				h.blocks, h.others = append(h.blocks, a), true
			}
		}
	}
	return h
}

// toPart: the pointer is declared to lead to a structure that the node has in it, as the links of an intrusive list: who counts what refers to
// a node does not count its neighbours.
func (l *link) toPart(node *types.Type) bool {
	return l.elem != nil && l.elem.Kind == types.Struct && !sameStruct(l.elem, node) && !baseOf(l.elem, node) && !derives(l.elem, node)
}

// mayRefer: a number that is 1 or 0 where nobody or one refers to the node, and more where several do.
func (f *field) mayRefer() bool {
	return f.counts() && (f.min == 0 || f.min == 1) && f.max >= 2
}

// namedCount: its name says that it counts what refers to the node.
func (f *field) namedCount() bool {
	name := strings.ToLower(f.name[strings.LastIndex(f.name, ".")+1:])
	return slices.ContainsFunc([]string{"ref", "use", "count", "cnt"}, func(s string) bool { return strings.Contains(name, s) })
}

// references makes the candidates about numbers that count the pointers to a node: all pointers, or all but those
// of one field or two, as one that leads back and is not counted, or the chains of a hash table and the table; with those of objects in static memory or without. Where variables of
// functions hold nodes too, the number is at least that of the pointers that are seen.
func (m *maker) references(all []*portrait, globals []global) {
	h := holdersOf(m.portrait, all)
	if len(h.fields) == 0 || len(h.fields) > maxHolders {
		return
	}
	sets := [][]string{h.fields}
	without := func(set []string, i int) []string { return slices.Delete(slices.Clone(set), i, i+1) }
	for i := range h.fields {
		if len(h.fields) > 1 {
			sets = append(sets, without(h.fields, i))
		}
	}
	for i := 0; len(h.fields) > 2 && i < len(h.fields); i++ {
		for k := i; k < len(h.fields)-1; k++ {
			sets = append(sets, without(without(h.fields, i), k))
		}
	}
	static, statics := "", 0.0
	for _, g := range globals {
		for _, path := range g.pathsTo(m.name) {
			static += fmt.Sprintf(" + (%s == X ? 1 : 0)", path)
			statics++
		}
	}
	for _, f := range m.fields {
		if !f.mayRefer() {
			continue
		}
		say := func(key, words, op string, set []string) *candidate {
			if len(set) < len(h.fields) {
				words += " of " + strings.Join(set, ", ")
			}
			c := m.compare("refs "+f.name+" "+key, f.name+" is "+words+" that lead to the node", "", "X."+f.name, op, fmt.Sprintf("X.INDEGREE(%s)", strings.Join(set, ", ")), 0)
			c.family, c.joined = "refs "+f.name, h.others
			for _, a := range h.blocks {
				c.needs(a)
			}
			if len(set) == 1 {
				for _, o := range all {
					c.because(ledKey(f, o, set[0]))
				}
			}
			return c.because("lower " + f.name)
		}
		for i, set := range sets {
			say(fmt.Sprint(i), "the number of pointers", "==", set)
			if static != "" {
				c := say(fmt.Sprintf("%d static", i), "the number of pointers", "==", set)
				c.Words += ", and of those in static memory"
				c.Text = strings.TrimSuffix(c.Text, ";") + static + ";"
				c.holds = func(a, b float64) bool { return b <= a && a <= b+statics }
			}
		}
		if f.namedCount() {
			c := say("least", "at least the number of pointers", ">=", h.fields)
			c.weak, c.tight = true, true // whatever counts what lies below does that
		}
	}
}

// maxHolders bounds the fields that may lead to a node whose count is looked for.
const maxHolders = 6
