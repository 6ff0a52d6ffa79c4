package types

import "strings"

// Smart returns the pointer that a smart pointer is about, as a field of t
// without a path: std::unique_ptr, std::shared_ptr and what else has an operator
// -> (or, for arrays, []) that returns what exactly one of its fields leads to, and
// has no fields but pointers. std::weak_ptr, which has no such operator, is one too;
// an iterator of a container is none, since its pointer leads to a link. A std::vector
// is about the pointer to its first element. ok is false for other types.
func (t *Type) Smart() (f Scalar, ok bool) {
	if begin, _, ok := t.Vector(); ok {
		begin.Path = ""
		return begin, true
	}
	if t == nil || t.Kind != Struct || t.Size > maxSmart {
		return f, false
	}
	to := t.arrow(0)
	if to == nil && !t.IsWeak() {
		return f, false
	}
	w := flattener{limit: maxSmart / 8, verbatim: true}
	w.walk(t, "", 0, 0)
	for _, s := range w.out {
		switch {
		case s.Type.Kind != Pointer || s.VTable:
			return f, false
		case to == nil && !ok, s.Type == to || to != nil && s.Type.Elem == to.Elem:
			if ok {
				return f, false
			}
			f, ok = s, true
		}
	}
	f.Path = ""
	return f, ok
}

// IsWeak reports whether t is a std::weak_ptr, which leads to an object as long as that
// lives, and to none afterwards.
func (t *Type) IsWeak() bool { return t.Kind == Struct && strings.HasPrefix(t.Name, "std::weak_ptr<") }

// maxSmart is the size in bytes of the largest smart pointers: a pointer, a
// counter's, a deleter's.
const maxSmart = 32

// maxVector is the size in bytes of the largest vectors: three pointers, and what libstdc++'s debug mode (_GLIBCXX_DEBUG) has beside them.
const maxVector = 64

// arrow returns what operator -> returns, which may be a base's.
func (t *Type) arrow(depth int) *Type {
	if t == nil || depth > maxNesting {
		return nil
	}
	if t.Arrow != nil {
		return t.Arrow
	}
	for i := range t.Members {
		if m := &t.Members[i]; m.Base {
			if to := m.Type.arrow(depth + 1); to != nil {
				return to
			}
		}
	}
	return nil
}

// Vector returns the pointers to the first element of a std::vector and behind its
// last, as fields of t. Behind that the block may go on: what lies there is of elements
// that are gone. ok is false for other types, and for std::vector<bool>, whose
// elements have no addresses.
func (t *Type) Vector() (begin, end Scalar, ok bool) {
	if t == nil || t.Kind != Struct || !isVector(t.Name) {
		return begin, end, false
	}
	w := flattener{limit: maxVector / 8, verbatim: true}
	w.walk(t, "", 0, 0)
	for _, s := range w.out {
		switch s.Path[strings.LastIndexByte(s.Path, '.')+1:] {
		case "_M_start", "__begin_":
			begin = s
		case "_M_finish", "__end_":
			end = s
		}
	}
	return begin, end, begin.Type.IsPointerTo() && end.Type.IsPointerTo()
}

// isVector: the name of a vector of libstdc++ or libc++.
func isVector(name string) bool {
	return strings.HasPrefix(name, "std::vector<") || strings.HasPrefix(name, "std::__1::vector<")
}
