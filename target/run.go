package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mgtrace/target/mem"
)

// Handlers are called while the program runs, one at a time, in the goroutine
// that called Run; nil ones are not. They may use every method of the process
// but Run.
type Handlers struct {
	// OnCrash: a signal whose default action is to end the process is about
	// to do so. All threads are stopped. Called once at most.
	OnCrash func(Crash)
	// OnExit: the process is about to end, for whatever reason, after OnCrash and OnHold
	// too: no thread runs any more of its code. All memory can still be read. It is not called
	// when the kernel ends the process without reporting that (SIGKILL may).
	OnExit func(Exit)
	// OnUrge: somebody wants the run over (Hold's reasons), before OnHold, or while
	// OnCrash or OnExit is still at work. Called once at most, by the tracer, which it
	// must not keep waiting.
	OnUrge func()
	// OnHold: the run is being ended from outside. All threads are stopped,
	// and when OnHold returns the process is killed.
	OnHold func(Hold)
	// OnExec: the process has replaced its program by exe. All threads but
	// one are gone, and that one is stopped.
	OnExec func(exe string)
	// OnFork: the process has a child process, which runs on untraced.
	OnFork func(pid int)
	// OnThread: the process has a new thread.
	OnThread func(tid int)
}

// Crash is a signal that is about to end the process.
type Crash struct {
	TID    int
	Signal syscall.Signal
	Code   int    // si_code of sigaction(2)
	Fault  bool   // Addr is the address that an instruction could not access or execute
	Addr   uint64 // the kernel does not tell it for a non-canonical address
	Sender int    // process that sent it; 0: the kernel
	Regs   mem.Regs
}

// Exit is the end of the process.
type Exit struct {
	TID    int // the thread that ends last, or has the others end
	Status ExitStatus
}

// Hold says why a run is being ended.
type Hold struct {
	Reason HoldReason
	Signal syscall.Signal // HoldInterrupt, HoldTerminate
	Err    error          // HoldContext: the cause
}

// HoldReason says what ended a run.
type HoldReason uint8

// The reasons.
const (
	HoldInterrupt HoldReason = iota + 1 // Ctrl-C, when it was not the program's own
	HoldTerminate                       // SIGTERM or SIGHUP to the tracer
	HoldTimeout                         // the context's deadline
	HoldContext                         // the context was cancelled
)

func (h Hold) String() string {
	switch h.Reason {
	case HoldInterrupt:
		return "interrupted"
	case HoldTerminate:
		return "terminated by " + unix.SignalName(h.Signal)
	case HoldTimeout:
		return "timeout"
	case HoldContext:
		return fmt.Sprintf("cancelled: %v", h.Err)
	}
	return "not held"
}

const (
	// A Ctrl-C this long after the first is for us.
	patience = 2 * time.Second
	// Within this time the terminal's SIGINT has reached the program too.
	sameKey = 300 * time.Millisecond
	// Within this time another signal is the same request to end: timeout(1) sends its own to us and then to
	// our process group, which we are in; and so do supervisors.
	sameRequest = time.Second
)

// run is one Run: its handlers, and what the tracer's own signals mean.
type run struct {
	t        *tracer
	ctx      context.Context
	handlers Handlers
	ended    chan error // one value, when it is over

	crashed  bool // OnCrash was called
	last     bool // the process is at its end: in OnCrash or OnExit, or after
	exited   bool // OnExit was called
	urged    bool // OnUrge was called
	held     bool // OnHold was called
	finished bool
	stopWith int // stop signal that is the job's: when it stops the process, we stop too

	interrupts int         // SIGINTs that the program has met
	firstCtrlC time.Time   // zero: none yet
	check      *time.Timer // when to look whether the program has met it
}

