package emit

import (
	"encoding/binary"

	"mgtrace/inline/layout"
	"mgtrace/inline/patch"
	"mgtrace/x86"
)

// A chain is a trampoline for several stores of a straight line of code: what lies
// between them is copied, so that control goes there and back once for all, and the
// cursor stays in one register. Conditional jumps in between lead out of it, by way
// of its end, where the register gets its value back. Who jumps to a store in the
// middle meets its own trampoline.
//
// The bounds keep trampolines short: each of n stores begins a chain of its own.
const (
	chainStores = 5  // stores in a chain, at most
	chainGap    = 5  // instructions from one to the next, at most
	chainReach  = 40 // bytes
)

// link is an instruction of a chain.
type link struct {
	pc   uint64
	code []byte // from it on
	in   x86.Inst
	site int // index of the site whose store it is; None: it is only copied
}

func (l *link) next() uint64 { return l.pc + uint64(l.in.Len) }

// cursorRegs may hold the cursor of a chain, as bits: the registers that no
// instruction uses without naming them. R12 and R13 make longer addresses.
const cursorRegs = 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<14 | 1<<15

// chain returns the links of the chain that begins at a site, and a register that
// none of them names; none if there would be only one store. With a shadow table most
// stores leave the cursor alone: no register has it, NoReg. The links are valid as long as
// the generator is.
func (g *generator) chain(m *Maker, i int) (links []link, cursor x86.Reg) {
	if !m.chains || !m.reaches(i) || !m.mayLink(&m.sites[i]) {
		return nil, 0
	}
	pc, code := m.sites[i].PC, m.sites[i].Code
	g.links = g.links[:0]
	stores, last, gap := 0, 0, 0
	free, lastFree := uint32(cursorRegs), uint32(0)
	for next := i; gap <= chainGap; gap++ {
		in, err := x86.Decode(code, pc)
		if err != nil || !m.copies(i, pc, &in) {
			break
		}
		for r := range x86.Reg(16) {
			if free&(1<<r) != 0 && in.Kind == x86.KindOther && in.MayName(r) {
				free &^= 1 << r
			}
		}
		if free == 0 && !m.options.Filter.On {
			break
		}
		l := link{pc, code, in, None}
		if m.sites[next].PC == pc {
			if !m.mayLink(&m.sites[next]) || !chainable(code[:in.Len], &in) {
				break
			}
			l.site = next
		}
		g.links = append(g.links, l)
		if l.site != None {
			stores, last, lastFree, gap = stores+1, len(g.links), free, -1
			if stores == chainStores || !m.reaches(next) {
				break
			}
			next++
		}
		pc, code = pc+uint64(in.Len), code[in.Len:]
		if m.sites[next].PC < pc {
			break // inside an instruction
		}
	}
	if stores < 2 {
		return nil, 0
	}
	if m.options.Filter.On {
		return g.links[:last], x86.NoReg
	}
	for r := range x86.Reg(16) {
		if lastFree&(1<<r) != 0 {
			return g.links[:last], r
		}
	}
	return nil, 0
}

// copies says whether the trampoline of a site may have a copy of an instruction at pc,
// which follows: one that is Movable, or a jump by flags, if a trampoline reaches what it
// refers to.
func (m *Maker) copies(i int, pc uint64, in *x86.Inst) bool {
	if in.Kind == x86.KindJcc {
		return in.Branch() == x86.BranchJcc && m.near(i, in.Target)
	}
	op, mem := in.Operand()
	return in.Movable() && (!mem || !op.RIPRelative || m.near(i, pc+uint64(in.Len)+uint64(op.Disp)))
}

// near says whether the trampoline of a site reaches an address.
func (m *Maker) near(i int, to uint64) bool {
	return to-m.sites[i].PC+patch.Near < 2*patch.Near
}

