package session

import (
	"context"

	"mgtrace/session/live"
	"mgtrace/target"
)

// Record runs a program and writes its history to a file; without one it counts
// only.
func Record(ctx context.Context, o RunOptions) (*live.Summary, error) {
	s, _, _, err := recordBy(ctx, o, live.Launch)
	return s, err
}

// recordBy also returns how the program ended, and why mgtrace ended it.
func recordBy(ctx context.Context, o RunOptions, begin beginner) (s *live.Summary, status target.ExitStatus, held string, err error) {
	o.Capture.Everything = true
	o.Capture.Counts = o.Record == ""
	l, err := begin(ctx, o.live())
	if err != nil {
		return nil, status, "", err
	}
	defer l.Close()
	s, status, err = l.Record(ctx)
	return s, status, l.HeldBy(), err
}
