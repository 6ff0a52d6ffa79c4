package analysis

import (
	"sync"
	"time"
)

// stopwatch adds up the times between begin and end. It may be read meanwhile. A nil one does nothing.
type stopwatch struct {
	mu    sync.Mutex
	sum   time.Duration
	since time.Time // zero: it stands
}

func (s *stopwatch) begin() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = time.Now()
}

func (s *stopwatch) end() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sum += time.Since(s.since)
	s.since = time.Time{}
}

func (s *stopwatch) read() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() {
		return s.sum
	}
	return s.sum + time.Since(s.since)
}
