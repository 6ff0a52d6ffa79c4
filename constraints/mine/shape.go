package mine

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// maker makes candidates about one type.
type maker struct {
	*portrait
	name  string
	edges string // the fields that degrees and paths are about, where other types' edges count too; "": all
	out   []*candidate
	// toEnds says whether a pointer of a head's led to roots alone, or the last ones of lists, whenever the run was looked at. nil: it is not asked.
	toEnds func(h *portrait, l *link, last bool) bool
	// mostlySum says whether a number is mostly the sum of one of the nodes that lead here. nil: it is not asked.
	mostlySum func(of *portrait, l *link, f, g *field) bool
	long      []string // arrays that have too many elements for laws of these to be tried
}

func newMaker(p *portrait) *maker { return &maker{portrait: p, name: p.typ.Name} }

// add makes a candidate of a formula over X (and Y, where it occurs).
func (m *maker) add(key, words, formula string) *candidate {
	formula = m.qualified(formula)
	vars := "X"
	if strings.Contains(formula, "> Y") || strings.Contains(formula, ") Y") {
		vars = "X, Y"
	}
	return m.say(key, words, fmt.Sprintf("%s %s;  %s;", m.name, vars, formula))
}

// say makes a candidate of a whole statement.
func (m *maker) say(key, words, text string) *candidate {
	c := &candidate{key: m.name + " " + key, need: 4, edges: m.edges}
	c.Type, c.Words, c.Text = m.name, words, text
	m.out = append(m.out, c)
	return c
}

func (c *candidate) because(keys ...string) *candidate {
	for _, k := range keys {
		c.implies = append(c.implies, c.Type+" "+k)
	}
	return c
}

// names of links, as a field list.
func names(links []*link) string {
	var s []string
	for _, l := range links {
		s = append(s, l.name)
	}
	return strings.Join(s, ", ")
}

// maxSubsets bounds the fields whose subsets are all tried as the edges of the
// structure, maxPairs those of which all pairs are.
const (
	maxSubsets = 5
	maxPairs   = 10
)

