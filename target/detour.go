package target

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"mgtrace/target/mem"
)

const (
	stepLimit    = 2 * time.Millisecond  // for one instruction, of a thread that sleeps
	syscallLimit = 10 * time.Second      // for an injected system call
	spinLimit    = 30 * time.Microsecond // waiting without sleeping
)

// detourSignals may not be blocked during a detour: the kernel forces them on
// a thread that blocks them, and takes its handler away
// (force_sig_info_to_task in kernel/signal.c).
const detourSignals = faultSignals | 1<<(unix.SIGSYS-1)

// detourMask is the mask of a thread on a detour, as the kernel says it.
const detourMask = ^uint64(detourSignals | 1<<(unix.SIGKILL-1) | 1<<(unix.SIGSTOP-1))

// detour is what a stopped thread does for the tracer and not for the program:
// single steps, injected system calls. At its end the thread stands as if there
// had been none: mask, the signal that it is about to get, and signals that
// arrived meanwhile are kept. Registers are the caller's.
//
// It ends in a stop in which the kernel will still restart the system call that the
// thread was in (arch_do_signal_or_restart looks at orig_rax and rax after all
// signals are dealt with): of a SIGTRAP, in which any signal can be delivered with
// PTRACE_CONT; or of an interrupt, in which none can, and the one in hand is sent
// again. The second is that of a detour that has made system calls, and, because a
// SIGTRAP would end the thread if this process were killed, of any that a process
// makes to which we have attached.
type detour struct {
	t       *tracer
	th      *thread
	info    Siginfo // of the signal in hand; Signal 0: none
	mask    uint64
	trap    uint64    // what the process does at SIGTRAP: sigDefault, sigIgnore, sigHandler
	shields bool      // it is one of those for which SIGTRAP leads to the gate
	ran     bool      // it has executed anything
	called  bool      // system calls, which end in no stop of a signal
	trapped bool      // a SIGTRAP was forced on it
	kept    []Siginfo // signals that came meanwhile and can not be blocked
	retrap  bool      // a group-stop or an interrupt has to be reported again
	// leaks: the trap flag was set by a step and the kernel believes that it was
	// the program. It does behind an instruction that loads the flags: it
	// forgets there who set it, and sets it again at the next step
	// (enable_single_step in arch/x86/kernel/step.c).
	leaks bool
}

// depart begins a detour of a thread that is stopped.
func (t *tracer) depart(th *thread) (*detour, error) {
	if !th.stopped || th.exiting || !t.knows(th) {
		return nil, ErrRunning
	}
	if err := t.settle(th); err != nil {
		return nil, err
	}
	d := &detour{t: t, th: th}
	var err error
	if th.lost.Signal != 0 || th.inHand() {
		if d.info, err = th.siginfo(); err != nil {
			return nil, err
		}
	}
	if d.mask, err = getSigmask(th.tid); err != nil {
		return nil, err
	}
	t.noteDetour(th, d.mask, &d.info)
	switch handled, ignored := action(th.tid, int(unix.SIGTRAP)); {
	case handled:
		d.trap = sigHandler
	case ignored:
		d.trap = sigIgnore
	}
	d.retrap = int(th.status>>16) == unix.PTRACE_EVENT_STOP && isStopSignal(int(th.status.StopSignal()))
	return d, setSigmask(th.tid, detourMask)
}

// What a process does at a signal, as in struct kernel_sigaction; any other: a handler.
const (
	sigDefault = iota
	sigIgnore
	sigHandler
)

// siginfo is the signal that a thread is about to get.
func (th *thread) siginfo() (Siginfo, error) {
	if th.lost.Signal != 0 {
		return th.lost, nil
	}
	return getSiginfo(th.tid)
}

// inHand reports whether the thread is about to get a signal.
func (th *thread) inHand() bool { return th.status != 0 && th.status>>16 == 0 }

