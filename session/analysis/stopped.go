package analysis

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/objfile"
	"mgtrace/replay"
	"mgtrace/report"
	"mgtrace/session/rerun"
	"mgtrace/session/symbol"
	"mgtrace/trace"
)

// held notes what the registers and the stack held.
func (d *death) held(ev *trace.Event) {
	if len(ev.Args) != trace.SignalRegs {
		return
	}
	for n, v := range ev.Args[:trace.SignalRegs-1] {
		d.regs.Set(n, v)
	}
	d.regs.Set(objfile.RegPC, uint64(ev.PC))
	d.flags = ev.Args[trace.SignalRegs-1]
	d.stack = replay.Stopped{Base: uint64(ev.Base), Stack: bytes.Clone(ev.Data)}
}

// given are what the registers held by which the instruction at which the program died was to reach memory, or where it went on that is no
// code. What it was to store there did not lead it there.
func (d *death) given(symbols *symbol.Table) (out []uint64) {
	if d.regs.Known == 0 {
		return nil
	}
	if _, _, code := symbols.File(d.regs.PC()); !code { // a call led there
		return []uint64{d.regs.PC()}
	}
	for _, n := range symbols.Reaches(trace.Addr(d.regs.PC())) {
		out = append(out, d.regs.R[n])
	}
	return out
}

// registerNames are those of a trace.KindSignal's registers. Read-only.
var registerNames = [trace.SignalRegs]string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "eflags"}

// registers tells of the end by a signal which instruction that was, and what the registers held.
func (a *Analysis) registers(e *report.Exit) {
	d := &a.died
	if d.regs.Known == 0 {
		return
	}
	text, reads := a.Symbols.Instruction(trace.Addr(d.regs.PC()))
	e.Instruction, e.Registers = text, make([]report.Register, len(registerNames))
	e.StackFull = d.stackFull()
	for n, name := range registerNames {
		r := report.Register{Name: name, Value: fmt.Sprintf("%#x", d.flags), Read: slices.Contains(reads, n)}
		if name != "eflags" {
			r.Value, r.Leads = fmt.Sprintf("%#x", d.regs.R[n]), a.nodeAt(d.regs.R[n])
		}
		e.Registers[n] = r
	}
}

// stackFull: there is a stack where its pointer leads, and none where the instruction was to go on with it. A thread's stack ends in a page
// that mgtrace can read and the thread can not: then its pointer leads into that.
func (d *death) stackFull() bool {
	fault, sp := uint64(d.fault), d.regs.SP()
	below := max(sp, d.stack.Base) - fault
	return d.regs.Known != 0 && fault != 0 && len(d.stack.Stack) > 0 && (below > 0 && below < stackStep || fault/stackPage == sp/stackPage)
}

const (
	stackStep = 64 << 10 // how far below the stack pointer an instruction writes that goes on with the stack, bytes
	stackPage = 4 << 10  // bytes of which a thread can use all or none
)

// Limits of what is unwound.
const (
	maxUnwound = 24 // calls, those of libraries among them
	maxStopped = 6  // calls that are followed
)

// around is the thread at the statement in which the program died, and where it made the calls around that, as far as that is known.
func (d *death) around(symbols *symbol.Table) (out []replay.Stopped) {
	out, _ = d.calledIn(symbols)
	return out
}

// calledIn is that, and the function of a library that was called there, "" if none was.
func (d *death) calledIn(symbols *symbol.Table) (out []replay.Stopped, library string) {
	if d.regs.Known == 0 {
		return nil, ""
	}
	regs := d.regs
	_, _, code := symbols.File(regs.PC())
	if !code { // a call led there
		var word [8]byte
		if !d.stack.Read(regs.SP(), word[:]) {
			return nil, ""
		}
		regs.Set(objfile.RegPC, binary.LittleEndian.Uint64(word[:])-1)
		regs.Set(objfile.RegSP, regs.SP()+8)
	}
	for _, l := range objfile.Unwind(regs, maxUnwound, symbols.File, d.stack.Read) {
		at := l.Lookup()
		f, bias, ok := symbols.File(at)
		if !ok {
			break
		}
		fn, ok := f.FuncAt(at - bias)
		if len(out) == maxStopped {
			continue
		}
		if im, known := symbols.Image(trace.Addr(at)); len(out) == 0 && known && im.Traced && d.aborted {
			if called := symbols.CalledBefore(trace.Addr(at) + 1); called != "" {
				library = called
			}
			if trace.Addr(at) != d.at && !endsAll(library) {
				library = fn.Name // a template of a library, which has asked nothing itself
				continue
			}
		} else if len(out) == 0 && trace.Addr(at) != d.at {
			library = fn.Name
			continue
		}
		if !ok || fn.Size == 0 {
			break
		}
		s := d.stack
		s.PC, s.Regs, s.Known, s.Lo, s.Hi = at, [16]uint64(l.Regs.R[:16]), l.Regs.Known, bias+fn.Addr, bias+fn.Addr+fn.Size
		s.NoReturn, s.Cold = fn.NoReturn, nil
		for _, r := range fn.Ranges[min(1, len(fn.Ranges)):] {
			s.Cold = append(s.Cold, [2]uint64{bias + r[0], bias + r[1]})
		}
		if s.Ends = d.aborted && endsAll(library); len(out) == 0 {
			s.Fault, s.Astray, s.Divides = uint64(d.fault), !code, d.divides
		}
		out = append(out, s)
	}
	return out, library
}

// endsAll: a function ends the program whenever it is called, as what assert calls, or throws what nothing has caught. Others end it because of what they were given.
func endsAll(name string) bool {
	return strings.HasSuffix(name, "abort") || strings.Contains(name, "assert") || name == "__cxa_throw" || strings.HasPrefix(name, "std::__throw_")
}

// led is the memory by which the program came to where it died, as its registers then, its stack and its code tell.
func (a *Analysis) led(at mgpp.Timestamp) []faultloc.Read {
	calls := a.died.around(a.Symbols)
	if len(calls) == 0 || a.Typing == nil || a.died.aborted && !calls[0].Ends {
		return nil
	}
	return a.reads(rerun.Led(a.program(nil), at, calls), func(*replay.Read) mgpp.Timestamp { return at })
}
