package analysis

import (
	"fmt"

	"mgtrace/constraints/check"
)

// maxApart is how many inconsistencies are looked at.
const maxApart = 16

// apartNote says that a node has no in-edge by which it counts, and one by which it does not: who writes of a
// node's in-degree often means what leads there from the structure's head as well, which is of another type.
func (a *Analysis) apartNote(p *point) []string {
	view := a.Hist.At(p.time)
	for i := range p.found[:min(len(p.found), maxApart)] {
		in := &p.found[i].Instance
		if in.Constraint < 0 || in.Constraint >= len(a.spec.Constraints) {
			continue
		}
		asks := false
		a.spec.Constraints[in.Constraint].Walk(func(e check.Expr) {
			d, ok := e.(*check.Degree)
			asks = asks || ok && d.In && len(d.Fields) == 0
		})
		if !asks {
			continue
		}
		for _, o := range in.Nodes {
			if o == 0 {
				continue
			}
			if r, ok := a.Graph.LedApart(o, view); ok {
				from, to := a.Graph.Object(r.From).Type.Name, a.Graph.Object(o).Type.Name
				return []string{fmt.Sprintf("%s leads to %s and does not count, for %s is of another structure; if it is meant to be of this one: `together %s, %s;`",
					a.path(uint64(r.Addr), a.Hist.Now()), a.Graph.Name(o), from, from, to)}
			}
		}
	}
	return nil
}
