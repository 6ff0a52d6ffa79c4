package inline

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mgtrace/capture"
	"mgtrace/capture/observe"
	"mgtrace/inline/emit"
	"mgtrace/inline/hook"
	"mgtrace/inline/layout"
	"mgtrace/inline/patch"
	"mgtrace/target"
	"mgtrace/target/mem"
	"mgtrace/trace"
	"mgtrace/x86"
)

// interceptor is the engine as the tracer's goroutine calls it.
type interceptor Engine

func (i *interceptor) engine() *Engine { return (*Engine)(i) }

// OnSignal implements target.Interceptor: the engine's own faults are dealt with;
// any other signal finds the thread at a place of the program.
func (i *interceptor) OnSignal(th *target.Stopped, sig syscall.Signal, info target.Siginfo) (deliver bool) {
	e := i.engine()
	s := e.of[th.TID()]
	regs, err := th.Regs()
	if s == nil || err != nil {
		return true
	}
	synchronous := info.Synchronous()
	if synchronous {
		_, inside := e.where(&regs, s)
		if e.fault(th, s, &regs, sig, info) {
			return false
		}
		if inside && sig == unix.SIGSYS {
			_ = th.SetSiginfo(info.WithAddr(regs.RIP)) // si_call_addr; ESRCH: killed meanwhile
		}
		e.blame(th, &regs, s, inside, info)
	} else {
		e.settle(th, s)
	}
	e.signalled(th, s, sig, info)
	return true
}

// rdtsc is the instruction.
var rdtsc = []byte{0x0f, 0x31}

// fault handles a fault of an instruction. It is true if the program need not
// know.
func (e *Engine) fault(th *target.Stopped, s *slot, regs *mem.Regs, sig syscall.Signal, info target.Siginfo) bool {
	if to, ok := e.regions.traps[regs.RIP-1]; ok && sig == unix.SIGTRAP {
		e.traps.Add(1)
		regs.RIP = to
		return th.SetRegs(*regs) == nil
	}
	if e.notify != 0 && regs.RIP-1 == e.notify && sig == unix.SIGTRAP {
		e.librariesChanged(th)
		return true
	}
	if sig == unix.SIGSEGV && s.outdated(info.Addr) {
		return true
	}
	if off := regs.RIP - e.hook; off < uint64(len(hook.Code)) {
		if s.guarded(info.Addr) {
			e.stops.Add(1)
			return e.reload(th, s, regs)
		}
		if fix, ok := hook.Fixup(off); ok {
			regs.RIP = e.hook + fix
			return th.SetRegs(*regs) == nil
		}
		if bytes.HasPrefix(hook.Code[off:], rdtsc) {
			// The program may not read the counter (PR_SET_TSC, strict seccomp); we may.
			t := target.Now().Ticks
			regs.RDX, regs.RAX = t>>32, t&math.MaxUint32
			regs.RIP += uint64(len(rdtsc))
			return th.SetRegs(*regs) == nil
		}
		return e.shadowFault(th, sig, info.Addr)
	}
	pos, inside := e.where(regs, s)
	if !inside {
		return false
	}
	switch pos.Fault {
	case emit.FaultLog:
		if s.guarded(info.Addr) {
			e.stops.Add(1)
			return e.reload(th, s, regs)
		}
		return false
	case emit.FaultOperand:
		if e.shadowFault(th, sig, info.Addr) {
			return true // once more
		}
		return e.skip(th, s, regs, &pos) == nil
	}
	e.interrupted(th, s, regs, &pos)
	if err := e.back(th, s, regs, &pos); err != nil {
		e.fail(err)
	}
	return false
}

