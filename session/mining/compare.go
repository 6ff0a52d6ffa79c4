package mining

import (
	"context"
	"errors"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/constraints/mine"
	"mgtrace/mgpp"
	"mgtrace/session/analysis"
	"mgtrace/session/recording"
	"mgtrace/session/specfile"
	"mgtrace/session/typing"
)

// Comparison says which specifications are compared, and how.
type Comparison struct {
	Reference string // specification file
	Other     string // specification file
	Times     int    // C-points of the reference at which corruptions are tried
	Each      int    // corruptions at each
	Seed      uint64
}

// Compare says what of corruptions that break one specification another one sees, in a
// recording of a healthy run.
func Compare(ctx context.Context, rec *recording.Recording, o Comparison) (*mine.Comparison, error) {
	reference, err := specfile.Load(o.Reference, rec.Program())
	if err != nil {
		return nil, err
	}
	other, err := specfile.Load(o.Other, rec.Program())
	if err != nil {
		return nil, err
	}
	var a *analysis.Analysis
	var points []mgpp.Timestamp
	a = analysis.New(reference, &rec.Prog, rec.Symbols, analysis.Options{Observe: func(c eval.CPoint) {
		if c.Kind == "return" && len(c.Busy) == 0 {
			points = append(points, a.Hist.Now())
		}
	}})
	sink, err := rec.Completed(ctx, a)
	if err != nil {
		return nil, err
	}
	if _, err := rec.Feed(ctx, sink); err != nil {
		return nil, err
	}
	if len(points) == 0 {
		return nil, errors.New("the run reached no C-point of the reference")
	}
	g := graph.New(other, a.Hist, typing.New(other, rec.Symbols), graph.Options{Bias: a.Bias()})
	var times []mgpp.Timestamp
	for i := range o.Times {
		times = append(times, points[(2*i+1)*len(points)/(2*o.Times)])
	}
	return mine.Compare(ctx, a.Hist, mine.Side{Spec: reference, Checker: a.Checker},
		mine.Side{Spec: other, Checker: eval.NewChecker(other, a.Hist, g, eval.Options{})}, times, o.Each, o.Seed)
}
