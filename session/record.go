package session

import (
	"context"

	"mgtrace/target"
)

// Record runs a program and writes its history to a file; without one it counts
// only.
func Record(ctx context.Context, o RunOptions) (*Summary, error) {
	s, _, _, err := recordBy(ctx, o, launch)
	return s, err
}

// recordBy also returns how the program ended, and why mgtrace ended it.
func recordBy(ctx context.Context, o RunOptions, begin beginner) (s *Summary, status target.ExitStatus, held string, err error) {
	o.Capture.Everything = true
	o.Capture.Counts = o.Record == ""
	l, err := begin(ctx, o.live())
	if err != nil {
		return nil, status, "", err
	}
	defer l.close()
	s, status, err = l.record(ctx)
	return s, status, l.heldBy(), err
}
