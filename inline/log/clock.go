package log

import (
	"math/bits"
	"time"
)

// Clock makes times of the processor's time stamp counter.
type Clock struct {
	Zero uint64 // the counter when recording began
	Mult uint64 // nanoseconds in 2^32 ticks
}

// Wall returns nanoseconds since recording began; 0 before.
func (c Clock) Wall(ticks uint64) int64 {
	if ticks < c.Zero {
		return 0
	}
	hi, lo := bits.Mul64(ticks-c.Zero, c.Mult)
	return int64((hi<<32 | lo>>32) &^ (1 << 63))
}

// Ticks returns a time of the counter that is not after any of which Wall makes ns.
func (c Clock) Ticks(ns int64) uint64 {
	if ns <= 0 || c.Mult == 0 || uint64(ns)>>32 >= c.Mult {
		return c.Zero
	}
	n, _ := bits.Div64(uint64(ns)>>32, uint64(ns)<<32, c.Mult)
	return c.Zero + n
}

// NewClock makes times since the counter was zero; by now it is end, after so long. The
// longer ago that was, the more exact it is.
func NewClock(zero, end uint64, elapsed time.Duration) Clock {
	ns, n := uint64(elapsed), end-zero
	if n == 0 || ns >= n>>1<<32 {
		return Clock{Zero: zero, Mult: 1 << 32}
	}
	mult, _ := bits.Div64(ns>>32, ns<<32, n)
	return Clock{Zero: zero, Mult: mult}
}
