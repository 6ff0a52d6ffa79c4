package objfile

import "mgtrace/types"

// Frame is one source position of an address; inlined frames come innermost first.
type Frame struct {
	Function string // demangled; "" if unknown
	File     string // as in debug information, absolute where it is; "" if unknown
	Line     int    // 0 if unknown
	Column   int
	Inlined  bool // this frame is inlined into the next one
}

// Func is a function: a symbol, a DWARF subprogram, or both.
type Func struct {
	Name    string // demangled, with parameters as the demangler gives them
	Linkage string // as in the symbol table
	Addr    uint64
	Size    uint64 // 0 if unknown
	Ranges  [][2]uint64 // half-open, cold parts included
	IFunc   bool
	File    string // of its declaration
	Line    int
	NoReturn bool
}

// Inlined is one inlined instance of a function.
type Inlined struct {
	Name   string
	Ranges [][2]uint64
	Entry  uint64
	In     string // the function that contains it
	CallFile string
	CallLine int
}

// Variable is a variable or parameter in scope at an address, with its
// location there.
type Variable struct {
	Name string
	Type *types.Type
	Loc  Location
	Param bool
}

// Location is a simplified DWARF location.
type Location struct {
	Kind   LocKind
	Reg    int   // DWARF register number: LocReg, LocRegOffset
	Offset int64 // LocFrame (from the CFA… see objfile), LocRegOffset, LocStatic (the address)
}

// LocKind classifies a Location.
type LocKind uint8

const (
	LocNone LocKind = iota // optimised out, or too complex
	LocReg                 // in a register
	LocRegOffset           // in memory at register + offset
	LocStatic              // in memory at a fixed virtual address
	LocValue               // a value without a place
)