// blame fails if a fault that the program gets may be the engine's: what it needs is gone, or
// code of ours may not do what the program's own may. inside: the thread was in such code.
func (e *Engine) blame(th *target.Stopped, regs *mem.Regs, s *slot, inside bool, info target.Siginfo) {
	const (
		userDispatch = 2       // SYS_USER_DISPATCH
		misaligned   = 1       // BUS_ADRALN
		checks       = 1 << 18 // EFLAGS.AC
	)
	a := s.arena
	why, engine := "", "ebpf"
	switch {
	case regs.GSBase != s.base:
		why = "the program has set the GS base, which this engine needs for itself, and met a fault that it may not meet alone"
	case inside && info.Signal == int(unix.SIGSYS) && info.Code == userDispatch:
		why = "the program has its system calls handed back to it by where they are made (PR_SET_SYSCALL_USER_DISPATCH), and this engine makes them elsewhere"
		engine = "step" // the kernel's probes of returns are system calls too (uretprobe, Linux 6.11)
	case inside && info.Signal == int(unix.SIGBUS) && info.Code == misaligned && regs.EFlags&checks != 0:
		why = "the program has the processor check alignment (EFLAGS.AC), which the records of this engine do not have"
	case info.Addr-a.base < uint64(len(a.mem)):
		why = "the program has unmapped or protected memory of this engine, and met a fault that it may not meet alone"
	case s.displaced(th):
		why = "the program has mapped memory of its own where this engine has its log, and met a fault that it may not meet alone"
	default:
		return
	}
	e.fail(fmt.Errorf("%s: record it with --engine %s", why, engine))
}

// displaced says that a thread has other memory where its thread block was: what nobody changes there differs.
func (s *slot) displaced(th *target.Stopped) bool {
	for _, off := range []uint64{layout.HookSP, layout.HookEntry} {
		if now, err := mem.ReadUint64(th, s.base+off); err != nil && !killed(err) || err == nil && now != s.get(off) {
			return true
		}
	}
	return false
}

// where tells what a thread's program counter means, if it is in a trampoline
// or in the hook routine.
func (e *Engine) where(regs *mem.Regs, s *slot) (emit.Position, bool) {
	if off := regs.RIP - e.hook; off < uint64(len(hook.Code)) {
		site := binary.LittleEndian.Uint32(s.mem[hookRegs+layout.RegsSite:])
		n := int(site &^ layout.PhaseBit)
		if n >= len(e.places) || e.places[n].unit == nil {
			return emit.Position{}, false
		}
		return e.places[n].unit.maker.InHook(e.places[n].site, site), true
	}
	r, ok := e.regions.find(regs.RIP)
	if !ok {
		return emit.Position{}, false
	}
	if r.Site == patch.Evicted || r.Hop {
		return e.evicted(r, regs.RIP-r.Addr), true
	}
	pos, ok := r.unit.maker.Where(r.Site, r.Addr, int(regs.RIP-r.Addr))
	if !ok {
		return emit.Position{Partial: true, PC: r.Of, Reload: -1, Skip: -1}, true
	}
	return pos, true
}

// hookRegs is the offset of struct regs in a slot.
const hookRegs = layout.BlockSize + layout.HookStack - layout.RegsSize

// evicted is the position in a trampoline of an instruction that is no site: a
// copy of it, and a jump to what is behind it.
func (e *Engine) evicted(r region, off uint64) emit.Position {
	p := emit.Position{PC: r.Of, Fault: emit.FaultProgram, Reload: -1, Skip: -1}
	if off == 0 || r.Hop {
		p.Clean = true
		return p
	}
	for _, im := range r.unit.images {
		if code := im.at(r.Of); code != nil {
			in, err := x86.Decode(code, r.Of)
			if err == nil && patch.Continues(&in) && off == uint64(len(r.Bytes))-patch.JumpLen {
				p.PC, p.Executed, p.Clean = r.Of+uint64(in.Len), true, true
				return p
			}
		}
	}
	p.Partial = true
	return p
}

// registers are the thread's as package emit wants them.
func registers(r *mem.Regs) emit.Registers {
	return emit.Registers{
		General: [16]uint64{r.RAX, r.RCX, r.RDX, r.RBX, r.RSP, r.RBP, r.RSI, r.RDI, r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15},
		Flags:   r.EFlags,
	}
}

func setRegisters(r *mem.Regs, g *emit.Registers) {
	for i, p := range [16]*uint64{&r.RAX, &r.RCX, &r.RDX, &r.RBX, &r.RSP, &r.RBP, &r.RSI, &r.RDI, &r.R8, &r.R9, &r.R10, &r.R11, &r.R12, &r.R13, &r.R14, &r.R15} {
		*p = g.General[i]
	}
	r.EFlags = g.Flags
}

