package live

import (
	"context"
	"errors"

	"mgtrace/capture"
	"mgtrace/inline/matter"
	"mgtrace/session/specfile"
	"mgtrace/target"
	"mgtrace/trace"
)

// Observer looks on while a program runs.
type Observer struct {
	capture.Sink
	// Heed is given the stack of each allocation, and its size, where the engine drops what can not
	// matter, and tells the engine what its frames say; without a stack: that has to be now. nil: all blocks matter.
	Heed func(stack []trace.Addr, size uint64, tell func(matter.Frame) bool)
	// Stopped is called while the program is held at its crash or end: it may read the
	// memory, and emit more events.
	Stopped func(read func([]byte, trace.Addr) int, emit func(*trace.Event) error) error
	// Urged is called when somebody wants mgtrace to end (Ctrl-C, SIGTERM, its timeout), while
	// the program stands still and what it did is still being brought in. By any goroutine.
	Urged func()
	// Audit is what a recording is to say of that.
	Audit func() *trace.Audit
	// Found ends the recording, with Options.Capture.Watch, as soon as it is true.
	Found func() bool
}

// Observe lets the program run to its end, or until mgtrace ends it, under the eyes of an
// observer. Options.Record is written as well.
func (l *Program) Observe(ctx context.Context, x *Observer) (status target.ExitStatus, t trace.Trailer, err error) {
	if l.gate != nil {
		if err := specfile.MayBeginLate(l.Spec); err != nil {
			return status, t, err
		}
	}
	l.sinks = append(l.sinks, x)
	l.heed, l.onUrge = x.Heed, x.Urged
	rec, err := l.recorder(l.o.Record)
	if err != nil {
		return status, t, err
	}
	l.onStop = func(read func([]byte, trace.Addr) int) {
		if err := x.Stopped(read, l.emit); err != nil {
			l.warn("the audit could not be finished: %v", err)
		}
	}
	if l.o.Capture.Watch {
		l.sinks = append(l.sinks, watcher{x.Found})
	}
	status, err = l.run(ctx)
	if err != nil {
		return status, t, errors.Join(err, rec.abandon())
	}
	t = l.trailer(status)
	t.Audit = x.Audit()
	if rec.finish(t); rec.over != nil {
		l.warn("the recording ends before the program does (%v): this report is of the whole run, the file holds what was written before", rec.over)
		t.Warnings = l.Prog.Warnings[l.headed:]
	}
	return status, t, nil
}

// Record lets the program run to its end, or until mgtrace ends it, and writes its
// history as the options say.
func (l *Program) Record(ctx context.Context) (s *Summary, status target.ExitStatus, err error) {
	rec, err := l.recorder(l.o.Record)
	if err != nil {
		return nil, status, err
	}
	if rec.writes() {
		l.keepMemory()
	}
	rec.ends = l.recordingEnds
	l.full.onLoss(l.recordingEnds)
	status, err = l.run(ctx)
	if err != nil {
		return nil, status, errors.Join(err, rec.abandon())
	}
	t := l.trailer(status)
	rec.finish(t)
	l.full.finish(t)
	s, err = l.summary(t, status.String())
	return s, status, err
}

// recordingEnds ends the history where no more of it can be written; the program goes on.
func (l *Program) recordingEnds(err error) {
	if l.cut.CompareAndSwap(nil, &err) {
		l.Cease(err.Error())
		if l.o.Lost != nil {
			l.o.Lost(err)
		}
	}
}

// Filters: the engine drops what concerns only blocks that do not matter.
func (l *Program) Filters() bool { return l.filter != nil }

// Matter is what the engine was told of the blocks that do, if it Filters.
func (l *Program) Matter() matter.Blocks { return l.matter }

// Closer closes parts of blocks while the program runs, where Filters.
func (l *Program) Closer() Closer { return l.filter }

// HeldBy says why mgtrace ended the run; "" if it did not.
func (l *Program) HeldBy() string { return l.held }

// watcher ends the recording as soon as the observer before it among the sinks has
// found something.
type watcher struct{ found func() bool }

// Sites implements capture.Sink.
func (w watcher) Sites([]trace.StoreSite) error { return nil }

// Calls implements capture.Mixed.
func (w watcher) Calls([]trace.StoreSite) error { return nil }

// Stores implements capture.Sink.
func (w watcher) Stores(*trace.Stores) error { return nil }

// Event implements capture.Sink.
func (w watcher) Event(*trace.Event) error {
	if w.found() {
		return errFound
	}
	return nil
}
