package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"mgtrace/objfile"
	"mgtrace/report"
	"mgtrace/target"
	"mgtrace/trace"
)

// Run runs a program under watch, checks it, and returns the report and the
// program's own exit status (128 + signal if it was killed). An error means
// that it could not be run or watched; what the program did wrong is in the
// report.
func Run(ctx context.Context, o RunOptions) (*report.Report, int, error) {
	// A trace serves other specifications too.
	o.Capture.Everything = o.Capture.Everything || o.Record != ""
	l, err := launch(ctx, o)
	if err != nil {
		return nil, 0, err
	}
	defer l.close()
	a := newAnalysis(l.spec, &l.prog, l.symbols, o.Analysis, nil)
	l.sinks = append(l.sinks, a)
	if l.filter != nil {
		l.relevance = newRelevance(l.spec, a.typing)
		a.relevance = l.relevance
	}
	rec, err := l.recorder(o.Record)
	if err != nil {
		return nil, 0, err
	}
	l.audit(a)
	if o.Capture.Watch {
		l.sinks = append(l.sinks, watcher{a})
	}
	status, err := l.run(ctx)
	if err != nil {
		return nil, 0, errors.Join(err, rec.abandon())
	}
	t := l.trailer(status)
	t.Audit = a.trailerAudit
	if err := rec.finish(t); err != nil {
		return nil, 0, err
	}
	r, err := l.report(ctx, a, t)
	return r, exitCode(status), err
}

// audit compares the history with memory whenever the process is held.
func (l *live) audit(a *Analysis) {
	l.onStop = func(read func([]byte, trace.Addr) int) {
		err := a.runAudit(read, l.emit)
		if err != nil {
			l.warn("the audit could not be finished: %v", err)
		}
	}
}

// report makes the report of a live run.
func (l *live) report(ctx context.Context, a *Analysis, t trace.Trailer) (*report.Report, error) {
	if l.held != "" {
		a.heldExit(l.held)
	}
	r := newReport(&l.prog, &t)
	if err := a.finish(ctx, r); err != nil {
		return nil, err
	}
	a.listUnprobed(r)
	if l.frozen {
		l.frozenReport(r)
	}
	return r, nil
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
	if t.Stops > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("the program was held back %s (SIGSTOP and SIGCONT) so that no event was lost; its sleeps and waits may have ended early with EINTR", report.Plural(int(t.Stops), "time", "times")))
	}
	return r
}

// listUnprobed names the stores that were not captured.
func (a *Analysis) listUnprobed(r *report.Report) {
	for _, u := range a.prog.Unprobed {
		f, _, _ := a.symbols.Where(u.PC)
		name := f.Function
		if f.File == "" {
			name = a.symbols.Address(u.PC)
		}
		r.Unprobed = append(r.Unprobed, report.Place{File: short(f.File), Line: f.Line, Function: name, Text: u.Instruction + ": " + u.Reason})
	}
}

// signalled notes a signal that ends the program, or that it handles, with its place.
func (a *Analysis) signalled(ev *trace.Event) {
	e := &report.Exit{Signal: unix.SignalName(syscall.Signal(ev.Aux))}
	f, _, _ := a.symbols.Where(ev.PC)
	if f.File == "" && len(ev.Stack) > 0 {
		for _, pc := range ev.Stack {
			if f, _, _ = a.symbols.Where(pc - 1); f.File != "" {
				break
			}
		}
	}
	if f.File != "" {
		e.File, e.Line = short(f.File), f.Line
	}
	e.Where = a.symbols.Address(ev.PC)
	a.signal = e
	if ev.Flags&trace.FlagHandled == 0 {
		a.exit = e
	}
}

// ended notes the exit status.
func (a *Analysis) ended(ev *trace.Event) {
	ws := syscall.WaitStatus(ev.Aux)
	switch {
	case ws.Signaled() && (a.exit == nil || a.exit.Signal == ""):
		a.exit = &report.Exit{Signal: unix.SignalName(ws.Signal())}
	case ws.Exited():
		code := ws.ExitStatus()
		a.exit = &report.Exit{Status: &code}
	}
}

func (a *Analysis) heldExit(why string) {
	if a.exit == nil {
		a.exit = &report.Exit{}
	}
	a.exit.Held = why
}

