package translate

import (
	"errors"
	"math/bits"

	"mgtrace/flow"
	"mgtrace/x86"
)

const (
	maxInsts = 64
	// Two general registers that no instruction of a block names hold the cursor
	// and addresses while it runs.
	borrowed = 2
)

// kind says how a block ends, and with that what is special in it.
type kind uint8

const (
	toNext   kind = iota // it was cut off: control goes on behind it
	toTarget             // jmp
	onFlags              // jcc
	onCount              // loop, jrcxz
	call
	callComputed
	jumpComputed
	ret
	aborts  // xbegin: the transaction is aborted at once
	system  // syscall, alone
	opaque  // alone, executed with all of the program's registers
	refused // alone: it can not be translated
)

// Errors of Form.
var (
	ErrNoCode = errors.New("no instruction is there")
)

// part is one word of a record and when it is taken.
type part struct {
	inst int
	from x86.Reg // the register's value, unless address or flags
	mem  *mem    // the address of this operand
	// value: width bytes there; or at the address value, if mem is nil.
	width int
	value uint64
	mask  uint8 // that opmask register; 0: none
	// vector: that vector register, and 1, size bytes of it; 0: none. The parts that follow
	// hold it too: they are rest.
	vector uint8
	size   int
	rest   bool
	wide   bool // all its 64 bits: processors that have no more than 16 have no such instruction
	// flags: RFLAGS. after: taken behind the instruction, which is the block's last.
	flags, after bool
}

// block is a block before code is emitted for it.
type block struct {
	Layout
	kind   kind
	why    string // refused; opaque: why it can not be recorded
	first  Site   // of the first instruction
	insts  []x86.Inst
	parts  []part
	b, t   x86.Reg // borrowed: cursor, addresses
	needT  bool
	free   bool // the flags are not needed when it is entered
	target uint64
}

func gprs(s *x86.RegSet) (mask uint16) {
	for r := range 16 {
		if s[0]>>(4*r)&15 != 0 {
			mask |= 1 << r
		}
	}
	return mask
}

// flagUnits are CF, PF, AF, ZF, SF, OF in the word of the set that holds them.
const (
	flagUnits = 0x3f
	auxiliary = 1 << 2 // AF
)

// form finds the block that begins with code, which lies at start.
func form(start uint64, code []byte, site func(pc uint64, plain bool) Site) (*block, error) {
	bl := &block{Layout: Layout{Start: start}}
	var known [16]value
	for r := range known {
		known[r].part = -1
	}
	var used uint16 = 1 << x86.RSP
	live := uint64(flagUnits)
	deciding := true
	for off := 0; ; {
		n := len(bl.insts)
		in, err := x86.Decode(code[off:], start+uint64(off))
		if err != nil || off+in.Len > len(code) {
			if n == 0 {
				return nil, ErrNoCode
			}
			break
		}
		var e x86.Effects
		in.Effects(&e)
		k, why := classify(&in, &e, code[off:off+in.Len])
		alone := k == system || k == opaque || k == refused
		var at Site
		if site != nil {
			at = site(start+uint64(off), k == toNext && recordable(&in))
		}
		if n > 0 && at.begins() {
			break
		}
		mine := gprs(&e.Read) | gprs(&e.Write)
		if n > 0 && (alone || n == maxInsts || 16-bits.OnesCount16(used|mine) < borrowed || partsAt+partSize*len(bl.parts) > MaxRecord-24*partSize) {
			break
		}
		if deciding {
			switch {
			case e.Unknown || e.Read[3]&live != 0:
				deciding = false
			default:
				killed := e.Kill[3]
				if e.Write[3]&auxiliary != 0 && killed|auxiliary == killed|flagUnits {
					killed |= auxiliary // undefined behind and, or, xor, test: nobody can need it
				}
				if live &^= killed; live == 0 {
					bl.free, deciding = true, false
				}
			}
		}
		used |= mine
		bl.Insts = append(bl.Insts, Inst{Off: uint16(off), Len: uint8(in.Len), Accesses: uint16(len(bl.Accesses))})
		bl.insts = append(bl.insts, in)
		last := k != toNext
		if !alone {
			last = bl.accesses(n, &e, &known, code[off:off+in.Len]) || last
		}
		if at != (Site{}) {
			bl.Sites = append(bl.Sites, make([]Site, n+1-len(bl.Sites))...)
			bl.Sites[n] = at
		}
		if n == 0 {
			bl.first = at
		}
		if at.Store != 0 {
			bl.store(n, int(at.Store-1), &in, &known)
		}
		last = last || at.After
		follow(&known, code[off:off+in.Len], &in, gprs(&e.Write))
		off += in.Len
		bl.Code = code[:off:off]
		if last {
			bl.kind, bl.why, bl.target = k, why, in.Target
			break
		}
	}
	bl.Parts = len(bl.parts)
	if bl.kind == opaque {
		bl.Gap = bl.why
	}
	bl.b, bl.t = x86.RCX, 11
	if bl.kind != system && bl.kind != opaque && bl.kind != refused {
		bl.b = x86.Reg(bits.TrailingZeros16(^used))
		bl.t = x86.Reg(bits.TrailingZeros16(^used &^ (1 << bl.b)))
	}
	switch bl.kind {
	case call, callComputed, jumpComputed, ret:
		bl.needT = true
	case system:
		bl.free = false
	}
	for i := range bl.parts {
		bl.needT = bl.needT || bl.parts[i].mem != nil || bl.parts[i].flags || bl.parts[i].width != 0 || bl.parts[i].mask != 0
	}
	return bl, nil
}

