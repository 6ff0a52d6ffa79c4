package ask

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mgtrace/capture"
	"mgtrace/mgpp/index"
	"mgtrace/query"
	"mgtrace/report"
	"mgtrace/session/allocfree"
	"mgtrace/session/recording"
	"mgtrace/trace"
)

// InfoOptions say how to print a trace.
type InfoOptions struct {
	AllocFree *allocfree.Options
	JSON      bool
	Events    bool
	Index     bool                    // make an index also where the trace is short
	Progress  func(done, total int64) // of making it; nil: none
	Memory    MemoryLimit
	Warn      func(string) // told that there is no index; nil: nobody
}

// Info prints what a trace holds.
func Info(w io.Writer, path string, o InfoOptions) error {
	path, err := allocfree.Path(context.Background(), path, recording.Files{}, o.AllocFree)
	if err != nil {
		return err
	}
	if o.Events {
		return printEvents(w, path)
	}
	return Ask(path, Options{JSON: o.JSON, Out: w, Index: o.Index, Progress: o.Progress, Memory: o.Memory}, func(q *Queries) error {
		for _, w := range q.unindexed() {
			if o.Warn != nil {
				o.Warn(w)
			}
		}
		i := q.info()
		i.Flow = flowInfo(q.Recording)
		return q.print(i)
	})
}

// printEvents prints every event as text.
func printEvents(w io.Writer, path string) error {
	r, err := trace.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	rec := &recording.Recording{Path: path, Reader: r, Prog: r.Program()}
	_, err = rec.Feed(context.Background(), capture.Events(func(ev *trace.Event) error {
		_, err := fmt.Fprintln(w, trace.Format(*ev))
		return err
	}))
	return err
}

// info is the summary of a trace.
type info struct {
	Program  string            `json:"program"`
	Args     []string          `json:"args,omitempty"`
	Engine   string            `json:"engine"`
	Kernel   string            `json:"kernel"`
	Began    string            `json:"began"`
	Complete bool              `json:"complete"`
	Why      string            `json:"incomplete_because,omitempty"`
	Begins   *infoBegins       `json:"history_begins,omitempty"`
	Ceases   string            `json:"history_ends_because,omitempty"`
	Events   map[string]uint64 `json:"events"`
	Changes  uint64            `json:"changes"`
	Nodes    int               `json:"nodes"`
	Sites    int               `json:"sites"`
	Unprobed int               `json:"unprobed"`
	Watched  []string          `json:"watched,omitempty"`
	Files    []string          `json:"attachments"`
	Flow     *infoFlow         `json:"flow,omitempty"` // the executed instructions; nil: not recorded
	Lasted   int64             `json:"lasted_ns"`      // wall clock of the last event
	// Structures are the nodes by name, the most numerous first; Statements those that
	// made most changes.
	Structures []structure `json:"structures"`
	Statements []writer    `json:"statements"`
}

// infoBegins is where the history begins, if not with the program.
type infoBegins struct {
	Wall  int64  `json:"wall_ns"` // -1: unknown
	Event uint64 `json:"event"`
	Why   string `json:"why"`
	Left  uint64 `json:"unlisted_blocks,omitempty"`

	text string
}

// structure is the nodes of a name.
type structure struct {
	Name  string `json:"name"`
	Type  string `json:"type,omitempty"`
	Count uint64 `json:"count"` // that there ever were
	Bytes uint64 `json:"bytes"` // of them all
	// Live and LiveBytes are what lived at the end of each sixteenth of the history.
	Live      []int64 `json:"live"`
	LiveBytes []int64 `json:"live_bytes"`
}

// writer is a statement with how many changes it made.
type writer struct {
	query.Place
	Changes uint64 `json:"changes"`
}

// Many statements and structures are listed in JSON, few in text.
const (
	maxWriters = 1000
	fewListed  = 8
)

// info sums a trace up.
func (q *Queries) info() *info {
	p := q.Recording.Prog
	i := &info{
		Program: p.Path, Args: p.Args, Engine: p.Engine, Kernel: p.Kernel, Began: p.Began,
		Complete: q.about.Complete, Why: q.about.Why, Begins: q.about.Begins, Ceases: q.about.Ceases, Lasted: q.about.Lasted,
		Events: map[string]uint64{}, Changes: uint64(q.Answers.History().Now()), Nodes: q.Answers.History().NodeCount(),
		Sites: p.Sites, Unprobed: len(p.Unprobed), Files: q.Recording.Reader.Attachments(),
	}
	for k, n := range q.about.Events {
		if n > 0 {
			i.Events[trace.Kind(k).String()] = n
		}
	}
	for _, f := range p.Funcs {
		i.Watched = append(i.Watched, f.Name)
	}
	i.Structures = q.structures()
	i.Statements = q.statements()
	return i
}

