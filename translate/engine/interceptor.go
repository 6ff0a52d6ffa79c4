package engine

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"mgtrace/capture"
	"mgtrace/capture/observe"
	"mgtrace/flow"
	"mgtrace/inline/hook"
	"mgtrace/target"
	"mgtrace/target/mem"
	"mgtrace/trace"
	"mgtrace/translate"
)

// interceptor is the engine as the tracer's goroutine calls it.
type interceptor Engine

func (i *interceptor) engine() *Engine { return (*Engine)(i) }

const siKernel = 0x80 // si_code of an int3

// OnSignal implements target.Interceptor: the engine's own stops are dealt with; any
// other signal finds the thread at a place of the program.
func (i *interceptor) OnSignal(th *target.Stopped, sig syscall.Signal, info target.Siginfo) (deliver bool) {
	e := i.engine()
	t := e.threads[th.TID()]
	regs, err := th.Regs()
	if t == nil || e.over || err != nil {
		return true
	}
	if e.ours(th, t, &regs, sig, info) {
		return false
	}
	handled, ends := th.Action(sig)
	if e.waits(t, &regs, info, handled || ends) {
		return false
	}
	synchronous := info.Synchronous()
	if !synchronous && !handled && !ends {
		return true // it makes no difference where the thread is
	}
	if e.region(regs.RIP) != nil {
		e.stats.Signals++
		fault := regs.RIP
		e.afterCall(th, t, &regs)
		if err := e.leave(th, t, &regs, synchronous); err != nil {
			e.fail(fmt.Errorf("thread %d, signal %d: %w", t.tid, sig, err))
			return true
		}
		if err := th.SetRegs(regs); err != nil {
			return true // killed meanwhile
		}
		if synchronous && info.Addr == fault { // SIGILL, SIGFPE: where
			info.Addr = regs.RIP
			if err := th.SetSiginfo(info); err != nil && !errors.Is(err, unix.ESRCH) {
				e.fail(err)
			}
		}
	}
	if e.rec != nil {
		e.drain(t)
		e.rec.led(t, &regs)
		e.rec.signalled(t, int(sig), info, &regs, handled, ends)
	}
	if handled {
		t.signal, t.from = uint64(sig), regs.RIP
		th.StopInHandler()
	} else {
		rec := flow.Record{Kind: flow.Signal, Number: uint64(sig), PC: trace.Addr(regs.RIP)}
		if sig == unix.SIGFPE && synchronous {
			rec.Mem = flow.Ranges(observe.Reads(th, &regs))
		}
		e.other(t, &rec)
	}
	return true
}

// ours takes the signals that come of being translated: the program is not to see them.
func (e *Engine) ours(th *target.Stopped, t *thread, regs *mem.Regs, sig syscall.Signal, info target.Siginfo) bool {
	if sig == unix.SIGTRAP && info.Code == siKernel && e.region(regs.RIP-1) != nil {
		if err := e.trapped(th, t, regs); err != nil {
			e.fail(fmt.Errorf("thread %d: %w", t.tid, err))
		}
		return true
	}
	synchronous, r := info.Synchronous(), e.region(regs.RIP)
	switch {
	case r == nil && (sig == unix.SIGTRAP && synchronous || sig == unix.SIGSEGV && synchronous && info.Addr == regs.RIP) && e.space.execFrom(regs.RIP, 1) > 0:
		// The first instruction of a handler, or code that was reached in a way
		// that nobody thought of.
		if sig == unix.SIGTRAP {
			e.frame(th, t, regs)
		} else {
			e.stats.Fetches++
		}
		if err := e.enter(th, regs, regs.RIP); err != nil {
			e.fail(err)
		}
	case sig == unix.SIGTRAP && info.Code != siKernel && synchronous:
		// of StopInHandler, and there was no handler
	case synchronous && r != nil && r.inHook(regs.RIP):
		if err := e.hookFault(th, t, regs, r, info); err != nil {
			e.fail(fmt.Errorf("thread %d: %w", t.tid, err))
		}
	case sig == unix.SIGBUS && info.Code == busAlign && r != nil && e.own(r, regs.RIP):
		if err := unaligned(th, regs); err != nil {
			e.fail(fmt.Errorf("thread %d: %w", t.tid, err))
		}
	case synchronous && r != nil && sig == unix.SIGSEGV && t.guarded(info.Addr):
		// Room for its record has run out.
		e.stats.Drains++
		err := e.leave(th, t, regs, true)
		if err == nil {
			err = e.enter(th, regs, regs.RIP)
		}
		e.letOthers(t, regs)
		if err = errors.Join(err, th.SetRegs(*regs)); err != nil {
			e.fail(err)
		}
	default:
		return false
	}
	return true
}

// waits puts a signal that matters off where the thread is about to get the baton, or has given it away and is about to
// enter the kernel, or where something is being noted.
func (e *Engine) waits(t *thread, regs *mem.Regs, info target.Siginfo, matters bool) bool {
	r := e.region(regs.RIP)
	if info.Synchronous() || !matters || r == nil || !r.inRoutine(regs.RIP) && !e.noting(r, regs.RIP) {
		return false
	}
	t.later = append(t.later, info)
	t.set(translate.Pending, 1)
	return true
}

