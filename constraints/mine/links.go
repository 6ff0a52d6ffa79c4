package mine

import (
	"fmt"
	"slices"
	"strings"

	"mgtrace/types"
)

// Pointers beside the edges of a structure: ways back, lists of siblings, links to other types.

// aside makes candidates about pointers that are not the edges of the structure:
// lists of their own, mutual ones, and those that are alike all along a list.
func (m *maker) aside(s shape) {
	if s.kind == network {
		return
	}
	in := func(l *link) bool { return slices.Contains(s.links, l) || slices.Contains(s.backs, l) }
	for _, p := range m.own() {
		if in(p) {
			continue
		}
		m.add("acyclic "+p.name, "there is no cycle over "+p.name, fmt.Sprintf("X ->>(%s) Y => Y !->>(%s) X", p.name, p.name))
		m.add("forest "+p.name, "at most one "+p.name+" leads to a node", fmt.Sprintf("X.INDEGREE(%s) <= 1", p.name))
		if !p.array { // an array's name is its place, which lies in its own node
			own := fmt.Sprintf("X.%s == X", p.name)
			if p.null > 0 {
				own = fmt.Sprintf("X.%s != NULL => %s", p.name, own)
			}
			m.add("self "+p.name, p.name+" leads to its own node", own).because("forest "+p.name, "nonnull "+p.name, "back "+p.name+" "+p.name)
		}
		for _, q := range m.own() {
			if !slices.Contains(s.backs, q) { // of an edge as well: what else hangs on it may have no way back, as a list of spare nodes
				m.inverse(p, q)
			}
		}
	}
	m.siblings(s)
	m.kinds(s)
	for _, p := range m.own() {
		for _, q := range m.links {
			switch {
			case p.array || q.array || !q.edge || q.set == 0:
			case q.to[m.name] == 0:
				m.alike(q, p)
			case len(s.links) == 1 && p == s.links[0] && !in(q): // of a list of nodes that hang on another one
				m.alike(q, p).need = 8
			}
		}
	}
}

// alike makes the candidate that a pointer is the same all along another one.
func (m *maker) alike(q, along *link) *candidate {
	formula := fmt.Sprintf("%s => X.%s.%s == X.%s", along.on(), along.name, q.name, q.name)
	if !along.typed { // no field can be named through it
		guard := fmt.Sprintf("X ->(%s) Y", along.name)
		if along.self > 0 {
			guard += " and X != Y"
		}
		formula = fmt.Sprintf("%s => Y.%s == X.%s", guard, q.name, q.name)
	}
	return m.add("same "+q.name+" "+along.name, fmt.Sprintf("%s is the same all along %s", q.name, along.name), formula)
}

// kinds: a pointer beside the edges of a tree leads to nodes of the same kind, and nodes of another kind have none, as the leaves of
// a B+ tree are chained.
func (m *maker) kinds(s shape) {
	if s.kind != tree {
		return
	}
	for _, p := range m.own() {
		if p.array || !p.typed || slices.Contains(s.links, p) || slices.Contains(s.backs, p) {
			continue
		}
		for _, f := range m.fields {
			if !f.distinguishes() {
				continue
			}
			m.add("kind "+p.name+" "+f.name, fmt.Sprintf("%s leads to a node with the same %s", p.name, f.name), fmt.Sprintf("X.%s != NULL => X.%s.%s == X.%s", p.name, p.name, f.name, f.name)).need = 8
			for _, v := range f.sorted() {
				m.add(fmt.Sprintf("none %s %s %d", p.name, f.name, v), fmt.Sprintf("a node with %s %s has no %s", f.name, f.text(v), p.name), fmt.Sprintf("X.%s == %s => X.%s == NULL", f.name, f.text(v), p.name)).need = 8
			}
		}
	}
}

