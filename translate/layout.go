package translate

import "mgtrace/inline/layout"

// The thread block: GS's base while a thread executes translations. Only the
// thread that owns it writes it, and the tracer while that thread is stopped. It is
// also the block of the hook routine (package inline/layout), which notes what happens
// at sites: the two agree on the cursor, the rest lies apart.
const (
	Cursor  = layout.Cursor // address where the next record begins
	SaveB   = 0x08          // the program's value of the register that holds the cursor
	SaveT   = 0x10          // and of the one that a block computes addresses in
	SaveRAX = 0x18          // while control goes to a computed target
	SaveRCX = 0x20
	Target  = 0x28 // that target, an address of the program
)

const (
	own     = layout.HookEnd
	Limit   = own + 0x00 // a block that begins a record behind it asks for room first
	Flags   = own + 0x08 // RAX as lahf; seto al left it
	SavedSP = own + 0x10 // the program's stack pointer while flags are looked at, or a site is noted
	Link    = own + 0x18 // where the second look-up goes on
	SysNr   = own + 0x20 // number of the system call that is being made
	SysPost = own + 0x28 // it stops behind it
	Prot    = own + 0x30 // the protection that it asks for
	Noted   = own + 0x38 // u32: the site that Env.Note is told of, layout.PhaseBit behind it
	Back    = own + 0x40 // where Env.Note goes on

	// The baton: one thread at a time runs, so that there is one order of everything.
	Holds   = own + 0x48 // the thread has it
	Pending = own + 0x50 // a signal waits until the thread has come out of a routine
	Cont    = own + 0x58 // where the thread goes on when it has it
	Ticket  = own + 0x60 // u32: when it is the thread's turn
	Kept    = own + 0x68 // u64 × 8: registers while the routines run

	// StackTop is where the small stack ends on which the hook routine runs, and
	// on which flags are looked at, behind the block.
	StackTop = layout.BlockSize + layout.HookStack

	// Slack is the room behind Limit. A block that can not look at Limit (the flags
	// are needed) uses it up; a guard page lies behind it.
	Slack = 64 << 10
	// MaxRecord bounds the record of one block, bytes.
	MaxRecord = 2048
)

// A block's number is less than layout.Special: there the records of the hook routine
// begin. Turn, in place of it, begins the record of a thread that has
// got the baton: u64 Epoch follows. What it records from there on happened before
// what others record in higher epochs.
const (
	Turn     = 0xffff_ffff
	TurnSize = 12
)

// The tables that all threads share lie below 2 GB, so that an instruction can name
// them by a displacement alone.
const (
	First     = 0                 // u64 × 65536: where control goes for a target, by its low 16 bits
	SysBefore = First + 8<<16     // u8 × 65536: system calls that stop before they are made
	SysAfter  = SysBefore + 1<<16 // and behind
	Second    = SysAfter + 1<<16  // {u64 target, u64 indirect entry} × SecondSize, and Probe more
	// The baton's turns, as in a bakery: u32 each.
	Next      = Second + 16*(SecondSize+Probe) // the ticket that is given out next
	Serving   = Next + 64                      // the one whose turn it is
	Epoch     = Next + 128                     // u64: how often it was taken
	TableSize = Next + 192

	SecondBits = 20
	SecondSize = 1 << SecondBits
	// Probe is how far from its place an entry lies at most.
	Probe = 1024
)

// Hash is the place of a target in the second table. The routine computes the same.
func Hash(target uint64) int { return int((target ^ target>>16) & (SecondSize - 1)) }
