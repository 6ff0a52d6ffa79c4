package target

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// tracer is the state of the goroutine that makes all ptrace requests; except
// for the channels and memory, only that goroutine touches it.
type tracer struct {
	commands  chan func()    // work to do on the tracer's thread
	callbacks chan func()    // work that the caller of Run does for the tracer
	sigchld   chan os.Signal // some tracee may have something to report
	signals   chan os.Signal // ours, while running
	closed    chan struct{}

	root   int          // process that Launch started
	pid    int          // process that is meant: root, or the one that was followed
	strays map[int]bool // tracees to detach at their next stop

	rootStatus *ExitStatus // not nil: root has ended
	status     *ExitStatus // not nil: the process has ended

	threads  map[int]*thread // threads of pid that exist
	early    map[int]bool    // threads that were met before the clone that made them was reported
	held     bool            // by the caller: nothing is resumed
	draining bool            // children that share the memory run on although the process is held
	holds    int             // by the tracer itself, around a callback or a call
	traps    map[uint64]byte // breakpoints: the byte that was there
	trapped  *thread         // thread that ran into one, not yet handled
	spent    map[uint64]bool // where breakpoints were
	run      *run            // not nil: Run is active

	stepper     Stepper   // nil: threads run at full speed
	ready       []*thread // that wait for their turn: stopped, and done with their stops
	interceptor Interceptor
	lingers     bool            // see Linger
	borrowed    []*Stopped      // by the function of Do that runs
	children    map[int]*child  // new processes, until they are told of
	shared      map[int]*thread // processes that share the program's memory
	detached    bool            // it was let go: status is not its end
	attached    bool            // the process was not started by us: it outlives us
	vdsoCall    uint64          // a syscall instruction in the vdso; 0: not yet looked for
	gates       int             // how many use the gate
	gateAddr    uint64          // where it is then
	gateOld     []byte          // what was there
	notes       *Notes          // nil: nobody is to put anything right
	shields     int             // how many detours want that SIGTRAP ends nothing
	unshielded  func()          // gives the gate back that it leads to then
	thread      int             // the kernel's id of the tracer's thread

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

	from    int       // the thread that made it
	given   [2]uint64 // the stack that it was given, if that is known: NewStack
	unborn  bool      // its first stop came before the report of who made it, and waits for that
	shared  bool      // a process of its own that shares the program's memory
	own     *memory   // of a child process; nil: the program's
	ready   bool      // among tracer.ready
	told    told      // of what the stepper was told last
	poked   bool      // OnInterrupted is asked for
	toldEnd bool      // OnThreadEnd was called
	again   bool      // while its stop was handled it was stopped by something else
	waits   bool      // it stays in its stop as long as there is an interceptor
	settled bool      // it has left the system call in which it reported the event of status
	message uint64    // of the event of status, once hasMsg
	hasMsg  bool
	lent    Stopped        // what a borrower gets
	lost    Siginfo        // signal in hand that its present stop can not deliver
	resent  map[int]resent // signals that were sent again in place of these
	noted   entry          // in the tracer's notes; nil: none
	notedAt int            // which entry that is
}

// note takes a new stop.
func (th *thread) note(ws unix.WaitStatus) {
	th.stopped, th.status, th.next = true, ws, resumption{}
	th.settled, th.hasMsg, th.waits, th.lost = false, false, false, Siginfo{}
	switch int(ws >> 16) {
	case unix.PTRACE_EVENT_CLONE, unix.PTRACE_EVENT_FORK, unix.PTRACE_EVENT_VFORK, unix.PTRACE_EVENT_EXIT:
		// Taken at once: the next stop has another.
		msg, err := eventMessage(th.tid)
		th.message, th.hasMsg = msg, err == nil
	case unix.PTRACE_EVENT_STOP:
		if ws.StopSignal() == unix.SIGTRAP { // no group-stop
			_ = restartable(th.tid) // ESRCH: killed meanwhile
		}
	}
}

// wasStepped reports whether a stop is that before the first instruction of a handler to which
// a thread was led by a step: of a tracer that was killed, if this one makes no such steps.
func (th *thread) wasStepped() bool {
	if !th.inHand() || th.status.StopSignal() != unix.SIGTRAP {
		return false
	}
	info, err := getSiginfo(th.tid)
	return err == nil && info.Code == trapHandler
}

