package emit

import (
	"math/bits"

	"mgtrace/inline/layout"
	"mgtrace/x86"
)

// Place is where in a thread's memory a register of the program is kept: Off
// bytes from the thread block, or from HookSP if OnStack.
type Place struct {
	OnStack bool
	Off     int32
}

// Held says that the program's value of Reg is at Place and not in Reg.
type Held struct {
	Reg x86.Reg
	Place
}

// Fault says whose the memory is that an instruction touches.
type Fault uint8

// The kinds of faults.
const (
	FaultNone Fault = iota // only the thread block and the process block
	// FaultProgram: the displaced instruction. A fault there is the program's,
	// at PC. (System calls, calls and returns are such instructions too.)
	FaultProgram
	// FaultLog: a record is being written. A fault at the guard page wants a
	// new buffer; the thread goes on at Reload.
	FaultLog
	// FaultOperand: what the program stored is read back, or its granule in the
	// shadow table. It faults if another thread took the memory away, or if
	// the address is none of user space (with SIGSEGV or SIGBUS, by the
	// register that holds it). The thread goes on at Skip with its registers
	// restored; if the store has executed, its value is unread.
	FaultOperand
)

// Undo says how a committed record is taken back.
type Undo uint8

// The kinds of undoing.
const (
	UndoNone Undo = iota
	UndoSize      // Cursor -= Position.Size
)

// FlagsAt says where the program's flags are.
type FlagsAt uint8

// The places of flags.
const (
	FlagsLive FlagsAt = iota // in RFLAGS
	FlagsSlot                // the status flags in gs:[Flags] as LAHF; SETO AL leave them in RAX; the others live
)

// Position is what a thread's place in a trampoline means.
type Position struct {
	// PC is the program's own place: the displaced instruction, or the one
	// behind it if Executed.
	PC       uint64
	Executed bool
	// Clean: with registers and flags restored, the record taken back as Undo
	// says, and RIP = PC, nothing is lost and nothing will happen twice. If
	// not, a record is still to come, or the hook routine has seen the
	// instruction already: the thread must first run on to a clean place.
	Clean bool
	// Partial: inside the several instructions that stand for the displaced
	// one. Registers and stack are neither as before nor as after it.
	Partial bool
	// Called: the hook routine was called before the displaced instruction,
	// which has not executed.
	Called bool
	Undo   Undo
	Size   int // bytes of the record, if Undo is not UndoNone
	Held   []Held
	Flags  FlagsAt
	Fault  Fault
	Reload int // FaultLog: offset where to go on when Cursor has been set; else -1
	// Skip is the offset where a thread with restored registers goes on
	// without a record: FaultLog and FaultOperand; else -1.
	Skip int
	// Chained: at Reload and at Skip the register Cursor must hold Cursor.
	Chained bool
	Cursor  x86.Reg
	Site    int // whose instruction PC is, or was if Executed; None: one that is only copied
}

// Registers are the general registers, by ModRM number, and RFLAGS.
type Registers struct {
	General [16]uint64
	Flags   uint64
}

// Restore turns the registers of a thread at the position into the program's.
// word reads eight bytes of the thread's memory.
func (p *Position) Restore(r *Registers, word func(Place) (uint64, error)) error {
	now := *r
	for _, h := range p.Held {
		v, err := word(h.Place)
		if err != nil {
			return err
		}
		now.General[h.Reg] = v
	}
	if p.Flags == FlagsSlot {
		v, err := word(Place{Off: layout.Flags})
		if err != nil {
			return err
		}
		now.Flags = StatusFlags(now.Flags, v)
	}
	*r = now
	return nil
}

// StatusFlags returns flags with the six status flags as LAHF; SETO AL left
// them in rax (SDM volume 2, LAHF).
func StatusFlags(flags, rax uint64) uint64 {
	const byAH, overflow = 0xd5, 0x800
	return flags&^(byAH|overflow) | rax>>8&byAH | rax&1<<11
}

// onStack is the place of a member of struct regs.
func onStack(member int32) Place { return Place{OnStack: true, Off: member - layout.RegsSize} }

// state is what is true before an instruction of a trampoline.
type state struct {
	pc, next        uint64    // of the instruction, and behind it
	site, step      int       // whose it is, or None; index in generator.steps
	saved, held     uint32    // registers by number: kept somewhere, and changed since
	place           [16]Place // where, of those in saved
	flags           FlagsAt
	fault           Fault // of the next instruction
	executed        bool
	busy            bool // between something that must not be repeated and its completion
	called, partial bool
	undo            Undo
	size            int
	reload          int // offset, valid with FaultLog
}

// allOnStack: all registers are in struct regs, and the routine has changed
// what it may.
func (s *state) allOnStack() {
	for r := range x86.Reg(16) {
		s.place[r] = onStack(layout.RegsGeneral + 8*int32(r))
	}
	s.saved, s.held = 0xffff, 0xffff
}

func (s *state) position() Position {
	p := Position{
		PC: s.pc, Site: s.site, Executed: s.executed, Clean: !s.busy && !s.partial, Partial: s.partial, Called: s.called,
		Undo: s.undo, Size: s.size, Flags: s.flags, Fault: s.fault, Reload: -1, Skip: -1,
	}
	if s.executed {
		p.PC = s.next
	}
	for m := s.held; m != 0; m &= m - 1 {
		r := bits.TrailingZeros32(m)
		p.Held = append(p.Held, Held{x86.Reg(r), s.place[r]})
	}
	return p
}
