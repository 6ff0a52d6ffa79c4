package emit

import (
	"encoding/binary"
	"slices"

	"mgtrace/inline/layout"
	"mgtrace/x86"
)

// hook appends a call of the hook routine on its own stack. layout/regs.go
// tells what it finds there. flags: it is given the flags too. They are kept as for a
// stamp: to pop them would take as long as all the rest, and no other flag changes.
func (g *generator) hook(site, phase uint32, flags bool) {
	s := &g.state
	g.store(slot(layout.SavedSP), 8, x86.RSP)
	s.place[x86.RSP] = Place{Off: layout.SavedSP}
	s.saved |= 1 << x86.RSP
	g.load(x86.RSP, 8, slot(layout.HookSP))

	// struct regs, from its end. The word of RegsSite is a sign-extended one.
	g.plain(0x68)
	g.int32(int32(site | phase<<31))
	if flags {
		g.plain(0x9c) // pushfq
	} else {
		g.moveSP(-8)
	}
	for r := x86.Reg(15); r >= 0; r-- {
		if r == x86.RSP {
			g.op(0xff, 4, 6, false, slot(layout.SavedSP)) // push
			continue
		}
		g.push(r)
	}
	rsp := s.place[x86.RSP]
	for r := range x86.Reg(16) {
		s.place[r] = onStack(layout.RegsGeneral + 8*int32(r))
	}
	s.saved = 0xffff
	s.place[x86.RSP] = rsp

	g.keepFlags()
	s.flags = FlagsSlot
	g.plain(0x48, 0x89, 0xe7) // mov rdi, rsp
	g.changed(x86.RDI)
	g.imm(x86.RSI, uint64(site))
	g.imm(x86.RDX, uint64(phase))
	g.op(0xff, 4, 2, false, slot(layout.HookEntry)) // call

	s.held = hookClobbers
	s.busy = phase == layout.PhaseBefore
	s.called = s.busy
	g.load(x86.RAX, 8, slot(layout.Flags))
	g.putFlags()
	skip := int8(0) // bytes of registers that are as they were
	for r := range x86.Reg(16) {
		switch {
		case hookClobbers&(1<<r) == 0 || r == x86.RSP:
			skip += 8
			continue
		case skip > 0:
			g.moveSP(skip)
			skip = 0
		}
		g.pop(r)
	}
	g.restore(x86.RSP)
	s.saved = 0
}

// The lengths of the instructions that jrcxz leads over, bytes.
const (
	lenMov    = 9 // to or from the thread block
	lenMovImm = 13
	lenLea    = 4
	lenJrcxz  = 2
	lenJmp    = 5
)

// unlessOpen appends jumps over what follows unless an open call returns to where the
// stack pointer leads: the outermost one of an allocator, the innermost one of a writer, which
// an allocator may have jumped to. One of free is forgotten where allocators return, which
// the routine has told of already. It returns the places of the jumps' displacements, for
// here. It leaves the flags alone.
func (g *generator) unlessOpen(from Leaving) (over []int) {
	const (
		one    = lenMov + lenLea + lenJrcxz // to look at a word
		leave  = lenMov + lenJmp            // see over
		forget = leave + 2*lenMovImm
	)
	type word struct {
		at int32
		to byte
	}
	words := []word{{layout.OpenFree, one + leave}, {layout.OpenCall, leave}}
	switch from {
	case Allocators:
		words[1].to += forget
	case Writers:
		words = slices.Insert(words, 0, word{layout.OpenWriter, 2*one + leave})
	}
	g.save(x86.RCX, layout.Scratch0)
	for _, w := range words {
		g.load(x86.RCX, 8, slot(w.at))
		g.lea(x86.RCX, mem{base: x86.RSP, index: x86.RCX, scale: 1})
		g.plain(0xe3, w.to) // jrcxz
	}
	over = append(over, g.over())
	if from == Allocators {
		g.storeImm(slot(layout.AllocCall), 8, 0)
		g.storeImm(slot(layout.OpenFree), 8, 0)
		over = append(over, g.over())
	}
	g.restore(x86.RCX)
	return over
}

// unlessQuiet appends a jump over what follows if calls of functions that nobody named are not told any more.
func (g *generator) unlessQuiet() (over []int) {
	g.save(x86.RCX, layout.Scratch0)
	g.load(x86.RCX, 4, slot(layout.Quiet))
	g.plain(0xe3, lenMov+lenJmp) // jrcxz
	over = append(over, g.over())
	g.restore(x86.RCX)
	return over
}

// unlessClosed appends a jump over what follows if no call of an allocator is open and
// the granule at which the first argument points is closed.
func (g *generator) unlessClosed() (over []int) {
	const short = 2 // jmp with a displacement of one byte
	g.save(x86.RCX, layout.Scratch0)
	g.load(x86.RCX, 8, slot(layout.AllocCall))
	g.plain(0xe3, short) // jrcxz
	g.begin()
	g.bytes(0xeb, 0)
	open := g.off()
	g.shadow(x86.RCX, x86.RDI, 1)
	g.plain(0xe3, short) // jrcxz
	g.begin()
	g.bytes(0xeb, lenMov+lenJmp)
	over = append(over, g.over())
	g.buf[g.start+open-1] = byte(g.off() - open)
	g.restore(x86.RCX)
	return over
}

