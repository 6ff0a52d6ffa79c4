package trace

import (
	"bytes"
	"strings"
)

// Addr is a virtual address in the traced process.
type Addr uint64

// UserEnd is where the addresses end that a process can have (x86-64 with four levels of page
// tables, Linux Documentation/arch/x86/x86_64/mm.rst).
const UserEnd = 1 << 47

// MixStack makes a number of a stack's innermost addresses, to remember by it what is known of the stack: others may have it, too.
func MixStack(stack []Addr, innermost int) uint32 {
	x := uint64(0)
	for _, pc := range stack[:min(len(stack), innermost)] {
		x = (x ^ uint64(pc)) * 0x9e3779b97f4a7c15
	}
	return uint32(x >> 32)
}

// ThreadID is the kernel's thread id. 0 means "no thread" (the initial image).
type ThreadID uint32

// Instant is the number of an executed instruction in the one order of all threads,
// from 1, in a recording that has them (package flow). 0: none, or unknown.
type Instant uint64

// Kind says what an Event reports.
type Kind uint8

// The kinds of event. The table in kinds.go gives each its name, the fields
// that it uses, and its text form; reader, writer and documentation follow it.
const (
	KindNone Kind = iota

	KindStore   // one instruction wrote Data at Addr. Base: the address register's value, 0 if none
	KindBulk    // a library function (Name) wrote Data at Addr; Base: its destination argument
	KindSyscall // a system call (Aux: its number) wrote Data at Addr
	KindUnread  // a write of Size bytes at Addr whose value could not be read (Name: why, or the writer)
	KindImage   // Data is what memory at Addr held when recording began or when it was first touched (attach), when it was about to be part of a node, or when an allocator of the program's own gave it out: stores to it may not have been recorded

	KindAlloc   // an allocator (Name) returned Size bytes at Addr. FlagZeroed as by calloc. Stack: return addresses, innermost first
	KindFree    // Addr was freed (Name: by what). Stack as for KindAlloc
	KindRealloc // the block at Aux became Size bytes at Addr, in place if Addr == Aux. Stack as for KindAlloc
	KindRefused // an allocator (Name) returned NULL for Size bytes: nothing changed (realloc: old block lives)

	KindMap   // Size bytes at Addr were mapped by the program
	KindUnmap // Size bytes at Addr were unmapped: whatever lived there is gone

	KindCall   // a watched function (Aux: FuncID) was entered. SP: address of its return address; Args: its first six integer arguments
	KindReturn // a watched function (Aux: FuncID) was left. SP as at its KindCall; Ret: its result
	KindLine   // a watched line or inlined instance boundary (Aux: PointID) was reached

	KindThreadStart // Thread began
	KindThreadExit  // Thread ended
	KindFork        // a child process (Aux: pid) was forked; it runs on untraced
	KindExec        // the program replaced itself: this history ends here
	KindSignal      // a fatal or reporting signal (Aux: number) at PC, fault address Addr; Args: SignalRegs, Data: its stack at Base, if known; Base is above SP where none is left at that
	KindExit        // the process ended: Aux is its wait status as of wait(2)
	KindLost        // Size events of Thread (0: any) were lost here
	KindTruncated   // recording ended before the program did (Name: why)

	KindGlobal // a declared object (Aux: GlobalID) lies at Addr with Size bytes; Data: its bytes at the start
	KindMemory // memory at Addr held Data when the program was held at its crash or end: an audit compares. Size 0: that was all

	KindBegin // the history begins here, after Size events that are not in it (Name: why). Blocks and calls of before precede it, with FlagBefore; Aux blocks are not among them
	KindCease // the history ends here by request (Name: why): what follows only says how the program ended

	KindAround // the instruction at PC is about to write, or to call what writes. Stack: the address behind its first byte, then the return addresses of the calls around it, innermost first

	KindPassed // memory on Thread's stack, or text elsewhere, at Addr held Data when the watched function of its next KindCall was entered: an argument leads there. Addr 0: Data is what the registers of floating-point arguments held, 8 bytes of each. RegsAddr: Data is what the registers held where the inlined call of the thread's next KindLine begins, 8 bytes of each: the general ones by their DWARF numbers but r10 and r11, which are 0, and PC; and what lay on the stack from the stack pointer on
	KindQuiet  // calls of functions that nobody named (Func.Beside) are not told from here on
	KindHeld   // Thread was at PC when the recording was about to end the program (Name: why); Stack: the return addresses of the calls around that; Args: what the innermost call of the program's own held that may be pointers
	KindWild   // when the program was held at its crash, the word at Addr was Data: near what a register of Thread held that leads to no memory, or near an address of such a word or of another register
	kindEnd
)

