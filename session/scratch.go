package session

import (
	"fmt"
	"os"

	"mgtrace/session/transient"
)

// scratch is a folder for a recording that is not to be kept. It can be large: it goes with
// mgtrace also where a signal ends that.
type scratch struct {
	dir  string
	but  []os.Signal // that are somebody else's
	done func()      // of transient.GuardBut; nil: somebody else has the signals
}

// newScratch makes the folder; but: see transient.GuardBut.
func newScratch(but ...os.Signal) (*scratch, error) {
	dir, err := os.MkdirTemp("", "mgtrace-")
	if err != nil {
		return nil, fmt.Errorf("make room for the recording: %w; name another folder by TMPDIR", err)
	}
	return &scratch{dir: dir, but: but}, nil
}

// guard heeds the signals from now on.
func (s *scratch) guard() {
	if s != nil && s.done == nil {
		s.done = transient.GuardBut(s.dir, s.but...)
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