// restore turns registers at a position into the program's.
func (s *slot) restore(regs *mem.Regs, pos *emit.Position) error {
	g := registers(regs)
	err := pos.Restore(&g, func(p emit.Place) (uint64, error) {
		at := int64(p.Off)
		if p.OnStack {
			at += layout.BlockSize + layout.HookStack
		}
		if at < 0 || at+8 > int64(len(s.mem)) {
			return 0, fmt.Errorf("no register is kept at %d", p.Off)
		}
		return binary.LittleEndian.Uint64(s.mem[at:]), nil
	})
	if err != nil {
		return err
	}
	setRegisters(regs, &g)
	return nil
}

// loadCursor gives a thread that goes on in a chain of stores its cursor.
func (s *slot) loadCursor(regs *mem.Regs, pos *emit.Position) {
	if pos.Chained {
		g := registers(regs)
		g.General[pos.Cursor] = s.get(layout.Cursor)
		setRegisters(regs, &g)
	}
}

// unchange puts back what the hook routine has changed of a system call that the thread is in:
// it begins anew, or is over.
func (s *slot) unchange(th *target.Stopped, regs *mem.Regs) error {
	p, ok := hook.Innermost(s.mem)
	if !ok || !p.Changed {
		return nil
	}
	hook.Forget(s.mem)
	if p.Addr == 0 {
		regs.RDI = p.Base
		return nil
	}
	return th.WriteMemory(binary.LittleEndian.AppendUint64(nil, p.Base), p.Addr)
}

// back puts a thread at the program's own place, with the program's registers,
// and takes a record back whose store has not executed.
func (e *Engine) back(th *target.Stopped, s *slot, regs *mem.Regs, pos *emit.Position) error {
	if err := s.restore(regs, pos); err != nil {
		return err
	}
	if err := s.unchange(th, regs); err != nil {
		return err
	}
	if pos.Undo == emit.UndoSize {
		e.note(s, nil)
	}
	s.set(layout.Since, 0) // of an exchange: it begins anew, or its record is there
	regs.RIP = pos.PC
	return th.SetRegs(*regs)
}

// skip lets a thread go on that can not read back what it stored.
func (e *Engine) skip(th *target.Stopped, s *slot, regs *mem.Regs, pos *emit.Position) error {
	r, ok := e.regions.find(regs.RIP)
	if !ok || pos.Skip < 0 {
		return errors.New("a record can not be skipped there")
	}
	if err := s.restore(regs, pos); err != nil {
		return err
	}
	if site := &r.unit.sites[pos.Site]; pos.Executed && site.Tag >= 0 {
		tag := site.Tag
		h := e.hit(capture.Store, s.tid)
		h.Index, h.PC, h.SP = tag, site.PC, regs.RSP
		g := registers(regs)
		h.Addr = r.unit.maker.Address(pos.Site, &g, s.get(layout.Address))
		h.Size = uint64(e.plan.Stores[tag].Effect.Width)
		h.Flags, h.Data = capture.Unread, make([]byte, h.Size)
		e.note(s, h)
	}
	s.loadCursor(regs, pos)
	regs.RIP = r.Addr + uint64(pos.Skip)
	return th.SetRegs(*regs)
}

// reload gives a thread that has met its guard page the other buffer, and has it
// begin its record again. It is true in any case: without a free buffer the
// thread meets the guard page again, and waits there. If that is a SIGSEGV each
// time, it is the tracer that waits a little.
func (e *Engine) reload(th *target.Stopped, s *slot, regs *mem.Regs) bool {
	next := e.hook + hook.SwapEnd
	var pos emit.Position
	if regs.RIP-e.hook >= uint64(len(hook.Code)) {
		var inside bool
		pos, inside = e.where(regs, s)
		r, _ := e.regions.find(regs.RIP)
		if !inside || pos.Reload < 0 {
			return false
		}
		next = r.Addr + uint64(pos.Reload)
		e.answerBarren(th)
	} else if regs.RIP != e.hook+hook.SwapAt {
		return false
	}
	if e.arena.guards.fault == nil {
		e.awaitRoom(s, time.Millisecond/4)
	}
	e.streams.Lock()
	swapped := s.swap()
	e.streams.Unlock()
	e.awake()
	if swapped {
		s.loadCursor(regs, &pos)
		regs.RIP = next
		if err := th.SetRegs(*regs); err != nil {
			e.fail(err)
		}
	}
	return true
}

