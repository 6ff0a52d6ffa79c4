package probe

import (
	"math"
	"math/bits"
	"slices"

	"mgtrace/objfile"
	"mgtrace/trace"
	"mgtrace/x86"
)

// Request says what to capture, in plain terms: neither specs nor engines.
type Request struct {
	Modules    []string    // files whose stores are captured; the program itself first
	Allocators []Allocator // beyond the standard ones
	Watch      []string    // functions (names or patterns after demangling, or 0xADDR) whose calls and returns are wanted
	Lines      []Line      // source lines wanted as points
	Locals     []Local     // variables on a stack that are nodes: their stores are captured, and their beginnings and ends told
	Marks      bool        // ##C-POINT comments in the source
	Globals    []Global    // objects in static memory that are nodes: their stores are captured
	Inside     bool        // what the C library's allocator writes into its own memory is wanted, where its file is traced
	Stacks     []string    // types (cxxname.Plain): of stores that library headers' functions do for them, the calls around are wanted
	Operations []string    // types (cxxname.Plain): where no function and no line is watched, calls of what changes their nodes are wanted
	End        bool        // the call of exit is wanted: what follows (atexit, destructors of static objects) is no normal use
}

// Allocator is an allocator of the program's own.
type Allocator struct {
	Func    string // name, pattern or 0xADDR
	Size    int    // argument that holds the size, from 1; 0: the size is not an argument
	Count   int    // argument that multiplies it; 0: none
	Like    string // behaves as this standard allocator ("malloc"); the other fields but Func are not used
	Fixed   uint64 // size in bytes where Size is 0
	Old     int    // argument with the block that it resizes, as realloc does; 0: it resizes none
	Free    string // "" none
	FreeArg int    // from 1
	Later   bool   // Free frees what was given out behind it, too: up to a mark
}

// Line is FILE:LINE.
type Line struct {
	File string
	Line int
}

// Global is an object in static memory of a traced file, by its address range in
// the file (virtual addresses).
type Global struct {
	Path string // of the file; "": the program's own
	Name string
	Type string
	Addr uint64
	Size uint64
}

// Local is a variable that has its place in the frame of a function of a traced file.
type Local struct {
	Path     string // of the file; "": the program's own
	Entry    uint64 // of the function, in the file
	Name     string // of the blocks that it is: trace.LocalName
	Offset   int64  // from the canonical frame address, which lies behind the return address
	Size     uint64
	Ender    string // the destructor of its class, by name; "": it has none
	Optional bool   // it is left out where its function can not be probed
}

// AfterReturn is how far behind the place of the return address, to which the stack pointer leads where a function is
// entered and left, its canonical frame address is, in bytes.
const AfterReturn = 8

// Plan is what an engine executes. It is immutable; all addresses are virtual
// addresses of their image's file, with the file offset beside them.
type Plan struct {
	Images []*Image
	Stores []Store
	Funcs  []Func
	Points []Point
	// Landings are where control comes back to from watched functions that
	// leave by a jump, an exception or longjmp: a hit there tells that they have
	// been left.
	Landings   []Site
	Behind     []Site // those of them that only calls of functions want that are Beside
	Stacks     []Site // stores, and calls of writers, before which the stack is wanted
	templates  bool   // see StackBytes
	Globals    []Global
	Inlined    map[trace.FuncID][]Instance // of watched functions
	Ends       []End
	Open       []OpenCall   // calls of watched functions that recording finds open, each thread's outermost first
	Operations []string     // names of functions that are watched since nothing else is: Request.Operations
	Watched    []trace.Func // what FuncID stands for: Watched[id-1]
	Unprobed   []Unprobed
	Warnings   []string
	Notes      []string // what is not captured for a reason that is no cause for concern
	Filtered   int      // stores left out by rule: to the stack, to thread-local or other static data
	Inside     bool     // stores inside the C library's allocator are captured
	Library    int      // stores left out because they belong to the C library inside a static program
}

// Instance is where an inlined instance of a function lies.
type Instance struct {
	Image  int         // index in Plan.Images
	Ranges [][2]uint64 // half-open
}

// OpenCall is a call of a watched function that began before recording did.
type OpenCall struct {
	Thread  trace.ThreadID
	Func    int    // index in Plan.Funcs
	SP, Ret uint64 // where its return address lies, and what it is
	// Point: it is one of an inlined instance, which begins there. SP is then the word below its frame's return address, Ret
	// where the thread is.
	Point trace.PointID
}

