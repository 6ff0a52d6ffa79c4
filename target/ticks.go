package target

import "time"

// Moment is one by the system's clock and by the processor's time stamp counter.
type Moment struct {
	At    time.Time
	Ticks uint64
}

// Now is the moment.
func Now() Moment { return Moment{time.Now(), ticks()} }

// ticks reads the time stamp counter (SDM volume 2, RDTSC).
func ticks() uint64

// Since returns the counter at the moment and now, and the time between.
func (m Moment) Since() (then, now uint64, elapsed time.Duration) {
	n := Now()
	return m.Ticks, n.Ticks, n.At.Sub(m.At)
}
