package x86

// effect fills Effect and Store.
func (in *Inst) effect() {
	switch {
	case in.evex:
		in.evexStore()
	case in.opmap == mapXOP: // no XOP instruction writes memory (APM volume 4 and 6; LWP is gone)
	case in.vex:
		in.vexStore()
	case in.opmap == map1B:
		in.oneByteStore()
	case in.opmap == map0F:
		in.twoByteStore()
	case in.opmap == map38:
		in.legacy38Store()
	case in.opmap == map3A && in.mem():
		in.extract()
	}
}

// size is the width of a general operand in bytes.
func (e *enc) size() int {
	switch {
	case e.w:
		return 8
	case e.opsize:
		return 2
	}
	return 4
}

// sizeByte is the width where the opcode's lowest bit tells bytes from words.
func (e *enc) sizeByte() int {
	if e.op&1 == 0 {
		return 1
	}
	return e.size()
}

// prefix is the mandatory prefix: 0, 0x66, 0xf3 or 0xf2.
func (e *enc) prefix() byte {
	switch {
	case e.rep:
		return 0xf3
	case e.repne:
		return 0xf2
	case e.opsize:
		return 0x66
	}
	return 0
}

// store makes the instruction a store of width bytes to its memory operand.
func (in *Inst) store(width int) *Store {
	in.Effect = EffectStore
	in.Store = Store{Operand: in.operand(), Width: width, Value: NoReg, Old: NoReg, Lock: in.lock, Atomic: in.lock}
	return &in.Store
}

// rmw makes it a store that reads the operand too.
func (in *Inst) rmw(width int) *Store {
	s := in.store(width)
	s.RMW = true
	return s
}

func (in *Inst) shape(width int, shape Shape) *Store {
	s := in.store(width)
	s.Shape = shape
	return s
}

// at makes it a store through a register that is not the ModRM operand.
func (in *Inst) at(r Reg, width int, shape Shape) *Store {
	s := in.shape(width, shape)
	s.Base, s.Index, s.Scale, s.Disp, s.RIPRelative = r, NoReg, 0, 0, false
	return s
}

// reg makes the general register of ModRM.reg the source. Without REX the byte
// registers 4 to 7 are AH, CH, DH, BH (SDM volume 2, table 2-4).
func (in *Inst) fromReg(s *Store) {
	s.Source, s.Value = SourceReg, Reg(in.reg|in.r)
	if s.Width == 1 && in.rex == 0 && s.Value >= 4 {
		s.Value, s.Shift = s.Value-4, 8
	}
}

func (in *Inst) oneByteStore() {
	op := in.op
	switch op {
	case 0xa4, 0xa5, 0xaa, 0xab, 0x6c, 0x6d:
		in.stringStore()
		return
	case 0xa2, 0xa3: // mov moffs, al/eax/rax
		s := in.store(in.sizeByte())
		s.Base, s.Index, s.Disp = NoReg, NoReg, in.imm
		s.Source, s.Value = SourceReg, RAX
		return
	case 0xe8, 0xc8, 0x68, 0x6a, 0x9c, 0x9a:
		in.Effect = EffectStack
		return
	}
	if op >= 0x50 && op <= 0x57 {
		in.Effect = EffectStack
	}
	if op == 0xff && (in.reg == 2 || in.reg == 3 || in.reg == 6) {
		in.Effect = EffectStack
	}
	if !in.mem() {
		return
	}
	switch {
	case op < 0x38 && op&7 < 2, op == 0x80 && in.reg != 7, op == 0xc0, op == 0xd0, op == 0xd2:
		in.rmw(in.sizeByte())
	case (op == 0x81 || op == 0x83) && in.reg != 7, op == 0xc1, op == 0xd1, op == 0xd3:
		in.rmw(in.size())
	case op == 0x86 || op == 0x87: // xchg locks by itself
		s := in.rmw(in.sizeByte())
		in.fromReg(s)
		s.Atomic = true
		if s.Shift == 0 {
			s.Old = s.Value
		}
	case op == 0x88 || op == 0x89:
		in.fromReg(in.store(in.sizeByte()))
	case op == 0x8c:
		in.store(2)
	case op == 0x8f && in.reg == 0:
		in.popStore()
	case op == 0xc6 && in.reg == 0, op == 0xc7 && in.reg == 0:
		s := in.store(in.sizeByte())
		s.Source, s.Imm = SourceImm, uint64(in.imm)
	case (op == 0xf6 || op == 0xf7) && (in.reg == 2 || in.reg == 3), (op == 0xfe || op == 0xff) && in.reg < 2:
		in.rmw(in.sizeByte())
	case op >= 0xd8 && op <= 0xdf:
		in.x87Store()
	}
}

