package ask

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"mgtrace/mgpp"
	"mgtrace/mgpp/index"
	"mgtrace/query"
	"mgtrace/report"
	"mgtrace/session/allocfree"
	"mgtrace/session/analysis"
	"mgtrace/session/recording"
	"mgtrace/trace"
)

// Options say what all questions to a trace have in common.
type Options struct {
	recording.Files
	Spec      string             // a specification's file gives types and their names; "": none
	AllocFree *allocfree.Options // nil: the blocks are those that the recording has
	JSON      bool
	Color     bool
	Out       io.Writer
	Index     bool                    // also where the trace is so short that it needs none
	Anew      bool                    // an index that is there is not asked, but made anew
	Progress  func(done, total int64) // of making an index; nil: none
	Memory    MemoryLimit             // of making an index, or of the history where there is none
}

// Queries is a trace that is asked.
type Queries struct {
	Recording *recording.Recording
	Options   Options
	Answers   query.Answers
	times     query.Times
	x         *index.Index // nil: the history is in memory
	run       *builtRun    // that history
	origins   query.Origins
	typing    *queryTyping
	about     indexNotes
	noIndex   error // why there is none although the trace is long
}

// Open opens a trace for questions. Close it after use.
func Open(path string, o Options) (*Queries, error) {
	path, err := allocfree.Path(context.Background(), path, o.Files, o.AllocFree)
	if err != nil {
		return nil, err
	}
	rec, err := recording.Open(path, o.Files)
	if err != nil {
		return nil, err
	}
	q := &Queries{Recording: rec, Options: o}
	t, err := newQueryTyping(rec, o.Spec)
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
	q.Recording.Close()
}

// Warnings are what answers do not tell: that the trace is a part of the recording, whose end
// is then the end of that part, that there is no index, and what of the program's files is not
// at hand.
func (q *Queries) Warnings() (out []string) {
	if !q.about.Complete && q.about.Why != "" {
		out = append(out, "the trace is a part of the run: "+q.about.Why)
	}
	return append(append(out, q.unindexed()...), q.Recording.Warned...)
}

// unindexed says why every question takes the whole trace into memory.
func (q *Queries) unindexed() []string {
	if q.noIndex == nil {
		return nil
	}
	return []string{fmt.Sprintf("%v: each question reads the whole trace into memory; make room, or copy the trace to where there is some", q.noIndex)}
}

// Failed is what went wrong in reading the index, or the trace where it says.
func (q *Queries) Failed() error {
	if q.x == nil {
		return nil
	}
	return q.x.Err()
}

// Ask opens a trace and asks it. An index that turns out to be damaged is made anew, and asked
// again: nothing has been told then.
func Ask(path string, o Options, question func(*Queries) error) error {
	err := askOnce(path, o, question)
	if !errors.Is(err, index.ErrCorrupt) {
		return err
	}
	o.Anew = true
	return askOnce(path, o, question)
}

func askOnce(path string, o Options, question func(*Queries) error) error {
	q, err := Open(path, o)
	if err != nil {
		return err
	}
	defer q.Close()
	return question(q)
}

// build takes the whole history into memory.
func (q *Queries) build(t *queryTyping) error {
	hist := mgpp.New(mgpp.Options{})
	run := &builtRun{rec: q.Recording, hist: hist, calls: query.NewCalls(&q.Recording.Prog), faults: trace.Faults{Program: &q.Recording.Prog}, total: q.Recording.Reader.EventCount(), ceiling: ceiling{limit: q.Options.Memory}}
	tr, err := q.Recording.FeedAhead(context.Background(), run)
	if err != nil {
		return err
	}
	q.times, q.run = run, run
	q.about = indexNotes{Complete: tr.Complete, Why: tr.Why, Seen: run.seen, Events: run.kinds[:]}
	q.typing = t
	var cells *query.Names
	q.origins, cells = t.names(hist)
	q.Answers = query.Answers{Names: cells, Run: run}
	return nil
}

// Time finds a time as the user writes it.
func (q *Queries) Time(s string) (mgpp.Timestamp, error) {
	t, err := query.ParseTime(s)
	if err != nil {
		return 0, err
	}
	return query.Find(t, q.times)
}

// print writes an answer.
func (q *Queries) print(answer Answer) error {
	if err := q.Failed(); err != nil {
		return err
	}
	if !q.Options.JSON {
		return answer.Text(q.Options.Out, q.Options.Color)
	}
	e := json.NewEncoder(q.Options.Out)
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
	t, err := q.Time(at)
	if err != nil {
		return err
	}
	c, err := q.Answers.Resolve(p, q.Answers.History().At(t))
	if err != nil {
		return q.Explain(err, t)
	}
	w := q.Answers.Who(c, t, at, most)
	if err := q.compareHeld(&w, c, t); err != nil {
		return err
	}
	return q.print(&w)
}