func exitCode(s target.ExitStatus) int {
	if s.Signal != 0 {
		return 128 + int(s.Signal)
	}
	return s.Code
}

// recorder writes a trace file; the zero recorder writes none.
type recorder struct {
	l    *live
	file *os.File
	w    *trace.Writer

	first uint32 // number in the trace of the first site of runs
}

// recorder begins the trace file and adds it to the sinks.
func (l *live) recorder(path string) (*recorder, error) {
	rec := &recorder{l: l}
	if path == "" {
		return rec, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	l.attachNames()
	rec.file = f
	rec.w = trace.NewWriter(f, l.prog)
	if err := rec.attach(); err != nil {
		return nil, fmt.Errorf("record to %s: %w", path, errors.Join(err, f.Close()))
	}
	l.sinks = append(l.sinks, rec)
	return rec, nil
}

// Event implements capture.Sink.
func (r *recorder) Event(ev *trace.Event) error { return r.failed(r.w.Write(ev)) }

// Sites implements capture.Sink.
func (r *recorder) Sites(sites []trace.StoreSite) (err error) {
	r.first, err = r.w.AddSites(sites)
	return r.failed(err)
}

// Stores implements capture.Sink.
func (r *recorder) Stores(run *trace.Stores) error {
	if r.first == 0 {
		return r.failed(r.w.WriteStores(run))
	}
	// The trace numbers all sites that there ever were.
	for i := range run.Recs {
		run.Recs[i].Site += r.first
	}
	err := r.w.WriteStores(run)
	for i := range run.Recs {
		run.Recs[i].Site -= r.first
	}
	return r.failed(err)
}

func (r *recorder) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("record to %s: %w (the file holds what was written before)", r.file.Name(), err)
}

// attachNames says which files travel in the trace.
func (l *live) attachNames() {
	for i := range l.prog.Modules {
		m := &l.prog.Modules[i]
		if !m.Traced {
			continue
		}
		m.File = fmt.Sprintf("elf:%d", i)
		if im := l.image(m.Path); im != nil && im.Obj != nil && len(im.Obj.DebugFiles()) > 0 {
			m.Debug = fmt.Sprintf("debug:%d:", i)
		}
	}
}

func (l *live) image(path string) *Image {
	for i := range l.symbols.images {
		if l.symbols.images[i].Path == path {
			return &l.symbols.images[i]
		}
	}
	return nil
}

// attach stores the files that reports need: the traced ELF files with their
// debug files and their source. Other libraries are found by build-id, if at all:
// they only name frames.
func (r *recorder) attach() error {
	for i := range r.l.prog.Modules {
		m := &r.l.prog.Modules[i]
		im := r.l.image(m.Path)
		if im == nil || im.Obj == nil || !im.Traced {
			continue
		}
		if err := r.attachFile(m.File, im.Obj.Path()); err != nil {
			return err
		}
		for n, path := range im.Obj.DebugFiles() {
			if err := r.attachFile(fmt.Sprintf("%s%d", m.Debug, n), path); err != nil {
				return err
			}
		}
		if err := r.attachSources(im.Obj); err != nil {
			return err
		}
	}
	return nil
}

func (r *recorder) attachFile(name, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // the analysis then finds it by build-id, or says so
	}
	defer f.Close()
	return r.w.Attach(name, f)
}

// maxSource is the largest source file that travels, bytes.
const maxSource = 4 << 20

func (r *recorder) attachSources(f *objfile.File) error {
	for _, name := range f.SourceFiles() {
		info, err := os.Stat(name)
		if err != nil || info.Size() > maxSource || !info.Mode().IsRegular() {
			continue
		}
		if err := r.attachFile(attachedSource(name), name); err != nil {
			return err
		}
	}
	return nil
}

func (r *recorder) finish(t trace.Trailer) error {
	if r.w == nil {
		return nil
	}
	if err := errors.Join(r.w.Finish(t), r.file.Close()); err != nil {
		return fmt.Errorf("record to %s: %w (the file holds what was written before)", r.file.Name(), err)
	}
	return nil
}

// abandon closes a trace file whose recording failed: it stays readable up to
// its last whole block.
func (r *recorder) abandon() error {
	if r.w == nil {
		return nil
	}
	_ = r.w.Flush() // the recording has failed already, for a reason that is being reported
	return r.file.Close()
}
