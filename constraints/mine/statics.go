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

// Objects in static memory that are nodes, or arrays of such: what is said of a table or a count in one is said as of an allocated one.

// exploreStatics explores, and again with those as nodes that are of a type that was named and that the run did not allocate, and those that
// have a table of pointers to nodes.
func (m *mining) exploreStatics(ctx context.Context) (*trial, error) {
	bare := m.head.clone() // without what exploring adds
	base, err := m.exploreLocals(ctx)
	for none := (*NoNodesError)(nil); errors.As(err, &none); {
		more := m.embedding(bare, func(t *types.Type) bool { return sameStruct(t, none.Of.Layout) })
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
	more := m.embedding(bare, func(t *types.Type) bool { return !m.declares(t) && hasTable(t, nodes) })
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
func (m *mining) embedding(h header, is func(*types.Type) bool) *header {
	was := m.head
	defer func() { m.head = was }()
	m.head = h.clone()
	n := 0
	for _, v := range m.run.Globals {
		if v.Type == nil || m.embeds(v.Name) || n == maxStatics {
			continue
		}
		var node *types.Type
		path, ok := v.Type.PathTo(func(part *types.Type, _ bool) bool {
			node = part
			return part.Kind == types.Struct && is(part)
		})
		if !ok {
			continue
		}
		if n++; path != "" {
			path = " at " + path
		}
		if name := m.named(node, v.Name); name != "" {
			m.head.directives = append(m.head.directives, fmt.Sprintf("embed %s in ::%s%s;", name, v.Name, path))
		}
	}
	if len(m.head.directives) == len(h.directives) {
		return nil
	}
	more := m.head
	return &more
}

// named is the name that a specification has for the type of an object in static memory, or of a part of it, which is declared if it is not yet; "" if it
// can have none. One without a name goes by the object's.
func (m *mining) named(t *types.Type, object string) string {
	source := cmp.Or(cxxname.Normal(t.Name), object)
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
		return strings.HasPrefix(d, "embed ") && (strings.HasSuffix(d, " in ::"+global+";") || strings.Contains(d, " in ::"+global+" at "))
	})
}

// hasTable: a structure has an array of pointers to nodes, or a pointer to such an array.
func hasTable(t *types.Type, nodes []*check.NodeType) bool {
	return t != nil && t.Kind == types.Struct && slices.ContainsFunc(t.Scalars(), func(s types.Scalar) bool {
		if s.Type == nil || s.Type.Kind != types.Pointer || s.Type.Elem == nil || internal(s.Path) {
			return false
		}
		if strings.Contains(s.Path, "[") {
			return ofNodes(s.Type.Elem, nodes)
		}
		return s.Type.Elem.Kind == types.Pointer && ofNodes(s.Type.Elem.Elem, nodes)
	})
}