const busAlign = 1 // si_code of an access that is not aligned

// own says that the instruction at rip, in a region, is none of the program's.
func (e *Engine) own(r *region, rip uint64) bool {
	b := r.find(rip)
	if b == nil {
		return true
	}
	m, ok := e.where(b, rip)
	return ok && !m.Program
}

// unaligned executes an instruction of the engine's, whose records are not aligned, for a
// program that has alignment checked.
func unaligned(th *target.Stopped, regs *mem.Regs) error {
	const check = 1 << 18 // AC
	regs.EFlags &^= check
	if err := th.SetRegs(*regs); err != nil {
		return err
	}
	if err := th.Step(); err != nil {
		return fmt.Errorf("a step at %#x: %w", regs.RIP, err)
	}
	now, err := th.Regs()
	if err != nil {
		return err
	}
	now.EFlags |= check
	return th.SetRegs(now)
}

// trapped deals with an int3 of a translation.
func (e *Engine) trapped(th *target.Stopped, t *thread, regs *mem.Regs) error {
	at := regs.RIP - 1
	r := e.region(at)
	if at == r.trap {
		regs.RAX, regs.RCX = t.get(translate.SaveRAX), t.get(translate.SaveRCX)
		e.stats.Misses++
		return e.enter(th, regs, t.get(translate.Target))
	}
	if at == r.pending[0] || at == r.pending[1] {
		// The rest of the routine is done here, so that the signal finds the
		// thread outside.
		t.set(translate.Pending, 0)
		regs.RIP = regs.RCX
		if at == r.pending[1] {
			t.kept(regs)
			regs.RIP = t.get(translate.Cont)
		}
		t.keptFlags(regs)
		if err := th.SetRegs(*regs); err != nil {
			return err
		}
		return t.resend(th)
	}
	if at == r.full {
		e.stats.Drains++
		e.drain(t)
		return nil
	}
	if at == r.noted {
		t.set(translate.Pending, 0)
		t.beforeNote(regs)
		if err := th.SetRegs(*regs); err != nil {
			return err
		}
		return t.resend(th)
	}
	b := r.find(at)
	if b == nil {
		return fmt.Errorf("an int3 at %#x is of no translation", at)
	}
	off := int(at - r.addr - uint64(b.at))
	for i := range b.traps {
		if p := &b.traps[i]; p.Off == off {
			return e.stopped(th, t, regs, b, p)
		}
	}
	return fmt.Errorf("an int3 at %#x is of no stop of the translation of %#x", at, b.layout.Start)
}