// settle brings a thread that reported an event in the midst of a system call
// (clone, fork, exec) to the call's end, where its registers are its own.
func (t *tracer) settle(th *thread) error {
	switch int(th.status >> 16) {
	case 0, unix.PTRACE_EVENT_STOP:
		return nil
	case unix.PTRACE_EVENT_VFORK, unix.PTRACE_EVENT_EXIT:
		return ErrBusy // it runs no code of its own for a while, or never again
	}
	if th.settled {
		return nil
	}
	// A signal on the way would take the place of the event, which may not have
	// been told of yet.
	mask, err := getSigmask(th.tid)
	if err != nil {
		return err
	}
	t.noteDetour(th, mask, &Siginfo{})
	if err := setSigmask(th.tid, detourMask); err != nil {
		return err
	}
	if err := unix.PtraceInterrupt(th.tid); err != nil {
		return err
	}
	if err := ptrace(unix.PTRACE_CONT, th.tid, 0, 0); err != nil {
		return err
	}
	ws, err := t.waitThread(th, stopLimit)
	if err != nil {
		return err
	}
	if err := setSigmask(th.tid, mask); err != nil && !gone(err) {
		return err
	}
	t.denote(th)
	th.settled = true
	if int(ws>>16) != unix.PTRACE_EVENT_STOP {
		return t.overtaken(th, ws)
	}
	return nil
}

// overtaken notes that a thread in a detour has met something else, mostly its
// end, which is handled in place of the stop that it was in.
func (t *tracer) overtaken(th *thread, ws unix.WaitStatus) error {
	if !ws.Stopped() {
		th.stopped = false
		t.onEnd(th.tid, ws)
		return ErrExited
	}
	th.note(ws)
	th.again = true
	if int(ws>>16) == unix.PTRACE_EVENT_EXIT {
		th.exiting = true
		return ErrExited
	}
	return ErrBusy
}

// run lets the thread go on by request until it is stopped by a SIGTRAP that
// an instruction caused, or, by PTRACE_SYSCALL, where a system call begins or ends. A
// *FaultError tells of another fault, which is not delivered.
func (d *detour) run(request int, limit time.Duration) error {
	if d.info.Signal != 0 {
		d.th.noteOwed(true)
	}
	d.ran = true
	for {
		if err := ptrace(request, d.th.tid, 0, 0); err != nil {
			return fmt.Errorf("thread %d: %w", d.th.tid, err)
		}
		ws, err := d.t.waitThread(d.th, limit)
		if err != nil {
			return err
		}
		switch event := int(ws >> 16); {
		case !ws.Stopped(), event != 0 && event != unix.PTRACE_EVENT_STOP:
			return d.t.overtaken(d.th, ws)
		case event == unix.PTRACE_EVENT_STOP:
			d.retrap = true
			continue
		case ws.StopSignal() == syscallStop:
			return nil
		}
		if done, err := d.signal(); done || err != nil {
			return err
		}
	}
}

// signal takes the signal of a stop: done is a SIGTRAP that an instruction caused.
func (d *detour) signal() (done bool, err error) {
	info, err := getSiginfo(d.th.tid)
	switch {
	case err != nil:
		return false, err
	case !info.Synchronous():
		d.kept = append(d.kept, info) // somebody sent it
		return false, nil
	case info.Signal == int(unix.SIGTRAP):
		d.trapped = true
		return true, nil
	}
	return false, &FaultError{info}
}

// end puts mask and signals back. It is to be called whatever run said, after
// the registers have been set.
func (d *detour) end() error {
	th := d.th
	if !d.t.knows(th) || th.again || !th.stopped {
		d.t.denote(th)
		if d.shields {
			d.t.shields--
		}
		return nil
	}
	var errs []error
	if d.leaks {
		regs, err := getRegs(th.tid)
		if err == nil && regs.EFlags&flagTF != 0 {
			regs.EFlags &^= flagTF
			err = setRegs(th.tid, regs)
		}
		errs = append(errs, err)
	}
	switch {
	case d.shields:
		errs = append(errs, d.unshield())
	case d.trap == sigIgnore && d.trapped:
		errs = append(errs, d.trapTo(sigIgnore))
	}
	switch {
	case !d.ran:
	case d.called, d.t.attached && !d.info.Synchronous():
		errs = append(errs, d.quiet(false))
		th.lost = d.info
	default:
		th.lost = Siginfo{} // this stop can deliver it
		if d.info.Signal != 0 {
			errs = append(errs, setSiginfo(th.tid, d.info))
		}
	}
	errs = append(errs, setSigmask(th.tid, d.mask))
	if th.lost.Signal == 0 {
		d.t.denote(th)
	}
	for _, info := range d.kept {
		errs = append(errs, th.sendAgain(d.t.pid, resent{info: info}))
	}
	if d.retrap {
		errs = append(errs, unix.PtraceInterrupt(th.tid))
	}
	return errors.Join(errs...)
}

