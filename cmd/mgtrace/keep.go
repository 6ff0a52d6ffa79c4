package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"mgtrace/session/live"
	"mgtrace/target/undo"
)

// A process that mgtrace has attached to must be let go in order: its code is
// patched, and only mgtrace can put it right. So that nobody has to think of that
// who kills mgtrace, the process is held by a child of it, the keeper, which lets
// go when the mgtrace in front of it has ended, in whatever way. The keeper has a
// session of its own: keys and signals to the job do not reach it. If it is the keeper
// that is killed, the one in front takes out what it has put in: the keeper notes
// that in a log whose other end is there.

// keeperMark is the environment variable that makes a process a keeper, and keeperLog
// the descriptor of its end of the log, which tells it also that the one in front has ended.
const (
	keeperMark = "MGTRACE_KEEPER"
	keeperLog  = 3
)

// errAlone is why the keeper lets go.
var errAlone = errors.New("mgtrace was killed")

// isKeeper says whether this process is a keeper.
func isKeeper() bool { return os.Getenv(keeperMark) != "" }

// inFront has a keeper run this command on a process, hands on the signals that ask
// mgtrace to end, and returns the keeper's exit status.
func inFront(ctx context.Context, s streams, pid int) error {
	ours, theirs, err := undo.Pair()
	if err != nil {
		return err
	}
	// Before the keeper exists: a signal must find it or this process.
	signals := make(chan os.Signal, 4)
	s.quits.running(true) // Ctrl-\ is to let the process go, too
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(sig) {
			signal.Notify(signals, sig)
		}
	}
	keeper := exec.Command("/proc/self/exe", os.Args[1:]...)
	keeper.Args[0] = os.Args[0]
	keeper.Stdin, keeper.Stdout, keeper.Stderr = s.in, beneath(s.out), beneath(s.err)
	keeper.ExtraFiles = []*os.File{theirs} // keeperLog: the first beside the standard ones
	keeper.Env = append(os.Environ(), keeperMark+"=1")
	keeper.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := keeper.Start(); err != nil {
		return err
	}
	theirs.Close()
	go func() {
		for sig := range signals {
			if sig == syscall.SIGQUIT {
				sig = syscall.SIGTERM
			}
			_ = keeper.Process.Signal(sig) // it has ended: so do we
		}
	}()
	heir := live.NewHeir(pid)
	left, lerr := undo.Follow(ours, heir.Begin)
	err = keeper.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	status := keeper.ProcessState.Sys().(syscall.WaitStatus)
	sig := status.Signal()
	if len(left) > 0 || sig == syscall.SIGKILL {
		if err := errors.Join(lerr, heir.TakeBack(ctx, left)); err != nil {
			return fmt.Errorf("process %d, which recorded process %d, was killed (%s), and what it had put in could not be taken out: process %d may die: %w", keeper.Process.Pid, pid, keeper.ProcessState, pid, err)
		}
		return fmt.Errorf("process %d, which recorded process %d, was killed (%s): process %d was let go and runs on; what was recorded is lost, attach again", keeper.Process.Pid, pid, keeper.ProcessState, pid)
	}
	heir.Release()
	if !status.Signaled() {
		return exitStatus(status.ExitStatus())
	}
	// As if there were no keeper. It had not begun, or was told twice.
	signal.Reset(sig)
	_ = syscall.Kill(os.Getpid(), sig)
	return exitStatus(128 + int(sig)) // it was blocked
}

// keeping is the context of a keeper's work, which ends with the process in front, and
// its end of the log.
func keeping(ctx context.Context) (context.Context, *undo.Writer, error) {
	os.Unsetenv(keeperMark)
	// By its name it is not found: killall -9 mgtrace is for the one in front.
	_ = os.WriteFile("/proc/self/comm", []byte("mgt-keeper"), 0)
	// What it says may have no reader any more, which is no reason to end at once.
	signal.Ignore(syscall.SIGPIPE)
	log, err := undo.NewWriter(os.NewFile(keeperLog, "undo log"))
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		log.Gone()
		cancel(errAlone)
	}()
	return ctx, log, nil
}
