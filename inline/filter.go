package inline

import (
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"mgtrace/inline/emit"
	"mgtrace/inline/layout"
	"mgtrace/probe"
)

// The shadow table has one byte for each granule of the address space. It is
// reserved, not taken: only its pages that blocks have use memory. Its address
// fits the 32 bits of a displacement.
const (
	shadowAt   = 0x7000_0000
	shadowSize = 1 << (47 - layout.GranuleShift)
	openByte   = 4 // see emit.Filter

	verdicts = 1 << 14 // entries of the table of verdicts
)

// filterStores has the trampolines drop the records of stores outside of blocks
// that matter: they are in none, or the call that allocated it is Ignored.
func (e *Engine) filterStores() error {
	if !cpu.X86.HasBMI2 {
		return errors.New("this processor has no BMI2")
	}
	at, err := e.proc.Syscall(unix.SYS_MMAP, shadowAt, shadowSize, unix.PROT_READ|unix.PROT_WRITE,
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
	a := e.arena
	*a.process(layout.Config) |= layout.ConfigFilter
	*a.process(layout.Shadow) = at
	*a.process(layout.Verdicts) = e.at.verdicts
	*a.process(layout.VerdictMask) = verdicts - 1
	a.mem[layout.OpenByte] = openByte
	e.filter = emit.Filter{On: true, Shadow: shadowAt}
	return e.openGlobals(e.plan.Globals)
}

// openGlobals has stores to declared objects in static memory recorded.
func (e *Engine) openGlobals(globals []probe.Global) error {
	for _, g := range globals {
		bias := e.images[e.plan.ImageOf(&g)].bias
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

// Filtering says whether stores outside of blocks that matter are dropped.
func (e *Engine) Filtering() bool { return e.filter.On }

// Ignore drops the stores to blocks that the allocator calls will allocate that
// return to an address. It is false if there is no room to note that; then they
// are recorded as before. It may be called while the process runs.
func (e *Engine) Ignore(ret uint64) bool {
	if !e.filter.On {
		return false
	}
	base := e.at.verdicts - e.arena.base
	first := ret * layout.VerdictHash >> layout.VerdictShift
	for i := range uint64(layout.VerdictProbes) {
		at := base + (first+i)&(verdicts-1)*layout.VerdictSize
		switch *word(e.arena.mem, at) {
		case ret:
			return true
		case 0:
			*word(e.arena.mem, at+8) = layout.VerdictClosed
			atomic.StoreUint64(word(e.arena.mem, at), ret)
			return true
		}
	}
	return false
}