// popStore: the address of POP [RSP+disp] is computed after RSP has grown
// (SDM, POP).
func (in *Inst) popStore() {
	width := 8
	if in.opsize && !in.w {
		width = 2
	}
	s := in.store(width)
	if s.Base == RSP {
		s.Disp += int64(width)
	}
}

// stringStore: the destination is ES:RDI, whatever the segment prefix.
func (in *Inst) stringStore() {
	width := in.sizeByte()
	if in.op == 0x6d && width == 8 {
		width = 4
	}
	s := in.at(RDI, width, ShapeString)
	s.Segment, s.Rep = 0, in.rep || in.repne
	if in.op == 0xaa || in.op == 0xab {
		s.Source, s.Value = SourceReg, RAX
	}
}

// x87Store: SDM volume 2, tables.
func (in *Inst) x87Store() {
	width := 0
	switch op, reg := in.op, in.reg; {
	case op == 0xd9 && (reg == 2 || reg == 3): // fst, fstp m32
		width = 4
	case op == 0xd9 && reg == 6: // fnstenv
		width = 28
		if in.opsize {
			width = 14
		}
	case (op == 0xd9 || op == 0xdd) && reg == 7: // fnstcw, fnstsw
		width = 2
	case op == 0xdb && reg >= 1 && reg <= 3: // fisttp, fist, fistp m32
		width = 4
	case op == 0xdb && reg == 7: // fstp m80
		width = 10
	case op == 0xdd && reg >= 1 && reg <= 3: // fisttp m64, fst, fstp m64
		width = 8
	case op == 0xdd && reg == 6: // fnsave
		width = 108
		if in.opsize {
			width = 94
		}
	case op == 0xdf && reg >= 1 && reg <= 3: // fisttp, fist, fistp m16
		width = 2
	case op == 0xdf && reg == 6: // fbstp
		width = 10
	case op == 0xdf && reg == 7: // fistp m64
		width = 8
	}
	if width != 0 {
		in.store(width)
	}
}

func (in *Inst) twoByteStore() {
	switch op := in.op; {
	case op == 0xa0 || op == 0xa8: // push fs, gs
		in.Effect = EffectStack
	case op == 0xf7 && in.mod == 3: // maskmovq, maskmovdqu
		in.maskMove()
	case op == 0xa6 || op == 0xa7: // PadLock: xstore and xcrypt write through RDI
		in.at(RDI, 0, ShapeUnsupported)
	case !in.mem():
	case op == 0x00 && in.reg < 2: // sldt, str
		in.store(2)
	case op == 0x01:
		in.descriptorStore()
	case op == 0x1b && in.prefix() == 0x66: // bndmov
		in.store(16)
	case op == 0x1b && in.prefix() == 0: // bndstx writes a bound table
		in.shape(0, ShapeUnsupported)
	case op == 0x78 && in.prefix() == 0: // vmread
		in.store(8)
	case op >= 0x90 && op <= 0x9f: // setcc
		in.store(1)
	case op == 0xa4, op == 0xa5, op == 0xac, op == 0xad: // shld, shrd
		in.rmw(in.size())
	case op == 0xab, op == 0xb3, op == 0xbb: // bts, btr, btc by register
		s := in.rmw(in.size())
		s.Shape, s.Value = ShapeBit, Reg(in.reg|in.r)
	case op == 0xba && in.reg >= 5: // the same by immediate, within the operand
		in.rmw(in.size())
	case op == 0xae:
		in.stateStore()
	case op == 0xb0, op == 0xb1: // cmpxchg
		s := in.rmw(in.sizeByte())
		s.Shape, s.Old = ShapeCond, RAX
	case op == 0xc0, op == 0xc1: // xadd
		if s := in.rmw(in.sizeByte()); s.Width > 1 || in.rex != 0 || in.reg < 4 {
			s.Old = Reg(in.reg | in.r)
		}
	case op == 0xc3: // movnti
		in.fromReg(in.store(in.size()))
	case op == 0xc7:
		in.group9Store()
	default:
		in.vector0FStore(false)
	}
}

