package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// tracer is the state of the goroutine that makes all ptrace requests; except
// for the channels and memory, only that goroutine touches it.
type tracer struct {
	commands  chan func()    // work to do on the tracer's thread
	callbacks chan func()    // work that the caller of Run does for the tracer
	sigchld   chan os.Signal // some tracee may have something to report
	signals   chan os.Signal // ours, while running (signals.go)
	closed    chan struct{}

	root   int          // process that Launch started
	pid    int          // process that is meant: root, or the one that was followed
	strays map[int]bool // tracees to detach at their next stop

	rootStatus *ExitStatus // not nil: root has ended
	status     *ExitStatus // not nil: the process has ended

	threads map[int]*thread // threads of pid that exist
	early   map[int]bool    // threads that were met before the clone that made them was reported
	held    bool            // by the caller: nothing is resumed
	holds   int             // by the tracer itself, around a callback or a call
	traps   map[uint64]byte // breakpoints: the byte that was there
	trapped *thread         // thread that ran into one, not yet handled
	spent   map[uint64]bool // where breakpoints were
	run     *run            // not nil: Run is active

	memory   memory
	terminal *terminal
}

// thread is a thread of the traced process.
type thread struct {
	tid     int
	fresh   bool            // new, and not yet told to OnThread
	stopped bool            // in a ptrace-stop: registers can be read
	status  unix.WaitStatus // of its last stop
	parked  bool            // stopped while held: the stop is still to be handled
	next    resumption      // how it goes on from a stop that was handled
	exiting bool            // has reported PTRACE_EVENT_EXIT: runs no more of its own code
}

// resumption says how a stopped thread goes on.
type resumption struct {
	signal int  // to deliver; 0 none
	listen bool // it is part of a group-stop, and stays stopped until SIGCONT
}

func newTracer() *tracer {
	return &tracer{
		commands:  make(chan func()),
		callbacks: make(chan func()),
		sigchld:   make(chan os.Signal, 1),
		closed:    make(chan struct{}),
		strays:    make(map[int]bool),
		early:     make(map[int]bool),
		traps:     make(map[uint64]byte),
		spent:     make(map[uint64]bool),
	}
}

// watchChildren makes the kernel's SIGCHLD a wake-up. It comes after the fork,
// so that the child's handling of the signal is the one we were started with.
func (t *tracer) watchChildren() { signal.Notify(t.sigchld, unix.SIGCHLD) }

// serve does what is asked of the tracer, and what the tracees report, until
// the process is closed.
func (t *tracer) serve() {
	t.fail(t.reap())
	for {
		select {
		case <-t.closed:
			return
		case command := <-t.commands:
			command()
		case <-t.sigchld:
			t.fail(t.reap())
		case s := <-t.signals:
			t.run.onSignal(s)
		case <-t.run.timer():
			t.run.onTimer()
		case <-t.run.done():
			t.run.onDone()
		}
	}
}

// fail ends a run that can not go on; such an error is the kernel's or ours.
func (t *tracer) fail(err error) {
	if err != nil && t.run != nil {
		t.run.finish(err)
	}
}

