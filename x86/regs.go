package x86

// MayWrite says that the instruction may change general register r. It errs on
// the side of yes: a register named by ModRM counts as written unless the
// instruction is known to read it only. Calls are not counted: what they
// preserve is a matter of the calling convention.
func (in *Inst) MayWrite(r Reg) bool {
	if in.opmap == mapXOP {
		return true
	}
	if in.vex || in.evex {
		return in.vectorMayWrite(r)
	}
	if in.implicitWrite(r) {
		return true
	}
	if !in.hasModRM || in.readsOnly() || !in.namesGeneral() {
		return false
	}
	if in.rmReads() {
		return Reg(in.reg|in.r) == r
	}
	return Reg(in.reg|in.r) == r && !in.regReads() || in.mod == 3 && Reg(in.rm|in.b) == r
}

// implicitWrite: registers that no ModRM names.
func (in *Inst) implicitWrite(r Reg) bool {
	op := in.op
	switch in.opmap {
	case map1B:
		switch {
		case op >= 0x50 && op <= 0x57:
			return r == RSP
		case op >= 0x58 && op <= 0x5f, op >= 0x90 && op <= 0x97, op >= 0xb0 && op <= 0xbf:
			return Reg(op&7|in.b) == r || op >= 0xb4 && op <= 0xb7 && Reg(op&3) == r || op&0xf8 == 0x90 && r == RAX && op != 0x90
		case op == 0xc9: // leave
			return r == RBP || r == RSP
		case op == 0xc8: // enter
			return r == RBP || r == RSP
		}
	case map0F:
		if op >= 0xc8 && op <= 0xcf { // bswap
			return Reg(op&7|in.b) == r
		}
	}
	return false
}

// readsOnly: instructions that change no register that ModRM names.
func (in *Inst) readsOnly() bool {
	op := in.op
	switch in.opmap {
	case map1B:
		switch {
		case op >= 0x38 && op <= 0x3b, op == 0x84, op == 0x85, op >= 0xd8 && op <= 0xdf:
			return true // cmp, test, x87
		case (op == 0x80 || op == 0x81 || op == 0x83) && in.reg == 7:
			return true
		case (op == 0xf6 || op == 0xf7) && (in.reg < 2 || in.reg >= 4):
			return true // test; mul and div write RAX and RDX
		case op == 0xff && in.reg >= 2:
			return true
		}
	case map0F:
		return op == 0xa3 || op == 0xba && in.reg == 4 || op >= 0x18 && op <= 0x1f || op == 0x0d
	}
	return false
}

// regReads: ModRM.reg is a source, or no register at all.
func (in *Inst) regReads() bool {
	op := in.op
	switch in.opmap {
	case map1B:
		switch {
		case op < 0x38:
			return op&7 < 2
		case op == 0x88, op == 0x89, op == 0x8c:
			return true
		case op >= 0x80 && op <= 0x83, op == 0x8f, op >= 0xc0 && op <= 0xc1, op >= 0xc6 && op <= 0xc7,
			op >= 0xd0 && op <= 0xd3, op >= 0xf6:
			return true
		}
	case map0F:
		return op >= 0x90 && op <= 0x9f || op == 0xa4 || op == 0xa5 || op == 0xac || op == 0xad ||
			op == 0xab || op == 0xb3 || op == 0xbb || op == 0xba || op == 0xb0 || op == 0xb1 || op == 0xc3 || op == 0xc7
	case map38:
		return op == 0xf1 && !in.repne
	}
	return false
}

// rmReads: ModRM.rm is a source.
func (in *Inst) rmReads() bool {
	op := in.op
	switch in.opmap {
	case map1B:
		return op < 0x38 && (op&7 == 2 || op&7 == 3) || op == 0x8a || op == 0x8b || op == 0x8d || op == 0x63 || op == 0x69 || op == 0x6b
	case map0F:
		return op >= 0x40 && op <= 0x4f || op == 0xaf || op >= 0xb6 && op <= 0xbf && op != 0xba && op != 0xbb
	}
	return false
}