// classify says what an instruction is to a block.
func classify(in *x86.Inst, e *x86.Effects, code []byte) (kind, string) {
	switch in.Branch() {
	case x86.BranchSyscall:
		return system, ""
	case x86.BranchTransaction:
		if !in.OpSize16() {
			return aborts, ""
		}
		return refused, "a transaction with a 16-bit target"
	case x86.BranchCallFar, x86.BranchSysenter, x86.BranchTrap:
		return refused, "control leaves it in a way that is not translated"
	}
	switch in.Kind {
	case x86.KindStop:
		return opaque, ""
	case x86.KindCall, x86.KindJmp, x86.KindRet:
		op := code[in.OpcodeAt()]
		if in.OpSize16() || in.Kind == x86.KindRet && op != 0xc3 && op != 0xc2 || in.Kind == x86.KindJmp && op == 0xff && code[in.OpcodeAt()+1]>>3&7 != 4 {
			return refused, "a far or 16-bit transfer of control"
		}
		if in.Kind == x86.KindRet {
			return ret, ""
		}
		for i := range e.Mem[:e.NMem] {
			if e.Mem[i].Segment == 'g' {
				return refused, "it uses GS, which the engine needs for itself"
			}
		}
		switch {
		case in.Kind == x86.KindCall && in.Direct:
			return call, ""
		case in.Kind == x86.KindCall:
			return callComputed, ""
		case in.Direct:
			return toTarget, ""
		}
		return jumpComputed, ""
	case x86.KindJcc:
		if in.Branch() == x86.BranchLoop {
			return onCount, ""
		}
		return onFlags, ""
	}
	if len(code) == 2 && code[0] == 0xcd {
		return refused, "a software interrupt"
	}
	var gs, fs x86.RegSet
	gs.Add(x86.UnitGSBase)
	fs.Add(x86.UnitFSBase)
	for i := range e.Mem[:e.NMem] {
		if e.Mem[i].Segment == 'g' {
			return refused, "it uses GS, which the engine needs for itself"
		}
		switch m := &e.Mem[i]; {
		case m.Shape == x86.MemBit && m.Addr32:
			return opaque, "the address of a bit string with a 32-bit address is not recorded"
		}
	}
	switch {
	case e.Unknown:
		return opaque, "what the instruction accesses is not known"
	case e.Write.Intersects(gs) || e.Read.Intersects(gs):
		return refused, "it uses GS, which the engine needs for itself"
	case e.Write.Intersects(fs):
		return refused, "it writes the FS base without a system call"
	}
	return toNext, ""
}

