package session

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A history that is checked while the program runs lies in memory as a whole. A server that writes
// without end would fill the machine's, and take others down with it. So the history ends
// before: at this part of what mgtrace may take (debug.SetMemoryLimit; GOMEMLIMIT, or what
// the command has found free). The rest is for what is wrong in it to be located.
const (
	historyShare = 0.8
	// How often that is looked at, at least; and by how many bytes a history grows in that time, at most: where less is left,
	// more often.
	memoryTick   = 200 * time.Millisecond
	growsIn      = 1 << 30
	shortestTick = 2 * time.Millisecond
)

// errFull is why a process that we have attached to is let go.
var errFull = errors.New("no memory is left for more of its history")

// beforeMemoryIsFull calls full, once, when what is in use comes near the limit; not after stop
// has returned. Where no limit is set it never does.
func beforeMemoryIsFull(full func(why string)) (stop func()) {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		left := (1 - historyShare) * float64(limit)
		tick := time.NewTicker(max(shortestTick, min(memoryTick, time.Duration(left/growsIn*float64(memoryTick)))))
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
			}
			if n := inUse(); float64(n) > historyShare*float64(limit) {
				full(fmt.Sprintf("it takes %d MB, and no memory is left for more; --last SIZE keeps its newest part, on disk", n>>20))
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}

// inUse is how many bytes the last garbage collection has found to be in use. The runtime
// collects the more often the nearer that is to its limit.
func inUse() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}
