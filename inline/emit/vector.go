package emit

import (
	"mgtrace/inline/layout"
	"mgtrace/x86"
)

// vectorMove is an instruction that stores a vector register or a part of it,
// split into its fields (Intel SDM volume 2, 2.2, 2.3.5, 2.7.1).
type vectorMove struct {
	form     byte // 0 legacy, or the first byte of the prefix: C5, C4 (VEX), 62 (EVEX)
	op       byte // in map 0F
	pp       byte // mandatory prefix: 0 none, 1 66, 2 F3, 3 F2
	w        bool
	length   byte // L'L
	reg      byte // ModRM.reg
	ext, top byte // 8 and 16 if the register's number has them
}

// vectorOf recognizes the moves whose register can be stored once more, into
// the record: nothing else tells what they will write. It makes those that want
// an aligned operand into their unaligned twins.
func vectorOf(code []byte) (v vectorMove, ok bool) {
	i, rex := 0, byte(0)
	for ; i < len(code); i++ {
		b := code[i]
		if b&0xf0 == 0x40 {
			rex = b
			continue
		}
		switch b {
		case 0x66:
			v.pp = max(v.pp, 1)
		case 0xf3:
			v.pp = 2
		case 0xf2:
			v.pp = 3
		case 0x67, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65:
		default:
			v.w, v.ext = rex&8 != 0, rex<<1&8
			return v, v.opcode(code[i:]) && v.unaligned()
		}
		rex = 0
	}
	return v, false
}

// opcode reads what begins with 0F or a vector prefix, and says whether it is
// an instruction of map 0F without a mask.
func (v *vectorMove) opcode(c []byte) bool {
	n := 1 // where the opcode is
	switch c[0] {
	case 0x0f:
	case 0xc5:
		n = 2
	case 0xc4:
		n = 3
	case 0x62:
		n = 4
	default:
		return false
	}
	if len(c) < n+2 {
		return false
	}
	switch c[0] {
	case 0xc5:
		v.form, v.ext = c[0], ^c[1]>>4&8
		v.length, v.pp = c[1]>>2&1, c[1]&3
	case 0xc4:
		v.form, v.ext = c[0], ^c[1]>>4&8
		v.w, v.length, v.pp = c[2]&0x80 != 0, c[2]>>2&1, c[2]&3
		if c[1]&0x1f != 1 {
			return false
		}
	case 0x62:
		v.form, v.ext, v.top = c[0], ^c[1]>>4&8, ^c[1]&0x10
		v.w, v.length, v.pp = c[2]&0x80 != 0, c[3]>>5&3, c[2]&3
		if c[1]&7 != 1 || c[3]&0x97 != 0 { // z, b, aaa
			return false
		}
	}
	v.op, v.reg = c[n], c[n+1]>>3&7
	return true
}

// unaligned says whether it is one of the moves, and turns movaps, movdqa and
// the non-temporal ones into movups and movdqu.
func (v *vectorMove) unaligned() bool {
	switch v.op {
	case 0x11, 0x13, 0x17, 0x7e, 0xd6:
	case 0x29, 0x2b:
		v.op = 0x11
	case 0x7f, 0xe7: // without a prefix: an MMX register
		v.op = 0x7f
		if v.pp == 1 {
			v.pp = 2
		}
	default:
		return false
	}
	return true
}

// vector appends the move with the record as its destination.
func (g *generator) vector(v *vectorMove, rec x86.Reg) {
	g.begin()
	base := byte(rec & 8)
	w := byte(0)
	if v.w {
		w = 0x80
	}
	switch v.form {
	case 0:
		if v.pp != 0 {
			g.bytes([4]byte{0, 0x66, 0xf3, 0xf2}[v.pp])
		}
		if rex := w>>4 | v.ext>>1 | base>>3; rex != 0 {
			g.bytes(0x40 | rex)
		}
		g.bytes(0x0f)
	case 0x62: // the unit of an 8-bit displacement is the operand's width: 32 bits are used
		g.bytes(0x62, ^v.ext<<4&0x80|0x40|^base<<2&0x20|(^v.top&0x10)|1, w|0x7c|v.pp, v.length<<5|8)
		g.bytes(v.op, 0x80|v.reg<<3|byte(rec&7))
		g.int32(layout.StoreValue)
		return
	default:
		g.bytes(0xc4, ^v.ext<<4&0x80|0x40|^base<<2&0x20|1, w|0x78|v.length<<2|v.pp)
	}
	g.bytes(v.op)
	g.modRM(x86.Reg(v.reg), at(rec, layout.StoreValue))
}