// register is a register's value before instruction n, which is recorded if it is not
// known.
func (bl *block) register(n int, r x86.Reg, known *[16]value) value {
	if known[r].part < 0 {
		known[r] = value{int16(len(bl.parts)), 0}
		bl.parts = append(bl.parts, part{inst: n, from: r})
	}
	return known[r]
}

// recordable says that a store's value can be read behind it, where it lies.
func recordable(in *x86.Inst) bool {
	s := &in.Store
	return in.Effect == x86.EffectStore && s.Shape == x86.ShapeFixed && s.Width <= 64 && s.Segment == 0 && !s.Addr32 &&
		(s.Base == x86.NoReg || !in.Clobbers(s.Base)) && (s.Index == x86.NoReg || !in.Clobbers(s.Index))
}

// store plans how the store of instruction n is recorded with its value.
func (bl *block) store(n, number int, in *x86.Inst, known *[16]value) {
	s := &in.Store
	ref := func(r x86.Reg) Value {
		if r == x86.NoReg {
			return Value{Part: -1}
		}
		v := bl.register(n, r, known)
		return Value{v.part, v.delta}
	}
	st := Stored{Inst: n, Number: number, SP: ref(x86.RSP), Base: ref(s.Base), Index: ref(s.Index), Scale: uint64(s.Scale), Disp: uint64(s.Disp), Width: s.Width}
	if s.RIPRelative {
		st.Disp += bl.PC(n) + uint64(in.Len)
	}
	st.First = len(bl.parts)
	for at := 0; at < s.Width; at += 8 {
		p := part{inst: n, after: true, width: min(8, s.Width-at)}
		if s.RIPRelative {
			p.value = bl.PC(n) + uint64(in.Len) + uint64(s.Disp) + uint64(at)
		} else {
			p.mem = &mem{base: s.Base, index: s.Index, scale: s.Scale, disp: int32(s.Disp) + int32(at)}
		}
		bl.parts = append(bl.parts, p)
	}
	bl.Stores = append(bl.Stores, st)
}