// siblings makes candidates about a tree whose nodes hang on one another in lists, as elements of
// documents do: the way back along a list and up from its end, the one parent of all in it, what begins and ends it, and
// how many nodes it has.
func (m *maker) siblings(s shape) {
	if len(s.links) < 2 {
		return
	}
	edge := func(l *link) bool { return slices.Contains(s.links, l) }
	back := func(l *link) bool { return slices.Contains(s.backs, l) }
	for _, first := range s.links {
		for _, next := range s.links {
			if first == next || first.array || next.array || !first.typed || !next.typed {
				continue
			}
			counted := m.countedBy(next)
			for _, f := range m.fields {
				if f.counts() {
					m.compare("children "+f.name+" "+first.name+" "+next.name, fmt.Sprintf("%s is the number of nodes that begin with %s, over %s", f.name, first.name, next.name),
						"", "X."+f.name, "==", fmt.Sprintf("(X.%s).%s", first.name, counted.name), 0).with(counted).because("lower " + f.name)
				}
			}
		}
	}
	for _, p := range m.own() {
		for _, q := range m.own() {
			if p == q || p.array || q.array || back(p) || back(q) || edge(p) && edge(q) {
				continue
			}
			if edge(p) != edge(q) {
				m.inverse(p, q)
			}
			if !edge(q) {
				m.alike(q, p).need = 8
			}
			if q.set > 0 && q.null > 0 {
				m.add("end "+p.name+" "+q.name, fmt.Sprintf("what %s leads to has no %s", p.name, q.name), fmt.Sprintf("X.%s != NULL => X.%s.%s == NULL", p.name, p.name, q.name)).need = 8
			}
		}
	}
}

// waysBack makes the candidates about pointers to the pointer that leads to this node, as the
// tqe_prev and le_prev of sys/queue.h and the pprev of Linux's hlist are. That pointer may lie
// in a head that is not recorded: then it holds of what a link leads to.
func (m *maker) waysBack(others []*portrait) {
	if m.typ.Layout == nil {
		return
	}
	for _, s := range m.typ.Layout.Scalars() {
		if s.Type == nil || s.Type.Kind != types.Pointer || !s.Type.Elem.IsPointerTo() || strings.Contains(s.Path, "[") {
			continue
		}
		entry := s.Path[:strings.LastIndexByte(s.Path, '.')+1] // the structure that both links are in
		in := m.typ.Layout
		if at, err := in.Find(strings.TrimSuffix(entry, ".")); entry != "" && err == nil {
			in = at.Type
		}
		if to := s.Type.Elem.Elem; !sameStruct(to, m.typ.Layout) && !sameStruct(to, in) {
			m.ways(s.Path, to, others)
			continue
		}
		all := "way " + s.Path
		m.add(all, s.Path+" leads to the pointer that leads here", fmt.Sprintf("X.%s[0] == X", s.Path))
		for _, p := range m.own() {
			if !p.array && strings.HasPrefix(p.name, entry) {
				m.add(all+" "+p.name, fmt.Sprintf("the %s of what %s leads to leads to the pointer that leads there", s.Path, p.name),
					fmt.Sprintf("X.%s != NULL => X.%s.%s[0] == X.%s", p.name, p.name, s.Path, p.name)).because(all)
			}
		}
	}
}

// ways makes the candidates about a pointer to a pointer to nodes of another type: to the last of their list, where the next one goes.
func (m *maker) ways(path string, to *types.Type, others []*portrait) {
	if !slices.ContainsFunc(others, func(o *portrait) bool { return sameStruct(to, o.typ.Layout) }) {
		return
	}
	m.add("end "+path, fmt.Sprintf("the pointer to which %s leads is NULL", path), fmt.Sprintf("X.%s[0] == NULL", path)).atEnd(5)
}