func (in *Inst) maskMove() {
	switch in.prefix() {
	case 0:
		in.at(RDI, 8, ShapeMasked)
	case 0x66:
		in.at(RDI, 16, ShapeMasked)
	}
}

func (in *Inst) descriptorStore() {
	switch {
	case in.reg < 2: // sgdt, sidt
		in.store(10)
	case in.reg == 4: // smsw
		in.store(2)
	}
}

// stateStore: 0F AE, group 15.
func (in *Inst) stateStore() {
	switch {
	case in.reg == 0: // fxsave leaves the reserved part alone
		in.shape(512, ShapeMasked)
	case in.reg == 3: // stmxcsr
		in.store(4)
	case in.prefix() != 0: // clwb, ptwrite, clrssbsy (a shadow stack)
	case in.reg == 4, in.reg == 6: // xsave, xsaveopt: extent by XCR0 and RAX
		in.shape(0, ShapeUnsupported)
	}
}

// group9Store: 0F C7.
func (in *Inst) group9Store() {
	switch in.reg {
	case 1: // cmpxchg8b, cmpxchg16b
		if !in.w {
			in.rmw(8).Shape = ShapeCond // whose old value is in two registers
			break
		}
		s := in.rmw(16)
		s.Shape, s.Old = ShapeCond, RAX
	case 4, 5: // xsavec, xsaves
		in.shape(0, ShapeUnsupported)
	case 7: // vmptrst
		in.store(8)
	}
}

func (in *Inst) legacy38Store() {
	if !in.mem() {
		return
	}
	switch in.op {
	case 0xf1: // movbe; crc32 with F2
		if !in.repne {
			s := in.store(in.size())
			in.fromReg(s)
			s.Swap = true
		}
	case 0xf5, 0xf6: // wruss, wrss; adcx and adox read
		if in.op == 0xf5 && in.prefix() == 0x66 || in.op == 0xf6 && in.prefix() == 0 {
			in.fromReg(in.store(wide(in.w)))
		}
	case 0xf8: // movdir64b, enqcmd: the destination is the address in ModRM.reg
		dst := Reg(in.reg | in.r)
		if in.prefix() == 0x66 {
			in.at(dst, 64, ShapeFixed)
		} else {
			in.at(dst, 64, ShapeUnsupported)
		}
		in.Store.Segment = 0
	case 0xf9: // movdiri
		in.fromReg(in.store(wide(in.w)))
	case 0xfc: // aadd, aand, aor, axor
		in.rmw(wide(in.w)).Atomic = true
	}
}

// wide is the width of operands that 66 does not change.
func wide(w bool) int {
	if w {
		return 8
	}
	return 4
}

// Clobbers says that a store instruction changes general register r: its
// address can not be computed again after it if it uses r.
func (in *Inst) Clobbers(r Reg) bool {
	if in.vex || in.evex {
		return in.opmap == map38 && in.op >= 0xe0 && in.op <= 0xef && Reg(in.reg|in.r) == r // cmpccxadd
	}
	switch in.opmap {
	case map1B:
		switch in.op {
		case 0x86, 0x87:
			s := in.Store
			return s.Value == r
		case 0x8f:
			return r == RSP
		case 0xa4, 0xa5:
			return r == RDI || r == RSI || r == RCX && in.Store.Rep
		case 0xaa, 0xab, 0x6c, 0x6d:
			return r == RDI || r == RCX && in.Store.Rep
		}
	case map0F:
		switch in.op {
		case 0xb0, 0xb1:
			return r == RAX
		case 0xc0, 0xc1:
			return r == Reg(in.reg|in.r) || in.op == 0xc0 && in.rex == 0 && in.reg >= 4 && r == Reg(in.reg-4)
		case 0xc7:
			return in.reg == 1 && (r == RAX || r == RDX)
		}
	}
	return false
}
