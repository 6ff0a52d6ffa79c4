package native

import (
	"mgtrace/flow"
	"mgtrace/slice"
	"mgtrace/slice/cfg"
	"mgtrace/x86"
)

// describe says what the instructions of a block read and write, and how many of
// them are not in the table of effects.
func describe(id uint32, b *flow.Block) (c *slice.Code, unknown int) {
	c = &slice.Code{ID: id, Insts: make([]slice.Inst, len(b.Insts))}
	for i := range b.Insts {
		n := b.Insts[i]
		in, err := x86.Decode(b.Bytes(i), uint64(b.PC(i)))
		var e x86.Effects
		if err == nil {
			in.Effects(&e)
		} else {
			e.Unknown = true
			e.Read = everything()
			e.Write = e.Read
		}
		if e.Unknown {
			unknown++
		}
		c.Insts[i] = inst(uint64(b.PC(i)), &in, &e, b.Bytes(i), b.Accesses[n.Access:int(n.Access)+int(n.NMem)])
	}
	return c, unknown
}

func everything() (r x86.RegSet) {
	for u := range x86.Unit(x86.Units) {
		r.Add(u)
	}
	return r
}

// end says how control leaves an instruction, and whether it is a call that goes to
// one place always: directly, or through a slot that the dynamic linker fills.
func end(in *x86.Inst) (k cfg.Kind, direct bool) {
	o, memory := in.Operand()
	linked := !in.Direct && memory && o.RIPRelative
	switch in.Kind {
	case x86.KindCall:
		return cfg.Call, in.Direct || linked
	case x86.KindRet:
		return cfg.Return, false
	case x86.KindJcc:
		return cfg.Cond, false
	case x86.KindStop:
		return cfg.Stop, false
	case x86.KindJmp:
		switch {
		case in.Direct:
			return cfg.Jump, false
		case linked:
			return cfg.Link, false
		}
		return cfg.Indirect, false
	}
	return cfg.Next, false
}

// inst splits an instruction into ops:
//
//  1. what it is for: all but the following;
//  2. what may keep its old value: that goes into no other result;
//  3. pointers that it moves on, each by itself: RSP, RSI, RDI.
//
// An indirect call first decides where to go, and then stores its return address.
func inst(pc uint64, in *x86.Inst, e *x86.Effects, code []byte, accesses []flow.Access) slice.Inst {
	out := slice.Inst{PC: pc, Accesses: uint8(min(len(accesses), 32)), Slot: -1}
	out.End, out.Direct = end(in)
	out.Target = in.Target
	reads, writes := memory(e, accesses)
	keep := e.Write.AndNot(e.Kill)
	main := slice.Op{
		Read: slice.Regs(e.Read.Or(e.Step)), Addr: slice.Regs(e.Addr.Or(e.Step)),
		Write: slice.Regs(e.Kill.AndNot(e.Step)), MemRead: reads, MemWrite: writes,
	}
	switch {
	case isState(e):
		out.Ops = append(out.Ops, slice.Op{})
		return out
	case out.End == cfg.Call && !in.Direct:
		decide := main
		decide.MemWrite = 0
		if len(accesses) == 1 { // through a register: no address is computed for it
			decide.Read, decide.Addr = slice.Regs(e.Read.AndNot(e.Step)), slice.Regs{}
		}
		push := slice.Op{Read: slice.Regs(e.Step), Addr: slice.Regs(e.Step), MemWrite: writes}
		out.Ops = append(out.Ops, decide, push)
	case isLeave(code):
		rbp, rsp := slice.Regs(x86.GPR(x86.RBP, 0, 8)), slice.Regs(x86.GPR(x86.RSP, 0, 8))
		out.Ops = append(out.Ops,
			slice.Op{Read: rbp, Addr: rbp, MemRead: reads, Write: rbp},
			slice.Op{Read: rbp, Write: rsp})
	default:
		out.Ops = append(out.Ops, main)
	}
	if !keep.Empty() {
		o := main
		o.Read, o.Write, o.MemWrite = slice.Regs(e.Read.Or(keep)), slice.Regs(keep), 0
		o.Addr.AndNot((*slice.Regs)(&keep))
		out.Ops = append(out.Ops, o)
	}
	out.Ops = append(out.Ops, steps(e)...)
	out.Ops = withoutStack(out.Ops)
	switch out.End {
	case cfg.Call:
		out.Slot = int8(len(accesses)) - 1
	case cfg.Return:
		out.Slot = int8(min(len(accesses), 1)) - 1
	}
	out.Save, out.Load = copies(code)
	if len(accesses) != 1 {
		out.Save, out.Load = 0, 0
	}
	return out
}