// begin makes ready to let the process run with handlers; unhold does it.
func (t *tracer) begin(ctx context.Context, h Handlers) (*run, error) {
	if t.run != nil {
		return nil, errors.New("target: Run is active")
	}
	if t.status != nil {
		return nil, ErrExited
	}
	r := &run{t: t, ctx: ctx, handlers: h, ended: make(chan error, 1)}
	t.run = r
	t.signals = make(chan os.Signal, 16)
	heed(t.signals, append([]os.Signal{unix.SIGQUIT, unix.SIGTSTP}, toEnd...)...)
	return r, nil
}

// finish ends the run; err is not nil if the tracer failed.
func (r *run) finish(err error) {
	if r.finished {
		return
	}
	r.finished = true
	signal.Stop(r.t.signals)
	r.t.signals = nil
	if r.check != nil {
		r.check.Stop()
	}
	if r.held {
		r.t.terminal.restore()
	}
	r.t.run = nil
	r.ended <- err
}

// timer, done: channels to wait on; nil without a run.
func (r *run) timer() <-chan time.Time {
	if r == nil || r.check == nil {
		return nil
	}
	return r.check.C
}

func (r *run) done() <-chan struct{} {
	if r == nil || r.urged {
		return nil
	}
	return r.ctx.Done()
}

func (r *run) onDone() {
	err := context.Cause(r.ctx)
	if errors.Is(r.ctx.Err(), context.DeadlineExceeded) {
		r.end(Hold{Reason: HoldTimeout, Err: err})
		return
	}
	r.end(Hold{Reason: HoldContext, Err: err})
}

// onSignal handles a signal to the tracer. Those that the terminal sends to the
// whole foreground group have reached the program as well.
func (r *run) onSignal(s os.Signal) {
	switch s {
	case unix.SIGINT:
		r.onInterrupt()
	case unix.SIGTERM, unix.SIGHUP:
		r.end(Hold{Reason: HoldTerminate, Signal: s.(syscall.Signal)})
	}
	// SIGQUIT and SIGTSTP are the program's: what becomes of it becomes of us.
}

// onInterrupt gives the first Ctrl-C to the program, which handles it or dies.
// It is ours at once where the program ignores SIGINT; when it did not come
// from the terminal, so that the program never saw it; and when the program
// still runs at a second one, a while later.
func (r *run) onInterrupt() {
	now := time.Now()
	switch {
	case r.t.attached, r.t.ignores(unix.SIGINT), !r.firstCtrlC.IsZero() && now.Sub(r.firstCtrlC) >= patience:
		r.end(Hold{Reason: HoldInterrupt, Signal: unix.SIGINT})
	case r.firstCtrlC.IsZero():
		r.firstCtrlC = now
		r.check = time.NewTimer(sameKey)
	}
}

// onTimer judges by what the program has reported until now, also what nobody has taken
// yet: this process may have had no processor for as long.
func (r *run) onTimer() {
	r.check = nil
	r.t.fail(r.t.reap())
	if r.interrupts == 0 && !r.t.pending(unix.SIGINT) {
		r.end(Hold{Reason: HoldInterrupt, Signal: unix.SIGINT})
	}
}

// ignores reports whether the process ignores a signal.
func (t *tracer) ignores(s syscall.Signal) bool {
	return t.status == nil && procStatus(strconv.Itoa(t.pid)).uint("SigIgn", 16)>>(s-1)&1 != 0
}

// pending reports whether the process has yet to take a signal: it blocks it,
// reads it with sigwait(3), or is held with the signal in hand.
func (t *tracer) pending(s syscall.Signal) bool {
	for _, th := range t.threads {
		if th.parked && th.inHand() && th.status.StopSignal() == s {
			return true
		}
		st := procStatus(strconv.Itoa(th.tid))
		if (st.uint("SigPnd", 16)|st.uint("ShdPnd", 16))>>(s-1)&1 != 0 {
			return true
		}
	}
	return false
}

// urge tells the handler that somebody wants the run over. From here on, but for the same
// request, our signals have their usual effect: another Ctrl-C ends us, and the kernel the process.
func (r *run) urge() {
	if r.urged {
		return
	}
	r.urged = true
	SameRequest()
	if r.t.signals != nil {
		signal.Stop(r.t.signals)
	}
	if f := r.handlers.OnUrge; f != nil {
		f()
	}
}

