package x86

import (
	"encoding/binary"
	"math/bits"
)

// Effects are what one instruction reads and writes, registers by units.
//
// A unit that is written and not killed may keep its old value, or a part of it: the
// flags of a shift by cl, the destination of a cmov, the upper half of unit 0 after
// movss. That old value goes nowhere but into the unit itself, and is no Read.
type Effects struct {
	Read  RegSet // what decides on anything that is written, or on where control goes
	Write RegSet // what may change
	Kill  RegSet // ⊆ Write: nothing is left of the old value, unless it is in Read

	// Addr ⊆ Read decides on nothing but addresses of memory operands, and on the new
	// value of what is in Step.
	Addr RegSet

	// Step ⊆ Addr ∩ Kill are pointers that the instruction moves on: RSP of push and
	// pop, RSI and RDI of string instructions. The new value depends on nothing that is
	// not in Step, but for DF and the count of a repeated one.
	Step RegSet

	// Mem[:NMem] are the accesses to memory in their order.
	Mem  [2]MemAccess
	NMem int

	// Unknown: the instruction is not in the table. It is taken to read and to write
	// everything.
	Unknown bool
}

// Uses are the units whose old values the new state depends on: what is read, and what
// may be left alone.
func (e *Effects) Uses() RegSet { return e.Read.Or(e.Write.AndNot(e.Kill)) }

// MemShape says how the bytes of an access are found.
type MemShape uint8

// The shapes.
const (
	MemFixed  MemShape = iota // Size bytes at the operand
	MemString                 // Size bytes at RSI or RDI; with Rep RCX times that, downwards if DF
	MemMasked                 // some of Size bytes at the operand, see MemAccess.Masked
	MemBit                    // as ShapeBit: Size bytes at the operand plus Size × (Value >> log2(8 × Size))
	MemVector                 // Count elements of Size bytes, at the operand plus Scale × an element of Vector
	MemState                  // xsave and its like: how much is only known when it happens
	MemXlat                   // one byte at RBX + AL
)

// MemAccess is one access to memory: the operand, and what is done there.
type MemAccess struct {
	Operand
	Read, Write, MayKeep bool // MayKeep: written, but all or some of the bytes may keep their values
	Rep                  bool // MemString
	Shape                MemShape
	Value                Reg   // MemBit
	Mask                 uint8 // MemMasked, MemVector: the opmask register that chooses among elements, 1 to 7; 0: none
	Signs                uint8 // likewise: the vector register, and 1, whose elements' highest bits choose; 0: none
	Element              uint8 // bytes of such an element; 0: it is not told which are chosen
	Packed               bool  // MemMasked: as many elements as are chosen, one behind the other
	Vector               uint8 // MemVector: the register of the indexes, 0 to 31
	VectorWidth          uint8 // MemVector: bytes of an index, 4 or 8
	Count                int   // MemVector
	Size                 int   // bytes, 0: not known before
}

// Effects fills e with what the instruction reads and writes. It allocates nothing.
func (in *Inst) Effects(e *Effects) {
	*e = Effects{}
	d := deriver{in: in, e: e}
	row := in.effectRow()
	if row == nil {
		d.unknown()
		return
	}
	d.run(row)
}

// deriver collects the effects of one instruction.
type deriver struct {
	in   *Inst
	e    *Effects
	data RegSet // read as data
	addr RegSet // read for addresses
	row  *effectRow
	up   int  // how far RSP has moved when the operand's address is computed
	same bool // both sources are one register, and the result does not depend on it
}

func (d *deriver) run(row *effectRow) {
	d.row = row
	if row.words&wordZero != 0 {
		d.same = d.in.sameSources()
	}
	if row.words&wordConstant != 0 {
		d.same = d.in.mod == 3 && (d.in.reg == 4 && d.in.imm == 0 || d.in.reg == 1 && d.in.imm == -1)
	}
	if row.words&wordTernary != 0 {
		d.same = byte(d.in.imm) == 0 || byte(d.in.imm) == 0xff
	}
	d.flags()
	for i := range row.steps[:row.n] {
		s := &row.steps[i]
		if s.do != noAction {
			d.do(s.do)
			continue
		}
		d.operand(s)
	}
	if d.in.evex && d.in.aaa != 0 {
		d.data.Add(UnitK0.plus(int(d.in.aaa)))
	}
	if d.e.Unknown {
		d.unknown()
		return
	}
	d.finish()
}

func (d *deriver) finish() {
	e := d.e
	e.Step = e.Step.AndNot(d.data)
	d.addr = d.addr.Or(e.Step)
	e.Read = d.data.Or(d.addr)
	e.Addr = d.addr.AndNot(d.data)
}

