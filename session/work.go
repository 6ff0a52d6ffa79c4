package session

import (
	"time"

	"golang.org/x/sys/unix"
)

// afterWork calls f when this process has had a processor for d since now, and no sooner than after d: on a busy machine
// later, as all that f would end takes longer there. After ten times d it is called in any case.
func afterWork(d time.Duration, f func()) {
	began, had := time.Now(), processorTime()
	var look func()
	look = func() {
		if left := d - (processorTime() - had); left > 0 && time.Since(began) < 10*d {
			time.AfterFunc(max(left/4, d/100), look)
			return
		}
		f()
	}
	time.AfterFunc(d, look)
}

// processorTime is what this process has had of processors until now.
func processorTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
