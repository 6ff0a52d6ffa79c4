package emit

import (
	"fmt"

	"mgtrace/inline/layout"
	"mgtrace/x86"
)

// The places of the scratch registers. sideSlot is used by one after the other:
// RAX while a stamp is taken, and later a fourth scratch register.
const (
	addrSlot  = layout.Scratch0
	recSlot   = layout.Scratch1
	valueSlot = layout.Scratch2
	sideSlot  = layout.Scratch3
)

// storePlan is what is decided about a store before code is made.
type storePlan struct {
	store  *x86.Store
	tag    uint32
	parts  layout.StoreParts
	size   int   // of the record
	value  value // where its value comes from
	reg    x86.Reg
	vector vectorMove // valueVector
	before bool       // recorded before it executes
	// filtered: nothing is recorded where the granule is closed. A store that orders threads
	// always is.
	filtered bool

	keepAddr bool // what the record has as address is kept in gs:[Address] before it executes
	keepReg  bool // register kept is kept in gs:[Value] before it executes
	kept     x86.Reg

	addr, rec, val, side x86.Reg // scratch; addr may be the base register itself
	direct               bool    // addr is the base register: not saved, not computed
	disp                 int     // the store's address is so far behind addr
}

func (g *generator) planStore(s *Site) storePlan {
	st := &g.in.Store
	p := storePlan{store: st, parts: layout.PartsOf(st, g.options.Strict)}
	p.size = layout.StoreSize(st.Width, p.parts)
	p.tag = layout.Tag(s.Tag, p.size)
	p.value, p.reg = valueOf(s.Code[:g.in.Len], &g.in)
	p.before = st.Shape == x86.ShapeFixed && !st.Atomic && p.value <= valueVector && p.value != valuePair

	clobbers := st.Base != x86.NoReg && g.in.Clobbers(st.Base) || st.Index != x86.NoReg && g.in.Clobbers(st.Index)
	if !p.before {
		p.keepAddr = clobbers
		switch {
		case p.value == valueKept || p.value == valueKeptHigh || p.value == valueSum:
			p.keepReg, p.kept = true, p.reg
		case p.parts.Base && g.in.Clobbers(st.Base):
			p.keepReg, p.kept = true, st.Base
		}
	}
	if p.value == valueVector {
		p.vector, _ = vectorOf(s.Code[:g.in.Len])
	}
	avoid := uint32(1)<<x86.RSP | 1<<x86.RAX
	if p.before && !p.parts.Stamp {
		avoid = 1 << x86.RSP
	}
	for _, r := range []x86.Reg{st.Base, st.Index, p.reg} {
		if r != x86.NoReg {
			avoid |= 1 << r
		}
	}
	if p.value == valuePair {
		avoid |= 1<<x86.RAX | 1<<x86.RCX | 1<<x86.RDX | 1<<rbx
	}
	r := scratch(avoid)
	p.rec, p.addr, p.val, p.side = r[0], r[1], r[2], r[3]
	if g.chained {
		r = scratch(avoid | 1<<g.cursor)
		p.rec, p.addr, p.val, p.side = g.cursor, r[0], r[1], r[2]
	}
	p.filtered = g.options.Filter.On && !(st.Atomic && p.parts.Stamp && !g.options.Strict)
	if p.filtered && avoid&(1<<x86.RCX) == 0 { // which is borrowed already
		r = scratch(avoid | 1<<x86.RCX)
		p.rec, p.addr, p.val, p.side = x86.RCX, r[0], r[1], r[2]
	}
	// The shadow table is looked up by the address itself.
	p.direct = !p.keepAddr && p.parts.FromBase && (st.Disp == 0 || !g.options.Filter.On || p.filtered)
	if p.direct {
		p.addr = st.Base
	}
	if p.direct || p.keepAddr && p.parts.FromBase {
		p.disp = int(st.Disp)
	}
	return p
}

