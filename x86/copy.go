package x86

// Copy is an instruction that only moves a value: all that it writes, but for a stack
// pointer that moves on, is what it reads.
type Copy struct {
	Size int // bytes

	// From and To are the registers' units, empty where the value is in memory: then it
	// is what the instruction's Effects say in Mem[0]. Registers are not wider than the
	// value, but To may be extended with zeros.
	From, To RegSet

	// Push and Pop: memory is the top of the stack, and RSP moves on.
	Push, Pop bool
}

// Copy says whether the instruction is a copy between registers, or between a register
// and memory: mov, push, pop, leave's part that restores RBP, and the moves of whole or
// low parts of vector registers. Neither immediates nor segment registers are values.
func (in *Inst) Copy() (c Copy, ok bool) {
	switch {
	case in.evex && in.aaa != 0:
		return c, false
	case in.opmap == map1B && !in.vex && !in.evex:
		return in.integerCopy()
	case in.opmap == map0F:
		return in.vectorCopy()
	}
	return c, false
}

func (in *Inst) integerCopy() (c Copy, ok bool) {
	_, stack := in.span('p' | widthLetter)
	switch op := in.op; {
	case op == 0x88 || op == 0x89:
		c = Copy{Size: in.sizeByte(), From: in.units('G', in.sizeByte()), To: in.units('E', in.sizeByte())}
	case op == 0x8a || op == 0x8b:
		c = Copy{Size: in.sizeByte(), From: in.units('E', in.sizeByte()), To: in.units('G', in.sizeByte())}
	case op >= 0x50 && op <= 0x57:
		c = Copy{Size: stack, From: GPR(Reg(in.place('Z')), 0, stack), Push: true}
	case op >= 0x58 && op <= 0x5f:
		c = Copy{Size: stack, To: GPR(Reg(in.place('Z')), 0, stack), Pop: true}
	case op == 0xc9 && !in.opsize: // leave: RSP becomes RBP, and then it is pop rbp
		c = Copy{Size: 8, To: GPR(RBP, 0, 8), Pop: true}
	default:
		return c, false
	}
	return c, true
}

// units are those of a general register, or none if the operand is memory.
func (in *Inst) units(place byte, n int) RegSet {
	if place == 'E' && in.mem() {
		return RegSet{}
	}
	r := Reg(in.place(place))
	if n == 1 && in.rex == 0 && r >= 4 {
		return GPR(r-4, 1, 1)
	}
	return GPR(r, 0, n)
}

// vectorCopy: movaps, movups, movdqa, movdqu and their like whole; movss, movsd, movd,
// movq where they go to or come from memory or a general register.
func (in *Inst) vectorCopy() (c Copy, ok bool) {
	p := in.prefix()
	full := in.fullLen()
	part := func(place byte, n int) RegSet {
		if place == 'W' && in.mem() {
			return RegSet{}
		}
		return Vector(in.place(place), 0, n)
	}
	load := func(n int) (Copy, bool) { return Copy{Size: n, From: part('W', n), To: part('V', n)}, true }
	store := func(n int) (Copy, bool) { return Copy{Size: n, From: part('V', n), To: part('W', n)}, true }
	whole := p == 0 || p == 0x66
	switch in.op {
	case 0x10:
		if whole || in.mem() {
			return load(scalarOr(p, full))
		}
	case 0x11:
		if whole || in.mem() {
			return store(scalarOr(p, full))
		}
	case 0x28:
		return load(full)
	case 0x29, 0x2b:
		return store(scalarOr(p, full))
	case 0x6f:
		if p == 0x66 || p == 0xf3 || in.evex && p == 0xf2 {
			return load(full)
		}
	case 0x7f:
		if p == 0x66 || p == 0xf3 || in.evex && p == 0xf2 {
			return store(full)
		}
	case 0xe7:
		if p == 0x66 {
			return store(full)
		}
	case 0x6e:
		if p == 0x66 {
			return Copy{Size: wide(in.w), From: in.units('E', wide(in.w)), To: Vector(in.place('V'), 0, wide(in.w))}, true
		}
	case 0x7e:
		switch {
		case p == 0x66:
			return Copy{Size: wide(in.w), From: Vector(in.place('V'), 0, wide(in.w)), To: in.units('E', wide(in.w))}, true
		case p == 0xf3:
			return load(8)
		}
	case 0xd6:
		if p == 0x66 {
			return store(8)
		}
	}
	return c, false
}
