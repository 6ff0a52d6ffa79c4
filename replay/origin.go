package replay

import "golang.org/x/arch/x86/x86asm"

// Origin is where a value was computed, or read from memory, that was only copied since: between registers, and to
// and from the stack, as an argument is that is passed on.
type Origin struct {
	PC      uint64
	Calls   []uint64 // return addresses of the calls around it, innermost first
	Given   bool     // it is an argument of the call that is executed
	Effects int      // how many there were before it
}

// here is the origin of what the present instruction computes.
func (c *cpu) here() *Origin {
	if c.calls == nil {
		c.calls = c.stackOf(0)
	}
	return &Origin{PC: c.pc, Calls: c.calls, Effects: len(c.run.Effects)}
}

// origin is that of the result of the present instruction, nil if the run need not say.
func (c *cpu) origin(in *inst) *Origin {
	if c.call.Brief {
		return nil
	}
	switch in.Op {
	case x86asm.MOV, x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD:
		switch a := in.Args[1].(type) {
		case x86asm.Reg:
			if n, _, _, ok := general(a); ok && c.from[n] != nil {
				return c.from[n]
			}
		case x86asm.Mem:
			if o := c.kept[c.address(in, a)]; o != nil {
				return o
			}
		}
	}
	return c.here()
}

// keep notes where a result comes from: in a register, on the stack, or in the effect that it has just had.
func (c *cpu) keep(in *inst, o *Origin) {
	if c.call.Brief {
		return
	}
	switch a := in.Args[0].(type) {
	case x86asm.Reg:
		if n, _, _, ok := general(a); ok {
			c.from[n] = o
		}
	case x86asm.Mem:
		addr := c.address(in, a)
		if stack(addr) {
			c.kept[addr] = o
		} else if n := len(c.run.Effects); n > 0 && c.run.Effects[n-1].Addr == addr {
			c.run.Effects[n-1].Origin = o
		}
	}
}
