package x86

import (
	"encoding/binary"
	"errors"
)

// Why an instruction can not be decoded.
var (
	ErrTruncated = errors.New("instruction cut off")
	ErrUnknown   = errors.New("unknown instruction")
)

// MaxLen is the greatest length of an instruction in bytes (SDM volume 1, 3.7).
const MaxLen = 15

// Kind says where control goes after an instruction.
type Kind uint8

// The kinds.
const (
	KindOther Kind = iota // to the next instruction
	KindCall
	KindRet
	KindJmp
	KindJcc  // to Target or to the next instruction
	KindStop // ud2, hlt, int3: it does not go on
)

// Effect says what an instruction does to memory.
type Effect uint8

// The effects.
const (
	EffectNone    Effect = iota
	EffectStack          // only to the top of the stack: push, call, enter
	EffectStore          // as Store says
	EffectUnknown        // an instruction whose length is known, but not what it does to its memory operand
)

// Inst is one decoded instruction.
type Inst struct {
	Len    int
	Kind   Kind
	Direct bool   // KindCall, KindJmp, KindJcc: the target is Target
	Target uint64 // virtual address
	Effect Effect
	Store  Store // valid if Effect is EffectStore

	enc
}

// opcodeMap names a table of opcodes.
type opcodeMap uint8

const (
	map1B opcodeMap = iota
	map0F
	map38
	map3A
	map3DNow
	map5
	map6
	mapXOP
)

// enc is the encoding, split into its fields.
type enc struct {
	opmap      opcodeMap
	op         byte
	vex, evex  bool
	opsize     bool // 66
	rep, repne bool // F3, F2; for vectors the mandatory prefix too
	lock       bool
	addr32     bool // 67
	badSegment bool // ES, CS, SS or DS prefix
	segment    byte // 0, 'f', 'g'
	rex        byte // 0: none
	w          bool
	r, x, b    byte // 8 or 0: extensions of reg, index, base
	vl         byte // vector length: 0 128, 1 256, 2 512 bits
	vvvv       byte // VEX, EVEX, XOP: the register of vvvv, 0 to 31
	high       byte // EVEX: 16 if ModRM.reg names one of registers 16 to 31
	aaa        byte // EVEX: opmask register
	zeroing    bool // EVEX.z
	bcast      bool // EVEX.b: broadcast, or rounding of the instruction's own
	hasModRM   bool
	mod, reg   byte // reg without extension
	rm         byte
	imm        int64
	level      byte // enter: the second immediate
	base       Reg
	index      Reg
	vindex     byte // SIB.index with its extensions, for a vector of indexes
	scale      byte
	disp       int32
	disp8      bool
	ripRel     bool
	opAt       uint8 // offset of the opcode byte
	dispAt     uint8 // offset of the displacement of ModRM, 0: none
}

// mem says that the instruction has a memory operand.
func (e *enc) mem() bool { return e.hasModRM && e.mod != 3 }

// Decode decodes the instruction at the start of code, whose address is pc.
func Decode(code []byte, pc uint64) (in Inst, err error) {
	if err := in.read(code, pc); err != nil {
		return Inst{}, err
	}
	in.classify()
	in.effect()
	in.Store.Len = in.Len
	return in, nil
}

// Extent is Decode for who only wants to know how long the instruction is, and where it
// leads if it is a direct call or jump.
func Extent(code []byte, pc uint64) (length int, target uint64, direct bool, err error) {
	var in Inst
	err = in.read(code, pc)
	return in.Len, in.Target, in.Direct, err
}

// read takes an instruction apart.
func (in *Inst) read(code []byte, pc uint64) error {
	if len(code) > MaxLen {
		code = code[:MaxLen]
	}
	in.base, in.index = NoReg, NoReg
	r := reader{code: code}
	form := in.opcode(&r)
	in.opAt = uint8(r.at - 1)
	if form != '?' && !r.short {
		in.operands(&r, form, pc)
	}
	switch {
	case r.short && len(code) < MaxLen:
		return ErrTruncated
	case r.short || form == '?': // or longer than any instruction can be
		return ErrUnknown
	}
	in.Len = r.at
	return nil
}

// reader takes bytes off the instruction; past its end it gives zeros and
// notes that it is short.
type reader struct {
	code  []byte
	at    int
	short bool
}

func (r *reader) peek() byte {
	if r.at >= len(r.code) {
		r.short = true
		return 0
	}
	return r.code[r.at]
}

