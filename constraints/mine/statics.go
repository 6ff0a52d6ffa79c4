package mine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/cxxname"
	"mgtrace/types"
)

// Objects in static memory that are nodes: what is said of a table or a count in one is said as of an allocated one.

// exploreStatics explores, and again with those as nodes that are of a type that was named and that the run did not allocate, and those that
// have a table of pointers to nodes.
func (m *mining) exploreStatics(ctx context.Context) (*trial, error) {
	bare := m.head.clone() // without what exploring adds
	base, err := m.exploreLocals(ctx)
	for none := (*NoNodesError)(nil); errors.As(err, &none); {
		more := m.embedding(bare, func(v check.Variable) bool { return sameStruct(v.Type, none.Of.Layout) })
		if more == nil {
			break
		}
		bare, m.head = *more, more.clone()
		base, err = m.exploreLocals(ctx)
	}
	if err != nil || m.head.given != "" {
		return base, err
	}
	nodes := base.spec.Types
	more := m.embedding(bare, func(v check.Variable) bool { return !m.declares(v.Type) && hasTable(v.Type, nodes) })
	if more == nil {
		return base, nil
	}
	m.head = *more
	if base, err := m.exploreLocals(ctx); err == nil {
		return base, nil
	}
	m.head = bare // nothing was stored there
	return m.exploreLocals(ctx)
}

// maxStatics bounds them.
const maxStatics = 8

// embedding is a header with objects in static memory as nodes, and their types; nil: there are none.
func (m *mining) embedding(h header, is func(check.Variable) bool) *header {
	was := m.head
	defer func() { m.head = was }()
	m.head = h.clone()
	var wanted []check.Variable
	for _, v := range m.run.Globals {
		if v.Type != nil && v.Type.Kind == types.Struct && !m.embeds(v.Name) && is(v) {
			wanted = append(wanted, v)
		}
	}
	for _, v := range wanted[:min(len(wanted), maxStatics)] {
		if name := m.named(v); name != "" {
			m.head.directives = append(m.head.directives, fmt.Sprintf("embed %s in ::%s;", name, v.Name))
		}
	}
	if len(m.head.directives) == len(h.directives) {
		return nil
	}
	more := m.head
	return &more
}

// named is the name that a specification has for the type of an object in static memory, which is declared if it is not yet; "" if it can have
// none. One without a name goes by the object's.
func (m *mining) named(v check.Variable) string {
	t, source := v.Type, cmp.Or(cxxname.Normal(v.Type.Name), v.Name)
	if len(m.run.Program.LookupType(source)) != 1 {
		return ""
	}
	if !m.declares(t) {
		m.head.declare(source)
		return m.head.types[len(m.head.types)-1].name
	}
	for _, d := range m.head.types {
		if d.elem == "" && slices.ContainsFunc(m.run.Program.LookupType(cxxname.Normal(d.is())), func(o *types.Type) bool { return sameStruct(o, t) }) {
			return d.name
		}
	}
	return ""
}

// embeds: the object in static memory is a node already.
func (m *mining) embeds(global string) bool {
	return slices.ContainsFunc(m.head.directives, func(d string) bool {
		return strings.HasPrefix(d, "embed ") && strings.HasSuffix(d, " in ::"+global+";")
	})
}

// hasTable: a structure has an array of pointers to nodes, or a pointer to such an array.
func hasTable(t *types.Type, nodes []*check.NodeType) bool {
	node := func(t *types.Type) bool {
		return t != nil && slices.ContainsFunc(nodes, func(n *check.NodeType) bool { return !n.Array && sameStruct(t, n.Layout) })
	}
	return t != nil && t.Kind == types.Struct && slices.ContainsFunc(t.Scalars(), func(s types.Scalar) bool {
		if s.Type == nil || s.Type.Kind != types.Pointer || s.Type.Elem == nil || internal(s.Path) {
			return false
		}
		if strings.Contains(s.Path, "[") {
			return node(s.Type.Elem)
		}
		return s.Type.Elem.Kind == types.Pointer && node(s.Type.Elem.Elem)
	})
}