// Names of a KindBulk that is no call: no statement of the program is known that wrote.
const (
	UnseenWrite     = "unseen write"     // memory was found to hold something else: an audit
	UnrecordedWrite = "unrecorded write" // what became part of a node held this, from when stores to it were not recorded
)

// localPrefix begins what stands for the allocator's name of a block that is a variable on a stack; no function is named so.
const localPrefix = "local "

// LocalName is the name of a KindAlloc and KindFree whose block is a variable of a function, by the two: "main::cache". It begins
// where the variable is first written to, and ends when the function is left.
func LocalName(variable string) string { return localPrefix + variable }

// Local returns the variable that a block is by its allocator's name; not ok: it is none.
func Local(alloc string) (variable string, ok bool) { return strings.CutPrefix(alloc, localPrefix) }

// NumKinds is the number of kinds, for tables indexed by Kind.
const NumKinds = int(kindEnd)

// MemoryChunk is how many bytes of memory one KindMemory event holds, at most.
const MemoryChunk = 64 << 10

// Flags qualify an event.
type Flags uint16

const (
	FlagZeroed   Flags = 1 << iota // Alloc: the block is zero (calloc, fresh mmap)
	FlagAtomic                     // Store: a locked instruction or exchange
	FlagPartial                    // Bulk, Syscall: Data is only the first bytes of Size; see Event.Fill
	FlagRMW                        // Store: read-modify-write
	FlagLate                       // Store: value was read at the thread's next stop, not at the instruction itself
	FlagInline                     // Line: belongs to an inlined instance. Call: made in an inlined instance of the function itself
	FlagUnwound                    // Return: the frame was left by an exception or longjmp; Ret is not valid
	FlagHandled                    // Signal: the program has a handler, and may go on
	FlagBefore                     // Alloc, Call: it was there when recording began
	FlagExchange                   // Store: atomic, by an instruction that tells what was there before
	FlagShares                     // Fork: the child has the program's memory, until it executes another program
)

// SignalRegs is how many Args a KindSignal has: the general registers by their DWARF numbers (System V ABI for x86-64, figure 3.36),
// and the flags.
const SignalRegs = 17

// RegsAddr is no address: a KindPassed with it has the registers with which an inlined call begins, BegunRegs words, and a part of the stack.
const RegsAddr Addr = 1

// BegunRegs is how many words of such a KindPassed are registers.
const BegunRegs = 17

// Event is one thing that happened in the traced process. Data, Stack and Args
// belong to the producer and are valid until its next event: copy to keep.
//
// The position of an event in its stream is the total order; Wall is only an
// attribute (clocks of two processors differ by microseconds).
type Event struct {
	Kind   Kind
	Flags  Flags
	Thread ThreadID
	Wall   int64 // nanoseconds since recording began; -1 if unknown
	// Instant is that of the instruction that did it, in a full recording.
	Instant Instant
	PC      Addr // the statement: address of the instruction (store), or return address of the outermost allocator or writer, or of a system call outside of those
	Addr    Addr
	Size    uint64 // bytes; for Store, Bulk, Syscall, Image: len(Data) unless FlagPartial
	Base    Addr
	Aux     uint64
	SP      Addr
	Ret     uint64
	Name    string // interned by the producer
	Data    []byte
	Args    []uint64
	Stack   []Addr
}

// Fill is the byte that a call wrote to all of Size, if that is what its function does and only the first bytes are known.
func (e *Event) Fill() (b byte, ok bool) {
	if e.Kind != KindBulk || e.Flags&FlagPartial == 0 || len(e.Data) < 8 || e.Name != "memset" && e.Name != "__memset_chk" {
		return 0, false
	}
	b = e.Data[0]
	return b, bytes.Count(e.Data, e.Data[:1]) == len(e.Data) // else another thread has written there meanwhile
}

// FuncID indexes Program.Funcs, PointID Program.Points, GlobalID
// Program.Globals; each from 1, 0 meaning none.
type (
	FuncID   uint32
	PointID  uint32
	GlobalID uint32
)
