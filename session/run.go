package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mgtrace/report"
	"mgtrace/session/analysis"
	"mgtrace/session/live"
	"mgtrace/session/typing"
	"mgtrace/target"
	"mgtrace/trace"
)

// Run runs a program under watch, checks it, and returns the report and the
// program's own exit status (128 + signal if it was killed). An error means
// that it could not be run or watched; what the program did wrong is in the
// report.
func Run(ctx context.Context, o RunOptions) (*report.Report, int, error) {
	if o.Analysis.Slice > 0 || o.Analysis.AllocFree != nil {
		o.Capture.Full = true
	}
	if free := o.Analysis.AllocFree; free != nil {
		o.Capture.Globals = append(slices.Clone(o.Capture.Globals), free.Heap...)
	}
	if o.Last > 0 || o.Capture.Full {
		return recordThen(ctx, o, live.Launch, Locate)
	}
	// A trace serves other specifications too.
	o.Capture.Everything = o.Capture.Everything || o.Record != ""
	l, err := live.Launch(ctx, o.live())
	if err != nil {
		return nil, 0, err
	}
	defer l.Close()
	r, status, err := checked(ctx, l, o.Analysis)
	return r, exitCode(status), err
}

// checked lets the program run to its end, checks it meanwhile, and makes the report.
// What it was told to record is written as well.
func checked(ctx context.Context, l *live.Program, o AnalysisOptions) (*report.Report, target.ExitStatus, error) {
	a := analysis.New(l.Spec, &l.Prog, l.Symbols, o.analysis())
	x := live.Observer{Sink: a, Stopped: a.RunAudit, Audit: func() *trace.Audit { return a.TrailerAudit }, Found: a.BrokenMidway}
	if l.Filters() {
		a.Relevance = typing.NewRelevance(l.Spec, l.Matter(), a.Typing)
		x.Heed = a.Relevance.Heed
	}
	status, t, err := l.Observe(ctx, &x)
	if err != nil {
		return nil, status, err
	}
	if why := l.HeldBy(); why != "" {
		a.HeldExit(why)
	}
	r := newReport(&l.Prog, &t)
	if err := a.Finish(ctx, r); err != nil {
		return nil, status, err
	}
	a.ListUnprobed(r)
	r.Stopped = l.IsStopped()
	return r, status, nil
}

// beginner makes a program ready to be recorded: launch, or seize of a process.
type beginner func(context.Context, live.Options) (*live.Program, error)

// look says what is wrong in a recording: Locate or Overflow.
type look func(ctx context.Context, path string, o AnalysisOptions) (*report.Report, error)

// recordThen records a program that begin makes ready, into o.Record or a temporary
// file, and looks at the recording when it is over. The int is the program's own exit
// status.
func recordThen(ctx context.Context, o RunOptions, begin beginner, look look) (r *report.Report, exit int, err error) {
	if o.Record == "" {
		dir, err := os.MkdirTemp("", "mgtrace-")
		if err != nil {
			return nil, 0, err
		}
		defer os.RemoveAll(dir)
		o.Record = filepath.Join(dir, "run.mgt")
	}
	_, status, held, err := recordBy(ctx, o, begin)
	if err != nil {
		return nil, 0, err
	}
	// What ended the recording, Ctrl-C most often, does not end the analysis of it.
	if r, err = look(context.WithoutCancel(ctx), o.Record, o.Analysis); err != nil {
		return nil, 0, err
	}
	if held != "" {
		if r.Exit == nil {
			r.Exit = &report.Exit{}
		}
		r.Exit.Held = held
	}
	return r, exitCode(status), nil
}

// newReport begins a report with what recording tells.
func newReport(p *trace.Program, t *trace.Trailer) *report.Report {
	r := &report.Report{
		Program: p.Path, Engine: p.Engine, Complete: t.Complete,
		Events: report.Events{
			Delivered: t.Delivered, Dropped: t.Dropped, Stops: t.Stops,
			UnprobedSites: len(p.Unprobed), Sites: p.Sites,
		},
	}
	if t.Why != "" {
		r.Why = append(r.Why, t.Why)
	}
	r.Notes = append(r.Notes, fmt.Sprintf("the engine counted %d records: %d delivered, %d lost", t.Hits, t.Delivered, t.Dropped))
	coverage(r, t.Coverage)
	if t.Stops > 0 && p.Engine == live.EngineKernel {
		r.Notes = append(r.Notes, fmt.Sprintf("the program was held back %s (SIGSTOP and SIGCONT) so that no event was lost; its sleeps and waits may have ended early with EINTR", report.Plural(int(t.Stops), "time", "times")))
	}
	return r
}

// coverage tells how stores were caught.
func coverage(r *report.Report, c *trace.Coverage) {
	if c == nil {
		return
	}
	r.Coverage = &report.Coverage{Stores: c.Stores, Traps: c.Traps}
	var ways []string
	for _, t := range c.Tactics {
		r.Coverage.Tactics = append(r.Coverage.Tactics, report.Tactic(t))
		ways = append(ways, fmt.Sprintf("%s %d", t.Name, t.Sites))
	}
	r.Notes = append(r.Notes, fmt.Sprintf("%s stores were caught, %s of them by traps; sites by tactic: %s",
		report.Thousands(c.Stores), report.Thousands(c.Traps), strings.Join(ways, ", ")))
}

func exitCode(s target.ExitStatus) int {
	if s.Signal != 0 {
		return 128 + int(s.Signal)
	}
	return s.Code
}
