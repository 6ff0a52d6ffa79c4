package mine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
	"mgtrace/types"
)

// sentinels looks for static objects of a node type, or of a member of one, that pointers lead to instead of
// NULL. One of a member may be the head of a ring as well, which leads on to the nodes that lead there.
func (m *mining) sentinels(t *trial) (out []string) {
	for _, v := range m.run.Globals {
		if v.Type == nil || m.embeds(v.Name) || strings.Contains(m.head.given, "nil ::"+v.Name+";") {
			continue
		}
		if slices.ContainsFunc(t.spec.Types, func(n *check.NodeType) bool {
			is := sameStruct(v.Type, n.Layout) || len(membersOf(v.Type, n.Layout, "")) > 0 && m.leadsNowhere(v)
			return is && !n.Array && m.pointsTo(t, n, v, 1)
		}) {
			out = append(out, fmt.Sprintf("nil ::%s;", v.Name))
		}
	}
	return out
}

// leadsNowhere reports whether the pointers of a static object to its own kind were NULL, or led to itself, whenever the run was looked at.
func (m *mining) leadsNowhere(v check.Variable) bool {
	lo := m.run.Bias + trace.Addr(v.Addr)
	for _, s := range v.Type.Scalars() {
		if s.Type == nil || s.Type.Kind != types.Pointer || !sameStruct(s.Type.Elem, v.Type) {
			continue
		}
		for _, at := range times(m.looks) {
			if to, known := mgpp.Number(m.run.History.At(at), lo+trace.Addr(s.Offset), int(s.Size)); !known || to != 0 && trace.Addr(to)-lo >= trace.Addr(v.Type.Size) {
				return false
			}
		}
	}
	return true
}

// head is a member of one type that is of another, and that nodes of that point to.
type head struct{ node, owner, at string }

// embed says that it is a node too, such as the head of a ring.
func (h head) embed() string { return fmt.Sprintf("embed %s in %s at %s;", h.node, h.owner, h.at) }

// null says that it stands for NULL, as at the leaves of a tree.
func (h head) null() string { return fmt.Sprintf("nil %s.%s;", h.owner, h.at) }

// embedded looks for such members. Of several of a type those are meant to which nodes point.
func (m *mining) embedded(t *trial) []head {
	var out []head
	for _, node := range m.portraits {
		for _, owner := range m.portraits {
			if owner == node || m.head.given != "" || !slices.ContainsFunc(node.links, func(l *link) bool { return l.to[owner.name()] > 0 }) {
				continue
			}
			all := membersOf(node.typ.Layout, owner.typ.Layout, "")
			for _, at := range all {
				if len(all) == 1 || m.leadInto(t, node.typ, owner.typ, at) {
					out = append(out, head{node.name(), owner.name(), at})
				}
			}
		}
	}
	return out
}

// insteadOfNull declares that a member stands for NULL, and is no node, if its nodes make a tree or list so, and neither that nor rings
// where it is one.
func (m *mining) insteadOfNull(ctx context.Context, base *trial, h head) (*trial, error) {
	shapeNow := func() (shape, error) {
		i := slices.IndexFunc(m.portraits, func(p *portrait) bool { return p.name() == h.node })
		places := m.places
		defer func() { m.places = places }()
		m.places = clone(places)
		return m.shapeOf(ctx, m.portraits[i])
	}
	if s, err := shapeNow(); err != nil || s.kind == tree || s.kind == ring {
		return base, err
	}
	directives, portraits := m.head.directives, m.portraits
	m.head.directives = slices.Clone(directives)
	m.head.directives[slices.Index(directives, h.embed())] = h.null()
	t, err := compile(m.run, &m.head, nil)
	if err != nil {
		return nil, err
	}
	m.portray(t)
	s, err := shapeNow()
	if err == nil && s.kind == tree {
		return t, nil
	}
	m.head.directives, m.portraits = directives, portraits
	return base, err
}

