package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Attach becomes the tracer of a process that runs, and returns it stopped. It
// lives on when we let go of it: at Detach, at Close, at the end of Run from
// outside, or when this process ends in whatever way.
func Attach(ctx context.Context, pid int) (*Process, error) { return AttachNoted(ctx, pid, nil) }

// AttachNoted is Attach for a tracer that keeps notes from the first, for the case that it is
// killed.
func AttachNoted(ctx context.Context, pid int, n *Notes) (*Process, error) {
	if err := attachable(pid); err != nil {
		return nil, err
	}
	t := newTracer()
	t.attached, t.root, t.pid = true, pid, pid
	started := make(chan error, 1)
	// As in Launch; the kernel detaches what this thread still traces.
	onThread(func() {
		t.thread = unix.Gettid()
		var err error
		if n != nil {
			err = t.keepNotes(ctx, n)
		}
		if err == nil {
			err = t.attach(ctx)
		}
		started <- err
		if err == nil {
			t.serve()
		}
	})
	if err := <-started; err != nil {
		return nil, fmt.Errorf("attach to %w", err)
	}
	return &Process{t: t}, nil
}

// attachable says why a process can not be traced, as far as /proc tells.
func attachable(pid int) error {
	if err := checkProc(); err != nil {
		return err
	}
	who := fmt.Sprintf("process %d", pid)
	st := procStatus(strconv.Itoa(pid))
	if pid <= 0 || len(st) == 0 {
		return fmt.Errorf("%s: %w", who, ErrNoProcess)
	}
	who = fmt.Sprintf("%s (%s)", who, st["Name"])
	state, _, _ := strings.Cut(st["State"], " ")
	_, hasMemory := st["VmSize"]
	switch {
	case int(st.uint("Tgid", 10)) != pid:
		return fmt.Errorf("%s: %w: it is a thread of process %s", who, ErrNoProcess, st["Tgid"])
	case pid == os.Getpid():
		return fmt.Errorf("%s: %w: it is this process", who, ErrDenied)
	case st.uint("Kthread", 10) != 0 || !hasMemory && state != "Z" && state != "X":
		return fmt.Errorf("%s %w", who, ErrKernel)
	case (state == "Z" || state == "X") && len(tasks(pid)) < 2:
		return fmt.Errorf("%s: %w: it is a zombie that its parent, process %s, has not waited for", who, ErrExited, st["PPid"])
	case st.uint("TracerPid", 10) != 0:
		return fmt.Errorf("%s: %w: %s", who, ErrTraced, st.tracer())
	}
	x, err := Inspect(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return nil // not permitted to look, or a zombie leader: ptrace has the last word
	}
	x.Path = who
	if err := x.traceable(); errors.Is(err, Err32Bit) || errors.Is(err, ErrForeign) {
		return err
	}
	return nil
}

// tasks lists the threads of a process.
func tasks(pid int) []int {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	var tids []int
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids
}

// attach seizes all threads, until there is none that is not traced: a new one
// of a seized thread is traced from its start.
func (t *tracer) attach(ctx context.Context) error {
	t.held = true
	t.watchChildren()
	if err := t.seizeAll(ctx); err != nil {
		t.close() // the thread ends with this goroutine, and the kernel detaches
		return err
	}
	err := t.awaitSharing(ctx)
	if err == nil {
		err = t.openMemory()
	}
	if err == nil {
		err = t.awaitLoaded(ctx)
	}
	if err != nil {
		t.detach()
		t.close()
		return err
	}
	return nil
}

// sharingLimit is how long a process may be in the middle of a vfork when we
// attach.
const sharingLimit = 20 * time.Second