// InstanceAt is the point at which an inlined instance of a watched function begins that an address, less the bias, of an image lies in
// behind its first instruction; 0: there is none.
func (p *Plan) InstanceAt(fn trace.FuncID, image int, addr uint64) trace.PointID {
	for _, in := range p.Inlined[fn] {
		inside := func(addr uint64) bool {
			return slices.ContainsFunc(in.Ranges, func(r [2]uint64) bool { return r[0] <= addr && addr < r[1] })
		}
		if in.Image != image || !inside(addr) {
			continue
		}
		for i := range p.Points {
			at := &p.Points[i]
			if at.Point.Func == fn && at.Point.Kind == "inline-entry" && at.Image == image && inside(at.Addr) && at.Addr != addr {
				return at.ID
			}
		}
	}
	return 0
}

// ImageOf returns the index of the image that a file is, "" the program's own; 0 if there is no
// such file.
func (p *Plan) ImageOf(path string) int {
	return max(0, slices.IndexFunc(p.Images, func(im *Image) bool { return path != "" && im.Path == path }))
}

// Image is a file that is probed.
type Image struct {
	Path   string
	File   *objfile.File
	Traced bool   // stores are captured, not only functions
	Bias   uint64 // virtual address v of the file lies at Bias + v in the process
	// Moved is added to addresses of code where others see them. A library that the program opens again lies
	// elsewhere, or where another one was, and an address is to mean one place in one file.
	Moved uint64

	// Followed are ranges of code outside of the known functions to which functions of the
	// library lead: musl's malloc is a jump to one that no symbol and no unwinding information tells.
	Followed [][2]uint64
}

// Site is an instruction: Offset is its offset in the file, as a uprobe wants it.
type Site struct {
	Image  int // index in Plan.Images
	Addr   uint64
	Offset uint64
}

// Store is a store instruction to capture.
type Store struct {
	Site
	Effect x86.Store // what it writes
	// Frame: its operand leads from the stack pointer, or from the frame pointer. What that holds is the address of no
	// object, whichever variable lies there: no base.
	Frame bool
	// After is the instruction that follows, where the written value is read
	// if it is not known before. Zero if the value is known before, or if
	// After can not be probed: then it is read at the thread's next hit.
	After Site
	// Only After can be probed, not the instruction itself (LOCK prefix), and
	// After is reached only through it.
	AfterOnly bool
}

// Flags are those of each event of the store, which say what its instruction is.
func (s *Store) Flags() (flags trace.Flags) {
	e := &s.Effect
	if e.RMW {
		flags |= trace.FlagRMW
	}
	if e.Atomic {
		flags |= trace.FlagAtomic
		if e.Old != x86.NoReg {
			flags |= trace.FlagExchange
		}
	}
	return flags
}

// Role says what a function is to the capture.
type Role uint8

const (
	RoleWatch   Role = iota // calls and returns are events
	RoleMalloc              // Size argument, block returned
	RoleCalloc              // Count and Size arguments
	RoleRealloc             // Ptr and Size arguments
	RoleReallocArray
	RoleAligned // Size argument, alignment ignored
	RolePosix   // block stored through argument Ptr; result 0 on success
	RoleStrdup  // returns a block: the size comes from the malloc inside
	RoleFree    // Ptr argument
	RoleWriter  // writes memory: Dst argument, extent by Extent
	RoleWait    // waits for another thread: what follows its return happens after what that one did (InProcess)
	RoleFrame   // variables of it are blocks: Locals
)

// Extent says how many bytes a writer wrote, known when it returns.
type Extent uint8

const (
	ExtentArg           Extent = iota // argument Len bytes
	ExtentProduct                     // argument Len times argument Count
	ExtentString                      // up to and with the NUL now at Dst (strcpy, sprintf, gets, fgets)
	ExtentAppend                      // from the old end of the string at Dst up to the new NUL (strcat)
	ExtentResult                      // the result, in bytes (read); nothing if negative
	ExtentResultProduct               // the result times argument Len (fread)
	ExtentMinArg                      // strncpy: argument Len bytes, all of them written
	ExtentReturned                    // the result is the end pointer (stpcpy): [Dst, result]
	ExtentBounded                     // snprintf: min(result+1, argument Len)
	ExtentFixed                       // Fixed bytes, if Dst is not NULL (pthread_mutex_lock)
	ExtentCall                        // what a system call in it writes, which is told by itself, of the function's caller (read)
	ExtentLine                        // getline: the buffer whose address is at Dst, with the result's bytes and a NUL; that address and the size at Len, if they are new
	ExtentFormat                      // scanf: what Dst, a format, says of the pointers behind it, or in the va_list that is argument Len if that is not 0
	ExtentSplit                       // strsep: the pointer at Dst, if it is new; the NUL before where it leads, if the result is not NULL
)

