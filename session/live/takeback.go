package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"mgtrace/inline"
	"mgtrace/target"
	"mgtrace/target/undo"
)

// dyingLimit is how long a tracer that has been killed may take to let its process go.
const dyingLimit = 10 * time.Second

// TakeBack puts a process right which was attached to by an mgtrace that has been
// killed: entries are what that has left of its Capture.Undo.
func TakeBack(ctx context.Context, pid int, entries []undo.Entry) error {
	ctx, cancel := context.WithTimeout(ctx, dyingLimit)
	defer cancel()
	inside := slices.DeleteFunc(entries, func(e undo.Entry) bool {
		if len(e.Description) > 0 || len(e.Files) == 0 {
			return false
		}
		// Its probes are gone. It may have been held back.
		_ = unix.PidfdSendSignal(int(e.Files[0].Fd()), unix.SIGCONT, nil, 0) // it has ended
		return true
	})
	if len(inside) == 0 && len(entries) > 0 {
		return nil
	}
	p, err := target.Attach(ctx, pid)
	for ; errors.Is(err, target.ErrTraced); p, err = target.Attach(ctx, pid) {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
	if errors.Is(err, target.ErrNoProcess) || errors.Is(err, target.ErrExited) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(inline.TakeBack(p, inside), p.Close())
}

// noteHeldBack notes that a process may be stopped for want of room when this one is
// killed. The entry is one without a description.
func noteHeldBack(log *undo.Writer, pid int) (entry uint64, err error) {
	if log == nil {
		return 0, nil
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return 0, fmt.Errorf("process %d: %w", pid, err)
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	return log.Put(nil, f)
}