func (r *reader) byte() byte {
	b := r.peek()
	r.at++
	return b
}

// int reads n bytes (1, 2, 4 or 8), little-endian, sign-extended.
func (r *reader) int(n int) int64 {
	if r.at+n > len(r.code) {
		r.short = true
		r.at += n
		return 0
	}
	b := r.code[r.at:]
	r.at += n
	switch n {
	case 1:
		return int64(int8(b[0]))
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	}
	return int64(binary.LittleEndian.Uint64(b))
}

// opcode reads prefixes and opcode and returns the form of what follows.
func (e *enc) opcode(r *reader) byte {
	op := e.prefixes(r)
	switch {
	case op == 0xc4 || op == 0xc5 || op == 0x62:
		return e.vector(r, op)
	case op == 0x8f && r.peek()&0x1f >= 8: // POP has /0: fewer than 8
		return e.xop(r)
	case op != 0x0f:
		e.op = op
		return oneByte[op]
	}
	switch op = r.byte(); op {
	case 0x38:
		e.opmap, e.op = map38, r.byte()
		return legacyForm(legacy38.has(e.op), 'm')
	case 0x3a:
		e.opmap, e.op = map3A, r.byte()
		return legacyForm(legacy3A.has(e.op), 'b')
	case 0x0f:
		e.opmap, e.op = map3DNow, op
		return 'b'
	}
	e.opmap, e.op = map0F, op
	return twoByte[op]
}

func legacyForm(known bool, form byte) byte {
	if !known {
		return '?'
	}
	return form
}

// prefixes reads the legacy prefixes and REX, and returns the byte after them.
// REX counts only directly before the opcode (SDM volume 2, 2.2.1).
func (e *enc) prefixes(r *reader) byte {
	for {
		b := r.byte()
		if b&0xf0 == 0x40 {
			e.rex = b
			continue
		}
		if !prefixes.has(b) {
			e.w = e.rex&8 != 0
			e.r, e.x, e.b = e.rex<<1&8, e.rex<<2&8, e.rex<<3&8
			return b
		}
		switch b {
		case 0x66:
			e.opsize = true
		case 0xf2:
			e.repne, e.rep = true, false
		case 0xf3:
			e.rep, e.repne = true, false
		case 0xf0:
			e.lock = true
		case 0x67:
			e.addr32 = true
		case 0x64:
			e.segment = 'f'
		case 0x65:
			e.segment = 'g'
		case 0x26, 0x2e, 0x36, 0x3e:
			e.badSegment = true
		}
		e.rex = 0
		if r.short {
			return 0
		}
	}
}

// vector reads a VEX (C4, C5) or EVEX (62) prefix and the opcode.
func (e *enc) vector(r *reader, escape byte) byte {
	if e.rex != 0 || e.lock || e.opsize || e.rep || e.repne {
		return '?' // SDM volume 2, 2.3.2 to 2.3.4
	}
	m, last := byte(1), byte(0)
	p := r.byte()
	e.r = ^p >> 4 & 8
	switch escape {
	case 0xc5:
		e.vex, last = true, p
		e.vl, e.vvvv = last>>2&1, ^last>>3&15
	case 0xc4:
		e.vex, m = true, p&0x1f
		e.x, e.b = ^p>>3&8, ^p>>2&8
		last = r.byte()
		e.w, e.vl, e.vvvv = last&0x80 != 0, last>>2&1, ^last>>3&15
	default:
		e.evex, m = true, p&7
		e.x, e.b = ^p>>3&8, ^p>>2&8
		last = r.byte()
		third := r.byte()
		e.w, e.vl, e.aaa = last&0x80 != 0, third>>5&3, third&7
		e.high, e.vvvv = ^p&0x10, ^last>>3&15|^third<<1&0x10
		e.zeroing, e.bcast = third&0x80 != 0, third&0x10 != 0
		if last&4 == 0 || p&8 != 0 {
			return '?' // APX
		}
	}
	e.opsize, e.rep, e.repne = last&3 == 1, last&3 == 2, last&3 == 3
	e.op = r.byte()
	return e.vectorForm(m)
}