// awaitRoom waits until a buffer of a slot is free, which the reader sees to.
// Without a reader what is written is lost, and Run has told why.
func (e *Engine) awaitRoom(s *slot, limit time.Duration) {
	var late <-chan time.Time
	for {
		e.streams.Lock()
		full := s.full
		e.streams.Unlock()
		if !full {
			return
		}
		e.awake()
		if late == nil {
			late = time.After(limit)
		}
		select {
		case <-e.freed:
		case <-e.done:
			e.streams.Lock()
			s.full = false
			e.streams.Unlock()
		case <-late:
			return
		}
	}
}

// OnInterrupted implements target.Interceptor: a thread waits at its guard page.
func (i *interceptor) OnInterrupted(th *target.Stopped) {
	e := i.engine()
	s := e.of[th.TID()]
	regs, err := th.Regs()
	if s == nil || err != nil {
		return
	}
	if e.waiting(&regs, s) {
		e.reload(th, s, &regs)
		return
	}
	// A signal has led it away. When it comes to the guard again that is new.
	e.streams.Lock()
	s.starved = false
	e.streams.Unlock()
}

// waiting says whether a thread stands where it touches its buffer, and there is
// no room for another record: it is at its guard or soon will be.
func (e *Engine) waiting(regs *mem.Regs, s *slot) bool {
	if regs.RIP == e.hook+hook.SwapAt {
		return true // a record of the routine may be longer than the guard
	}
	if _, n := s.cursor(); n+layout.Guard <= s.buffer {
		return false
	}
	pos, inside := e.where(regs, s)
	return inside && pos.Fault == emit.FaultLog
}

// roomLimit is how long a thread that has to leave a trampoline may wait for the
// reader.
const roomLimit = 30 * time.Second

// leave brings a thread out of a trampoline to a place of the program, so that
// nothing is lost and nothing happens twice. With an error it still stands inside,
// or has been killed.
func (e *Engine) leave(th *target.Stopped, s *slot) error {
	const most = 1 << 12 // steps, and faults of the hook routine
	s.letGo()            // or it would not come out
	for range most {
		regs, err := th.Regs()
		if err != nil {
			return err
		}
		if e.caught(&regs) { // by a tracer that was killed
			regs.RIP = s.get(layout.Back)
			if err := th.SetRegs(regs); err != nil {
				return err
			}
		}
		pos, inside := e.where(&regs, s)
		if !inside {
			return nil
		}
		if pos.Clean || e.betweenPhases(&regs, &pos) || e.interrupted(th, s, &regs, &pos) {
			return e.back(th, s, &regs, &pos)
		}
		if e.waiting(&regs, s) {
			e.awaitRoom(s, roomLimit)
			e.reload(th, s, &regs)
			continue
		}
		if regs.RIP-e.hook < uint64(len(hook.Code)) {
			if target.InSyscall(regs) { // the wait of a hold, which is over
				regs.RAX, regs.OrigRAX = errno(unix.EINTR), ^uint64(0)
				if err := th.SetRegs(regs); err != nil {
					return err
				}
			}
			err = e.finishHook(th, s)
		} else {
			err = th.Step()
		}
		var fault *target.FaultError
		switch {
		case err == nil, errors.Is(err, target.ErrBlocked): // at the guard page
		case errors.Is(err, target.ErrInSyscall):
			return e.back(th, s, &regs, &pos)
		case errors.As(err, &fault):
			if regs, err = th.Regs(); err != nil {
				return err
			}
			if !e.fault(th, s, &regs, syscall.Signal(fault.Info.Signal), fault.Info) {
				if _, inside := e.where(&regs, s); inside {
					return fault
				}
				return nil // it faults again when it goes on
			}
		default:
			return err
		}
	}
	return errors.New("there is no end to it")
}

