package check

import (
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/syntax"
	"mgtrace/mgpp/coded"
	"mgtrace/types"
)

// Spec is a checked specification: names resolved, layouts known, expressions
// typed. It is immutable; the evaluator and the session read it.
type Spec struct {
	File         string
	Types        []*NodeType
	Attributes   []*Attribute
	Constraints  []*Constraint
	CPoints      []CPoint
	NoEnd        bool // "no cpoint end;"
	Globals      []Global
	Locals       []Local
	Nils         []Nil
	Embeds       []Embed
	Rows         []Row        // embed … in ::x
	Members      []Membership // enter/leave, in file order; the index is mgpp.Op.Mark
	Reaches      []Reach      // enter … from
	Allocs       []AllocRule
	Allocators   []Allocator
	Roots        []Root
	MemoryFaults MemoryFaults
	Warnings     []syntax.Error
}

// NodeType is a declared type of nodes.
type NodeType struct {
	Index             int
	Name              string      // as the spec names it
	Source            string      // the program's name of it in normal form (cxxname.Normal): tag, typedef or C++ name
	Layout            *types.Type // nil: only counts are known and no layout was found
	Array             bool        // ARRAY: a block of Elem
	Elem              *types.Type // Array only; nil: 8-byte words
	Edges             []EdgeCell  // the cells that count as edges by default come first
	Default           int         // how many of Edges count by default (its "edges (…)" list; all if none)
	Group             int         // types joined by "together" share it
	Intrusive         bool        // membership by enter/leave only
	DanglingAtCPoints bool        // "check dangling for T;"
	Bases             []*NodeType // declared types that its class derives from
	Pos               syntax.Pos
}

// Is reports whether nodes of type t are objects of u's class.
func (t *NodeType) Is(u *NodeType) bool { return t == u || t != nil && slices.Contains(t.Bases, u) }

// rowOf reports whether t is an ARRAY whose elements are what nodes of type u are.
func (t *NodeType) rowOf(u *NodeType) bool {
	return t.Array && t.Elem != nil && u.Layout != nil && !u.Array && sameType(t.Elem, u.Layout)
}

// Field names edge cells in a list such as ->(next): those of this name, or within what has this
// name, of any type, or of type Of alone.
type Field struct {
	Of   *NodeType // nil: any
	Name string    // "": the elements of an ARRAY
}

func (f Field) String() string {
	if f.Of == nil {
		return f.Name
	}
	return strings.TrimSuffix(f.Of.Name+"."+f.Name, ".")
}