// subsets returns the sets of links that may be the edges of a tree or list: the
// largest first, and those in order of declaration.
func subsets(links []*link) [][]*link {
	var out [][]*link
	if n := len(links); n <= maxSubsets {
		for mask := 1; mask < 1<<n; mask++ {
			var s []*link
			for i := range n {
				if mask&(1<<i) != 0 {
					s = append(s, links[i])
				}
			}
			out = append(out, s)
		}
	} else {
		out = append(out, links)
		for i := range links {
			out = append(out, slices.Delete(slices.Clone(links), i, i+1), links[i:i+1])
			for j := i + 1; j < n && n <= maxPairs; j++ {
				out = append(out, []*link{links[i], links[j]})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b []*link) int { return len(b) - len(a) })
	return out
}

// shapes makes the candidates about pointers alone.
func (m *maker) shapes() {
	own := m.own()
	for _, s := range subsets(own) {
		f := names(s)
		m.add("acyclic "+f, "no cycle over "+f, fmt.Sprintf("X ->>(%s) Y => Y !->>(%s) X", f, f))
		m.add("forest "+f, "at most one edge of "+f+" leads to a node", fmt.Sprintf("X.INDEGREE(%s) <= 1", f))
		m.add("ring "+f, "one edge of "+f+" leads to each node, and one leads on", fmt.Sprintf("X.INDEGREE(%s) == 1 and X.OUTDEGREE(%s) == 1", f, f))
	}
	for _, p := range own {
		for _, q := range own {
			m.inverse(p, q)
		}
		if p.array {
			m.add("mutual "+p.name, "edges of "+p.name+" go both ways", fmt.Sprintf("X ->(%s) Y => Y ->(%s) X", p.name, p.name))
		}
	}
}

// inverse: the one pointer leads back where the other came from.
func (m *maker) inverse(p, q *link) {
	if q.array {
		return
	}
	words := fmt.Sprintf("%s leads back where %s came from", q.name, p.name)
	formula := fmt.Sprintf("X.%s != NULL => X.%s.%s == X", p.name, p.name, q.name)
	switch {
	case p.array:
		words = fmt.Sprintf("the %s of each %s is the node that it hangs on", q.name, p.name)
		formula = fmt.Sprintf("X ->(%s) Y => Y.%s == X", p.name, q.name)
	case !p.typed:
		formula = fmt.Sprintf("X ->(%s) Y => Y ->(%s) X", p.name, q.name)
	case p == q:
		words = p.name + " is mutual"
	}
	c := m.add("back "+p.name+" "+q.name, words, formula).because("forest " + p.name)
	if p.leadsBack() && !q.leadsBack() {
		c.because("acyclic " + p.name) // a cycle would be one of q too
	}
}

// unsteady is the number of functions at whose ends a set of fields is no forest, from which on it is none.
const unsteady = 3

// steady drops sets of fields that are no forest where several outermost functions end, if a part of them is one everywhere: a list in which nodes
// lie for a while, as those that wait, makes no tree with that in which they always are, and that both meet is no reason to look nowhere where it is
// not empty. exits counts the functions at whose ends a candidate failed.
func (m *maker) steady(exits func(*candidate) int) {
	of := map[string]*candidate{}
	for _, c := range m.out {
		of[c.key] = c
	}
	forest := func(s []*link) (pair [2]*candidate) {
		return [2]*candidate{of[m.name+" acyclic "+names(s)], of[m.name+" forest "+names(s)]}
	}
	var whole [][]*link
	for _, s := range subsets(m.own()) {
		if p := forest(s); !p[0].dead && !p[1].dead && len(p[0].fails)+len(p[1].fails) == 0 {
			whole = append(whole, s)
		}
	}
	for _, s := range subsets(m.own()) {
		if !slices.ContainsFunc(whole, func(w []*link) bool { return len(w) < len(s) && allIn(w, s) }) {
			continue
		}
		for _, c := range forest(s) {
			c.dead = c.dead || exits(c) >= unsteady
		}
	}
}

// allIn: all of the one are among the others.
func allIn[T comparable](some, all []T) bool {
	return !slices.ContainsFunc(some, func(x T) bool { return !slices.Contains(all, x) })
}

// shape is what the pointers of a type were found to be.
type shape struct {
	links  []*link
	kind   kind
	parent *link   // leads back along the edges; nil: none
	backs  []*link // all fields that do
}

// kind of a structure.
type kind int

const (
	scattered kind = iota // no edges between nodes
	tree                  // no cycle, at most one edge into a node
	ring                  // one edge into and out of each node
	dag                   // no cycle
	network               // anything else
)

// recognise chooses the edges of the structure from what held of its pointers: the
// largest set of fields that makes a forest, of several the first, or one that makes far more edges; else rings, else one without cycles.
func (m *maker) recognise(held func(key string) bool) shape {
	own := m.own()
	is := func(s []*link, what string) bool { return held(m.name + " " + what + " " + names(s)) }
	var backs []*link
	var found shape
	for _, s := range subsets(own) {
		if len(s) < len(found.links) {
			break
		}
		if is(s, "acyclic") && is(s, "forest") && (found.kind == scattered || m.outdoes(s, found.links)) {
			found = shape{links: s, kind: tree}
		}
	}
	if found.kind == scattered {
		for _, s := range subsets(own) {
			if len(s) == 1 && is(s, "ring") {
				found = shape{links: s, kind: ring}
				break
			}
		}
	}
	// A tree by its parent pointers alone is seen from the wrong end: many nodes
	// have one parent. In a forest of single edges prefer what others lead back to.
	if found.kind == scattered {
		for _, s := range subsets(own) {
			if is(s, "acyclic") && !m.turned(s, own, held) {
				found = shape{links: s, kind: dag}
				break
			}
		}
	}
	if found.kind == scattered && len(own) > 0 {
		found = shape{links: own, kind: network}
	}
	for _, q := range own {
		if q.array || slices.Contains(found.links, q) {
			continue
		}
		all := len(found.links) > 0
		for _, p := range found.links {
			all = all && held(fmt.Sprintf("%s back %s %s", m.name, p.name, q.name))
		}
		if all {
			backs = append(backs, q)
		}
	}
	found.backs = backs
	if len(backs) > 0 {
		found.parent = backs[0]
	}
	return found
}

// outdoes reports whether a set of fields makes at least twice as many edges as another one: what is left in a union now and then, or leads to
// few, is not the structure's. Who leads back makes no structure before who leads on.
func (m *maker) outdoes(s, other []*link) bool {
	edges := func(links []*link) (n int) {
		for _, l := range links {
			n += l.to[m.name]
		}
		return n
	}
	return edges(s) >= 2*edges(other) && (slices.ContainsFunc(other, (*link).leadsBack) || !slices.ContainsFunc(s, (*link).leadsBack))
}

// turned reports whether a set holds a pointer that leads back along others.
func (m *maker) turned(s, own []*link, held func(string) bool) bool {
	for _, q := range s {
		for _, p := range own {
			if p != q && held(fmt.Sprintf("%s back %s %s", m.name, p.name, q.name)) {
				return true
			}
		}
	}
	return false
}

// edgeList returns the field list of the type's declaration, nil if all its pointers
// are edges.
func (m *maker) edgeList(s shape) []string {
	var out []string
	all := true
	for _, l := range m.links {
		if !l.edge {
			continue
		}
		in := slices.Contains(s.links, l)
		all = all && (in || l.set == 0)
		if in {
			out = append(out, l.name)
		}
	}
	if all || len(out) == 0 || s.kind == network {
		return nil
	}
	return out
}

// shapes finds out what the pointers of each type make.
func (m *mining) shapes(ctx context.Context) error {
	m.run.progress("trying shapes")
	for i, p := range m.portraits {
		s, err := m.shapeOf(ctx, p)
		if err != nil {
			return err
		}
		if s.kind != tree && !m.head.types[i].given {
			d, t, err := m.conditional(ctx, p)
			if err != nil {
				return err
			}
			if d != "" {
				m.head.directives = append(m.head.directives, d)
				s = t
			}
		}
		m.found = append(m.found, s)
		if !m.head.types[i].given {
			m.head.types[i].edges = newMaker(p).edgeList(s)
		}
	}
	return nil
}

func (m *mining) shapeOf(ctx context.Context, p *portrait) (shape, error) {
	mk := newMaker(p)
	mk.shapes()
	if err := m.trust(ctx, mk.out); err != nil {
		return shape{}, err
	}
	mk.steady(m.exits)
	held := map[string]bool{}
	for _, c := range agree(mk.out, m.places, m.ends()) {
		held[c.key] = true
	}
	return mk.recognise(func(key string) bool { return held[key] }), nil
}

// exits counts the functions at whose ends a candidate failed.
func (m *mining) exits(c *candidate) (n int) {
	for p := range c.fails {
		if m.land.places[p].exit {
			n++
		}
	}
	return n
}

// conditional looks for a field that says which elements of an array of pointers are
// in use, if that makes a tree of what is none otherwise: the one that leaves most of
// them.
func (m *mining) conditional(ctx context.Context, p *portrait) (best string, found shape, err error) {
	most := 0
	for _, l := range p.links {
		if !l.array || l.count < 2 || l.to[p.name()] == 0 {
			continue
		}
		for _, d := range conditions(p, l) {
			s, edges, err := m.suppose(ctx, p, l, d)
			if err != nil {
				return "", shape{}, err
			}
			if s.kind == tree && edges > most {
				best, found, most = d, s, edges
			}
		}
	}
	return best, found, nil
}

// suppose finds the shape that a type has with one more directive, and how many
// edges of l there are then.
func (m *mining) suppose(ctx context.Context, p *portrait, l *link, directive string) (shape, int, error) {
	head, places := m.head, m.places
	defer func() { m.head, m.places = head, places }()
	m.head.directives = append(slices.Clone(head.directives), directive)
	m.places = clone(places)
	edges := &candidate{key: "edges"}
	edges.Text = fmt.Sprintf("%s X, Y;  X ->(%s) Y => X.OUTDEGREE(%s) > 0;", p.name(), l.name, l.name)
	t, err := compile(m.run, &m.head, []*candidate{edges})
	if err != nil {
		return shape{}, 0, nil // the language refuses it
	}
	if err := t.look(ctx, m.looks); err != nil {
		return shape{}, 0, err
	}
	s, err := m.shapeOf(ctx, p)
	if !slices.ContainsFunc(s.links, func(x *link) bool { return x.name == l.name }) {
		return shape{}, 0, err
	}
	return s, edges.Held, err
}

func clone(s map[int]bool) map[int]bool {
	out := map[int]bool{}
	for k := range s {
		out[k] = true
	}
	return out
}

// conditions are the "cells" directives to try for an array of pointers.
func conditions(p *portrait, l *link) []string {
	var flags []string
	for _, f := range p.fields {
		if v := f.sorted(); len(v) == 2 && !f.many {
			for _, x := range v {
				flags = append(flags, fmt.Sprintf(" if %s == %s", f.name, f.text(x)))
			}
		}
	}
	var out []string
	for _, n := range p.fields {
		if !n.counts() || n.min < 0 || n.max < 2 || n.max > l.count {
			continue
		}
		for _, last := range []string{n.name, n.name + " - 1"} {
			out = append(out, fmt.Sprintf("cells %s: %s[0..%s];", p.name(), l.name, last))
			for _, f := range flags {
				if !strings.Contains(f, " "+n.name+" ") {
					out = append(out, fmt.Sprintf("cells %s: %s[0..%s]%s;", p.name(), l.name, last, f))
				}
			}
		}
	}
	for _, f := range flags {
		out = append(out, fmt.Sprintf("cells %s: %s%s;", p.name(), l.name, f))
	}
	return out
}
