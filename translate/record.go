package translate

import (
	"encoding/binary"
	"math/bits"

	"mgtrace/flow"
	"mgtrace/trace"
	"mgtrace/x86"
)

// A block's record: u32 number of the block, then its parts, 8 bytes each: what the
// addresses of its memory accesses are made of. Nothing is recorded for an address
// that is known before, and once for all those that lie at known distances.
const (
	partsAt  = 4
	partSize = 8
)

// Shape says how an access's extent follows from the parts.
type Shape uint8

// The shapes.
const (
	Fixed  Shape = iota // Size bytes
	Bit                 // Size bytes in a string of bits; part Extra is the bit's number
	String              // elements of Size bytes, as many as part Extra says; part Extra + 1 is RFLAGS
	// Compare is String of an instruction that may end early: part Extra + 2 is the
	// count that remains.
	Compare
	Masked  // those of Size bytes that are chosen
	Element // Size bytes, if element Number of a gather or scatter is chosen; its index lies in the vector in part Extra
	State   // a vector state of Size bytes at most, whose header is in parts Extra and Extra + 1
	Table   // one byte, at the address plus the lowest byte of part Extra
)

// Access is one memory access of a block.
type Access struct {
	Part  int16 // its value is added; -1: none
	Extra int16 // first of the parts that tell its extent
	FS    bool  // the thread's FS base is added
	Low   bool  // the address is truncated to 32 bits
	Shape Shape
	Flags flow.AccessFlags
	Size  uint32 // bytes; 0: not known
	Add   uint64 // what is added

	// Masked, Element: what the instruction does, and the part with the mask, or where the
	// vector begins whose signs are the mask.
	Of     *x86.MemAccess
	Mask   int16
	Number uint8
}

// Inst is one instruction of a block.
type Inst struct {
	Off      uint16 // in the block's code, bytes
	Len      uint8
	Accesses uint16 // index of its first access; they end where the next one's begin
}

// Shape of a block's record: what the translator decided, and all that one who
// reads the record needs.
type Layout struct {
	Start    uint64
	Code     []byte
	Insts    []Inst
	Accesses []Access
	Parts    int      // of a whole record
	Gap      string   // not "": the block is one instruction, whose accesses are not known, because
	Sites    []Site   // by instruction, as far as there are any
	Stores   []Stored // of its sites, in order
	Checked  bool     // it looks first whether the code is as it was
}

// Site says what is wanted at an instruction beside what is recorded of all.
type Site struct {
	Stop  bool   // the tracer wants to see the thread before it
	Note  uint32 // the number of the site that Env.Note is told of before it, and 1; 0: none
	After bool   // and behind it
	Store uint32 // the number of its store, whose value is recorded, and 1; 0: none
}

// begins says that a block begins there.
func (s *Site) begins() bool { return s.Stop || s.Note != 0 }

// Value is a register's value: that of a part and Add.
type Value struct {
	Part int16 // -1: there is none
	Add  uint64
}

// In is the value in a record.
func (v Value) In(rec []byte) uint64 {
	if v.Part < 0 {
		return 0
	}
	return v.Add + binary.LittleEndian.Uint64(rec[PartAt(int(v.Part)):])
}

// Stored is a store whose value is recorded.
type Stored struct {
	Inst            int
	Number          int   // Site.Store less 1
	SP, Base, Index Value // before it
	Scale, Disp     uint64
	Width           int // bytes
	First           int // part: where they lie in the record
}

// Addr is where it wrote.
func (s *Stored) Addr(rec []byte) uint64 {
	return s.Disp + s.Base.In(rec) + s.Index.In(rec)*s.Scale
}

// Bytes are what it wrote, and zeros up to a multiple of 8 bytes.
func (s *Stored) Bytes(rec []byte) []byte { return rec[PartAt(s.First):][:(s.Width+7)&^7] }

// Size is the size of a whole record, bytes.
func (l *Layout) Size() int { return partsAt + partSize*l.Parts }

// PartAt is where a part lies in a record, bytes.
func PartAt(part int) int { return partsAt + partSize*part }

// Follows says that an access's address follows from another one's, as Block tells.
func (l *Layout) Follows(i int) bool { return int(l.derived(i).Of) != i }

// PC is the address of instruction i; of that behind the last one if there are as
// many.
func (l *Layout) PC(i int) uint64 {
	if i < len(l.Insts) {
		return l.Start + uint64(l.Insts[i].Off)
	}
	return l.Start + uint64(len(l.Code))
}

// Ranges appends the accesses of the first n instructions. rec is the record, of
// which the parts of those instructions must be whole.
func (l *Layout) Ranges(to []flow.Mem, rec []byte, n int, fs uint64) []flow.Mem {
	end := len(l.Accesses)
	if n < len(l.Insts) {
		end = int(l.Insts[n].Accesses)
	}
	part := func(i int16) uint64 { return binary.LittleEndian.Uint64(rec[partsAt+partSize*int(i):]) }
	for i := range l.Accesses[:end] {
		a := &l.Accesses[i]
		addr := a.Add
		if a.Part >= 0 {
			addr += part(a.Part)
		}
		chosen := ^uint64(0)
		switch {
		case a.Of == nil:
		case a.Of.Signs != 0:
			chosen = a.Of.Chosen(rec[PartAt(int(a.Mask)):][:vectorSize(a.Of)])
		default:
			chosen = part(a.Mask)
		}
		switch a.Shape {
		case Element:
			addr += a.Of.Offset(int(a.Number), rec[PartAt(int(a.Extra)):])
		case Table:
			addr += part(a.Extra) & 0xff
		}
		if a.Low {
			addr = uint64(uint32(addr))
		}
		if a.FS {
			addr += fs
		}
		size := a.Size
		switch a.Shape {
		case Bit: // SDM volume 2, "Bit(BitBase, BitOffset)"
			addr += uint64(int64(part(a.Extra)) >> bits.TrailingZeros32(8*size) * int64(size))
		case String, Compare:
			count := part(a.Extra)
			if a.Shape == Compare {
				count -= part(a.Extra + 2)
			}
			const df = 1 << 10
			if part(a.Extra+1)&df != 0 && count > 0 {
				addr -= (count - 1) * uint64(size)
			}
			size = uint32(min(count*uint64(size), 1<<32-1))
		case Masked:
			off, n := a.Of.Masked(chosen)
			addr, size = addr+uint64(off), uint32(n)
		case State:
			size = x86.StateSize(part(a.Extra), part(a.Extra+1), size)
		case Element:
			if chosen>>a.Number&1 == 0 {
				addr, size = 0, 0
			}
		}
		to = append(to, flow.Mem{Addr: trace.Addr(addr), Size: size})
	}
	return to
}

