package provenance

import (
	"mgtrace/flow"
	"mgtrace/trace"
	"mgtrace/x86"
)

// op is one instruction, made ready for being executed on tags.
type op struct {
	pc, next trace.Addr
	control  control
	library  bool // its module is none whose reads are judged byte by byte
	d        x86.Derived
	mems     []operand
	first    int // its first access in the block

	reads     uint16     // general registers that are read as data
	wipes     uint16     // general registers that are written as a whole
	touches   uint16     // and in part, or perhaps
	vecReads  uint32     // vector registers
	vecWrites []vecWrite // and words of them
	writes    bool       // to memory
	sums      bool       // of general registers and a number into one, 8 bytes wide
	number    bool       // what it gives is no address, whatever it is computed from
}

type vecWrite struct {
	reg            uint8
	wipes, touches uint8 // words, by bit
}

// control is what an instruction is to the stack of calls.
type control uint8

const (
	plain control = iota
	calls
	returns
)

// operand is an access to memory: what its address is computed from.
type operand struct {
	base, index int8 // -1: none
	scale       uint8
	judged      bool // relative to general registers, in no segment
	read, write bool
	disp        int64
	at, n       int // its entries among the accesses of the instruction
}

// block is a block's instructions.
type block struct {
	ops       []op
	allocator bool // it begins an allocator
}

// compile prepares a block.
func (c *Checker) compile(b *flow.Block) *block {
	out := &block{ops: make([]op, len(b.Insts)), allocator: c.o.Allocator != nil && c.o.Allocator(b.Start)}
	library := c.o.Library != nil && c.o.Library(b.Start)
	for i := range b.Insts {
		o := &out.ops[i]
		o.pc = b.PC(i)
		o.next = o.pc + trace.Addr(b.Insts[i].Len)
		o.library, o.first = library, int(b.Insts[i].Access)
		in, err := x86.Decode(b.Bytes(i), uint64(o.pc))
		if err != nil {
			o.unknown(b, i)
			continue
		}
		switch in.Kind {
		case x86.KindCall:
			o.control = calls
		case x86.KindRet:
			o.control = returns
		}
		if o.take(&in); o.accesses() != int(b.Insts[i].NMem) && len(o.mems) > 0 { // recorded with another table of effects
			*o = op{pc: o.pc, next: o.next, library: o.library, first: o.first, control: o.control}
			o.unknown(b, i)
		}
	}
	return out
}

// take fills in what an instruction does.
func (o *op) take(in *x86.Inst) {
	var e x86.Effects
	in.Effects(&e)
	if in.Derive(&o.d); e.Unknown {
		o.d = x86.Derived{}
	}
	d := &o.d
	o.sums = d.How == x86.HowAdd && d.Width == 8 && d.To.Kind == x86.InGeneral && d.A.Kind != x86.InMemory && d.B.Kind != x86.InMemory
	o.number = in.CountsBits()
	data := e.Read.AndNot(e.Addr)
	for r := range 16 {
		whole := x86.GPR(x86.Reg(r), 0, 8)
		bit := uint16(1) << r
		if data.Intersects(whole) {
			o.reads |= bit
		}
		switch {
		case e.Kill.Contains(whole):
			o.wipes |= bit
		case e.Write.Intersects(whole):
			o.touches |= bit
		}
	}
	if o.number { // bsf of 0 leaves the register alone; that nobody asks for
		o.wipes, o.touches = o.wipes|o.touches, 0
	}
	for r := range 32 {
		if data.Intersects(x86.Vector(r, 0, 64)) {
			o.vecReads |= 1 << r
		}
		w := vecWrite{reg: uint8(r)}
		for unit, words := range [4]uint8{1, 2, 0x0c, 0xf0} {
			u := vectorUnit(r, unit)
			switch {
			case e.Kill.Has(u):
				w.wipes |= words
			case e.Write.Has(u):
				w.touches |= words
			}
		}
		if w.wipes|w.touches != 0 {
			o.vecWrites = append(o.vecWrites, w)
		}
	}
	at := 0
	for i := range e.Mem[:e.NMem] {
		m := &e.Mem[i]
		if m.Shape == x86.MemState {
			// xsave and xrstor, around what must not change the vectors (the dynamic
			// linker's resolver): tags stay where they are. How much is saved is not
			// known exactly.
			*o = op{pc: o.pc, next: o.next, library: o.library, first: o.first}
			return
		}
		p := operand{base: register(m.Base), index: register(m.Index), scale: max(m.Scale, 1), read: m.Read, write: m.Write, disp: m.Disp, at: at, n: m.Entries()}
		p.judged = m.Segment == 0 && !m.RIPRelative && !m.Addr32 && m.Shape != x86.MemBit && m.Shape != x86.MemXlat && m.Shape != x86.MemVector &&
			(m.Shape != x86.MemMasked || m.Element != 0) // else it is not told which bytes
		at += p.n
		o.writes = o.writes || m.Write
		o.mems = append(o.mems, p)
	}
}

// accesses is how many a record has of an execution.
func (o *op) accesses() int {
	if len(o.mems) == 0 {
		return 0
	}
	last := &o.mems[len(o.mems)-1]
	return last.at + last.n
}

// vectorUnit is a unit of a vector register: bytes 0-7, 8-15, 16-31, 32-63.
func vectorUnit(r, i int) x86.Unit { return x86.Unit(64 + 4*r + i) }

func register(r x86.Reg) int8 {
	if r == x86.NoReg || r > 15 {
		return -1
	}
	return int8(r)
}

// unknown is for an instruction that can not be decoded: everything may change.
func (o *op) unknown(b *flow.Block, i int) {
	o.wipes = 0xffff
	o.reads = 0xffff
	for r := range 32 {
		o.vecWrites = append(o.vecWrites, vecWrite{reg: uint8(r), wipes: 0xff})
	}
	for k := range int(b.Insts[i].NMem) {
		o.mems = append(o.mems, operand{base: -1, index: -1, scale: 1, write: true, at: k, n: 1})
		o.writes = true
	}
}
