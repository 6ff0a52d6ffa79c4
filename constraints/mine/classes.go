package mine

import (
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/check"
)

// Structures of several classes with one base, as the nodes of expressions are: pointers to the base lead to objects of the
// derived classes, and each class has children of its own. The types are declared one by one, so each law is said of each.

// class is one type of a family.
type class struct {
	*maker
	down   []*link  // pointers of its own to nodes of the family
	rows   []*link  // arrays of such in the node
	arrays []*table // and in blocks of their own
}

// family is a base class with the classes derived from it that are declared.
type family struct {
	base    *portrait
	members []*class
	up      []*link // of the base, to nodes of the family: to what a node hangs on, or to its neighbours
	edges   string  // all that leads down
	listed  string  // arrays in nodes alone, where other pointers may lead to neighbours
}

// hasDerived: there are nodes of a type that derives from this one.
func (m *mining) hasDerived(t *check.NodeType, all []*check.NodeType) bool {
	return slices.ContainsFunc(all, func(o *check.NodeType) bool {
		return o.Layout != nil && t.Layout != nil && m.land.births[o.Name] > 0 && derives(o.Layout, t.Layout)
	})
}

// related: one of two types derives from the other.
func related(a, b *portrait) bool {
	return a.typ.Layout != nil && b.typ.Layout != nil && (derives(a.typ.Layout, b.typ.Layout) || derives(b.typ.Layout, a.typ.Layout))
}

// familiesOf finds the base classes. all are the portraits of all types.
func familiesOf(all []*portrait) (out []*family) {
	for _, base := range all {
		f := &family{base: base}
		for _, p := range all {
			if !p.typ.Array && (p == base || p.typ.Layout != nil && base.typ.Layout != nil && derives(p.typ.Layout, base.typ.Layout)) {
				f.members = append(f.members, &class{maker: newMaker(p)})
			}
		}
		if base.typ.Array || len(f.members) < 2 {
			continue
		}
		f.find(all)
		if f.edges != "" {
			out = append(out, f)
		}
	}
	return out
}

// ours: a pointer is an edge that has led to nodes of the family, and to no others.
func (f *family) ours(l *link) bool {
	for to := range l.to {
		if !f.has(to) {
			return false
		}
	}
	return l.edge && len(l.to) > 0
}

// has: a type of that name is one of the family's.
func (f *family) has(name string) bool {
	return slices.ContainsFunc(f.members, func(c *class) bool { return c.name == name })
}

// find tells what leads up and what down.
func (f *family) find(all []*portrait) {
	of := func(p *portrait, name string) bool {
		return slices.ContainsFunc(p.links, func(l *link) bool { return l.name == name })
	}
	for _, l := range f.base.links {
		if !l.array && slices.ContainsFunc(f.members, func(c *class) bool {
			return slices.ContainsFunc(c.links, func(x *link) bool { return x.name == l.name && f.ours(x) })
		}) {
			f.up = append(f.up, l)
		}
	}
	var types, rows []string
	var nodes []*check.NodeType
	for _, p := range all {
		nodes = append(nodes, p.typ)
	}
	for _, c := range f.members {
		for _, l := range c.links {
			if c.portrait != f.base && f.ours(l) && !of(f.base, l.name) && !l.array {
				c.down = append(c.down, l)
				types = append(types, l.name)
			}
			if c.portrait != f.base && f.ours(l) && !of(f.base, l.name) && l.array && l.count > 1 {
				c.rows = append(c.rows, l)
				types, rows = append(types, l.name), append(rows, l.name)
			}
		}
		for _, a := range tablesOf(c.typ, nodes) {
			if to := pointee(a.elem); c.portrait != f.base && to != nil && a.knows && sameStruct(to, f.base.typ.Layout) {
				c.arrays = append(c.arrays, a)
				types = append(types, a.fields())
			}
		}
	}
	slices.Sort(types)
	f.edges = strings.Join(slices.Compact(types), ", ")
	slices.Sort(rows)
	f.listed = strings.Join(slices.Compact(rows), ", ")
}