// storeSite makes the trampoline of a store, up to the jump back.
func (g *generator) storeSite(s *Site) error {
	p := g.planStore(s)
	if p.value == valueNone {
		return fmt.Errorf("%s: %d bytes can not be recorded", x86.Text(s.Code, s.PC), p.store.Width)
	}
	if p.before {
		if p.filtered {
			g.unlessOpenGranule(&p, s)
		} else {
			g.record(&p, s)
		}
		err := g.displaced(s.Code)
		g.steps[g.state.step].end = g.off()
		return err
	}
	g.prepare(&p, s)
	if err := g.displaced(s.Code); err != nil {
		return err
	}
	g.state.busy = true
	if p.filtered {
		g.unlessOpenGranule(&p, s)
		g.state.busy = false
	} else {
		g.record(&p, s)
	}
	g.steps[g.state.step].end = g.off()
	return nil
}

// prepare keeps what is lost when the store executes. In strict order a store
// that is neither locked nor exchanging takes its stamp here: it may be a
// release, and what another thread does after having seen it comes later. One
// whose record has the old value takes a first one, and until the record is
// whole that is where the reader stops.
func (g *generator) prepare(p *storePlan, s *Site) {
	switch {
	case p.keepAddr && p.parts.FromBase:
		g.store(slot(layout.Address), 8, p.store.Base)
	case p.keepAddr:
		g.save(p.addr, addrSlot)
		g.address(p, s)
		g.store(slot(layout.Address), 8, p.addr)
		g.restore(p.addr)
	}
	if p.keepReg {
		g.store(slot(layout.Value), 8, p.kept)
	}
	since := int32(0)
	switch {
	case p.parts.Old:
		since = layout.Since
	case p.parts.Stamp && !p.store.Atomic:
		since = layout.Stamp
	}
	if since != 0 {
		g.save(p.rec, recSlot)
		g.flags(p, since)
		g.restore(p.rec)
	}
}

// address appends the computation of the effective address. Its operand's
// registers have their values.
func (g *generator) address(p *storePlan, s *Site) {
	st := p.store
	switch {
	case st.Absolute():
		a := uint64(st.Disp)
		if st.RIPRelative {
			a += s.PC + uint64(g.in.Len)
		}
		if st.Addr32 {
			a &= 0xffff_ffff
		}
		g.imm(p.addr, a)
	default:
		g.lea(p.addr, mem{base: st.Base, index: st.Index, scale: st.Scale, disp: int32(st.Disp), addr32: st.Addr32})
	}
}

// record appends what writes the record and commits it.
func (g *generator) record(p *storePlan, s *Site) {
	// 1. The address, and the value as soon as possible: other threads may be
	// about to change it.
	if !p.direct {
		g.save(p.addr, addrSlot)
		if p.keepAddr {
			g.load(p.addr, 8, slot(layout.Address))
		} else {
			g.address(p, s)
		}
	}
	early := g.fetch(p)
	if g.state.saved&(1<<p.rec) == 0 {
		g.save(p.rec, recSlot)
	}

	// 2. Stamp and flags. RAX is used and given back.
	stamp := int32(0)
	if p.parts.Stamp && (p.before || p.store.Atomic) {
		stamp = layout.Stamp
	}
	if stamp != 0 || p.parts.Flags {
		g.flags(p, stamp)
	}
	// temp is free to be changed until the record is committed; fetched
	// values are not.
	temp := p.val
	tempUsed := p.value == valueMemory && !early || p.parts.Stamp || p.parts.Flags || p.parts.Base && p.keepReg && p.kept == p.store.Base
	switch {
	case early && tempUsed:
		temp = p.side
		g.save(temp, sideSlot)
	case !early && (tempUsed || g.options.Filter.On && !p.filtered):
		g.save(temp, valueSlot)
	}

	// 3. The record. The log may end at any of these stores. Who begins again
	// has changed the registers before he is here.
	g.state.reload = g.off()
	g.state.held |= g.state.saved
	if !g.chained {
		g.load(p.rec, 8, slot(layout.Cursor))
	}
	told := p.addr
	if p.parts.FromBase && !p.keepAddr {
		told = p.store.Base
	}
	g.log(func() { g.store(at(p.rec, layout.StoreAddr), 8, told) })
	g.log(func() { g.storeImm(at(p.rec, 0), 4, uint64(p.tag)) })
	g.writeValue(p, early, temp)
	g.writeParts(p, temp)

	// 4. Commit.
	g.commit(p)
	for _, r := range []x86.Reg{p.side, p.val, p.rec, p.addr} {
		if g.state.saved&(1<<r) != 0 && !(g.chained && r == p.rec) {
			g.restore(r)
		}
	}
}

