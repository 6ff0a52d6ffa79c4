package engine

import (
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"mgtrace/target"
	"mgtrace/target/mem"
	"mgtrace/translate"
)

// fillSyscalls says which system calls stop, and when.
func fillSyscalls(tables []byte) {
	for _, nr := range []int{
		unix.SYS_MMAP, unix.SYS_MPROTECT, unix.SYS_PKEY_MPROTECT, unix.SYS_RT_SIGRETURN, unix.SYS_ARCH_PRCTL, unix.SYS_MUNMAP,
	} {
		tables[translate.SysBefore+nr] = 1
	}
	after := tables[translate.SysAfter : translate.SysAfter+1<<16]
	for i := range after {
		after[i] = 1
	}
	for _, nr := range quiet {
		after[nr] = 0
	}
}

// before deals with a system call that is about to be made: regs are the thread's.
func (e *Engine) before(th *target.Stopped, t *thread, regs *mem.Regs, pc uint64) error {
	switch regs.RAX {
	case unix.SYS_MMAP, unix.SYS_MPROTECT, unix.SYS_PKEY_MPROTECT:
		t.set(translate.Prot, regs.RDX)
		regs.RDX &^= unix.PROT_EXEC
		return th.SetRegs(*regs)
	case unix.SYS_MUNMAP:
		if e.rec != nil {
			e.drain(t)
			at := *regs
			at.RIP = pc
			e.rec.calling(t, &at)
		}
	case unix.SYS_RT_SIGRETURN:
		// The kernel takes the registers from the frame: struct ucontext at RSP,
		// RIP is the 17th of its registers.
		const rip = 40 + 16*8
		pc, err := mem.ReadUint64(th, regs.RSP+rip)
		if err != nil || e.region(pc) != nil || e.space.execFrom(pc, 1) == 0 {
			return nil // it faults, as it would have
		}
		b, err := e.translation(pc)
		if err != nil {
			return err
		}
		e.drain(t)
		t.returning = true
		// It has given the baton away then.
		t.set(translate.Cont, b.r.addr+uint64(b.entry))
		return th.WriteMemory(binary.LittleEndian.AppendUint64(nil, b.r.acquire), regs.RSP+rip)
	case unix.SYS_ARCH_PRCTL:
		const setGS, getGS = 0x1001, 0x1004
		if regs.RDI == setGS || regs.RDI == getGS {
			return e.refuse(t, pc, "the program uses the GS base, which the engine needs for itself")
		}
	}
	return nil
}

// refuse says that the instruction at pc is not for this engine. What has been executed
// before is with the sink then.
func (e *Engine) refuse(t *thread, pc uint64, why string) error {
	e.drain(t)
	return fmt.Errorf("%w: the instruction at %#x: %s", ErrRefused, pc, why)
}

// after deals with a system call that was made.
func (e *Engine) after(th *target.Stopped, t *thread, regs *mem.Regs, pc uint64) error {
	nr := t.get(translate.SysNr)
	failed := callFailed(regs.RAX)
	if e.rec != nil {
		e.drain(t)
		at := *regs
		at.RIP = pc
		e.rec.called(t, nr, &at)
	}
	e.defines(th, t, nr, regs, pc)
	switch nr {
	case unix.SYS_MMAP, unix.SYS_MPROTECT, unix.SYS_PKEY_MPROTECT:
		prot := t.get(translate.Prot)
		regs.RDX = prot
		lo := regs.RDI
		if nr == unix.SYS_MMAP {
			lo = regs.RAX
		}
		if !failed {
			e.changed(lo, lo+pageUp(regs.RSI), prot)
		}
		return th.SetRegs(*regs)
	case unix.SYS_MUNMAP:
		if !failed {
			e.changed(regs.RDI, regs.RDI+pageUp(regs.RSI), 0)
		}
	case unix.SYS_MREMAP:
		if !failed {
			e.changed(regs.RDI, regs.RDI+pageUp(regs.RSI), 0)
			e.changed(regs.RAX, regs.RAX+pageUp(regs.RDX), 0)
		}
	case unix.SYS_ARCH_PRCTL:
		e.drain(t)
		t.fs = regs.FSBase
	}
	return nil
}

// afterCall does what is to be done behind a system call for a thread that a signal
// leads away from there.
func (e *Engine) afterCall(th *target.Stopped, t *thread, regs *mem.Regs) {
	b := e.region(regs.RIP).find(regs.RIP)
	if b == nil || !b.system() || t.get(translate.SysPost) == 0 || target.InSyscall(*regs) {
		return
	}
	if m, ok := e.where(b, regs.RIP); !ok || m.N != 1 || m.Goes != translate.AtInst {
		return
	}
	t.set(translate.SysPost, 0)
	if err := e.after(th, t, regs, b.layout.PC(1)); err != nil {
		e.fail(err)
	}
}

// changed notes what the program did to the mappings of [lo, hi), which have this
// protection now as it believes; 0: they are gone.
func (e *Engine) changed(lo, hi, prot uint64) {
	if e.space.dropExec(lo, hi) {
		e.forget(lo, hi)
	}
	if prot&unix.PROT_EXEC != 0 {
		c := codeRange{lo: lo, hi: hi, writable: prot&unix.PROT_WRITE != 0}
		maps, err := e.proc.Maps()
		c.shared = err != nil || slices.ContainsFunc(maps, func(m mem.Map) bool { return m.Shared && m.Lo < hi && lo < m.Hi })
		e.space.addExec(c)
	}
}
