package objfile

import (
	"math"

	"mgtrace/objfile/dwarf"
)

// maxFrameRows bounds the table of one function; compilers write hundreds.
const maxFrameRows = 1 << 14

// frameMachine executes call frame instructions (DWARF 5, section 6.4.2).
type frameMachine struct {
	d       *fde
	out     *frameRows
	row     frameRow
	initial frameRow // after the CIE's instructions
	saved   []frameRow
}

// execute computes the rows of a function.
func (d *fde) execute() *frameRows {
	m := frameMachine{d: d, out: &frameRows{}, row: frameRow{pc: d.lo}}
	if !m.run(d.cie.insts, 0) {
		return m.out
	}
	m.initial = m.row
	m.run(d.insts, d.at)
	m.emit()
	return m.out
}

func (m *frameMachine) emit() {
	if n := len(m.out.rows); n > 0 && m.out.rows[n-1].pc == m.row.pc {
		m.out.rows[n-1] = m.row
		return
	}
	m.out.rows = append(m.out.rows, m.row)
}

// advance ends the current row at pc.
func (m *frameMachine) advance(pc uint64) bool {
	if pc < m.row.pc || len(m.out.rows) >= maxFrameRows {
		return false
	}
	m.emit()
	m.row.pc = pc
	return true
}

// run executes instructions, whose first byte lies at address at, until one
// can not be understood: then what follows is unknown, and false.
func (m *frameMachine) run(insts []byte, at uint64) bool {
	c := m.d.cie
	for b := dwarf.NewBuf(insts, 0); b.More(); {
		op := b.U8()
		ok := true
		switch op >> 6 {
		case 1: // DW_CFA_advance_loc
			ok = m.advance(m.row.pc + uint64(op&0x3f)*c.codeAlign)
		case 2: // DW_CFA_offset
			m.set(uint64(op&0x3f), ruleOffset, int64(b.Uleb())*c.dataAlign)
		case 3: // DW_CFA_restore
			m.restore(uint64(op & 0x3f))
		default:
			ok = m.extended(op, &b, at)
		}
		if !ok || b.Bad() {
			return false
		}
	}
	return true
}

func (m *frameMachine) extended(op uint8, b *dwarf.Buf, at uint64) bool {
	c := m.d.cie
	switch op {
	case 0x00: // DW_CFA_nop
	case 0x01: // DW_CFA_set_loc
		pc, ok := readEncoded(b, c.encoding, at)
		return ok && m.advance(pc)
	case 0x02: // DW_CFA_advance_loc1
		return m.advance(m.row.pc + uint64(b.U8())*c.codeAlign)
	case 0x03: // DW_CFA_advance_loc2
		return m.advance(m.row.pc + uint64(b.U16())*c.codeAlign)
	case 0x04: // DW_CFA_advance_loc4
		return m.advance(m.row.pc + uint64(b.U32())*c.codeAlign)
	case 0x05: // DW_CFA_offset_extended
		m.set(b.Uleb(), ruleOffset, int64(b.Uleb())*c.dataAlign)
	case 0x06: // DW_CFA_restore_extended
		m.restore(b.Uleb())
	case 0x07: // DW_CFA_undefined
		m.set(b.Uleb(), ruleUndefined, 0)
	case 0x08: // DW_CFA_same_value
		m.set(b.Uleb(), ruleSame, 0)
	case 0x09: // DW_CFA_register
		reg, from := b.Uleb(), b.Uleb()
		if m.set(reg, ruleRegister, 0); reg < 17 {
			if from >= 17 {
				m.row.regs[reg] = frameRule{kind: ruleUndefined}
			} else {
				m.row.regs[reg].reg = uint8(from)
			}
		}
	case 0x0a: // DW_CFA_remember_state
		if len(m.saved) > 64 {
			return false
		}
		m.saved = append(m.saved, m.row)
	case 0x0b: // DW_CFA_restore_state
		n := len(m.saved) - 1
		if n < 0 {
			return false
		}
		pc := m.row.pc
		m.row, m.saved = m.saved[n], m.saved[:n]
		m.row.pc = pc
	case 0x0c: // DW_CFA_def_cfa
		return m.setCFA(b.Uleb(), int64(b.Uleb()))
	case 0x0d: // DW_CFA_def_cfa_register
		return m.setCFA(b.Uleb(), int64(m.row.cfa.n))
	case 0x0e: // DW_CFA_def_cfa_offset
		return m.setCFA(uint64(m.row.cfa.reg), int64(b.Uleb()))
	case 0x0f: // DW_CFA_def_cfa_expression
		m.row.cfa = m.expr(ruleValExpr, b)
	case 0x10: // DW_CFA_expression
		m.setRule(b.Uleb(), m.expr(ruleExpr, b))
	case 0x11: // DW_CFA_offset_extended_sf
		m.set(b.Uleb(), ruleOffset, b.Sleb()*c.dataAlign)
	case 0x12: // DW_CFA_def_cfa_sf
		return m.setCFA(b.Uleb(), b.Sleb()*c.dataAlign)
	case 0x13: // DW_CFA_def_cfa_offset_sf
		return m.setCFA(uint64(m.row.cfa.reg), b.Sleb()*c.dataAlign)
	case 0x14: // DW_CFA_val_offset
		m.set(b.Uleb(), ruleValOffset, int64(b.Uleb())*c.dataAlign)
	case 0x15: // DW_CFA_val_offset_sf
		m.set(b.Uleb(), ruleValOffset, b.Sleb()*c.dataAlign)
	case 0x16: // DW_CFA_val_expression
		m.setRule(b.Uleb(), m.expr(ruleValExpr, b))
	case 0x2e: // DW_CFA_GNU_args_size
		b.Uleb()
	case 0x2f: // DW_CFA_GNU_negative_offset_extended
		m.set(b.Uleb(), ruleOffset, -int64(b.Uleb())*c.dataAlign)
	default:
		return false
	}
	return true
}

// set gives a register a rule; registers that are not general (vector ones)
// are not unwound.
func (m *frameMachine) set(reg uint64, kind ruleKind, n int64) {
	if n != int64(int32(n)) {
		kind, n = ruleUndefined, 0
	}
	m.setRule(reg, frameRule{kind: kind, n: int32(n)})
}

func (m *frameMachine) setRule(reg uint64, r frameRule) {
	if reg < uint64(len(m.row.regs)) {
		m.row.regs[reg] = r
	}
}

func (m *frameMachine) restore(reg uint64) {
	if reg < uint64(len(m.row.regs)) {
		m.row.regs[reg] = m.initial.regs[reg]
	}
}

func (m *frameMachine) setCFA(reg uint64, n int64) bool {
	if reg >= 17 || n < math.MinInt32 || n > math.MaxInt32 {
		return false
	}
	m.row.cfa = frameRule{kind: ruleRegister, reg: uint8(reg), n: int32(n)}
	return true
}

func (m *frameMachine) expr(kind ruleKind, b *dwarf.Buf) frameRule {
	m.out.exprs = append(m.out.exprs, b.Bytes(b.Uleb()))
	return frameRule{kind: kind, n: int32(len(m.out.exprs) - 1)}
}
