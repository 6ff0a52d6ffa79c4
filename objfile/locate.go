package objfile

import (
	"mgtrace/objfile/dwarf"
)

// locator brings location expressions (DWARF 5, section 2.6) to the few forms
// of Location: what is an address or value of the form register + constant.
type locator struct {
	file *File
	unit *dwarf.Unit // that the expression is of
	sub  *subprogram // nil for variables of no function
	addr uint64

	stack []operand
	depth int
}

// operand is a symbolic value.
type operand struct {
	kind opKind
	reg  int
	n    int64
}

type opKind uint8

const (
	opConst opKind = iota // n
	opReg                 // register reg + n
	opDeref               // what is stored at register reg + n
)

// locate returns LocNone for an empty expression (optimised out) and for one
// that is not of a form that Location has.
func (l *locator) locate(expr []byte) Location {
	none := Location{}
	if len(expr) == 0 {
		return none
	}
	l.stack = l.stack[:0]
	for b := dwarf.NewBuf(expr, 0); b.More(); {
		op := b.U8()
		if loc, done := l.final(op, &b); done {
			if b.More() || b.Bad() {
				return none // one piece of several, or corrupted
			}
			return loc
		}
		if !l.op(op, &b) || b.Bad() || len(l.stack) > 32 {
			return none
		}
	}
	top, ok := l.pop()
	if !ok {
		return none
	}
	switch top.kind {
	case opConst:
		return Location{Kind: LocStatic, Offset: top.n}
	case opReg:
		return Location{Kind: LocRegOffset, Reg: top.reg, Offset: top.n}
	}
	return Location{Kind: LocIndirect, Reg: top.reg, Offset: top.n}
}

// final handles the operations that end an expression.
func (l *locator) final(op uint8, b *dwarf.Buf) (Location, bool) {
	switch {
	case op >= 0x50 && op <= 0x6f: // DW_OP_reg0…31
		return Location{Kind: LocReg, Reg: int(op - 0x50)}, true
	case op == 0x90: // DW_OP_regx
		return Location{Kind: LocReg, Reg: int(min(b.Uleb(), 1<<16))}, true
	case op == 0x9e: // DW_OP_implicit_value
		data := b.Bytes(b.Uleb())
		if len(data) == 0 || len(data) > 8 {
			return Location{}, true
		}
		var v uint64
		for i := len(data) - 1; i >= 0; i-- {
			v = v<<8 | uint64(data[i])
		}
		return Location{Kind: LocConst, Offset: int64(v)}, true
	case op == 0x9f: // DW_OP_stack_value
		top, ok := l.pop()
		switch {
		case ok && top.kind == opConst:
			return Location{Kind: LocConst, Offset: top.n}, true
		case ok && top.kind == opReg:
			return Location{Kind: LocRegValue, Reg: top.reg, Offset: top.n}, true
		case ok && top.kind == opDeref: // the value is what is stored there
			return Location{Kind: LocRegOffset, Reg: top.reg, Offset: top.n}, true
		}
		return Location{}, true
	}
	return Location{}, false
}

func (l *locator) push(kind opKind, reg int, n int64) bool {
	l.stack = append(l.stack, operand{kind, reg, n})
	return true
}

func (l *locator) pop() (operand, bool) {
	n := len(l.stack) - 1
	if n < 0 {
		return operand{}, false
	}
	top := l.stack[n]
	l.stack = l.stack[:n]
	return top, true
}

func (l *locator) op(op uint8, b *dwarf.Buf) bool {
	switch {
	case op >= 0x30 && op <= 0x4f: // DW_OP_lit0…31
		return l.push(opConst, 0, int64(op-0x30))
	case op >= 0x70 && op <= 0x8f: // DW_OP_breg0…31
		return l.push(opReg, int(op-0x70), b.Sleb())
	}
	if v, ok := constant(op, b); ok {
		return l.push(opConst, 0, int64(v))
	}
	switch op {
	case 0x03: // DW_OP_addr
		return l.push(opConst, 0, int64(b.U64()))
	case 0xa1, 0xfb, 0xa2, 0xfc: // DW_OP_addrx, constx; DW_OP_GNU_addr_index, const_index
		v, ok := l.unit.Addr(b.Uleb())
		return ok && l.push(opConst, 0, int64(v))
	case 0x92: // DW_OP_bregx
		reg := b.Uleb()
		return reg < 1<<16 && l.push(opReg, int(reg), b.Sleb())
	case 0x91: // DW_OP_fbreg
		base, ok := l.frameBase()
		return ok && l.push(base.kind, base.reg, base.n+b.Sleb())
	case 0x9c: // DW_OP_call_frame_cfa
		reg, n, ok := l.file.cfaAt(l.addr)
		return ok && l.push(opReg, reg, n)
	case 0xa3, 0xf3: // DW_OP_entry_value, DW_OP_GNU_entry_value
		return l.entryValue(b.Bytes(b.Uleb()))
	case 0x23: // DW_OP_plus_uconst
		return l.add(int64(b.Uleb()))
	case 0x06: // DW_OP_deref
		top, ok := l.pop()
		return ok && top.kind == opReg && l.push(opDeref, top.reg, top.n)
	case 0x22, 0x1c: // DW_OP_plus, DW_OP_minus
		y, ok1 := l.pop()
		x, ok2 := l.pop()
		if op == 0x22 && x.kind == opConst {
			x, y = y, x
		}
		if !ok1 || !ok2 || y.kind != opConst || x.kind == opDeref {
			return false
		}
		if op == 0x1c {
			y.n = -y.n
		}
		return l.push(x.kind, x.reg, x.n+y.n)
	case 0x96: // DW_OP_nop
		return true
	}
	return false
}

func (l *locator) add(n int64) bool {
	top, ok := l.pop()
	return ok && top.kind != opDeref && l.push(top.kind, top.reg, top.n+n)
}

// entryValue is the value that a register had at the function's entry: known
// only there.
func (l *locator) entryValue(expr []byte) bool {
	if l.sub == nil || l.addr != l.sub.ranges[0][0] || len(expr) != 1 || expr[0] < 0x50 || expr[0] > 0x6f {
		return false
	}
	return l.push(opReg, int(expr[0]-0x50), 0)
}

// frameBase evaluates DW_AT_frame_base. A register there means its value.
func (l *locator) frameBase() (operand, bool) {
	if l.sub == nil || l.depth > 0 {
		return operand{}, false
	}
	var e dwarf.Entry
	if !l.sub.ref.Read(&e) {
		return operand{}, false
	}
	expr, _, _ := e.ExprAt(dwarf.AttrFrameBase, l.addr)
	inner := locator{file: l.file, unit: e.Unit, sub: l.sub, addr: l.addr, depth: 1}
	loc := inner.locate(expr)
	switch loc.Kind {
	case LocReg, LocRegOffset:
		return operand{opReg, loc.Reg, loc.Offset}, true
	}
	return operand{}, false
}
