package check

import "mgtrace/types"

// Program is what Check asks of a program. A program without debug information
// has no types and no lines; functions and globals may still have names.
type Program interface {
	// Loader finds types by tag, typedef or C++ name, and enumerators.
	types.Loader
	// LookupFunc returns the demangled names of the functions that a name or
	// pattern means; clones and inlined instances may be among them.
	LookupFunc(pattern string) []string
	FuncNames() []string
	// Defined is where the program's sources define a function by the last part of its name: line is 0 if they do not.
	// as is the function compiled from there where that has another name, "" if there is none.
	Defined(pattern string) (file string, line int, as string)
	// LibraryOf is a module that would have to be traced too for a function to be
	// known, as --module names it; "" if none has a function of that name.
	LibraryOf(pattern string) string
	// LookupGlobal returns the objects in static memory of that name. file is
	// "" or the (tail of the) path of a source file that must define it.
	LookupGlobal(file, name string) []Variable
	GlobalNames() []string
	// Scattered reports whether an object of that name is in static memory, but not in one piece.
	Scattered(name string) bool
	// LookupLocal returns the variables of that name in the outermost scopes of the functions that a name or pattern means.
	LookupLocal(pattern, name string) []LocalVariable
	// LocalNames are the names of all variables there.
	LocalNames(pattern string) []string
	// Inlined says where the compiler has put a function into another one: into which, file and line. "": nowhere.
	Inlined(pattern string) (into, file string, line int)
	// HasLine reports whether a source line has code. If it has not, nearest
	// is the nearest line of that file that has, 0 if there is no such file.
	HasLine(file string, line int) (ok bool, nearest int)
	// Files returns the source files of the program.
	Files() []string
	// Marks returns the ##C-POINT marks in the program's sources.
	Marks() []Mark
}

// Variable is an object in static memory.
type Variable struct {
	Name string
	File string      // where it is defined, "" if unknown
	Type *types.Type // nil if unknown
	Addr uint64      // virtual address in the file
	Size int64       // bytes, 0 if unknown
}

// LocalVariable is a variable of a function, and where it lies in the function's frame.
type LocalVariable struct {
	Func   string // the function's name
	Name   string
	Path   string      // of the file that has the function, "" if it is the program itself
	Type   *types.Type // nil if unknown
	Entry  uint64      // of the function: virtual address in the file
	Offset int64       // from the canonical frame address, which lies behind the return address
	Size   uint64      // bytes
	Why    string      // there is no such place, and why; "": there is
	Node   *NodeType   // what it is, once checked
}

// Label is how the variable is named in the history and in reports.
func (v *LocalVariable) Label() string { return v.Func + "::" + v.Name }

// Mark is a ##C-POINT comment.
type Mark struct {
	File string
	Line int
	For  string // the type that it names, "" for all
}

// Requirement is what a session has to watch for a specification.
type Requirement struct {
	Funcs      []string // functions (names or patterns) whose calls and returns matter: C-points, enter and leave
	Lines      []Line   // source lines that are C-points
	Marks      bool     // ##C-POINT marks matter (they always do)
	AllocFuncs []string // functions that "alloc" rules name: looked for on an allocation's stack, not watched
	AllocLines []Line
	Globals    []Global
	Locals     []Local
	Allocators []Allocator
}

// Line is a source line.
type Line struct {
	File string
	Line int
}

// Requirements lists what a session has to watch for s, each thing once, in
// file order.
func Requirements(s *Spec) Requirement {
	r := Requirement{Marks: true, Globals: s.Globals, Locals: s.Locals, Allocators: s.Allocators}
	for _, p := range s.CPoints {
		switch {
		case p.Mark:
		case p.Func != "":
			r.Funcs = addOnce(r.Funcs, p.Func)
		default:
			r.Lines = addOnce(r.Lines, Line{p.File, p.Line})
		}
	}
	for _, m := range s.Members {
		r.Funcs = addOnce(r.Funcs, m.Func)
	}
	for _, a := range s.Allocs {
		if a.Func != "" {
			r.AllocFuncs = addOnce(r.AllocFuncs, a.Func)
		} else {
			r.AllocLines = addOnce(r.AllocLines, Line{a.File, a.Line})
		}
	}
	return r
}

func addOnce[T comparable](list []T, x T) []T {
	for _, y := range list {
		if y == x {
			return list
		}
	}
	return append(list, x)
}
