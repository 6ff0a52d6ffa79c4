package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"mgtrace/capture"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/query"
	"mgtrace/render"
	"mgtrace/session/analysis"
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
	path, err := withoutAllocator(ctx, path, ao)
	if err != nil {
		return err
	}
	rec, err := openRecording(path, ao)
	if err != nil {
		return err
	}
	defer rec.close()
	a, times, err := rec.analyseWith(ctx, ao)
	if err != nil {
		return err
	}
	a.Graph.Advance()
	if o.From != "" {
		return evolution(ctx, a, o, times)
	}
	at, err := times.find(o.At)
	if err != nil {
		return err
	}
	var g *render.Graph
	if o.History {
		g = render.History(a.Graph, a.Hist, render.HistoryOptions{
			Title: "MG++ of " + rec.prog.Path, To: at, Max: o.Max, Statement: func(op mgpp.Op) string { return rec.symbols.Place(op.PC) },
		})
	} else {
		around, err := nodeNamed(a.Graph, o.Node)
		if err != nil {
			return err
		}
		g = render.Snapshot(a.Graph, a.Hist.At(at), render.Options{Title: fmt.Sprintf("%s at change %d", filepath.Base(rec.prog.Path), at), Around: around, Max: o.Max})
	}
	return writePicture(ctx, o.Path, o, g)
}

// evolution draws a frame for each change of a typed node in the range; nodes
// keep their places.
func evolution(ctx context.Context, a *analysis.Analysis, o RenderOptions, times timeFinder) error {
	from, err := times.find(o.From)
	if err != nil {
		return err
	}
	to, err := times.find(o.To)
	if err != nil {
		return err
	}
	around, err := nodeNamed(a.Graph, o.Node)
	if err != nil {
		return err
	}
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
		views = append(views, a.Hist.At(t))
		options = append(options, render.Options{
			Title: fmt.Sprintf("change %d  %s", t, a.Symbols.Place(op.PC)), Around: around, Max: o.Max, Changed: analysis.Changed(op),
		})
	}
	frames := render.Evolution(a.Graph, views, options)
	if o.Path == "" || o.Path == "-" {
		return errors.New("an evolution is many pictures: say where with -o DIRECTORY")
	}
	if err := os.MkdirAll(o.Path, 0o777); err != nil {
		return fmt.Errorf("write pictures: %w", err)
	}
	suffix := ".svg"
	if o.DOT {
		suffix = ".dot"
	}
	for i, g := range frames {
		if err := writePicture(ctx, filepath.Join(o.Path, fmt.Sprintf("frame-%04d%s", i+1, suffix)), o, g); err != nil {
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

func writePicture(ctx context.Context, path string, o RenderOptions, g *render.Graph) error {
	if path == "" || path == "-" {
		b, err := analysis.Picture(ctx, o.DOT, g)
		if err == nil {
			_, err = o.Out.Write(b)
		}
		return err
	}
	return analysis.WritePicture(ctx, path, o.DOT, g)
}

// analyseWith follows the recording without checking, and notes what happened when.
func (rec *recording) analyseWith(ctx context.Context, o AnalysisOptions) (*analysis.Analysis, timeFinder, error) {
	spec, err := specfile.Load(o.Spec, rec.program())
	if err != nil {
		return nil, timeFinder{}, err
	}
	a := analysis.New(spec, &rec.prog, rec.symbols, analysis.Options{NoCheck: true})
	times := timeFinder{&builtRun{rec: rec, hist: a.Hist, calls: query.NewCalls(&rec.prog)}}
	_, err = rec.feed(ctx, timedAnalysis{a, times})
	return a, times, err
}

// timedAnalysis is an analysis of which the times are noted.
type timedAnalysis struct {
	*analysis.Analysis
	times timeFinder
}

// Event implements capture.Sink.
func (t timedAnalysis) Event(ev *trace.Event) error {
	if err := t.Analysis.Event(ev); err != nil {
		return err
	}
	t.times.note(ev)
	return nil
}

// timeFinder turns times as the user writes them into timestamps.
type timeFinder struct{ *builtRun }

func (f timeFinder) find(s string) (mgpp.Timestamp, error) {
	t, err := query.ParseTime(s)
	if err != nil {
		return 0, err
	}
	return query.Find(t, f)
}

// Info prints what a trace holds.
func Info(w io.Writer, path string, o InfoOptions) error {
	path, err := withoutAllocator(context.Background(), path, o.Analysis)
	if err != nil {
		return err
	}
	if o.Events {
		return printEvents(w, path)
	}
	q, err := OpenQueries(path, QueryOptions{JSON: o.JSON, Out: w, Index: o.Index, Progress: o.Progress, Memory: o.Memory})
	if err != nil {
		return err
	}
	defer q.Close()
	i := q.info()
	i.Flow = flowInfo(path, &q.rec.prog)
	return q.print(i)
}

// printEvents prints every event as text.
func printEvents(w io.Writer, path string) error {
	r, err := trace.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	rec := &recording{r: r, prog: r.Program()}
	_, err = rec.feed(context.Background(), capture.Events(func(ev *trace.Event) error {
		_, err := fmt.Fprintln(w, trace.Format(*ev))
		return err
	}))
	return err
}
