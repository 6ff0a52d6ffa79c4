package emit

import (
	"encoding/binary"
	"fmt"

	"mgtrace/x86"
)

// mem is a memory operand.
type mem struct {
	gs          bool // relative to the thread block
	base, index x86.Reg
	scale       uint8
	disp        int32
	addr32      bool
}

// slot is a place in the thread block.
func slot(off int32) mem { return mem{gs: true, base: x86.NoReg, index: x86.NoReg, disp: off} }

// at is the memory disp bytes behind the address in base.
func at(base x86.Reg, disp int) mem { return mem{base: base, index: x86.NoReg, disp: int32(disp)} }

// asm appends instructions. While it does it follows what becomes of the
// program's registers, and if marks are wanted notes at each instruction what
// holds before it.
type asm struct {
	buf   []byte
	start int // of the trampoline in buf
	state state
	marks *[]mark
}

// mark says what holds at an instruction boundary.
type mark struct {
	off int
	state
}

// begin is called before each instruction.
func (a *asm) begin() {
	if a.marks != nil {
		*a.marks = append(*a.marks, mark{a.off(), a.state})
	}
	a.state.fault = FaultNone
}

// off is the offset of the next instruction in the trampoline.
func (a *asm) off() int { return len(a.buf) - a.start }

func (a *asm) bytes(b ...byte) { a.buf = append(a.buf, b...) }

// plain appends an instruction without memory operand.
func (a *asm) plain(b ...byte) {
	a.begin()
	a.bytes(b...)
}

// op appends prefixes, REX, opcode (one to three bytes, the first one highest)
// and the ModRM of reg and m. The width of the operation, in bytes, decides
// between 66 and REX.W. high says that reg is AH, CH, DH or BH: then neither
// operand may need REX (SDM volume 2, 2.2.1.2).
func (a *asm) op(opcode uint32, width int, reg x86.Reg, high bool, m mem) {
	a.begin()
	if m.gs {
		a.bytes(0x65)
	}
	if m.addr32 {
		a.bytes(0x67)
	}
	if width == 2 {
		a.bytes(0x66)
	}
	rex := x86.REX(width == 8, reg, m.base, m.index)
	if width == 1 && reg >= 4 && !high {
		rex |= 0x40 // SPL, BPL, SIL, DIL
	}
	if rex != 0 {
		a.bytes(rex)
	}
	switch {
	case opcode > 0xffff:
		a.bytes(byte(opcode>>16), byte(opcode>>8))
	case opcode > 0xff:
		a.bytes(byte(opcode >> 8))
	}
	a.bytes(byte(opcode))
	if high {
		reg += 4
	}
	a.modRM(reg, m)
}

// modRM appends ModRM, SIB and displacement.
func (a *asm) modRM(reg x86.Reg, m mem) {
	a.buf = x86.AppendModRM(a.buf, reg, m.base, m.index, m.scale, m.disp)
}

func (a *asm) int32(v int32) { a.buf = binary.LittleEndian.AppendUint32(a.buf, uint32(v)) }

// store appends mov m, reg.
func (a *asm) store(m mem, width int, reg x86.Reg) {
	if width == 1 {
		a.op(0x88, 1, reg, false, m)
		return
	}
	a.op(0x89, width, reg, false, m)
}

// load appends mov reg, m, zero-extended.
func (a *asm) load(reg x86.Reg, width int, m mem) {
	switch width {
	case 1:
		a.op(0x0fb6, 4, reg, false, m)
	case 2:
		a.op(0x0fb7, 4, reg, false, m)
	default:
		a.op(0x8b, width, reg, false, m)
	}
	a.changed(reg)
}

// lea appends lea reg, m: all 64 bits, or the low 32 with m.addr32.
func (a *asm) lea(reg x86.Reg, m mem) {
	a.op(0x8d, 8, reg, false, m)
	a.changed(reg)
}

// storeImm appends mov m, imm with an immediate of at most four bytes.
func (a *asm) storeImm(m mem, width int, imm uint64) {
	if width == 1 {
		a.op(0xc6, 1, 0, false, m)
		a.bytes(byte(imm))
		return
	}
	a.op(0xc7, width, 0, false, m)
	if width == 2 {
		a.bytes(byte(imm), byte(imm>>8))
		return
	}
	a.int32(int32(imm))
}

// imm appends mov reg, v.
func (a *asm) imm(reg x86.Reg, v uint64) {
	a.begin()
	rex := byte(reg >> 3)
	if v>>32 == 0 {
		if rex != 0 {
			a.bytes(0x40 | rex)
		}
		a.bytes(0xb8 | byte(reg&7))
		a.int32(int32(v))
	} else {
		a.bytes(0x48|rex, 0xb8|byte(reg&7))
		a.buf = binary.LittleEndian.AppendUint64(a.buf, v)
	}
	a.changed(reg)
}

// shrx appends shrx dst, src, count: a shift that leaves the flags alone (BMI2).
func (a *asm) shrx(dst, src, count x86.Reg) {
	a.begin()
	a.bytes(0xc4, (^byte(dst)&8)<<4|0x40|(^byte(src)&8)<<2|2, 0x80|(^byte(count)&15)<<3|3,
		0xf7, 0xc0|byte(dst&7)<<3|byte(src&7))
	a.changed(dst)
}

// shrxSlot appends shrx reg, m, reg, where m is a slot.
func (a *asm) shrxSlot(reg x86.Reg, m mem) {
	a.begin()
	a.bytes(0x65, 0xc4, (^byte(reg)&8)<<4|0x62, 0x80|(^byte(reg)&15)<<3|3, 0xf7)
	a.modRM(reg, m)
	a.changed(reg)
}

// save keeps the program's value of reg in the thread block.
func (a *asm) save(reg x86.Reg, s int32) {
	a.store(slot(s), 8, reg)
	a.state.place[reg] = Place{Off: s}
	a.state.saved |= 1 << reg
}

// restore gives reg the program's value.
func (a *asm) restore(reg x86.Reg) {
	a.op(0x8b, 8, reg, false, slot(a.state.place[reg].Off))
	a.state.saved &^= 1 << reg
	a.state.held &^= 1 << reg
}

// changed notes that reg does not hold the program's value any more. It must
// have been saved.
func (a *asm) changed(reg x86.Reg) {
	if a.state.saved&(1<<reg) == 0 {
		panic(fmt.Sprintf("emit: register %d is changed and was not saved", reg))
	}
	a.state.held |= 1 << reg
}

// jump appends jmp rel32; base is the address of the trampoline.
func (a *asm) jump(base, to uint64) {
	a.begin()
	a.bytes(0xe9)
	a.int32(int32(to - (base + uint64(a.off()) + 4)))
}

// scratch chooses the registers of a trampoline, and where each is kept.
func scratch(avoid uint32) (regs [4]x86.Reg) {
	n := 0
	for _, r := range []x86.Reg{0, 1, 2, 3, 6, 7, 5, 8, 9, 10, 11, 14, 15, 13, 12} {
		if avoid&(1<<r) == 0 {
			regs[n] = r
			if n++; n == len(regs) {
				break
			}
		}
	}
	return regs
}