// unknown: everything is read and may be written, memory at the operand too.
func (d *deriver) unknown() {
	e := d.e
	*e = Effects{Unknown: true}
	for i := range e.Read {
		e.Read[i] = ^uint64(0)
	}
	e.Read[3] = 1<<(Units-192) - 1
	e.Write = e.Read
	switch {
	case d.in.Effect == EffectStore:
		s := &d.in.Store
		e.Mem[0] = MemAccess{Operand: s.Operand, Value: NoReg, Size: s.Width}
	case d.in.mem():
		e.Mem[0] = d.rm(0)
	default:
		return
	}
	e.NMem = 1
	e.Mem[0].Read, e.Mem[0].Write, e.Mem[0].MayKeep = true, true, true
}

// sameSources: the two register operands of an instruction whose result is then the
// same whatever they hold. Of a VEX instruction those are vvvv and ModRM.rm.
func (in *Inst) sameSources() bool {
	if in.mod != 3 {
		return false
	}
	if in.opmap == map1B {
		return in.reg|in.r == in.rm|in.b
	}
	return in.place('H') == in.place('W')
}

// place is the number of the register in a place of the table.
func (in *Inst) place(p byte) int {
	vector := in.vex || in.evex
	switch p {
	case 'E':
		return int(in.rm | in.b)
	case 'G':
		return int(in.reg | in.r)
	case 'Z':
		return int(in.op&7 | in.b)
	case 'N':
		return int(in.vvvv & 15)
	case 'A', 'h', 'Y':
		return 0
	case 'C':
		return 1
	case 'D':
		return 2
	case 'B':
		return 3
	case 'W':
		if in.evex {
			return int(in.rm | in.b | in.x<<1)
		}
		return int(in.rm | in.b)
	case 'V':
		return int(in.reg | in.r | in.high)
	case 'H':
		if vector {
			return int(in.vvvv)
		}
		return int(in.reg | in.r)
	case 'L':
		return int(in.imm >> 4 & 15)
	case 'K':
		return int(in.reg)
	case 'J':
		return int(in.rm)
	case 'I':
		return int(in.vvvv & 7)
	}
	return 0
}

// widthLetter marks a width that is a letter of the table, and no number of bytes.
const widthLetter = 0x80

// span is the bytes of an operand: n from from.
func (in *Inst) span(width byte) (from, n int) {
	if width&widthLetter == 0 {
		return 0, int(width)
	}
	switch width &^ widthLetter {
	case 's':
		return 0, in.sizeByte()
	case 'v':
		return 0, in.size()
	case 'y':
		return 0, wide(in.w)
	case 'p':
		if in.opsize && !in.w {
			return 0, 2
		}
		return 0, 8
	case 'u':
		return 0, in.size() / 2
	case 't':
		return 0, min(in.size(), 4)
	case 'x':
		return 0, in.fullLen()
	case 'h':
		return 0, in.fullLen() / 2
	case 'f':
		return 0, in.fullLen() / 4
	case 'g':
		return 0, in.fullLen() / 8
	case 'P':
		if in.opmap == map5 && in.rep {
			return 0, 2
		}
		return 0, scalarOr(in.prefix(), in.fullLen())
	case 'S':
		if in.opsize {
			return 0, 8
		}
		return 0, 4
	case 'j':
		if in.fullLen() == 16 {
			return 0, 8
		}
		return 0, in.fullLen()
	case 'T':
		return 8, 8
	case 'k':
		return 0, maskWidth(in.w, in.opsize)
	}
	return 0, 0
}

// fullLen is the vector's length in bytes. With rounding of its own an EVEX
// instruction has 64, and the length bits are the rounding (SDM volume 2, 2.7.11).
func (in *Inst) fullLen() int {
	switch {
	case !in.vex && !in.evex:
		return 16
	case in.evex && in.bcast && in.mod == 3:
		return 64
	}
	return in.vectorLen()
}

// The accesses.
const (
	accRead  = 'r'
	accWrite = 'w'
	accBoth  = 'x'
	accMay   = 'm' // may keep its value, but a general register of 32 bits is widened
	accOr    = 'o' // may be left alone altogether
	accAddr  = 'l' // its address is the value
	accNone  = 'n'
)

