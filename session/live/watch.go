package live

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"mgtrace/report"
	"mgtrace/target"
)

// errFound ends a recording whose first inconsistent C-point was reached while
// the program is held there.
var errFound = errors.New("an inconsistent C-point was reached")

// freeze takes the engine out of the program, which waits at the C-point, and
// leaves it stopped (SIGSTOP) without a tracer, for a debugger.
func (l *Program) freeze() error {
	release, err := l.proc.Hold()
	if err != nil {
		return err
	}
	defer func() { _ = release() }() // nothing to release once it is detached
	tids, err := l.proc.Threads()
	if err != nil {
		return err
	}
	if err := l.eng.Close(); err != nil {
		return fmt.Errorf("take the engine out of the program: %w", err)
	}
	if l.before == nil && !target.Orphaned() && !atTerminal() {
		// It fails if the program leads a group or session of its own already.
		_, _ = l.proc.Syscall(unix.SYS_SETSID)
	}
	for _, tid := range tids {
		// Each its own: it takes effect before the thread executes an
		// instruction. ESRCH: it has ended.
		_ = unix.Tgkill(l.proc.PID(), tid, unix.SIGSTOP)
	}
	l.frozen = true
	return l.proc.Detach()
}

// IsStopped says where the program is that was left stopped; nil: it was not.
func (l *Program) IsStopped() *report.Stopped {
	if !l.frozen {
		return nil
	}
	pid := l.proc.PID()
	return &report.Stopped{PID: pid, Debug: fmt.Sprintf("gdb -p %d", pid), Continue: fmt.Sprintf("kill -CONT %d", pid)}
}

// When mgtrace has ended, the kernel sends SIGHUP and SIGCONT to its process
// group if that is a job and a member is stopped, as soon as the shell's child in it (mgtrace,
// or what started it, as timeout(1) does) has ended: nobody is left who
// could continue it (setpgid(2), kill_orphaned_pgrp in kernel/exit.c). So at a
// terminal mgtrace waits; elsewhere the program gets a session of its own, unless it
// was attached to and is no job of ours.

// atTerminal says whether it is the job in the foreground of a terminal.
func atTerminal() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// AwaitStopped waits at a terminal until the program has ended that a report
// says is stopped. Elsewhere it returns at once.
func AwaitStopped(ctx context.Context, r *report.Report) {
	if r.Stopped == nil || target.Orphaned() || !atTerminal() {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			_, err := unix.Wait4(r.Stopped.PID, nil, 0, nil)
			if !errors.Is(err, unix.EINTR) {
				return // ended, or no child of ours: attached
			}
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