// vectorSize is how many bytes are recorded of the vector registers that choose.
func vectorSize(m *x86.MemAccess) int {
	n := m.Size
	if m.Shape == x86.MemVector {
		n = m.Count * max(m.Size, int(m.VectorWidth))
	}
	return max(16, n)
}

// value is what is known of a register inside a block: that it is a part plus a
// constant.
type value struct {
	part  int16 // -1: nothing is known
	delta uint64
}

// follow notes what an instruction does to the registers as far as it can be told
// from their values; what it writes otherwise is forgotten.
func follow(known *[16]value, code []byte, in *x86.Inst, written uint16) {
	old := *known
	for r := range known {
		if written>>r&1 != 0 {
			known[r] = value{part: -1}
		}
	}
	at := in.OpcodeAt()
	rex := byte(0)
	if at > 0 && code[at-1]&0xf0 == 0x40 {
		rex = code[at-1]
	}
	if at > 1 || at == 1 && rex == 0 || at >= len(code) { // another prefix, or two bytes of opcode
		return
	}
	set := func(to x86.Reg, from x86.Reg, add uint64) {
		if v := old[from]; v.part >= 0 {
			known[to] = value{v.part, v.delta + add}
		}
	}
	op := code[at]
	switch {
	case op >= 0x50 && op <= 0x57, op == 0x68, op == 0x6a:
		set(x86.RSP, x86.RSP, ^uint64(7))
		return
	case op >= 0x58 && op <= 0x5f:
		if r := x86.Reg(op&7 | rex&1<<3); r != x86.RSP {
			set(x86.RSP, x86.RSP, 8)
		}
		return
	case op == 0xc9:
		set(x86.RSP, x86.RBP, 8)
		return
	}
	if rex&8 == 0 || at+1 >= len(code) {
		return
	}
	modrm := code[at+1]
	reg, rm := x86.Reg(modrm>>3&7|rex&4<<1), x86.Reg(modrm&7|rex&1<<3)
	switch direct := modrm>>6 == 3; {
	case op == 0x83 && direct && modrm>>3&7 == 0:
		set(rm, rm, uint64(int64(int8(code[at+2]))))
	case op == 0x83 && direct && modrm>>3&7 == 5:
		set(rm, rm, -uint64(int64(int8(code[at+2]))))
	case op == 0x81 && direct && modrm>>3&7 == 0:
		set(rm, rm, uint64(int64(int32(binary.LittleEndian.Uint32(code[at+2:])))))
	case op == 0x81 && direct && modrm>>3&7 == 5:
		set(rm, rm, -uint64(int64(int32(binary.LittleEndian.Uint32(code[at+2:])))))
	case op == 0x89 && direct:
		set(rm, reg, 0)
	case op == 0x8b && direct:
		set(reg, rm, 0)
	case op == 0x8d && !direct && !in.Addr32():
		if m, ok := in.Operand(); ok && m.Base != x86.NoReg && m.Index == x86.NoReg && !m.RIPRelative {
			set(reg, m.Base, uint64(m.Disp))
		}
	}
}

// Block is the block as the file of a flow has it.
func (l *Layout) Block() flow.Block {
	b := flow.Block{Start: trace.Addr(l.Start), Code: l.Code, Insts: make([]flow.Inst, len(l.Insts)), Accesses: make([]flow.Access, len(l.Accesses))}
	for i := range l.Insts {
		in := &l.Insts[i]
		end := len(l.Accesses)
		if i+1 < len(l.Insts) {
			end = int(l.Insts[i+1].Accesses)
		}
		b.Insts[i] = flow.Inst{Off: in.Off, Len: in.Len, NMem: uint8(end - int(in.Accesses)), Access: in.Accesses}
	}
	b.Derived = make([]flow.Derivation, len(l.Accesses))
	for i := range l.Accesses {
		a := &l.Accesses[i]
		b.Derived[i] = l.derived(i)
		b.Accesses[i].Flags = a.Flags
		if a.Shape == Fixed || a.Shape == Bit || a.Shape == Table {
			b.Accesses[i].Size = uint16(a.Size)
		}
	}
	return b
}

// derived says how the address of an access follows from that of an earlier one.
func (l *Layout) derived(i int) flow.Derivation {
	a := &l.Accesses[i]
	switch {
	case a.Low || a.Shape != Fixed || a.Size == 0:
	case a.Part < 0 && !a.FS:
		return flow.Derivation{Of: flow.Absolute, Add: a.Add}
	default:
		for k := range l.Accesses[:i] {
			o := &l.Accesses[k]
			if o.Part == a.Part && o.FS == a.FS && !o.Low && o.Shape == Fixed {
				return flow.Derivation{Of: uint16(k), Add: a.Add - o.Add}
			}
		}
	}
	return flow.Derivation{Of: uint16(i)}
}