// membersOf are the paths of the members of a structure, at any depth, that are of a type.
func membersOf(t, whole *types.Type, path string) (out []string) {
	if t == nil || whole == nil || strings.Count(path, ".") > maxNesting {
		return nil
	}
	for _, m := range whole.Members {
		switch {
		case m.Type == nil || m.Type.Kind != types.Struct || m.Name == "" || internal(path+m.Name):
		case sameStruct(t, m.Type):
			out = append(out, path+m.Name)
		default:
			out = append(out, membersOf(t, m.Type, path+m.Name+".")...)
		}
	}
	return out[:min(len(out), maxEmbedded)]
}

// maxEmbedded bounds the members of a type of nodes that are looked at.
const maxEmbedded = 4

// leadInto reports whether nodes have pointers into a member of others.
func (m *mining) leadInto(t *trial, node, owner *check.NodeType, member string) bool {
	p, err := owner.Layout.Find(member)
	if err != nil {
		return false
	}
	t.graph.Advance()
	for _, at := range times(m.looks) {
		for _, o := range t.graph.Live(owner, at, nil) {
			lo := t.graph.Object(o).Addr + trace.Addr(p.Offset)
			if m.pointInto(t, node, at, lo, lo+trace.Addr(max(node.Layout.Size, 1))) {
				return true
			}
		}
	}
	return false
}

// ledTo declares the static objects into which nodes have pointers, as the heads of rings:
// what is read through these is known of a run that records them.
func (m *mining) ledTo(t *trial) (out []string) {
	for _, v := range m.run.Globals {
		known := slices.ContainsFunc(t.spec.Globals, func(d check.Global) bool { return d.Name == v.Name })
		declared := slices.ContainsFunc(m.head.directives, func(d string) bool { return d == fmt.Sprintf("nil ::%s;", v.Name) })
		if v.Type == nil || v.Type.Kind != types.Struct || !leadsOn(v.Type) || declared || known && !slices.Contains(m.head.globals, v.Name) {
			continue
		}
		if slices.ContainsFunc(t.spec.Types, func(n *check.NodeType) bool { return !n.Array && m.pointsTo(t, n, v, max(v.Type.Size, 1)) }) {
			m.head.globals = slices.DeleteFunc(m.head.globals, func(g string) bool { return g == v.Name })
			out = append(out, fmt.Sprintf("global %s;", v.Name))
		}
	}
	return out
}

// leadsOn reports whether an object has a pointer to a structure, or to anything, as the head of a ring has: from a table of functions or texts
// there is no way back to nodes.
func leadsOn(t *types.Type) bool {
	return slices.ContainsFunc(t.Scalars(), func(s types.Scalar) bool {
		return s.Type != nil && s.Type.Kind == types.Pointer && !s.VTable && (s.Type.Elem == nil || s.Type.Elem.Kind == types.Struct || s.Type.Elem.Kind == types.Pointer || s.Type.Elem.Kind == types.Union)
	})
}

// pointsTo reports whether nodes of a type have pointers into the first bytes of a static object.
func (m *mining) pointsTo(t *trial, n *check.NodeType, v check.Variable, bytes int64) bool {
	t.graph.Advance()
	lo := m.run.Bias + trace.Addr(v.Addr)
	return slices.ContainsFunc(times(m.looks), func(at mgpp.Timestamp) bool { return m.pointInto(t, n, at, lo, lo+trace.Addr(bytes)) })
}

// pointInto reports whether nodes of a type have pointers to [lo, hi) at a time.
func (m *mining) pointInto(t *trial, n *check.NodeType, at mgpp.Timestamp, lo, hi trace.Addr) bool {
	view := m.run.History.At(at)
	for _, o := range t.graph.Live(n, at, nil) {
		for i := range n.Edges {
			c := &n.Edges[i]
			for e := range graph.Elems(c, t.graph.Size(o, at)) {
				tgt := view.Target(t.graph.CellAddr(o, c, e), c.Coded)
				if tgt.State != mgpp.Null && tgt.State != mgpp.Unwritten && lo <= trace.Addr(tgt.Value) && trace.Addr(tgt.Value) < hi {
					return true
				}
			}
		}
	}
	return false
}
