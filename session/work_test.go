package session

import (
	"testing"
	"time"
)

// Who works is called sooner than who waits, neither before the time; who gets no processor, at last.
func TestAfterWork(t *testing.T) {
	const d = 20 * time.Millisecond
	for _, works := range []bool{true, false} {
		called := make(chan time.Duration, 1)
		began, had := time.Now(), processorTime()
		afterWork(d, func() { called <- processorTime() - had })
		var worked time.Duration
		for over := false; !over; {
			if !works {
				worked, over = <-called, true
				break
			}
			select {
			case worked = <-called:
				over = true
			default:
			}
		}
		if lasted := time.Since(began); lasted < d || worked < d && lasted < 10*d {
			t.Errorf("works: %v: called after %v, of which it had a processor for %v", works, lasted, worked)
		}
	}
}
