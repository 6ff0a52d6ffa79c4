package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"mgtrace/capture"
	"mgtrace/mgpp"
	"mgtrace/mgpp/index"
	"mgtrace/probe/evidence"
	"mgtrace/query"
	"mgtrace/render"
	"mgtrace/report"
	"mgtrace/session/analysis"
	"mgtrace/session/specfile"
	"mgtrace/session/symbol"
	"mgtrace/session/typing"
	"mgtrace/trace"
	"mgtrace/types"
)

// QueryOptions say what all questions to a trace have in common.
type QueryOptions struct {
	Analysis AnalysisOptions // a specification gives types and their names
	JSON     bool
	Color    bool
	Out      io.Writer
	Index    bool                    // also where the trace is so short that it needs none
	Progress func(done, total int64) // of making an index; nil: none
	Memory   MemoryLimit             // of making an index, or of the history where there is none
}

// Queries is a trace that is asked.
type Queries struct {
	rec     *recording
	o       QueryOptions
	answers query.Answers
	times   query.Times
	x       *index.Index // nil: the history is in memory
	run     *builtRun    // that history
	origins query.Origins
	typing  *queryTyping
	about   indexNotes
}

// OpenQueries opens a trace for questions. Close it after use.
func OpenQueries(path string, o QueryOptions) (*Queries, error) {
	path, err := withoutAllocator(context.Background(), path, o.Analysis)
	if err != nil {
		return nil, err
	}
	rec, err := openRecording(path, o.Analysis)
	if err != nil {
		return nil, err
	}
	q := &Queries{rec: rec, o: o}
	t, err := newQueryTyping(rec, o.Analysis)
	if err == nil {
		err = q.ask(path, t)
	}
	if err != nil {
		q.Close()
		return nil, err
	}
	return q, nil
}

// Close closes the trace.
func (q *Queries) Close() {
	if q.x != nil {
		_ = q.x.Close() // only read from
	}
	q.rec.close()
}

// failed is what went wrong in reading the index.
func (q *Queries) failed() error {
	if q.x == nil || q.x.Err() == nil {
		return nil
	}
	return fmt.Errorf("%w: delete the .idx file beside the trace, it is made again", q.x.Err())
}

// build takes the whole history into memory.
func (q *Queries) build(t *queryTyping) error {
	hist := mgpp.New(mgpp.Options{})
	run := &builtRun{rec: q.rec, hist: hist, calls: query.NewCalls(&q.rec.prog), total: q.rec.r.EventCount(), ceiling: ceiling{limit: q.o.Memory}}
	tr, err := q.rec.feed(context.Background(), run)
	if err != nil {
		return err
	}
	q.times, q.run = run, run
	q.about = indexNotes{Complete: tr.Complete, Why: tr.Why, Seen: run.seen, Events: run.kinds[:]}
	o, all := query.CountOrigins(hist)
	t.origins = all
	q.origins, q.typing = o, t
	q.answers = query.Answers{Names: query.NewNames(hist, o, t), Run: run}
	return nil
}

// time finds a time as the user writes it.
func (q *Queries) time(s string) (mgpp.Timestamp, error) {
	t, err := query.ParseTime(s)
	if err != nil {
		return 0, err
	}
	return query.Find(t, q.times)
}

