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
		if v[0] = c.load(at, min(in.MemBytes, 8)); c.editing == Constant {
			v[0] = c.call.Edit.By
		}
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

// lanes applies a function to each of the numbers of a width in bits, of which two vectors consist.
func lanes(a, b [2]uint64, width int, f func(x, y uint64) uint64) (v [2]uint64) {
	low := ^uint64(0) >> (64 - width)
	for i := range v {
		for at := 0; at < 64; at += width {
			v[i] |= f(a[i]>>at&low, b[i]>>at&low) & low << at
		}
	}
	return v
}

// integers are the operations on the numbers of two vectors, one by one. Read-only.
var integers = map[x86asm.Op]struct {
	width int
	f     func(x, y uint64) uint64
}{
	x86asm.PADDB: {8, plus}, x86asm.PADDW: {16, plus}, x86asm.PADDD: {32, plus}, x86asm.PADDQ: {64, plus},
	x86asm.PSUBB: {8, minus}, x86asm.PSUBW: {16, minus}, x86asm.PSUBD: {32, minus}, x86asm.PSUBQ: {64, minus},
	x86asm.PCMPEQB: {8, equal}, x86asm.PCMPEQW: {16, equal}, x86asm.PCMPEQD: {32, equal},
	x86asm.PCMPGTB: {8, greater(8)}, x86asm.PCMPGTW: {16, greater(16)}, x86asm.PCMPGTD: {32, greater(32)},
	x86asm.PMINUB: {8, func(x, y uint64) uint64 { return min(x, y) }}, x86asm.PMAXUB: {8, func(x, y uint64) uint64 { return max(x, y) }},
	x86asm.PMULUDQ: {64, func(x, y uint64) uint64 { return x & 0xffff_ffff * (y & 0xffff_ffff) }},
	x86asm.PXOR:    {64, func(x, y uint64) uint64 { return x ^ y }}, x86asm.XORPS: {64, func(x, y uint64) uint64 { return x ^ y }}, x86asm.XORPD: {64, func(x, y uint64) uint64 { return x ^ y }},
	x86asm.POR: {64, func(x, y uint64) uint64 { return x | y }}, x86asm.ORPS: {64, func(x, y uint64) uint64 { return x | y }}, x86asm.ORPD: {64, func(x, y uint64) uint64 { return x | y }},
	x86asm.PAND: {64, func(x, y uint64) uint64 { return x & y }}, x86asm.ANDPS: {64, func(x, y uint64) uint64 { return x & y }}, x86asm.ANDPD: {64, func(x, y uint64) uint64 { return x & y }},
	x86asm.PANDN: {64, func(x, y uint64) uint64 { return ^x & y }}, x86asm.ANDNPS: {64, func(x, y uint64) uint64 { return ^x & y }}, x86asm.ANDNPD: {64, func(x, y uint64) uint64 { return ^x & y }},
}

func plus(x, y uint64) uint64  { return x + y }
func minus(x, y uint64) uint64 { return x - y }
func equal(x, y uint64) uint64 { return -flag(x == y) }

func greater(width int) func(x, y uint64) uint64 {
	return func(x, y uint64) uint64 { return -flag(signed(x, width/8) > signed(y, width/8)) }
}

// shifts are those of the numbers of a vector, all by as much. Read-only.
var shifts = map[x86asm.Op]struct {
	width int
	f     func(x, n uint64) uint64
}{
	x86asm.PSLLW: {16, left}, x86asm.PSLLD: {32, left}, x86asm.PSLLQ: {64, left},
	x86asm.PSRLW: {16, right}, x86asm.PSRLD: {32, right}, x86asm.PSRLQ: {64, right},
	x86asm.PSRAW: {16, func(x, n uint64) uint64 { return uint64(signed(x, 2) >> min(n, 15)) }},
	x86asm.PSRAD: {32, func(x, n uint64) uint64 { return uint64(signed(x, 4) >> min(n, 31)) }},
}

func left(x, n uint64) uint64  { return x << n }
func right(x, n uint64) uint64 { return x >> n }

