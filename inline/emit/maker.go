package emit

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"

	"mgtrace/inline/layout"
	"mgtrace/x86"
)

// None is the absence of a store or a hook at a site.
const None = -1

// Site is an instruction that gets a trampoline.
type Site struct {
	PC   uint64 // its address in the process
	Code []byte // its original bytes; what follows the instruction is not looked at
	// Tag is the index of its store in the plan, or None. A store that is
	// layout.Complex is recorded by the hook routine, so Hook must be set.
	Tag int
	// Hook is the number of its hook site, or None. The routine is called
	// before the instruction, and before the record of its store.
	Hook int
	// After: the routine is called after the instruction too, as for a system
	// call. It is implied by a complex store.
	After bool
	// Leaves: the instruction leaves such functions, and that is all. The routine is
	// called only if an open call returns here (layout.OpenCall, layout.OpenWriter).
	Leaves Leaving
	// Frees: the instruction begins a function that frees the block at its first argument, and
	// that is all. The routine is called only if stores to the block are recorded, or a call
	// of an allocator is open. It needs a Filter.
	Frees bool
	// Beside: the instruction begins or leaves functions that nobody named, and that is all. The routine is not
	// called once their calls are not told any more (layout.Quiet).
	Beside bool
	// Opens: the instruction begins a function, and that is all; where no other call is open
	// the trampoline notes the call by itself, and the routine is not called.
	Opens *Opening
}

// Opening is a call as the routine would note it when it is entered.
type Opening struct {
	Writer bool
	Index  int     // of the function in the plan
	Func   uint64  // an allocator's descriptor (layout.FuncSize), in the process
	At     x86.Reg // the argument with the block that an allocator takes, or where a writer writes; NoReg: none
	Bytes  x86.Reg // the argument that says how much; NoReg: none does
	// Closed: nothing is noted of a writer. If no other is open and it writes at most 64 bytes, to granules
	// that are closed, the routine is not called. It needs a Filter.
	Closed bool
}

// Leaving says what an instruction leaves.
type Leaving uint8

// What the routine follows from its entry to its return.
const (
	Anything Leaving = iota // or nothing
	Allocators
	Writers
	Tails // allocators, by a jump to another function
)

// complex says whether the hook routine records a store of the site: it needs the
// flags for that.
func (s *Site) complex(in *x86.Inst) bool { return s.Tag != None && layout.Complex(&in.Store) }

// Filter says how records are dropped where they are made.
type Filter struct {
	On bool
	// Shadow is the address of the shadow table: the byte at Shadow + address>>4 is that
	// of a granule of 16 bytes. A record is dropped where it is 0, and kept where it is 4.
	Shadow int32
}

// Options of a Maker.
type Options struct {
	Strict bool // every record carries a stamp
	Filter Filter
	// Relocate appends the instruction at the start of code, whose address is
	// from, so that it behaves the same at address to.
	Relocate func(buf, code []byte, from, to uint64) ([]byte, error)
}

// Maker makes the trampolines of a set of sites. Several goroutines may use it.
type Maker struct {
	sites   []Site
	options Options
	sorted  bool      // by address: trampolines may go on behind their sites
	chains  bool      // stores of a straight line share a trampoline
	idle    sync.Pool // of *generator
}

// New returns a maker for sites, which it keeps and does not change. They must be
// sorted by address for trampolines to have more than one instruction of the program's,
// and for stores to share one; in strict order each takes a stamp, and none does.
func New(sites []Site, options Options) *Maker {
	sorted := slices.IsSortedFunc(sites, func(a, b Site) int { return cmp.Compare(a.PC, b.PC) })
	return &Maker{sites: sites, options: options, sorted: sorted, chains: sorted && !options.Strict,
		idle: sync.Pool{New: func() any { return new(generator) }}}
}

// generator returns one for a trampoline that is appended to buf, to lie at address at.
// It is to be released.
func (m *Maker) generator(buf []byte, at uint64) *generator {
	g := m.idle.Get().(*generator)
	*g = generator{asm: asm{buf: buf, start: len(buf)}, at: at, options: &m.options,
		links: g.links[:0], last: g.last[:0], steps: g.steps[:0], exits: g.exits[:0], kept: g.kept[:0], room: g.room}
	return g
}

// release takes a generator back, of which nothing is used any more.
func (m *Maker) release(g *generator) {
	g.buf, g.marks = nil, nil
	m.idle.Put(g)
}

// Emit appends the trampoline of a site as it is to lie at address at.
func (m *Maker) Emit(buf []byte, site int, at uint64) ([]byte, error) {
	g := m.generator(buf, at)
	defer m.release(g)
	if err := g.trampoline(m, site); err != nil {
		return buf, err
	}
	return g.buf, nil
}

