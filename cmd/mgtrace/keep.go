package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// A process that mgtrace has attached to must be let go in order: its code is
// patched, and only mgtrace can put it right. So that nobody has to think of that
// who kills mgtrace, the process is held by a child of it, the keeper, which lets
// go when the mgtrace in front of it has ended, in whatever way. The keeper has a
// session of its own: keys and signals to the job do not reach it.

// keeperMark is the environment variable that makes a process a keeper, and keeperPipe
// the descriptor on which it reads the end of the one in front.
const (
	keeperMark = "MGTRACE_KEEPER"
	keeperPipe = 3
)

// errAlone is why the keeper lets go.
var errAlone = errors.New("mgtrace was killed")

// isKeeper says whether this process is a keeper.
func isKeeper() bool { return os.Getenv(keeperMark) != "" }

// inFront has a keeper run this command, hands on the signals that ask mgtrace to
// end, and returns the keeper's exit status.
func inFront(s streams) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()
	// Before the keeper exists: a signal must find it or this process.
	signals := make(chan os.Signal, 4)
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(sig) {
			signal.Notify(signals, sig)
		}
	}
	keeper := exec.Command("/proc/self/exe", os.Args[1:]...)
	keeper.Args[0] = os.Args[0]
	keeper.Stdin, keeper.Stdout, keeper.Stderr = s.in, s.out, s.err
	keeper.ExtraFiles = []*os.File{r} // keeperPipe: the first beside the standard ones
	keeper.Env = append(os.Environ(), keeperMark+"=1")
	keeper.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := keeper.Start(); err != nil {
		return err
	}
	r.Close()
	go func() {
		for sig := range signals {
			_ = keeper.Process.Signal(sig) // it has ended: so do we
		}
	}()
	err = keeper.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	status := keeper.ProcessState.Sys().(syscall.WaitStatus)
	if !status.Signaled() {
		return exitStatus(status.ExitStatus())
	}
	sig := status.Signal()
	if sig == syscall.SIGKILL {
		return fmt.Errorf("process %d, which held the one that was attached to, was killed: with the engine inline that one is still patched, and may die", keeper.Process.Pid)
	}
	// As if there were no keeper. It had not begun, or was told twice.
	signal.Reset(sig)
	_ = syscall.Kill(os.Getpid(), sig)
	return exitStatus(128 + int(sig)) // it was blocked
}

// keeping is the context of a keeper's work: it ends with the process in front.
func keeping(ctx context.Context) context.Context {
	os.Unsetenv(keeperMark)
	// By its name it is not found: killall -9 mgtrace is for the one in front.
	_ = os.WriteFile("/proc/self/comm", []byte("mgt-keeper"), 0)
	// What it says may have no reader any more, which is no reason to end at once.
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := context.WithCancelCause(ctx)
	front := os.NewFile(keeperPipe, "front")
	go func() {
		_, _ = front.Read(make([]byte, 1)) // nobody writes: it returns at the end
		cancel(errAlone)
	}()
	return ctx
}
