package objfile

import "mgtrace/types"

// Frame is one source position of an address; inlined frames come innermost first.
type Frame struct {
	Function string // demangled; "" if unknown
	File     string // as in debug information, absolute where it is; "" if unknown
	Line     int    // 0 if unknown
	Column   int
	Inlined  bool // this frame is inlined into the next one
	Declared int  // the line at which Function is declared in File, 0 if unknown
	Within   bool // no statement begins at the address, as the compiler has it
	Implicit bool // no statement stands there: the class's line stands for that of a function that the compiler has made
}

// Func is a function: a symbol, a DWARF subprogram, or both.
type Func struct {
	Name     string      // demangled, with parameters as the demangler gives them
	Base     string      // Name without a clone's suffix (.isra.0, .constprop.1, .part.0, .cold)
	Linkage  string      // as in the symbol table
	Aliases  []string    // other names of the symbol table for Addr
	Addr     uint64      // entry
	Size     uint64      // of the range that holds the entry; 0 if unknown
	Ranges   [][2]uint64 // half-open, cold parts included; the first holds Addr
	IFunc    bool        // Addr is the resolver
	File     string      // of its declaration; "" if unknown
	Line     int
	NoReturn bool
}

// Contains says whether addr lies in the function, its cold parts included.
func (f Func) Contains(addr uint64) bool {
	for _, r := range f.Ranges {
		if r[0] <= addr && addr < r[1] {
			return true
		}
	}
	return f.Addr == addr
}

// Inlined is one inlined instance of a function.
type Inlined struct {
	Name     string
	Ranges   [][2]uint64 // half-open
	Entry    uint64
	File     string // where the function is declared
	Line     int
	In       string // the function that contains it
	CallFile string
	CallLine int
	Inner    bool // it lies in another inlined instance of the function, or is the rest of the function itself
}

// Variable is a variable or parameter in scope at an address, with its
// location there.
type Variable struct {
	Name  string
	Type  *types.Type
	Loc   Location
	Param bool
	Frame int    // 0: of the innermost inlined instance, 1: of what it is inlined into, …
	Size  uint64 // Globals: bytes; 0 if unknown
	File  string // of its declaration; "" if unknown
	Line  int
}

// Location is a simplified DWARF location. Registers have DWARF numbers
// (x86-64 psABI figure 3.36: 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp,
// 7 rsp, 8 to 15 r8 to r15).
type Location struct {
	Kind   LocKind
	Reg    int
	Offset int64
}

// LocKind classifies a Location.
type LocKind uint8

// The kinds of location.
const (
	LocNone      LocKind = iota // optimised out, or too complex
	LocReg                      // in register Reg
	LocRegOffset                // in memory at Reg + Offset; CFA-relative ones are brought to this form
	LocStatic                   // in memory at the fixed virtual address Offset
	LocConst                    // no place: its value is Offset
	LocRegValue                 // no place: its value is Reg + Offset
	LocIndirect                 // in memory at the address that is stored at Reg + Offset
)

// Options says where else debug information may lie.
type Options struct {
	// DebugDirs are searched like /usr/lib/debug, before it.
	DebugDirs []string
	// NoDebug opens the file without looking at any debug information.
	NoDebug bool
	// NoSeparate looks at no other file than the one that is opened.
	NoSeparate bool
}

// Regs holds the general registers by DWARF number; R[16] is the program
// counter. Bit i of Known says that R[i] is known.
type Regs struct {
	R     [17]uint64
	Known uint32
}

// DWARF numbers of the registers that unwinding names.
const (
	RegBP = 6
	RegSP = 7
	RegPC = 16
)

// PC returns the program counter, 0 if unknown.
func (r *Regs) PC() uint64 { return r.R[RegPC] }

// SP returns the stack pointer, 0 if unknown.
func (r *Regs) SP() uint64 { return r.R[RegSP] }

// Set gives a register a value.
func (r *Regs) Set(reg int, v uint64) {
	r.R[reg] = v
	r.Known |= 1 << reg
}

// A ReadMem fills b from addr, or says that it can not.
type ReadMem func(addr uint64, b []byte) bool
