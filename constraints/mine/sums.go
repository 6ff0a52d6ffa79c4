package mine

import (
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
)

// Numbers that sum up another one: of all nodes of a type, of those that have a pointer to the node, or of those of a list.

// whole is what a number's nodes had in all, at a time that was looked at.
type whole struct {
	sum   int64
	known bool // all of them had a value
}

// sumsUp reports whether a number was the sum of another one whenever both were known, and not the same all the time.
func sumsUp(of, all []whole) bool {
	different := map[int64]bool{}
	for i := range min(len(of), len(all)) {
		if !of[i].known || !all[i].known {
			continue
		}
		if of[i].sum != all[i].sum {
			return false
		}
		different[of[i].sum] = true
	}
	return len(different) > 1
}

// sumsOfAll: a number of the only node of its type, or one in static memory, is the sum of one of all nodes of another type, as the bytes that a
// cache's pages have.
func (m *maker) sumsOfAll(others []*portrait, statics []counter) {
	for _, o := range others {
		if o.typ.Array || len(o.fields) > maxSummed {
			continue
		}
		for _, g := range o.fields {
			if !integer(g.typ) {
				continue
			}
			sum := fmt.Sprintf("SUM(%s Y: Y.%s)", o.name(), g.name)
			for _, f := range m.fields {
				if m.alone && o.name() != m.name && integer(f.typ) && sumsUp(f.all, g.all) {
					key := "sum all " + f.name + " " + o.name() + " " + g.name
					m.compare(key, fmt.Sprintf("%s is the sum of %s of all %s", f.name, g.name, o.name()), "", "X."+f.name, "==", sum, 0).because("lower " + f.name)
					for _, c := range m.out { // it is that of those on a list
						if strings.HasPrefix(c.key, m.name+" sum "+f.name+" ") && strings.HasSuffix(c.key, " "+g.name) {
							c.because(key)
						}
					}
				}
			}
			for _, s := range statics {
				if o.name() == m.name && sumsUp(s.all, g.all) {
					c := m.say("sum all "+s.path+" "+g.name, fmt.Sprintf("%s is the sum of %s of all %s", s.path, g.name, m.name), fmt.Sprintf("%s == %s;", s.path, sum))
					c.left, c.right, c.holds, c.need = s.path, sum, relations["=="], 3
				}
			}
		}
	}
}

// sumsOfThose: a number is the sum of one of the nodes that have a pointer to its node, several at a time, as an account's balance that of its
// bookings. Of the only node of its type sumsOfAll says that.
func (m *maker) sumsOfThose(others []*portrait) {
	if m.alone || len(m.fields) > maxSummed {
		return
	}
	for _, o := range others {
		if o.typ.Array || o.name() == m.name || len(o.fields) > maxSummed {
			continue
		}
		for _, l := range o.links {
			if l.array || !l.shared || !l.leadsTo(m.name) {
				continue
			}
			for _, f := range m.fields {
				for _, g := range o.fields {
					if f.counts() && integer(g.typ) && len(f.values) > 2 && len(g.values) > 1 && g.min >= 0 && g.max <= f.max && (m.mostlySum == nil || m.mostlySum(o, l, f, g)) {
						m.compare(fmt.Sprintf("sum those %s %s %s %s", f.name, o.name(), l.name, g.name), fmt.Sprintf("%s is the sum of %s of the %s with %s to this one", f.name, g.name, o.name(), l.name), "", "X."+f.name, "==",
							fmt.Sprintf("SUM(%s Y: Y.%s == X ? Y.%s : 0)", o.name(), l.name, g.name), 0).because("lower " + f.name)
					}
				}
			}
		}
	}
}

// maxSumLooks bounds the times at which sums are looked at before they are tried at all.
const maxSumLooks = 8

// mostlySum reports whether a number of the nodes of a type was the sum of one of those that have a pointer to the node for half of them, as far as both are known, at a few of
// the times that were looked at. To check it takes each of the one for each of the others, at each change of these: of many nodes it is not said.
func (m *mining) mostlySum(t *trial, owner, of *portrait, l *link, f, g *field) bool {
	i := slices.IndexFunc(of.typ.Edges, func(c check.EdgeCell) bool { return c.Name == l.name })
	if n := len(m.looks); i < 0 || n == 0 || (owner.met/n)*(of.met/n) > maxScans {
		return false
	}
	c := &of.typ.Edges[i]
	good, all := 0, 0
	step := max(1, len(m.looks)/maxSumLooks)
	t.graph.Advance()
	for k := step - 1; k < len(m.looks); k += step {
		v := m.run.History.At(m.looks[k].at)
		sums := map[graph.ObjID]int64{}
		for _, o := range t.graph.Live(of.typ, v.Time(), nil) {
			x, ok := g.read(v, t.graph.Object(o).Addr)
			if to := t.graph.Resolve(v.Time(), v.Target(t.graph.CellAddr(o, c, 0), c.Coded), c.Elem, of.typ); ok && to != 0 {
				sums[to] += x
			}
		}
		for _, o := range t.graph.Live(owner.typ, v.Time(), nil) {
			if x, ok := f.read(v, t.graph.Object(o).Addr); ok && (x != 0 || sums[o] != 0) {
				if all++; x == sums[o] {
					good++
				}
			}
		}
	}
	return good > 0 && 2*good >= all
}

// counter is a number in static memory, with what it was at the times that were looked at.
type counter struct {
	path string
	all  []whole
}

// countersOf reads the numbers of objects in static memory.
func (r *Run) countersOf(globals []global, times []mgpp.Timestamp) (out []counter) {
	for _, g := range globals {
		for _, path := range g.numbers {
			f, c := newField(g.scalars[path]), counter{path: path}
			for _, at := range times {
				x, ok := f.read(r.History.At(at), r.Bias)
				c.all = append(c.all, whole{x, ok})
			}
			out = append(out, c)
		}
	}
	return out
}
