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
const dyingLimit = time.Minute

// Heir puts a process right which was attached to by an mgtrace that has been killed.
type Heir struct {
	pid   int
	notes *target.Notes
	heir  chan *target.Heir // gets one, nil: what the tracer leaves runs on; nil: there are no notes
	leave context.CancelFunc
}

// NewHeir makes the heir of the one that attaches to a process.
func NewHeir(pid int) *Heir { return &Heir{pid: pid} }

// Begin is told of the first entry of Capture.Undo. It does not wait for the tracer, which may be slow to come, or be
// killed before.
func (h *Heir) Begin(e undo.Entry) {
	if len(e.Files) == 0 || string(e.Description) != detours {
		return
	}
	var err error
	if h.notes, err = target.OpenNotes(e.Files[0]); err != nil {
		h.notes = nil // TakeBack says so
		return
	}
	ctx, leave := context.WithCancel(context.Background())
	h.heir, h.leave = make(chan *target.Heir, 1), leave
	go func() { h.heir <- h.notes.Inherit(ctx, h.pid) }()
}

// TakeBack puts the process right: entries are what is left of Capture.Undo.
func (h *Heir) TakeBack(ctx context.Context, entries []undo.Entry) error {
	ctx, cancel := context.WithTimeout(ctx, dyingLimit)
	defer cancel()
	stopped := h.stopped()
	var notes *target.Notes
	var inside []undo.Entry
	for _, e := range entries {
		switch {
		case len(e.Files) > 0 && string(e.Description) == heldBack:
			if len(stopped) > 0 {
				continue // see below
			}
			// Its probes are gone. It may have been held back.
			_ = unix.PidfdSendSignal(int(e.Files[0].Fd()), unix.SIGCONT, nil, 0) // it has ended
		case string(e.Description) == detours:
			if notes = h.notes; notes == nil {
				return errors.New("undo log: the notes of detours can not be mapped")
			}
		default:
			inside = append(inside, e)
		}
	}
	p, err := attachTo(ctx, h.pid)
	if errors.Is(err, target.ErrNoProcess) || errors.Is(err, target.ErrExited) {
		return nil
	}
	if err != nil {
		goOn(stopped)
		return err
	}
	var children []*target.Process
	for _, pid := range stopped {
		if pid == h.pid {
			continue
		}
		c, err := attachTo(ctx, pid)
		if errors.Is(err, target.ErrNoProcess) || errors.Is(err, target.ErrExited) {
			continue
		}
		if err != nil {
			goOn(stopped)
			return errors.Join(err, p.Close())
		}
		defer c.Close()
		children = append(children, c)
	}
	goOn(stopped) // from here on it is we who hold them
	err = p.Undeliver()
	if notes != nil {
		err = errors.Join(err, p.PutRight(notes))
	}
	return errors.Join(err, inline.TakeBack(p, children, inside), p.Close())
}

// Release is for a tracer that has come to its end by itself: what it had not let go goes on.
func (h *Heir) Release() { goOn(h.stopped()) }

func (h *Heir) stopped() []int {
	if h.heir == nil {
		return nil
	}
	h.leave()
	if heir := <-h.heir; heir != nil {
		return heir.Stopped()
	}
	return nil
}

func goOn(stopped []int) {
	for _, pid := range stopped {
		_ = unix.Kill(pid, unix.SIGCONT) // it has ended
	}
}

// attachTo is Attach once nobody else traces a process.
func attachTo(ctx context.Context, pid int) (*target.Process, error) {
	for {
		p, err := target.Attach(ctx, pid)
		if !errors.Is(err, target.ErrTraced) {
			return p, err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// Descriptions of the entries that are not package inline's.
const (
	heldBack = "held back" // with a pidfd
	detours  = "detours"   // with the file of target.Notes
)

// noteDetours makes notes for TakeBack of what the tracer does to threads for a moment; nil:
// nobody is there who would follow them. done is to be called when it does nothing to them
// any more.
func noteDetours(log *undo.Writer) (notes *target.Notes, done func(), err error) {
	if log == nil {
		return nil, func() {}, nil
	}
	if notes, err = target.NewNotes(); err != nil {
		return nil, nil, err
	}
	entry, err := log.Put([]byte(detours), notes.File())
	if err != nil {
		return nil, nil, errors.Join(err, notes.Close())
	}
	return notes, func() {
		_ = log.Drop(entry) // nobody is there any more to follow it
		_ = notes.Close()
	}, nil
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