func (e *enc) vectorForm(m byte) byte {
	switch {
	case m == 1:
		e.opmap = map0F
		if e.vex && e.op == 0x77 { // vzeroupper, vzeroall
			return '.'
		}
		if form := twoByte[e.op]; form == 'b' {
			return 'b'
		}
		return 'm'
	case m == 2:
		e.opmap = map38
		return 'm'
	case m == 3:
		e.opmap = map3A
		return 'b'
	case m == 5 && e.evex:
		e.opmap = map5
		return 'm'
	case m == 6 && e.evex:
		e.opmap = map6
		return 'm'
	}
	return '?'
}

// xop reads an AMD XOP prefix (8F with a map of 8 or more) and the opcode.
func (e *enc) xop(r *reader) byte {
	p, last := r.byte(), r.byte()
	e.r, e.x, e.b = ^p>>4&8, ^p>>3&8, ^p>>2&8
	e.w, e.vl, e.vvvv = last&0x80 != 0, last>>2&1, ^last>>3&15
	e.opmap, e.op, e.vex = mapXOP, r.byte(), true
	switch p & 0x1f {
	case 8:
		return 'b'
	case 9:
		return 'm'
	case 10:
		return 'z'
	}
	return '?'
}

// operands reads ModRM, displacement and immediates by the form.
func (in *Inst) operands(r *reader, form byte, pc uint64) {
	switch form {
	case 'm', 'r', 'b', 'z', 'g', 'G':
		in.modRM(r)
	}
	immz := 4
	if in.opsize && !in.w {
		immz = 2
	}
	if in.opmap == mapXOP {
		immz = 4
	}
	switch form {
	case 'b', 'B':
		in.imm = r.int(1)
	case 'z', 'Z':
		in.imm = r.int(immz)
	case 'g':
		if in.reg < 2 {
			in.imm = r.int(1)
		}
	case 'G':
		if in.reg < 2 {
			in.imm = r.int(immz)
		}
	case 'W':
		in.imm = r.int(2)
	case 'V':
		if in.w {
			immz = 8
		}
		in.imm = r.int(immz)
	case 'E':
		in.imm = r.int(2) & 0xffff
		in.level = r.byte()
	case 'O':
		in.moffs(r)
	case 'j', 'J':
		n := 1
		if form == 'J' {
			n = 4 // also with 66: Intel 64 ignores it (SDM, CALL)
		}
		rel := r.int(n)
		in.Direct, in.Target = true, pc+uint64(r.at)+uint64(rel)
	}
	in.special(r, pc)
}

// special reads the operands of the few instructions that fit no form.
func (in *Inst) special(r *reader, pc uint64) {
	switch {
	case in.opmap == map1B && in.op == 0xc7 && in.reg == 7 && in.mod == 3: // xbegin
		in.Direct, in.Target = true, pc+uint64(r.at)+uint64(in.imm)
	case in.opmap == map0F && in.op == 0x78 && !in.evex && (in.opsize || in.repne): // extrq, insertq
		r.int(2)
	}
}

// moffs reads the absolute address of MOV A0 to A3.
func (e *enc) moffs(r *reader) {
	if e.addr32 {
		e.imm = r.int(4) & 0xffffffff
	} else {
		e.imm = r.int(8)
	}
}

// modRM reads ModRM, SIB and displacement (SDM volume 2, tables 2-2 and 2-3).
func (e *enc) modRM(r *reader) {
	m := r.byte()
	e.hasModRM = true
	e.mod, e.reg, e.rm = m>>6, m>>3&7, m&7
	if e.opmap == map0F && e.op >= 0x20 && e.op <= 0x23 && !e.vex && !e.evex {
		e.mod = 3 // control and debug registers
	}
	if e.mod == 3 {
		return
	}
	noBase := e.mod == 0 && e.rm == 5
	if e.rm == 4 {
		sib := r.byte()
		e.scale = 1 << (sib >> 6)
		e.vindex = sib>>3&7 | e.x | e.vvvv&0x10
		if index := Reg(sib>>3&7 | e.x); index != RSP {
			e.index = index
		}
		noBase = e.mod == 0 && sib&7 == 5
		e.base = Reg(sib&7 | e.b)
	} else {
		e.base = Reg(e.rm | e.b)
		e.ripRel = noBase
	}
	e.dispAt = uint8(r.at)
	switch {
	case noBase:
		e.base = NoReg
		e.disp = int32(r.int(4))
	case e.mod == 1:
		e.disp = int32(r.int(1))
		e.disp8 = true
	case e.mod == 2:
		e.disp = int32(r.int(4))
	default:
		e.dispAt = 0
	}
}

