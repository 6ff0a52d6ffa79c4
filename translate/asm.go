package translate

import (
	"encoding/binary"

	"mgtrace/x86"
)

// mem is a memory operand.
type mem struct {
	gs, fs      bool
	base, index x86.Reg
	scale       uint8
	disp        int32
	addr32      bool
}

// slot is a place in the thread block.
func slot(off int32) mem { return mem{gs: true, base: x86.NoReg, index: x86.NoReg, disp: off} }

// at is the memory disp bytes behind the address in base.
func at(base x86.Reg, disp int) mem { return mem{base: base, index: x86.NoReg, disp: int32(disp)} }

// asm appends instructions. addr is where the first byte will lie.
type asm struct {
	buf  []byte
	addr uint64
}

func (a *asm) off() int        { return len(a.buf) }
func (a *asm) here() uint64    { return a.addr + uint64(len(a.buf)) }
func (a *asm) bytes(b ...byte) { a.buf = append(a.buf, b...) }
func (a *asm) int32(v int32)   { a.buf = binary.LittleEndian.AppendUint32(a.buf, uint32(v)) }

// op appends prefixes, REX, opcode (one or two bytes) and the ModRM of reg and m.
func (a *asm) op(opcode uint32, wide bool, reg x86.Reg, m mem) {
	if m.gs {
		a.bytes(0x65)
	}
	if m.fs {
		a.bytes(0x64)
	}
	if m.addr32 {
		a.bytes(0x67)
	}
	if rex := x86.REX(wide, reg, m.base, m.index); rex != 0 {
		a.bytes(rex)
	}
	if opcode > 0xff {
		a.bytes(byte(opcode >> 8))
	}
	a.bytes(byte(opcode))
	a.modRM(reg, m)
}

// modRM appends ModRM, SIB and displacement.
func (a *asm) modRM(reg x86.Reg, m mem) {
	a.buf = x86.AppendModRM(a.buf, reg, m.base, m.index, m.scale, m.disp)
}

func (a *asm) store(m mem, reg x86.Reg) { a.op(0x89, true, reg, m) }
func (a *asm) load(reg x86.Reg, m mem)  { a.op(0x8b, true, reg, m) }
func (a *asm) lea(reg x86.Reg, m mem)   { a.op(0x8d, true, reg, m) }

// leaRIP appends lea reg, [rip + …] with the address to as result.
func (a *asm) leaRIP(reg x86.Reg, to uint64) {
	rex := byte(0x48)
	if reg >= 8 {
		rex |= 4
	}
	a.bytes(rex, 0x8d, byte(reg&7)<<3|5)
	a.int32(int32(to - (a.here() + 4)))
}

// storeImm32 appends mov dword m, imm.
func (a *asm) storeImm32(m mem, imm uint32) {
	a.op(0xc7, false, 0, m)
	a.int32(int32(imm))
}

// loadImm appends mov reg, imm64.
func (a *asm) loadImm(reg x86.Reg, imm uint64) {
	rex := byte(0x48)
	if reg >= 8 {
		rex |= 1
	}
	a.bytes(rex, 0xb8|byte(reg&7))
	a.buf = binary.LittleEndian.AppendUint64(a.buf, imm)
}

// jump appends a jump to an address within 2 GB.
func (a *asm) jump(to uint64) {
	a.bytes(0xe9)
	a.int32(int32(to - (a.here() + 4)))
}

// jcc appends a conditional jump.
func (a *asm) jcc(cond byte, to uint64) {
	a.bytes(0x0f, 0x80|cond)
	a.int32(int32(to - (a.here() + 4)))
}

const int3 = 0xcc

// kmov appends kmovq reg, k; or kmovw, which has 16 bits.
func (a *asm) kmov(reg x86.Reg, k uint8, wide bool) {
	r, w := byte(0xe1), byte(0x78)
	if reg >= 8 {
		r = 0x61
	}
	if wide {
		w = 0xfb
	}
	a.bytes(0xc4, r, w, 0x93, 0xc0|byte(reg&7)<<3|k)
}

// storeVector appends a store of size bytes of a vector register behind the address in
// base: movdqu, vmovdqu, vmovdqu64.
func (a *asm) storeVector(base x86.Reg, disp int, r uint8, size int) {
	high := func(bit byte, r uint8) byte { // inverted, as VEX and EVEX have it
		if r&8 != 0 {
			return 0
		}
		return bit
	}
	switch size {
	case 16:
		a.bytes(0xf3)
		if rex := x86.REX(false, x86.Reg(r), base, x86.NoReg); rex != 0 {
			a.bytes(rex)
		}
		a.bytes(0x0f)
	case 32:
		a.bytes(0xc4, high(0x80, r)|0x40|high(0x20, uint8(base))|1, 0x7e)
	default:
		p0 := high(0x80, r) | 0x40 | high(0x20, uint8(base)) | 1
		if r < 16 {
			p0 |= 0x10
		}
		a.bytes(0x62, p0, 0xfe, 0x48)
	}
	// A displacement of 8 bits would count in units of the operand with EVEX.
	a.bytes(0x7f, 0x80|r&7<<3|byte(base&7))
	if base&7 == x86.RSP {
		a.bytes(0x24)
	}
	a.int32(int32(disp))
}
