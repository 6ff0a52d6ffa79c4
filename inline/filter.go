package inline

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"mgtrace/inline/emit"
	"mgtrace/inline/layout"
	"mgtrace/inline/matter"
	"mgtrace/probe"
	"mgtrace/target"
)

// The shadow table has one byte for each granule of the address space. It is
// reserved, not taken: only its pages that blocks have use memory. Its address
// fits the 32 bits of a displacement.
//
// It fills 8 TB of the lowest addresses, and what a broken program takes for a
// pointer often lies there: two small numbers side by side, or the link of glibc's
// free lists, which is an address divided by 4096. Such an access has to fault as it
// would without us. So the table can be accessed only where programs have their
// memory: the pieces for what is mapped at the start, and for the upper half of user
// space, where position-independent programs, their heaps and all later mappings
// lie (ELF_ET_DYN_BASE and mmap_base in arch/x86). Others are opened at the first
// store that asks for them.
const (
	shadowAt    = 0x7000_0000
	shadowSize  = 1 << (47 - layout.GranuleShift)
	shadowPiece = 1 << 24 // bytes opened at a time: 256 MB of memory
	upperHalf   = 0x5000_0000_0000
	openByte    = 4 // see emit.Filter

	verdicts = 1 << 14 // entries of the table of verdicts
)

// filterStores has the trampolines drop the records of stores outside of blocks
// that matter: they are in none, or the stack of the call that allocated it says so.
func (e *Engine) filterStores() error {
	if !cpu.X86.HasBMI2 {
		return errors.New("this processor has no BMI2")
	}
	at, err := e.proc.Syscall(unix.SYS_MMAP, shadowAt, shadowSize, unix.PROT_NONE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE|unix.MAP_FIXED_NOREPLACE, ^uint64(0), 0)
	if err != nil {
		return fmt.Errorf("reserve the shadow table: %w", err)
	}
	e.shadow = at
	for _, advice := range []uint64{unix.MADV_DONTFORK, unix.MADV_DONTDUMP} {
		if _, err := e.proc.Syscall(unix.SYS_MADVISE, at, shadowSize, advice); err != nil {
			return fmt.Errorf("shadow table: %w", err)
		}
	}
	if err := e.openMapped(); err != nil {
		return fmt.Errorf("shadow table: %w", err)
	}
	a := e.arena
	config := uint64(layout.ConfigFilter)
	if e.opts.Matter.Only {
		config |= layout.ConfigSettled
	}
	if e.chunks() {
		config |= layout.ConfigBehind
	} else { // another block may begin right behind one that matters, or share its granule: it has to be known
		e.opts.Matter.Forget = false
	}
	e.fillNamed(e.opts.Matter.Named)
	if e.opts.Matter.Forget {
		config |= layout.ConfigForget
		*a.process(layout.Late) = e.at.late
	}
	if len(e.opts.Matter.Members) > 0 {
		*a.process(layout.Barren), *a.process(layout.LeastBlock) = e.at.barren, e.opts.Matter.Least
	}
	*a.process(layout.Config) |= config
	*a.process(layout.Shadow) = at
	*a.process(layout.Verdicts) = e.at.verdicts
	*a.process(layout.VerdictMask) = verdicts - 1
	a.mem[layout.OpenByte] = openByte
	e.filter = emit.Filter{On: true, Shadow: shadowAt}
	return e.openGlobals(e.plan.Globals)
}

// chunks says whether the program's only malloc is glibc's, which keeps the size of the next
// block behind each. The symbol tables tell, as they tell of malloc: the debug information of
// the whole C library takes longer to read than many a program runs.
func (e *Engine) chunks() bool {
	glibcs := func(linkage string) bool { return linkage == "__libc_mallopt" } // others define __libc_malloc too: musl, mimalloc, tcmalloc
	found := false
	for i := range e.plan.Funcs {
		f := &e.plan.Funcs[i]
		if f.Name != "malloc" || f.Declared {
			continue
		}
		if len(e.plan.Images[f.Entry.Image].File.FuncsLinked(glibcs)) == 0 {
			return false
		}
		found = true
	}
	return found
}