// resend sends a thread the signals that have waited.
func (t *thread) resend(th *target.Stopped) error {
	later := t.later
	t.later = nil
	for _, info := range later {
		if err := th.Later(info); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// noting says that a thread at rip will presently tell that an instruction has executed.
func (e *Engine) noting(r *region, rip uint64) bool {
	b := r.find(rip)
	if b == nil || len(b.layout.Sites) == 0 || !b.layout.Sites[0].After {
		return false
	}
	m, ok := e.where(b, rip)
	return ok && m.Notes
}

// hookFault deals with a fault of the hook routine: its log is full, or memory of the
// program that it reads is not there.
func (e *Engine) hookFault(th *target.Stopped, t *thread, regs *mem.Regs, r *region, info target.Siginfo) error {
	off := regs.RIP - r.hook
	if t.guarded(info.Addr) {
		e.stats.Drains++
		e.drain(t)
		regs.RIP = r.hook + hook.SwapEnd
		return th.SetRegs(*regs)
	}
	on, ok := hook.Fixup(off)
	if !ok {
		return fmt.Errorf("the hook routine faults at %#x, with address %#x", off, info.Addr)
	}
	regs.RIP = r.hook + on
	return th.SetRegs(*regs)
}

func (e *Engine) stopped(th *target.Stopped, t *thread, regs *mem.Regs, b *block, p *translate.Trap) error {
	switch p.Stop {
	case translate.StopExit:
		e.stats.Misses++
		return e.enter(th, regs, b.exits[p.Exit].Target)
	case translate.StopFull:
		e.stats.Drains++
		e.drain(t)
		regs.RIP = b.r.addr + uint64(b.at) + uint64(p.Next)
		e.letOthers(t, regs)
		return th.SetRegs(*regs)
	case translate.StopBefore:
		e.stats.Syscalls++
		return e.before(th, t, regs, b.layout.PC(0))
	case translate.StopAfter:
		e.stats.Syscalls++
		return e.after(th, t, regs, b.layout.PC(1))
	case translate.StopSite:
		e.stats.Sites++
		e.drain(t)
		e.rec.reached(th, b.layout.Start)
		return nil
	case translate.StopChanged:
		regs.RAX, regs.RCX = t.get(translate.SaveRAX), t.get(translate.SaveRCX)
		if !b.dead { // another thread has been here
			e.discard(b)
		}
		return e.enter(th, regs, b.layout.Start)
	case translate.StopRefused:
		return e.refuse(t, b.layout.Start, b.why)
	}
	return fmt.Errorf("a stop of kind %d", p.Stop)
}

// waited says that threads wait for the baton.
func (e *Engine) waited() bool {
	word := func(off int) uint32 {
		return atomic.LoadUint32((*uint32)(unsafe.Pointer(&e.tables[off])))
	}
	return word(translate.Next)-word(translate.Serving) > 1
}

// letOthers has a thread that is about to go on in a translation give the baton to
// those that wait for it.
func (e *Engine) letOthers(t *thread, regs *mem.Regs) {
	if r := e.region(regs.RIP); r != nil && r.find(regs.RIP) != nil && e.waited() {
		t.set(translate.Cont, regs.RIP)
		regs.RIP = r.yield
	}
}

// frame records what the kernel wrote for a handler that begins.
func (e *Engine) frame(th *target.Stopped, t *thread, regs *mem.Regs) {
	f := mem.ReadFrame(th, regs.RSP)
	e.other(t, &flow.Record{Kind: flow.Signal, Number: t.signal, PC: trace.Addr(t.from), Handler: trace.Addr(regs.RIP)})
	e.other(t, &flow.Record{
		Kind: flow.Define, Cause: flow.BySignal, Number: t.signal, PC: trace.Addr(regs.RIP),
		Mem: flow.Ranges(f.Written[:]),
	})
}

// OnThread implements target.Interceptor.
func (i *interceptor) OnThread(th *target.Stopped, from int) {
	i.engine().newThread(th, from)
}

func (e *Engine) newThread(th *target.Stopped, from int) {
	regs, err := th.Regs()
	if err != nil || e.over {
		return // killed meanwhile
	}
	if err := e.begin(th, &regs, from); err != nil {
		e.fail(err)
		return
	}
	if err := th.SetRegs(regs); err != nil && !errors.Is(err, unix.ESRCH) {
		e.fail(err)
	}
}

// OnFork implements target.Interceptor. The child is told of behind what its maker did before.
func (i *interceptor) OnFork(parent, child int, shares bool) {
	e := i.engine()
	if e.over {
		return
	}
	if t := e.threads[parent]; t != nil {
		e.drain(t)
	}
	if e.rec != nil {
		e.rec.tell(capture.Hit{Op: capture.Fork, Thread: trace.ThreadID(parent), Index: child, Flags: capture.Sharing(shares)})
	}
}

// OnForked implements target.Interceptor. A child with memory of its own runs on as
// if there were no mgtrace; one that shares the program's is a thread of it.
func (i *interceptor) OnForked(child *target.Stopped, parent int, shares bool) {
	e := i.engine()
	if e.over {
		return
	}
	if shares {
		e.newThread(child, parent)
		return
	}
	regs, err := child.Regs()
	if err != nil {
		return // killed meanwhile
	}
	t := e.threads[parent]
	r := e.region(regs.RIP)
	if t == nil || r == nil || r.find(regs.RIP) == nil {
		return
	}
	b := r.find(regs.RIP)
	// It is behind the system call that made it.
	regs.RIP = b.layout.PC(1)
	regs.RCX, regs.GSBase = regs.RIP, 0
	if err := child.SetRegs(regs); err != nil {
		return
	}
	for _, req := range e.space.withExec() {
		if _, err := child.Syscall(req.Nr, req.Args[:3]...); err != nil && !errors.Is(err, unix.ESRCH) {
			e.fail(fmt.Errorf("give a forked child its code back: %w", err))
			return
		}
	}
}

// OnThreadEnd implements target.Interceptor.
func (i *interceptor) OnThreadEnd(tid int) {
	e := i.engine()
	t := e.threads[tid]
	if t == nil {
		return
	}
	e.drain(t)
	if e.rec != nil {
		e.rec.tell(capture.Hit{Op: capture.ThreadExit, Thread: trace.ThreadID(tid)})
		e.rec.Observer.Ended(trace.ThreadID(tid))
	}
	e.other(t, &flow.Record{Kind: flow.End})
	delete(e.threads, tid)
	e.unused = append(e.unused, t)
}

// OnExec implements target.Interceptor: the recording ends here.
func (i *interceptor) OnExec(th *target.Stopped) {
	e := i.engine()
	if t := e.threads[th.TID()]; t != nil {
		e.drain(t)
		if e.rec != nil {
			e.rec.tell(capture.Hit{Op: capture.Exec, Thread: trace.ThreadID(t.tid)})
		}
		e.other(t, &flow.Record{Kind: flow.Gap, Why: "the program replaced itself"})
	}
	e.over = true
	clear(e.threads)
	if e.rec != nil {
		e.rec.Finish(e.failure)
	}
}

// OnInterrupted implements target.Interceptor.
func (i *interceptor) OnInterrupted(*target.Stopped) {}
