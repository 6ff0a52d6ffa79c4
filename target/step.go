package target

import (
	"errors"

	"golang.org/x/sys/unix"

	"mgtrace/target/mem"
)

// Stepper sees a program instruction by instruction, on the tracer's goroutine. Its
// methods must not wait for anything that the process does.
//
// All threads are stepped, in turns of a few hundred instructions. One that enters
// the kernel keeps nobody: its turn comes when the call is done.
type Stepper interface {
	// OnStep: the thread stands before an instruction, with registers r, and all that
	// it did before is done.
	OnStep(th *Stopped, r *mem.Regs) Ahead
	// OnHandler: the thread has been led to a handler of the signal that OnSignal told
	// of last, and stands before its first instruction.
	OnHandler(th *Stopped, r *mem.Regs)
}

// Ahead is what a Stepper says of the instruction that a thread stands before.
type Ahead struct {
	Enters bool // it may wait in the kernel
	Next   bool // it must be the next that is executed of all threads'
	CPUID  bool // it is CPUID, which a hypervisor executes
}

// SetStepper has every thread of the process, which must be held, and of children that
// share its memory executed step by step from now on; nil: at full speed.
func (p *Process) SetStepper(s Stepper) error {
	return p.do(func() {
		p.t.stepper = s
		if s == nil {
			p.t.unstep()
		}
	})
}

// turn is how many instructions a thread executes before another one may, if it can stop there.
const turn = 256

// si_code of the stops of PTRACE_SINGLESTEP: behind an instruction (TRAP_TRACE), behind
// a system call (TRAP_BRKPT, user_single_step_report in arch/x86/kernel/ptrace.c), at
// a handler (SIGTRAP itself, ptrace_notify in kernel/signal.c); and of an int3 (SI_KERNEL).
const (
	trapBreak   = 1
	trapTrace   = 2
	trapHandler = int32(unix.SIGTRAP)
	trapKernel  = 0x80
)

// told is an instruction that a thread stood before when OnStep was called. A stop of
// another kind (a signal that nobody is told of, an interruption) may come before the
// step's: then it has not been executed.
type told struct {
	is bool
	pc uint64
	Ahead
}

// stepped reports whether a SIGTRAP is the end of a step.
func (t *tracer) stepped(info Siginfo) bool {
	return t.stepper != nil && (info.Code == trapBreak || info.Code == trapTrace || info.Code == trapHandler)
}

// makeReady has a stopped thread wait for its turn.
func (t *tracer) makeReady(th *thread) {
	if !th.ready {
		th.ready = true
		t.ready = append(t.ready, th)
	}
}

// unstep lets threads go on that wait for their turn.
func (t *tracer) unstep() {
	ready := t.ready
	t.ready = nil
	for _, th := range ready {
		th.ready = false
		t.resume(th)
	}
}

var always = closed() // a channel that is always ready to be read

func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// steps is a channel to wait on that is ready while a thread waits for its turn.
func (t *tracer) steps() <-chan struct{} {
	if len(t.ready) == 0 || t.holding() {
		return nil
	}
	return always
}

// step gives the next thread its turn.
func (t *tracer) step() {
	th := t.ready[0]
	t.ready = t.ready[:copy(t.ready, t.ready[1:])]
	th.ready = false
	if !th.stopped || th.parked || th.unborn || th.exiting || !t.knows(th) {
		return // killed meanwhile, or its stop is still to be handled
	}
	if t.stepper == nil {
		t.resume(th)
		return
	}
	defer quiet()()
	// A turn ends where the stepper knows of all that was executed.
	for n := 0; ; n++ {
		regs, err := getRegs(th.tid)
		if err != nil {
			return // killed meanwhile
		}
		waits := t.beforeStep(th, &regs)
		if t.trapped == th {
			th.told.is = false // halted: it is told again when it goes on
			return
		}
		if t.stepper == nil {
			t.resume(th)
			return
		}
		if n >= turn && th.told.is && !th.told.Next {
			break
		}
		signal := th.next.signal
		th.next = resumption{}
		var fence *fence
		if th.told.is && th.told.CPUID && !waits {
			fence = t.fence(th, regs.RIP)
		}
		if err := ptrace(unix.PTRACE_SINGLESTEP, th.tid, 0, uintptr(signal)); err != nil {
			if gone(err) {
				th.stopped = false
			}
			return
		}
		th.stopped, th.lost = false, Siginfo{}
		if waits {
			return // its stop is reported when it comes
		}
		ws, err := awaitStep(th.tid)
		if err != nil {
			return
		}
		if ws.Stopped() {
			fence.lift()
		}
		if !t.afterStep(th, ws) {
			return
		}
		if t.holding() || !th.stopped {
			return
		}
	}
	t.makeReady(th)
}

// awaitStep waits for the report of a thread that does not wait in the kernel.
func awaitStep(tid int) (ws unix.WaitStatus, err error) {
	for {
		_, err = unix.Wait4(tid, &ws, unix.WALL|unix.WNOTHREAD, nil)
		if !errors.Is(err, unix.EINTR) {
			return ws, err
		}
	}
}

// beforeStep tells the stepper where the thread stands, unless that is within a
// system call; waits: the step may take long.
func (t *tracer) beforeStep(th *thread, regs *mem.Regs) (waits bool) {
	switch event := int(th.status >> 16); {
	case event != 0 && event != unix.PTRACE_EVENT_STOP:
		return true // in the call that it reports
	case InSyscall(*regs):
		return true // which is made again
	}
	if signal := th.next.signal; signal != 0 {
		if handled, _ := action(th.tid, signal); handled {
			return true // the stop at its handler comes next
		}
	}
	if !th.told.is || th.told.pc != regs.RIP {
		s := t.borrow(th)
		th.told = told{is: true, pc: regs.RIP}
		th.told.Ahead = t.stepper.OnStep(s, regs)
		t.giveBack(s)
	}
	return th.told.Enters || th.next.signal != 0
}

// afterStep takes the report of a step; false: it was something else, which has been
// handled.
func (t *tracer) afterStep(th *thread, ws unix.WaitStatus) bool {
	if !ws.Stopped() {
		t.onEnd(th.tid, ws)
		return false
	}
	if ws>>16 == 0 && ws.StopSignal() == unix.SIGTRAP {
		if info, err := getSiginfo(th.tid); err == nil && (info.Code == trapTrace || info.Code == trapKernel && th.told.CPUID) {
			th.note(ws)
			th.told.is = false
			return true
		}
	}
	t.onStop(th.tid, ws)
	return false
}

// onStepped handles the end of a step that was not waited for.
func (t *tracer) onStepped(th *thread, info Siginfo) {
	th.next.signal = 0
	if info.Code == trapBreak && !th.told.Enters {
		return // the exec before the program's first instruction ends as every call does
	}
	th.told.is = false
	if info.Code != trapHandler {
		return
	}
	regs, err := getRegs(th.tid)
	if err != nil {
		return // killed meanwhile
	}
	s := t.borrow(th)
	t.stepper.OnHandler(s, &regs)
	t.giveBack(s)
}