// eventMessage is what PTRACE_GETEVENTMSG says of its last event.
func (th *thread) eventMessage() (uint64, error) {
	if th.hasMsg {
		return th.message, nil
	}
	return eventMessage(th.tid)
}

// ends reports whether a thread is at its end, also if nobody has been told yet.
func (th *thread) ends() bool {
	return th.exiting || th.stopped && int(th.status>>16) == unix.PTRACE_EVENT_EXIT
}

// resumption says how a stopped thread goes on.
type resumption struct {
	signal int  // to deliver; 0 none
	listen bool // it is part of a group-stop, and stays stopped until SIGCONT
	step   bool // stop again behind the delivery of signal
}

func newTracer() *tracer {
	return &tracer{
		commands:  make(chan func()),
		callbacks: make(chan func()),
		sigchld:   make(chan os.Signal, 1),
		closed:    make(chan struct{}),
		strays:    make(map[int]bool),
		threads:   make(map[int]*thread),
		early:     make(map[int]bool),
		traps:     make(map[uint64]byte),
		spent:     make(map[uint64]bool),
		children:  make(map[int]*child),
		shared:    make(map[int]*thread),
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
		case <-t.steps():
			t.step()
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

func (t *tracer) onEnd(tid int, ws unix.WaitStatus) {
	delete(t.strays, tid)
	delete(t.children, tid)
	if th := t.lookup(tid); th != nil {
		th.stopped = false
		t.denote(th)
		t.tellEnd(th)
		if th.shared {
			t.dropShared(th)
		}
	}
	delete(t.threads, tid)
	if t.attached && len(t.threads) == 0 && t.status == nil {
		// The first thread had ended before we came, and is not reported.
		tid = t.pid
	}
	if tid == t.root {
		t.rootEnded(ws)
	}
	if tid == t.pid && t.status == nil {
		status := exitStatus(ws)
		t.status = &status
		clear(t.threads)
		t.abandonChildren()
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
	th := t.lookup(tid)
	if th == nil && t.children[tid] == nil && t.status == nil && !t.strays[tid] && t.ours(tid) {
		th = t.addThread(tid)
		if int(ws>>16) == unix.PTRACE_EVENT_EXEC {
			th.fresh = false // it has the id of a first thread that ended before we attached
		} else {
			t.early[tid] = true
			th.unborn = t.interceptor != nil
		}
	}
	if th == nil {
		t.onStranger(tid, ws)
		return
	}
	if meetsFault(tid, ws) && ptrace(unix.PTRACE_CONT, tid, 0, 0) == nil {
		return
	}
	th.note(ws)
	if t.attached && th.wasStepped() {
		// No signal: it is told of the delivery of one.
		th.status = unix.WaitStatus(unix.PTRACE_EVENT_STOP<<16 | unix.SIGTRAP<<8 | 0x7f)
	}
	t.noteSignal(th)
	if int(ws>>16) == unix.PTRACE_EVENT_EXIT {
		// Killed: what made it may have ended without reporting it.
		th.unborn = false
	}
	if t.holdsBack(th) {
		th.parked = true
		return
	}
	if !th.unborn {
		t.process(th)
	}
}

// meetsFault reports whether an interrupt has stopped a thread that is on its way to a fault of its own: the
// kernel lets the interrupt go first (get_signal in kernel/signal.c). Let go on, it executes nothing before it reports
// the fault, which would be taken for that of a detour, or delivered when whoever knows of it has left.
func meetsFault(tid int, ws unix.WaitStatus) bool {
	if int(ws>>16) != unix.PTRACE_EVENT_STOP || ws.StopSignal() != unix.SIGTRAP {
		return false
	}
	infos, err := pendingSiginfos(tid)
	return err == nil && slices.ContainsFunc(infos, func(i Siginfo) bool { return i.Synchronous() })
}

// onStranger handles a stop of what is not of the process: a child process, or
// a tracee to let go.
func (t *tracer) onStranger(tid int, ws unix.WaitStatus) {
	c := t.children[tid]
	if c == nil && (t.interceptor == nil || t.strays[tid] || t.status != nil) {
		t.letGo(tid, ws)
		return
	}
	if c == nil {
		c = new(child)
		t.children[tid] = c
	}
	c.stopped = true
	t.onChild(tid, c)
}

// process handles a thread's stop, and those that come meanwhile, and lets it go on.
func (t *tracer) process(th *thread) {
	for again := true; again; again = th.again {
		th.again = false
		t.handle(th)
		if !th.again {
			t.answer(th)
		}
	}
	t.resume(th)
}

// answer tells the interceptor that a thread stands still, if it has asked.
func (t *tracer) answer(th *thread) {
	if th.poked && th.stopped && !th.exiting && !t.holding() && t.knows(th) {
		th.poked = false
		t.tell(th, func(i Interceptor, s *Stopped) { i.OnInterrupted(s) })
	}
}

// lookup is the thread or sharing child with an id; nil: there is none.
func (t *tracer) lookup(tid int) *thread {
	if th := t.threads[tid]; th != nil {
		return th
	}
	return t.shared[tid]
}

func (t *tracer) knows(th *thread) bool {
	return t.lookup(th.tid) == th || th.shared && th.own != nil && th.own.isOpen()
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

// holdsBack says whether a thread may not go on: while the process is held only
// those that have borrowed its memory may, to give it back.
func (t *tracer) holdsBack(th *thread) bool { return t.holding() && !(t.draining && th.shared) }

// resume lets a thread go on from a stop that was handled.
func (t *tracer) resume(th *thread) {
	if !th.stopped || th.parked || th.unborn || t.holdsBack(th) || !t.knows(th) || t.trapped == th || th.waits && t.interceptor != nil {
		return
	}
	if th.next.signal != 0 && th.lost.Signal != 0 {
		// This stop can deliver no signal: it is sent again.
		_ = th.sendAgain(t.pid, resent{th.lost, true}) // ESRCH: killed meanwhile
		th.next.signal, th.next.step = 0, false
	}
	if t.stepper != nil && !th.exiting && !th.next.listen {
		t.makeReady(th)
		return
	}
	th.noteOwed(false)
	err := t.resumeTID(th.tid, th.next)
	if th.next.listen && errors.Is(err, unix.EIO) {
		// A detour has led it out of the group-stop: back into it.
		_ = unix.PtraceInterrupt(th.tid)
		err = t.resumeTID(th.tid, resumption{})
	}
	if err == nil || gone(err) {
		th.stopped, th.lost = false, Siginfo{}
		t.denote(th)
	}
}

func (t *tracer) resumeTID(tid int, r resumption) error {
	if r.listen {
		return ptrace(unix.PTRACE_LISTEN, tid, 0, 0)
	}
	if r.step && r.signal != 0 {
		return ptrace(unix.PTRACE_SINGLESTEP, tid, 0, uintptr(r.signal))
	}
	return ptrace(unix.PTRACE_CONT, tid, 0, uintptr(r.signal))
}

// release handles what was parked and lets every thread go on.
func (t *tracer) release() {
	for _, th := range t.all() {
		if t.holding() {
			return // a handler of one of them holds the process again
		}
		switch {
		case th.unborn || !t.knows(th):
		case th.stopped && reported(th.tid):
			// Killed meanwhile: it is at its exit already, and must not
			// be let go from there unseen.
			th.stopped, th.parked = false, false
			t.expectReports()
		case th.parked:
			th.parked = false
			t.process(th)
		default:
			th.again = false
			if t.answer(th); th.again {
				t.process(th)
			}
			t.resume(th)
		}
	}
}

// callback runs f in the goroutine that called Run, and serves it meanwhile.
func (t *tracer) callback(f func()) {
	done := make(chan struct{})
	queue := t.callbacks
	for {
		signals, over := t.run.impatience()
		select {
		case queue <- func() { defer close(done); f() }:
			queue = nil
		case <-done:
			return
		case command := <-t.commands:
			command()
		case s := <-signals:
			if s != unix.SIGTSTP {
				t.run.urge()
			}
		case <-over:
			t.run.urge()
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