// Span is the bytes of the code that the trampoline of a site stands for.
func (m *Maker) Span(site int) int {
	g := m.generator(nil, 0)
	defer m.release(g)
	links, _ := g.chain(m, site)
	if links == nil {
		s := &m.sites[site]
		in, _ := x86.Decode(s.Code, s.PC) // a site that has a trampoline
		links = []link{{pc: s.PC, in: in}}
	}
	if tail := g.tail(m, site, links[len(links)-1].next()); len(tail) > 0 {
		links = tail
	}
	return int(links[len(links)-1].next() - m.sites[site].PC)
}

// relocationSlack is by how many bytes an instruction that depends on its
// address may grow when it is moved farther away.
const relocationSlack = 32

// Size is an upper bound of the bytes of a site's trampoline, wherever it
// lies, or why it can not have one.
func (m *Maker) Size(site int) (int, error) {
	s := &m.sites[site]
	g := m.generator(nil, s.PC+1<<16)
	defer m.release(g)
	g.buf = g.room[:0]
	if err := g.trampoline(m, site); err != nil {
		return 0, err
	}
	g.room = g.buf
	n := len(g.buf)
	in, _ := x86.Decode(s.Code, s.PC) // trampoline has
	if o, mem := in.Operand(); in.Direct || mem && o.RIPRelative || in.Kind == x86.KindCall {
		n += relocationSlack
		if m.options.Filter.On {
			n += relocationSlack // a store is there twice
		}
	}
	return n, nil
}

// Where tells what offset off of a site's trampoline at address at means. It is
// false where no instruction begins.
func (m *Maker) Where(site int, at uint64, off int) (Position, bool) {
	for o, p := range m.positions(site, at) {
		if o == off {
			return p, true
		}
	}
	return Position{}, false
}

// InHook tells what it means that a thread is inside the hook routine, called
// from a site's trampoline: all registers of the program are in struct regs,
// whose word at RegsSite tells hook site and phase.
func (m *Maker) InHook(site int, word uint32) Position {
	s := &m.sites[site]
	var k state
	k.executed = word&layout.PhaseBit != 0
	in, _ := x86.Decode(s.Code, s.PC) // a site that has a trampoline
	k.called, k.busy, k.flags = !k.executed, true, FlagsSlot
	k.allOnStack()
	k.pc, k.next, k.site = s.PC, s.PC+uint64(in.Len), site
	return k.position()
}

// Address is the effective address of a site's store that has executed, where r
// are the program's registers behind it and kept is what gs:[Address] holds.
func (m *Maker) Address(site int, r *Registers, kept uint64) uint64 {
	s := &m.sites[site]
	g := generator{options: &m.options}
	g.in, _ = x86.Decode(s.Code, s.PC) // a site that has a trampoline
	st, p := &g.in.Store, g.planStore(s)
	addr := uint64(st.Disp)
	switch {
	case p.keepAddr && p.parts.FromBase:
		return kept + addr
	case p.keepAddr:
		return kept
	case st.RIPRelative:
		addr += s.PC + uint64(g.in.Len)
	}
	if st.Base != x86.NoReg {
		addr += r.General[st.Base]
	}
	if st.Index != x86.NoReg {
		addr += r.General[st.Index] * uint64(st.Scale)
	}
	if st.Addr32 {
		addr &= math.MaxUint32
	}
	return addr
}

// positions are those of all instructions of a trampoline.
func (m *Maker) positions(site int, at uint64) iter.Seq2[int, Position] {
	return func(yield func(int, Position) bool) {
		marks := make([]mark, 0, 128)
		g := m.generator(nil, at)
		defer m.release(g)
		g.marks = &marks
		if g.trampoline(m, site) != nil {
			return
		}
		for i := range marks {
			if !yield(marks[i].off, g.position(&marks[i])) {
				return
			}
		}
	}
}

// position is what a mark means, once everything has been made.
func (g *generator) position(k *mark) Position {
	p := k.position()
	if p.Fault == FaultLog {
		p.Reload = k.reload
	}
	if p.Fault == FaultLog || p.Fault == FaultOperand {
		p.Skip = g.steps[k.step].displaced
		if p.Executed {
			p.Skip = g.steps[k.step].end
		}
		p.Chained, p.Cursor = g.chained, g.cursor
	}
	return p
}

// step is where the trampoline of one instruction goes on without a record: at the
// instruction, and behind all that belongs to it.
type step struct{ displaced, end int }

// generator makes one trampoline.
type generator struct {
	asm
	at      uint64
	options *Options
	in      x86.Inst // at work
	chained bool
	cursor  x86.Reg // chained: it holds Cursor
	steps   []step
	exits   []exit
	kept    []kept

	// Memory for chain, tail and Size.
	links, last []link
	room        []byte
}

