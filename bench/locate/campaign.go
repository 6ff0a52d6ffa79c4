package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"mgtrace/faultloc"
	"mgtrace/report"
	"mgtrace/session"
	"mgtrace/session/analysis"
)

// campaign is one run of the command.
type campaign struct {
	Seed       uint64   `json:"seed"`
	Mutants    int      `json:"mutants"` // of each program
	Base       int      `json:"base"`
	Operations int      `json:"operations"`
	Levels     []string `json:"levels"`
	Without    []string `json:"without,omitempty"` // evidence that was not looked for

	binary   string
	dir      string
	engine   string
	coverage bool
	slicing  bool // slices from the suspect and from the crash
	crashes  bool // only mutants that die, located without a specification too
	workers  int
	// recordOnly leaves the analysis to a later run with -again.
	recordOnly bool
	from       string // analyse what was kept there; "": make mutants
	keep       string // keep the recordings below this directory; "": nowhere
	log        func(format string, a ...any)
}

// The C-points with which a mutant is located.
const (
	atFunctions = "functions" // where the specification says
	atEnd       = "end"       // the end, or the crash
	atCrash     = "none"      // no specification: the crash alone tells that something is wrong
)

// points are the kinds of C-points that a campaign locates with.
func (c *campaign) points() []string {
	if c.crashes {
		return []string{atFunctions, atEnd, atCrash}
	}
	return []string{atFunctions, atEnd}
}

// trial is one mutant and what became of it.
type trial struct {
	Program string  `json:"program"`
	Number  int     `json:"number"`
	Mutant  *mutant `json:"mutant"`
	Judge   verdict `json:"judge"`
	Runs    []run   `json:"runs"`
	// Statements to examine by coverage; 0: never.
	Tarantula float64 `json:"tarantula,omitempty"`
	Ochiai    float64 `json:"ochiai,omitempty"`
	Passing   int     `json:"passing_runs,omitempty"`
	Slices    *sliced `json:"slices,omitempty"` // of a mutant that dies
}

// run is one mutant, compiled at a level, located with C-points of a kind.
type run struct {
	Level    string   `json:"level"`
	Points   string   `json:"points"`
	Found    bool     `json:"found"`    // an inconsistency, or a memory fault
	Memory   bool     `json:"memory"`   // the latter
	Rank     int      `json:"rank"`     // of the first suspect that is true, 0: none is
	Own      int      `json:"own"`      // of the first that is so by its own line, 0: none is
	Reported int      `json:"reported"` // suspects
	Millis   float64  `json:"ms"`       // to locate
	Examined int      `json:"examined"`
	Trials   int      `json:"trials"`
	Suspects []string `json:"suspects"`
	Miss     string   `json:"miss,omitempty"` // why Rank is 0
	Note     string   `json:"note,omitempty"`
	Refused  string   `json:"refused,omitempty"` // why the call could not be executed again
}

// outcome of one program.
type outcome struct {
	Program  string   `json:"program"`
	Lines    int      `json:"lines"`
	Trials   []*trial `json:"trials"`
	Refused  int      `json:"do_not_compile"`
	Harmless int      `json:"break_nothing"`
	Memory   int      `json:"only_read_what_is_freed"`
}

// subject measures one program.
func (c *campaign) subject(ctx context.Context, s *subject) (*outcome, error) {
	if c.from != "" {
		return c.again(ctx, s)
	}
	return c.one(ctx, s)
}