// namesGeneral: ModRM names general registers, not only vector ones.
func (in *Inst) namesGeneral() bool {
	op := in.op
	switch in.opmap {
	case map1B:
		return true
	case map0F:
		switch {
		case op < 0x10, op >= 0x20 && op <= 0x23, op == 0x2c, op == 0x2d, op >= 0x40 && op <= 0x50, op == 0x7e,
			op >= 0x90 && op <= 0xc1, op == 0xc3, op == 0xc5, op == 0xc7, op == 0xd7, op == 0x78, op == 0x1e:
			return true
		}
	case map38:
		return op >= 0xf0
	case map3A:
		return op >= 0x14 && op <= 0x17
	}
	return false
}

// vectorMayWrite: the VEX and EVEX instructions that name general registers.
func (in *Inst) vectorMayWrite(r Reg) bool {
	op := in.op
	general := false
	switch in.opmap {
	case map0F, map5:
		general = op == 0x2c || op == 0x2d || op == 0x50 || op == 0x78 || op == 0x79 || op == 0x7e || op == 0x93 || op == 0xc5 || op == 0xd7
	case map38:
		return op >= 0xf0 || op >= 0xe0 && Reg(in.reg|in.r) == r // BMI writes a register of vvvv too
	case map3A:
		general = op >= 0x14 && op <= 0x17 || op == 0xf0
	}
	return general && (Reg(in.reg|in.r) == r || in.mod == 3 && Reg(in.rm|in.b) == r)
}

// Movable says that the instruction does the same wherever it lies, if its RIP-relative
// operand is told anew, and goes on behind itself: it does not tell its address, nor enters the kernel, nor
// touches GS or the trap flag, nor raises an arithmetic exception, whose signal tells
// its address. It errs on the side of no.
func (in *Inst) Movable() bool {
	op := in.op
	if in.Kind != KindOther || in.Effect == EffectUnknown || in.vex || in.evex || in.lock || in.segment != 0 || in.ripRel && in.Addr32() {
		return false
	}
	switch in.opmap {
	case map1B:
		switch {
		case op >= 0x6c && op <= 0x6f, op >= 0xa4 && op <= 0xa7, op >= 0xaa && op <= 0xaf: // strings
			return false
		case op >= 0xd8 && op <= 0xdf, (op == 0xf6 || op == 0xf7) && in.reg >= 6: // x87, div
			return false
		case op == 0x8c, op == 0x8e, op == 0x9c, op == 0x9d, op == 0xc7 && in.reg != 0: // segments, flags, xbegin
			return false
		case op >= 0xc8 && op <= 0xcf, op >= 0xe0 && op <= 0xef, op >= 0xf0 && op <= 0xf5, op >= 0xfa && op <= 0xfd: // enter, leave, int, in, out, cli, std
			return false
		}
		return true
	case map0F:
		switch {
		case op < 0x0d, op >= 0x20 && op <= 0x27, op >= 0x30 && op <= 0x37, op == 0x77, op == 0xa0, op == 0xa1, op == 0xa8, op == 0xa9,
			op == 0xa2, op == 0xaa, op == 0xae, op == 0xc7:
			return false
		case op >= 0x2a && op <= 0x2f && op != 0x2b, op >= 0x51 && op <= 0x53, op >= 0x58 && op <= 0x5f,
			op == 0x7c, op == 0x7d, op == 0xc2, op == 0xd0, op == 0xe6: // floating point
			return false
		}
		return true
	}
	return false
}

// MayName says whether one of R8 to R15 is named by an instruction that is
// Movable; it errs on the side of yes.
func (in *Inst) MayName(r Reg) bool {
	if in.hasModRM {
		return Reg(in.reg|in.r) == r || in.base == r || in.index == r || in.mod == 3 && Reg(in.rm|in.b) == r
	}
	return Reg(in.op&7|in.b) == r
}

// dwarf are the DWARF numbers of the general registers. Read-only.
var dwarf = [16]int{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15}

// DWARF is the number of a general register in the System V ABI for x86-64 (figure 3.36).
func (r Reg) DWARF() int { return dwarf[r&15] }