// Means reports whether f names a cell of type t.
func (f Field) Means(t *NodeType, c *EdgeCell) bool {
	rest, ok := strings.CutPrefix(c.Name, f.Name)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[') && (f.Of == nil || t.Is(f.Of))
}

// EdgeCell is a pointer cell, or an array of them, of a NodeType.
type EdgeCell struct {
	Name   string        // C path: "child", "link.next"
	Offset int64         // bytes
	Count  int64         // 1, the array's length, or -1: to the end of the allocation
	Stride int64         // bytes
	Coded  coded.Pointer // how the word holds the pointer
	Elem   *types.Type   // pointee, nil for void
	// Used are the parts that are in use, as "cells T: child[Lo..Hi] if Cond" says of each; none: all is.
	Used  []Used
	Fills *Fill // nil: the cell says nothing of what it leads to
	// Holds is what else has to be in memory for the cell to be in use: the flag of a
	// std::optional, the index of a std::variant.
	Holds []Holds
	// Own is the object of the C++ library that the cell is part of, in bytes from the cell: a
	// pointer into it is no edge, as that of a short std::string or an empty std::map.
	Own Span
	// Weak: a pointer to what lives no more is expired and reads as NULL (std::weak_ptr).
	Weak bool
	// Part: what it points to is a member or base of declared types, and may be one of
	// others: it may lead to any live block, as a pointer to void may.
	Part bool
	// InUnion: other members of a union may lie at the same place.
	InUnion bool
}

// Used are elements of a cell that are in use: from Lo to Hi, inclusive (nil: all of them), if Cond holds (nil: always).
// Expressions over one Var, slot 0, the node.
type Used struct{ Lo, Hi, Cond Expr }

// Span is what lies at the offsets Lo to Hi - 1; empty: nothing.
type Span struct{ Lo, Hi int64 }

// Holds says that an unsigned number of Size bytes, Off bytes behind a cell, is Value.
type Holds struct {
	Off, Size int64
	Value     uint64
}

// Conditional reports whether elements of the cell may not be in use.
func (c *EdgeCell) Conditional() bool {
	return len(c.Used) > 0 || len(c.Holds) > 0
}

// Element is the element of the cell that begins at an offset of the object; false if none
// does.
func (c *EdgeCell) Element(off int64) (elem int64, ok bool) {
	d := off - c.Offset
	if d < 0 || c.Stride <= 0 || d%c.Stride != 0 || c.Count >= 0 && d/c.Stride >= c.Count {
		return 0, false
	}
	return d / c.Stride, true
}

// CodedAt says how the edge cell at an offset of a node holds its pointer; Plain if there is none.
func (t *NodeType) CodedAt(off int64) coded.Pointer {
	for i := range t.Edges {
		c := &t.Edges[i]
		if _, ok := c.Element(off); ok || off == c.Offset {
			return c.Coded
		}
	}
	return coded.Plain
}

// Fill says which elements are in use of the array to which a pointer leads: those from
// Lo to Hi, inclusive, none if Cond does not hold (nil: it does), all over one Var, slot
// 0, the node that has the pointer; or, with End, those up to where the pointer leads that
// lies End bytes behind it (std::vector).
type Fill struct {
	Lo, Hi Expr
	Cond   Expr
	End    int64
}

// Attribute is a user-defined node attribute with its rules, tried in order.
type Attribute struct {
	Index   int
	Type    *NodeType
	Name    string
	Default int64 // value for NULL
	Rules   []Rule
	Pos     syntax.Pos
}

// Rule: Guard ⇒ Value || Else. A nil Guard always applies; a nil Else leaves
// the attribute undefined where the guard is false and no later rule applies.
// The node is Var slot 0.
type Rule struct {
	Guard, Value, Else Expr
	Slots, IndexSlots  int // as in Constraint; at least one Slot
	Source             string
	Pos                syntax.Pos
}

// Constraint is one constraint statement, quantifiers resolved.
type Constraint struct {
	Index     int
	Label     string // "c3" or the user's
	Source    string // its text, for reports
	Pos       syntax.Pos
	Vars      []Var  // slots 0…; universals first
	Universal int    // Vars[:Universal] are universal, the rest existential
	Loops     []Loop // index variables, outermost first
	Guard     Expr   // nil: true
	Body      Expr
	// Slots and IndexSlots are how many Var and Index slots the constraint
	// uses, those of its aggregates included.
	Slots, IndexSlots int
}

// Var is a quantified node variable.
type Var struct {
	Name string
	Type *NodeType
}

// Loop is "for Name in Lo to Hi", inclusive. Loop i is Index slot i; its bounds
// may use outer indices.
type Loop struct {
	Name   string
	Lo, Hi Expr
	// Guard holds what was written before the loop; nil: nothing. Where it does
	// not hold, Lo and Hi are not evaluated: the loop has no index and no
	// instance. Constraint.Guard repeats it.
	Guard Expr
}

// Expr is a typed expression. Integers are 64-bit; Type says how a field is read.
//
// A condition (Guard, Body, the C of a Cond, what and, or and not join) is a
// comparison, an and, or, not, a Relation, BuiltinExists, a Cond of conditions,
// or a Const that is 0 or 1. Everything else is a number or a reference (a
// node or a pointer; NULL). ISROOT, ISLEAF, EXTERNAL and INTERNAL are spelt out
// as comparisons of Degrees (table 2.1), and "c == TRUE" is c itself, "c ==
// FALSE" is not c.
type Expr interface{ Text() string }

type (
	// Const is a number; Float where IsFloat.
	Const struct {
		Src     string
		Int     int64
		Float   float64
		IsFloat bool
	}
	// Null is NULL.
	Null struct{ Src string }
	// Index is a loop or aggregate index variable.
	Index struct {
		Src  string
		Slot int
	}
	// Node is a bound node variable.
	Node struct {
		Src  string
		Slot int
		Type *NodeType
	}
	// GlobalRef is ::name, a declared object in static memory.
	GlobalRef struct {
		Src     string
		Global  int // index in Spec.Globals
		Layout  *types.Type
		Divided bool // Global.Divided
	}
	// Load reads the scalar of type Type at a place. A pointer Load used as
	// the base of another place is followed. To is the declared node type it
	// points to, nil if none.
	Load struct {
		Src                string
		Place              Place
		Type               *types.Type
		BitOffset, BitSize int
		Coded              coded.Pointer // as EdgeCell.Coded
		Weak               bool          // as EdgeCell.Weak
		To                 *NodeType
	}
	// FieldN is X[e] with an e that is not constant: the e-th scalar from 1, of
	// an array type counted through its elements (element (e-1)/k, scalar
	// (e-1)%k+1 of k). What it is, a number or a pointer, is known only when e
	// is; as a pointer it may be the Base of places, Attrs and Degrees, which
	// are then those of type Of.
	FieldN struct {
		Src  string
		Base Expr // Node or pointer Load
		N    Expr
		Of   *NodeType // whose fields are counted
		To   *NodeType // what its pointers lead to; Of, if they lead to several types
	}
	// AddrOf is a place as a node or address: &X.member is not in the
	// language, but X.root compared with a node needs it where the member is
	// an embedded node.
	AddrOf struct {
		Src   string
		Place Place
	}
	// Attr is X.HEIGHT of Base (Node or pointer). Of several attributes, all with one Default, that of the
	// type of the node that Base leads to is meant, as of a virtual function.
	Attr struct {
		Src   string
		Base  Expr
		Attrs []*Attribute
	}
	// Degree is X.INDEGREE or X.OUTDEGREE. Fields are the cells that count; nil: the default ones.
	Degree struct {
		Src    string
		Base   Expr
		In     bool
		Fields []Field
	}
	// Builtin is X.SIZE, A.COUNT, X.DANGLING, (X.f).EXISTS, X.p.TAG. The Base of
	// Tag is a Load whose own Coded is Plain: the word as it lies in memory; the
	// value is its bits of Coded.Tags. The Base of the others is a node or a pointer.
	Builtin struct {
		Src   string
		Kind  BuiltinKind
		Base  Expr
		Coded coded.Pointer // Tag
	}
	// Unary is -x, ~x, |x| (Op "abs"), not x (Op "not").
	Unary struct {
		Src string
		Op  string
		X   Expr
	}
	// Binary: + - * / % & | << >> == != < <= > >= and or min max.
	// Comparison of a pointer with a Node or another pointer is by identity, of
	// pointers of one C type by address; of anything with Null, whether it is NULL.
	// Unsigned: both sides compare as unsigned. Elem: of two pointers that - < <= > >=
	// are about, the bytes of what they point to; 0: they are numbers.
	Binary struct {
		Src      string
		Op       string
		X, Y     Expr
		Unsigned bool
		Alike    Alike
		Elem     int64
	}
	// Cond is c ? x : y.
	Cond struct {
		Src     string
		C, X, Y Expr
	}
	// Relation is X -> Y and its kin.
	Relation struct {
		Src      string
		Path     bool
		Not      bool
		From, To Expr
		Fields   []Field
	}
	// Aggregate is COUNT(T), COUNT(T Y: g), SUM(T Y: e) (Slot: Y's) or SUM(I in a to b: e)
	// (Slot: I's index slot; Type: nil).
	Aggregate struct {
		Src    string
		Sum    bool
		Type   *NodeType
		Slot   int
		Guard  Expr
		Lo, Hi Expr
		Elem   Expr
	}
)

// BuiltinKind names a built-in attribute.
type BuiltinKind uint8

const (
	BuiltinSize BuiltinKind = iota
	BuiltinCount
	BuiltinDangling
	BuiltinExists
	BuiltinTag
)

// Place is where a scalar lies: Base (Node, GlobalRef, AddrOf or a pointer
// Load or FieldN, which is followed; the place of a union's pointer member is a
// Load too), plus Offset bytes, plus each Step.
type Place struct {
	Base   Expr
	Offset int64
	Steps  []Step
	Type   *types.Type // of the place
	// Cell is the edge cell that the place belongs to where that cell is
	// conditional ("cells"), so that its stale elements read as undefined; nil
	// otherwise. Its Lo, Hi and Cond are about the node that Base is.
	Cell *EdgeCell
}

// Step adds I*Stride bytes. Count is the array's length, -1 to the end of the
// allocation; an index outside is undefined. Back: the place hangs off a pointer into
// an array, or to its end, and an index below 0 leads to what lies before it.
type Step struct {
	I      Expr
	Stride int64
	Count  int64
	Back   bool
}

func (e *Const) Text() string     { return e.Src }
func (e *Null) Text() string      { return e.Src }
func (e *Index) Text() string     { return e.Src }
func (e *Node) Text() string      { return e.Src }
func (e *GlobalRef) Text() string { return e.Src }
func (e *Load) Text() string      { return e.Src }
func (e *FieldN) Text() string    { return e.Src }
func (e *AddrOf) Text() string    { return e.Src }
func (e *Attr) Text() string      { return e.Src }
func (e *Degree) Text() string    { return e.Src }
func (e *Builtin) Text() string   { return e.Src }
func (e *Unary) Text() string     { return e.Src }
func (e *Binary) Text() string    { return e.Src }
func (e *Cond) Text() string      { return e.Src }
func (e *Relation) Text() string  { return e.Src }
func (e *Aggregate) Text() string { return e.Src }

// CPoint is a declared consistency point.
type CPoint struct {
	Func  string // function name or pattern; "" for a line
	Entry bool
	Exit  bool
	Each  bool // every activation, not the outermost only
	File  string
	Line  int
	Mark  bool      // a ##C-POINT mark found in the program's source
	For   *NodeType // nil: all constraints
	Pos   syntax.Pos
}

// Global is "global file.c:head;". Index is trace.GlobalID-1.
type Global struct {
	Name    string
	File    string
	Layout  *types.Type // nil until bound to a program
	Addr    uint64      // virtual address in the file, from debug information
	Size    int64
	Named   bool // a formula or a directive other than embed reads it by its name
	Divided bool // parts of it are nodes: see Row
	Pos     syntax.Pos
}

// Local is "local cache in main;": a variable of a function's outermost scope that is a node as long as the function runs,
// from the first write to it on.
type Local struct {
	Name   string
	Func   string          // name or pattern
	Frames []LocalVariable // nil until bound to a program
	Pos    syntax.Pos
}

// Nil is a sentinel: a global's address, or for "nil T.sentinel" the value of that field, or the
// field itself where that is a structure, as the head of a ring is.
type Nil struct {
	Global string
	Addr   uint64    // virtual address in the file; Global only
	Size   int64     // of the global or the structure in bytes; 0: the field is a pointer
	Type   *NodeType // "nil T.f": a sentinel node that hangs off every T
	Place  *Place
	Pos    syntax.Pos
}

// BySize is why a block has its type that has it by its size alone.
const BySize = "by size"

// Embed: a member of Host at Offset that is a node of type Type of its own.
type Embed struct {
	Type   *NodeType
	Host   *NodeType
	Member string
	Offset int64
	Pos    syntax.Pos
}

// Row is "embed T in ::pool at f;": that part of an object in static memory is a node of its own, or each element of an
// array there is one, from the first write to it on.
type Row struct {
	Type   *NodeType
	Global int // index in Spec.Globals
	Offset int64
	Dims   []Dim    // of the arrays on the way, outermost first; none: it is one node
	Names  []string // around the indices, one more than Dims: "::shards[3].cells[5]"
	Pos    syntax.Pos
}

// Dim is one dimension of an array.
type Dim struct {
	Count, Stride int64 // both positive; bytes from one element to the next
}

// InRows reports whether nodes of a type may be parts of objects in static memory.
func (s *Spec) InRows(t *NodeType) bool {
	return slices.ContainsFunc(s.Rows, func(r Row) bool { return r.Type == t })
}

// Count is how many nodes there may be.
func (r *Row) Count() int64 {
	n := int64(1)
	for _, d := range r.Dims {
		n *= d.Count
	}
	return n
}

// At is where a node begins, in bytes from the object's start.
func (r *Row) At(i int64) int64 {
	off := r.Offset
	for k := len(r.Dims) - 1; k >= 0; k-- {
		d := r.Dims[k]
		off += i % d.Count * d.Stride
		i /= d.Count
	}
	return off
}

// From is the first node that does not end before an offset; Count if there is none.
func (r *Row) From(off int64) int64 {
	i, off := int64(0), off-r.Offset
	for k, d := range r.Dims {
		at := min(max(off, 0)/d.Stride, d.Count)
		if i = i*d.Count + at; at == d.Count {
			for _, inner := range r.Dims[k+1:] {
				i *= inner.Count
			}
			return i
		}
		off -= at * d.Stride
	}
	if off >= r.Type.Layout.Size {
		i++ // behind it, and before the next one
	}
	return i
}

// Name is the node as the language writes it.
func (r *Row) Name(i int64) string {
	name := r.Names[len(r.Dims)]
	for k := len(r.Dims) - 1; k >= 0; k-- {
		d := r.Dims[k]
		name = fmt.Sprintf("%s[%d]%s", r.Names[k], i%d.Count, name)
		i /= d.Count
	}
	return name
}

// Membership is "enter T at F(arg) [if return == 0];" or "leave …".
type Membership struct {
	Leave  bool
	Type   *NodeType
	Func   string
	Arg    int  // 1…6; 0 with Return
	Return bool // the returned pointer
	Cond   Expr // over the returned value, which is Index slot 0; nil: always
	Pos    syntax.Pos
}

// Reach is "enter T from ::g.f;" or "enter T from U.f;": what the pointers in that part of
// the object, or of each U, lead to is a node, and what the edges of such nodes lead to,
// while they do.
type Reach struct {
	Type   *NodeType
	Of     *NodeType // U; nil: an object in static memory
	Global int       // its index in Spec.Globals
	Lo, Hi int64     // the part: offsets in the object, half-open
	Any    bool      // it is one pointer to void or to bytes, which leads to a T nevertheless
	Pos    syntax.Pos
}

// BeginsWith reports whether a pointer to part leads to the start of a T: part is T's layout, or
// what it has for its first member (C11 6.7.2.1, paragraph 15).
func (t *NodeType) BeginsWith(part *types.Type) bool {
	if part == nil || t.Array {
		return false
	}
	for at, depth := t.Layout, 0; at != nil && depth < maxNesting; depth++ {
		if at == part || part.Name != "" && at.Name == part.Name && at.Kind == part.Kind {
			return true
		}
		if at.Kind != types.Struct || len(at.Members) == 0 || at.Members[0].Offset != 0 {
			return false
		}
		at = at.Members[0].Type
	}
	return false
}

// AllocRule is "alloc T at quad.c:16, new_node [call 2] [offset 8];".
type AllocRule struct {
	Type   *NodeType
	File   string
	Line   int
	Func   string
	Call   int // 0: any
	Offset int64
	Pos    syntax.Pos
}

// Allocator is "allocator pool_get(size=2) frees pool_put(1);" or "allocator pool_resize(size=2, old=1);".
type Allocator struct {
	Func    string
	Size    int   // argument with the size, from 1; 0: always Bytes
	Count   int   // argument that multiplies it, from 1; 0: none
	Bytes   int64 // Size 0 only
	Old     int   // argument with the block that it resizes, from 1; 0: it resizes none
	Free    string
	FreeArg int
	Later   bool // Free ends what lies behind it as well
	Pos     syntax.Pos
}

// Root is "root T from ::root via left, right;".
type Root struct {
	Type   *NodeType
	Global int    // index in Spec.Globals
	Place  *Place // where in the global
	Via    []Field
	Pos    syntax.Pos
}

// MemoryFaults says for which types bounds, use after free and double free are
// checked. All are on by default.
type MemoryFaults struct {
	NoBounds, NoUseAfterFree, NoDoubleFree bool
	Except                                 []*NodeType // "no check bounds for T;"
	Only                                   []*NodeType // "check bounds for T;": checked even with NoBounds
}
