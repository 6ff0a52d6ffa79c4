package session

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"mgtrace/capture"
	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/trace"
)

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
}

// infoBegins is where the history begins, if not with the program.
type infoBegins struct {
	Wall  int64  `json:"wall_ns"` // -1: unknown
	Event uint64 `json:"event"`
	Why   string `json:"why"`
	Left  uint64 `json:"unlisted_blocks,omitempty"`

	text string
}

func (rec *recording) info() (*info, error) {
	p := rec.prog
	i := &info{
		Program: p.Path, Args: p.Args, Engine: p.Engine, Kernel: p.Kernel, Began: p.Began,
		Events: map[string]uint64{}, Sites: p.Sites, Unprobed: len(p.Unprobed), Files: rec.r.Attachments(),
	}
	for _, f := range p.Funcs {
		i.Watched = append(i.Watched, f.Name)
	}
	hist := mgpp.New(mgpp.Options{})
	t, err := rec.feed(capture.Events(func(ev *trace.Event) error {
		i.Events[ev.Kind.String()]++
		switch ev.Kind {
		case trace.KindBegin:
			b := beginOf(ev)
			i.Begins = &infoBegins{b.wall, b.event, b.why, b.left, b.String()}
		case trace.KindCease:
			i.Ceases = ev.Name
		}
		_, err := hist.Apply(ev)
		return err
	}))
	if err != nil {
		return nil, err
	}
	i.Complete, i.Why = t.Complete, t.Why
	i.Changes, i.Nodes = uint64(hist.Now()), hist.NodeCount()
	return i, nil
}

func (i *info) json(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(i)
}

func (i *info) text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "program   %s\n", strings.Join(append([]string{i.Program}, i.Args...), " "))
	fmt.Fprintf(&b, "recorded  %s, engine %s, Linux %s\n", i.Began, i.Engine, i.Kernel)
	if i.Begins != nil {
		fmt.Fprintf(&b, "begins    %s; what was before is not in it\n", i.Begins.text)
	}
	if i.Ceases != "" {
		fmt.Fprintf(&b, "ends      before the program does (%s)\n", i.Ceases)
	}
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
	_, err := io.WriteString(w, b.String())
	return err
}