// interleaved has numbers of a width in bits of two vectors by turns: those of one half of each.
func interleaved(a, b uint64, width int) (v [2]uint64) {
	low := ^uint64(0) >> (64 - width)
	for i := range 64 / width {
		at := 2 * i * width
		v[at/64] |= (a >> (i * width) & low) << (at % 64)
		v[at/64] |= (b >> (i * width) & low) << (at%64 + width)
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
		c.setVec(in, interleaved(a[0], b[0], 32))
	case x86asm.PUNPCKHDQ, x86asm.UNPCKHPS:
		c.setVec(in, interleaved(a[1], b[1], 32))
	case x86asm.PUNPCKLWD:
		c.setVec(in, interleaved(a[0], b[0], 16))
	case x86asm.PUNPCKHWD:
		c.setVec(in, interleaved(a[1], b[1], 16))
	case x86asm.PUNPCKLBW:
		c.setVec(in, interleaved(a[0], b[0], 8))
	case x86asm.PUNPCKHBW:
		c.setVec(in, interleaved(a[1], b[1], 8))
	case x86asm.PSRLDQ, x86asm.PSLLDQ:
		n := min(8*in.ops[1].number, 128)
		if in.Op == x86asm.PSLLDQ {
			a = [2]uint64{a[0] << n, a[1]<<n | a[0]>>(64-n) | a[0]<<(n-64)}
		} else {
			a = [2]uint64{a[0]>>n | a[1]<<(64-n) | a[1]>>(n-64), a[1] >> n}
		}
		c.setVec(in, a)
	case x86asm.PMOVMSKB:
		c.set(in, 0, signs(b, 8))
	case x86asm.MOVMSKPS:
		c.set(in, 0, signs(b, 32))
	case x86asm.MOVMSKPD:
		c.set(in, 0, signs(b, 64))
	case x86asm.PSHUFD:
		c.setVec(in, [2]uint64{pick(b, imm) | pick(b, imm>>2)<<32, pick(b, imm>>4) | pick(b, imm>>6)<<32})
	case x86asm.SHUFPS:
		c.setVec(in, [2]uint64{pick(a, imm) | pick(a, imm>>2)<<32, pick(b, imm>>4) | pick(b, imm>>6)<<32})
	case x86asm.SHUFPD:
		c.setVec(in, [2]uint64{a[imm&1], b[imm>>1&1]})
	default:
		if op, ok := integers[in.Op]; ok {
			c.setVec(in, lanes(a, b, op.width, op.f))
		} else if op, ok := shifts[in.Op]; ok {
			n := b[0]
			if in.ops[1].kind == opImm {
				n = in.ops[1].number
			}
			c.setVec(in, lanes(a, a, op.width, func(x, _ uint64) uint64 { return op.f(x, n) }))
		} else {
			c.float(in, a, b)
		}
	}
}

// signs are the signs of the numbers of a vector, one bit each.
func signs(v [2]uint64, width int) (out uint64) {
	for i := range 128 / width {
		at := (i+1)*width - 1
		out |= v[at/64] >> (at % 64) & 1 << i
	}
	return out
}

// float executes what is done with floating-point numbers: mostly with one.
func (c *cpu) float(in *inst, a, b [2]uint64) {
	x, y := math.Float64frombits(a[0]), math.Float64frombits(b[0])
	u, v := single(a[0]), single(b[0])
	double := func(f float64) { c.setVec(in, [2]uint64{math.Float64bits(f), a[1]}) }
	float := func(f float32) { c.setVec(in, [2]uint64{a[0]&^0xffff_ffff | bits32(f), a[1]}) }
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
	case x86asm.CMPSD_XMM:
		c.setVec(in, [2]uint64{-flag(holds(x, y, in.ops[2].number)), a[1]})
	case x86asm.CMPSS:
		c.setVec(in, [2]uint64{a[0]&^0xffff_ffff | -flag(holds(float64(u), float64(v), in.ops[2].number))&0xffff_ffff, a[1]})
	case x86asm.CMPPD:
		c.setVec(in, lanes(a, b, 64, func(x, y uint64) uint64 {
			return -flag(holds(math.Float64frombits(x), math.Float64frombits(y), in.ops[2].number))
		}))
	case x86asm.CMPPS:
		c.setVec(in, lanes(a, b, 32, func(x, y uint64) uint64 {
			return -flag(holds(float64(single(x)), float64(single(y)), in.ops[2].number))
		}))
	case x86asm.SQRTSD:
		double(math.Sqrt(y))
	case x86asm.SQRTSS:
		float(float32(math.Sqrt(float64(v))))
	case x86asm.UCOMISD, x86asm.COMISD:
		c.compare(x, y)
	case x86asm.UCOMISS, x86asm.COMISS:
		c.compare(float64(u), float64(v))
	case x86asm.CVTSI2SD:
		double(float64(signed(b[0], int(in.ops[1].size))))
	case x86asm.CVTSI2SS:
		float(float32(signed(b[0], int(in.ops[1].size))))
	case x86asm.CVTTSD2SI:
		c.set(in, 0, truncated(y, int(in.ops[0].size)))
	case x86asm.CVTTSS2SI:
		c.set(in, 0, truncated(float64(v), int(in.ops[0].size)))
	case x86asm.CVTSD2SI:
		c.set(in, 0, truncated(math.RoundToEven(y), int(in.ops[0].size)))
	case x86asm.CVTSS2SI:
		c.set(in, 0, truncated(math.RoundToEven(float64(v)), int(in.ops[0].size)))
	case x86asm.CVTSS2SD:
		double(float64(v))
	case x86asm.CVTSD2SS:
		float(float32(y))
	case x86asm.CVTPS2PD:
		c.setVec(in, [2]uint64{math.Float64bits(float64(v)), math.Float64bits(float64(single(b[0] >> 32)))})
	case x86asm.CVTPD2PS:
		c.setVec(in, [2]uint64{bits32(float32(y)) | bits32(float32(math.Float64frombits(b[1])))<<32})
	case x86asm.CVTDQ2PD:
		c.setVec(in, [2]uint64{math.Float64bits(float64(int32(b[0]))), math.Float64bits(float64(int32(b[0] >> 32)))})
	case x86asm.CVTDQ2PS:
		c.setVec(in, lanes(b, b, 32, func(x, _ uint64) uint64 { return bits32(float32(int32(x))) }))
	default:
		one, ok := arithmetic[in.Op]
		if !ok {
			c.unknown(in)
			return
		}
		f := func(x, y uint64) uint64 {
			return math.Float64bits(one.f(math.Float64frombits(x), math.Float64frombits(y)))
		}
		if one.single { // of two floats a double is exact enough that rounding it once more changes nothing (Figueroa 1995)
			f = func(x, y uint64) uint64 {
				return bits32(float32(one.f(float64(single(x)), float64(single(y)))))
			}
		}
		switch {
		case one.all && one.single:
			c.setVec(in, lanes(a, b, 32, f))
		case one.all:
			c.setVec(in, lanes(a, b, 64, f))
		case one.single:
			c.setVec(in, [2]uint64{a[0]&^0xffff_ffff | f(a[0], b[0]), a[1]})
		default:
			c.setVec(in, [2]uint64{f(a[0], b[0]), a[1]})
		}
	}
}