// SameRequest is called when a signal has asked us to end, and is heeded: those that come in the moments after it are of
// the same request, and do not end us.
func SameRequest() {
	echoes := Asked() // nobody reads them
	time.AfterFunc(sameRequest, func() { signal.Stop(echoes) })
}

// AskedOnce calls end at the first signal that asks us to end. That one alone: we die of another that is not of the same
// request. done ends that.
func AskedOnce(end func()) (done func()) {
	signals := Asked()
	over := make(chan struct{})
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		select {
		case <-signals:
			SameRequest()
			signal.Stop(signals)
			end()
		case <-over:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(over)
		<-heard
	}
}

// toEnd are the signals that ask us to end.
var toEnd = []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP}

// Asked gets the signals that ask us to end, but for those that were ignored when we were started.
func Asked() chan os.Signal {
	signals := make(chan os.Signal, 1)
	heed(signals, toEnd...)
	return signals
}

// heed has signals sent to a channel. One that was ignored when we were started stays so (nohup(1)).
func heed(c chan<- os.Signal, signals ...os.Signal) {
	for _, s := range signals {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
}

// impatience is what urges a handler of the process's end: signals that were sent to us,
// which are no longer for the process, and the context's end.
func (r *run) impatience() (<-chan os.Signal, <-chan struct{}) {
	if r == nil || !r.last || r.urged {
		return nil, nil
	}
	return r.t.signals, r.ctx.Done()
}

// end holds the process, lets the handler see it, and kills it.
func (r *run) end(h Hold) {
	if r.held || r.finished {
		return
	}
	r.held = true
	r.urge()
	if f := r.handlers.OnHold; f != nil && r.t.status == nil {
		r.t.holds++
		_ = r.t.stopAll() // as in whileHeld
		r.t.callback(func() { f(h) })
		r.t.holds--
	}
	if r.t.attached {
		r.t.detach()
		return
	}
	r.t.kill()
	if r.t.pid != r.t.root && r.t.rootStatus == nil {
		_ = unix.Kill(r.t.root, unix.SIGKILL) // the launcher
	}
	r.t.unhold()
}

// noteStop remembers whether a stop signal that is delivered to the process is
// the job's, so that the tracer has to stop with it, or back-pressure of an
// engine (sent by the kernel or by us) or an outsider's, and it has not.
func (t *tracer) noteStop(signal int, info Siginfo, ours bool) {
	if t.run == nil || t.attached {
		return
	}
	t.run.stopWith = 0
	if unix.Signal(signal) != unix.SIGSTOP && !ours || info.Code <= 0 && info.PID == t.pid {
		t.run.stopWith = signal
	}
}

// stopSelf stops this process, so that the shell sees the job stop; it returns
// when the job goes on. SIGTSTP would not do: once os/signal has watched it, the
// Go runtime ignores it.
func (r *run) stopSelf() {
	if Orphaned() || r.t.terminal == nil {
		// Nobody could let us go on; the kernel ignores Ctrl-Z there. Without a terminal it is no job, but one that has
		// stopped itself until another process lets it go on: stopped, we would not hear of that.
		return
	}
	// To this thread, so that it takes effect before the call returns.
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP)
}

// Orphaned reports whether our process group has no shell that watches it: an
// ancestor of ours, outside of the group, in the same session (setpgid(2)).
func Orphaned() bool {
	group := unix.Getpgrp()
	session, err := unix.Getsid(0)
	if err != nil {
		return true
	}
	for pid := unix.Getppid(); pid > 0; {
		g, err := unix.Getpgid(pid)
		if err != nil {
			return true
		}
		if g != group {
			s, err := unix.Getsid(pid)
			return err != nil || s != session
		}
		pid = int(procStatus(strconv.Itoa(pid)).uint("PPid", 10))
	}
	return true
}
