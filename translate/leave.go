package translate

import (
	"mgtrace/inline/layout"
	"mgtrace/x86"
)

// end emits what the block's last instruction does to control.
func (e *emitter) end() error {
	bl := e.bl
	n := len(bl.insts)
	switch bl.kind {
	case toNext:
		e.commit()
		e.noteBehind()
		e.exit(bl.PC(n))
		return nil
	case toTarget:
		e.state.N = n
		e.to(bl.target)
		e.commit()
		e.exit(bl.target)
		return nil
	case aborts:
		// A processor may abort any transaction. EAX is why: for no reason that is told, so
		// that nobody tries again.
		e.m()
		e.bytes(0xb8, 0, 0, 0, 0) // mov eax, 0
		e.state.N = n
		e.to(bl.target)
		e.commit()
		e.exit(bl.target)
		return nil
	case onFlags:
		e.state.N = n
		in := &bl.insts[n-1]
		e.state.Goes, e.state.Cond, e.state.Addr, e.state.Else = AtBranch, in.Condition(), bl.target, bl.PC(n)
		e.commit()
		e.exitIf(in.Condition(), bl.target)
		e.exit(bl.PC(n))
		return nil
	case onCount:
		e.state.Goes = AtNothing
		e.commit()
		e.state.N = n
		e.m()
		off := int(bl.Insts[n-1].Off)
		code := bl.Code[off:]
		e.bytes(code[:len(code)-1]...)
		patch := e.off()
		e.bytes(0)
		e.exit(bl.PC(n))
		e.buf[patch] = byte(e.off() - patch - 1)
		e.exit(bl.target)
		return nil
	case call, callComputed:
		if bl.kind == callComputed {
			if err := e.computed(); err != nil {
				return err
			}
		}
		e.m()
		e.loadImm(bl.t, bl.PC(n))
		e.state.Program = true
		e.m()
		e.store(at(x86.RSP, -8), bl.t)
		e.state.Program = false
		e.m()
		e.lea(x86.RSP, at(x86.RSP, -8))
	case jumpComputed:
		if err := e.computed(); err != nil {
			return err
		}
	case ret:
		in := &bl.insts[n-1]
		code := bl.Code[bl.Insts[n-1].Off:]
		pop := 8
		if code[in.OpcodeAt()] == 0xc2 {
			pop += int(code[in.OpcodeAt()+1]) | int(code[in.OpcodeAt()+2])<<8
		}
		e.state.Program = true
		e.m()
		e.load(bl.t, at(x86.RSP, 0))
		e.state.Program = false
		e.m()
		e.store(slot(Target), bl.t)
		e.m()
		e.lea(x86.RSP, at(x86.RSP, pop))
	}
	e.state.N = n
	if bl.kind == call {
		e.to(bl.target)
		e.commit()
		e.exit(bl.target)
		return nil
	}
	e.state.Goes = AtTarget
	e.commit()
	e.dispatch()
	return nil
}

// note emits a call of Env.Note for the site that the block begins with.
func (e *emitter) note(phase uint32) {
	e.m()
	e.store(slot(SaveRCX), x86.RCX)
	e.state.C = true
	e.m()
	lea := e.off()
	e.leaRIP(x86.RCX, 0)
	e.m()
	e.storeImm32(slot(Noted), (e.bl.first.Note-1)|phase*layout.PhaseBit)
	e.m()
	e.jump(e.env.Note)
	e.put32(lea+3, e.off()-(lea+7))
	e.state.C = false
}

// noteBehind emits the call behind a site that wants one.
func (e *emitter) noteBehind() {
	if !e.bl.first.After {
		return
	}
	e.note(layout.PhaseAfter)
	e.state.Notes = false
}

func (e *emitter) to(addr uint64) { e.state.Goes, e.state.Addr = AtAddr, addr }

// computed brings the target of the block's last instruction into the thread block.
func (e *emitter) computed() error {
	bl := e.bl
	n := len(bl.insts) - 1
	in := &bl.insts[n]
	r, ok := in.JumpsThrough()
	if !ok {
		r, ok = in.CallsThrough()
	}
	if !ok {
		// call or jmp [m] becomes mov t, [m]: the same ModRM with another register.
		r = bl.t
		code := bl.Code[bl.Insts[n].Off:]
		m, _ := in.Operand()
		op := mem{base: m.Base, index: m.Index, scale: m.Scale, disp: int32(m.Disp), addr32: in.Addr32()}
		for _, b := range code[:in.OpcodeAt()] {
			op.fs = op.fs || b == 0x64
		}
		if m.RIPRelative {
			e.m()
			e.leaRIP(r, bl.PC(n)+uint64(in.Len)+uint64(m.Disp))
			op = at(r, 0)
		}
		e.state.Program = true
		e.m()
		e.load(r, op)
		e.state.Program = false
	}
	e.m()
	e.store(slot(Target), r)
	return nil
}

