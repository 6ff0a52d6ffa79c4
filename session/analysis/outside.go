package analysis

import (
	"fmt"

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
	var newest graph.ObjID // at the first C-point the root of the structure is such a node too
	for i := range p.found {
		o := a.outside(&p.found[i], p, view)
		if o == 0 {
			return nil
		}
		newest = a.newer(newest, o)
	}
	if newest == 0 {
		return nil
	}
	t := a.Graph.Object(newest).Type.Name
	return []string{fmt.Sprintf("%s was allocated since, and nothing leads to it: a constraint is of each %s, from its allocation on. If it is meant of those in the structure only, say which these are: `root %s from ::head via FIELDS;`, or `enter %s at F(N);` where the N-th argument of F becomes one",
		a.Graph.Name(newest), t, t, t)}
}

// outside returns the newest node of an instance of which that is true; 0: there is none.
func (a *Analysis) outside(inc *eval.Inconsistency, p *point, view mgpp.View) (newest graph.ObjID) {
	for _, o := range inc.Instance.Nodes {
		if o == 0 {
			continue
		}
		b := a.Graph.Object(o)
		if b.Type != nil && b.Global == 0 && b.Member == 0 && b.Birth > p.healthy && !a.Graph.Led(o, view) {
			newest = a.newer(newest, o)
		}
	}
	return newest
}

// newer is the one of two nodes that was made later; the first may be none.
func (a *Analysis) newer(x, y graph.ObjID) graph.ObjID {
	if x == 0 || a.Graph.Object(x).Birth < a.Graph.Object(y).Birth {
		return y
	}
	return x
}