// tail returns what the trampoline of a site executes last, where pc is behind what it
// is for: the instructions of which bytes are also bytes of the jump that leads to the
// trampoline. They could be executed where they are. But Intel's processors know a
// branch by its last byte: who goes on in front of that is taken for one who jumps
// again, which costs 6 ns. With the prefixes of T1 the jump may end behind its opcode
// and four bytes more; if not all instructions of those bytes can be copied, some are.
func (g *generator) tail(m *Maker, i int, pc uint64) []link {
	s := &m.sites[i]
	in, _ := x86.Decode(s.Code, s.PC) // a site that has a trampoline
	least, end := s.PC+patch.JumpLen, s.PC+max(patch.JumpLen, uint64(in.Len)+patch.JumpLen-1)
	if in.Len >= patch.JumpLen || !m.sorted || pc >= end {
		return nil
	}
	g.last = g.last[:0]
	next := i + 1
	for next < len(m.sites) && m.sites[next].PC < pc {
		next++
	}
	for pc < end {
		code := s.Code[min(pc-s.PC, uint64(len(s.Code))):]
		in, err := x86.Decode(code, pc)
		ends := in.Kind == x86.KindRet || in.Branch() == x86.BranchJmp && m.near(i, in.Target)
		if behind := pc + uint64(in.Len); err != nil || !ends && !m.copies(i, pc, &in) ||
			next < len(m.sites) && m.sites[next].PC < behind {
			break
		}
		g.last = append(g.last, link{pc, code, in, None})
		pc += uint64(in.Len)
		if ends {
			return g.last
		}
	}
	if pc < least {
		return nil
	}
	return g.last
}

// reaches says whether the next site is near.
func (m *Maker) reaches(i int) bool {
	return i+1 < len(m.sites) && m.sites[i+1].PC-m.sites[i].PC <= chainReach
}

// mayLink says whether nothing but a store is recorded at a site.
func (m *Maker) mayLink(s *Site) bool { return s.Tag != None && s.Hook == None && !s.After }

// chainable says whether a store can be recorded with nothing kept from before it,
// and without RAX or a register that has no REX prefix.
func chainable(code []byte, in *x86.Inst) bool {
	st := &in.Store
	if in.Effect != x86.EffectStore || st.Shape != x86.ShapeFixed || st.Atomic || st.Segment != 0 || layout.Complex(st) ||
		st.Base != x86.NoReg && in.Clobbers(st.Base) || st.Index != x86.NoReg && in.Clobbers(st.Index) {
		return false
	}
	switch v, _ := valueOf(code, in); v {
	case valueImm, valueReg, valueSwap, valueVector, valueMemory:
		return true
	}
	return false
}

// chainSite makes the trampoline of a chain, which is that of site i.
func (g *generator) chainSite(m *Maker, i int, links []link, cursor x86.Reg) error {
	g.chained, g.cursor = cursor != x86.NoReg, cursor
	for n := range links {
		l := &links[n]
		g.begins(l.pc, l.in, l.site)
		if n == 0 && g.chained {
			g.save(cursor, recSlot)
			g.load(cursor, 8, slot(layout.Cursor))
		}
		var err error
		switch {
		case l.in.Kind == x86.KindJcc && g.chained:
			g.leave(&l.in)
		case l.site == None:
			err = g.displaced(l.code)
		default:
			err = g.storeSite(&m.sites[l.site])
		}
		if err != nil {
			return err
		}
	}
	if g.chained {
		g.restore(cursor)
	}
	if err := g.goOn(m, i); err != nil {
		return err
	}
	for i := range g.exits {
		g.exit(&g.exits[i])
	}
	return nil
}

// goOn appends the tail of site i's trampoline, behind the instruction that was made
// last, and the jump back.
func (g *generator) goOn(m *Maker, i int) error {
	for _, l := range g.tail(m, i, g.state.next) {
		switch g.begins(l.pc, l.in, None); l.in.Kind {
		case x86.KindJmp:
			g.state.next = l.in.Target
		default:
			if err := g.displaced(l.code); err != nil {
				return err
			}
		}
		g.state.executed = true
		if l.in.Kind == x86.KindRet {
			return nil
		}
	}
	g.jump(g.at, g.state.next)
	return nil
}

// exit is a conditional jump that leads out of a chain.
type exit struct {
	at int // offset of its displacement in buf
	to uint64
	state
}

// leave appends a conditional jump to an exit, which is still to be made.
func (g *generator) leave(in *x86.Inst) {
	g.steps[g.state.step].displaced = g.off()
	g.plain(0x0f, 0x80|in.Condition())
	g.exits = append(g.exits, exit{len(g.buf), in.Target, g.state})
	g.int32(0)
}

// exit appends what follows a jump that is taken.
func (g *generator) exit(e *exit) {
	binary.LittleEndian.PutUint32(g.buf[e.at:], uint32(len(g.buf)-e.at-4))
	g.state = e.state
	g.state.pc, g.state.next = e.to, e.to
	g.restore(g.cursor)
	g.jump(g.at, e.to)
}
