package matter

import (
	"encoding/binary"

	"mgtrace/inline/layout"
	"mgtrace/trace"
)

// Blocks says which blocks matter: those with Named on the stack of their allocation, and
// those that frames tell to matter.
type Blocks struct {
	Named []Code // return addresses lie here
	Only  bool   // no frame is asked
	// Forget: calls of the C library's allocators that concern only blocks which do not
	// matter leave no record.
	Forget bool
	// Members are the calls that make nodes. What they are given is told when they begin, and
	// opened, wherever it lies; what they return, when they do.
	Members []Member
	// Least is the size of the smallest block that may matter where nothing else tells, bytes.
	Least uint64
	// Barren: blocks of which nothing tells that they matter may be closed, if no member lies there.
	Barren bool
}

// A Member is a call of a watched function of which an argument, or the result, leads to a node.
type Member struct {
	Func trace.FuncID
	Arg  int    // from 1, or Result
	Size uint64 // of the node, bytes, below MaxMember
}

// Result stands for what a call returns: behind the six arguments that registers hold the hook
// routine's table of these has rax.
const Result = 7

// MaxMember bounds Member.Size.
const MaxMember = 1 << 28

// Code is a range of addresses in the process.
type Code struct{ Lo, Hi uint64 }

// MaxNamed bounds Matter.Named.
const MaxNamed = 64

// A Frame is what is known of a return address: what the call that returns there says of
// the blocks that are allocated in it, and how to get to the caller from there.
type Frame struct {
	Ret    uint64
	Says   Says
	Step   Step
	Offset int32 // of the canonical frame address from Step's register; the caller's return address lies 8 bytes below
	BP     int16 // where rbp is saved, from the canonical frame address; 0: it is in rbp still
}

// Says is what a frame says of a block.
type Says uint8

const (
	Open        Says = layout.SaysOpen        // it matters
	Closed      Says = layout.SaysClosed      // it does not
	LeansOpen   Says = layout.SaysLeansOpen   // it matters, unless a frame further out knows better
	LeansClosed Says = layout.SaysLeansClosed // it does not, unless …; the innermost that leans counts
	Ends        Says = layout.SaysEnds        // no frame further out knows better
)

// Step is how to get to the caller.
type Step uint8

const (
	Outermost Step = layout.BaseNone    // there is none
	FromSP    Step = layout.BaseSP      // the stack pointer behind the return address + Offset
	FromBP    Step = layout.BaseBP      // rbp + Offset
	NoStep    Step = layout.BaseUnknown // not so simply: the block is taken to matter
)

// WalkFrames is how many frames of a stack are asked.
const WalkFrames = layout.WalkFrames

// Put writes what the hook routine needs of a frame to its entry in the table of verdicts,
// but for the address, which makes it valid.
func (f *Frame) Put(entry []byte) {
	binary.LittleEndian.PutUint32(entry[layout.VerdictOffset:], uint32(f.Offset))
	binary.LittleEndian.PutUint16(entry[layout.VerdictBP:], uint16(f.BP))
	entry[layout.VerdictBase], entry[layout.VerdictSays] = uint8(f.Step), uint8(f.Says)
}