// The stack pointer is left out: where on the stack a value lies is a matter of how
// deep the calls are. So is what makes a frame pointer of it.
var (
	stack     = slice.Regs(x86.GPR(x86.RSP, 0, 8)) // read-only
	frameBase = slice.Regs(x86.GPR(x86.RBP, 0, 8)) // read-only
)

func withoutStack(ops []slice.Op) []slice.Op {
	kept := ops[:0]
	for i, o := range ops {
		used := o.Read.Meets(&stack)
		o.Read.AndNot(&stack)
		o.Addr.AndNot(&stack)
		o.Write.AndNot(&stack)
		o.Frame = used && o.Read.Empty() && o.Write == frameBase && o.MemRead == 0
		if i > 0 && o.Read.Empty() && o.Write.Empty() && o.MemRead|o.MemWrite == 0 {
			continue
		}
		kept = append(kept, o)
	}
	return kept
}

// steps are the pointers that an instruction moves on: by a constant, or by the
// count and the direction of a string.
func steps(e *x86.Effects) (ops []slice.Op) {
	if e.Step.Empty() {
		return nil
	}
	var by x86.RegSet
	if e.Read.Has(x86.UnitDF) {
		by.Add(x86.UnitDF)
		if e.NMem > 0 && e.Mem[0].Rep {
			by = by.Or(x86.GPR(x86.RCX, 0, 8))
		}
	}
	for r := x86.RAX; r < 16; r++ {
		units := x86.GPR(r, 0, 8)
		if units.And(e.Step).Empty() {
			continue
		}
		ops = append(ops, slice.Op{Read: slice.Regs(units.Or(by)), Write: slice.Regs(units)})
	}
	return ops
}

// memory says which accesses of an instruction are read and written, as bits.
// What may be kept is read too.
func memory(e *x86.Effects, accesses []flow.Access) (reads, writes uint32) {
	keeps := uint32(0)
	n := 0
	for i := range e.Mem[:e.NMem] {
		m := &e.Mem[i]
		for range m.Entries() {
			// Of the elements of a scatter, and of packed ones, each execution tells.
			if m.MayKeep && m.Shape != x86.MemVector && !m.Packed {
				keeps |= 1 << n
			}
			n++
		}
	}
	for i, a := range accesses {
		if i == 32 {
			break
		}
		if a.Flags&flow.Reads != 0 || keeps&(1<<i) != 0 || a.Flags&flow.Writes != 0 && n != len(accesses) {
			reads |= 1 << i
		}
		if a.Flags&flow.Writes != 0 {
			writes |= 1 << i
		}
	}
	return reads, writes
}

// isState: xsave, xrstor and their like. The dynamic linker puts the vector registers
// aside with them when a function is called for the first time, and gets them back:
// they are taken to have what they had. How much memory an xsave writes is not told
// exactly either: it would seem to define what lies behind.
func isState(e *x86.Effects) bool {
	for i := range e.Mem[:e.NMem] {
		if e.Mem[i].Shape == x86.MemState {
			return true
		}
	}
	return false
}

// isLeave: 0xc9. RSP gets what RBP had, and RBP what the memory has.
func isLeave(code []byte) bool { return len(code) == 1 && code[0] == 0xc9 }

// copies says which register, as quad + 1, the instruction stores as a whole, or
// loads, with nothing else: push, pop, mov of 8 bytes, leave (RBP). The access is the
// instruction's only one.
func copies(code []byte) (save, load uint8) {
	rex := byte(0)
	if len(code) > 1 && code[0]&0xf0 == 0x40 {
		rex, code = code[0], code[1:]
	}
	if len(code) == 0 {
		return 0, 0
	}
	b, r := rex&1<<3, rex&4<<1
	switch op := code[0]; {
	case op&0xf8 == 0x50:
		return (op&7 | b) + 1, 0
	case op&0xf8 == 0x58:
		return 0, (op&7 | b) + 1
	case op == 0xc9:
		return 0, uint8(x86.RBP) + 1
	case (op == 0x89 || op == 0x8b) && rex&8 != 0 && len(code) > 1 && code[1] < 0xc0:
		reg := code[1]>>3&7 | r
		if op == 0x89 {
			return reg + 1, 0
		}
		return 0, reg + 1
	}
	return 0, 0
}