// Func is a function of interest. Arguments count from 1 (RDI). A writer is of
// interest only where its caller lies outside its own image and it runs inside
// no other writer: libraries call their own writers to write their own data.
type Func struct {
	Name  string       // demangled
	ID    trace.FuncID // RoleWatch: index in trace.Program.Funcs
	Role  Role
	Entry Site
	// Declared says that the user named this allocator (Request.Allocators):
	// what it writes into blocks that it hands out belongs to the program.
	Declared bool
	// Plain says that it is an operator of the C++ library in a traced file, which has its
	// blocks from another file's malloc: it keeps no books, so no store need be left out.
	Plain bool
	// Returns are its RET instructions and tail jumps. Empty and Uretprobe
	// true: a uretprobe is safe (neither throws nor recurses).
	Returns                    []Site
	Uretprobe                  bool
	Ptr, Size, Count, Dst, Len int
	Fixed                      uint64 // RoleMalloc without Size, ExtentFixed: bytes
	// Args is where a RoleWatch has its first arguments at its entry; nil: the first six integer
	// registers have them in order.
	Args []Arg
	// Passed says how much of what a RoleWatch's integer arguments lead to is told, if it lies on the thread's stack: in
	// words, for each register that passes one, in order.
	Passed [len(objfile.ArgRegs)]uint8
	// Texts says where such an argument leads to text, of which that is told wherever it lies, since what lies in other blocks
	// than nodes may not be recorded: TextHere, or in which word of the structure that it leads to, counted from 1, a pointer to
	// text is. 0: there is none.
	Texts    [len(objfile.ArgRegs)]uint8
	Floats   bool    // RoleWatch: registers for floating-point numbers may pass arguments, and what these hold is told
	Beside   bool    // RoleWatch: nobody asked for it by name (Request.Operations); MaxCalls of all such functions are told
	Locals   []Local // RoleFrame: by Offset
	Ends     bool    // RoleFrame: it is a destructor, and ends the variable that its first argument leads to
	Later    bool    // RoleFree: and what a declared allocator gave out behind it in its chunk
	Acquires bool    // RoleWriter: what follows its return happens after what another thread did, as for RoleWait
	Extent   Extent
	File     string
	Line     int
}

// Frames says that some variables on stacks are nodes: stores there are not left out because of where they are.
func (p *Plan) Frames() bool {
	return slices.ContainsFunc(p.Funcs, func(f Func) bool { return f.Role == RoleFrame })
}

// Frame returns where the variables lie that are blocks, from the canonical frame address, half-open. Both are 0
// for a function that is no RoleFrame.
func (f *Func) Frame() (lo, hi int64) {
	for i, l := range f.Locals {
		if i == 0 {
			lo, hi = l.Offset, l.Offset
		}
		lo, hi = min(lo, l.Offset), max(hi, l.Offset+int64(l.Size))
	}
	return lo, hi
}

// TextHere: an argument is a pointer to text itself (Func.Texts).
const TextHere = 0xff

// TextSize is how much is told of a text, in bytes.
const TextSize = 64

// Requested computes the size that a call of an allocator asks for, in bytes, of its arguments from 1; not ok: it
// asks for none.
func (f *Func) Requested(argument func(n int) uint64) (size uint64, ok bool) {
	switch {
	case f.Role == RoleFree, f.Role == RoleStrdup:
		return 0, false
	case f.Size == 0:
		return f.Fixed, true
	}
	size = argument(f.Size)
	if f.Count == 0 {
		return size, true
	}
	hi, lo := bits.Mul64(size, argument(f.Count))
	if hi != 0 {
		lo = math.MaxUint64 // refused by every allocator
	}
	return lo, true
}

// Arg is where an argument is: in an integer register, by its number among those that pass
// arguments, or, with Reg < 0, nowhere that is known. A copy that the compiler made for some calls
// has no place for what is the same in all of them: then that is its Value.
type Arg struct {
	Reg   int
	Value uint64
}

// Point is a watched line or a boundary of an inlined instance.
type Point struct {
	Site
	ID    trace.PointID
	Point trace.Point
	Frame Frame // of a boundary of an inlined instance: the frame that it is in
	Left  bool  // and every exit of that is known
}

// Begins: an inlined call begins there that can be executed again.
func (p *Point) Begins() bool { return p.Left && p.Point.Kind == "inline-entry" }

// End is where an inlined destructor begins to end a variable that is a node.
type End struct {
	Site
	Frame  Frame
	Locals []Local // which of them it was is not known where there are several
}

// Frame tells where a frame lies, by call frame information: its canonical frame address
// is the stack pointer, or RBP, plus an offset.
type Frame struct {
	Known  bool // it is as simple as that
	ByBP   bool // RBP, not the stack pointer
	Offset int64
}

// Unprobed is a store that can not be captured.
type Unprobed struct {
	Site
	Instruction string
	Reason      string
}
