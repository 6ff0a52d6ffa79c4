package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/constraints/mine"
	"mgtrace/mgpp"
	"mgtrace/session/analysis"
	"mgtrace/session/live"
	"mgtrace/session/specfile"
	"mgtrace/session/symbol"
	"mgtrace/session/typing"
)

// CompareOptions are all that CompareSpecs needs.
type CompareOptions struct {
	Program   string
	Args      []string
	Reference string // specification file
	Other     string // specification file
	Times     int    // C-points of the reference at which corruptions are tried
	Each      int    // corruptions at each
	Seed      uint64
}

// CompareSpecs runs a healthy program, corrupts its structures in thought, and says
// what of that which breaks the one specification the other one sees.
func CompareSpecs(ctx context.Context, o CompareOptions) (*mine.Comparison, error) {
	dir, err := os.MkdirTemp("", "mgtrace-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	run := RunOptions{
		Program: o.Program, Args: o.Args, Record: filepath.Join(dir, "run.mgt"),
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
	rec, err := openRecording(run.Record, run.Analysis)
	if err != nil {
		return nil, err
	}
	defer rec.close()
	return rec.compare(ctx, o)
}

func (rec *recording) compare(ctx context.Context, o CompareOptions) (*mine.Comparison, error) {
	reference, err := specfile.Load(o.Reference, rec.program())
	if err != nil {
		return nil, err
	}
	other, err := specfile.Load(o.Other, rec.program())
	if err != nil {
		return nil, err
	}
	var a *analysis.Analysis
	var points []mgpp.Timestamp
	a = analysis.New(reference, &rec.prog, rec.symbols, analysis.Options{Observe: func(c eval.CPoint) {
		if c.Kind == "return" {
			points = append(points, a.Hist.Now())
		}
	}})
	sink, err := rec.completed(ctx, a)
	if err != nil {
		return nil, err
	}
	if _, err := rec.feed(ctx, sink); err != nil {
		return nil, err
	}
	if len(points) == 0 {
		return nil, errors.New("the run reached no C-point of the reference")
	}
	g := graph.New(other, a.Hist, typing.New(other, rec.symbols), graph.Options{Bias: a.Bias()})
	var times []mgpp.Timestamp
	for i := range o.Times {
		times = append(times, points[(2*i+1)*len(points)/(2*o.Times)])
	}
	return mine.Compare(ctx, a.Hist, mine.Side{Spec: reference, Checker: a.Checker},
		mine.Side{Spec: other, Checker: eval.NewChecker(other, a.Hist, g, eval.Options{})}, times, o.Each, o.Seed)
}
