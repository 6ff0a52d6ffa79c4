package replay

import (
	"fmt"

	"golang.org/x/arch/x86/x86asm"

	"mgtrace/x86"
)

// Edit is one instruction that is another one, each time that it is executed: as its statement would make it with
// another field, variable or number in its text, or if it were not there.
type Edit struct {
	PC   uint64
	Like func(pc uint64) bool // tells where else the compiler has put it, the same of each edit of that instruction; may be nil
	Kind EditKind
	By   uint64 // Place, Number: what is added; Constant: the number
	Was  int    // Register: the number of the one that it reads,
	Is   int    // and of the one that it is to read instead; Swap: the other one
}

// EditKind says what is edited.
type EditKind uint8

// The kinds.
const (
	NoEdit   EditKind = iota
	Place             // its memory operand lies elsewhere
	Number            // what it computes is another number
	Zero              // what it computes is 0
	Skip              // it stores, or calls, nothing
	Equal             // its condition goes the other way where what was compared is equal
	Register          // it reads another register
	Swap              // of two registers it reads each for the other
	Negate            // its condition goes the other way
	Constant          // it reads another floating-point number from memory
)

// Site is an instruction that was executed.
type Site struct {
	PC      uint64
	Times   int
	Before  int      // how many instructions there were before the first time
	Effects int      // how many effects there were before the last time
	Calls   []uint64 // return addresses of the calls in which it was executed first, innermost first
	Regs    [16]uint64
	Decides bool   // by a condition
	Less    bool   // of which of two is the less
	Call    bool   // it calls
	Mem     uint64 // where its memory operand lies, 0 if it has none
	Size    int    // bytes of that
	Frame   uint64 // the register's value by which that is found on the stack, 0 if it is not
	Stores  bool   // to its memory operand
	Value   uint64 // what that held before; if it was executed more than once, the last that is not 0
	Result  int    // the width of the number that it computes, 0 if it computes none
	Made    uint64 // that number, the last time
	Step    uint64 // what it adds, if that is said in its text
	Float   int    // the width of the floating-point number that it reads from a fixed place in memory, 0 if it does not
	Reads   []int  // registers of eight bytes that it reads
	Base    int    // the one of these by which memory is found; -1: none
}

// Held is what a general register held, by its DWARF number.
func (s *Site) Held(n int) (v uint64, ok bool) {
	for r := range x86.Reg(len(s.Regs)) {
		if r.DWARF() == n {
			return s.Regs[r], true
		}
	}
	return 0, false
}

// edited is how an instruction, at pc, is edited.
func (e *Edit) edited(in *inst, pc uint64) EditKind {
	switch {
	case e.Kind == NoEdit:
		return NoEdit
	case e.PC == pc:
		return e.Kind
	case e.Like == nil:
		return NoEdit
	case in.liked != e.PC: // it is executed time and again
		in.liked, in.like = e.PC, e.Like(pc)
	}
	if in.like {
		return e.Kind
	}
	return NoEdit
}

// read is the number of the register that is read for one.
func (c *cpu) read(n int8) int8 {
	if c.editing == Register || c.editing == Swap {
		switch e := &c.call.Edit; {
		case int(n) == e.Was:
			return int8(e.Is)
		case int(n) == e.Is && e.Kind == Swap:
			return int8(e.Was)
		}
	}
	return n
}

// note notes the instruction that is executed next.
func (c *cpu) note(in *inst) {
	s := c.sites[c.pc]
	if s == nil {
		s = &Site{PC: c.pc, Calls: c.around(), Before: c.run.Steps - 1, Base: -1}
		c.sites[c.pc] = s
		c.run.Sites = append(c.run.Sites, s)
		in.describe(s)
	}
	s.Times++
	s.Effects = len(c.run.Effects)
	s.Regs = c.reg
	for i := range in.ops {
		p := &in.ops[i]
		if !in.memory(i) || in.Op == x86asm.NOP || p.fixed {
			continue
		}
		s.Mem, s.Size = c.address(p), in.MemBytes
		if in.Op == x86asm.LEA {
			s.Size = 0
			continue
		}
		if n := p.base; (n == rsp || n == rbp && stack(c.reg[n])) && stack(s.Mem) {
			s.Frame = c.reg[n]
		}
		if v := c.peek(s.Mem, s.Size); v != 0 {
			s.Value = v
		}
	}
}

// describe tells what an instruction does whatever it is executed on.
func (in *inst) describe(s *Site) {
	if in.cond >= 0 {
		s.Decides = true
		s.Less = in.cond>>1 == 1 || in.cond>>1 == 3 || in.cond>>1 >= 6
	}
	s.Call = in.Op == x86asm.CALL
	_, to := in.Args[0].(x86asm.Mem)
	switch in.Op {
	case x86asm.CMP, x86asm.TEST, x86asm.BT, x86asm.PUSH, x86asm.CALL, x86asm.JMP, x86asm.NOP:
	default:
		s.Stores = to
	}
	size := in.width(0)
	imm, said := in.Args[1].(x86asm.Imm)
	switch in.Op {
	case x86asm.INC:
		s.Result, s.Step = size, 1
	case x86asm.DEC:
		s.Result, s.Step = size, ^uint64(0)
	case x86asm.ADD:
		if s.Result = size; said {
			s.Step = uint64(imm)
		}
	case x86asm.SUB:
		if s.Result = size; said {
			s.Step = -uint64(imm)
		}
	case x86asm.LEA:
		s.Result = size
		if m, ok := in.Args[1].(x86asm.Mem); ok && m.Base != x86asm.RIP {
			s.Step = uint64(m.Disp)
		}
	case x86asm.MOV:
		if said {
			s.Result = size
		}
	}
	if from, ok := in.Args[1].(x86asm.Mem); ok && from.Base == x86asm.RIP && in.scalar() {
		s.Float = in.MemBytes
	}
	for i, a := range in.Args {
		switch x := a.(type) {
		case x86asm.Reg:
			if n, size, _, ok := general(x); ok && size == 8 && n != rsp && n != rbp && (i > 0 || in.Op == x86asm.CMP || in.Op == x86asm.TEST || in.Op == x86asm.PUSH) {
				s.Reads = append(s.Reads, n)
			}
		case x86asm.Mem:
			if n, _, _, ok := general(x.Base); ok && n != rsp {
				s.Reads, s.Base = append(s.Reads, n), n
			}
		}
	}
}

// Text is what an instruction does, whatever the registers are that it has to do with.
func (m *Machine) Text(pc uint64) string {
	in := m.decode(pc)
	if in == nil {
		return ""
	}
	text := in.Op.String()
	for _, a := range in.Args {
		switch x := a.(type) {
		case x86asm.Mem:
			text += fmt.Sprintf(" [%d]", x.Disp)
		case x86asm.Imm:
			text += fmt.Sprintf(" %d", x)
		}
	}
	return text
}
