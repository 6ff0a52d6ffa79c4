package target

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// handle decides how a stopped thread goes on, and tells the handlers.
func (t *tracer) handle(th *thread) {
	if th.shared {
		t.handleShared(th)
		return
	}
	if th.fresh && int(th.status>>16) == unix.PTRACE_EVENT_EXIT {
		th.fresh, th.toldEnd = false, true // killed before its first instruction: nothing to tell
	}
	if th.fresh {
		th.fresh = false
		t.tell(th, func(i Interceptor, s *Stopped) { i.OnThread(s, th.from) })
		if th.again || !th.stopped {
			return // killed in there
		}
		if h := t.handlers(); h.OnThread != nil {
			t.callback(func() { h.OnThread(th.tid) })
		}
	}
	switch event := int(th.status >> 16); event {
	case 0:
		t.onSignal(th, int(th.status.StopSignal()))
	case unix.PTRACE_EVENT_STOP:
		t.onEventStop(th, int(th.status.StopSignal()))
	case unix.PTRACE_EVENT_CLONE, unix.PTRACE_EVENT_FORK, unix.PTRACE_EVENT_VFORK:
		t.onClone(th)
	case unix.PTRACE_EVENT_EXEC:
		t.onExec(th)
	case unix.PTRACE_EVENT_EXIT:
		t.onExit(th)
	}
}

// onSignal handles a signal-delivery-stop: the signal is delivered unchanged,
// unless it is the tracer's own doing.
func (t *tracer) onSignal(th *thread, signal int) {
	th.next.signal = signal
	info, err := th.siginfo()
	if err != nil {
		return // killed meanwhile
	}
	info, handled := th.original(info)
	if handled {
		return
	}
	ours := info.Code == siUser && info.PID == os.Getpid()
	switch {
	case unix.Signal(signal) == unix.SIGTRAP && t.stepped(info):
		t.onStepped(th, info)
		return
	case unix.Signal(signal) == unix.SIGTRAP && info.Code == siKernel && t.onTrap(th):
		th.next.signal = 0
		return
	case unix.Signal(signal) == unix.SIGCONT && ours:
		// It ends a stop that we made (launch, back-pressure): a handler
		// of the program must not see it.
		th.next.signal = 0
		return
	case !t.intercept(th, signal, info):
		th.next.signal = 0
		return
	}
	if th.again || !th.stopped {
		return // it has met its end in the interceptor
	}
	switch {
	case isStopSignal(signal):
		t.noteStop(signal, info, ours)
	case t.run != nil && !t.run.crashed && fatal(th.tid, signal):
		t.run.crashed = true
		t.onFatal(th, signal, info)
	}
	if t.run != nil && unix.Signal(signal) == unix.SIGINT {
		t.run.interrupts++
	}
}

// onTrap reports whether the SIGTRAP is of a breakpoint of ours.
func (t *tracer) onTrap(th *thread) bool {
	regs, err := getRegs(th.tid)
	if err != nil {
		return false
	}
	at := regs.RIP - 1 // int3 is one byte, and RIP is behind it
	_, set := t.traps[at]
	if !set && !t.spent[at] {
		return false
	}
	if !set {
		// Taken away, unless somebody else has put one there since.
		var b [1]byte
		if _, err := t.memory.ReadMemory(b[:], at); err == nil && b[0] == int3 {
			return false
		}
	}
	regs.RIP = at
	if setRegs(th.tid, regs) != nil {
		return false
	}
	if set && t.trapped == nil {
		t.trapped = th
	}
	return true
}

// onFatal holds the whole process just before it dies of a signal.
func (t *tracer) onFatal(th *thread, signal int, info Siginfo) {
	h := t.handlers()
	if h.OnCrash == nil {
		return
	}
	crash := Crash{TID: th.tid, Signal: unix.Signal(signal), Code: int(info.Code)}
	switch {
	case info.Code == siUser || info.Code == siTKill:
		crash.Sender = info.PID
	case isFault(signal) && info.Code > 0 && info.Code != siKernel:
		crash.Fault, crash.Addr = true, info.Addr
	}
	var err error
	if crash.Regs, err = getRegs(th.tid); err != nil {
		return // killed meanwhile
	}
	t.run.last = true
	t.whileHeld(func() { h.OnCrash(crash) })
}

func isFault(signal int) bool {
	return signal > 0 && faultSignals>>(signal-1)&1 != 0
}

func isStopSignal(signal int) bool {
	switch unix.Signal(signal) {
	case unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU:
		return true
	}
	return false
}

// fatal reports whether a signal that is about to be delivered will end the
// process: its action is the default one, and that is to terminate (signal(7)).
func fatal(tid, signal int) bool {
	if !deadly(signal) {
		return false
	}
	handled, ignored := action(tid, signal)
	return !handled && !ignored
}

// deadly reports whether the default action of a signal is to terminate.
func deadly(signal int) bool {
	switch unix.Signal(signal) {
	case unix.SIGCHLD, unix.SIGCONT, unix.SIGURG, unix.SIGWINCH:
		return false
	}
	return !isStopSignal(signal)
}