// structures are the nodes by their names.
func (q *Queries) structures() []structure {
	out := []structure{}
	at := map[string]int{}
	for g, p := range q.populations() {
		t := query.Typed{Name: "static memory and others"}
		if g > 0 {
			if t = q.typing.OfOrigin(g); t.Name == "" {
				t.Name = "block"
			}
		}
		if p.Count == 0 {
			continue
		}
		k, ok := at[t.Name]
		if !ok {
			k = len(out)
			at[t.Name] = k
			out = append(out, structure{Name: t.Name, Live: make([]int64, index.LifeParts), LiveBytes: make([]int64, index.LifeParts)})
			if t.Type != nil {
				out[k].Type = t.Type.String()
			}
		}
		s := &out[k]
		s.Count += p.Count
		s.Bytes += p.Bytes
		for part := range index.LifeParts {
			s.Live[part] += p.Live[part]
			s.LiveBytes[part] += p.LiveBytes[part]
		}
	}
	slices.SortStableFunc(out, func(a, b structure) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

func (q *Queries) populations() []index.Population {
	if q.x != nil {
		return q.x.Populations()
	}
	l := index.NewLives(q.run.hist.Now())
	for n := range q.run.hist.Nodes() {
		l.Add(q.origins.Of(n.ID), &n)
	}
	return l.Populations()
}

// statements are those that changed most, by source line.
func (q *Queries) statements() []writer {
	var pcs []pcCount
	if q.x != nil {
		for pc, n := range q.x.Statements() {
			pcs = append(pcs, pcCount{pc, n})
		}
	} else {
		count := map[trace.Addr]uint64{}
		for op := range q.run.hist.Ops(1, q.run.hist.Now()) {
			count[op.PC]++
		}
		for pc, n := range count {
			pcs = append(pcs, pcCount{pc, n})
		}
	}
	slices.SortFunc(pcs, func(a, b pcCount) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.pc, b.pc))
	})
	out := []writer{}
	at := map[string]int{}
	for _, x := range pcs[:min(len(pcs), q.Options.maxWriters())] {
		key, place := q.statement(x.pc)
		k, ok := at[key]
		if !ok {
			k = len(out)
			at[key] = k
			out = append(out, writer{Place: place})
		}
		out[k].Changes += x.n
	}
	slices.SortStableFunc(out, func(a, b writer) int { return cmp.Compare(b.Changes, a.Changes) })
	return out
}

// statement is one of the program's; of other code it is the file, whose debug
// information would take longer to read than all the rest.
func (q *Queries) statement(pc trace.Addr) (key string, p query.Place) {
	if im, ok := q.Recording.Symbols.Image(pc); ok && !im.Traced {
		name := filepath.Base(im.Path)
		return name, query.Place{Address: name}
	}
	return q.Recording.Symbols.Statement(pc), q.Answers.Run.Place(pc)
}

type pcCount struct {
	pc trace.Addr
	n  uint64
}

// maxWriters is how many instructions are looked at for their statements.
func (o *Options) maxWriters() int {
	if o.JSON {
		return maxWriters
	}
	return 4 * fewListed
}

// Text prints it.
func (i *info) Text(w io.Writer, _ bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "program   %s\n", strings.Join(append([]string{i.Program}, i.Args...), " "))
	fmt.Fprintf(&b, "recorded  %s, engine %s, Linux %s\n", i.Began, i.Engine, i.Kernel)
	if i.Begins != nil {
		fmt.Fprintf(&b, "begins    %s; what was before is not in it\n", i.Begins.text)
	}
	if i.Ceases != "" {
		fmt.Fprintf(&b, "ends      before the program does (%s)\n", i.Ceases)
	}
	fmt.Fprintf(&b, "lasted    %s\n", time.Duration(i.Lasted).Round(time.Millisecond))
	fmt.Fprintf(&b, "changes   %s, of %s nodes\n", report.Thousands(i.Changes), report.Thousands(uint64(i.Nodes)))
	fmt.Fprintf(&b, "sites     %s stores probed, %s not\n", report.Thousands(uint64(i.Sites)), report.Thousands(uint64(i.Unprobed)))
	if len(i.Watched) > 0 {
		fmt.Fprintf(&b, "watched   %s\n", strings.Join(i.Watched, ", "))
	}
	kinds := make([]string, 0, len(i.Events))
	for k := range i.Events {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	for _, k := range kinds {
		fmt.Fprintf(&b, "  %-14s %s\n", k, report.Thousands(i.Events[k]))
	}
	if !i.Complete {
		fmt.Fprintf(&b, "partial   %s\n", i.Why)
	}
	if i.Flow != nil {
		i.Flow.text(&b)
	}
	i.lists(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// lists prints what there is many of.
func (i *info) lists(b *strings.Builder) {
	if len(i.Structures) > 0 {
		fmt.Fprintf(b, "structures, and how many live over time\n")
	}
	for _, s := range i.Structures[:min(len(i.Structures), fewListed)] {
		fmt.Fprintf(b, "  %-24s %12s  %s  %s at most, %s at the end, %s bytes\n", s.Name, report.Thousands(s.Count), sparks(s.Live),
			report.Thousands(uint64(slices.Max(s.Live))), report.Thousands(uint64(s.Live[len(s.Live)-1])), report.Thousands(uint64(s.LiveBytes[len(s.Live)-1])))
	}
	if n := len(i.Structures) - fewListed; n > 0 {
		fmt.Fprintf(b, "  and %d more: --json lists all\n", n)
	}
	if len(i.Statements) > 0 {
		fmt.Fprintf(b, "statements that made most changes\n")
	}
	for _, w := range i.Statements[:min(len(i.Statements), fewListed)] {
		where := w.Address
		if w.File != "" {
			where = fmt.Sprintf("%s:%d in %s", w.File, w.Line, w.Function)
		}
		fmt.Fprintf(b, "  %12s  %s\n", report.Thousands(w.Changes), where)
	}
}

// sparks draws numbers over time, in eight heights.
func sparks(n []int64) string {
	most := max(slices.Max(n), 1)
	out := make([]rune, len(n))
	for i, v := range n {
		out[i] = ' '
		if v > 0 {
			out[i] = rune(0x2581 + v*7/most)
		}
	}
	return string(out)
}