// classify fills Kind.
func (in *Inst) classify() {
	if in.vex || in.evex {
		return
	}
	op := in.op
	switch in.opmap {
	case map1B:
		switch {
		case op >= 0x70 && op <= 0x7f, op >= 0xe0 && op <= 0xe3:
			in.Kind = KindJcc
		case op == 0xc7 && in.Direct:
			in.Kind = KindJcc
		case op == 0xe8:
			in.Kind = KindCall
		case op == 0xe9, op == 0xeb:
			in.Kind = KindJmp
		case op == 0xc2, op == 0xc3, op == 0xca, op == 0xcb, op == 0xcf:
			in.Kind = KindRet
		case op == 0xff && (in.reg == 2 || in.reg == 3):
			in.Kind = KindCall
		case op == 0xff && (in.reg == 4 || in.reg == 5):
			in.Kind = KindJmp
		case op == 0xf4, op == 0xcc, op == 0xf1:
			in.Kind = KindStop
		}
	case map0F:
		switch {
		case op >= 0x80 && op <= 0x8f:
			in.Kind = KindJcc
		case op == 0x0b, op == 0xb9, op == 0xff:
			in.Kind = KindStop
		}
	}
}

// IsNop says that the instruction does nothing: padding, or endbr64.
func (in *Inst) IsNop() bool {
	if in.vex || in.evex {
		return false
	}
	switch in.opmap {
	case map1B:
		return in.op == 0x90 && in.b == 0
	case map0F:
		return in.op == 0x1f || in.op == 0x1e && in.rep && in.mod == 3 && in.reg == 7
	}
	return false
}

// IsPush says that the instruction pushes register r.
func (in *Inst) IsPush(r Reg) bool {
	return in.opmap == map1B && !in.vex && !in.evex && in.op == 0x50|byte(r)&7 && in.b == byte(r)&8
}

// IsMove says that the instruction copies all 64 bits of one general register
// to another.
func (in *Inst) IsMove(dst, src Reg) bool {
	if in.opmap != map1B || in.vex || in.evex || !in.w || in.mod != 3 || !in.hasModRM {
		return false
	}
	reg, rm := Reg(in.reg|in.r), Reg(in.rm|in.b)
	return in.op == 0x89 && rm == dst && reg == src || in.op == 0x8b && reg == dst && rm == src
}

// Operand is the memory operand of an instruction, whatever it does with it.
type Operand struct {
	Base, Index Reg
	Scale       uint8 // 1, 2, 4, 8
	Segment     uint8 // 0, or 'f', 'g': fs/gs base is added
	RIPRelative bool  // Disp is relative to the next instruction
	Addr32      bool  // 67 prefix: the address is truncated to 32 bits
	Disp        int64
}

// Operand returns the ModRM memory operand, if there is one. An EVEX
// displacement is not scaled.
func (in *Inst) Operand() (Operand, bool) {
	return in.operand(), in.mem()
}

func (in *Inst) operand() Operand {
	return Operand{Base: in.base, Index: in.index, Scale: in.scale, Disp: int64(in.disp),
		Segment: in.segment, RIPRelative: in.ripRel, Addr32: in.addr32}
}

// IsLea says that the instruction computes an address, and where to.
func (in *Inst) IsLea() (dst Reg, ok bool) {
	return Reg(in.reg | in.r), in.opmap == map1B && !in.vex && !in.evex && in.op == 0x8d && in.mem()
}

// JumpsThrough returns the register that holds the target of an indirect jump.
func (in *Inst) JumpsThrough() (Reg, bool) {
	r, ok := in.GoesThrough()
	return r, ok && in.Kind == KindJmp
}

// GoesThrough is the same of a call, too.
func (in *Inst) GoesThrough() (Reg, bool) {
	return Reg(in.rm | in.b), (in.Kind == KindJmp || in.Kind == KindCall) && !in.Direct && in.mod == 3
}

// RestoresFrame says that the instruction gives RBP its caller's value: pop
// rbp, or leave.
func (in *Inst) RestoresFrame() bool {
	return in.opmap == map1B && !in.vex && !in.evex && (in.op == 0x5d && in.b == 0 || in.op == 0xc9)
}

// IsAdd says that the instruction adds to a general register.
func (in *Inst) IsAdd() bool {
	return in.opmap == map1B && !in.vex && !in.evex && (in.op == 0x01 || in.op == 0x03) && in.Effect == EffectNone
}