// arithmetic are the operations on two floating-point numbers, or on all of two vectors. Read-only.
var arithmetic = map[x86asm.Op]struct {
	f           func(x, y float64) float64
	single, all bool
}{
	x86asm.ADDSD: {f: sum}, x86asm.ADDSS: {f: sum, single: true}, x86asm.ADDPD: {f: sum, all: true}, x86asm.ADDPS: {f: sum, single: true, all: true},
	x86asm.SUBSD: {f: difference}, x86asm.SUBSS: {f: difference, single: true}, x86asm.SUBPD: {f: difference, all: true}, x86asm.SUBPS: {f: difference, single: true, all: true},
	x86asm.MULSD: {f: product}, x86asm.MULSS: {f: product, single: true}, x86asm.MULPD: {f: product, all: true}, x86asm.MULPS: {f: product, single: true, all: true},
	x86asm.DIVSD: {f: quotient}, x86asm.DIVSS: {f: quotient, single: true}, x86asm.DIVPD: {f: quotient, all: true}, x86asm.DIVPS: {f: quotient, single: true, all: true},
	x86asm.MINSD: {f: least}, x86asm.MINSS: {f: least, single: true}, x86asm.MINPD: {f: least, all: true}, x86asm.MINPS: {f: least, single: true, all: true},
	x86asm.MAXSD: {f: greatest}, x86asm.MAXSS: {f: greatest, single: true}, x86asm.MAXPD: {f: greatest, all: true}, x86asm.MAXPS: {f: greatest, single: true, all: true},
}

// scalar: it has to do with one floating-point number of each operand.
func (in *inst) scalar() bool {
	switch in.Op {
	case x86asm.MOVSD_XMM, x86asm.MOVSS, x86asm.UCOMISD, x86asm.COMISD, x86asm.UCOMISS, x86asm.COMISS:
		return true
	}
	op, ok := arithmetic[in.Op]
	return ok && !op.all
}

func sum(x, y float64) float64        { return x + y }
func difference(x, y float64) float64 { return x - y }
func product(x, y float64) float64    { return x * y }
func quotient(x, y float64) float64   { return x / y }

// least and greatest are the second number where they are equal or one is none (SDM volume 2, MINSD).
func least(x, y float64) float64 {
	if x < y {
		return x
	}
	return y
}

func greatest(x, y float64) float64 {
	if x > y {
		return x
	}
	return y
}

// Float is a floating-point number of a size in bytes, as memory holds it.
func Float(v uint64, size int) float64 {
	if size == 4 {
		return float64(single(v))
	}
	return math.Float64frombits(v)
}

// Bits are those of a number of a size in bytes.
func Bits(f float64, size int) uint64 {
	if size == 4 {
		return bits32(float32(f))
	}
	return math.Float64bits(f)
}

func single(v uint64) float32 { return math.Float32frombits(uint32(v)) }
func bits32(f float32) uint64 { return uint64(math.Float32bits(f)) }

// compare sets the flags as comparisons of two numbers do.
func (c *cpu) compare(x, y float64) {
	c.flags = c.pc
	unordered := math.IsNaN(x) || math.IsNaN(y)
	c.zf, c.pf, c.cf = unordered || x == y, unordered, unordered || x < y
	c.of, c.sf = false, false
}

// holds is what a comparison says by its number (SDM volume 2, CMPPD, table 3-1).
func holds(x, y float64, predicate uint64) (yes bool) {
	switch predicate & 3 {
	case 0:
		yes = x == y
	case 1:
		yes = x < y
	case 2:
		yes = x <= y
	case 3:
		yes = math.IsNaN(x) || math.IsNaN(y)
	}
	return yes != (predicate&4 != 0)
}

// truncated is a number as an integer of a size in bytes; where it has none, the least one (SDM volume 2, CVTTSD2SI).
func truncated(f float64, size int) uint64 {
	limit := math.Ldexp(1, 8*size-1)
	if t := math.Trunc(f); t >= -limit && t < limit {
		return mask(uint64(int64(t)), size)
	}
	return 1 << (8*size - 1)
}