// log makes an instruction that touches the log.
func (g *generator) log(f func()) {
	g.state.fault = FaultLog
	f()
}

// flags appends what keeps the status flags in gs:[Flags] and, if stamp is not 0, takes
// a stamp to gs:[stamp] and puts the flags back. rec must have been saved.
func (g *generator) flags(p *storePlan, stamp int32) {
	g.save(x86.RAX, sideSlot)
	g.keepFlags()
	if stamp != 0 {
		g.load(p.rec, 8, slot(layout.Process))
		g.imm(x86.RAX, 1)
		g.begin()
		g.bytes(0xf0) // lock xadd [rec+Order], rax
		g.lockXadd(p.rec)
		g.state.flags = FlagsSlot
		g.lea(x86.RAX, at(x86.RAX, 1))
		g.store(slot(stamp), 8, x86.RAX)
		g.load(x86.RAX, 8, slot(layout.Flags))
		g.putFlags()
	}
	g.restore(x86.RAX)
}

// keepFlags appends what keeps the status flags in gs:[Flags]. RAX must have been
// saved.
func (g *generator) keepFlags() {
	g.plain(0x9f) // lahf
	g.changed(x86.RAX)
	g.plain(0x0f, 0x90, 0xc0) // seto al
	g.store(slot(layout.Flags), 8, x86.RAX)
}

// putFlags appends what puts back the flags that keepFlags left in RAX: ADD AL, 7F
// overflows if SETO had set AL.
func (g *generator) putFlags() {
	g.plain(0x04, 0x7f) // add al, 0x7f
	g.plain(0x9e)       // sahf
	g.state.flags = FlagsLive
}

// lockXadd appends xadd [base+Order], rax as part of an instruction that has
// begun with a prefix.
func (g *generator) lockXadd(base x86.Reg) {
	g.bytes(0x48|byte(base>>3), 0x0f, 0xc1)
	g.modRM(x86.RAX, at(base, layout.Order))
}

// writeParts appends what follows the value in the record.
func (g *generator) writeParts(p *storePlan, temp x86.Reg) {
	off := layout.StoreValue + layout.PaddedWidth(p.store.Width)
	put := func(reg x86.Reg) {
		g.log(func() { g.store(at(p.rec, off), 8, reg) })
		off += 8
	}
	if p.parts.Base {
		if p.keepReg && p.kept == p.store.Base {
			g.load(temp, 8, slot(layout.Value))
			put(temp)
		} else {
			put(p.store.Base)
		}
	}
	if p.parts.Stamp {
		g.load(temp, 8, slot(layout.Stamp))
		put(temp)
	}
	if p.parts.Flags {
		g.load(temp, 8, slot(layout.Flags))
		put(temp)
	}
	if p.parts.Old {
		g.load(temp, 8, slot(layout.Since))
		put(temp)
		put(p.store.Old)
	}
}

// commit appends what advances the cursor.
func (g *generator) commit(p *storePlan) {
	if g.options.Filter.On && !p.filtered {
		g.orders(p)
	} else {
		g.op(0x0f0d, 4, 1, false, at(p.rec, layout.LogAhead)) // prefetchw
	}
	g.lea(p.rec, at(p.rec, p.size))
	g.store(slot(layout.Cursor), 8, p.rec)
	if g.state.executed {
		g.state.busy = false
	} else {
		g.state.undo, g.state.size = UndoSize, p.size
	}
}
