package mine

import (
	"fmt"
	"slices"
	"strings"
)

// Lists by pointers that are no edges, in which a node hangs beside its own: an arc in that of the node where it ends, an
// entry of a hash table in that of the last used.

// seconds are the pointers by which such lists may go on.
func (m *maker) seconds(s shape) (out []*link) {
	if s.kind == network {
		return nil
	}
	for _, q := range m.own() {
		if !q.array && q.typed && q.set > 0 && q.null > 0 && !slices.Contains(s.links, q) && !slices.Contains(s.backs, q) {
			out = append(out, q)
		}
	}
	return out
}

// secondHeads: on what the first and the last ones of such lists hang.
func (m *maker) secondHeads(s shape, paths []string, others []*portrait) {
	for _, q := range m.seconds(s) {
		if 2*q.set < q.null {
			continue // nearly all are first ones
		}
		for _, of := range []struct{ key, what, is string }{{"root", "first", "ISROOT"}, {"last", "last", "ISLEAF"}} {
			is := fmt.Sprintf("X.%s(%s) == TRUE", of.is, q.name)
			for _, path := range paths {
				m.end(of.key+" "+path+" "+q.name, fmt.Sprintf("%s is the %s one over %s", path, of.what, q.name), is+" => "+path+" == X")
			}
			for _, h := range others {
				for _, l := range h.links {
					if h.name() != m.name && l.leadsTo(m.name) && !l.array && !related(h, m.portrait) {
						m.ends(h, l.set, false, of.key+" "+h.name()+"."+l.name+" "+q.name, fmt.Sprintf("each %s one over %s hangs on the %s of a %s", of.what, q.name, l.name, h.name()),
							fmt.Sprintf("forall %s X; exists %s H;  %s => H.%s == X;", m.name, h.name(), is, l.name))
					}
				}
			}
		}
	}
}

// secondOrders: numbers along such lists.
func (m *maker) secondOrders(s shape) {
	for _, q := range m.seconds(s) {
		for _, f := range m.fields {
			if len(f.values) < 2 || !(s.plain() && !q.shared) && f.serial() {
				continue
			}
			for _, r := range []struct {
				op, words string
				covers    []string
			}{{"<", "grows", []string{"<="}}, {"<=", "does not fall", nil}, {">", "falls", []string{">="}}, {">=", "does not grow", nil}, {"==", "is the same", []string{"<=", ">="}}} {
				c := m.compare("edge "+f.name+" "+r.op+" "+q.name, fmt.Sprintf("%s %s along %s", f.name, r.words, q.name), q.on(), "X."+f.name, r.op, "X."+q.name+"."+f.name, 0)
				if r.op == "<" || r.op == ">" {
					c.alike = f.alike()
				}
				for _, op := range r.covers {
					c.because("edge " + f.name + " " + op + " " + q.name)
				}
			}
		}
	}
}

// countedBy is the number of nodes of such a list from a node on.
func (m *maker) countedBy(q *link) attribute {
	name := "COUNTED_" + strings.ToUpper(strings.ReplaceAll(q.name, ".", "_"))
	return m.attr(name, over("+", name, []string{q.name})+" + 1")
}

// countsOfSecond: a number of a head counts such a list that hangs on one of its pointers. It returns the keys of what it says.
func (m *maker) countsOfSecond(o *portrait, s shape, f *field, l *link) (keys []string) {
	mk := newMaker(o)
	s.links, s.backs = mk.same(s.links), mk.same(s.backs)
	for _, q := range mk.seconds(s) {
		key, counted := "reached "+f.name+" "+l.name+" "+q.name, mk.countedBy(q)
		m.compare(key, fmt.Sprintf("%s is the number of %s that hang on %s over %s", f.name, o.name(), l.name, q.name),
			"", "X."+f.name, "==", fmt.Sprintf("(X.%s).%s", l.name, counted.name), 0).with(counted).because(append(keys, "reached "+f.name+" "+l.name)...)
		keys = append(keys, key)
	}
	return keys
}

// bothEnds: of two pointers into a list that lead to different nodes the first one leads to one that goes on, and the other to one with another
// before it: so neither was left behind at a node that was taken out. owner is whose pointers they are, decl what declares it.
func (m *maker) bothEnds(s shape, owner, decl, of string, heads []string) {
	heads = heads[:min(len(heads), maxHeads)]
	both := func(next, back *link) {
		for _, a := range heads {
			for _, b := range heads {
				if a != b {
					m.say("ends "+owner+a+" "+b+" "+next.name+" "+back.name, fmt.Sprintf("%s and %s lead to one node, or that of %s has a %s, and that of %s a %s", a, b, a, next.name, b, back.name),
						fmt.Sprintf("%s%s%s == %s%s or %s%s.%s != NULL and %s%s.%s != NULL;", decl, of, a, of, b, of, a, next.name, of, b, back.name)).atEnd(8)
				}
			}
		}
	}
	if s.kind == tree && len(s.links) == 1 && !s.links[0].array && s.links[0].typed {
		for _, back := range s.backs {
			if !back.array && back.typed {
				both(s.links[0], back)
			}
		}
	}
	seconds := m.seconds(s)
	for i, next := range seconds {
		for _, back := range seconds[i+1:] { // the other way round the first head is the last
			both(next, back)
		}
	}
}