// pump handles reports until cond holds, or ctx or the time limit ends (0: none).
func (t *tracer) pump(ctx context.Context, limit time.Duration, cond func() bool) error {
	var expired <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		expired = timer.C
	}
	for {
		if err := t.reap(); err != nil {
			return err
		}
		if cond() {
			return nil
		}
		select {
		case <-t.sigchld:
		case <-expired:
			return context.DeadlineExceeded
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// waitAny takes one report of any tracee or child of this thread; tid is 0 if
// there is none. Children of other threads of this process are not touched.
func waitAny() (tid int, ws unix.WaitStatus, err error) {
	for {
		tid, err = unix.Wait4(-1, &ws, unix.WALL|unix.WNOHANG|unix.WNOTHREAD, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECHILD):
			return 0, 0, nil
		}
		return tid, ws, err
	}
}

// reap handles all reports that are there.
func (t *tracer) reap() error {
	for {
		tid, ws, err := waitAny()
		if err != nil {
			return fmt.Errorf("wait for the program: %w", err)
		}
		if tid == 0 {
			return nil
		}
		if ws.Stopped() {
			t.onStop(tid, ws)
		} else {
			t.onEnd(tid, ws)
		}
	}
}

func (t *tracer) onEnd(tid int, ws unix.WaitStatus) {
	delete(t.strays, tid)
	delete(t.threads, tid)
	if tid == t.root {
		t.rootEnded(ws)
	}
	if tid == t.pid && t.status == nil {
		status := exitStatus(ws)
		t.status = &status
		clear(t.threads)
	}
	if t.status != nil && t.rootStatus != nil && t.run != nil {
		t.run.finish(nil)
	}
}

func (t *tracer) rootEnded(ws unix.WaitStatus) {
	status := exitStatus(ws)
	t.rootStatus = &status
}

// onStop handles the stop of a tracee, or parks it while the process is held.
func (t *tracer) onStop(tid int, ws unix.WaitStatus) {
	th := t.threads[tid]
	if th == nil && t.status == nil && !t.strays[tid] && t.ours(tid) {
		th = t.addThread(tid)
		t.early[tid] = true
	}
	if th == nil {
		t.letGo(tid, ws)
		return
	}
	th.stopped, th.status, th.next = true, ws, resumption{}
	if t.holding() {
		th.parked = true
		return
	}
	t.handle(th)
	t.resume(th)
}

// ours reports whether a tracee not seen before is a thread of the process. Its
// first stop may be reported before the clone that made it.
func (t *tracer) ours(tid int) bool {
	_, err := os.Stat(filepath.Join("/proc", strconv.Itoa(t.pid), "task", strconv.Itoa(tid)))
	return err == nil
}

func (t *tracer) addThread(tid int) *thread {
	if th := t.threads[tid]; th != nil {
		return th
	}
	th := &thread{tid: tid, fresh: true}
	t.threads[tid] = th
	return th
}

// letGo detaches a tracee that is not of the process: a forked child, or what
// a follower had to trace. A signal that it is about to get, it gets.
func (t *tracer) letGo(tid int, ws unix.WaitStatus) {
	delete(t.strays, tid)
	signal := uintptr(0)
	if ws>>16 == 0 {
		signal = uintptr(ws.StopSignal())
	}
	// ESRCH: it was killed meanwhile.
	_ = ptrace(unix.PTRACE_DETACH, tid, 0, signal)
}

func (t *tracer) holding() bool { return t.held || t.holds > 0 }

// resume lets a thread go on from a stop that was handled.
func (t *tracer) resume(th *thread) {
	if !th.stopped || th.parked || t.holding() || t.threads[th.tid] != th || t.trapped == th {
		return
	}
	if err := t.resumeTID(th.tid, th.next); err == nil || gone(err) {
		th.stopped = false
	}
}

func (t *tracer) resumeTID(tid int, r resumption) error {
	if r.listen {
		return ptrace(unix.PTRACE_LISTEN, tid, 0, 0)
	}
	return ptrace(unix.PTRACE_CONT, tid, 0, uintptr(r.signal))
}

// release handles what was parked and lets every thread go on.
func (t *tracer) release() {
	for _, th := range t.sorted() {
		if t.holding() {
			return // a handler of one of them holds the process again
		}
		if th.parked && t.threads[th.tid] == th {
			th.parked = false
			t.handle(th)
		}
		t.resume(th)
	}
}

// callback runs f in the goroutine that called Run, and serves it meanwhile.
func (t *tracer) callback(f func()) {
	done := make(chan struct{})
	queue := t.callbacks
	for {
		select {
		case queue <- func() { defer close(done); f() }:
			queue = nil
		case <-done:
			return
		case command := <-t.commands:
			command()
		}
	}
}

// handlers are those of the active Run; without one there are none.
func (t *tracer) handlers() Handlers {
	if t.run == nil {
		return Handlers{}
	}
	return t.run.handlers
}
