package capture

import "mgtrace/trace"

// Op says what a Hit reports.
type Op uint8

// The operations. Each names the fields of Hit that it uses beside Op, Thread,
// Wall, PC and SP.
const (
	Store      Op = iota + 1 // Index in Plan.Stores; Addr, Size, Base, Offset, Data
	Bulk                     // Index in Plan.Funcs: it wrote; as Store. PC: its return address
	Syscall                  // Index: number; as Store. PC: where it returns to, or where the open writer does that made it
	Stop                     // Index in the sites; Regs, Result; Base at the return of RolePosix; Stack, Size, Base at an outermost allocator entry, Stack at a site of Plan.Stacks
	Return                   // Index in Plan.Funcs: it returned Result; Base as for Stop
	Map                      // Addr, Size
	Unmap                    // Addr, Size
	Break                    // Addr: the new program break; Base: the one before
	Thread                   // a thread began
	ThreadExit               // it ended
	Fork                     // Index: pid of the child
	Exec                     // the program replaced itself
	Signal                   // Index: number; Addr: fault address; Base: not 0 if the program handles it; Regs, Stack, Registers: of what it interrupts, if known
	Exit                     // Index: wait status
	Lost                     // Size hits were lost
	Alloc                    // Index in Plan.Funcs: an outermost call of it, whole: Regs.Ret; Addr: the block that it takes; Size: requested; Result: the block, 0 if refused; Stack, Regs as for Stop, or Calls. free: when it is entered
	Found                    // as Store, without Index: the bytes lay there when they became part of a node, or of a block that a declared allocator gave
	Passed                   // as Found: they lay on the thread's stack, or are text, where an argument leads of the watched function that is entered next. Addr 0: its floating-point registers held them
)

// writes says whether a hit has written bytes, which may come in several.
func (o Op) writes() bool { return o < Stop || o == Found || o == Passed }

// HitFlags qualify a Hit.
type HitFlags uint8

// The flags.
const (
	Late    HitFlags = 1 << iota // Data was read later than right after the instruction
	More                         // further chunks of the same write follow
	Unread                       // the Size or chunk could not be read: Data gives only its length
	Masked                       // Data is the new bytes, then as many old ones
	Nested                       // allocator entry inside another one: no Stack
	Partial                      // the last chunk; bytes beyond it were not read
	Whole                        // Stop: the site's allocators are told by Alloc
	Shares                       // Fork: the child has the program's memory until it executes another program
)

// Sharing are the flags of a Fork.
func Sharing(shares bool) HitFlags {
	if shares {
		return Shares
	}
	return 0
}

// Regs are the registers at a Stop.
type Regs struct {
	Ret  uint64    // the word at SP: at an entry the return address
	Args [6]uint64 // rdi rsi rdx rcx r8 r9

	// What unwinding needs beside PC and SP.
	BX, BP, R12, R13, R14, R15 uint64
}

// Hit is one observation of an engine. Its slices belong to the engine and are
// valid during the call.
type Hit struct {
	Op     Op
	Flags  HitFlags
	Index  int
	Thread trace.ThreadID
	Wall   int64 // nanoseconds since recording began
	// Instant is that of the instruction, if the engine counts them.
	Instant trace.Instant
	PC, SP  uint64
	Addr    uint64 // of the whole write
	Size    uint64 // of the whole write, bytes
	Base    uint64
	Offset  uint64 // of Data in the write
	Data    []byte
	Result  uint64 // rax
	Regs    Regs
	Stack   []byte // memory from SP upwards
	// Skip is how far above SP Stack begins, Signal only: where the stack is full there is no memory at SP, but in the next page.
	Skip uint64
	// Below is memory below SP that the program may use (x86-64 psABI 3.2.2), up to there; Signal only.
	Below []byte
	// Registers is what all registers of a Signal's thread held, as trace.KindSignal has them; nil if that is not known.
	Registers []uint64
	// Calls are the return addresses that an Unwinder found on a stack like this one; they
	// never change. nil: the engine does not know.
	Calls []trace.Addr
}
