package log

import "math/bits"

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
