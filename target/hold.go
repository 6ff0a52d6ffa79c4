package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	stopGrace = 100 * time.Millisecond // after which a sleeping thread counts as stopped
	stopLimit = 20 * time.Second
)

// stopAll stops every thread and waits until none runs code of the program. The
// process must be marked as held, so that what they report is parked.
func (t *tracer) stopAll() error {
	for _, th := range t.all() {
		if th.stopped || th.exiting {
			continue
		}
		if err := unix.PtraceInterrupt(th.tid); err != nil && !gone(err) {
			return fmt.Errorf("interrupt thread %d: %w", th.tid, err)
		}
	}
	err := t.pump(context.Background(), stopGrace, t.allStopped)
	for deadline := time.Now().Add(stopLimit); errors.Is(err, context.DeadlineExceeded); {
		if t.allQuiet() {
			return nil
		}
		if time.Now().After(deadline) {
			return ErrBusy
		}
		err = t.pump(context.Background(), stopGrace, t.allStopped)
	}
	return err
}

func (t *tracer) allStopped() bool {
	for _, th := range t.all() {
		if !th.stopped && !th.exiting {
			return false
		}
	}
	return true
}

// allQuiet reports whether each thread is stopped, dead, or in an
// uninterruptible sleep (a vfork whose child has not yet executed a program, a
// slow disk). The latter will stop before it executes another instruction.
func (t *tracer) allQuiet() bool {
	for _, th := range t.all() {
		if !th.stopped && !th.exiting && !asleep(th.tid) {
			return false
		}
	}
	return true
}

// asleep reports whether a thread is gone or in an uninterruptible sleep.
func asleep(tid int) bool {
	return RunState(tid) == 'D' || ended(tid)
}

// ended reports whether a thread runs no more. That of the process's first may not be
// reported for long.
func ended(tid int) bool {
	switch RunState(tid) {
	case 0, 'Z', 'X', 'x':
		return true
	}
	return false
}

// RunState reads the state of a thread, the letter after its name in
// parentheses (proc_pid_stat(5)); 0: it is gone.
func RunState(tid int) byte {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", tid))
	if err != nil {
		return 0
	}
	_, rest, ok := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	if !ok || len(rest) == 0 {
		return 0
	}
	return rest[0]
}

// hold stops the process for the caller, until unhold.
func (t *tracer) hold() error {
	if t.status != nil {
		return ErrExited
	}
	t.held = true
	return t.stopAll()
}

func (t *tracer) unhold() {
	t.held = false
	if t.holds == 0 {
		t.release()
	}
}

// kill ends the process; it is dead when its end is reported. SIGKILL takes
// every thread out of its stop, so that none of them is resumed: the next stop,
// PTRACE_EVENT_EXIT, might be there already, and would be missed. Only a
// thread that is at that stop has to be let go.
func (t *tracer) kill() {
	if t.status != nil || t.pid == 0 {
		return
	}
	// ESRCH: it is dead, and not yet reported.
	_ = unix.Kill(t.pid, unix.SIGKILL)
	t.trapped = nil
	for _, th := range t.threads {
		if th.stopped && int(th.status>>16) != unix.PTRACE_EVENT_EXIT {
			th.stopped, th.parked = false, false
		}
	}
}

// killAll kills everything that is traced and the process that was launched,
// and waits for their end.
func (t *tracer) killAll() {
	t.kill()
	if t.rootStatus == nil {
		_ = unix.Kill(t.root, unix.SIGKILL)
	}
	for tid := range t.strays {
		_ = unix.Kill(tid, unix.SIGKILL)
	}
	t.held, t.holds = false, 0
	t.release()
	// What is not reported in time is left to the kernel: the kill is under way.
	_ = t.pump(context.Background(), stopLimit, func() bool {
		return t.rootStatus != nil && (t.status != nil || t.pid == t.root)
	})
}