// print writes an answer.
func (q *Queries) print(answer interface {
	Text(w io.Writer, color bool) error
}) error {
	if err := q.failed(); err != nil {
		return err
	}
	if !q.o.JSON {
		return answer.Text(q.o.Out, q.o.Color)
	}
	e := json.NewEncoder(q.o.Out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(answer)
}

// Who tells which statements wrote a cell, an address or a path, newest first: at
// most so many of them, 0: all.
func (q *Queries) Who(expr, at string, most int) error {
	p, err := query.ParsePath(expr)
	if err != nil {
		return err
	}
	t, err := q.time(at)
	if err != nil {
		return err
	}
	c, err := q.answers.Resolve(p, q.answers.History().At(t))
	if err != nil {
		return q.explain(err, t)
	}
	w := q.answers.Who(c, t, at, most)
	return q.print(&w)
}

// explain adds to why a path ends the statement that made it end there.
func (q *Queries) explain(err error, t mgpp.Timestamp) error {
	if failed := q.failed(); failed != nil {
		return failed
	}
	var e *query.ResolveError
	if !errors.As(err, &e) || e.Cell.Size == 0 || e.Cell.Node == 0 {
		return err
	}
	for w := range q.answers.Writers(e.Cell, t) {
		p := q.answers.Run.Place(w.Op.PC)
		where := p.Address
		if p.File != "" {
			where = fmt.Sprintf("%s:%d", p.File, p.Line)
		}
		return fmt.Errorf("%w (since change %s, %s: %s)", err, report.Thousands(uint64(w.Op.Time)), where, w.What)
	}
	return err
}

// History tells what a node lived through up to a time.
func (q *Queries) History(node, until string, most int) error {
	t, err := q.time(until)
	if err != nil {
		return err
	}
	id, err := q.node(node, t)
	if err != nil {
		return err
	}
	l := q.answers.Life(id, t, most)
	return q.print(&l)
}

// node finds a node by a path or by an address in it.
func (q *Queries) node(s string, t mgpp.Timestamp) (mgpp.NodeID, error) {
	p, err := query.ParsePath(s)
	if err != nil {
		return 0, err
	}
	c, err := q.answers.Resolve(p, q.answers.History().At(t))
	if err != nil {
		return 0, q.explain(err, t)
	}
	if c.Node == 0 {
		return 0, fmt.Errorf("%s: no node was there at change %s or before", s, report.Thousands(uint64(t)))
	}
	return c.Node, nil
}

// SnapshotOptions say what part of the memory graph to tell, and how.
type SnapshotOptions struct {
	At   string
	Diff string // "T1,T2": what changed between instead
	Node string // this node and what it leads to
	Type string // nodes of this type only
	Max  int    // nodes; 0: all
	Path string // a picture: .svg, .dot or .json; "" or "-": text, or JSON, to Out
	DOT  bool
	SVG  bool
}

// Snapshot tells or draws the memory graph at a time, or what changed between two.
func (q *Queries) Snapshot(ctx context.Context, o SnapshotOptions) error {
	if o.Diff != "" {
		return q.diff(ctx, o)
	}
	t, err := q.time(o.At)
	if err != nil {
		return err
	}
	choice := query.Choice{Type: o.Type, Max: o.Max}
	if o.Node != "" {
		id, err := q.node(o.Node, t)
		if err != nil {
			return err
		}
		choice.Around = []mgpp.NodeID{id}
	}
	if _, ok := q.answers.Types()[o.Type]; o.Type != "" && !ok {
		_, err := q.answers.Node(o.Type, 1)
		return err
	}
	s := q.answers.Names.Snapshot(t, choice)
	title := fmt.Sprintf("%s at change %s", filepath.Base(q.rec.prog.Path), report.Thousands(uint64(t)))
	return q.show(ctx, o, func() *render.Graph { return q.answers.Picture(s, title) }, func() printed {
		a := q.answers.Snapshot(s, o.At)
		return &a
	})
}

func (q *Queries) diff(ctx context.Context, o SnapshotOptions) error {
	a, b, ok := strings.Cut(o.Diff, ",")
	if !ok {
		return fmt.Errorf("--diff %s: write two times with a comma between: --diff 100,200 or --diff 'call 5 of insert,return 5 of insert'", o.Diff)
	}
	from, err := q.time(a)
	if err != nil {
		return err
	}
	to, err := q.time(b)
	if err != nil {
		return err
	}
	if from > to {
		return fmt.Errorf("--diff %s: change %d is not before change %d", o.Diff, from, to)
	}
	d := q.answers.Names.Diff(from, to, o.Max)
	title := fmt.Sprintf("%s from change %s to %s", filepath.Base(q.rec.prog.Path), report.Thousands(uint64(from)), report.Thousands(uint64(to)))
	return q.show(ctx, o, func() *render.Graph { return q.answers.PictureOfDiff(d, title) }, func() printed {
		a := q.answers.Diff(d)
		return &a
	})
}

type printed interface {
	Text(w io.Writer, color bool) error
}

// show writes an answer in the form that was asked for.
func (q *Queries) show(ctx context.Context, o SnapshotOptions, picture func() *render.Graph, answer func() printed) error {
	dot := o.DOT || strings.HasSuffix(o.Path, ".dot")
	svg := o.SVG || strings.HasSuffix(o.Path, ".svg")
	if dot || svg {
		return writePicture(ctx, o.Path, RenderOptions{DOT: dot, Out: q.o.Out}, picture())
	}
	if o.Path != "" && o.Path != "-" {
		return fmt.Errorf("-o %s: name a picture .svg or .dot; text and JSON go to standard output", o.Path)
	}
	return q.print(answer())
}

// builtRun is a run whose history is in memory: it is built from the events.
type builtRun struct {
	rec     *recording
	hist    *mgpp.History
	calls   *query.Calls
	sites   []trace.StoreSite
	crash   mgpp.Timestamp
	crashed bool
	seen    Seen
	kinds   [trace.NumKinds]uint64
	events  uint64
	total   uint64
	ceiling ceiling
}

// Seen is what events tell about a recording as a whole.
type Seen struct {
	Begins *infoBegins `json:"begins,omitempty"`
	Ceases string      `json:"ceases,omitempty"`
	Lasted int64       `json:"lasted"`
}

func (s *Seen) event(ev *trace.Event) {
	s.Lasted = max(s.Lasted, ev.Wall)
	switch ev.Kind {
	case trace.KindBegin:
		b := analysis.BeginOf(ev)
		s.Begins = &infoBegins{b.Wall, b.Event, b.Why, b.Left, b.String()}
	case trace.KindCease:
		s.Ceases = ev.Name
	}
}

var _ capture.Sink = (*builtRun)(nil)

// Event implements capture.Sink.
func (r *builtRun) Event(ev *trace.Event) error {
	analysis.CallSite(ev)
	if _, err := r.hist.Apply(ev); err != nil {
		return err
	}
	r.note(ev)
	r.kinds[ev.Kind]++
	r.seen.event(ev)
	r.events++
	return r.room()
}

// room fails where the history is more than memory may hold.
func (r *builtRun) room() error {
	if !r.ceiling.over() {
		return nil
	}
	return r.ceiling.refuse("the history of the trace", r.hist.Stats().Bytes, r.events, r.total)
}

// note takes down what happens when; the history has the event.
func (r *builtRun) note(ev *trace.Event) {
	r.calls.Event(ev, r.hist.Now())
	if ev.Kind == trace.KindSignal {
		r.crash, r.crashed = r.hist.Now(), true
	}
}

// Sites implements capture.Sink.
func (r *builtRun) Sites(sites []trace.StoreSite) error { r.sites = sites; return nil }

// Stores implements capture.Sink.
func (r *builtRun) Stores(run *trace.Stores) error {
	r.kinds[trace.KindStore] += uint64(len(run.Recs))
	r.seen.Lasted = max(r.seen.Lasted, run.Wall)
	r.events += uint64(len(run.Recs))
	if err := r.room(); err != nil {
		return err
	}
	_, err := r.hist.ApplyRun(run, r.sites)
	return err
}

// Place implements query.Run.
func (r *builtRun) Place(pc trace.Addr) query.Place { return queryPlace(r.rec.symbols, pc) }

// During implements query.Run.
func (r *builtRun) During(t mgpp.Timestamp) string { return r.calls.During(t) }

// Now implements query.Times, as what follows.
func (r *builtRun) Now() mgpp.Timestamp { return r.hist.Now() }

func (r *builtRun) Crash() (mgpp.Timestamp, bool) { return r.crash, r.crashed }

func (r *builtRun) Calls(function string) query.CallLog { return r.calls.Of(function) }

func (r *builtRun) Began() string { return r.rec.prog.Began }

func (r *builtRun) OnLine(file string, line int, n uint64) (at mgpp.Timestamp, count uint64, err error) {
	for t := mgpp.Timestamp(1); t <= r.hist.Now(); t++ {
		if onLine(r.rec.symbols, r.hist.Op(t).PC, file, line) {
			if count++; n == 0 || count <= n {
				at = t
			}
		}
	}
	return at, count, nil
}

func (r *builtRun) AtWall(ns int64) (at mgpp.Timestamp) {
	for t := mgpp.Timestamp(1); t <= r.hist.Now(); t++ {
		if w := r.hist.Op(t).Wall; w >= 0 && w <= ns {
			at = t
		}
	}
	return at
}

// onLine reports whether an address is of a source line.
func onLine(s *symbol.Table, pc trace.Addr, file string, line int) bool {
	f := s.Frames(pc)
	return len(f) > 0 && f[0].Line == line && query.SameFile(f[0].File, file)
}

// queryPlace is where a statement stands.
func queryPlace(s *symbol.Table, pc trace.Addr) query.Place {
	f, outer, source := s.Where(pc)
	p := query.Place{File: symbol.Short(f.File), Path: f.File, Line: f.Line, Function: f.Function, Source: source, Address: s.Address(pc)}
	p.Inlined = analysis.PlacesOf(outer)
	return p
}

// queryTyping knows the types of nodes: those of a specification first, then what
// debug information shows.
type queryTyping struct {
	*typing.Blocks
	rec     *recording
	p       *symbol.Program
	origins []query.Origin // of a history in memory
	kinds   []nodeKind     // of an index, by group - 1
}

func newQueryTyping(rec *recording, o AnalysisOptions) (*queryTyping, error) {
	spec, err := specfile.Load(o.Spec, rec.program())
	if err != nil {
		return nil, err
	}
	t := &queryTyping{Blocks: typing.New(spec, rec.symbols), rec: rec}
	t.p, _ = rec.program().(*symbol.Program)
	return t, nil
}

// OfOrigin implements query.Typing.
func (t *queryTyping) OfOrigin(i int) query.Typed {
	if t.kinds != nil {
		if i > len(t.kinds) {
			return query.Typed{}
		}
		return t.of(nil, t.kinds[i-1].evidence(t.rec.symbols))
	}
	stack := t.origins[i].Stack
	if len(stack) == 0 {
		return query.Typed{Why: "its allocation was not seen"}
	}
	if s, ok := t.ByRule(stack); ok {
		return ofSpec(s)
	}
	return t.of(stack, t.Evidence(t.origins[i].Alloc, stack))
}

// of is the type that evidence shows: one of the specification, if it has it.
func (t *queryTyping) of(stack []trace.Addr, e evidence.Evidence) query.Typed {
	if e.Type == nil || e.Type.Size <= 0 {
		return query.Typed{Why: e.Why}
	}
	if s, ok := t.ByEvidence(e); ok {
		return ofSpec(s)
	}
	scalar := e.Type.Kind != types.Struct && e.Type.Kind != types.Union
	typed := query.Typed{Name: e.Type.String(), Type: e.Type, Array: e.Array || scalar, Offset: e.Offset, Why: e.Why}
	if typed.Array {
		typed.Name += "[]"
	}
	return typed
}

func ofSpec(s typing.Verdict) query.Typed {
	nt := s.Type
	typed := query.Typed{Name: nt.Name, Type: nt.Layout, Offset: s.Offset, Why: s.Why}
	if nt.Array {
		typed.Array, typed.Type = true, nt.Elem
		if typed.Type == nil {
			typed.Type = nt.Layout
		}
	}
	return typed
}

// OfGlobal implements query.Typing.
func (t *queryTyping) OfGlobal(id trace.GlobalID) query.Typed {
	if id < 1 || int(id) > len(t.rec.prog.Globals) {
		return query.Typed{Name: fmt.Sprint(id), Why: "it is not described"}
	}
	g := t.rec.prog.Globals[id-1]
	typed := query.Typed{Name: g.Name, Why: "no debug information about it"}
	if t.p != nil {
		if v := t.p.LookupGlobal("", g.Name); len(v) > 0 && v[0].Type != nil {
			typed.Type, typed.Why = v[0].Type, "debug information"
		}
	}
	return typed
}
