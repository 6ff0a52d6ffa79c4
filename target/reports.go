package target

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

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
		loud()
		select {
		case <-t.sigchld:
		case <-t.steps():
			t.step()
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

// reapMost bounds the reports that are handled before anything else has its turn:
// threads that stop again and again would leave none to commands.
const reapMost = 64

// lingering is how long an interceptor that asked for it waits for the next stop
// without sleeping: to be woken costs about as much.
const lingering = 20 * time.Microsecond

// Linger says that stops will follow each other closely: after one the tracer waits a
// little for the next before it sleeps. It spares most of a stop's cost, and a processor.
func (p *Process) Linger(on bool) error { return p.do(func() { p.t.lingers = on }) }

// reap handles the reports that are there.
func (t *tracer) reap() error {
	var last time.Time // when the last report was handled
	for n := 0; n < reapMost; {
		tid, ws, err := waitAny()
		if err != nil {
			return fmt.Errorf("wait for the program: %w", err)
		}
		if tid == 0 {
			if t.lingers && n > 0 && !t.holding() && time.Since(last) < lingering {
				continue
			}
			return nil
		}
		if n++; n == 1 && t.lingers {
			defer quiet()()
		}
		if ws.Stopped() {
			t.onStop(tid, ws)
		} else {
			t.onEnd(tid, ws)
		}
		if t.lingers {
			last = time.Now()
		}
	}
	t.expectReports()
	return nil
}

// reported reports whether a thread has something new to report.
func reported(tid int) bool {
	var info unix.Siginfo
	const look = unix.WNOWAIT | unix.WNOHANG | unix.WEXITED | unix.WSTOPPED | unix.WALL
	err := unix.Waitid(unix.P_PID, tid, &info, look, nil)
	return err == nil && info.Signo != 0
}
