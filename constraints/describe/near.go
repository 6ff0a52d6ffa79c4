package describe

import (
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
)

// Near returns up to limit objects that a pointer of o leads to, whether an
// edge or not, or that have an edge to o.
func Near(g *graph.Graph, v mgpp.View, o graph.ObjID, limit int) []graph.ObjID {
	var out []graph.ObjID
	for _, f := range Fields(g, v, o) {
		if f.Target != 0 && len(out) < limit {
			out = append(out, f.Target)
		}
	}
	for _, e := range g.In(v, o) {
		if len(out) < limit {
			out = append(out, e.From)
		}
	}
	return out
}