// awaitSharing lets the process go on until no thread of it waits for a child that
// shares its memory (vfork): nobody traces such a child, and it would execute
// what is patched.
func (t *tracer) awaitSharing(ctx context.Context) error {
	for end := time.Now().Add(sharingLimit); ; {
		waiting := 0
		for _, th := range t.threads {
			if !th.exiting && th.shares() {
				waiting = th.tid
			}
		}
		switch {
		case waiting == 0:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("process %d: %w: thread %d waits in the kernel, perhaps for a child that shares its memory (vfork)", t.pid, ErrBusy, waiting)
		}
		if err := t.goOn(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

// goOn lets the process that is held go on for a while.
func (t *tracer) goOn(ctx context.Context, d time.Duration) error {
	t.unhold()
	_ = t.pump(ctx, d, func() bool { return false }) // it ends with its time
	t.held = true
	if err := t.stopAll(); err != nil {
		return fmt.Errorf("process %d: %w", t.pid, err)
	}
	t.tellReplaced()
	if t.status != nil {
		return fmt.Errorf("process %d: %w", t.pid, ErrExited)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("process %d: %w", t.pid, context.Cause(ctx))
	}
	return nil
}

// loadingLimit is how long a process may still load libraries when we attach. After that it is taken as it is: it may
// have been stopped (SIGSTOP) then.
const loadingLimit = 2 * time.Second

// awaitLoaded lets the process go on until its libraries are there: before that it has no malloc to watch, and no function
// of a library can be called.
func (t *tracer) awaitLoaded(ctx context.Context) error {
	p := &Process{t: t}
	for end := time.Now().Add(loadingLimit); p.loading() && time.Now().Before(end); {
		if err := t.goOn(ctx, time.Millisecond); err != nil {
			return err
		}
		if err := t.awaitSharing(ctx); err != nil {
			return err
		}
	}
	return nil
}

// shares reports whether the thread has made a child by vfork and waits for it, or is
// about to: it is stopped where the kernel tells of the child.
func (th *thread) shares() bool {
	if th.stopped {
		return int(th.status>>16) == unix.PTRACE_EVENT_VFORK
	}
	return asleep(th.tid)
}

func (t *tracer) seizeAll(ctx context.Context) error {
	for found := true; found; {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("process %d: %w", t.pid, context.Cause(ctx))
		}
		found = false
		for _, tid := range tasks(t.pid) {
			if t.threads[tid] != nil {
				continue
			}
			err := ptrace(unix.PTRACE_SEIZE, tid, 0, attachOptions)
			switch {
			case err == nil:
				t.addThread(tid).fresh = false
				found = true
			case gone(err) || ended(tid) || t.traces(tid):
			default:
				return attachDenied(t.pid, err)
			}
		}
		if err := t.stopAll(); err != nil {
			return fmt.Errorf("process %d: %w", t.pid, err)
		}
		t.tellReplaced()
	}
	if t.status != nil || len(t.threads) == 0 {
		return fmt.Errorf("process %d: %w", t.pid, ErrExited)
	}
	for _, th := range t.threads {
		th.fresh = false // what was made meanwhile was there when we came
	}
	return nil
}

// traces reports whether a thread is traced by us already: made by one that was
// seized, and not yet reported.
func (t *tracer) traces(tid int) bool {
	return int(procStatus(strconv.Itoa(tid)).uint("TracerPid", 10)) == t.thread
}

// attachDenied explains why the kernel refuses PTRACE_SEIZE.
func attachDenied(pid int, err error) error {
	who := strconv.Itoa(pid)
	st, self := procStatus(who), procStatus("self")
	name := fmt.Sprintf("process %d (%s)", pid, st["Name"])
	if !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%s: %w: %w", name, ErrDenied, err)
	}
	if st.uint("TracerPid", 10) != 0 {
		return fmt.Errorf("%s: %w: %s", name, ErrTraced, st.tracer())
	}
	theirs, ours := strings.Fields(st["Uid"]), strings.Fields(self["Uid"])
	if len(theirs) == 4 && len(ours) == 4 && self.uint("CapEff", 16)>>unix.CAP_SYS_PTRACE&1 == 0 {
		for _, id := range theirs[:3] {
			if id != ours[0] {
				return fmt.Errorf("%s: %w: it belongs to user %s, not to you (%s); attach as that user or as root", name, ErrDenied, id, ours[0])
			}
		}
	}
	scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	switch s := strings.TrimSpace(string(scope)); s {
	case "1":
		return fmt.Errorf("%s: %w: kernel.yama.ptrace_scope is 1, which permits only one's own children; start the program with mgtrace, attach as root, or set it to 0 (sysctl kernel.yama.ptrace_scope=0)", name, ErrDenied)
	case "2":
		return fmt.Errorf("%s: %w: kernel.yama.ptrace_scope is 2, which permits only root", name, ErrDenied)
	case "3":
		return fmt.Errorf("%s: %w: kernel.yama.ptrace_scope is 3, which permits nobody until the next boot", name, ErrDenied)
	}
	if self.uint("Seccomp", 10) != 0 {
		return fmt.Errorf("%s: %w: a seccomp filter of this container may refuse ptrace; run it with --cap-add SYS_PTRACE", name, ErrDenied)
	}
	return fmt.Errorf("%s: %w: %w (it may have forbidden it: it runs with privileges, or is not dumpable)", name, ErrDenied, err)
}

// Detach lets the process go on as if it had never been traced: a signal that
// it was about to get, it gets; system calls go on; a stopped process stays
// stopped. What was written into it stays. Run, if it is active, returns
// ErrDetached. A process that Launch started is let go as well.
func (p *Process) Detach() error {
	var err error
	e := p.do(func() { err = p.t.detach() })
	return errors.Join(e, err)
}

// detach lets everything go. A thread that can not be stopped is detached by
// the kernel when the tracer's thread ends.
func (t *tracer) detach() error {
	if t.status != nil {
		return ErrExited
	}
	t.held = true
	err := t.stopAll()
	if errors.Is(err, ErrBusy) {
		err = nil
	}
	if t.notes != nil && t.notes.get(notedTrap) != 0 {
		// The last thread that made steps ended at them.
		err = errors.Join(err, t.unshield(t.trapTo))
	}
	for _, th := range t.all() {
		if th.stopped {
			t.detachThread(th)
		}
	}
	for _, c := range t.children {
		c.made, c.shares = true, false
	}
	t.abandonChildren()
	clear(t.threads)
	clear(t.shared)
	status := ExitStatus{}
	t.status, t.rootStatus, t.detached = &status, &status, true
	t.held, t.holds = false, 0
	if t.run != nil {
		t.run.finish(ErrDetached)
	}
	return err
}

// detachThread lets one stopped thread go. ESRCH: it was killed meanwhile.
func (t *tracer) detachThread(th *thread) {
	signal := th.next.signal
	if th.parked && th.inHand() {
		// Not yet handled: the program's, unless the tracer sent it.
		if info, err := th.siginfo(); err == nil {
			info, _ = th.original(info)
			signal = int(th.status.StopSignal())
			if unix.Signal(signal) == unix.SIGCONT && info.Code == siUser && info.PID == os.Getpid() {
				signal = 0
			}
		}
	}
	if th.lost.Signal != 0 && signal != 0 {
		if !th.lost.comesAgain() {
			_ = th.sendAgain(t.pid, resent{th.lost, true})
		}
		signal = 0
	}
	th.noteOwed(false)
	_ = ptrace(unix.PTRACE_DETACH, th.tid, 0, uintptr(signal))
	t.denote(th)
}
