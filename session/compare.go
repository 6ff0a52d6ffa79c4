package session

import (
	"context"
	"path/filepath"

	"mgtrace/constraints/mine"
	"mgtrace/session/live"
	"mgtrace/session/mining"
	"mgtrace/session/recording"
	"mgtrace/session/specfile"
	"mgtrace/session/symbol"
)

// CompareOptions are all that CompareSpecs needs.
type CompareOptions struct {
	Program string
	Args    []string
	mining.Comparison
}

// CompareSpecs runs a healthy program, corrupts its structures in thought, and says
// what of that which breaks the one specification the other one sees.
func CompareSpecs(ctx context.Context, o CompareOptions) (*mine.Comparison, error) {
	room, err := newScratch()
	if err != nil {
		return nil, err
	}
	defer room.remove()
	run := RunOptions{
		Program: o.Program, Args: o.Args, Record: filepath.Join(room.dir, "run.mgt"),
		Analysis: AnalysisOptions{Spec: o.Reference}, Capture: live.CaptureOptions{Engine: "auto"},
	}
	run.prepare = func(p *symbol.Program, c *live.CaptureOptions) error {
		other, err := specfile.Load(o.Other, p)
		if err != nil {
			return err
		}
		for _, g := range other.Globals {
			c.Globals = append(c.Globals, g.Name)
		}
		return nil
	}
	if _, err := Record(ctx, run); err != nil {
		return nil, err
	}
	rec, err := recording.Open(run.Record, run.Analysis.Files)
	if err != nil {
		return nil, err
	}
	defer rec.Close()
	return mining.Compare(ctx, rec, o.Comparison)
}