// begins begins with an instruction, the store of a site or None.
func (g *generator) begins(pc uint64, in x86.Inst, site int) {
	g.in = in
	g.state.pc, g.state.next, g.state.site, g.state.step = pc, pc+uint64(in.Len), site, len(g.steps)
	g.state.executed = false
	g.steps = append(g.steps, step{})
}

// trampoline makes the trampoline of a site.
func (g *generator) trampoline(m *Maker, site int) (err error) {
	if links, cursor := g.chain(m, site); links != nil {
		err = g.chainSite(m, site, links, cursor)
	} else {
		err = g.site(m, site)
	}
	for i := 0; i < len(g.kept) && err == nil; i++ {
		err = g.keep(&g.kept[i])
	}
	if err != nil {
		return fmt.Errorf("trampoline of %#x: %w", m.sites[site].PC, err)
	}
	return nil
}

// site makes the trampoline of one instruction.
func (g *generator) site(m *Maker, index int) error {
	s := &m.sites[index]
	in, err := x86.Decode(s.Code, s.PC)
	if err != nil {
		return err
	}
	g.begins(s.PC, in, index)
	plain := s.Tag != None
	after := s.After
	if plain {
		switch {
		case in.Effect != x86.EffectStore || in.Store.Shape == x86.ShapeUnsupported || in.Store.Segment != 0:
			return fmt.Errorf("%s is no store that can be recorded", x86.Text(s.Code, s.PC))
		case s.Tag > layout.MaxStore:
			return fmt.Errorf("store %d: too many stores", s.Tag)
		case s.complex(&in):
			plain, after = false, true
		}
	}
	leaves := in.Kind != x86.KindOther && in.Kind != x86.KindJcc // for good: a call returns to the original
	switch {
	case after && s.Hook == None:
		return fmt.Errorf("%s needs the hook routine", x86.Text(s.Code, s.PC))
	case after && leaves:
		return fmt.Errorf("%s does not go on behind itself", x86.Text(s.Code, s.PC))
	case s.Hook >= layout.PhaseBit:
		return fmt.Errorf("hook site %d: too many hook sites", s.Hook)
	}
	if s.Hook != None {
		var over []int
		switch {
		case s.Leaves != Anything:
			over = g.unlessOpen(s.Leaves)
		case s.Beside:
			over = g.unlessQuiet()
		case s.Frees:
			over = g.unlessClosed()
		case s.Opens != nil:
			over = g.notes(s.Opens)
		}
		g.hook(uint32(s.Hook), layout.PhaseBefore, s.complex(&in))
		g.here(over)
	}
	if plain {
		err = g.storeSite(s)
	} else {
		err = g.displaced(s.Code)
	}
	if err != nil {
		return err
	}
	if after {
		g.state.busy = true
		g.hook(uint32(s.Hook), layout.PhaseAfter, s.complex(&in))
	}
	g.steps[0].end = g.off()
	if plain && layout.PartsOf(&in.Store, g.options.Strict).Old {
		g.storeImm(slot(layout.Since), 8, 0)
	}
	if leaves {
		return nil
	}
	return g.goOn(m, index)
}

// displaced appends the program's instruction at the start of code. Behind it, it
// has executed.
func (g *generator) displaced(code []byte) error {
	g.steps[g.state.step].displaced = g.off()
	return g.copied(code)
}

// copied appends the program's instruction where nobody is led who goes on without a
// record.
func (g *generator) copied(code []byte) error {
	g.state.fault = FaultProgram
	begin := len(g.buf)
	to := g.at + uint64(g.off())
	g.begin()
	buf, err := g.options.Relocate(g.buf, code[:g.in.Len], g.state.pc, to)
	if err != nil {
		return err
	}
	g.buf = buf
	if g.marks != nil {
		g.insides(begin, isSyscall(code))
	}
	g.state.executed, g.state.partial, g.state.called, g.state.busy = true, false, false, false
	g.state.undo, g.state.size = UndoNone, 0
	return nil
}

// insides marks the instructions after the first of those that stand for the
// displaced one, which begin at g.buf[begin:]. What follows a system call only
// mends RCX, which the kernel sets to the program counter behind it.
func (g *generator) insides(begin int, syscall bool) {
	code, first := g.buf[begin:], begin-g.start
	s := g.state
	if syscall {
		s.executed, s.called, s.busy, s.fault = true, false, s.called, FaultNone
	} else {
		s.fault, s.partial = FaultProgram, true
	}
	for off := 0; ; {
		in, err := x86.Decode(code[off:], g.at+uint64(first+off))
		if err != nil {
			return // data that a jump of the relocated code leads over
		}
		if off += in.Len; off >= len(code) {
			return
		}
		*g.marks = append(*g.marks, mark{first + off, s})
	}
}

func isSyscall(code []byte) bool { return len(code) >= 2 && code[0] == 0x0f && code[1] == 0x05 }
