package step

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"mgtrace/flow"
	"mgtrace/target"
	"mgtrace/target/mem"
	"mgtrace/trace"
	"mgtrace/x86"
)

// thread is what the engine knows of a thread.
type thread struct {
	id    trace.ThreadID
	piece *piece // that it is in; nil: none
	next  int    // instruction of piece that it will execute if it goes straight on

	// The instruction that it is about to execute.
	pending bool
	before  mem.Regs
	index   int // in piece; -1: there is no known instruction
	mems    []flow.Mem
	signal  int // that it was told of last
}

func (e *Engine) thread(tid int) *thread {
	t := e.threads[tid]
	if t == nil {
		t = &thread{id: trace.ThreadID(tid)}
		e.threads[tid] = t
	}
	return t
}

// stepper is the engine as the tracer's goroutine calls it.
type stepper Engine

// OnStep implements target.Stepper.
// Next: the instant of the instruction has been told to someone.
func (s *stepper) OnStep(th *target.Stopped, r *mem.Regs) target.Ahead {
	e := (*Engine)(s)
	t := e.thread(th.TID())
	if t.pending {
		in := t.inst()
		if in != nil && in.rep && r.RIP == t.before.RIP {
			return target.Ahead{Next: true} // it goes on
		}
		e.executed(th, t, r)
	}
	if e.over {
		return target.Ahead{}
	}
	if slices.Contains(e.halts, r.RIP) {
		e.halted = r.RIP
		th.Halt()
		return target.Ahead{}
	}
	hits := e.Hits()
	e.about(th, t, r)
	in := t.inst()
	kind := plain
	if in != nil {
		kind = in.kind
	}
	return target.Ahead{Enters: kind == syscall, Next: e.Hits() != hits, CPUID: kind == cpuid}
}

// inst is the instruction that the thread is about to execute; nil: nobody knows it.
func (t *thread) inst() *inst {
	if t.index < 0 {
		return nil
	}
	return &t.piece.insts[t.index]
}

// about takes in the instruction that a thread is about to execute.
func (e *Engine) about(th *target.Stopped, t *thread, r *mem.Regs) {
	t.pending, t.before, t.index, t.mems = true, *r, -1, t.mems[:0]
	if r.RIP == e.notify && e.notify != 0 {
		e.remap()
	}
	if err := e.find(th, t, r.RIP); err != nil {
		e.flow.settle()
		e.Instant = 0
	} else {
		in := t.inst()
		var v target.Vectors
		if in.kind == vectors {
			v, err = th.Vectors()
			e.fail(err)
		}
		t.mems = addrs(in, int(t.piece.block.Insts[t.index].Len), r, &v, t.mems)
		e.flow.executing(t.id, t.piece, t.index)
	}
	var err error
	if in := t.inst(); in != nil && in.kind == syscall {
		err = e.Observer.BeforeCall(t.id, r)
	} else {
		err = e.Observer.Before(t.id, r)
	}
	e.fail(err)
}

// find says where in which piece an address lies that a thread goes on at.
func (e *Engine) find(th *target.Stopped, t *thread, pc uint64) error {
	if p := t.piece; p != nil && t.next > 0 && t.next < len(p.insts) && uint64(p.block.PC(t.next)) == pc {
		t.index = t.next
		return nil
	}
	t.piece = nil
	const most = 64 * x86.MaxLen
	if p := e.pieces[pc]; p != nil {
		code := make([]byte, len(p.block.Code))
		if n, _ := th.ReadMemory(code, pc); n == len(code) && bytes.Equal(code, p.block.Code) {
			t.piece, t.index = p, 0
			return nil
		}
	}
	code := make([]byte, most)
	n, _ := th.ReadMemory(code, pc) // n tells
	p, err := newPiece(pc, code[:n])
	if err != nil {
		return err
	}
	e.pieces[pc] = p
	t.piece, t.index = p, 0
	return nil
}

