package live

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	var notes *target.Notes
	var inside []undo.Entry
	for _, e := range entries {
		switch {
		case len(e.Files) > 0 && string(e.Description) == heldBack:
			// Its probes are gone. It may have been held back.
			_ = unix.PidfdSendSignal(int(e.Files[0].Fd()), unix.SIGCONT, nil, 0) // it has ended
		case len(e.Files) > 0 && string(e.Description) == detours:
			var err error
			if notes, err = target.OpenNotes(e.Files[0]); err != nil {
				return err
			}
			defer notes.Close()
		default:
			inside = append(inside, e)
		}
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
	if notes != nil {
		err = p.PutRight(notes)
	}
	return errors.Join(err, inline.TakeBack(p, inside), p.Close())
}

// Descriptions of the entries that are not package inline's.
const (
	heldBack = "held back" // with a pidfd
	detours  = "detours"   // with the file of target.Notes
)

// noteDetours has the tracer note for TakeBack what it does to threads for a moment. done
// is to be called when it does nothing to them any more.
func noteDetours(log *undo.Writer, p *target.Process) (done func(), err error) {
	if log == nil {
		return func() {}, nil
	}
	notes, err := target.NewNotes()
	if err != nil {
		return nil, err
	}
	entry, err := log.Put([]byte(detours), notes.File())
	if err == nil {
		err = p.KeepNotes(notes)
	}
	return func() {
		_ = log.Drop(entry) // nobody is there any more to follow it
		_ = notes.Close()
	}, err
}

// noteHeldBack notes that a process may be stopped for want of room when this one is
// killed.
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
	return log.Put([]byte(heldBack), f)
}
