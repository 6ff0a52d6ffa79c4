package mine

import (
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
	"mgtrace/types"
)

// embedded looks for members of one type that are of another, and that nodes of that
// point to: they are nodes too, such as the head of a ring.
func (m *mining) embedded() []string {
	var out []string
	for _, node := range m.portraits {
		for _, owner := range m.portraits {
			if owner == node || m.head.given != "" || !slices.ContainsFunc(node.links, func(l *link) bool { return l.to[owner.name()] > 0 }) {
				continue
			}
			if at := memberOf(node.typ.Layout, owner.typ.Layout, ""); at != "" {
				out = append(out, fmt.Sprintf("embed %s in %s at %s;", node.name(), owner.name(), at))
			}
		}
	}
	return out
}

// memberOf is the path of the first member of a structure, at any depth, that is of a type;
// "" if there is none.
func memberOf(t, whole *types.Type, path string) string {
	if t == nil || whole == nil || strings.Count(path, ".") > maxNesting {
		return ""
	}
	for _, m := range whole.Members {
		if m.Type == nil || m.Type.Kind != types.Struct || m.Name == "" || internal(path+m.Name) {
			continue
		}
		if sameStruct(t, m.Type) {
			return path + m.Name
		}
		if at := memberOf(t, m.Type, path+m.Name+"."); at != "" {
			return at
		}
	}
	return ""
}

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
					tgt := view.Target(t.graph.CellAddr(o, c, e), c.Coded)
					if tgt.State != mgpp.Null && tgt.State != mgpp.Unwritten && trace.Addr(tgt.Value) == lo {
						return true
					}
				}
			}
		}
	}
	return false
}
