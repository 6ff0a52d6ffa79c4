package types

import "sync/atomic"

// Kind classifies a Type.
type Kind uint8

// The kinds. Void is also the kind of the element of a void pointer.
const (
	Void Kind = iota
	Int       // signed integer, char included where it is signed
	Uint      // unsigned integer
	Bool
	Float
	Enum
	Pointer // pointers and C++ references
	Struct  // struct and class
	Union
	Array
	Func
	Opaque // declared but never defined; Size is -1
)

// Type is one C or C++ type. Types are immutable once built, may be cyclic
// through pointers, and are compared by pointer within one Universe. A Type
// must not be copied.
type Type struct {
	Kind   Kind
	Name   string // as a programmer writes it: "qdtree", "std::list<int>"; "" if anonymous
	Size   int64  // bytes; -1 where incomplete
	Align  int64  // bytes; 0: natural, see Alignment
	Signed bool   // Int and Enum: how the value is extended

	Elem  *Type // Pointer, Array
	Count int64 // Array: number of elements; -1 for a flexible array member
	Open  bool  // Array: what lies behind its Count elements, up to the end of the block, are elements too: see Opened

	Members     []Member     // Struct, Union: in order of declaration
	Enumerators []Enumerator // Enum
	Arrow       *Type        // Struct: what its own operator -> (else []) returns, a pointer; nil without one

	flat  atomic.Pointer[[]Scalar] // Scalars, once asked for
	facts atomic.Pointer[facts]    // likewise
}

// Member is one member of a struct or union. Offset is in bytes from the start
// of the type. A bit-field has BitSize > 0 and lies BitOffset bits above bit 0
// of the little-endian storage unit at Offset (BitOffset may exceed 7).
type Member struct {
	Name      string // "" for anonymous structs and unions, whose members are found by plain name
	Type      *Type
	Offset    int64 // -1: not known statically (a virtual base of a class from which others derive)
	BitOffset int
	BitSize   int
	Base      bool // a C++ base class
	VTable    bool // a virtual-table pointer: a field, never an edge
}

// Enumerator is one named value of an enumeration.
type Enumerator struct {
	Name  string
	Value int64
}

// Scalar is one field of a flattened layout: X[n] of the constraint language is
// Scalars()[n-1]. A union is one scalar (thesis 2.2; language.md, "Fields").
// A bit-field's Offset and Size are those of the fewest whole bytes that hold
// it, so that its BitOffset is below 8.
type Scalar struct {
	Path      string // C path from the node: "child[2]", "pos.x"
	Offset    int64  // bytes
	Size      int64  // bytes of the storage unit
	BitOffset int
	BitSize   int   // 0: not a bit-field
	Type      *Type // the scalar's own type (for a union: the union)
	VTable    bool
	Union     bool   // PointerFields only: lies in a union, so that other members may use its bytes
	Member    string // of a smart pointer, that has the name of the whole: what its own class calls the pointer
	// End: this pointer leads to the first element of a std::vector, that which lies End
	// bytes further behind the last; 0 elsewhere.
	End int64
}

// IsPointerTo reports whether t points to something other than void or a function.
func (t *Type) IsPointerTo() bool {
	return t != nil && t.Kind == Pointer && t.Elem != nil && t.Elem.Kind != Void && t.Elem.Kind != Func
}

// HasMembers reports whether t is a structure, a class or a union.
func (t *Type) HasMembers() bool { return t.Kind == Struct || t.Kind == Union }

// Alignment returns the alignment of t in bytes: the declared one, else the
// natural one (System V ABI for x86-64, 3.1.2). It is at least 1.
func (t *Type) Alignment() int64 {
	if t.Align > 0 {
		return t.Align
	}
	switch t.Kind {
	case Array:
		if t.Elem == nil {
			return 1
		}
		return t.Elem.Alignment()
	case Struct, Union:
		align := int64(1)
		for _, m := range t.Members {
			if m.Type != nil {
				align = max(align, m.Type.Alignment())
			}
		}
		return align
	}
	switch t.Size {
	case 1, 2, 4, 8, 16:
		return t.Size
	}
	return 1
}
