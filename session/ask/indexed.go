package ask

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"mgtrace/capture"
	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/mgpp/index"
	"mgtrace/probe/evidence"
	"mgtrace/query"
	"mgtrace/session/analysis"
	"mgtrace/session/recording"
	"mgtrace/session/symbol"
	"mgtrace/session/transient"
	"mgtrace/session/typing"
	"mgtrace/trace"
)

// From one of these on a trace gets an index: a smaller one is taken into memory as
// fast.
const (
	indexBytes  = 4 << 20
	indexEvents = 500_000
)

// indexed opens the index of the trace, and makes it if it is not there, of another
// trace, or damaged. It returns nil where the trace needs none.
func (q *Queries) indexed(path string) (*index.Index, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() < indexBytes && q.Recording.Reader.EventCount() < indexEvents && !q.Options.Index {
		return nil, nil
	}
	if !q.Options.Anew { // one that was opened has the reader pass by the stacks that another is made from
		x, err := index.Open(recording.IndexPath(path), q.Recording.Reader)
		switch {
		case err == nil:
			return x, nil
		case errors.Is(err, os.ErrNotExist), errors.Is(err, index.ErrStale), errors.Is(err, index.ErrCorrupt):
		default:
			return nil, err
		}
	}
	switch err := q.index(path, info.Mode()); {
	case errors.Is(err, errNoPlace):
		q.noIndex = err
		return nil, q.Recording.Reader.Seek(0)
	case err != nil:
		return nil, err
	}
	return index.Open(recording.IndexPath(path), q.Recording.Reader)
}

// errNoPlace: there can be no file beside the trace, or none as large, and the history is
// taken into memory instead.
var errNoPlace = errors.New("there is no place for an index beside the trace")

// unwritten says whether an index is not there because the disk, or what the user may have
// of it, is full. Only the index is written: what fails so is not the trace.
func unwritten(err error) error {
	if NoRoom(err) {
		return fmt.Errorf("%w: %w", errNoPlace, err)
	}
	return err
}

// NoRoom: a disk, or what the user may have of it, is full, or a file may not be larger.
func NoRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// index makes the index of a trace whose file has that mode.
func (q *Queries) index(path string, mode os.FileMode) error {
	b, err := index.NewBuilder(recording.IndexPath(path), mode, q.Recording.Reader)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoPlace, err)
	}
	defer b.Abandon()
	defer transient.Guard(b.Temporary())()
	sink := &indexing{Builder: b, calls: query.NewCalls(&q.Recording.Prog), progress: q.Options.Progress, total: q.Recording.Reader.EventCount(), ceiling: ceiling{limit: q.Options.Memory}}
	if err := q.Recording.Reader.Seek(0); err != nil {
		return err
	}
	t, err := q.Recording.FeedAhead(context.Background(), sink)
	if err != nil {
		return unwritten(err)
	}
	if q.Options.Progress != nil {
		q.Options.Progress(1, 1)
	}
	kinds := &nodeKinds{typing: typing.New(&check.Spec{}, q.Recording.Symbols), number: map[string]int{}}
	about := &indexNotes{Complete: t.Complete, Why: t.Why}
	notes := index.Notes{Group: kinds.group, Any: about}
	for _, log := range sink.calls.Log() {
		var list []index.Call
		for _, c := range log {
			list = append(list, index.Call{From: c.From, To: c.To, Thread: c.Thread, Open: c.Open})
		}
		notes.Calls = append(notes.Calls, list)
	}
	about.Seen = sink.about
	about.Kinds = &kinds.list // is filled while the nodes are written
	return unwritten(b.Finish(notes))
}

// indexNotes are what the index keeps for the session.
type indexNotes struct {
	Complete bool        `json:"complete"`
	Why      string      `json:"why,omitempty"`
	Kinds    *[]nodeKind `json:"kinds"` // by group - 1
	Seen
	Events []uint64 `json:"-"` // by trace.Kind
}

// nodeKind is what debug information shows of the nodes of a group, without a
// specification.
type nodeKind struct {
	Type   string `json:"type,omitempty"` // "": nothing is shown
	Array  bool   `json:"array,omitempty"`
	Offset int64  `json:"offset,omitempty"`
	Why    string `json:"why"`
}

// nodeKinds finds those of a trace.
type nodeKinds struct {
	typing *typing.Blocks
	list   []nodeKind
	number map[string]int
}

