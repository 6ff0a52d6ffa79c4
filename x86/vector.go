package x86

// vectorLen is the vector length in bytes.
func (e *enc) vectorLen() int { return 16 << e.vl }

// vector0FStore: the moves of map 0F, legacy and VEX alike.
func (in *Inst) vector0FStore(vector bool) {
	full := 16
	if vector {
		full = in.vectorLen()
	}
	p := in.prefix()
	switch in.op {
	case 0x11: // movups, movupd, movss, movsd
		in.store(scalarOr(p, full))
	case 0x13, 0x17: // movlps, movhps and the like
		if p == 0 || p == 0x66 {
			in.store(8)
		}
	case 0x29: // movaps, movapd
		if p == 0 || p == 0x66 {
			in.store(full)
		}
	case 0x2b: // movntps, movntpd; AMD's movntss, movntsd
		if !vector || p == 0 || p == 0x66 {
			in.store(scalarOr(p, full))
		}
	case 0x7e: // movd, movq from MMX or XMM; F3 is a load
		if p == 0 && !vector || p == 0x66 {
			in.store(wide(in.w))
		}
	case 0x7f: // movq from MMX, movdqa, movdqu
		if p == 0 && !vector {
			in.store(8)
		} else if p == 0x66 || p == 0xf3 || p == 0xf2 && in.evex { // F2: vmovdqu8, vmovdqu16
			in.store(full)
		}
	case 0xd6: // movq from XMM
		if p == 0x66 {
			in.store(8)
		}
	case 0xe7: // movntq, movntdq
		if p == 0 && !vector {
			in.store(8)
		} else if p == 0x66 {
			in.store(full)
		}
	}
}

// scalarOr is the width of movss and movsd, else that of the whole vector.
func scalarOr(prefix byte, full int) int {
	switch prefix {
	case 0xf3:
		return 4
	case 0xf2:
		return 8
	}
	return full
}

// extract: pextrb, pextrw, pextrd/q, extractps of map 3A.
func (in *Inst) extract() {
	switch in.op {
	case 0x14:
		in.store(1)
	case 0x15:
		in.store(2)
	case 0x16:
		in.store(wide(in.w))
	case 0x17:
		in.store(4)
	}
}

func (in *Inst) vexStore() {
	if in.opmap == map0F && in.op == 0xf7 && in.mod == 3 { // vmaskmovdqu
		in.maskMove()
		return
	}
	if !in.mem() {
		return
	}
	switch in.opmap {
	case map0F:
		in.vex0FStore()
	case map38:
		in.vex38Store()
	case map3A:
		in.vex3AStore()
	}
}

func (in *Inst) vex0FStore() {
	switch {
	case !vector0F.has(in.op):
		in.Effect = EffectUnknown
	case in.op == 0x91 && !in.rep && !in.repne: // kmov: W and 66 choose b, w, d, q
		in.store(maskWidth(in.w, in.opsize))
	case in.op == 0xae:
		if in.reg == 3 { // vstmxcsr
			in.store(4)
		}
	default:
		in.vector0FStore(true)
	}
}

func maskWidth(w, p66 bool) int {
	switch {
	case !w && p66:
		return 1
	case !w:
		return 2
	case p66:
		return 4
	}
	return 8
}

func (in *Inst) vex38Store() {
	switch op := in.op; {
	case !vector38.has(op):
		in.Effect = EffectUnknown
	case (op == 0x2e || op == 0x2f || op == 0x8e) && in.prefix() == 0x66: // vmaskmovps, vmaskmovpd, vpmaskmov
		in.shape(in.vectorLen(), ShapeMasked)
	case op == 0x49 && in.prefix() == 0x66: // sttilecfg
		in.store(64)
	case op == 0x4b && in.prefix() == 0xf3: // tilestored
		in.shape(0, ShapeUnsupported)
	case op >= 0xe0 && op <= 0xef && in.prefix() == 0x66: // cmpccxadd
		s := in.rmw(wide(in.w))
		s.Shape, s.Atomic = ShapeCond, true
	}
}

func (in *Inst) vex3AStore() {
	switch {
	case !vector3A.has(in.op):
		in.Effect = EffectUnknown
	case in.prefix() != 0x66: // of those that write, all have it
	case in.op == 0x19, in.op == 0x39: // vextractf128, vextracti128
		in.store(16)
	case in.op == 0x1d: // vcvtps2ph
		in.store(in.vectorLen() / 2)
	default:
		in.extract()
	}
}

// evexStore: as VEX, with masks and compressed displacements. An 8-bit
// displacement counts in units of the memory operand (SDM volume 2, 2.7.5),
// which for every store but the sparse ones is its width.
func (in *Inst) evexStore() {
	if !in.mem() {
		return
	}
	unit := 0
	switch in.opmap {
	case map0F:
		if !vector0F.has(in.op) {
			in.Effect = EffectUnknown
		} else if in.op != 0x91 && in.op != 0xae {
			in.vector0FStore(true)
		}
	case map38:
		unit = in.evex38Store()
	case map3A:
		in.evex3AStore()
	case map5:
		in.evex5Store()
	case map6:
		if !vector6.has(in.op) {
			in.Effect = EffectUnknown
		}
	}
	if in.Effect != EffectStore {
		return
	}
	s := &in.Store
	if in.disp8 {
		if unit == 0 {
			unit = s.Width
		}
		s.Disp *= int64(unit)
	}
	if in.aaa != 0 && s.Shape == ShapeFixed {
		s.Shape = ShapeMasked
	}
}

// evex38Store returns the unit of an 8-bit displacement where it is not the
// width of the store.
func (in *Inst) evex38Store() (unit int) {
	op, p := in.op, in.prefix()
	element := wide(in.w)
	switch {
	case !vector38.has(op):
		in.Effect = EffectUnknown
	case p == 0xf3 && op >= 0x10 && op <= 0x35 && op&0xf <= 5: // vpmov down, vpmovs, vpmovus
		in.store(in.vectorLen() / [6]int{2, 4, 8, 2, 4, 2}[op&0xf])
	case p != 0x66:
	case op == 0x63: // vpcompressb, vpcompressw
		element = 1
		if in.w {
			element = 2
		}
		in.shape(in.vectorLen(), ShapeMasked)
		return element
	case op == 0x8a, op == 0x8b: // vcompress, vpcompress: as many elements as mask bits
		in.shape(in.vectorLen(), ShapeMasked)
		return element
	case op >= 0xa0 && op <= 0xa3: // scatters
		in.shape(0, ShapeUnsupported)
		return element
	}
	return 0
}

func (in *Inst) evex3AStore() {
	switch {
	case !vector3A.has(in.op):
		in.Effect = EffectUnknown
	case in.prefix() != 0x66: // of those that write, all have it
	case in.op == 0x19, in.op == 0x39:
		in.store(16)
	case in.op == 0x1b, in.op == 0x3b:
		in.store(32)
	case in.op == 0x1d:
		in.store(in.vectorLen() / 2)
	default:
		in.extract()
	}
}

func (in *Inst) evex5Store() {
	switch {
	case !vector5.has(in.op):
		in.Effect = EffectUnknown
	case in.op == 0x11 && in.prefix() == 0xf3: // vmovsh
		in.store(2)
	case in.op == 0x7e && in.prefix() == 0x66: // vmovw
		in.store(2)
	}
}