// runUntil lets the thread go on until done, which is asked again and again, and
// interrupts it then, or when the limit has passed and goesOn says that nothing has been
// done since it was asked last.
func (d *detour) runUntil(done, goesOn func() bool, limit time.Duration) error {
	const pause = 100 * time.Microsecond
	d.ran, d.called = true, true
	for end := time.Now().Add(limit); ; {
		if err := ptrace(unix.PTRACE_CONT, d.th.tid, 0, 0); err != nil {
			return fmt.Errorf("thread %d: %w", d.th.tid, err)
		}
		ws, err := d.t.waitOne(d.th.tid, pause)
		for errors.Is(err, context.DeadlineExceeded) && !done() {
			if now := time.Now(); now.After(end) {
				if !goesOn() {
					break
				}
				end = now.Add(limit)
			}
			ws, err = d.t.waitOne(d.th.tid, pause)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			late := !done()
			if err := d.quiet(true); err != nil || !late {
				return err
			}
			return ErrBlocked
		}
		switch event := int(ws >> 16); {
		case err != nil:
			return err
		case !ws.Stopped(), event != 0 && event != unix.PTRACE_EVENT_STOP:
			return d.t.overtaken(d.th, ws)
		case event == unix.PTRACE_EVENT_STOP:
			d.retrap = true
			continue
		}
		if trapped, err := d.signal(); trapped || err != nil {
			return errors.Join(err, ErrBlocked)
		}
	}
}

// quiet leads to the stop of an interrupt; runs: the thread is not stopped. Else it executes
// nothing for that. If this process is killed then, nothing happens to the thread, and
// the kernel has forgotten that it was stepped, which would lead it to a SIGTRAP.
func (d *detour) quiet(runs bool) error {
	tid := d.th.tid
	for ; ; runs = false {
		if err := unix.PtraceInterrupt(tid); err != nil {
			return err
		}
		if !runs {
			if err := ptrace(unix.PTRACE_CONT, tid, 0, 0); err != nil {
				return err
			}
		}
		ws, err := d.t.waitThread(d.th, syscallLimit)
		switch {
		case err != nil:
			return err
		case ws.Stopped() && int(ws>>16) == unix.PTRACE_EVENT_STOP:
			d.retrap = d.retrap || isStopSignal(int(ws.StopSignal()))
			return nil
		case !ws.Stopped() || ws>>16 != 0:
			return d.t.overtaken(d.th, ws)
		}
		info, err := getSiginfo(tid)
		if err != nil {
			return err
		}
		d.kept = append(d.kept, info)
	}
}

// resent is a signal that was taken from a thread and sent again.
type resent struct {
	info    Siginfo
	handled bool // everybody has been told of it
}

// sendAgain sends a signal to the thread that was taken from it. If it arrives
// with our siginfo, that is exchanged for its own (thread.original).
func (th *thread) sendAgain(pid int, r resent) error {
	if th.resent == nil {
		th.resent = make(map[int]resent)
	}
	th.resent[r.info.Signal] = r
	group := pid
	if th.shared {
		group = th.tid
	}
	return send(group, th.tid, r.info)
}

// original exchanges the siginfo of a signal that the tracer sent again.
func (th *thread) original(info Siginfo) (_ Siginfo, handled bool) {
	old, ok := th.resent[info.Signal]
	if !ok {
		return info, false
	}
	if info.raw != old.info.raw && (info.Code != siTKill || info.PID != unix.Getpid()) {
		// Another of that number. If ours is not pending behind it they are
		// one (signal(7)); that of a later detour takes its place.
		return info, false
	}
	delete(th.resent, info.Signal)
	if th.lost.Signal != 0 {
		th.lost = old.info
		return old.info, old.handled
	}
	if setSiginfo(th.tid, old.info) != nil {
		return info, false // killed meanwhile
	}
	return old.info, old.handled
}