// action is what a process does with a signal.
func action(tid, signal int) (handled, ignored bool) {
	st := procStatus(strconv.Itoa(tid))
	has := func(mask string) bool { return st.uint(mask, 16)>>(signal-1)&1 != 0 }
	return has("SigCgt"), has("SigIgn")
}

// onEventStop handles a group-stop, or the end of one, or the answer to
// PTRACE_INTERRUPT.
func (t *tracer) onEventStop(th *thread, signal int) {
	if !isStopSignal(signal) {
		return
	}
	th.next.listen = true
	if t.run != nil && t.run.stopWith == signal {
		t.run.stopWith = 0
		t.resume(th)
		t.run.stopSelf()
	}
}

// onClone handles a new thread or a child process.
func (t *tracer) onClone(th *thread) {
	msg, err := th.eventMessage()
	if err != nil {
		return
	}
	child, given := int(msg), t.given(th)
	if t.early[child] {
		delete(t.early, child)
		if early := t.threads[child]; early != nil && early.unborn {
			early.unborn, early.from, early.given = false, th.tid, given
			if !early.parked {
				t.process(early)
			}
		}
		return
	}
	if t.children[child] == nil && t.ours(child) {
		made := t.addThread(child)
		made.from, made.given = th.tid, given
		return
	}
	if t.interceptor != nil {
		t.onFork(th, child)
	}
	if h := t.handlers(); h.OnFork != nil {
		t.callback(func() { h.OnFork(child) })
	}
}

// onExec handles the replacement of the program by another: all other threads
// are gone, and the calling thread has the process's id.
func (t *tracer) onExec(th *thread) {
	t.replaced(th)
	if h := t.handlers(); h.OnExec != nil {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", t.pid))
		if err != nil {
			exe = argv0(t.pid)
		}
		t.whileHeld(func() { h.OnExec(exe) })
	}
}

// replaced notes such a replacement, and tells the interceptor.
func (t *tracer) replaced(th *thread) {
	th.exiting = false
	for _, other := range t.sorted() {
		if other != th {
			t.tellEnd(other)
		}
	}
	t.abandonChildren()
	th.toldEnd = false // its id may have been another thread's
	t.threads = map[int]*thread{th.tid: th}
	clear(t.early)
	clear(t.traps)
	clear(t.spent)
	// The old memory is gone; if the new can not be opened, reads say so.
	_ = t.openMemory()
	t.tell(th, func(i Interceptor, s *Stopped) { i.OnExec(s) })
}

// onExit handles a thread that is about to end. The memory lives until the last of them goes
// on from here; or the first, if it has all others end.
func (t *tracer) onExit(th *thread) {
	th.exiting = true
	t.tellEnd(th)
	h := t.handlers()
	msg, err := th.eventMessage()
	if h.OnExit == nil || err != nil || t.run.exited {
		return
	}
	status := unix.WaitStatus(msg)
	if !t.allExiting() && !endsGroup(th, status) {
		return
	}
	t.whileStill(func() {
		if t.othersEnd(th) {
			t.run.last, t.run.exited = true, true
			t.callback(func() { h.OnExit(Exit{TID: th.tid, Status: exitStatus(status)}) })
		}
	})
}

// endsGroup reports whether a thread at its end has all others end too. They are not waited
// for one by one: when the kernel kills one in a stop that we are about to let it go from,
// its exit is there already, and it is let go from that, unseen.
func endsGroup(th *thread, status unix.WaitStatus) bool {
	if status.Signaled() {
		return true
	}
	regs, err := getRegs(th.tid)
	return err == nil && regs.OrigRAX == unix.SYS_EXIT_GROUP
}

func (t *tracer) allExiting() bool {
	for _, th := range t.threads {
		if !th.exiting {
			return false
		}
	}
	return true
}

// othersEnd reports whether every other thread, all of which stand still, runs no more
// of its own code, and tells of the ends that have not been told.
func (t *tracer) othersEnd(th *thread) bool {
	for _, other := range t.sorted() {
		switch {
		case other == th || other.exiting:
		case other.ends() || !other.stopped && ended(other.tid):
			t.tellEnd(other)
		default:
			return false
		}
	}
	return true
}

// whileHeld runs a handler while no thread of the process runs.
func (t *tracer) whileHeld(f func()) { t.whileStill(func() { t.callback(f) }) }

// whileStill does what the tracer has to do itself while no thread of the process runs.
func (t *tracer) whileStill(f func()) {
	t.holds++
	// A thread that can not be stopped is the handler's risk, not a reason
	// to leave it out: its memory is there all the same.
	_ = t.stopAll()
	f()
	t.holds--
	if t.holds == 0 {
		t.release()
	}
}

// all returns the threads by id, and then the children that share the memory.
func (t *tracer) all() []*thread {
	ths := t.sorted()
	for _, th := range t.shared {
		ths = append(ths, th)
	}
	return ths
}

// sorted returns the threads by id.
func (t *tracer) sorted() []*thread {
	return slices.SortedFunc(maps.Values(t.threads), func(a, b *thread) int { return cmp.Compare(a.tid, b.tid) })
}
