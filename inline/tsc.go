package inline

import (
	"math/bits"
	"time"

	"mgtrace/inline/log"
)

// ticks reads the processor's time stamp counter (SDM volume 2, RDTSC), as the
// hook routine does in the process.
func ticks() uint64

// instant is a moment by both clocks.
type instant struct {
	at    time.Time
	ticks uint64
}

func now() instant { return instant{time.Now(), ticks()} }

// clock makes times since began of ticks; the longer ago it began, the more
// exact.
func clock(began instant) log.Clock {
	end := now()
	elapsed, n := uint64(end.at.Sub(began.at)), end.ticks-began.ticks
	if n == 0 || elapsed >= n>>1<<32 {
		return log.Clock{Zero: began.ticks, Mult: 1 << 32}
	}
	hi, lo := elapsed>>32, elapsed<<32
	mult, _ := bits.Div64(hi, lo, n)
	return log.Clock{Zero: began.ticks, Mult: mult}
}
