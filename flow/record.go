package flow

import "mgtrace/trace"

// BlockID is a block's number in its flow, from 1. 0: none.
type BlockID uint32

// Block is a piece of straight-line code: it is entered at its first instruction
// only, and its last one is the first that may go elsewhere, or where the maker's
// limit was reached. The same address with other bytes is another block.
//
// Blocks of a Writer or Reader do not change.
type Block struct {
	Start trace.Addr // in the process
	Code  []byte
	// Insts and Accesses say what an execution gives addresses for.
	Insts    []Inst
	Accesses []Access // of all instructions, in order
	// Derived says, for each access, whether its address follows from another one's;
	// nil: none does. What follows is neither recorded nor looked at by Writer.Exec.
	Derived []Derivation
}

// Derivation says how the address of an access follows from that of an access of the
// same execution: it is Add behind it. A maker must be certain of that, whatever else
// happens.
type Derivation struct {
	// Of is the access's index in the block, which is less than one's own; Absolute:
	// Add is the address; one's own: it does not follow. What follows from an access
	// of an instruction that was not executed is recorded too.
	Of  uint16
	Add uint64
}

// Absolute as Derivation.Of: the address is always the same.
const Absolute = 1<<16 - 1

// Inst is an instruction of a block.
type Inst struct {
	Off    uint16 // of its first byte in Code
	Len    uint8  // bytes
	NMem   uint8  // number of its accesses
	Access uint16 // index of the first in Accesses
}

// Access is a memory access of an instruction.
type Access struct {
	Size  uint16 // bytes; 0: each execution tells
	Flags AccessFlags
}

// AccessFlags say what an access does.
type AccessFlags uint8

// The flags. Stack helps the compression only.
const (
	Reads  AccessFlags = 1 << iota
	Writes             // may write
	Stack              // relative to the stack pointer
)

// PC is the address of an instruction of the block.
func (b *Block) PC(i int) trace.Addr { return b.Start + trace.Addr(b.Insts[i].Off) }

// Bytes are the code of an instruction of the block.
func (b *Block) Bytes(i int) []byte {
	n := b.Insts[i]
	return b.Code[n.Off : int(n.Off)+int(n.Len)]
}

// accesses is the half-open range of the accesses of instructions from … from+n-1.
func (b *Block) accesses(from, n int) (lo, hi int) {
	if n == 0 {
		return 0, 0
	}
	last := b.Insts[from+n-1]
	return int(b.Insts[from].Access), int(last.Access) + int(last.NMem)
}

// derived says how the address of access i follows in an execution whose first
// access is lo; false: it is recorded.
func (b *Block) derived(i, lo int) (Derivation, bool) {
	if b.Derived == nil {
		return Derivation{}, false
	}
	d := b.Derived[i]
	return d, d.Of == Absolute || int(d.Of) >= lo && int(d.Of) < i
}

// Mem is one access of memory, or a range of it.
type Mem struct {
	Addr trace.Addr // of its lowest byte
	Size uint32     // bytes; 0: it did not happen
}

// Ranges are half-open ranges of addresses, but for empty ones.
func Ranges(all [][2]uint64) (out []Mem) {
	for _, r := range all {
		if r[0] < r[1] {
			out = append(out, Mem{trace.Addr(r[0]), uint32(min(r[1]-r[0], 1<<32-1))})
		}
	}
	return out
}

// Kind says what a Record tells.
type Kind uint8

// The kinds of record.
const (
	Exec   Kind = iota + 1 // Thread executed instructions From … From+N-1 of Block, with the accesses Mem
	Start                  // Thread begins. Number: the thread that made it, 0: unknown
	End                    // Thread ended
	Define                 // Mem was written by Cause (Number: of the system call or signal), not by an instruction. PC: where Thread goes on, 0: unknown
	Signal                 // Thread gets signal Number before the instruction at PC. Handler: where it goes on, 0: it ends the program or nothing happens. Mem: what the instruction has read that divided by zero
	Gap                    // Size instructions of Thread (0: of all) were not recorded, here (0: unknown how many), because of Why. Registers and memory are unknown behind it
	Map                    // Module was mapped
	Unmap                  // Mem was unmapped
	kindEnd
)

// Cause says who wrote in a Define.
type Cause uint8

// The causes.
const (
	BySyscall Cause = iota + 1 // Number, of Thread; its instruction has just been executed
	BySignal                   // the kernel, for the frame of signal Number
	ByOther                    // someone else, a tracer or another process; Why says who
)

// Record is one piece of a flow. Its slices are valid until the next record is
// asked for: copy to keep.
type Record struct {
	Kind    Kind
	Cause   Cause
	Thread  trace.ThreadID
	Block   BlockID
	From, N uint16
	// Instant is that of the first instruction of an Exec. Of others it is that of
	// the first instruction behind it, of whatever thread.
	Instant trace.Instant
	// Mem of an Exec has an entry for each access of its instructions, in the
	// order of Block.Accesses.
	Mem []Mem

	Number  uint64
	PC      trace.Addr
	Handler trace.Addr
	Size    uint64
	Why     string
	Module  *trace.Module // nil if Kind is not Map
}

// mremap is the number of the system call that gives memory another address.
const mremap = 25

// Moved says that a Define of mremap(2) moved memory: to is all of the mapping as it is now,
// from as it was, which is there no more. Else it has only what was added.
func (r *Record) Moved() (to, from Mem, ok bool) {
	if r.Kind != Define || r.Cause != BySyscall || r.Number != mremap || len(r.Mem) != 2 || r.Mem[0].Size >= 1<<31 {
		return Mem{}, Mem{}, false // longer ranges are in parts
	}
	return r.Mem[0], r.Mem[1], true
}

// Head begins a flow.
type Head struct {
	Trace  string   `json:"trace"` // Program.Flow of the trace it belongs to
	Path   string   `json:"path,omitempty"`
	Args   []string `json:"args,omitempty"`
	Engine string   `json:"engine,omitempty"`
	Part   string   `json:"part,omitempty"` // which part was asked for; "": all
}

// Trailer ends a flow. A flow without one was cut off.
type Trailer struct {
	Complete bool   `json:"complete"`
	Why      string `json:"why,omitempty"` // why it is not complete
}
