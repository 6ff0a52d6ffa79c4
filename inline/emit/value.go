package emit

import (
	"math/bits"

	"mgtrace/inline/layout"
	"mgtrace/x86"
)

// value says where the value that a store writes is taken from.
type value uint8

const (
	valueNone   value = iota
	valueImm          // the instruction
	valueReg          // the low bytes of a register, which the store leaves alone
	valueHigh         // AH, CH, DH or BH
	valueSwap         // a register, bytes reversed
	valuePair         // RCX:RBX, half of the width each (cmpxchg8b, cmpxchg16b)
	valueVector       // a vector register, stored once more
	valueMemory       // read back after the store: another thread may have changed it since

	// Of these a register is kept in gs:[Value] before the store.
	valueKept     // that register: xchg
	valueKeptHigh // its second byte
	valueSum      // what the register held plus what it holds now, the old contents: xadd
)

const rbx x86.Reg = 3

// valueOf says where the value of a store comes from, and the register that it
// means, or NoReg.
//
// A cmpxchg that succeeds writes its source, which it leaves alone; what the
// record of one that fails holds is of no interest. Of other read-modify-writes
// the result is read back: if they are locked and another thread writes the
// same place in the few nanoseconds between, its value is recorded.
func valueOf(code []byte, in *x86.Inst) (value, x86.Reg) {
	st := &in.Store
	switch {
	case st.Source == x86.SourceImm:
		return valueImm, x86.NoReg
	case st.Source == x86.SourceReg && st.Atomic && st.Shift != 0:
		return valueKeptHigh, st.Value
	case st.Source == x86.SourceReg && st.Atomic: // xchg
		return valueKept, st.Value
	case st.Source == x86.SourceReg && st.Shift != 0:
		return valueHigh, st.Value
	case st.Source == x86.SourceReg && st.Swap:
		return valueSwap, st.Value
	case st.Source == x86.SourceReg:
		return valueReg, st.Value
	}
	op, reg, high := exchange(code)
	switch {
	case op == 0xb0 && high:
		return valueHigh, reg
	case op == 0xb0:
		return valueReg, reg
	case op == 0xc7 && st.Shape == x86.ShapeCond:
		return valuePair, x86.NoReg
	case op == 0xc0 && !high:
		return valueSum, reg
	}
	if _, ok := vectorOf(code); ok && st.Shape == x86.ShapeFixed {
		return valueVector, x86.NoReg
	}
	if st.Width < 1 || st.Width > layout.MaxValue {
		return valueNone, x86.NoReg
	}
	return valueMemory, x86.NoReg
}

// exchange recognizes cmpxchg (B0), xadd (C0) and 0F C7 by their bytes, and
// returns 0 for any other instruction. reg is that of ModRM.reg, or the one
// whose second byte it is if high.
func exchange(code []byte) (op byte, reg x86.Reg, high bool) {
	i, rex := 0, byte(0)
prefixes:
	for ; i < len(code); i++ {
		switch b := code[i]; {
		case b == 0x66 || b == 0x67 || b == 0xf0 || b == 0xf2 || b == 0xf3 ||
			b == 0x26 || b == 0x2e || b == 0x36 || b == 0x3e || b == 0x64 || b == 0x65:
			rex = 0
		case b&0xf0 == 0x40:
			rex = b
		default:
			break prefixes
		}
	}
	if i+2 >= len(code) || code[i] != 0x0f {
		return 0, x86.NoReg, false
	}
	op = code[i+1]
	switch op {
	case 0xb0, 0xb1, 0xc0, 0xc1:
	case 0xc7:
		return op, x86.NoReg, false
	default:
		return 0, x86.NoReg, false
	}
	reg = x86.Reg(code[i+2]>>3&7 | rex<<1&8)
	if op&1 == 0 && rex == 0 && reg >= 4 {
		reg, high = reg-4, true
	}
	return op &^ 1, reg, high
}

// fetch appends what brings the value to the scratch register val, if it is one
// that need not stay where it is. It says whether it did.
func (g *generator) fetch(p *storePlan) bool {
	w := p.store.Width
	switch p.value {
	case valueMemory:
		if w > 8 || bits.OnesCount(uint(w)) != 1 {
			return false
		}
		g.save(p.val, valueSlot)
		g.state.fault = FaultOperand
		g.load(p.val, w, at(p.addr, p.disp))
	case valueKept:
		g.save(p.val, valueSlot)
		g.load(p.val, 8, slot(layout.Value))
	case valueKeptHigh:
		g.save(p.val, valueSlot)
		g.load(p.val, 1, slot(layout.Value+1))
	case valueSum:
		g.save(p.val, valueSlot)
		g.load(p.val, 8, slot(layout.Value))
		g.lea(p.val, mem{base: p.reg, index: p.val, scale: 1})
	default:
		return false
	}
	return true
}

// writeValue appends what writes the value to the record: from val if it was
// fetched, else from where it is; temp may be used to copy it.
func (g *generator) writeValue(p *storePlan, fetched bool, temp x86.Reg) {
	to, w := at(p.rec, layout.StoreValue), p.store.Width
	switch {
	case fetched:
		g.log(func() { g.store(to, w, p.val) })
	case p.value == valueImm:
		g.log(func() { g.storeImm(to, w, p.store.Imm) })
	case p.value == valueReg:
		g.log(func() { g.store(to, w, p.reg) })
	case p.value == valueHigh:
		g.log(func() { g.op(0x88, 1, p.reg, true, to) })
	case p.value == valueSwap:
		g.log(func() { g.op(0x0f38f1, w, p.reg, false, to) })
	case p.value == valueVector:
		g.log(func() { g.vector(&p.vector, p.rec) })
	case p.value == valuePair:
		g.log(func() { g.store(to, w/2, rbx) })
		g.log(func() { g.store(at(p.rec, layout.StoreValue+w/2), w/2, x86.RCX) })
	case p.value == valueMemory:
		for off := 0; off < w; {
			n := min(8, 1<<(bits.Len(uint(w-off))-1))
			g.state.fault = FaultOperand
			g.load(temp, n, at(p.addr, p.disp+off))
			g.log(func() { g.store(at(p.rec, layout.StoreValue+off), n, temp) })
			off += n
		}
	}
}
