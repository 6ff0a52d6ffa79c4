package analysis

import (
	"sync"
	"time"
)

// stopwatch adds up the times between begin and what that returns. It may be read meanwhile.
type stopwatch struct {
	mu    sync.Mutex
	sum   time.Duration
	since time.Time // zero: it stands
}

func (s *stopwatch) begin() (end func()) {
	s.set(time.Now())
	return s.end
}

func (s *stopwatch) set(since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = since
}

func (s *stopwatch) end() {
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
