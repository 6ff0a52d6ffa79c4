package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
)

// outsideNote says that all that is broken is about nodes that were allocated since the last healthy C-point and
// to which nothing leads. A constraint is of all nodes of a type from their allocation on, and who writes one often
// thinks only of those in the structure.
func (a *Analysis) outsideNote(p *point) []string {
	if p.Kind != "entry" && p.Kind != "return" && p.Kind != "line" {
		return nil // the end: it is not to be linked any more
	}
	view := a.Hist.At(p.time)
	var first graph.ObjID
	for i := range p.found {
		o := a.outside(&p.found[i], p, view)
		if o == 0 {
			return nil
		}
		first = cmp.Or(first, o)
	}
	if first == 0 {
		return nil
	}
	t := a.Graph.Object(first).Type.Name
	return []string{fmt.Sprintf("%s was allocated since, and nothing leads to it: a constraint is of each %s, from its allocation on. If it is meant of those in the structure only, say which these are: `root %s from ::head via FIELDS;`, or `enter %s at F(N);` where the N-th argument of F becomes one",
		a.Graph.Name(first), t, t, t)}
}

// outside returns the node of an instance of which that is true; 0: there is none.
func (a *Analysis) outside(inc *eval.Inconsistency, p *point, view mgpp.View) graph.ObjID {
	i := slices.IndexFunc(inc.Instance.Nodes[:], func(o graph.ObjID) bool {
		if o == 0 {
			return false
		}
		b := a.Graph.Object(o)
		return b.Type != nil && b.Global == 0 && b.Member == 0 && b.Birth > p.healthy && !a.Graph.Led(o, view)
	})
	if i < 0 {
		return 0
	}
	return inc.Instance.Nodes[i]
}
