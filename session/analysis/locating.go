package analysis

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"mgtrace/faultloc"
)

// Locating watches the fault locator at work, and can take evidence from it to see
// what that is worth. Campaigns that measure use it.
type Locating struct {
	Without []faultloc.EvidenceKind // evidence that is not looked for
	Done    func(Located)           // nil: nobody is told
}

// Located is one location of a fault.
type Located struct {
	Took             time.Duration // processor time
	Examined, Trials int
	Exhausted        bool
	// Refused is why the call that broke the structure could not be executed again; nil: it was, or nobody asked.
	Refused error
	// Ran: a statement of this line wrote since the last C-point that was healthy.
	Ran func(line int) bool
}

// measured locates the fault at p, watched by a.o.Locating.
func (a *Analysis) measured(p *point, in faultloc.Input) faultloc.Result {
	return a.watched(p, in, faultloc.Locate)
}

// watched is the same of any question.
func (a *Analysis) watched(p *point, in faultloc.Input, locate func(faultloc.Input) faultloc.Result) faultloc.Result {
	watch := a.o.Locating
	if watch == nil {
		return locate(in)
	}
	in.Without = append(in.Without, watch.Without...)
	took := threadClock()
	a.refused = nil
	res := locate(in)
	l := Located{
		Refused: a.refused,
		Took:    took(), Examined: res.Examined, Trials: res.Trials, Exhausted: res.Exhausted,
		Ran: func(line int) bool { return a.ran(p, line) },
	}
	if watch.Done != nil {
		watch.Done(l)
	}
	return res
}

// threadClock returns a function that tells how much processor time this thread has
// taken since: on a loaded machine a clock on the wall tells nothing. The goroutine
// stays on the thread until then.
func threadClock() func() time.Duration {
	now := func() time.Duration {
		var ts unix.Timespec
		if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
			return 0
		}
		return time.Duration(ts.Nano())
	}
	runtime.LockOSThread()
	began := now()
	return func() time.Duration {
		defer runtime.UnlockOSThread()
		return now() - began
	}
}

// ran: a statement of this line wrote between the last healthy C-point and p.
func (a *Analysis) ran(p *point, line int) bool {
	for t := p.healthy + 1; t <= p.time; t++ {
		_, pc := a.Hist.Statement(t)
		if f, _, _ := a.Symbols.Where(pc); f.Line == line {
			return true
		}
	}
	return false
}