// dispatch goes to the translation of the computed target.
func (e *emitter) dispatch() {
	e.m()
	e.store(slot(SaveRCX), x86.RCX)
	e.state.C = true
	e.m()
	e.store(slot(SaveRAX), x86.RAX)
	e.state.A = true
	e.m()
	e.load(x86.RCX, slot(Target))
	e.m()
	e.bytes(0x0f, 0xb7, 0xc1) // movzx eax, cx
	e.m()
	e.bytes(0xff, 0x24, 0xc5) // jmp [rax*8 + First]
	e.int32(int32(e.env.Tables + First))
}

// exit emits a jump to another block; its displacement can be written at once.
func (e *emitter) exit(target uint64) {
	s := e.state
	e.to(target)
	for (e.here()+1)&3 != 0 {
		e.m()
		e.bytes(0x90)
	}
	e.m()
	e.bytes(0xe9)
	e.link(target)
	e.state = s
}

// exitIf is exit on a condition.
func (e *emitter) exitIf(cond byte, target uint64) {
	for (e.here()+2)&3 != 0 {
		e.m()
		e.bytes(0x90)
	}
	e.m()
	e.bytes(0x0f, 0x80|cond)
	e.link(target)
}

func (e *emitter) link(target uint64) {
	e.code.Exits = append(e.code.Exits, Exit{At: e.off(), Target: target})
	e.int32(0)
}

// trap emits an int3.
func (e *emitter) trap(t Trap) {
	t.Off = e.off()
	e.m()
	e.bytes(int3)
	e.code.Traps = append(e.code.Traps, t)
}

// stubs emits where exits lead first.
func (e *emitter) stubs() {
	for i := range e.code.Exits {
		x := &e.code.Exits[i]
		x.Stub = e.off()
		e.put32(x.At, x.Stub-(x.At+4))
		e.state = Mark{N: len(e.bl.insts), Committed: true, Goes: AtAddr, Addr: x.Target, RegB: e.bl.b, RegT: e.bl.t}
		e.trap(Trap{Stop: StopExit, Exit: i})
	}
	for i := range e.code.Traps {
		if t := &e.code.Traps[i]; t.Stop == StopFull {
			jump := -t.Off
			t.Off = e.off()
			e.put32(jump+2, t.Off-(jump+6))
			e.state = Mark{Committed: true, B: true, T: e.bl.needT, RegB: e.bl.b, RegT: e.bl.t}
			e.m()
			e.bytes(int3)
		}
	}
}

func (e *emitter) put32(at, v int) {
	for k := range 4 {
		e.buf[at+k] = byte(v >> (8 * k))
	}
}

// system emits a system call. RCX and R11 are free: the kernel overwrites them.
func (e *emitter) system(id uint32) {
	e.m()
	e.store(slot(SysNr), x86.RAX)
	e.m()
	e.bytes(0x0f, 0xb7, 0xc8) // movzx ecx, ax
	e.tableByte(SysAfter)
	e.m()
	e.store(slot(SysPost), x86.RCX)
	e.m()
	e.bytes(0x0f, 0xb7, 0xc8)
	e.tableByte(SysBefore)
	e.m()
	e.bytes(0xe3, 1)               // jrcxz
	e.trap(Trap{Stop: StopBefore}) // which may empty the log
	e.m()
	e.load(x86.RCX, slot(Cursor))
	e.state.Log = true
	e.m()
	e.storeImm32(at(x86.RCX, 0), id)
	e.state.Log = false
	e.m()
	e.lea(x86.RCX, at(x86.RCX, e.bl.Size()))
	e.m()
	e.store(slot(Cursor), x86.RCX)
	e.state.Undo = true
	e.m()
	e.leaRIP(x86.RCX, e.here()+7+5)
	e.m()
	e.jump(e.env.Release)
	e.state.Program = true
	e.m()
	e.bytes(0x0f, 0x05)
	e.state.Program, e.state.Undo = false, false
	e.state.N = 1
	e.m()
	e.leaRIP(x86.RCX, e.here()+7+9+5)
	e.m()
	e.store(slot(Cont), x86.RCX)
	e.m()
	e.jump(e.env.Acquire)
	e.m()
	e.load(x86.RCX, slot(SysPost))
	e.m()
	e.bytes(0xe3, 1)
	e.trap(Trap{Stop: StopAfter})
	e.m()
	e.loadImm(x86.RCX, e.bl.PC(1))
	e.exit(e.bl.PC(1))
}

// tableByte emits movzx ecx, byte [rcx + table].
func (e *emitter) tableByte(table int) {
	e.m()
	e.bytes(0x0f, 0xb6, 0x89)
	e.int32(int32(e.env.Tables) + int32(table))
}
