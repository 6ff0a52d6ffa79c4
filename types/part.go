package types

import "strings"

// maxParts bounds how deep a part lies in a structure: broken debug information may have a structure in itself.
const maxParts = 16

// PathTo is where a type has the first part that is wanted, by its C path: an array by its name alone, a base class and an anonymous member by
// what is in them. several says that a part is an element of an array. The path of the type itself, or of its elements, is "".
func (t *Type) PathTo(wanted func(part *Type, several bool) bool) (path string, ok bool) {
	part, several := t.element(false)
	if part == nil || wanted(part, several) {
		return "", part != nil
	}
	return part.pathTo(wanted, several, 0)
}

func (t *Type) pathTo(wanted func(part *Type, several bool) bool, several bool, depth int) (path string, ok bool) {
	if depth == maxParts {
		return "", false
	}
	for i := range t.Members {
		m := &t.Members[i]
		part, several := m.Type.element(several)
		if part == nil || m.Offset < 0 {
			continue
		}
		named := m.Name != "" && !m.Base
		if named && wanted(part, several) {
			return m.Name, true
		}
		rest, ok := part.pathTo(wanted, several, depth+1)
		switch {
		case ok && named:
			return m.Name + "." + rest, true
		case ok:
			return rest, true
		}
	}
	return "", false
}

// element is the type of an array's elements, or that itself which is none; nil: it is not known.
func (t *Type) element(several bool) (*Type, bool) {
	for t != nil && t.Kind == Array {
		t, several = t.Elem, true
	}
	return t, several
}

// Part is a structure within another one, and no element of an array.
type Part struct {
	Path   string
	Offset int64
	t      *Type
}

// Siblings are the part of a structure that lies at an offset, and the others of its type: the heads of lists, say. Of parts that lie in one another there
// the outermost is meant that has such.
func (t *Type) Siblings(offset int64) (p Part, others []Part) {
	parts := t.parts(nil, Part{}, 0)
	for _, p = range parts {
		if p.Offset != offset {
			continue
		}
		for _, o := range parts {
			if o.t == p.t && o.Offset != offset {
				others = append(others, o)
			}
		}
		if others != nil {
			return p, others
		}
	}
	return Part{}, nil
}

func (t *Type) parts(out []Part, in Part, depth int) []Part {
	for i := range t.Members {
		m := &t.Members[i]
		if m.Type == nil || m.Type.Kind != Struct || m.Offset < 0 || depth == maxParts {
			continue
		}
		p := Part{in.Path, in.Offset + m.Offset, m.Type}
		if m.Name != "" && !m.Base {
			p.Path = strings.TrimPrefix(in.Path+"."+m.Name, ".")
		}
		out = m.Type.parts(append(out, p), p, depth+1)
	}
	return out
}
