package session

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// scratch is a folder for a recording that is not to be kept. It can be large: it goes with
// mgtrace also where a signal ends that.
type scratch struct {
	dir     string
	endings []os.Signal    // those that end mgtrace
	signals chan os.Signal // of these; nil: somebody else has them
}

// newScratch makes the folder. endings are the signals that end mgtrace where nobody heeds them.
func newScratch(endings ...os.Signal) (*scratch, error) {
	dir, err := os.MkdirTemp("", "mgtrace-")
	if err != nil {
		return nil, fmt.Errorf("make room for the recording: %w; name another folder by TMPDIR", err)
	}
	return &scratch{dir: dir, endings: endings}, nil
}

// guard heeds the signals from now on: they still end mgtrace, and the folder is removed before.
func (s *scratch) guard() {
	if s == nil || s.signals != nil {
		return
	}
	signals := make(chan os.Signal, 1)
	s.signals = signals
	for _, sig := range s.endings {
		if !signal.Ignored(sig) {
			signal.Notify(signals, sig)
		}
	}
	go func() {
		sig, ok := <-signals
		if !ok {
			return
		}
		_ = os.RemoveAll(s.dir)
		signal.Reset(sig)
		_ = syscall.Kill(os.Getpid(), sig.(syscall.Signal))
	}()
}

// leave leaves the signals to somebody else.
func (s *scratch) leave() {
	if s == nil || s.signals == nil {
		return
	}
	signal.Stop(s.signals)
	close(s.signals)
	s.signals = nil
}

// remove removes the folder.
func (s *scratch) remove() {
	s.leave()
	_ = os.RemoveAll(s.dir)
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