// trapTo sets what the process does at SIGTRAP. Registers are left as they were.
func (d *detour) trapTo(to uint64) error {
	tid := d.th.tid
	before, err := getRegs(tid)
	if err != nil {
		return err
	}
	at, done, err := d.t.callAt(d.th)
	if err != nil {
		return err
	}
	defer done()
	// struct kernel_sigaction { handler, flags, restorer, mask }, below the red zone.
	sigaction := (before.RSP-redZone)&^15 - 32
	action := binary.LittleEndian.AppendUint64(make([]byte, 0, 32), to)
	if to >= sigHandler {
		action = binary.LittleEndian.AppendUint64(action, saRestorer)
		action = binary.LittleEndian.AppendUint64(action, 0)
		action = binary.LittleEndian.AppendUint64(action, ^uint64(0))
	}
	if err := poke(tid, sigaction, action[:32]); err != nil {
		return err
	}
	d.th.noteCall(&before)
	if _, err := d.syscall(at, before, unix.SYS_RT_SIGACTION, uint64(unix.SIGTRAP), sigaction, 0, 8); err != nil {
		return err
	}
	err = setRegs(tid, before)
	d.th.noteCall(nil)
	return err
}

// saRestorer is SA_RESTORER, without which the kernel calls no handler.
const saRestorer = 0x0400_0000

// waitThread waits for the next report of one thread and leaves those of others.
// A thread that does not report in time is interrupted: ErrBlocked.
func (t *tracer) waitThread(th *thread, limit time.Duration) (unix.WaitStatus, error) {
	start := time.Now()
	ws, err := t.waitOne(th.tid, limit)
	for errors.Is(err, context.DeadlineExceeded) && RunState(th.tid) != 'S' && time.Since(start) < limit+stopLimit {
		ws, err = t.waitOne(th.tid, limit) // it waits for a processor or a disk, not for us
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		return ws, err
	}
	if err := unix.PtraceInterrupt(th.tid); err != nil {
		return 0, err
	}
	if ws, err = t.waitOne(th.tid, stopLimit); err != nil {
		th.stopped = false // it reports when it can
		return 0, fmt.Errorf("thread %d: %w", th.tid, ErrBusy)
	}
	if int(ws>>16) != unix.PTRACE_EVENT_STOP {
		return ws, nil // just in time; the interrupt is reported later, to no effect
	}
	return 0, ErrBlocked
}

// waitOne waits without sleeping at first, and then until the limit.
func (t *tracer) waitOne(tid int, limit time.Duration) (unix.WaitStatus, error) {
	// What SIGCHLD told of other threads is still to be taken afterwards.
	defer t.expectReports()
	start := time.Now()
	var timer *time.Timer
	for {
		var ws unix.WaitStatus
		got, err := unix.Wait4(tid, &ws, unix.WALL|unix.WNOHANG|unix.WNOTHREAD, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, fmt.Errorf("wait for thread %d: %w", tid, err)
		case got == tid:
			if timer != nil {
				timer.Stop()
			}
			return ws, nil
		case time.Since(start) < spinLimit:
			_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
			continue
		case limit == 0:
			return 0, context.DeadlineExceeded
		}
		if timer == nil {
			timer = time.NewTimer(limit)
			loud()
		}
		select {
		case <-t.sigchld:
		case <-timer.C:
			return 0, context.DeadlineExceeded
		}
	}
}

func (t *tracer) expectReports() {
	select {
	case t.sigchld <- unix.SIGCHLD:
	default:
	}
}

// injected are registers that make a thread execute a system call at gate.
func injected(regs mem.Regs, gate uint64, nr uint64, args ...uint64) mem.Regs {
	var a [6]uint64
	copy(a[:], args)
	regs.RIP, regs.RAX, regs.OrigRAX = gate, nr, noSyscall
	regs.RDI, regs.RSI, regs.RDX, regs.R10, regs.R8, regs.R9 = a[0], a[1], a[2], a[3], a[4], a[5]
	regs.EFlags &^= flagTF
	return regs
}
