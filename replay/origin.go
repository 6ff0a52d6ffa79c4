package replay

import "golang.org/x/arch/x86/x86asm"

// Origin is where a value was computed, or read from memory, that was only copied since: between registers, and to
// and from the stack, as an argument is that is passed on.
type Origin struct {
	PC      uint64
	Calls   []uint64 // return addresses of the calls around it, innermost first
	Given   bool     // it is an argument of the call that is executed
	Effects int      // how many there were before it
	Addr    uint64   // where in memory it was read, of eight bytes; 0: it was not
}

// here is the origin of what the present instruction computes.
func (c *cpu) here() *Origin {
	if len(c.originsLeft) == 0 {
		c.originsLeft = make([]Origin, 64)
	}
	o := &c.originsLeft[0]
	c.originsLeft = c.originsLeft[1:]
	*o = Origin{PC: c.pc, Calls: c.around(), Effects: len(c.run.Effects)}
	return o
}

// origin is that of the result of the present instruction.
func (c *cpu) origin(in *inst) *Origin {
	switch in.Op {
	case x86asm.MOV, x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD:
		switch a := &in.ops[1]; a.kind {
		case opReg:
			if c.from[a.n] != nil {
				return c.from[a.n]
			}
		case opMem:
			if o := c.kept[c.address(a)]; o != nil {
				return o
			}
			if o := c.here(); a.size == 8 {
				o.Addr = c.address(a)
				return o
			}
		}
	}
	return c.here()
}

// Lead is a pointer in memory by which a run has come to other memory.
type Lead struct {
	Addr    uint64 // of the pointer
	Effects int    // how many there were before it was read
	PC      uint64 // of the first instruction that read or wrote where it leads
}

// maxLeads bounds how many of these a run tells.
const maxLeads = 1 << 10

// led notes by which pointers the present instruction comes to memory.
func (c *cpu) led(in *inst) {
	for i := range in.ops {
		p := &in.ops[i]
		if !in.memory(i) || in.Op == x86asm.LEA || in.Op == x86asm.NOP || p.base < 0 || c.from[p.base] == nil || c.from[p.base].Addr == 0 {
			continue
		}
		if o := c.from[p.base]; len(c.run.Leads) < maxLeads {
			c.run.Leads = append(c.run.Leads, Lead{o.Addr, o.Effects, c.pc})
			o.Addr = 0 // it is told once
		}
	}
}

// keep notes where a result comes from, in a run that is not brief: in a register, on the stack, or in the effect that it has just had.
func (c *cpu) keep(in *inst, o *Origin) {
	switch a := &in.ops[0]; a.kind {
	case opReg:
		c.from[a.n] = o
	case opMem:
		addr := c.address(a)
		if stack(addr) {
			c.kept[addr] = o
		} else if n := len(c.run.Effects); n > 0 && c.run.Effects[n-1].Addr == addr {
			c.run.Effects[n-1].Origin = o
		}
	}
}