// members makes the candidates about structures in a node that link to their own kind, as the
// links and heads of lists do (struct list_head of Linux, wl_list of Wayland): whatever it lies
// in, the one that a link leads to leads back to this. So do those that are a class's bases (class Job : Hook<Job>).
func (m *maker) members(t *types.Type, path string, depth int) {
	if t == nil || depth > maxNesting {
		return
	}
	for _, f := range t.Members {
		if f.Base && path == "" && f.Type != nil && f.Offset >= 0 {
			m.hook(t, f)
		}
		if f.Name == "" || f.Type == nil || internal(path+f.Name) {
			continue
		}
		in, at, loop := f.Type, "X."+path+f.Name, ""
		if in.Kind == types.Array && in.Count > 1 && in.Elem != nil {
			loop = fmt.Sprintf("for I in 0 to %d, ", in.Count-1)
			in, at = in.Elem, at+"[I]"
		}
		if in.Kind != types.Struct {
			continue
		}
		links, whole := linksToOwn(in), at
		for b := firstBase(in); len(links) == 0 && b != nil; b = firstBase(b) {
			links, whole = linksToOwn(b), "X" // a hook may have its links from a base class: what leads to that leads into the node
		}
		for _, p := range links {
			for _, q := range links {
				if p == q || len(links) > maxSubsets {
					continue
				}
				name := path + f.Name
				c := m.add("member "+name+" "+p+" "+q, fmt.Sprintf("the %s of what %s leads to leads back", q, name+"."+p),
					fmt.Sprintf("%s%s.%s != NULL => %s.%s.%s == %s", loop, at, p, at, p, q, whole))
				c.because("back "+name+"."+p+" "+name+"."+q, "self "+name+"."+p).atEnd(5) // a head may be the only one
			}
		}
		if len(links) == 0 && loop == "" {
			m.members(in, path+f.Name+".", depth+1)
		}
	}
}

// lists makes the candidates about a number of two values that says in which list a node is by a structure in it: the same all along, and one of them behind a head
// in what another node has of these.
func (m *maker) lists(others []*portrait) {
	for _, l := range embeddedLinks(m.typ.Layout, "", 0) {
		next := linksToOwn(l.in)[0]
		for _, f := range m.fields {
			if !f.distinguishes() || strings.HasPrefix(f.name, l.path+".") {
				continue
			}
			c := m.say("along "+l.path+" "+f.name, fmt.Sprintf("%s is the same all along %s.%s", f.name, l.path, next),
				fmt.Sprintf("%s X, Y;  X.%s.%s == Y => X.%s == Y.%s;", m.name, l.path, next, f.name, f.name))
			c.left, c.right, c.holds, c.need = "X."+f.name, "Y."+f.name, relations["=="], 2
			for _, o := range others {
				if o.name() == m.name || o.typ.Array {
					continue
				}
				for _, h := range embeddedLinks(o.typ.Layout, "", 0) {
					for _, v := range f.sorted() {
						if !sameStruct(h.in, l.in) {
							continue
						}
						c := m.say(fmt.Sprintf("head %s %s %s %s", o.name(), h.path, f.name, f.text(v)), fmt.Sprintf("%s.%s of a %s leads to nodes with %s %s", h.path, next, o.name(), f.name, f.text(v)),
							fmt.Sprintf("%s H; %s X;  H.%s.%s == X => X.%s == %s;", o.name(), m.name, h.path, next, f.name, f.text(v)))
						c.need, c.share = 8, float64(f.values[v])/float64(f.values[f.sorted()[0]]+f.values[f.sorted()[1]])
					}
				}
			}
		}
	}
}

// inner is a structure in a node that links to its own kind.
type inner struct {
	path string
	in   *types.Type
}

// embeddedLinks are those of a structure that are no elements of arrays, nor bases.
func embeddedLinks(t *types.Type, path string, depth int) (out []inner) {
	if t == nil || depth > maxNesting {
		return nil
	}
	for _, f := range t.Members {
		switch {
		case f.Name == "" || f.Base || f.Type == nil || f.Type.Kind != types.Struct || internal(path+f.Name):
		case len(linksToOwn(f.Type)) > 0:
			out = append(out, inner{path + f.Name, f.Type})
		default:
			out = append(out, embeddedLinks(f.Type, path+f.Name+".", depth+1)...)
		}
	}
	return out
}

