package replay

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// Stale is an access to a block that the run has freed, by an address that it had before that.
type Stale struct {
	PC    uint64
	Calls []uint64 // return addresses of the calls around it, innermost first
	Freed int      // the effect that freed the block
}

// freed is a block that the run has freed.
type freed struct {
	addr, size uint64
	effect     int
}

// forget notes that a block was freed, if the run is to say what is accessed of it.
func (c *cpu) forget(addr uint64) {
	if c.call.Size == nil {
		return
	}
	size := uint64(0)
	for i := range c.run.Effects {
		if e := &c.run.Effects[i]; e.Kind == Alloc && e.Addr == addr {
			size = e.Size
		}
	}
	if size == 0 {
		size = c.call.Size(addr)
	}
	c.freed = append(c.freed, freed{addr, size, len(c.run.Effects) - 1})
}

// reuse notes that a block lives.
func (c *cpu) reuse(addr, size uint64) {
	c.freed = slices.DeleteFunc(c.freed, func(f freed) bool { return f.addr < addr+size && addr < f.addr+f.size })
}

// stale notes the first access to what was freed. Where the address was read from memory only after that, something still leads
// there: that is no fault of the free.
func (c *cpu) stale(in *inst) {
	for i := range in.ops {
		p := &in.ops[i]
		if !in.memory(i) || in.Op == x86asm.LEA || in.Op == x86asm.NOP || p.base < 0 || c.from[p.base] == nil {
			continue
		}
		at := c.address(p)
		for _, f := range c.freed {
			if at-f.addr < f.size && c.from[p.base].Effects <= f.effect {
				c.run.Stale = &Stale{PC: c.pc, Calls: c.stackOf(0), Freed: f.effect}
			}
		}
	}
}
