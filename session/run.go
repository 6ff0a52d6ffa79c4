package session

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

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
	r, status, err := checked(ctx, l, o.Analysis, limits{patience: patience, locating: patienceLocating, timeout: o.Capture.Timeout}, nil)
	return r, exitCode(status), err
}

// How long C-points are still checked when mgtrace is to end (Ctrl-C, SIGTERM, a timeout):
// a slow specification may be far behind the program. A process that is attached to stands
// still meanwhile. It is what mgtrace works in that time on a machine that has nothing else to do: see afterWork.
const (
	patience         = 10 * time.Second
	patienceAttached = 2 * time.Second

	// The state in which a program crashes or ends is judged also where the checks were ended before;
	// a program that mgtrace had to end may have left a structure without bounds: so long after mgtrace was to
	// end, all in all, that state is judged, and what broke it looked for. Of a program that ended by
	// itself that takes as long as it takes.
	patienceLocating = 30 * time.Second
)

// limits say how long checks may take.
type limits struct {
	patience time.Duration
	locating time.Duration
	timeout  time.Duration // of the program's run; 0: none, or what ends then is no C-point
}

// mostChecking is how much of a timeout may be used up when C-points are still checked: the rest is for
// coming to the end, for the state there, and for locating.
func mostChecking(timeout time.Duration) time.Duration { return timeout / 4 * 3 }

// checked lets the program run to its end, checks it meanwhile, and makes the report.
// What it was told to record is written as well. full is called when there is no memory for
// more history; nil: nobody needs to know.
func checked(ctx context.Context, l *live.Program, o AnalysisOptions, limits limits, full func()) (*report.Report, target.ExitStatus, error) {
	a := analysis.New(l.Spec, &l.Prog, l.Symbols, o.analysis())
	checks, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	a.Heed(checks)
	late, over := context.WithCancelCause(context.Background())
	defer over(nil)
	judged := func() { over(context.DeadlineExceeded) }
	a.JudgeLast(func() context.Context {
		afterWork(limits.locating, judged)
		return late
	})
	if most := mostChecking(limits.timeout); most > 0 { // so that the program gets to where it crashes, if the checks hold it up
		checking := a.TimeChecks()
		defer time.AfterFunc(most, func() {
			if checking() > most/2 {
				stop(context.DeadlineExceeded)
			}
		}).Stop()
	}
	x := live.Observer{Sink: a, Stopped: a.RunAudit, Audit: func() *trace.Audit { return a.TrailerAudit }, Found: a.BrokenMidway}
	x.Urged = func() {
		afterWork(limits.patience, func() { stop(context.DeadlineExceeded) })
		afterWork(limits.locating, judged)
	}
	if l.Filters() {
		a.Relevance = typing.NewRelevance(l.Spec, l.Matter(), a.Typing)
		if l.Matter().Barren {
			a.CloseWith(l.Closer())
		}
		x.Heed = a.Relevance.Heed
	}
	enough := beforeMemoryIsFull(func(why string) {
		l.Cease(why)
		if full != nil {
			full()
		}
	})
	status, t, err := l.Observe(ctx, &x)
	enough()
	if err != nil {
		return nil, status, err
	}
	if why := l.HeldBy(); why != "" {
		a.HeldExit(why)
	}
	locating := late
	switch {
	case !a.Interrupted():
		if l.HeldBy() == "" {
			locating = context.Background()
		}
		patient, cut := context.WithCancelCause(locating)
		defer cut(nil)
		defer l.Impatient(func() { afterWork(limits.patience, func() { cut(context.DeadlineExceeded) }) })()
		locating = patient
	case late.Err() == nil: // a process that was let go does not wait for this
		a.Resume()
	}
	a.Heed(locating)
	r := analysis.NewReport(&l.Prog, &t)
	a.Own, a.Shared = t.Own, t.Shared
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
	var room *scratch
	if o.Record == "" {
		if room, err = newScratch(); err != nil {
			return nil, 0, err
		}
		defer room.remove()
		o.Record = filepath.Join(room.dir, "run.mgt")
		if o.letGo == nil {
			o.Capture.Running = room.while(o.Capture.Running)
		}
	}
	sum, status, held, err := recordBy(ctx, o, begin)
	if err != nil {
		return nil, 0, err
	}
	if o.letGo != nil {
		o.letGo()
		room.guard()
	}
	// What ended the recording, Ctrl-C most often, does not end the analysis of it.
	if r, err = look(context.WithoutCancel(ctx), o.Record, o.Analysis); err != nil {
		return nil, 0, err
	}
	if sum.Lost != nil {
		if r.Exit == nil && status.Signal == 0 {
			r.Exit = &report.Exit{Status: &status.Code}
		}
		r.Complete = false
		r.Why = append([]string{fmt.Sprintf("the history ends before the program does (%v)", sum.Lost)}, r.Why...)
	}
	if held != "" {
		if r.Exit == nil {
			r.Exit = &report.Exit{}
		}
		r.Exit.Held = held
	}
	return r, exitCode(status), nil
}

func exitCode(s target.ExitStatus) int {
	if s.Signal != 0 {
		return 128 + int(s.Signal)
	}
	return s.Code
}