// group implements index.Notes.Group.
func (k *nodeKinds) group(alloc string, stack []trace.Addr) int {
	n := nodeKind{Why: "its allocation was not seen"}
	if len(stack) > 0 {
		e := k.typing.Evidence(alloc, stack)
		n = nodeKind{Array: e.Array, Offset: e.Offset, Why: e.Why}
		if e.Type != nil && e.Type.Size > 0 {
			n.Type = e.Type.String()
		}
	}
	key := fmt.Sprintf("%s %t %d %s", n.Type, n.Array, n.Offset, n.Why)
	i, ok := k.number[key]
	if !ok {
		k.list = append(k.list, n)
		i = len(k.list)
		k.number[key] = i
	}
	return i
}

// evidence is what was shown, with the type of that name.
func (k *nodeKind) evidence(s *symbol.Table) evidence.Evidence {
	e := evidence.Evidence{Array: k.Array, Offset: k.Offset, Why: k.Why}
	if k.Type == "" {
		return e
	}
	if e.Type = s.TypeNamed(k.Type); e.Type == nil {
		e.Why = fmt.Sprintf("the debug information of its type, %s, is not at hand", k.Type)
	}
	return e
}

// indexing gives a trace to the builder of its index.
type indexing struct {
	*index.Builder
	calls    *query.Calls
	progress func(done, total int64)
	total    uint64
	seen     uint64
	about    Seen
	ceiling  ceiling
}

var _ capture.Sink = (*indexing)(nil)

// Event implements capture.Sink.
func (i *indexing) Event(ev *trace.Event) error {
	analysis.CallSite(ev)
	if err := i.Builder.Event(ev); err != nil {
		return err
	}
	i.calls.Event(ev, i.Nodes().Now())
	i.about.event(ev, i.seen)
	i.seen++
	return i.room()
}

// Stores implements capture.Sink.
func (i *indexing) Stores(run *trace.Stores) error {
	i.seen += uint64(len(run.Recs))
	i.about.Lasted = max(i.about.Lasted, run.Wall)
	if i.progress != nil {
		i.progress(int64(i.seen), int64(i.total))
	}
	if err := i.room(); err != nil {
		return err
	}
	return i.Builder.Stores(run)
}

// room fails where more nodes live at once than memory may hold.
func (i *indexing) room() error {
	if !i.ceiling.over() {
		return nil
	}
	return i.ceiling.refuse("the list of the nodes that live, which the index is made from,", i.Nodes().Stats().Bytes, i.seen, i.total)
}

// indexedRun is a run whose history lies in an index.
type indexedRun struct {
	rec *recording.Recording
	*index.Index
	lasted time.Duration
}

// Place implements query.Run.
func (r *indexedRun) Place(pc trace.Addr) query.Place { return queryPlace(r.rec.Symbols, pc) }

// During implements query.Run.
func (r *indexedRun) During(t mgpp.Timestamp) string {
	return query.During(r.rec.Prog.Funcs, func(fn int) query.CallLog { return r.CallsOf(fn) }, t)
}

// Calls implements query.Times.
func (r *indexedRun) Calls(function string) query.CallLog {
	if fn := query.FuncNamed(r.rec.Prog.Funcs, function); fn >= 0 {
		return r.CallsOf(fn)
	}
	return nil
}

// OnLine implements query.Times.
func (r *indexedRun) OnLine(file string, line int, n uint64) (mgpp.Timestamp, uint64, error) {
	var pcs []trace.Addr
	for pc := range r.Statements() {
		if onLine(r.rec.Symbols, pc, file, line) {
			pcs = append(pcs, pc)
		}
	}
	t, count := r.Nth(pcs, n)
	return t, count, r.Err()
}

// Began implements query.Times.
func (r *indexedRun) Began() string { return r.rec.Prog.Began }

// Lasted implements query.Times.
func (r *indexedRun) Lasted() time.Duration { return r.lasted }

// ask opens the index, or takes the history into memory where there is none.
func (q *Queries) ask(path string, t *queryTyping) error {
	if t.ByStack() { // types by stack, which an index does not count
		return q.build(t)
	}
	x, err := q.indexed(path)
	if errors.Is(err, errMemory) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w (the index of a trace lies beside it; it can be deleted)", err)
	}
	if x == nil {
		return q.build(t)
	}
	x.CallSite = analysis.CallSite
	run := &indexedRun{rec: q.Recording, Index: x}
	q.x, q.times = x, run
	q.typing, q.about = t, indexNotes{Kinds: &t.kinds}
	if err := x.Notes(&q.about); err != nil {
		return err
	}
	run.lasted = time.Duration(q.about.Lasted)
	q.about.Events = x.Kinds()
	if t.kinds == nil {
		t.kinds = []nodeKind{}
	}
	names := query.NewNames(x, x, t)
	names.Entry = t.rec.Symbols.EntryName
	q.Answers = query.Answers{Names: names, Run: run}
	return nil
}
