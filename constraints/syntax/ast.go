package syntax

// At is the place of a node of the tree; every node embeds it.
type At struct{ Pos Pos }

// Where returns the position.
func (a At) Where() Pos { return a.Pos }

// File is a parsed specification.
type File struct {
	Name  string
	Src   string
	Stmts []Stmt
}

// Stmt is a statement.
type Stmt interface {
	Where() Pos
	stmt()
}

// Expr is an expression: arithmetic, logical or a reference to a node.
type Expr interface {
	Where() Pos
	expr()
}

// Ident is a name with its place.
type Ident struct {
	At
	Name string
}

// Path is the C name of a field: "left", "link.next". Indices do not occur.
type Path struct {
	At
	Name string
}

type (
	// TypeDecl is "f FIELD n EDGE n (…);", "type f …;" or "ARRAY f OF …;".
	TypeDecl struct {
		At
		Name    string
		Array   bool
		Keyword bool   // written with "type"
		Of      string // Array: the element's C type, "" if not given
		OfPos   Pos
		Source  string // type f = "…": tag, typedef or C++ name; "" is Name itself
		SrcPos  Pos
		Counts  bool // FIELD and EDGE were given
		Fields  int64
		Edges   int64
		List    []Path // the fields that count as edges; nil: all
	}
	// Layout is a C declaration: "struct f { … };", enum, union, typedef.
	Layout struct {
		At
		Text   string // with the final semicolon
		Lo, Hi int    // byte range in File.Src
	}
	// AttrDecl is "f.h DEFAULT n;".
	AttrDecl struct {
		At
		Type    Ident
		Name    string
		Default Expr // nil: 0
	}
	// Rule is "guard => x.h = e || x.h = e;" of an attribute.
	Rule struct {
		At
		Decls []Decl
		Guard Expr // nil: none
		Then  Assign
		Else  *Assign
	}
	// Constraint is "label: decls prefixes body;".
	Constraint struct {
		At
		Label    Ident // Name "" if not given
		Decls    []Decl
		Prefixes []Prefix
		Body     Expr
	}
	// Const is "const NAME = e;".
	Const struct {
		At
		Name  string
		Value Expr
	}
	// Tag is "tag T.f & e;" (Mask) or "tag T.f ^ ADDRESS >> e;" (Shift).
	Tag struct {
		At
		Type  Ident
		Field Path
		Mask  Expr
		Shift Expr
	}
	// Nil is "nil ::x;" (Global) or "nil T.f;".
	Nil struct {
		At
		Global Ident
		Type   Ident
		Field  Path
	}
	// Global is "global file.c:head;", one statement for each name of a list.
	Global struct {
		At
		File string
		Name string
	}
	// Local is "local cache in main;", one statement for each name of a list.
	Local struct {
		At
		Name string
		Func string
	}
	// Embed is "embed T in Host at f;", or "embed T in ::x;" and "embed T in ::x at f;" (Global).
	Embed struct {
		At
		Type, Host Ident
		Global     *GlobalName
		Member     Path // "": x itself
	}
	// Member is "enter T at F(n) if e;" or "leave …". Arg 0: the returned pointer.
	// "enter T from ::g.f;" (From) and "enter T from U.f;" (Of, Field) have no Func.
	Member struct {
		At
		Leave   bool
		Type    Ident
		Func    string
		FuncPos Pos
		Arg     int
		Cond    Expr // over "return"; nil: always
		From    Expr // an object in static memory, or a part, whose pointers lead to nodes
		Of      Ident
		Field   Path // a part of the nodes of type Of, whose pointers do
	}
	// Root is "root T from ::root via f, f;".
	Root struct {
		At
		Type Ident
		From Expr
		Via  []Path
	}
	// Alloc is "alloc T at file.c:16, f call 2 offset 8;".
	Alloc struct {
		At
		Type  Ident
		Sites []AllocSite
	}
	// Allocator is "allocator f(size=2[, old=1]) frees g(1) [and later];".
	Allocator struct {
		At
		Func    string
		Size    int // argument, from 1; 0: none
		Count   int // argument that multiplies it; 0: none
		Bytes   int64
		Old     int // argument with the block that it resizes; 0: none
		Free    string
		FreePos Pos
		FreeArg int
		Later   bool // and what lies behind it
	}
	// CPoint is "cpoint f:exit:each, quad.c:24 for T;".
	CPoint struct {
		At
		Points []Point
		For    []Ident // nil: all constraints
	}
	// NoEnd is "no cpoint end;".
	NoEnd struct{ At }
	// Together is "together a, b;".
	Together struct {
		At
		Types []Ident
	}
	// Cells is "cells T: f[lo..hi] if e;". Lo, Hi, Cond may be nil.
	Cells struct {
		At
		Type   Ident
		Field  Path
		Lo, Hi Expr
		Cond   Expr
	}
	// Check is "check bounds for T;" or "no check bounds;".
	Check struct {
		At
		No   bool
		What string // "bounds", "use after free", "double free", "dangling"
		For  []Ident
	}
)

