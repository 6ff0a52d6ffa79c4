package replay

import (
	"errors"
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// Crash is where the program died: an instruction, or the byte before the return address of a library function's call.
type Crash struct {
	PC   uint64
	Addr uint64 // where it found no memory, 0 if that is not known
	// Unknown is what a word is taken for of which nobody knows what it held; 0: nothing else than others of those.
	Unknown uint64
}

// Elsewhere is what a pointer held that the program followed when it died, if it died of that: no pointer, if it is not known.
func (m *Machine) Elsewhere(x Crash) uint64 {
	if x.Addr == 0 {
		return 1 << 62 // that is no address (SDM volume 1, 3.3.7.1)
	}
	if in := m.decode(x.PC); in != nil && in.name == "" {
		for i := range in.ops {
			if o := &in.ops[i]; o.kind == opMem && o.base >= 0 && o.index < 0 && !o.fixed {
				return x.Addr - o.number
			}
		}
	}
	return x.Addr
}

// Read is memory, not on the run's own stack, on which an address depends, or what the call was given, if it does on that.
type Read struct {
	PC      uint64 // of the instruction that read it
	Addr    uint64 // 0: the call was given Given
	Given   uint64
	Size    int
	Effects int // how many there were before it was read
	// Depth is 0 of what the address was read from, or computed from; of what led to memory of depth n it is n+1.
	Depth int
	Of    int // the read, by its number, to which this one led; -1: to where there is no memory
}

// source is where a value comes from: memory that it was read from, or what it was computed from.
type source struct {
	pc      uint64 // of the instruction that read it
	addr    uint64 // 0: it was computed
	given   uint64 // it is no memory, but the call's argument
	size    int
	effects int
	values  []*source // of what it was computed
	place   []*source // of what addr was computed
	chain   int       // so many were computed of one another in a row
	// stored is the memory that was given the value when it had been computed: a compiler goes on with what the register holds, where
	// the program reads it there.
	stored *source
}

// sources are those of what a run's registers hold, and of what lies on its stack.
type sources struct {
	reg  [16]*source
	kept map[uint64]*source
	// called is where that comes from to which the last call or jump led, if the program computed it.
	called *source
}

// Limits of what an address is followed through.
const (
	maxReads   = 24
	maxSources = 1 << 10
	maxChain   = 32 // of values, each computed of the one before alone; which of those behind was stored is not known any more
)

// missing: there was no memory at an address when the program died in the present instruction.
func (c *cpu) missing(addr uint64) bool {
	x := &c.call.Crash
	return x.Addr != 0 && addr/pageSize == x.Addr/pageSize && (c.pc == x.PC || c.last.name != "")
}

// traced executes an instruction, and notes where what it computes comes from. Where it dies, that is what the address comes from.
func (c *cpu) traced(in *inst) {
	s := c.sources
	if in.name != "" {
		args := [2]*source{s.reg[rdi], s.reg[rsi]}
		values := [2]uint64{c.reg[rdi], c.reg[rsi]}
		c.step(in)
		if s.reg[rax] = nil; !errors.Is(c.run.Err, ErrFault) {
			return
		}
		var place []*source
		for i, v := range values {
			if nowhere(v) || c.call.Crash.Addr != 0 && v/pageSize == c.call.Crash.Addr/pageSize {
				place = append(place, args[i])
			}
		}
		c.run.Reads = reads(place)
		return
	}
	now, place := s.of(c, in)
	to, addr := in.ops[0], uint64(0)
	if to.kind == opMem {
		addr = c.address(&in.ops[0])
	}
	before, pc := c.reg[rsp], c.pc
	c.step(in)
	if errors.Is(c.run.Err, ErrFault) {
		c.run.Reads = reads(place)
		return
	}
	switch in.Op {
	case x86asm.JMP, x86asm.CALL:
		s.called = now
	case x86asm.CMP, x86asm.TEST, x86asm.BT, x86asm.RET, x86asm.NOP, x86asm.LEAVE:
	case x86asm.PUSH:
		s.kept[c.reg[rsp]] = now
	case x86asm.POP:
		if to.kind == opReg {
			s.reg[to.n&15] = s.kept[before]
		}
	case x86asm.CDQ, x86asm.CQO:
		s.reg[rdx] = s.reg[rax]
	case x86asm.MUL, x86asm.DIV, x86asm.IDIV:
		s.reg[rax], s.reg[rdx] = now, now
	case x86asm.XCHG, x86asm.XADD, x86asm.CMPXCHG:
		for _, o := range in.ops {
			if o.kind == opReg {
				s.reg[o.n&15] = now
			}
		}
	default:
		switch {
		case in.cond >= 0 && to.kind == opRel:
		case to.kind == opReg:
			s.reg[to.n&15] = now
		case to.kind == opMem && !stack(addr) && in.Op == x86asm.MOV && now != nil && now.addr == 0 && now.given == 0 && now.stored == nil:
			now.stored = &source{pc: pc, addr: addr, size: in.MemBytes, effects: len(c.run.Effects)}
		case to.kind == opMem && stack(addr):
			for k := uint64(0); k < uint64(max(in.MemBytes, 8)); k += 8 {
				s.kept[addr+k] = now
			}
		}
	}
}

// of is where what an instruction computes comes from, and where the address of its memory operand does, before it is executed.
func (s *sources) of(c *cpu, in *inst) (now *source, place []*source) {
	var values []*source
	took := func(x *source) {
		if x != nil {
			values = append(values, x)
		}
	}
	copies := false
	switch in.Op {
	case x86asm.MOV, x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD, x86asm.LEA:
		copies = true
	case x86asm.XOR, x86asm.SUB:
		if in.ops[0] == in.ops[1] {
			return nil, nil // it is 0
		}
	case x86asm.MUL, x86asm.DIV, x86asm.IDIV:
		took(s.reg[rax])
		took(s.reg[rdx])
	}
	for i := range in.ops {
		o := &in.ops[i]
		switch o.kind {
		case opReg:
			if !copies || i > 0 {
				took(s.reg[o.n&15])
			}
		case opMem:
			for _, r := range [2]int8{o.base, o.index} {
				if r >= 0 && s.reg[r&15] != nil {
					place = append(place, s.reg[r&15])
				}
			}
			switch addr := c.address(o); {
			case in.Op == x86asm.LEA:
				values = append(values, place...)
			case copies && i == 0:
			case stack(addr) || o.fixed:
				took(s.kept[addr])
			default:
				took(&source{pc: c.pc, addr: addr, size: in.MemBytes, effects: len(c.run.Effects), place: place})
			}
		}
	}
	switch len(values) {
	case 0:
		return nil, place
	case 1:
		x := values[0]
		switch {
		case copies && in.Op != x86asm.LEA:
			return x, place
		case x.chain == maxChain: // another value, which may be stored elsewhere
			return &source{values: x.values, chain: maxChain}, place
		}
		return &source{values: values, chain: x.chain + 1}, place
	}
	return &source{values: values}, place
}

// reads are what an address depends on, the nearest first.
func reads(place []*source) (out []Read) {
	var led [][]*source
	seen := map[*source]bool{}
	for n := -1; n < len(out); n++ { // it grows
		depth := 0
		if n >= 0 {
			depth = out[n].Depth + 1
			place = led[n]
		}
		for i := 0; i < len(place); i++ { // so does this
			x := place[i]
			if x == nil || seen[x] || len(seen) == maxSources || len(out) == maxReads {
				continue
			}
			seen[x] = true
			if x.stored != nil {
				x = x.stored
			}
			if x.addr == 0 && x.given == 0 {
				place = append(slices.Clip(place), x.values...)
				continue
			}
			out, led = append(out, Read{x.pc, x.addr, x.given, x.size, x.effects, depth, n}), append(led, x.place)
		}
	}
	return out
}
