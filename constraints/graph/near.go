package graph

import (
	"slices"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Into returns the addresses of up to limit pointers that lead to o by default
// edges.
func (g *Graph) Into(o ObjID, v mgpp.View, limit int) []trace.Addr {
	var out []trace.Addr
	for _, e := range g.In(v, o) {
		if len(out) < limit {
			out = append(out, e.Addr)
		}
	}
	return out
}

// Led reports whether a pointer leads to o, one by a default edge or another one: of a type that no
// default edge leads to, as `edges` may say, only such others tell that a node is in use.
func (g *Graph) Led(o ObjID, v mgpp.View) bool {
	return slices.ContainsFunc(g.AppendRefs(v, Changed(v), o, nil), func(r Ref) bool {
		return g.Alive(r.From, v.Time()) && g.applies(v, r)
	})
}

// Rooted reports whether a pointer in static memory leads to o: such a node is in use, though no edge may lead to it.
func (g *Graph) Rooted(o ObjID, v mgpp.View) bool {
	return slices.ContainsFunc(g.AppendRefs(v, Changed(v), o, nil), func(r Ref) bool {
		return g.Object(r.From).Global != 0 && g.applies(v, r)
	})
}

// LedApart returns an edge of another structure that leads to o, where none of its own does: the in-degree is 0 then.
func (g *Graph) LedApart(o ObjID, v mgpp.View) (apart Ref, ok bool) {
	t := g.Object(o).Type
	if t == nil {
		return Ref{}, false
	}
	for _, r := range g.AppendRefs(v, Changed(v), o, nil) {
		from := g.Object(r.From)
		switch {
		case !r.Edge || from.Type == nil || from.Global != 0 || !g.Alive(r.From, v.Time()) || !g.applies(v, r):
		case from.Type.Group == t.Group:
			return Ref{}, false
		case !ok:
			apart, ok = r, true
		}
	}
	return apart, ok
}

// Alike returns up to limit other objects of o's type, those born nearest to o
// first.
func (g *Graph) Alike(o ObjID, v mgpp.View, limit int) []ObjID {
	t := g.Object(o).Type
	if t == nil {
		return nil
	}
	all := g.Live(t, v.Time(), nil)
	slices.SortFunc(all, func(a, b ObjID) int { return apart(a, o) - apart(b, o) })
	all = slices.DeleteFunc(all, func(b ObjID) bool { return b == o })
	return all[:min(len(all), limit)]
}

// apart is the distance of two objects in the order of birth.
func apart(a, b ObjID) int { return max(int(a)-int(b), int(b)-int(a)) }