// accesses plans how the addresses of instruction n are recorded. It is true if
// the instruction must be the block's last.
func (bl *block) accesses(n int, e *x86.Effects, known *[16]value, code []byte) (last bool) {
	regPart := func(r x86.Reg) value { return bl.register(n, r, known) }
	for i := range e.Mem[:e.NMem] {
		m := &e.Mem[i]
		a := Access{Part: -1, FS: m.Segment == 'f', Size: uint32(m.Size), Add: uint64(m.Disp)}
		if m.Read {
			a.Flags |= flow.Reads
		}
		if m.Write {
			a.Flags |= flow.Writes
		}
		if m.Base == x86.RSP {
			a.Flags |= flow.Stack
		}
		if m.RIPRelative {
			a.Add += bl.Start + uint64(bl.Insts[n].Off) + uint64(bl.Insts[n].Len)
		}
		switch {
		case m.Base == x86.NoReg && m.Index == x86.NoReg:
			a.Low = m.Addr32
		case m.Index == x86.NoReg && !m.Addr32:
			v := regPart(m.Base)
			a.Part = v.part
			a.Add += v.delta
		default:
			a.Part, a.Add = int16(len(bl.parts)), 0
			bl.parts = append(bl.parts, part{inst: n, mem: &mem{
				base: m.Base, index: m.Index, scale: m.Scale, disp: int32(m.Disp), addr32: m.Addr32,
			}})
		}
		a.Low = a.Low || m.Addr32 && (m.Shape == x86.MemVector || m.Shape == x86.MemXlat)
		switch m.Shape {
		case x86.MemBit:
			a.Shape, a.Extra = Bit, int16(len(bl.parts))
			bl.parts = append(bl.parts, part{inst: n, from: m.Value})
		case x86.MemMasked:
			if m.Element == 0 {
				break
			}
			a.Shape = Masked
			bl.chosen(n, &a, m)
		case x86.MemState:
			if m.Size != 0 {
				break
			}
			a.Shape, a.Extra = State, int16(len(bl.parts))
			for at := int64(x86.StateHeader); at < x86.StateHeader+16; at += 8 {
				bl.behind(n, m, at)
			}
		case x86.MemXlat:
			a.Shape, a.Extra = Table, int16(len(bl.parts))
			bl.parts = append(bl.parts, part{inst: n, from: x86.RAX})
		case x86.MemVector:
			a.Shape = Element
			bl.chosen(n, &a, m)
			a.Extra = bl.vector(n, m.Vector, vectorSize(m))
			for a.Number = range uint8(m.Count - 1) {
				bl.Accesses = append(bl.Accesses, a)
			}
			a.Number = uint8(m.Count - 1)
		case x86.MemString:
			if !m.Rep {
				break
			}
			a.Shape = String
			if op := code[len(code)-1]; op&0xfe == 0xa6 || op&0xfe == 0xae {
				a.Shape = Compare
			}
			if i > 0 && bl.Accesses[len(bl.Accesses)-1].Shape == a.Shape {
				a.Extra = bl.Accesses[len(bl.Accesses)-1].Extra
				break
			}
			a.Extra = int16(len(bl.parts))
			bl.parts = append(bl.parts, part{inst: n, from: x86.RCX}, part{inst: n, flags: true})
			if a.Shape == Compare {
				bl.parts = append(bl.parts, part{inst: n, from: x86.RCX, after: true})
			}
			last = true
		}
		bl.Accesses = append(bl.Accesses, a)
	}
	return last
}

// behind plans that the 8 bytes at an offset in an access's memory are recorded behind
// instruction n.
func (bl *block) behind(n int, m *x86.MemAccess, off int64) {
	p := part{inst: n, after: true, width: 8}
	if m.RIPRelative {
		p.value = bl.Start + uint64(bl.Insts[n].Off) + uint64(bl.Insts[n].Len) + uint64(m.Disp+off)
	} else {
		p.mem = &mem{fs: m.Segment == 'f', base: m.Base, index: m.Index, scale: m.Scale, disp: int32(m.Disp + off), addr32: m.Addr32}
	}
	bl.parts = append(bl.parts, p)
}

// chosen plans how it is recorded which elements of an access are touched.
func (bl *block) chosen(n int, a *Access, m *x86.MemAccess) {
	of := *m
	if a.Of = &of; m.Signs != 0 {
		a.Mask = bl.vector(n, m.Signs-1, vectorSize(m))
		return
	}
	a.Mask = int16(len(bl.parts))
	bl.parts = append(bl.parts, part{inst: n, mask: m.Mask, wide: m.Shape == x86.MemMasked && m.Size > 16*int(m.Element)})
}

// vector plans how size bytes of a vector register are recorded, and returns the first
// part. Registers and sizes that only AVX-512 has are recorded as a whole.
func (bl *block) vector(n int, r uint8, size int) int16 {
	if r >= 16 || size > 32 {
		size = 64
	}
	first := int16(len(bl.parts))
	bl.parts = append(bl.parts, part{inst: n, vector: r + 1, size: size})
	for at := partSize; at < size; at += partSize {
		bl.parts = append(bl.parts, part{inst: n, rest: true})
	}
	return first
}

// repeats says that the block's first instruction is a string instruction with a prefix.
func (bl *block) repeats() bool {
	for i := range bl.Accesses {
		if a := &bl.Accesses[i]; a.Shape == String || a.Shape == Compare {
			return true // it is the last of its block
		}
	}
	return false
}
