package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/render"
	"mgtrace/session/allocfree"
	"mgtrace/session/analysis"
	"mgtrace/session/ask"
	"mgtrace/session/recording"
	"mgtrace/session/specfile"
	"mgtrace/trace"
)

// maxFrames is how many frames of an evolution are drawn.
const maxFrames = 200

// Render draws a recorded structure: at a time, its evolution, or the MG++.
func Render(ctx context.Context, path string, ao AnalysisOptions, o RenderOptions) error {
	if ao.Spec == "" {
		return errors.New("which types should be drawn? name them with --spec FILE")
	}
	if o.From != "" && (o.Path == "" || o.Path == "-") {
		return errors.New("an evolution is many pictures: say where with -o DIRECTORY")
	}
	path, err := allocfree.Path(ctx, path, ao.Files, ao.AllocFree)
	if err != nil {
		return err
	}
	rec, err := recording.Open(path, ao.Files)
	if err != nil {
		return err
	}
	defer rec.Close()
	a, times, err := followed(ctx, rec, ao)
	if err != nil {
		return err
	}
	a.Graph.Advance()
	if o.From != "" {
		return evolution(ctx, rec, ao.Spec, a, o, times)
	}
	at, err := times.Find(o.At)
	if err != nil {
		return err
	}
	var g *render.Graph
	if o.History {
		g = render.History(a.Graph, a.Hist, render.HistoryOptions{
			Title: "MG++ of " + rec.Prog.Path, To: at, Max: o.Max, Statement: func(op mgpp.Op) string { return rec.Symbols.Place(op.PC) },
		})
	} else {
		around, err := nodeNamed(a.Graph, o.Node)
		if err != nil {
			return err
		}
		joined, err := ask.Joined(rec, ao.Spec, a, []mgpp.Timestamp{at})
		if err != nil {
			return err
		}
		g = render.Snapshot(a.Graph, a.Hist.At(at), render.Options{
			Title: fmt.Sprintf("%s at change %d", filepath.Base(rec.Prog.Path), at), Around: around, Max: o.Max, Joined: joined[0],
		})
	}
	picture, err := analysis.Picture(ctx, o.DOT, g)
	if err != nil {
		return err
	}
	return analysis.ShowPicture(o.Out, o.Path, picture)
}

// evolution draws a frame for each change of a typed node in the range; nodes
// keep their places.
func evolution(ctx context.Context, rec *recording.Recording, spec string, a *analysis.Analysis, o RenderOptions, times *ask.Moments) error {
	from, err := times.Find(o.From)
	if err != nil {
		return err
	}
	to, err := times.Find(o.To)
	if err != nil {
		return err
	}
	around, err := nodeNamed(a.Graph, o.Node)
	if err != nil {
		return err
	}
	var at []mgpp.Timestamp
	var views []mgpp.View
	var options []render.Options
	for t := from; t <= to; t++ {
		op := a.Hist.Op(t)
		if t != from && len(a.Graph.At(a.Hist.At(t), op.Addr)) == 0 && len(a.Graph.At(a.Hist.At(max(t, 1)-1), op.Addr)) == 0 {
			continue
		}
		if len(views) == maxFrames {
			return fmt.Errorf("more than %d changes between %d and %d: choose a shorter range", maxFrames, from, to)
		}
		at, views = append(at, t), append(views, a.Hist.At(t))
		options = append(options, render.Options{
			Title: fmt.Sprintf("change %d  %s", t, a.Symbols.Place(op.PC)), Around: around, Max: o.Max, Changed: analysis.Changed(op),
		})
	}
	joined, err := ask.Joined(rec, spec, a, at)
	if err != nil {
		return err
	}
	for i := range options {
		options[i].Joined = joined[i]
	}
	frames := render.Evolution(a.Graph, views, options)
	if err := os.MkdirAll(o.Path, 0o777); err != nil {
		return fmt.Errorf("write pictures: %w", err)
	}
	suffix := ".svg"
	if o.DOT {
		suffix = ".dot"
	}
	for i, g := range frames {
		if err := analysis.WritePicture(ctx, filepath.Join(o.Path, fmt.Sprintf("frame-%04d%s", i+1, suffix)), o.DOT, g); err != nil {
			return err
		}
	}
	return nil
}

// nodeNamed finds a node by its name in reports.
func nodeNamed(g *graph.Graph, name string) ([]graph.ObjID, error) {
	if name == "" {
		return nil, nil
	}
	for i := 1; i <= g.Objects(); i++ {
		if g.Name(graph.ObjID(i)) == name {
			return []graph.ObjID{graph.ObjID(i)}, nil
		}
	}
	return nil, fmt.Errorf("--node %s: there is no such node; nodes are named like qdtree#3", name)
}

// followed follows the recording without checking, and notes what happened when.
func followed(ctx context.Context, rec *recording.Recording, o AnalysisOptions) (*analysis.Analysis, *ask.Moments, error) {
	spec, err := specfile.Load(o.Spec, rec.Program())
	if err != nil {
		return nil, nil, err
	}
	a := analysis.New(spec, &rec.Prog, rec.Symbols, analysis.Options{NoCheck: true})
	times := ask.NewMoments(rec, a.Hist)
	_, err = rec.Feed(ctx, timedAnalysis{a, times})
	return a, times, err
}

// timedAnalysis is an analysis of which the times are noted.
type timedAnalysis struct {
	*analysis.Analysis
	times *ask.Moments
}

// Event implements capture.Sink.
func (t timedAnalysis) Event(ev *trace.Event) error {
	if err := t.Analysis.Event(ev); err != nil {
		return err
	}
	t.times.Note(ev)
	return nil
}