// firstBase is the class that a class begins with; nil if it has no bases.
func firstBase(t *types.Type) *types.Type {
	for _, b := range t.Members {
		if b.Base && b.Offset >= 0 {
			return b.Type
		}
	}
	return nil
}

// linksToOwn names the pointers of a structure that lead to its own kind.
func linksToOwn(in *types.Type) (links []string) {
	for _, l := range in.Members {
		if l.Name != "" && l.Type != nil && l.Type.Kind == types.Pointer && sameStruct(l.Type.Elem, in) {
			links = append(links, l.Name)
		}
	}
	return links
}

// hook makes the candidates about a base class that links to its own kind.
func (m *maker) hook(t *types.Type, base types.Member) {
	links := linksToOwn(base.Type)
	if len(links) > maxSubsets || sameStruct(base.Type, m.typ.Layout) {
		return
	}
	name := func(l string) string { // another base may have one of that name
		own, at, ok := t.Member(l)
		if in, off, is := base.Type.Member(l); ok && is && (own.Base || at != base.Offset+off || own.Type != in.Type) {
			return base.Type.Name + "::" + l
		}
		return l
	}
	for _, p := range links {
		for _, q := range links {
			if p == q {
				continue
			}
			c := m.add("member "+name(p)+" "+q, fmt.Sprintf("the %s of what %s leads to leads back", q, name(p)),
				fmt.Sprintf("X.%s != NULL => X.%s.%s == X", name(p), name(p), q))
			c.because("back "+name(p)+" "+name(q), "self "+name(p)).atEnd(5)
		}
	}
}

// across makes candidates about what pointers to other types lead to.
func (m *maker) across(others []*portrait) {
	for _, o := range others {
		for _, l := range m.links {
			if o.name() == m.name || l.union || !l.leadsTo(o.name()) {
				continue
			}
			m.owned(l, o)
			if l.array {
				continue
			}
			for _, g := range o.fields {
				for _, f := range m.fields {
					if (f.typ.Kind == g.typ.Kind || integer(f.typ) && integer(g.typ)) && len(f.values) > 1 && len(g.values) > 1 {
						m.compare("copy "+f.name+" "+l.name+"."+g.name, fmt.Sprintf("%s is the %s of its %s", f.name, g.name, l.name),
							fmt.Sprintf("X.%s != NULL", l.name), "X."+f.name, "==", fmt.Sprintf("X.%s.%s", l.name, g.name), 0)
					}
				}
				if v := g.sorted(); g.typ.Kind == types.Enum && len(v) > 1 && len(v) <= maxEnum {
					for _, x := range v {
						c := m.add(fmt.Sprintf("kind %s %s %d", l.name, g.name, x), fmt.Sprintf("%s leads to nodes with %s %s", l.name, g.name, g.text(x)),
							fmt.Sprintf("X.%s != NULL => X.%s.%s == %s", l.name, l.name, g.name, g.text(x)))
						c.need = 12
					}
				}
			}
		}
	}
}

// owned: what a pointer leads to leads back, as an item to the list that it is in. Classes of one base have other laws.
func (m *maker) owned(l *link, o *portrait) {
	if related(o, m.portrait) {
		return
	}
	for _, q := range o.links {
		switch {
		case q.array || q.union || !q.leadsTo(m.name):
		case l.array:
			m.say("owned "+l.name+" "+q.name, fmt.Sprintf("the %s of each %s is the node that it hangs on", q.name, l.name),
				fmt.Sprintf("%s X; %s Y;  X ->(%s) Y => Y.%s == X;", m.name, o.name(), l.name, q.name)).need = 8
		case sameStruct(l.elem, o.typ.Layout):
			m.add("owned "+l.name+" "+q.name, fmt.Sprintf("%s of what %s leads to leads back", q.name, l.name),
				fmt.Sprintf("X.%s != NULL => X.%s.%s == X", l.name, l.name, q.name)).need = 8
		}
	}
}