// Explain adds to why a path ends the statement that made it end there.
func (q *Queries) Explain(err error, t mgpp.Timestamp) error {
	if failed := q.Failed(); failed != nil {
		return failed
	}
	var e *query.ResolveError
	if !errors.As(err, &e) || e.Cell.Size == 0 || e.Cell.Node == 0 {
		return err
	}
	for w := range q.Answers.Writers(e.Cell, t) {
		p := q.Answers.Run.Place(w.Op.PC)
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
	t, err := q.Time(until)
	if err != nil {
		return err
	}
	id, err := q.node(node, t)
	if err != nil {
		return err
	}
	l := q.Answers.Life(id, t, most)
	return q.print(&l)
}

// node finds a node by a path that leads to it or by an address in it.
func (q *Queries) node(s string, t mgpp.Timestamp) (mgpp.NodeID, error) {
	p, err := query.ParsePath(s)
	if err != nil {
		return 0, err
	}
	id, err := q.Answers.ResolveNode(p, q.Answers.History().At(t))
	if err != nil {
		return 0, q.Explain(err, t)
	}
	if id == 0 {
		return 0, fmt.Errorf("%s: no node was there at change %s or before", s, report.Thousands(uint64(t)))
	}
	return id, nil
}

// SnapshotOptions say what part of the memory graph to tell, and how.
type SnapshotOptions struct {
	At   string
	Diff string // "T1,T2": what changed between instead
	Node string // this node and what it leads to
	Type string // nodes of this type only
	Max  int    // nodes; 0: all
	Form
}

// Snapshot tells or draws the memory graph at a time, or what changed between two.
func (q *Queries) Snapshot(ctx context.Context, o SnapshotOptions) error {
	if o.Diff != "" {
		return q.diff(ctx, o)
	}
	t, err := q.Time(o.At)
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
	if _, ok := q.Answers.Types()[o.Type]; o.Type != "" && !ok {
		_, err := q.Answers.Node(o.Type, 1)
		return err
	}
	s := q.Answers.Names.Snapshot(t, choice)
	clusters, err := q.clusters(t)
	if err != nil {
		return err
	}
	q.Answers.Join(&s, clusters, o.Node == "" && o.Type == "")
	title := fmt.Sprintf("%s at change %s", filepath.Base(q.Recording.Prog.Path), report.Thousands(uint64(t)))
	return q.Show(o.Form, func(dot bool) ([]byte, error) { return analysis.Picture(ctx, dot, q.Answers.Picture(s, title)) }, func() Answer {
		a := q.Answers.Snapshot(s, o.At)
		return &a
	})
}

func (q *Queries) diff(ctx context.Context, o SnapshotOptions) error {
	a, b, ok := strings.Cut(o.Diff, ",")
	if !ok {
		return fmt.Errorf("--diff %s: write two times with a comma between: --diff 100,200 or --diff 'call 5 of insert,return 5 of insert'", o.Diff)
	}
	from, err := q.Time(a)
	if err != nil {
		return err
	}
	to, err := q.Time(b)
	if err != nil {
		return err
	}
	if from > to {
		return fmt.Errorf("--diff %s: change %d is not before change %d", o.Diff, from, to)
	}
	d := q.Answers.Names.Diff(from, to, o.Max)
	before, err := q.clusters(from)
	if err != nil {
		return err
	}
	after, err := q.clusters(to)
	if err != nil {
		return err
	}
	q.Answers.JoinDiff(&d, before, after)
	title := fmt.Sprintf("%s from change %s to %s", filepath.Base(q.Recording.Prog.Path), report.Thousands(uint64(from)), report.Thousands(uint64(to)))
	return q.Show(o.Form, func(dot bool) ([]byte, error) { return analysis.Picture(ctx, dot, q.Answers.PictureOfDiff(d, title)) }, func() Answer {
		a := q.Answers.Diff(d)
		return &a
	})
}

// Answer is what can be printed as text, and as JSON.
type Answer interface {
	Text(w io.Writer, color bool) error
}

// Form says how an answer is shown.
type Form struct {
	Path string // a picture: .svg or .dot; "" or "-": to Out
	DOT  bool   // in Graphviz's language
	SVG  bool   // neither, and a path that does not say so: text, or JSON
}

// Show writes an answer in the form that was asked for; the picture as SVG, or in Graphviz's
// language.
func (q *Queries) Show(f Form, picture func(dot bool) ([]byte, error), answer func() Answer) error {
	dot := f.DOT || strings.HasSuffix(f.Path, ".dot")
	if dot || f.SVG || strings.HasSuffix(f.Path, ".svg") {
		b, err := picture(dot)
		if err := cmp.Or(q.Failed(), err); err != nil {
			return err
		}
		return analysis.ShowPicture(q.Options.Out, f.Path, b)
	}
	if f.Path != "" && f.Path != "-" {
		return fmt.Errorf("-o %s: name a picture .svg or .dot; text and JSON go to standard output", f.Path)
	}
	return q.print(answer())
}