// Decl declares variables for its own statement.
type Decl struct {
	At
	Quantifier string // "forall", "exists" or ""
	Type       Ident
	Vars       []Ident
}

// Prefix stands before a body: a guard "e =>" or a loop "for I in a to b,".
type Prefix struct {
	Guard Expr // nil: a loop
	Loop  Loop
}

// Loop is "for Var in Lo to Hi,", inclusive.
type Loop struct {
	At
	Var    string
	Lo, Hi Expr
}

// Assign is "x.h = e".
type Assign struct {
	At
	Target *Select
	Value  Expr
}

// AllocSite is one site of an Alloc: a line or a function.
type AllocSite struct {
	At
	File   string
	Line   int
	Func   string
	Call   int
	Offset int64
}

// Point is one point of a CPoint: a line or a function.
type Point struct {
	At
	Func              string
	Entry, Exit, Each bool
	File              string
	Line              int
}

type (
	// Name is a variable, an index or a constant.
	Name struct {
		At
		Name string
	}
	// Number is a constant.
	Number struct {
		At
		Text    string
		Int     int64
		Float   float64
		IsFloat bool
	}
	// Bool is true or false.
	Bool struct {
		At
		Value bool
	}
	// Null is NULL.
	Null struct{ At }
	// Return is the value that a function returned, in "if return == 0".
	Return struct{ At }
	// GlobalName is "::head".
	GlobalName struct {
		At
		Name string
	}
	// Paren is "(x)".
	Paren struct {
		At
		X Expr
	}
	// Select is "x.name" or "x.INDEGREE(f, f)". NamePos is that of the name.
	Select struct {
		At
		X       Expr
		Name    string
		NamePos Pos
		Fields  []Path // nil: none given
	}
	// Index is "x[i]", or "x.[i]" with Dot.
	Index struct {
		At
		X   Expr
		I   Expr
		Dot bool
	}
	// Unary is "-x", "~x" or "not x".
	Unary struct {
		At
		Op string
		X  Expr
	}
	// Abs is "|x|".
	Abs struct {
		At
		X Expr
	}
	// Binary is an arithmetic, comparison or logical operation.
	Binary struct {
		At
		Op    string
		OpPos Pos
		X, Y  Expr
	}
	// Cond is "c ? x : y".
	Cond struct {
		At
		C, X, Y Expr
	}
	// Relation is "x -> y" and its kin.
	Relation struct {
		At
		OpPos     Pos
		Path, Not bool
		Fields    []Path // nil: the default ones
		X, Y      Expr
	}
	// Count is "COUNT(T)" or "COUNT(T Y: e)".
	Count struct {
		At
		Type  Ident
		Var   Ident // Name "": no condition
		Guard Expr
	}
	// Sum is "SUM(I in a to b: e)", or "SUM(T Y: e)".
	Sum struct {
		At
		Type Ident // Name "": over a range
		Var  Ident
		Loop Loop
		Elem Expr
	}
	// MinMax is "MIN(e, e)" or "MAX(e, e)".
	MinMax struct {
		At
		Max  bool
		Args []Expr // at least two
	}
)

func (*TypeDecl) stmt()   {}
func (*Layout) stmt()     {}
func (*AttrDecl) stmt()   {}
func (*Rule) stmt()       {}
func (*Constraint) stmt() {}
func (*Const) stmt()      {}
func (*Tag) stmt()        {}
func (*Nil) stmt()        {}
func (*Global) stmt()     {}
func (*Local) stmt()      {}
func (*Embed) stmt()      {}
func (*Member) stmt()     {}
func (*Root) stmt()       {}
func (*Alloc) stmt()      {}
func (*Allocator) stmt()  {}
func (*CPoint) stmt()     {}
func (*NoEnd) stmt()      {}
func (*Together) stmt()   {}
func (*Cells) stmt()      {}
func (*Check) stmt()      {}

func (*Name) expr()       {}
func (*Number) expr()     {}
func (*Bool) expr()       {}
func (*Null) expr()       {}
func (*Return) expr()     {}
func (*GlobalName) expr() {}
func (*Paren) expr()      {}
func (*Select) expr()     {}
func (*Index) expr()      {}
func (*Unary) expr()      {}
func (*Abs) expr()        {}
func (*Binary) expr()     {}
func (*Cond) expr()       {}
func (*Relation) expr()   {}
func (*Count) expr()      {}
func (*Sum) expr()        {}
func (*MinMax) expr()     {}

// Statements counts as table 2.2 of the thesis does: a type, an attribute with
// its rule, and a constraint are one each; further rules of an attribute are
// one each; directives and layouts are free.
func Statements(f *File) int {
	n := 0
	ruled := map[string]bool{}
	for _, s := range f.Stmts {
		switch s := s.(type) {
		case *TypeDecl, *AttrDecl, *Constraint:
			n++
		case *Rule:
			key := s.Then.Target.Name
			for _, d := range s.Decls {
				key = d.Type.Name + "." + key
			}
			if ruled[key] {
				n++
			}
			ruled[key] = true
		}
	}
	return n
}
