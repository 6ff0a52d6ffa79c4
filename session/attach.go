package session

import (
	"context"

	"mgtrace/report"
)

// Attach watches a process that runs already, until it ends, or crashes, or until
// mgtrace is told to let it go (Ctrl-C, SIGTERM, Capture.Timeout): then it runs on
// as it was. Program and Args of the options are not used.
func Attach(ctx context.Context, pid int, o RunOptions) (*report.Report, error) {
	ctx, done := interruptible(ctx)
	defer done()
	o.Capture.Everything = true // where nothing is recorded a block of before would stay unseen
	begin := func(ctx context.Context, o liveOptions) (*live, error) { return seize(ctx, pid, o) }
	if o.Last > 0 {
		r, _, err := recordThen(ctx, o, begin, Locate)
		return r, err
	}
	l, err := begin(ctx, o.live())
	if err != nil {
		return nil, err
	}
	defer l.close()
	r, _, err := checked(ctx, l, o.Analysis)
	return r, err
}
