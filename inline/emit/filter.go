package emit

import (
	"encoding/binary"

	"mgtrace/inline/layout"
	"mgtrace/x86"
)

// With a shadow table most stores are dropped, and of their trampolines as little is
// executed as that takes: one register is borrowed, the byte of the granule is brought to
// it, and jrcxz, which leaves the flags alone, leads on if it is 0. What records lies
// behind all that.

// tableSlot is where an address is that is looked up.
const tableSlot = sideSlot

// kept is a store of which a record is made behind the trampoline's main part.
type kept struct {
	at   int // offset in buf of the displacement of the jump that leads there
	plan storePlan
	site *Site
	in   x86.Inst
	state
}

// shadow appends to = the bytes in the shadow table of so many granules, from that at an address on. It
// leaves the flags alone.
func (g *generator) shadow(to, addr x86.Reg, granules int) {
	g.imm(to, layout.GranuleShift)
	g.shrx(to, addr, to)
	g.inTable(to, granules)
}

// inTable appends to = the bytes of so many granules, from that of this number on.
func (g *generator) inTable(to x86.Reg, granules int) {
	g.state.fault = FaultOperand
	g.load(to, granules, mem{base: to, index: x86.NoReg, disp: g.options.Filter.Shadow})
}

// unlessOpenGranule appends what leads to a record of the store, still to be made, if its
// granule is open. Behind it the register is the program's again.
func (g *generator) unlessOpenGranule(p *storePlan, s *Site) {
	g.save(x86.RCX, recSlot)
	g.granule(p, s)
	g.plain(0xe3, lenJmp) // jrcxz
	g.begin()
	g.bytes(0xe9)
	g.kept = append(g.kept, kept{len(g.buf), *p, s, g.in, g.state})
	g.int32(0)
	g.restore(x86.RCX)
}

// granule appends rcx = the byte of the store's granule. rcx has been saved.
func (g *generator) granule(p *storePlan, s *Site) {
	st := p.store
	from, base := slot(tableSlot), st.Base
	switch {
	case p.keepAddr && !p.parts.FromBase:
		from = slot(layout.Address)
	case p.keepAddr && st.Disp == 0:
		from = slot(layout.Address)
	case p.keepAddr:
		g.load(x86.RCX, 8, slot(layout.Address))
		g.lea(x86.RCX, at(x86.RCX, int(st.Disp)))
		g.store(from, 8, x86.RCX)
	case p.parts.FromBase && st.Disp == 0 && base == x86.RCX:
		from = slot(recSlot)
	case p.parts.FromBase && st.Disp == 0:
		g.shadow(x86.RCX, base, 1)
		return
	default:
		to := *p
		to.addr = x86.RCX
		g.address(&to, s)
		g.store(from, 8, x86.RCX)
	}
	g.imm(x86.RCX, layout.GranuleShift)
	g.shrxSlot(x86.RCX, from)
	g.inTable(x86.RCX, 1)
}

// keep makes the record of a store whose granule is open, and what leads back: before the
// store executes that is done here too, so that everywhere it is known whether there is a
// record.
func (g *generator) keep(k *kept) error {
	binary.LittleEndian.PutUint32(g.buf[k.at:], uint32(len(g.buf)-k.at-4))
	g.state, g.in = k.state, k.in
	p := k.plan
	p.store = &g.in.Store
	if p.rec != x86.RCX {
		g.restore(x86.RCX)
	}
	g.record(&p, k.site)
	if p.before {
		if err := g.copied(k.site.Code); err != nil {
			return err
		}
	}
	g.jump(g.at, g.at+uint64(g.steps[g.state.step].end))
	return nil
}

// orders appends what says in the record of a locked store, which is kept wherever it writes,
// whether more than its stamp is wanted: another thread may have waited for it. The scratch
// register val has been saved, and is not needed any more.
func (g *generator) orders(p *storePlan) {
	if p.disp != 0 {
		g.lea(p.addr, at(p.addr, p.disp))
	}
	g.shadow(p.val, p.addr, 1)
	g.lea(p.val, at(p.val, layout.ClosedStamp))
	stamp := layout.StoreValue + layout.PaddedWidth(p.store.Width)
	if p.parts.Base {
		stamp += 8
	}
	g.log(func() { g.store(at(p.rec, stamp+7), 1, p.val) }) // which it has reached already
}
