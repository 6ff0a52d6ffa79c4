package session

import (
	"context"

	"mgtrace/report"
	"mgtrace/session/live"
	"mgtrace/session/overflow"
	"mgtrace/session/recording"
)

// RunOverflow runs a program with all its instructions recorded, and says which of
// them left the heap blocks that they had addresses of. The int is the program's own
// exit status.
func RunOverflow(ctx context.Context, o RunOptions) (*report.Report, int, error) {
	o.Capture.Full = true
	return recordThen(ctx, o, live.Launch, Overflow)
}

// Overflow does the same with a recording of all instructions (record --full).
func Overflow(ctx context.Context, path string, o AnalysisOptions) (*report.Report, error) {
	rec, err := recording.Open(path, o.Files)
	if err != nil {
		return nil, err
	}
	defer rec.Close()
	return overflow.Check(ctx, rec)
}