// one measures mutants of one program: they are made until enough of them break something.
func (c *campaign) one(ctx context.Context, s *subject) (*outcome, error) {
	out := &outcome{Program: s.name, Lines: strings.Count(s.source.text, "\n")}
	shop := newWorkshop(s.source, c.Seed*1000+uint64(s.number))
	w := workload{c.Seed, c.Base, c.Operations}
	for len(out.Trials) < c.Mutants && ctx.Err() == nil {
		m := shop.next()
		if m == nil {
			break
		}
		dir, err := os.MkdirTemp(c.dir, s.name+"-")
		if err != nil {
			return nil, err
		}
		t, err := c.try(ctx, s, m, dir, w, out)
		if err != nil {
			return nil, fmt.Errorf("%s, %s at line %d: %w", s.name, m.Kind, m.Line, err)
		}
		if t != nil {
			t.Number = len(out.Trials) + 1
			out.Trials = append(out.Trials, t)
			c.log("%s %d: %s", s.name, t.Number, t.describe())
			if err := c.kept(t, dir, out); err != nil {
				return nil, err
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	return out, ctx.Err()
}

// try judges one mutant, and measures it if it breaks something.
func (c *campaign) try(ctx context.Context, s *subject, m *mutant, dir string, w workload, out *outcome) (*trial, error) {
	if err := s.write(dir, m.apply(s.source)); err != nil {
		return nil, err
	}
	v, err := s.judge(ctx, dir, m.Kind, w)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		out.Refused++
		return nil, nil
	case err != nil:
		return nil, err
	case !v.broken():
		out.Harmless++
		return nil, nil
	case c.crashes && !v.Died:
		return nil, nil
	case !v.Way && strings.Contains(v.Memory, "READ"):
		// Nothing was written that is wrong: a history of writes can not show it.
		out.Memory++
		return nil, nil
	}
	t := &trial{Program: s.name, Mutant: m, Judge: v}
	for _, level := range c.Levels {
		runs, err := c.locate(ctx, s, t, dir, level, w)
		if err != nil {
			return nil, err
		}
		t.Runs = append(t.Runs, runs...)
	}
	if c.coverage {
		sp, err := s.spectrum(ctx, dir, w)
		if err != nil {
			return nil, err
		}
		t.Passing = sp.passed
		t.Tarantula, t.Ochiai = sp.examine(sp.tarantula, m.names), sp.examine(sp.ochiai, m.names)
	}
	if c.slicing {
		t.Slices, err = c.slices(ctx, s, m, dir, w)
	}
	return t, err
}

// names: who looks at this line sees the fault, or the place where something is missing.
func (m *mutant) names(line int) bool {
	return slices.Contains(m.True, line) || m.Missing && slices.Contains(m.Around, line)
}

// locate records a mutant once, and locates the fault with each kind of C-points.
func (c *campaign) locate(ctx context.Context, s *subject, t *trial, dir, level string, w workload) ([]run, error) {
	bin, err := s.compile(ctx, dir, "mutant"+level, level)
	if err != nil {
		return nil, err
	}
	trace := bin + ".mgt"
	if text, err := c.record(ctx, s.spec, trace, bin, w); err != nil {
		return nil, fmt.Errorf("mgtrace record: %w\n%s", err, text)
	}
	endSpec, err := withoutPoints(s.spec, dir)
	if err != nil {
		return nil, err
	}
	if c.recordOnly {
		return nil, nil
	}
	return c.located(ctx, s, t, trace, endSpec, level)
}

// located analyses one recording with each kind of C-points.
func (c *campaign) located(ctx context.Context, s *subject, t *trial, trace, endSpec, level string) ([]run, error) {
	var runs []run
	for _, points := range c.points() {
		if points == atEnd && !t.Judge.End && t.Judge.Memory == "" {
			continue // whole at the end
		}
		spec := map[string]string{atFunctions: s.spec, atEnd: endSpec, atCrash: ""}[points]
		r, err := c.analyse(ctx, t.Mutant, trace, spec)
		if err != nil {
			return nil, err
		}
		r.Level, r.Points = level, points
		runs = append(runs, *r)
	}
	return runs, nil
}

// record runs a mutant under mgtrace.
func (c *campaign) record(ctx context.Context, spec, trace, bin string, w workload) ([]byte, error) {
	args := append([]string{"record", "--engine", c.engine, "--timeout", "30s", "-o", trace, "--spec", spec, bin, "--"}, w.args()...)
	cmd := exec.CommandContext(ctx, c.binary, args...)
	cmd.Dir = filepath.Dir(bin)
	text, err := cmd.CombinedOutput()
	if _, e := os.Stat(trace); e == nil {
		return text, nil
	}
	return text, firstOf(err, errors.New("no trace was written"))
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

var pointsDirective = regexp.MustCompile(`(?m)^cpoint [^;]*;$`)

// withoutPoints writes the specification without its C-points.
func withoutPoints(spec, dir string) (string, error) {
	text, err := os.ReadFile(spec)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "end.cons")
	return path, os.WriteFile(path, pointsDirective.ReplaceAll(text, nil), 0o666)
}

// analyse locates the fault in a trace.
func (c *campaign) analyse(ctx context.Context, m *mutant, trace, spec string) (*run, error) {
	r := &run{}
	since := true // the fault did something since the last healthy C-point
	watch := &analysis.Locating{Done: func(l analysis.Located) {
		r.Millis, r.Examined, r.Trials = float64(l.Took.Microseconds())/1000, l.Examined, l.Trials
		if l.Refused != nil {
			r.Refused = l.Refused.Error()
		}
		since = slices.ContainsFunc(m.True, l.Ran)
	}}
	for _, e := range c.Without {
		watch.Without = append(watch.Without, faultloc.EvidenceKind(e))
	}
	rep, err := session.Locate(ctx, trace, session.AnalysisOptions{Spec: spec, Locating: watch})
	if err != nil {
		return nil, err
	}
	if r.Found = len(rep.CPoints) > 0; !r.Found {
		r.Miss = silent(rep)
		return r, nil
	}
	p := rep.CPoints[0]
	r.Memory = p.Fault != "" && p.Fault != report.Crash
	for i, x := range p.Suspects {
		r.Suspects = append(r.Suspects, fmt.Sprintf("%s %d", x.Kind, x.Line))
		own := m.named(x)
		if r.Own == 0 && own {
			r.Own = i + 1
		}
		if r.Rank == 0 && (own || m.called(x)) {
			r.Rank = i + 1
		}
	}
	r.Reported = len(p.Suspects)
	if r.Rank == 0 {
		r.Miss = c.why(m, &p, since)
	}
	for _, n := range p.Notes {
		r.Note = strings.TrimSpace(r.Note + " " + n)
	}
	return r, nil
}

// named: the suspect is the fault. Of a statement that did not run it says next to which
// other one: that is a place too. Of merged stores it says which statements they are,
// and which statements have no store of their own.
func (m *mutant) named(x report.Suspect) bool {
	return m.names(x.Line) || slices.ContainsFunc(slices.Concat(x.Merged, x.Shared), func(p report.Place) bool { return m.names(p.Line) }) || m.Missing && x.Near != nil && m.names(x.Near.Line)
}

// called: the report says that the suspect was called from the fault, or inlined there.
func (m *mutant) called(x report.Suspect) bool {
	return slices.ContainsFunc(slices.Concat(x.Callers, x.Inlined), func(p report.Place) bool {
		return filepath.Ext(p.File) == ".c" && m.names(p.Line) // the workload is no part of the program
	})
}

// Why nothing, or not the true statement, is named.
const (
	missCrash  = "the program died before the structure was broken"
	missSpec   = "the specification holds"
	missBefore = "the faulty statement did nothing since the last healthy C-point"
	missMemory = "another statement wrote where it must not before that"
	missRank   = "not among the suspects"
)

func silent(rep *report.Report) string {
	if rep.Exit != nil && rep.Exit.Signal != "" {
		return missCrash
	}
	return missSpec
}

func (c *campaign) why(m *mutant, p *report.CPoint, since bool) string {
	switch {
	case p.Fault == report.Crash:
		return missCrash
	case p.Fault != "":
		return missMemory
	case !since && !m.Missing:
		return missBefore
	}
	return missRank
}

func (t *trial) describe() string {
	var ranks []string
	for _, r := range t.Runs {
		rank := fmt.Sprint(r.Rank)
		if r.Rank == 0 {
			rank = "- (" + r.Miss + ")"
		}
		ranks = append(ranks, fmt.Sprintf("%s %s: %s of %d in %.1f ms [%s]", r.Level, r.Points, rank, r.Reported, r.Millis, strings.Join(r.Suspects, ", ")))
	}
	return fmt.Sprintf("%s, %s, %s:%d %q → %q (%s; %s): %s", t.Mutant.Kind, t.Mutant.When, t.Mutant.Function, t.Mutant.Line, t.Mutant.Was, t.Mutant.Is, t.Judge.How, t.Judge.Memory, strings.Join(ranks, "; "))
}

// all measures programs side by side.
func (c *campaign) all(ctx context.Context, subjects []*subject) ([]*outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := make([]*outcome, len(subjects))
	var wg sync.WaitGroup
	next := make(chan int)
	for range c.workers {
		wg.Go(func() {
			for i := range next {
				o, err := c.subject(ctx, subjects[i])
				if err != nil {
					cancel(err)
					return
				}
				out[i] = o
			}
		})
	}
	for i := range subjects {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	return out, context.Cause(ctx)
}

// accusation is a report about a program that is right.
type accusation struct {
	Program, Level, Engine string
	Seed                   uint64
	Said                   string
}

// healthy runs the programs as they are; every finding is a false accusation.
func (c *campaign) healthy(ctx context.Context, subjects []*subject, engines []string, seeds int) (runs int, out []accusation, err error) {
	for _, s := range subjects {
		dir, err := os.MkdirTemp(c.dir, s.name+"-")
		if err != nil {
			return 0, nil, err
		}
		if err := s.write(dir, s.source.text); err != nil {
			return 0, nil, err
		}
		for _, level := range c.Levels {
			bin, err := s.compile(ctx, dir, "healthy"+level, level, "-DPATIENCE=60")
			if err != nil {
				return 0, nil, err
			}
			for _, engine := range engines {
				for i := range seeds {
					w := workload{c.Seed + uint64(i), c.Base, c.Operations}
					said, err := c.runHealthy(ctx, s, engine, bin, w)
					if err != nil {
						return 0, nil, fmt.Errorf("%s %s, %s, seed %d: %w", s.name, level, engine, w.seed, err)
					}
					runs++
					if said != "" {
						out = append(out, accusation{s.name, level, engine, w.seed, said})
					}
					c.log("%s %s, %s, seed %d: %s", s.name, level, engine, w.seed, said)
				}
			}
		}
	}
	return runs, out, nil
}

// runHealthy runs a right program under mgtrace, and returns what it is accused of.
func (c *campaign) runHealthy(ctx context.Context, s *subject, engine, bin string, w workload) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	file := bin + ".json"
	args := append([]string{"run", "--engine", engine, "--json", "--report", file, "--spec", s.spec, bin, "--"}, w.args()...)
	text, err := exec.CommandContext(ctx, c.binary, args...).CombinedOutput()
	b, e := os.ReadFile(file)
	if e != nil {
		return "", fmt.Errorf("mgtrace run: %w\n%s", firstOf(err, e), text)
	}
	var rep report.Report
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&rep); err != nil {
		return "", err
	}
	switch {
	case rep.Found():
		return rep.CPoints[0].Inconsistencies[0].Reason, nil
	case rep.Exit == nil || rep.Exit.Status == nil || *rep.Exit.Status != 0:
		return "", fmt.Errorf("the program did not end well\n%s", text)
	case rep.Checked.CPoints < w.base:
		return "", fmt.Errorf("only %d C-points were checked", rep.Checked.CPoints)
	}
	return "", nil
}