func (d *deriver) operand(s *effectStep) {
	from, n := d.in.span(s.width)
	access := s.access
	if d.same && (access == accRead || access == accBoth) {
		if access == accRead {
			return
		}
		access = accWrite
	}
	if d.in.mem() && (s.place == 'E' || s.place == 'W' || s.place == 'Q' || s.place == 'J') {
		d.memory(access, n)
		return
	}
	switch s.place {
	case 'E', 'G', 'Z', 'N', 'A', 'C', 'D', 'B':
		r := Reg(d.in.place(s.place))
		if n == 1 && d.in.rex == 0 && r >= 4 && (s.place == 'E' || s.place == 'G' || s.place == 'Z') {
			r, from = r-4, 1
		}
		d.general(access, r, from, n)
	case 'h':
		d.general(access, RAX, 1, 1)
	case 'V', 'H', 'W', 'L', 'Y':
		d.vector(access, d.in.place(s.place), from, n)
	case 'P', 'Q':
		if access != accWrite {
			d.data.Add(UnitX87)
		}
		if access != accRead {
			d.e.Write.Add(UnitX87)
		}
	case 'K', 'I', 'J':
		k := UnitK0.plus(d.in.place(s.place)).set()
		if access != accWrite {
			d.data = d.data.Or(k)
		}
		if access != accRead {
			d.e.Write, d.e.Kill = d.e.Write.Or(k), d.e.Kill.Or(k)
		}
	case 'O':
		d.access(MemAccess{Operand: Operand{Base: NoReg, Index: NoReg, Segment: d.in.segment, Addr32: d.in.addr32, Disp: d.in.imm}, Value: NoReg,
			Read: access == accRead, Write: access == accWrite, Size: n})
	}
}

func (d *deriver) general(access byte, r Reg, from, n int) {
	touch := uint64(touched(&gprParts, from, n))
	shift := 4 * uint(r&15)
	if access == accRead || access == accBoth {
		d.data[0] |= touch << shift
	}
	kill := uint64(0)
	switch access {
	case accWrite, accBoth:
		if n == 4 {
			touch = 15
		}
		kill = touch
	case accMay:
		if n == 4 {
			touch, kill = 15, 8
		}
	case accOr:
		if n == 4 {
			touch = 15
		}
	default:
		return
	}
	d.e.Write[0] |= touch << shift
	d.e.Kill[0] |= kill << shift
}

// vector is an access to a vector register. What VEX and EVEX write is extended with
// zeros to the full register (SDM volume 2, 2.3.10.1); the rest of the low 16 bytes
// comes from elsewhere, by word u, or is kept. An EVEX destination is masked.
func (d *deriver) vector(access byte, v, from, n int) {
	in := d.in
	touch := uint64(touched(&vectorParts, from, n))
	word, shift := 1+v>>4&1, 4*uint(v&15)
	if access == accRead || access == accBoth {
		d.data[word] |= touch << shift
	}
	if access != accWrite && access != accBoth && access != accMay {
		return
	}
	kill := uint64(covered(&vectorParts, from, n))
	if in.vex || in.evex {
		all := uint64(15)
		if d.row.words&wordKeep != 0 {
			all &^= uint64(touched(&vectorParts, n, 16-n)) &^ touch
		}
		kill = all
		if in.evex && in.aaa != 0 && !in.zeroing && d.row.words&wordSelect == 0 {
			kill = all &^ touch
		}
		touch = all
	}
	if access == accMay {
		kill = 0
	}
	d.e.Write[word] |= touch << shift
	d.e.Kill[word] |= kill << shift
}

// memory is an access to the ModRM operand.
func (d *deriver) memory(access byte, n int) {
	in := d.in
	switch access {
	case accNone:
		return
	case accAddr:
		d.lea()
		return
	}
	if in.evex && in.bcast && access == accRead { // stores have no broadcast
		n = wide(in.w)
		if d.row.words&wordDwords == 0 && (in.opmap == map5 || in.opmap == map6 || in.opmap == map3A && in.prefix() == 0) {
			n = 2
		}
	}
	m := d.rm(n)
	m.Read = access == accRead || access == accBoth
	m.Write = access != accRead
	words := d.row.words
	if in.evex && in.aaa != 0 || words&(wordMasked|wordElement) != 0 {
		m.Shape, m.MayKeep = MemMasked, m.Write
		switch {
		case words&wordMasked != 0:
			m.Signs, m.Element = uint8(in.place('H'))+1, 4
			if in.w || in.op&0xfd == 0x2d {
				m.Element = 8
			}
		case in.aaa == 0: // all of it
		case words&wordElement != 0:
			m.Mask, m.Element, m.Packed = in.aaa, uint8(in.elementLen()), true
		default:
			if m.Element = in.maskedMove(); m.Element != 0 {
				m.Mask = in.aaa
			}
		}
	}
	d.access(m)
}

// maskedMove is how many bytes an element has of a move to or from memory under an
// opmask; 0: it is none. What is computed on the way has other elements in memory than
// in registers, or reads all of them.
func (in *Inst) maskedMove() uint8 {
	if !in.evex || in.opmap != map0F || in.aaa == 0 {
		return 0
	}
	switch in.op {
	case 0x10, 0x11, 0x28, 0x29: // vmovups and its like
		return uint8(wide(in.w))
	case 0x6f, 0x7f: // vmovdqa, vmovdqu
		if !in.repne {
			return uint8(wide(in.w))
		}
		if in.w {
			return 2
		}
		return 1
	}
	return 0
}

