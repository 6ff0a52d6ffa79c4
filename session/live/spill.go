package live

import (
	"os"
	"sync"
)

// spill is a file of which the engine writes: where that fails (the disk is full), no more is written, and the
// engine, whose program goes on, is not told.
type spill struct {
	*os.File

	mu   sync.Mutex
	err  error // of the first write that failed
	lost func(error)
}

// Write implements io.Writer.
func (s *spill) Write(b []byte) (int, error) {
	s.mu.Lock()
	over := s.err != nil
	s.mu.Unlock()
	if !over {
		_, err := s.File.Write(b)
		s.failed(err)
	}
	return len(b), nil
}

// failed ends the writing if err is not nil.
func (s *spill) failed(err error) {
	s.mu.Lock()
	first := err != nil && s.err == nil
	if first {
		s.err = err
	}
	lost := s.lost
	s.mu.Unlock()
	if first && lost != nil {
		lost(err)
	}
}

// tell says who is told of the failure, which may have been already.
func (s *spill) tell(lost func(error)) {
	s.mu.Lock()
	s.lost = lost
	err := s.err
	s.mu.Unlock()
	if err != nil {
		lost(err)
	}
}
