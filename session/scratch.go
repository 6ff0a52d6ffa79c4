package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"mgtrace/session/transient"
	"mgtrace/target"
)

// scratch is a folder for a recording that is not to be kept. It can be large: it goes with
// mgtrace also where a signal ends that. Where that is SIGKILL the next mgtrace removes it.
type scratch struct {
	dir  string
	lock *os.File // locked as long as somebody uses the folder; nil: it can not be
	done func()   // of transient.Guard; nil: somebody else has the signals
}

// newScratch makes the folder.
func newScratch() (*scratch, error) {
	dir, err := os.MkdirTemp("", "mgtrace-")
	if err != nil {
		return nil, fmt.Errorf("make room for the recording: %w; name another folder by TMPDIR", err)
	}
	s := &scratch{dir: dir}
	// Without a lock (a file system may have none) the folder is only never taken for one that was left behind.
	s.lock, _ = lockIn(dir)
	removeAbandoned(filepath.Dir(dir))
	return s, nil
}

// lockName is the file in a folder that is locked by who uses that.
const lockName = "in-use"

// lockIn makes that file. It has the name only when it is locked.
func lockIn(dir string) (f *os.File, err error) {
	if f, err = os.CreateTemp(dir, lockName+"-"); err != nil {
		return nil, err
	}
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, lockName))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// removeAbandoned removes the folders of those who were killed: they have the file, and nobody locks it. What can not be
// removed, another user's, stays.
func removeAbandoned(tmp string) {
	locks, _ := filepath.Glob(filepath.Join(tmp, "mgtrace-*", lockName)) // its only error is one of the pattern
	for _, name := range locks {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.RemoveAll(filepath.Dir(name))
		}
		_ = f.Close()
	}
}

// guard heeds the signals from now on.
func (s *scratch) guard() {
	if s != nil && s.done == nil {
		s.done = transient.Guard(s.dir)
	}
}

// leave leaves the signals to somebody else.
func (s *scratch) leave() {
	if s != nil && s.done != nil {
		s.done()
		s.done = nil
	}
}

// remove removes the folder.
func (s *scratch) remove() {
	s.leave()
	_ = os.RemoveAll(s.dir)
	if s.lock != nil {
		_ = s.lock.Close()
	}
}

// while guards the folder except while the program runs, which has the signals then. running is
// told that too.
func (s *scratch) while(running func(bool)) func(bool) {
	s.guard()
	return func(on bool) {
		if on {
			s.leave()
		} else {
			s.guard()
		}
		if running != nil {
			running(on)
		}
	}
}

// searching returns a context that the first signal ends which asks mgtrace to end. Of another one mgtrace dies: then the
// next mgtrace removes the folder. through ends that.
func (s *scratch) searching(ctx context.Context) (_ context.Context, through func()) {
	s.leave()
	ctx, cancel := context.WithCancel(ctx)
	done := target.AskedOnce(cancel)
	return ctx, func() {
		done()
		cancel()
	}
}