// Masked says which of an access's bytes are touched under a mask, which has a bit for each
// element: all those from the first chosen element to the last, n bytes from off. n is 0:
// none.
func (m *MemAccess) Masked(mask uint64) (off, n int) {
	size := int(m.Element)
	if lanes := m.Size / size; lanes < 64 {
		mask &= 1<<lanes - 1
	}
	if mask == 0 {
		return 0, 0
	}
	if m.Packed {
		return 0, bits.OnesCount64(mask) * size
	}
	first := bits.TrailingZeros64(mask)
	return first * size, (bits.Len64(mask) - first) * size
}

// Entries is how many accesses it is to one who records them: those of a gather or scatter
// are told one by one.
func (m *MemAccess) Entries() int {
	if m.Shape == MemVector {
		return m.Count
	}
	return 1
}

// Chosen is the mask that the elements of a vector make by their highest bits (Signs).
func (m *MemAccess) Chosen(vector []byte) (mask uint64) {
	size := int(m.Element)
	for i := 0; i < 64 && (i+1)*size <= len(vector); i++ {
		mask |= uint64(vector[(i+1)*size-1]>>7) << i
	}
	return mask
}

// Offset is how far element i of a gather or scatter lies from the operand, by the vector
// of indexes.
func (m *MemAccess) Offset(i int, vector []byte) uint64 {
	if m.VectorWidth == 4 {
		return uint64(int64(int32(binary.LittleEndian.Uint32(vector[4*i:]))) * int64(m.Scale))
	}
	return binary.LittleEndian.Uint64(vector[8*i:]) * uint64(m.Scale)
}

// rm is the ModRM operand as an access to n bytes. A displacement of 8 bits counts in
// units of the operand with EVEX (SDM volume 2, 2.7.5).
func (d *deriver) rm(n int) MemAccess {
	in := d.in
	m := MemAccess{Operand: in.operand(), Value: NoReg, Size: n}
	if in.base == RSP {
		m.Disp += int64(d.up)
	}
	if in.evex && in.disp8 {
		unit := n
		if d.row != nil && d.row.words&wordElement != 0 {
			unit = in.elementLen()
		}
		m.Disp *= int64(unit)
	}
	return m
}

// elementLen is that of the sparse loads and stores: bytes and words in 62 and 63.
func (in *Inst) elementLen() int {
	if in.opmap == map38 && (in.op == 0x62 || in.op == 0x63) {
		if in.w {
			return 2
		}
		return 1
	}
	return wide(in.w)
}

// access adds an access, and what its address is computed from.
func (d *deriver) access(m MemAccess) {
	n := 8
	if m.Addr32 {
		n = 4
	}
	if m.Base != NoReg {
		d.addr = d.addr.Or(GPR(m.Base, 0, n))
	}
	if m.Index != NoReg {
		d.addr = d.addr.Or(GPR(m.Index, 0, n))
	}
	switch m.Segment {
	case 'f':
		d.addr.Add(UnitFSBase)
	case 'g':
		d.addr.Add(UnitGSBase)
	}
	d.e.Mem[d.e.NMem] = m
	d.e.NMem++
}

// lea reads the operand's registers as data, as much of them as the result holds.
func (d *deriver) lea() {
	n := d.in.size()
	if d.in.addr32 {
		n = min(n, 4)
	}
	if d.in.base != NoReg {
		d.data = d.data.Or(GPR(d.in.base, 0, n))
	}
	if d.in.index != NoReg {
		d.data = d.data.Or(GPR(d.in.index, 0, n))
	}
}

// flags are the row's, but for shifts by an immediate: a count of 0 leaves all flags
// alone, and of more than 1 makes OF undefined (SDM volume 2, SAL, RCL, SHLD).
func (d *deriver) flags() {
	row := d.row
	read, write, kill := row.flagsRead, row.flagsKill|row.flagsMay, row.flagsKill
	if row.words&wordCount != 0 {
		mask := int64(31)
		if d.in.w {
			mask = 63
		}
		switch n := d.in.imm & mask; {
		case n == 0:
			read, write, kill = 0, 0, 0
		case n > 1:
			kill &^= 1 << (UnitOF - UnitCF)
			size := d.in.sizeByte()
			if d.in.opmap != map1B {
				size = d.in.size()
			}
			if n > int64(8*size) {
				kill &^= 1 // CF, the first of them
			}
		}
	}
	d.data[3] |= uint64(read)
	d.e.Write[3] |= uint64(write)
	d.e.Kill[3] |= uint64(kill)
}