// finishHook lets a thread run to the end of the hook routine, which returns to
// an int3 instead of the trampoline for this once.
func (e *Engine) finishHook(th *target.Stopped, s *slot) error {
	const returnAddr = hookRegs - 8
	if back := s.get(returnAddr); back != e.hook+catch { // else a tracer was killed in here
		s.set(layout.Back, back)
		s.set(returnAddr, e.hook+catch)
	}
	err := th.Continue()
	regs, rerr := th.Regs()
	if rerr == nil && e.caught(&regs) {
		regs.RIP = s.get(layout.Back)
		return th.SetRegs(regs)
	}
	s.set(returnAddr, s.get(layout.Back))
	return err
}

// caught says whether a thread is at the int3 behind the hook routine, or behind that.
func (e *Engine) caught(regs *mem.Regs) bool { return regs.RIP-e.hook-catch <= 1 }

// betweenPhases says that a thread is at a system call's instruction, which has
// not executed or has been interrupted. From the site all of it can begin anew.
func (e *Engine) betweenPhases(regs *mem.Regs, pos *emit.Position) bool {
	r, ok := e.regions.find(regs.RIP)
	if !ok || r.Site < 0 || r.Hop {
		return false
	}
	site := &r.unit.sites[r.Site]
	if !site.After || site.Tag != emit.None {
		return false
	}
	if !pos.Executed {
		return pos.Fault == emit.FaultProgram
	}
	// RAX says that the kernel wants to restart it, or that it was cut short:
	// it wrote nothing.
	return target.InSyscall(*regs) || regs.RAX == errno(unix.EINTR) && int64(regs.OrigRAX) >= 0
}

// killed says that what failed did so because the thread or process has ended.
func killed(err error) bool {
	return errors.Is(err, target.ErrExited) || errors.Is(err, unix.ESRCH)
}

func errno(e syscall.Errno) uint64 { return -uint64(e) }

// settle is leave for a thread that may not go on inside. One that waits in a vfork
// does not.
func (e *Engine) settle(th *target.Stopped, s *slot) {
	if err := e.leave(th, s); err != nil && !killed(err) && !errors.Is(err, target.ErrBusy) {
		e.fail(fmt.Errorf("thread %d does not come out of a trampoline: %w", th.TID(), err))
	}
}

// settleAll brings all stopped threads out of their trampolines.
func (e *Engine) settleAll() {
	for tid, s := range e.of {
		if th, err := e.proc.Thread(tid); err == nil {
			e.settle(th, s)
		}
	}
}

// note adds what the tracer saw to a thread's stream.
func (e *Engine) note(s *slot, h *capture.Hit) {
	e.streams.Lock()
	s.notes = append(s.notes, note{at: s.position(), stamp: e.arena.stamp(), hit: h})
	e.streams.Unlock()
	e.awake()
}

// signalled reports a signal that matters: a fault, or one that ends the
// program.
func (e *Engine) signalled(th *target.Stopped, s *slot, sig syscall.Signal, info target.Siginfo) {
	handled, ends := th.Action(sig)
	h, told := capture.SignalHit(int(sig), info.Code, info.Addr, handled, ends)
	if !told {
		return
	}
	regs, err := th.Regs()
	if err != nil {
		return
	}
	h.Thread, h.Wall = trace.ThreadID(s.tid), e.wall()
	observe.Interrupted(&h, &regs, th)
	e.note(s, &h)
}

// OnThread implements target.Interceptor.
func (i *interceptor) OnThread(th *target.Stopped, from int) {
	e := i.engine()
	regs, err := th.Regs()
	if err != nil {
		return
	}
	e.behindCall(&regs)
	if e.begin(th, &regs, e.proc.NewStack(th, &regs)) {
		e.awake()
	}
}

// begin gives a thread that has just been made its slot.
func (e *Engine) begin(th *target.Stopped, regs *mem.Regs, stack [2]uint64) bool {
	s, err := e.give(th, th.TID(), stack, true)
	if err != nil {
		if !killed(err) { // as all threads are by one that executes another program
			e.fail(err)
			regs.GSBase = 0 // that of its maker
			_ = th.SetRegs(*regs)
			th.Wait() // until the engine is taken out
		}
		return false
	}
	regs.GSBase = s.base
	if err := th.SetRegs(*regs); err != nil && !errors.Is(err, unix.ESRCH) {
		e.fail(err)
	}
	return true
}