// fillNamed tells the hook routine which code opens what is allocated in it.
func (e *Engine) fillNamed(named []matter.Code) {
	if len(named) == 0 {
		return
	}
	a := e.arena
	lo, hi := named[0].Lo, named[0].Hi
	for i, c := range named {
		lo, hi = min(lo, c.Lo), max(hi, c.Hi)
		at := e.at.named - a.base + uint64(i)*16
		*word(a.mem, at), *word(a.mem, at+8) = c.Lo, c.Hi-c.Lo
	}
	*a.process(layout.Named) = e.at.named
	*a.process(layout.NamedLo), *a.process(layout.NamedSpan) = lo, hi-lo
	binary.LittleEndian.PutUint32(a.mem[layout.NamedCount:], uint32(len(named)))
}

// openMapped makes the table accessible for what is mapped, and for where most
// programs map more.
func (e *Engine) openMapped() error {
	maps, err := e.proc.Maps()
	if err != nil {
		return err
	}
	opened := uint64(0) // the end of the last piece
	for _, m := range maps {
		lo, hi := m.Lo>>layout.GranuleShift&^(shadowPiece-1), m.Hi>>layout.GranuleShift+shadowPiece
		if m.Lo >= upperHalf || shadowAt <= m.Lo && m.Lo < shadowAt+shadowSize {
			continue // below, or of our own making
		}
		if lo = max(lo, opened); lo < hi {
			opened = hi &^ (shadowPiece - 1)
			if err := e.openShadow(e.proc.Syscall, lo, opened); err != nil {
				return err
			}
		}
	}
	return e.openShadow(e.proc.Syscall, upperHalf>>layout.GranuleShift, shadowSize)
}

// openShadow makes the bytes of the table from lo to hi accessible.
func (e *Engine) openShadow(call func(nr uint64, args ...uint64) (uint64, error), lo, hi uint64) error {
	_, err := call(unix.SYS_MPROTECT, e.shadow+lo, hi-lo, unix.PROT_READ|unix.PROT_WRITE)
	return err
}

// shadowFault opens the piece of the table that an instruction of ours has met
// closed. It is false if there is none.
func (e *Engine) shadowFault(th *target.Stopped, sig syscall.Signal, addr uint64) bool {
	off := addr - e.shadow
	if e.shadow == 0 || sig != unix.SIGSEGV || off >= shadowSize {
		return false
	}
	off &^= shadowPiece - 1
	return e.openShadow(th.Syscall, off, off+shadowPiece) == nil
}

// openGlobals has stores to declared objects in static memory recorded.
func (e *Engine) openGlobals(globals []probe.Global) error {
	for _, g := range globals {
		bias := e.images[e.plan.ImageOf(g.Path)].bias
		lo := (bias + g.Addr) >> layout.GranuleShift
		hi := (bias + g.Addr + g.Size + layout.Granule - 1) >> layout.GranuleShift
		b := make([]byte, hi-lo)
		for i := range b {
			b[i] = openByte
		}
		if err := e.proc.WriteMemory(b, shadowAt+lo); err != nil {
			return fmt.Errorf("shadow table: %w", err)
		}
	}
	return nil
}

// unsay takes back what return addresses from lo to hi say: blocks that are allocated there are recorded. Their
// entries stay, since others may lie behind them. What concerns stacks may concern such that lead there.
func (e *Engine) unsay(lo, hi uint64) {
	if !e.filter.On {
		return
	}
	open := matter.Frame{Says: matter.Open, Step: matter.NoStep}
	table := e.arena.mem[e.at.verdicts-e.arena.base:][:verdicts*layout.VerdictSize]
	for at := 0; at < len(table); at += layout.VerdictSize {
		if ret := *word(table, uint64(at)); lo <= ret && ret < hi {
			open.Put(table[at:])
		}
	}
	if e.at.barren != 0 {
		for i := range uint64(layout.BarrenKinds) {
			atomic.StoreUint32(e.kind(i)(0), 0)
		}
	}
}

// Filtering says whether stores outside of blocks that matter are dropped.
func (e *Engine) Filtering() bool { return e.filter.On }

// Tell notes what is known of a return address. It is false if there is no room; then
// blocks of which such frames are to tell are recorded as before. It may be called while
// the process runs.
func (e *Engine) Tell(f matter.Frame) bool {
	if !e.filter.On {
		return false
	}
	base := e.at.verdicts - e.arena.base
	first := f.Ret * layout.VerdictHash >> layout.VerdictShift
	for i := range uint64(layout.VerdictProbes) {
		at := base + (first+i)&(verdicts-1)*layout.VerdictSize
		switch *word(e.arena.mem, at) {
		case f.Ret:
			return true
		case 0:
			f.Put(e.arena.mem[at:])
			atomic.StoreUint64(word(e.arena.mem, at), f.Ret)
			return true
		}
	}
	return false
}