// notes appends code that notes a call of a function, whose entry it is, and jumps over what
// follows, unless another call is open. What says that a call is open is written last: before,
// nothing has happened.
func (g *generator) notes(o *Opening) (over []int) {
	if o.Closed {
		return g.unlessWrites(o)
	}
	g.save(x86.RCX, layout.Scratch0)
	open := []int32{layout.AllocCall}
	if o.Writer {
		open = append(open, layout.OpenWriter)
	}
	var busy []int
	for _, w := range open {
		g.load(x86.RCX, 8, slot(w))
		g.plain(0xe3, lenMov+lenJmp) // jrcxz
		busy = append(busy, g.over())
	}
	g.state.fault = FaultProgram
	g.load(x86.RCX, 8, at(x86.RSP, 0))
	if o.Writer {
		g.noteWriter(o)
	} else {
		g.noteCall(o)
	}
	over = append(over, g.over())
	g.restore(x86.RCX)
	g.here(busy)
	return over
}

// closedShift: a writer of at most 1 << closedShift bytes reaches no further than the
// granules whose bytes in the shadow table one load has.
const closedShift = 6

// unlessWrites appends jumps over what follows if no call of a writer is open and this one
// writes a few bytes, to closed granules.
func (g *generator) unlessWrites(o *Opening) (over []int) {
	const short = 2 // jmp with a displacement of one byte
	g.save(x86.RCX, layout.Scratch0)
	g.load(x86.RCX, 8, slot(layout.OpenWriter))
	g.plain(0xe3, lenMov+lenJmp) // jrcxz
	busy := []int{g.over()}
	g.lea(x86.RCX, at(o.Bytes, -1))
	g.store(slot(tableSlot), 8, x86.RCX)
	g.imm(x86.RCX, closedShift)
	g.shrxSlot(x86.RCX, slot(tableSlot))
	g.plain(0xe3, lenMov+lenJmp) // jrcxz
	busy = append(busy, g.over())
	g.shadow(x86.RCX, o.At, 8)
	g.plain(0xe3, short) // jrcxz
	g.begin()
	g.bytes(0xeb, lenMov+lenJmp)
	over = append(over, g.over())
	g.restore(x86.RCX)
	g.here(busy)
	return over
}

// noteCall has the first open call of an allocator begin; rcx is where it returns to.
func (g *generator) noteCall(o *Opening) {
	member := func(off int32) mem { return slot(layout.AllocCall + off) }
	g.store(member(layout.CallPC), 8, x86.RCX)
	if o.At == x86.NoReg {
		g.storeImm(member(layout.CallPtr), 8, 0)
	} else {
		g.store(member(layout.CallPtr), 8, o.At)
	}
	g.store(member(layout.CallBytes), 8, o.Bytes)
	g.imm(x86.RCX, o.Func)
	g.store(member(layout.CallFunc), 8, x86.RCX)
	g.storeImm(member(layout.CallIndex), 8, uint64(o.Index))
	g.negativeSP()
	g.store(slot(layout.OpenCall), 8, x86.RCX)
	g.store(member(layout.CallSP), 8, x86.RSP)
}

// noteWriter does so for a writer.
func (g *generator) noteWriter(o *Opening) {
	member := func(off int32) mem { return slot(layout.WriterAt + off) }
	g.store(member(layout.WriterPC), 8, x86.RCX)
	g.store(member(layout.WriterSP), 8, x86.RSP)
	g.store(member(layout.WriterDst), 8, o.At)
	if o.Bytes != x86.NoReg {
		g.store(member(layout.WriterLen), 8, o.Bytes)
	}
	g.storeImm(member(layout.WriterFunc), 8, uint64(o.Index))
	g.storeImm(slot(layout.Writers), 4, 1)
	g.negativeSP()
	g.store(slot(layout.OpenWriter), 8, x86.RCX)
}

// negativeSP sets rcx to the negative of the stack pointer, and leaves the flags alone.
func (g *generator) negativeSP() {
	g.lea(x86.RCX, at(x86.RSP, 0))
	g.plain(0x48, 0xf7, 0xd1) // not rcx
	g.lea(x86.RCX, at(x86.RCX, 1))
}

// over appends a jump to what here will say, with rcx as it was, and returns the place of its
// displacement.
func (g *generator) over() int {
	open := g.state
	g.restore(x86.RCX)
	g.begin()
	g.bytes(0xe9)
	at := g.off()
	g.int32(0)
	g.state = open
	return at
}

// here has jumps of unlessOpen lead to what is appended next.
func (g *generator) here(over []int) {
	for _, at := range over {
		binary.LittleEndian.PutUint32(g.buf[g.start+at:], uint32(g.off()-at-4))
	}
}

// hookClobbers are the registers that the hook routine may change, as bits (System V
// ABI, figure 3.4), and the stack pointer.
const hookClobbers = 1<<x86.RAX | 1<<x86.RCX | 1<<x86.RDX | 1<<x86.RSP | 1<<x86.RSI | 1<<x86.RDI | 1<<8 | 1<<9 | 1<<10 | 1<<11

// moveSP appends lea rsp, [rsp+n].
func (g *generator) moveSP(n int8) { g.plain(0x48, 0x8d, 0x64, 0x24, byte(n)) }

func (g *generator) push(r x86.Reg) {
	if r >= 8 {
		g.plain(0x41, 0x50|byte(r&7))
		return
	}
	g.plain(0x50 | byte(r))
}

// pop gives r the program's value.
func (g *generator) pop(r x86.Reg) {
	if r >= 8 {
		g.plain(0x41, 0x58|byte(r&7))
	} else {
		g.plain(0x58 | byte(r))
	}
	g.state.held &^= 1 << r
}
