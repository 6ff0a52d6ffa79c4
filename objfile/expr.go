package objfile

import "mgtrace/objfile/dwarf"

// maxExprSteps bounds an expression, which may branch backwards.
const maxExprSteps = 4096

// exprStack is the stack of an expression; a use past its ends makes it bad.
type exprStack struct {
	v   [64]uint64
	n   int
	bad bool
}

func (s *exprStack) push(x uint64) {
	if s.n == len(s.v) {
		s.bad = true
		return
	}
	s.v[s.n] = x
	s.n++
}

func (s *exprStack) pop() uint64 {
	if s.n == 0 {
		s.bad = true
		return 0
	}
	s.n--
	return s.v[s.n]
}

func (s *exprStack) pick(i uint64) {
	if i >= uint64(s.n) {
		s.bad = true
		return
	}
	s.push(s.v[s.n-1-int(i)])
}

// eval evaluates an expression of call frame information (DWARF 5, section
// 2.5, without what section 6.4.2 excludes). The stack begins with the
// canonical frame address where there is one.
func (m *exprMachine) eval(expr []byte, cfa uint64, hasCFA bool) (uint64, bool) {
	var s exprStack
	if hasCFA {
		s.push(cfa)
	}
	b := dwarf.NewBuf(expr, 0)
	for step := 0; b.More() && !s.bad; step++ {
		if step > maxExprSteps || !m.op(b.U8(), &b, &s, expr) {
			return 0, false
		}
	}
	v := s.pop()
	return v, !s.bad && !b.Bad()
}

func (m *exprMachine) op(op uint8, b *dwarf.Buf, s *exprStack, expr []byte) bool {
	switch {
	case op >= 0x30 && op <= 0x4f: // DW_OP_lit0…31
		s.push(uint64(op - 0x30))
		return true
	case op >= 0x70 && op <= 0x8f: // DW_OP_breg0…31
		return m.breg(uint64(op-0x70), b.Sleb(), s)
	case op >= 0x19 && op <= 0x2e && op != 0x23 && op != 0x28:
		return arithmetic(op, s)
	}
	if v, ok := constant(op, b); ok {
		s.push(v)
		return true
	}
	switch op {
	case 0x03: // DW_OP_addr
		s.push(b.U64() + m.bias)
	case 0x06: // DW_OP_deref
		return m.deref(8, s)
	case 0x94: // DW_OP_deref_size
		return m.deref(int(b.U8()), s)
	case 0x12: // DW_OP_dup
		s.pick(0)
	case 0x13: // DW_OP_drop
		s.pop()
	case 0x14: // DW_OP_over
		s.pick(1)
	case 0x15: // DW_OP_pick
		s.pick(uint64(b.U8()))
	case 0x16: // DW_OP_swap
		x, y := s.pop(), s.pop()
		s.push(x)
		s.push(y)
	case 0x17: // DW_OP_rot
		x, y, z := s.pop(), s.pop(), s.pop()
		s.push(x)
		s.push(z)
		s.push(y)
	case 0x23: // DW_OP_plus_uconst
		s.push(s.pop() + b.Uleb())
	case 0x28: // DW_OP_bra
		if n := int16(b.U16()); s.pop() != 0 {
			*b = dwarf.NewBuf(expr, b.Off()+uint64(int64(n)))
		}
	case 0x2f: // DW_OP_skip
		n := int16(b.U16())
		*b = dwarf.NewBuf(expr, b.Off()+uint64(int64(n)))
	case 0x92: // DW_OP_bregx
		return m.breg(b.Uleb(), b.Sleb(), s)
	case 0x96: // DW_OP_nop
	default:
		return false
	}
	return true
}

func (m *exprMachine) breg(reg uint64, n int64, s *exprStack) bool {
	v, ok := m.reg(reg)
	s.push(v + uint64(n))
	return ok
}

func (m *exprMachine) deref(size int, s *exprStack) bool {
	v, ok := m.word(s.pop(), size)
	s.push(v)
	return ok && !s.bad
}

// constant reads the operand of a DW_OP_const.
func constant(op uint8, b *dwarf.Buf) (uint64, bool) {
	switch op {
	case 0x08:
		return uint64(b.U8()), true
	case 0x09:
		return uint64(int64(int8(b.U8()))), true
	case 0x0a:
		return uint64(b.U16()), true
	case 0x0b:
		return uint64(int64(int16(b.U16()))), true
	case 0x0c:
		return uint64(b.U32()), true
	case 0x0d:
		return uint64(int64(int32(b.U32()))), true
	case 0x0e, 0x0f:
		return b.U64(), true
	case 0x10:
		return b.Uleb(), true
	case 0x11:
		return uint64(b.Sleb()), true
	}
	return 0, false
}

// arithmetic executes the operators DW_OP_abs (0x19) to DW_OP_ne (0x2e).
func arithmetic(op uint8, s *exprStack) bool {
	x := s.pop()
	switch op {
	case 0x19: // DW_OP_abs
		if int64(x) < 0 {
			x = -x
		}
		s.push(x)
		return true
	case 0x1f: // DW_OP_neg
		s.push(-x)
		return true
	case 0x20: // DW_OP_not
		s.push(^x)
		return true
	}
	y := s.pop() // the first operand
	truth := func(is bool) uint64 {
		if is {
			return 1
		}
		return 0
	}
	switch op {
	case 0x1a: // DW_OP_and
		y &= x
	case 0x1b: // DW_OP_div
		if x == 0 {
			return false
		}
		y = uint64(int64(y) / int64(x))
	case 0x1c: // DW_OP_minus
		y -= x
	case 0x1d: // DW_OP_mod
		if x == 0 {
			return false
		}
		y %= x
	case 0x1e: // DW_OP_mul
		y *= x
	case 0x21: // DW_OP_or
		y |= x
	case 0x22: // DW_OP_plus
		y += x
	case 0x24: // DW_OP_shl
		y <<= x
	case 0x25: // DW_OP_shr
		y >>= x
	case 0x26: // DW_OP_shra
		y = uint64(int64(y) >> x)
	case 0x27: // DW_OP_xor
		y ^= x
	case 0x29: // DW_OP_eq
		y = truth(y == x)
	case 0x2a: // DW_OP_ge
		y = truth(int64(y) >= int64(x))
	case 0x2b: // DW_OP_gt
		y = truth(int64(y) > int64(x))
	case 0x2c: // DW_OP_le
		y = truth(int64(y) <= int64(x))
	case 0x2d: // DW_OP_lt
		y = truth(int64(y) < int64(x))
	case 0x2e: // DW_OP_ne
		y = truth(y != x)
	}
	s.push(y)
	return true
}