// behindCall puts a new thread or process, which begins inside the trampoline of
// the system call that made it, behind the original instruction. Its registers
// are as the call left them: nothing is held elsewhere.
func (e *Engine) behindCall(regs *mem.Regs) {
	r, ok := e.regions.find(regs.RIP)
	if !ok || r.Site < 0 || r.Hop {
		return
	}
	if pos, ok := r.unit.maker.Where(r.Site, r.Addr, int(regs.RIP-r.Addr)); ok {
		regs.RIP, regs.RCX = pos.PC, pos.PC
	}
}

// OnFork implements target.Interceptor.
func (i *interceptor) OnFork(parent, child int, shares bool) {
	e := i.engine()
	if s := e.teller(parent); s != nil {
		h := e.hit(capture.Fork, s.tid)
		h.Index, h.Flags = child, capture.Sharing(shares)
		e.note(s, h)
	}
}

// OnForked implements target.Interceptor. A child with memory of its own runs on
// as if there were no mgtrace; one that shares the program's is a thread of it.
func (i *interceptor) OnForked(child *target.Stopped, parent int, shares bool) {
	e := i.engine()
	regs, err := child.Regs()
	if err != nil {
		return
	}
	e.behindCall(&regs)
	if shares {
		e.begin(child, &regs, e.sharedStack(child, parent, &regs))
		return
	}
	regs.GSBase = 0
	if err := e.restore(child); err != nil && !killed(err) {
		e.fail(fmt.Errorf("child process %d: %w", child.TID(), err))
	}
	_ = child.SetRegs(regs) // it may have been killed meanwhile
}

// teller is the slot of a thread, or if that has ended of another one.
func (e *Engine) teller(tid int) *slot {
	if s := e.of[tid]; s != nil {
		return s
	}
	if s := e.of[e.proc.PID()]; s != nil {
		return s
	}
	for _, s := range e.of {
		return s
	}
	return nil
}

// sharedStack is the stack of a child that shares the memory: that of its
// parent, which waits (vfork), or its own.
func (e *Engine) sharedStack(child *target.Stopped, parent int, regs *mem.Regs) [2]uint64 {
	if s := e.of[parent]; s != nil && s.stack[0] <= regs.RSP && regs.RSP < s.stack[1] {
		return s.stack
	}
	return e.proc.NewStack(child, regs)
}

// OnThreadEnd implements target.Interceptor.
func (i *interceptor) OnThreadEnd(tid int) {
	e := i.engine()
	s := e.of[tid]
	if s == nil {
		return
	}
	delete(e.of, tid)
	e.note(s, e.hit(capture.ThreadExit, tid))
}

// OnExec implements target.Interceptor: the history ends here.
func (i *interceptor) OnExec(th *target.Stopped) {
	e := i.engine()
	if s := e.of[th.TID()]; s != nil {
		e.note(s, e.hit(capture.Exec, th.TID()))
	}
	e.streams.Lock()
	e.over = true
	e.streams.Unlock()
	clear(e.of)
	e.regions = regions{}
	e.units, e.removed = nil, true
	if err := e.nothingToUndo(); err != nil {
		e.fail(err)
	}
	e.awake()
}

// Ended tells the engine that the process has ended, and how (as wait(2) tells
// it): the last event of its history.
func (e *Engine) Ended(status uint64) {
	h := e.hit(capture.Exit, e.proc.PID())
	h.Index = int(status)
	e.streams.Lock()
	e.exit, e.over = h, true
	e.streams.Unlock()
	if err := e.nothingToUndo(); err != nil {
		e.fail(err)
	}
	e.awake()
}

// fail notes that the engine can not go on; Run returns it.
func (e *Engine) fail(err error) {
	e.streams.Lock()
	if !errors.Is(e.failure, err) { // or many threads say the same
		e.failure = errors.Join(e.failure, err)
	}
	e.streams.Unlock()
	e.awake()
}

// awake wakes the reader.
func (e *Engine) awake() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}
