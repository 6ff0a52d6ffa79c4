package replay

import (
	"fmt"

	"golang.org/x/arch/x86/x86asm"
)

// What an instruction says of its operands is worked out once: it is executed in each of hundreds of experiments.

// opKind says what an operand is.
type opKind uint8

// The kinds.
const (
	opNone   opKind = iota
	opReg           // a general register
	opVector        // a vector register
	opMem
	opImm
	opRel   // where a jump leads, from the next instruction
	opOther // not known
)

// operand is one of an instruction, small enough for those of one to lie in a cache line.
type operand struct {
	kind        opKind
	size        int8 // bytes
	n           int8 // opReg, opVector: its number
	high        bool // opReg: bits 8 to 15
	base, index int8 // opMem: numbers of registers; -1: none
	scale       uint8
	// fixed: opMem: number is all. The canary of the stack protector lies there (x86-64 psABI, glibc tls.h): any number will do.
	fixed bool
	// number is what opImm is, as wide as the first operand, how far opRel leads, and what opMem counts from.
	number uint64
}

// describeOperands works them out.
func (in *inst) describeOperands() {
	for i := range in.ops {
		o := &in.ops[i]
		switch x := in.Args[i].(type) {
		case x86asm.Reg:
			o.kind = opOther
			if n, _, high, ok := general(x); ok {
				o.kind, o.n, o.high = opReg, int8(n), high
			} else if x >= x86asm.X0 && x <= x86asm.X15 {
				o.kind, o.n = opVector, int8(x-x86asm.X0)
			}
		case x86asm.Mem:
			*o = in.place(x)
		case x86asm.Imm:
			o.kind, o.number = opImm, mask(uint64(x), in.width(0))
		case x86asm.Rel:
			o.kind, o.number = opRel, uint64(x)
		}
		o.size = int8(in.width(i))
	}
}

// place is where a memory operand lies.
func (in *inst) place(x x86asm.Mem) operand {
	o := operand{kind: opMem, base: -1, index: -1, scale: x.Scale, number: uint64(x.Disp)}
	if x.Segment == x86asm.FS || x.Segment == x86asm.GS {
		o.fixed, o.number = true, stackTop-512
		return o
	}
	if x.Base == x86asm.RIP {
		o.number += in.next
	} else if n, _, _, ok := general(x.Base); ok {
		o.base = int8(n)
	}
	if n, _, _, ok := general(x.Index); ok {
		o.index = int8(n)
	}
	return o
}

// address is where a memory operand lies in a run.
func (c *cpu) address(o *operand) uint64 {
	a := o.number
	if o.fixed {
		return a
	}
	if o.base >= 0 {
		a += c.reg[c.read(o.base)&15]
	}
	if o.index >= 0 {
		a += c.reg[o.index&15] * uint64(o.scale)
	}
	if c.editing == Place {
		a += c.call.Edit.By
	}
	return a
}

// width of an operand in bytes.
func (in *inst) width(i int) int {
	switch a := in.Args[i].(type) {
	case x86asm.Reg:
		if _, n, _, ok := general(a); ok {
			return n
		}
		return 16
	case x86asm.Mem:
		return in.MemBytes
	}
	if i > 0 {
		return in.width(0)
	}
	return 8
}

// general register: its number, its width in bytes, and whether it is bits 8 to 15.
func general(r x86asm.Reg) (n, size int, high, ok bool) {
	switch {
	case r >= x86asm.AL && r <= x86asm.BL:
		return int(r - x86asm.AL), 1, false, true
	case r >= x86asm.AH && r <= x86asm.BH:
		return int(r - x86asm.AH), 1, true, true
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return int(r-x86asm.SPB) + rsp, 1, false, true
	case r >= x86asm.AX && r <= x86asm.R15W:
		return int(r - x86asm.AX), 2, false, true
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return int(r - x86asm.EAX), 4, false, true
	case r >= x86asm.RAX && r <= x86asm.R15:
		return int(r - x86asm.RAX), 8, false, true
	}
	return 0, 0, false, false
}

// get reads an operand; numbers that the instruction holds are as wide as its first one.
func (c *cpu) get(in *inst, i int) uint64 {
	switch o := &in.ops[i]; o.kind {
	case opReg:
		if o.high {
			return c.reg[o.n&15] >> 8 & 0xff
		}
		return mask(c.reg[c.read(o.n)&15], int(o.size))
	case opMem:
		return c.load(c.address(o), in.MemBytes)
	case opImm:
		return o.number
	}
	c.unknown(in)
	return 0
}

// unknown ends the run at an instruction.
func (c *cpu) unknown(in *inst) { c.fail(fmt.Errorf("%w: %v", ErrCode, in.Inst)) }
