package replay

import (
	"encoding/binary"
	"slices"

	"mgtrace/x86"
)

// A call that the compiler has inlined begins in the middle of another function, in whose frame it works, and it is over where control
// leaves its instructions. The frame is moved to where the run has its stack, and with it what registers and its own words hold that leads
// there:
//
//	         │ not known    │
//	         ├──────────────┤
//	         │ Frame        │
//	sp       ├──────────────┤
//	         │ not known    │ the red zone (x86-64 psABI 3.2.2)
//	sp-128   ├──────────────┤
//	         │ the run's    │

// Begun is how such a call began.
type Begun struct {
	Regs   [16]uint64 // by their DWARF numbers
	Frame  []uint64   // what lay on the stack, from the stack pointer on
	Leaves []uint64   // where it is over, if no call of it is open
}

const (
	aboveBegun = 1 << 16 // bytes of the outer frames that are moved
	redZone    = 128     // bytes
)

// began has the registers hold what they held when the call began.
func (c *cpu) began(b *Begun) {
	was := b.Regs[x86.Reg(rsp).DWARF()]
	moved := stackTop - aboveBegun - 4096 + was&4095
	c.outer = moved - redZone
	move := func(v uint64) uint64 {
		if v-(was-redZone) < aboveBegun {
			v += moved - was
		}
		return v
	}
	for i, v := range b.Frame {
		c.put(moved+8*uint64(i), binary.LittleEndian.AppendUint64(nil, move(v)))
	}
	for r := range c.reg {
		c.give(r, move(b.Regs[x86.Reg(r).DWARF()]))
	}
}

// over: the call has returned, or control has left its instructions.
func (c *cpu) over() bool {
	b := c.call.Begun
	return c.pc == outside || b != nil && len(c.frames) == 0 && c.run.Steps > 0 && slices.Contains(b.Leaves, c.pc)
}
