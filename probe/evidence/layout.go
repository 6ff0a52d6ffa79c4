package evidence

import "mgtrace/types"

// maxNesting bounds walks into nested members.
const maxNesting = 32

// isByte reports whether t is a type through which C programs handle raw memory.
func isByte(t *types.Type) bool {
	switch t.Kind {
	case types.Int, types.Uint:
		return t.Size == 1
	case types.Enum: // std::byte
		return t.Size == 1 && t.Name == "std::byte"
	}
	return false
}

// isFlexible reports whether t ends with an array whose length each object chooses.
func isFlexible(t *types.Type) bool {
	n := len(t.Members)
	if n == 0 || t.Kind != types.Struct {
		return false
	}
	last := t.Members[n-1].Type
	return last != nil && (last.Kind == types.Array && last.Count <= 1 || last.Kind == types.Struct && isFlexible(last))
}

// same reports whether two types are one: compilation units may each have
// their own description of it.
func same(a, b *types.Type) bool {
	for depth := 0; a != nil && b != nil && depth < maxNesting; depth++ {
		switch {
		case a == b:
			return true
		case a.Kind != b.Kind || a.Size != b.Size:
			// A type that is only declared in one unit is defined in another.
			return a.Name == b.Name && a.Name != "" && (a.Kind == types.Opaque || b.Kind == types.Opaque)
		case a.Kind == types.Pointer || a.Kind == types.Array && a.Count == b.Count:
			a, b = a.Elem, b.Elem
		default:
			return a.Name != "" && a.Name == b.Name
		}
	}
	return a == nil && b == nil
}

// container returns which of a and b begins with the other, nil if neither does.
func container(a, b *types.Type) *types.Type {
	switch {
	case beginsWith(a, b, 0):
		return a
	case beginsWith(b, a, 0):
		return b
	}
	return nil
}

// beginsWith reports whether an object of type t has one of type first at its
// start: as a base, a first member, or the first element of an array.
func beginsWith(t, first *types.Type, depth int) bool {
	if t == nil || depth > maxNesting {
		return false
	}
	switch t.Kind {
	case types.Struct, types.Union:
		for _, m := range t.Members {
			if m.Offset == 0 && m.BitSize == 0 && !m.VTable && (same(m.Type, first) || beginsWith(m.Type, first, depth+1)) {
				return true
			}
		}
	case types.Array:
		return same(t.Elem, first) || beginsWith(t.Elem, first, depth+1)
	}
	return false
}

// meant says of the member that a pointer is, by the names that lead to it, whether it is asked for. nil: any is.
type meant func(path []string) bool

// pointerAt returns what the pointer at a place in an object of type t points
// to. The place is offset bytes from its start, plus an unknown multiple of
// stride if stride is not 0. Nil: there is no pointer, or not just one.
func pointerAt(t *types.Type, offset, stride int64) *types.Type {
	return pointerIn(t, offset, stride, nil, nil)
}

func pointerIn(t *types.Type, offset, stride int64, path []string, is meant) *types.Type {
	if t == nil || len(path) > maxNesting || offset < 0 {
		return nil
	}
	switch t.Kind {
	case types.Pointer:
		if offset == 0 && stride == 0 && (is == nil || is(path)) {
			return t.Elem
		}
	case types.Array:
		return elementAt(t.Elem, offset, stride, path, is)
	case types.Struct, types.Union:
		var found *types.Type
		for _, m := range t.Members {
			if !covers(m, offset) || m.BitSize > 0 || m.VTable {
				continue
			}
			p := pointerIn(m.Type, offset-m.Offset, stride, append(path, m.Name), is)
			if p == nil {
				continue
			}
			if found != nil && !same(found, p) { // a union of different pointers
				return nil
			}
			found = p
		}
		return found
	}
	return nil
}

// elementAt finds the pointer in an array of elem, whose index is known only
// modulo the stride.
func elementAt(elem *types.Type, offset, stride int64, path []string, is meant) *types.Type {
	if elem == nil || elem.Size <= 0 {
		return nil
	}
	if stride%elem.Size == 0 { // the index is unknown, the place in the element is not
		return pointerIn(elem, offset%elem.Size, 0, path, is)
	}
	return pointerIn(elem, offset%elem.Size, stride, path, is)
}

func covers(m types.Member, offset int64) bool {
	if offset < m.Offset || m.Offset < 0 || m.Type == nil {
		return false
	}
	if m.Type.Kind == types.Array && m.Type.Count < 0 {
		return true
	}
	return offset < m.Offset+m.Type.Size
}

// throughPointer finds the pointer that lies off bytes behind a pointer to t,
// which may lead into an array.
func throughPointer(t *types.Type, off, stride int64, is meant) *types.Type {
	if t == nil || off < 0 && (stride == 0 || t.Size <= 0) {
		return nil
	}
	if p := pointerIn(t, off, stride, nil, is); p != nil {
		return p
	}
	if t.Size > 0 && stride%t.Size == 0 && (stride != 0 || off >= t.Size) {
		return pointerIn(t, (off%t.Size+t.Size)%t.Size, 0, nil, is)
	}
	return nil
}

// elementPointee returns what the elements of an array of pointers, or of arrays of them, point to.
func elementPointee(t *types.Type) *types.Type {
	if t.Kind != types.Array {
		return nil
	}
	for t != nil && t.Kind == types.Array {
		t = t.Elem
	}
	return pointee(t)
}

// pointee returns what a variable or result of type t points to, if t is a
// pointer that says something.
func pointee(t *types.Type) *types.Type {
	if t == nil || t.Kind != types.Pointer || t.Elem == nil {
		return nil
	}
	switch t.Elem.Kind {
	case types.Void, types.Func:
		return nil
	}
	return t.Elem
}
