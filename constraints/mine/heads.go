package mine

import (
	"fmt"
	"strings"
)

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
