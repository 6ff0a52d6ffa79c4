package session

import (
	"context"

	"mgtrace/report"
	"mgtrace/session/live"
)

// Attach watches a process that runs already, until it ends, or crashes, or until
// mgtrace is told to let it go (Ctrl-C, SIGTERM, Capture.Timeout): then it runs on
// as it was. Program and Args of the options are not used.
func Attach(ctx context.Context, pid int, o RunOptions) (*report.Report, error) {
	ctx, done := live.Interruptible(ctx)
	defer done()
	o.Capture.Everything = true // where nothing is recorded a block of before would stay unseen
	begin := func(ctx context.Context, o live.Options) (*live.Program, error) { return live.Seize(ctx, pid, o) }
	if o.Last > 0 {
		o.letGo = done
		ctx, leave := context.WithCancelCause(ctx)
		defer leave(nil)
		o.lost = func(err error) { leave(err) }
		r, _, err := recordThen(ctx, o, begin, Locate)
		return r, err
	}
	l, err := begin(ctx, o.live())
	if err != nil {
		return nil, err
	}
	defer l.Close()
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	r, _, err := checked(ctx, l, o.Analysis, limits{patience: patienceAttached, locating: patienceLocating}, func() { leave(errFull) })
	return r, err
}