// executed takes in that the pending instruction has been executed; r are the
// registers now.
func (e *Engine) executed(th *target.Stopped, t *thread, r *mem.Regs) {
	t.pending = false
	in := t.inst()
	if in == nil {
		e.Instant = 0
		e.fail(e.Observer.After(t.id, r))
		e.fail(e.flow.other(&flow.Record{Kind: flow.Gap, Thread: t.id, Size: 1, PC: trace.Addr(t.before.RIP), Why: "no known instruction"}))
		return
	}
	e.flow.executing(t.id, t.piece, t.index)
	if in.rep {
		repeated(in, &t.before, r, t.mems)
	}
	for i := range in.mem[:in.n] {
		if m := &t.mems[i]; in.mem[i].Shape == x86.MemState && m.Size == 0 {
			m.Size = e.state(th, uint64(m.Addr))
		}
	}
	if in.kind == pushf {
		e.hideTrapFlag(th, r)
	}
	var wrote []flow.Mem
	var err error
	if in.kind == syscall {
		err = e.Observer.AfterCall(t.id, r, func(addr, size uint64) { wrote = appendRange(wrote, addr, size) })
	} else {
		err = e.Observer.After(t.id, r)
	}
	e.flow.executed(t.id, t.piece, t.index, t.mems)
	t.next = t.index + 1
	if in.kind == syscall {
		if b := &t.before; b.RAX == unix.SYS_MUNMAP && r.RAX == 0 {
			err = errors.Join(err, e.flow.other(&flow.Record{Kind: flow.Unmap, Thread: t.id, Mem: appendRange(nil, b.RDI, (b.RSI+pageSize-1)&^(pageSize-1))}))
		}
		err = errors.Join(err, e.flow.other(&flow.Record{Kind: flow.Define, Cause: flow.BySyscall, Thread: t.id, Number: t.before.RAX, PC: trace.Addr(r.RIP), Mem: wrote}))
	}
	e.fail(errors.Join(err, e.flow.err))
}

// state is how long the vector state at addr is.
func (e *Engine) state(m mem.Memory, addr uint64) uint32 {
	var h [16]byte
	if _, err := m.ReadMemory(h[:], addr+x86.StateHeader); err != nil {
		return e.xsave // it is ending
	}
	return x86.StateSize(binary.LittleEndian.Uint64(h[:]), binary.LittleEndian.Uint64(h[8:]), e.xsave)
}

const pageSize = 4096

// appendRange appends a range of memory, in pieces if it is longer than one can be.
func appendRange(to []flow.Mem, addr, size uint64) []flow.Mem {
	const longest = 1 << 31
	for ; size > longest; addr, size = addr+longest, size-longest {
		to = append(to, flow.Mem{Addr: trace.Addr(addr), Size: longest})
	}
	return append(to, flow.Mem{Addr: trace.Addr(addr), Size: uint32(size)})
}

const flagTrap = 1 << 8

// hideTrapFlag takes the trap flag of a step out of the flags that it pushed.
func (e *Engine) hideTrapFlag(th *target.Stopped, r *mem.Regs) {
	if t := e.thread(th.TID()); t.before.EFlags&flagTrap != 0 {
		return // the program's own
	}
	var b [1]byte
	if _, err := th.ReadMemory(b[:], r.RSP+1); err == nil {
		b[0] &^= flagTrap >> 8
		_ = th.WriteMemory(b[:], r.RSP+1) // it can be read, so it was written a moment ago
	}
}

// cancel takes in that the pending instruction has not been executed, or a string
// instruction only in part: then that part is an execution of its own.
func (e *Engine) cancel(t *thread, r *mem.Regs) {
	t.pending = false
	in := t.inst()
	if in == nil {
		return
	}
	e.flow.executing(t.id, t.piece, t.index)
	e.fail(e.Observer.Cancel(t.id, r))
	t.next = -1
	if r != nil && in.rep && r.RCX != t.before.RCX {
		repeated(in, &t.before, r, t.mems)
		e.flow.executed(t.id, t.piece, t.index, t.mems)
		e.flow.settle()
	}
}

// OnHandler implements target.Stepper: the thread stands at a handler's first
// instruction, with the frame on its stack.
func (s *stepper) OnHandler(th *target.Stopped, r *mem.Regs) {
	e := (*Engine)(s)
	t := e.thread(th.TID())
	f := mem.ReadFrame(th, r.RSP)
	if t.pending {
		// A system call that the handler interrupts: it returns an error, or is made
		// again behind the handler.
		if f.PC == t.before.RIP {
			e.cancel(t, nil)
		} else {
			at := t.before
			at.RIP, at.RAX = f.PC, f.RAX
			e.executed(th, t, &at)
		}
	}
	e.fail(e.flow.other(&flow.Record{Kind: flow.Signal, Thread: t.id, Number: uint64(t.signal), PC: trace.Addr(f.PC), Handler: trace.Addr(r.RIP)}))
	e.fail(e.flow.other(&flow.Record{Kind: flow.Define, Cause: flow.BySignal, Thread: t.id, Number: uint64(t.signal), Mem: flow.Ranges(f.Written[:])}))
}

// endsThread says of a system call that no thread returns from it.
func endsThread(nr uint64) bool { return nr == unix.SYS_EXIT || nr == unix.SYS_EXIT_GROUP }
