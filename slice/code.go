package slice

import (
	"math/bits"

	"mgtrace/slice/cfg"
)

// Regs is a set of register units: parts of registers that are defined as wholes.
// Which is which is the instruction set's matter; but four units from a multiple
// of four on, a quad, are of one register, or go together often.
type Regs [4]uint64

// NumUnits is the number of register units.
const NumUnits = 256

// Has says that unit u is in the set.
func (r *Regs) Has(u uint8) bool { return r[u>>6]&(1<<(u&63)) != 0 }

// Add puts unit u in.
func (r *Regs) Add(u uint8) { r[u>>6] |= 1 << (u & 63) }

// Empty says that nothing is in the set.
func (r *Regs) Empty() bool { return r[0]|r[1]|r[2]|r[3] == 0 }

// Or puts in what s has.
func (r *Regs) Or(s *Regs) {
	for i := range r {
		r[i] |= s[i]
	}
}

// AndNot takes out what s has.
func (r *Regs) AndNot(s *Regs) {
	for i := range r {
		r[i] &^= s[i]
	}
}

// Meets says that the sets have a unit in common.
func (r *Regs) Meets(s *Regs) bool {
	return r[0]&s[0]|r[1]&s[1]|r[2]&s[2]|r[3]&s[3] != 0
}

// Units calls yield with the units of the set, ascending.
func (r *Regs) Units(yield func(uint8) bool) {
	for i, w := range r {
		for ; w != 0; w &= w - 1 {
			if !yield(uint8(i*64 + bits.TrailingZeros64(w))) {
				return
			}
		}
	}
}

// Op is a part of an instruction that computes something: all that it writes
// depends on all that it reads. Most instructions are one; push is two, because the
// new stack pointer does not depend on the value pushed.
type Op struct {
	Read  Regs // what is written in part only, or perhaps, is read too
	Addr  Regs // ⊆ Read: read for no more than to compute an address
	Write Regs

	// Frame says that where the value comes from is of no interest: what depends on
	// it depends on nothing by that.
	Frame bool

	// Accesses of the instruction, as bits: 1<<i is the i-th. What is perhaps not
	// written is read too.
	MemRead, MemWrite uint32
}

// Inst is an instruction.
type Inst struct {
	PC       uint64
	Ops      []Op  // at least one; the first decides where control goes
	Accesses uint8 // how many; at most 32
	End      cfg.Kind
	Target   uint64 // of cfg.Jump and cfg.Cond
	Direct   bool   // of cfg.Call: to one place always, be it through a slot of the dynamic linker; of cfg.Indirect: the same, if it leaves its function

	// Slot is the access that has a call's or a return's address on the stack, -1: none.
	Slot int8

	// Save says that the last op of the instruction stores a register as a whole,
	// the quad Save-1, with access SaveAt; Load, that it loads one. 0: neither.
	Save, Load uint8
	CopyAt     uint8
}

// Code is straight-line code: instructions that follow one another, entered at
// the first.
type Code struct {
	ID    uint32 // from 1
	Insts []Inst
}

// Mem is memory that an access touched.
type Mem struct {
	Addr uint64
	Size uint32 // bytes; 0: it did not happen
}

// EventKind says what happened.
type EventKind uint8

// The kinds.
const (
	Executed    EventKind = iota // instructions From … From+N-1 of Code
	Defined                      // Cause wrote Writes, from Reads and the registers Regs
	Lost                         // instructions are missing: what is in registers and memory afterwards is of unknown origin
	Faulted                      // the thread came to the instruction at Cause.PC, which has the registers Regs and the memory Reads for input, and did not execute it
	Interrupted                  // a signal handler begins, at Handler
	Resumed                      // it has ended: registers are as they were before it
	Started                      // the thread, by the thread Parent
	Ended                        // the thread
	Moved                        // whole pages: Mem[0] is what Mem[1], of the same size, was until now
)

// Event is what happened next in the run.
type Event struct {
	Kind    EventKind
	Instant uint64 // of the first instruction
	Thread  uint32
	Code    *Code
	From, N uint16
	Mem     []Mem // of Executed: of all accesses, in order; of Defined: what was written

	Cause   Cause
	Reads   []Mem // of Defined and Faulted: memory read
	Regs    Regs  // of Defined and Faulted: registers read
	Writes  Regs  // of Defined: registers written
	Handler uint64
	Parent  uint32
}

// Cause is who wrote what no instruction of the program wrote, or why an instruction
// was not executed.
type Cause struct {
	Kind   CauseKind
	Number int64  // of the system call, of the signal
	PC     uint64 // of a Fault: the instruction's address; of a Syscall: where it returns, 0: unknown
}

// CauseKind is a kind of Cause.
type CauseKind uint8

// The kinds.
const (
	Unknown CauseKind = iota
	Syscall
	SignalFrame
	Gap
	Fault // writes nothing
)

// Source is a recorded run. It can be read as often as needed.
type Source interface {
	// Scan calls f with all events in order. An event is valid until f returns.
	Scan(f func(*Event) error) error
	// Code returns the code of an ID that an event had, nil if there is none.
	Code(id uint32) *Code
	// Static returns the program as it lies in memory, also where it was not executed.
	// Its Targets are not asked for: they are what the run shows.
	Static() cfg.Code
}
