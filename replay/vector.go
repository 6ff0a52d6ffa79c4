package replay

import (
	"encoding/binary"
	"math"

	"golang.org/x/arch/x86/x86asm"
)

// What compilers use vector registers for in code with structures: two pointers that are
// stored by one instruction, a structure that is copied or cleared, and floating-point numbers.

// vec reads an operand as 16 bytes; of memory as many as there are.
func (c *cpu) vec(in *inst, i int) (v [2]uint64) {
	switch o := &in.ops[i]; o.kind {
	case opVector:
		return c.xmm[o.n]
	case opReg, opOther:
		return [2]uint64{c.get(in, i)}
	case opMem:
		at := c.address(o)
		v[0] = c.load(at, min(in.MemBytes, 8))
		if in.MemBytes == 16 {
			v[1] = c.load(at+8, 8)
		}
	}
	return v
}

// setVec writes an operand: of memory as many bytes as it has.
func (c *cpu) setVec(in *inst, v [2]uint64) {
	switch o := &in.ops[0]; o.kind {
	case opVector:
		c.xmm[o.n] = v
	case opMem:
		var b [16]byte
		binary.LittleEndian.PutUint64(b[:], v[0])
		binary.LittleEndian.PutUint64(b[8:], v[1])
		c.store(c.address(o), b[:in.MemBytes])
	case opReg, opOther:
		c.set(in, 0, v[0])
	}
}

func (in *inst) memory(i int) bool { return in.ops[i].kind == opMem }

// lanes applies a function to each of the 32-bit numbers of two vectors.
func lanes(a, b [2]uint64, f func(x, y uint32) uint32) (v [2]uint64) {
	for i := range 2 {
		v[i] = uint64(f(uint32(a[i]), uint32(b[i]))) | uint64(f(uint32(a[i]>>32), uint32(b[i]>>32)))<<32
	}
	return v
}

// pick is lane n of a vector of four.
func pick(v [2]uint64, n uint64) uint64 { return v[n>>1&1] >> (32 * (n & 1)) & 0xffff_ffff }

func (c *cpu) vector(in *inst) {
	a, b := [2]uint64{}, [2]uint64{}
	if in.ops[0].kind != opNone && !in.memory(0) {
		a = c.vec(in, 0)
	}
	if in.ops[1].kind != opNone {
		b = c.vec(in, 1)
	}
	imm := uint64(0)
	if o := &in.ops[2]; o.kind == opImm {
		imm = o.number
	}
	switch in.Op {
	case x86asm.MOVUPS, x86asm.MOVAPS, x86asm.MOVUPD, x86asm.MOVAPD, x86asm.MOVDQA, x86asm.MOVDQU:
		c.setVec(in, b)
	case x86asm.MOVQ, x86asm.MOVD:
		c.setVec(in, [2]uint64{b[0]})
		if in.Op == x86asm.MOVD && !in.memory(0) && in.ops[0].size != 8 && in.ops[1].size != 8 {
			c.setVec(in, [2]uint64{b[0] & 0xffff_ffff})
		}
	case x86asm.MOVHPS, x86asm.MOVHPD:
		if in.memory(0) {
			c.setVec(in, [2]uint64{b[1]})
		} else {
			c.setVec(in, [2]uint64{a[0], b[0]})
		}
	case x86asm.MOVLPS, x86asm.MOVLPD:
		c.setVec(in, [2]uint64{b[0], a[1]})
	case x86asm.MOVHLPS:
		c.setVec(in, [2]uint64{b[1], a[1]})
	case x86asm.MOVLHPS, x86asm.PUNPCKLQDQ, x86asm.UNPCKLPD:
		c.setVec(in, [2]uint64{a[0], b[0]})
	case x86asm.PUNPCKHQDQ, x86asm.UNPCKHPD:
		c.setVec(in, [2]uint64{a[1], b[1]})
	case x86asm.PUNPCKLDQ, x86asm.UNPCKLPS:
		c.setVec(in, [2]uint64{pick(a, 0) | pick(b, 0)<<32, pick(a, 1) | pick(b, 1)<<32})
	case x86asm.PSHUFD:
		c.setVec(in, [2]uint64{pick(b, imm) | pick(b, imm>>2)<<32, pick(b, imm>>4) | pick(b, imm>>6)<<32})
	case x86asm.SHUFPS:
		c.setVec(in, [2]uint64{pick(a, imm) | pick(a, imm>>2)<<32, pick(b, imm>>4) | pick(b, imm>>6)<<32})
	case x86asm.SHUFPD:
		c.setVec(in, [2]uint64{a[imm&1], b[imm>>1&1]})
	case x86asm.PXOR, x86asm.XORPS, x86asm.XORPD:
		c.setVec(in, [2]uint64{a[0] ^ b[0], a[1] ^ b[1]})
	case x86asm.POR, x86asm.ORPS, x86asm.ORPD:
		c.setVec(in, [2]uint64{a[0] | b[0], a[1] | b[1]})
	case x86asm.PAND, x86asm.ANDPS, x86asm.ANDPD:
		c.setVec(in, [2]uint64{a[0] & b[0], a[1] & b[1]})
	case x86asm.PADDQ:
		c.setVec(in, [2]uint64{a[0] + b[0], a[1] + b[1]})
	case x86asm.PADDD:
		c.setVec(in, lanes(a, b, func(x, y uint32) uint32 { return x + y }))
	case x86asm.PSUBD:
		c.setVec(in, lanes(a, b, func(x, y uint32) uint32 { return x - y }))
	case x86asm.PCMPEQD:
		c.setVec(in, lanes(a, b, func(x, y uint32) uint32 { return -uint32(flag(x == y)) }))
	default:
		c.float(in, a, b)
	}
}

// float executes what is done with one floating-point number.
func (c *cpu) float(in *inst, a, b [2]uint64) {
	x, y := math.Float64frombits(a[0]), math.Float64frombits(b[0])
	double := func(f float64) { c.setVec(in, [2]uint64{math.Float64bits(f), a[1]}) }
	switch in.Op {
	case x86asm.MOVSD_XMM:
		if in.memory(0) || in.memory(1) {
			a[1] = 0
		}
		c.setVec(in, [2]uint64{b[0], a[1]})
	case x86asm.MOVSS:
		if in.memory(0) || in.memory(1) {
			a = [2]uint64{}
		}
		c.setVec(in, [2]uint64{a[0]&^0xffff_ffff | b[0]&0xffff_ffff, a[1]})
	case x86asm.ADDSD:
		double(x + y)
	case x86asm.SUBSD:
		double(x - y)
	case x86asm.MULSD:
		double(x * y)
	case x86asm.DIVSD:
		double(x / y)
	case x86asm.UCOMISD, x86asm.COMISD:
		c.flags = c.pc
		unordered := math.IsNaN(x) || math.IsNaN(y)
		c.zf, c.pf, c.cf = unordered || x == y, unordered, unordered || x < y
		c.of, c.sf = false, false
	case x86asm.CVTSI2SD:
		double(float64(signed(b[0], int(in.ops[1].size))))
	case x86asm.CVTTSD2SI:
		c.set(in, 0, uint64(int64(y)))
	default:
		c.unknown(in)
	}
}
