package mine

import (
	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// pointsTo reports whether nodes of a type have pointers into a static object.
func (m *mining) pointsTo(t *trial, n *check.NodeType, bias trace.Addr, v check.Variable) bool {
	t.graph.Advance()
	var nodes []graph.ObjID
	lo := bias + trace.Addr(v.Addr)
	for _, at := range m.looks {
		view := m.run.History.At(at)
		nodes = t.graph.Live(n, at, nodes[:0])
		for _, o := range nodes {
			for i := range n.Edges {
				c := &n.Edges[i]
				for e := range graph.Elems(c, t.graph.Size(o, at)) {
					tgt := view.Target(t.graph.CellAddr(o, c, e), c.Mask)
					if tgt.State != mgpp.Null && tgt.State != mgpp.Unwritten && trace.Addr(tgt.Value) == lo {
						return true
					}
				}
			}
		}
	}
	return false
}