// into are the pointers that have led to nodes of a class.
func (f *family) into(c *class) string {
	var names []string
	for _, d := range f.members {
		for _, l := range slices.Concat(d.down, d.rows) {
			if l.to[c.name] > 0 {
				names = append(names, l.name)
			}
		}
		for _, a := range d.arrays {
			names = append(names, a.fields())
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// laws are said of each class.
func (f *family) laws(others []*portrait) (out []*candidate) {
	for _, c := range f.members {
		f.shape(c)
		for _, q := range f.up {
			f.ways(c, q, others)
		}
		for _, g := range f.base.fields {
			f.sums(c, g)
		}
		for _, x := range c.out {
			x.joined = x.joined || strings.Contains(x.Text, f.edges)
			for _, d := range f.members {
				for _, a := range d.arrays {
					if strings.Contains(x.Text, a.fields()) || strings.Contains(x.Text, "."+a.name) && d == c {
						x.needs(a)
					}
				}
			}
		}
		out = append(out, c.out...)
	}
	return out
}

// shape: nodes hang on one another once, and do not dangle.
func (f *family) shape(c *class) {
	edges := f.edges
	if f.listed != "" {
		edges = f.into(c)
	}
	once := func(key, edges string) *candidate {
		x := c.add(key, "at most one of "+edges+" leads to a node", fmt.Sprintf("X.INDEGREE(%s) <= 1", edges))
		x.joined = true
		return x
	}
	if edges != "" {
		once("hangs once", edges).because("hangs listed")
	}
	if f.listed != "" && f.listed != edges && edges != "" {
		once("hangs listed", f.listed)
	}
	c.add("dangling", "every edge leads to a node that is alive", "X.DANGLING == 0")
}

// ways: what leads up leads back, and down again.
func (f *family) ways(c *class, q *link, others []*portrait) {
	if len(c.down)+len(c.rows)+len(c.arrays) > 0 {
		c.add("acyclic "+q.name, "there is no cycle over "+q.name, fmt.Sprintf("X ->>(%s) Y => Y !->>(%s) X", q.name, q.name))
	}
	for _, l := range c.down {
		c.back(l, q)
		c.add("end "+l.name+" "+q.name, fmt.Sprintf("what %s leads to has no %s", l.name, q.name), fmt.Sprintf("X.%s != NULL => X.%s.%s == NULL", l.name, l.name, q.name))
	}
	for _, p := range f.up {
		if p != q { // neighbours in a list, of whatever classes
			c.back(p, q).because("down " + p.name)
		}
	}
	for _, l := range c.rows {
		c.eachBack("back "+l.name+" "+q.name, l.name, fmt.Sprint(l.count-1), q)
	}
	for _, a := range c.arrays {
		c.eachBack("back "+a.name+" "+q.name, a.name, "X."+a.name+".COUNT - 1", q)
	}
	c.add("down "+q.name, "a node hangs on its "+q.name, fmt.Sprintf("X.%s != NULL => X.%s -> X", q.name, q.name)).joined = true
	for _, h := range others {
		if f.has(h.name()) {
			continue
		}
		for _, l := range h.links {
			if !l.array && f.ours(l) {
				c.ends(h, l.set, true, "top "+q.name+" "+h.name()+"."+l.name, fmt.Sprintf("what has no %s hangs on the %s of a %s", q.name, l.name, h.name()),
					fmt.Sprintf("forall %s X; exists %s H;  X.%s == NULL => H.%s == X;", c.name, h.name(), q.name, l.name))
			}
		}
	}
}

// back: one pointer leads back where another came from.
func (c *class) back(p, q *link) *candidate {
	return c.add("back "+p.name+" "+q.name, fmt.Sprintf("%s leads back where %s came from", q.name, p.name), fmt.Sprintf("X.%s != NULL => X.%s.%s == X", p.name, p.name, q.name))
}

// sums: a number is that of the children, summed up, or the greatest of them, and maybe one more.
func (f *family) sums(c *class, g *field) {
	k := slices.IndexFunc(c.fields, func(x *field) bool { return x.name == g.name })
	if k < 0 || !c.fields[k].counts() || len(c.down)+len(c.arrays) == 0 || len(c.rows) > 0 {
		return
	}
	var terms []string
	for _, l := range c.down {
		t := fmt.Sprintf("X.%s.%s", l.name, g.name)
		if l.null > 0 {
			t = fmt.Sprintf("(X.%s == NULL ? 0 : %s)", l.name, t)
		}
		terms = append(terms, t)
	}
	most := strings.Join(terms, ", ")
	if len(terms) > 1 {
		most = "MAX(" + most + ")"
	}
	singles := len(terms)
	for _, a := range c.arrays {
		child := fmt.Sprintf("X.%s[I]", a.name)
		terms = append(terms, fmt.Sprintf("SUM(I in 0 to X.%s.COUNT - 1: %s == NULL ? 0 : %s.%s)", a.name, child, child, g.name))
	}
	for _, k := range []int64{0, 1} {
		words := fmt.Sprintf("%s is the sum of that of all that hangs on a node%s", g.name, offset(k))
		f.number(c, fmt.Sprintf("sum %s %d", g.name, k), words, g.name, strings.Join(terms, " + ")+offset(k))
		if len(terms) == singles && singles > 1 {
			f.number(c, fmt.Sprintf("most %s %d", g.name, k), fmt.Sprintf("%s is the greatest of what hangs on a node%s", g.name, offset(k)), g.name, most+offset(k))
		}
	}
}

// number: X.field is a formula of which eight different sightings are asked for, since it is no comparison of two operands.
func (f *family) number(c *class, key, words, field, formula string) {
	c.add(key, words, fmt.Sprintf("X.%s == %s", field, formula)).because("lower " + field).need = 8
}
