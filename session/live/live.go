package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mgtrace/capture"
	"mgtrace/capture/observe"
	"mgtrace/constraints/check"
	"mgtrace/inline/matter"
	"mgtrace/objfile"
	"mgtrace/probe"
	"mgtrace/report"
	"mgtrace/session/specfile"
	"mgtrace/session/symbol"
	"mgtrace/target"
	"mgtrace/target/mem"
	"mgtrace/trace"
	translated "mgtrace/translate/engine"
)

// Options say which program is watched, and how.
type Options struct {
	Program    string
	Args       []string
	Stdout     *os.File // the program's; nil: mgtrace's own
	Spec       string   // specification file; "": none
	SourceDirs []string
	DebugDirs  []string
	Record     string // trace file to write; "": none
	Last       int64  // bytes that it may take: only the newest part is kept; 0: all is
	Capture    CaptureOptions
	// Lost is called when nothing more can be written to Record, and nobody looks at what is recorded meanwhile: it ends there, and
	// the program goes on. By any goroutine; nil: nobody needs to know.
	Lost func(error)
	// Prepare adds to what is captured once the program's files are known; nil: nothing.
	Prepare func(*symbol.Program, *CaptureOptions) error
}

// Program is a program under watch.
type Program struct {
	o       Options
	proc    *target.Process
	Symbols *symbol.Table
	Spec    *check.Spec
	plan    *probe.Plan
	Prog    trace.Program
	eng     engine

	every    everything // eng, if it sees every instruction; else nil
	followed string     // its name

	headed int // how many of Prog.Warnings the trace begins with

	// What the engine warns of that it has not told yet; nil: it never does.
	warnings func() []string

	// Where the engine drops stores that can not matter; else nil.
	filter filter
	tell   func(matter.Frame) bool // filter.Tell, made once: there may be millions of allocations
	matter matter.Blocks
	heed   func(stack []trace.Addr, size uint64, tell func(matter.Frame) bool) // Observer.Heed

	gate *gate                 // of Capture.Window; nil: all is recorded
	full *full                 // of Capture.Full; nil: instructions are not recorded
	cut  atomic.Pointer[error] // why Record ends before the program does; nil: it does not

	late    []symbol.Image // modules that the program may dlopen: not mapped yet
	guessed []string       // paths of those that nobody named
	shared  sharedFiles
	libs    libraries // those of them that have been mapped

	// Of the goroutine that runs the sinks: what the records of runs are, calls among them.
	sites    capture.SiteList
	splitter trace.Splitter

	// Counted by the goroutine that runs the engine.
	events uint64
	stores uint64        // among them
	told   uint64        // in passed
	passed atomic.Uint64 // events, for who wants to know meanwhile

	ceasing atomic.Pointer[string] // why the history is to end before the program; nil: it is not
	over    bool                   // it has ended; of the goroutine that runs the sinks

	mu     sync.Mutex // guards what sink and the target's handlers share
	batch  bool       // the goroutine that runs the sinks has mu for more than one call: intake.Begin
	sinks  []capture.Sink
	onStop func(audit func([]byte, trace.Addr) int) // the process is held and every event is there
	onUrge func()                                   // somebody wants mgtrace to end
	placed bool                                     // where the threads were that mgtrace ends was told
	urges  bool                                     // somebody did
	held   string                                   // why mgtrace ended the run; "" if it did not
	denote func()                                   // of noteDetours; nil: launched
	before *found                                   // what a process that we have attached to had already; nil: launched
	left   string                                   // why mgtrace let such a process go; "" if it did not
	frozen bool                                     // the program was left stopped at its first inconsistent C-point
	// refused: why the engine can not go on; it has ended the program. "": it can.
	refused string
	execed  string
	exited  bool         // OnExit ran: the end was seen with memory still there
	faults  trace.Faults // of the program, as far as its events have come
	crash   *capture.Hit // where the program crashed, with its stack; nil: it did not
	astray  *astray      // the last thread that found no memory where it looked for some; nil: none, or it is told what led it there
	own     ownTime
}

// Launch starts the program, plans, and attaches. The process is stopped when
// it returns; nothing of its own has run. The caller closes it.
func Launch(ctx context.Context, o Options) (l *Program, err error) {
	l = &Program{o: o}
	l.faults.Program = &l.Prog
	names, err := enginesFor(&o.Capture)
	if err != nil {
		return nil, err
	}
	l.proc, err = target.Launch(ctx, target.Command{
		Path: o.Program, Args: o.Args, Stdout: o.Stdout, Follow: o.Capture.Follow, AllowUnprivileged: o.Capture.AllowUnprivileged,
	})
	if err != nil {
		return nil, err
	}
	started := l // a return of an error sets l to nil
	defer func() {
		if err != nil {
			started.Close()
		}
	}()
	runTo := target.Runner(l.proc.RunTo)
	if o.Capture.Full {
		if err := l.beginFull(); err != nil {
			return nil, err
		}
		if err := l.follow(names); err != nil {
			return nil, err
		}
		runTo = l.every.RunTo
	}
	if err := l.proc.RunToLoadedBy(ctx, runTo); err != nil {
		return nil, fmt.Errorf("load %s: %w", o.Program, err)
	}
	if err := l.native(l.load); err != nil {
		return nil, err
	}
	if err := l.startStatic(ctx, runTo); err != nil {
		return nil, err
	}
	if err := l.capture(); err != nil {
		return nil, err
	}
	return l, l.limit()
}

// load opens the files that are mapped.
func (l *Program) load() error {
	exe, err := l.proc.Exe()
	if err != nil {
		return err
	}
	maps, err := l.proc.Maps()
	if err != nil {
		return err
	}
	root := fmt.Sprintf("/proc/%d/root", l.proc.PID())
	modules := slices.DeleteFunc(slices.Clone(l.o.Capture.Modules), func(m string) bool { return m == symbol.Untraced })
	images := symbol.Load(maps, exe, root, modules, objfile.Options{DebugDirs: l.o.DebugDirs})
	if len(images) == 0 || images[0].Path != exe {
		return fmt.Errorf("%s: its file is not among what is mapped", exe)
	}
	alone := len(modules) < len(l.o.Capture.Modules) // "none": no library that nobody has named
	if !alone {
		for _, im := range symbol.Own(images) {
			l.o.Capture.log("%s has debug information of its own: its stores are recorded as the program's are (--module none leaves it out)", im.Path)
		}
	}
	for _, im := range images {
		if im.Traced && im.Err != nil {
			return fmt.Errorf("%s can not be recorded: %w", im.Path, im.Err)
		}
	}
	for _, m := range modules {
		if anyTraced(images[1:], m) {
			continue
		}
		im, err := symbol.LoadLate(m, objfile.Options{DebugDirs: l.o.DebugDirs})
		if err != nil {
			return err
		}
		l.late = append(l.late, im)
	}
	l.Symbols = symbol.New(images, &symbol.Sources{Dirs: l.o.SourceDirs})
	l.Prog = trace.Program{
		Path: exe, Args: l.o.Args, PID: l.proc.PID(), Kernel: kernelRelease(),
		Began: time.Now().Format(time.RFC3339),
	}
	for _, im := range append(l.Symbols.Images, l.late...) {
		l.list(im)
	}
	if !alone {
		l.guess(images)
	}
	return nil
}

// list adds a file to the program's modules.
func (l *Program) list(im symbol.Image) {
	l.Prog.Modules = append(l.Prog.Modules, im.Module)
	if im.Traced && im.Obj != nil && l.Prog.Granted == "" && im.Obj.Imports("malloc_usable_size") {
		l.Prog.Granted = im.Path
		l.Prog.Notes = append(l.Prog.Notes, fmt.Sprintf("%s asks how much of its blocks it may use beyond what it asked for (malloc_usable_size): a write behind a block is judged only if it reaches another one", filepath.Base(im.Path)))
	}
	if im.Err != nil {
		l.warn("%v: its functions have no names, and calls of them are not seen", im.Err)
	}
}

// mapped looks for the modules that were not there at the start, when the
// program has mapped something: a full recording is delivered while it waits.
func (l *Program) mapped() {
	maps, err := l.proc.Maps()
	if err != nil {
		return // it is ending
	}
	for _, im := range slices.Clone(l.late) {
		if im.Locate(maps) {
			l.loaded(im.Path, uint64(im.Bias))
		}
	}
}

// fresh are the files of which the program has mapped code while it ran, that nobody has named, and that are mapped
// still. A file that it only reads (debug information, for a backtrace) is none.
func (l *Program) fresh(o objfile.Options) []symbol.Image {
	maps, err := l.proc.Maps()
	if err != nil {
		return nil // it is ending
	}
	known := map[string]bool{}
	for i := range l.Prog.Modules {
		known[l.Prog.Modules[i].Path] = true
	}
	maps = slices.DeleteFunc(maps, func(m mem.Map) bool { return known[m.Path] })
	if l.full != nil { // what translations are executed of is not executable: a library has several mappings, what is read one
		parts := map[string]int{}
		for _, m := range maps {
			parts[m.Path]++
		}
		for i := range maps {
			maps[i].Exec = maps[i].Exec || maps[i].File() && parts[maps[i].Path] > 1
		}
	}
	images := symbol.Load(maps, "", fmt.Sprintf("/proc/%d/root", l.proc.PID()), nil, o)
	return slices.DeleteFunc(images, func(im symbol.Image) bool { return im.Obj == nil }) // no library, or gone
}

// opened adds these: a full recording has their code.
func (l *Program) opened() {
	for _, im := range l.fresh(objfile.Options{DebugDirs: l.o.DebugDirs}) {
		l.Symbols.Add(im)
		l.Prog.Modules = append(l.Prog.Modules, im.Module)
	}
}

// missed warns of those that are of the program's own making: they are recorded only if somebody names them.
func (l *Program) missed() {
	if slices.Contains(l.o.Capture.Modules, symbol.Untraced) {
		return
	}
	images := l.fresh(objfile.Options{NoSeparate: true})
	for _, im := range symbol.Own(images) {
		w := fmt.Sprintf("%s was opened by the program and has debug information of its own: what it writes was not recorded, and a report may be wrong; --module %[1]s records it", im.Path)
		if !slices.Contains(l.Prog.Warnings, w) { // at its crash already
			l.Prog.Warnings = append(l.Prog.Warnings, w)
		}
	}
	for _, im := range images {
		_ = im.Obj.Close()
	}
}

// traceScattered captures the stores of the C library too where functions of it are called that write where
// only these tell.
func (l *Program) traceScattered(files []*probe.Image) {
	var called []string
	for _, im := range files {
		for _, name := range probe.Scattered {
			if im.Traced && im.File.Imports(name) && !slices.Contains(called, name) {
				called = append(called, name)
			}
		}
	}
	if len(called) > 0 {
		l.Prog.Notes = append(l.Prog.Notes, fmt.Sprintf("the stores of the C library are recorded, since the program calls %s", strings.Join(called, ", ")))
		l.traceLibrary(files, "libc.so.6")
	}
}

// traceLibrary captures the stores of a library of one of the names too.
func (l *Program) traceLibrary(files []*probe.Image, names ...string) {
	for _, im := range files {
		if !symbol.MatchesModule(im.Path, names) || im.Traced {
			continue
		}
		im.Traced = true
		for i := range l.Prog.Modules {
			if l.Prog.Modules[i].Path == im.Path {
				l.Prog.Modules[i].Traced = true
			}
		}
		for i := range l.Symbols.Images {
			if l.Symbols.Images[i].Path == im.Path {
				l.Symbols.Images[i].Traced = true
			}
		}
	}
}

// startStatic runs a static program to where its libc knows the processor, so
// that its IFUNC resolvers tell which functions the run will use. Nothing of the
// program's own has run by then.
func (l *Program) startStatic(ctx context.Context, run target.Runner) error {
	main := l.image(l.Prog.Path)
	if main == nil || main.Obj == nil || !main.Obj.Static() {
		return nil
	}
	at, ok := main.Obj.LastResolver()
	if !ok {
		return nil
	}
	if _, err := run(ctx, uint64(main.Bias)+at); err != nil {
		return fmt.Errorf("start the static program %s: %w", l.o.Program, err)
	}
	return nil
}

func anyTraced(images []symbol.Image, module string) bool {
	for _, im := range images {
		if im.Traced && symbol.MatchesModule(im.Path, []string{module}) {
			return true
		}
	}
	return false
}

func (l *Program) warn(format string, a ...any) {
	l.Prog.Warnings = append(l.Prog.Warnings, fmt.Sprintf(format, a...))
}

// prepare checks the specification against the program and makes the plan for
// an engine. A library that may never be opened is not to stand in the way: there may be two versions of a function
// then, or one that the compiler has inlined.
func (l *Program) prepare(inProcess bool) error {
	before := l.Prog
	before.Modules = slices.Clone(l.Prog.Modules)
	for _, im := range l.late {
		if slices.Contains(l.guessed, im.Path) {
			l.list(im)
		}
	}
	err := l.planned(inProcess)
	if err == nil || len(l.guessed) == 0 {
		return err
	}
	l.o.Capture.log("libraries that the program may open are not recorded: %v", err)
	l.Prog = before
	l.forgo()
	if again := l.planned(inProcess); again == nil || !errors.Is(err, errNotLoaded) {
		return again
	}
	return err // without the library it would be that the program has no such object
}

var errNotLoaded = errors.New("which is not loaded when recording begins: it can not be declared")

func (l *Program) planned(inProcess bool) (err error) {
	p := &symbol.Program{Sources: l.Symbols.Sources}
	var files []*probe.Image
	main := l.Symbols.Images[0]
	for _, im := range l.Symbols.Images {
		if im.Path == l.Prog.Path {
			main = im
		}
	}
	ordered := []symbol.Image{main}
	for _, im := range l.Symbols.Images {
		if im.Path != main.Path {
			ordered = append(ordered, im)
		}
	}
	for _, im := range append(ordered, l.late...) {
		if im.Obj == nil {
			continue
		}
		if im.Traced {
			p.Objs, p.Paths = append(p.Objs, im.Obj), append(p.Paths, im.Path)
		} else {
			p.Others = append(p.Others, im)
		}
		files = append(files, &probe.Image{Path: im.Path, File: im.Obj, Traced: im.Traced, Bias: uint64(im.Bias)})
	}
	if l.o.Prepare != nil {
		if err := l.o.Prepare(p, &l.o.Capture); err != nil {
			return err
		}
	}
	if l.Spec, err = specfile.Load(l.o.Spec, p); err != nil {
		return err
	}
	if l.o.Capture.StandardLibrary || specfile.OfStandardLibrary(l.Spec) {
		l.traceLibrary(files, "libstdc++.so", "libc++.so")
	}
	if len(l.Spec.Types) > 0 {
		l.traceScattered(files)
	}
	if err := specfile.Inlined(l.Spec, p); err != nil {
		return err
	}
	req, err := specfile.Request(l.Spec, p, l.o.Capture.wants())
	if err != nil {
		return err
	}
	for _, g := range req.Globals {
		if slices.ContainsFunc(l.late, func(im symbol.Image) bool { return im.Path == g.Path }) {
			return fmt.Errorf("`%s` lies in the static memory of %s, %w (with LD_PRELOAD=%[2]s it is loaded from the beginning)", g.Name, g.Path, errNotLoaded)
		}
	}
	began := time.Now()
	l.Prog.Inside = req.Inside
	l.plan, err = probe.Build(req, files, probe.Options{
		Source: l.Symbols.Sources.Read,
		Resolve: func(im *probe.Image, resolver uint64) (uint64, error) {
			at, err := l.proc.Call(im.Bias + resolver)
			return at - im.Bias, err
		},
		InProcess: inProcess,
	})
	if err != nil {
		return err
	}
	if l.before != nil {
		l.plan.Open = l.before.openCalls(l.plan)
	}
	l.o.Capture.log("planned in %s: %s", time.Since(began).Round(time.Millisecond), l.plan)
	l.describe(main)
	return nil
}

// describe fills the program's tables from the plan.
func (l *Program) describe(main symbol.Image) {
	l.Prog.Sites = len(l.plan.Stores)
	l.warnOfLeaks()
	l.Prog.Warnings = append(l.Prog.Warnings, l.plan.Warnings...)
	l.Prog.Notes = append(l.Prog.Notes, l.plan.Notes...)
	l.Prog.Funcs = append([]trace.Func(nil), l.plan.Watched...)
	for _, pt := range l.plan.Points {
		for int(pt.ID) > len(l.Prog.Points) {
			l.Prog.Points = append(l.Prog.Points, trace.Point{})
		}
		if pt.ID > 0 {
			if pt.Left {
				pt.Point.At = trace.Addr(l.plan.Images[pt.Image].Bias + pt.Addr)
			}
			l.Prog.Points[pt.ID-1] = pt.Point
		}
	}
	for _, g := range l.plan.Globals {
		bias := main.Bias
		if i := l.plan.ImageOf(g.Path); i > 0 {
			bias = trace.Addr(l.plan.Images[i].Bias)
		}
		l.Prog.Globals = append(l.Prog.Globals, trace.Global{Name: g.Name, Type: g.Type, Addr: bias + trace.Addr(g.Addr), Size: g.Size})
	}
	l.unprobed(l.plan.Unprobed)
}

func (l *Program) unprobed(sites []probe.Unprobed) {
	for _, u := range sites {
		l.Prog.Unprobed = append(l.Prog.Unprobed, trace.Unprobed{
			PC: trace.Addr(l.plan.Images[u.Image].Bias + u.Addr), Instruction: u.Instruction, Reason: u.Reason,
		})
	}
}

// run lets the program run to its end, or until mgtrace ends it. The error is
// mgtrace's own; what became of the program is in status.
func (l *Program) run(ctx context.Context) (status target.ExitStatus, err error) {
	if l.o.Capture.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.o.Capture.Timeout)
		defer cancel()
	}
	if err := l.globals(); err != nil {
		return status, err
	}
	if err := l.blocksBefore(); err != nil {
		return status, err
	}
	var engineErr, leaveErr error
	recording, give := context.WithCancelCause(context.Background())
	defer give(nil)
	engineDone := make(chan struct{})
	go func() {
		defer close(engineDone)
		engineErr = l.eng.Run(recording, (*intake)(l))
		if errors.Is(engineErr, errFound) {
			engineErr = l.freeze()
			return
		}
		if engineErr != nil {
			// Nothing drains the ring any more: the program goes on, unwatched.
			l.o.Capture.log("the recording failed, the program goes on: %v", engineErr)
			_ = l.eng.Close()
		}
	}()
	stop := l.progress()
	l.own.pid = l.proc.PID()
	unwatch := l.own.watch()
	l.o.Capture.running(true)
	status, err = l.proc.Run(ctx, target.Handlers{
		OnCrash: l.crashed,
		OnExit:  func(target.Exit) { l.own.end(); l.exited = true; l.stopped() },
		OnUrge:  l.urged,
		OnHold: func(h target.Hold) {
			l.own.end()
			if l.before != nil {
				if leaveErr = l.leave(h, engineDone); leaveErr != nil {
					give(leaveErr) // nobody ends the recording otherwise
				}
				return
			}
			l.held = h.String()
			l.stopped()
		},
		OnExec: func(exe string) { l.execed = exe },
	})
	l.o.Capture.running(false)
	gone := errors.Is(err, target.ErrDetached)
	if gone {
		err = nil
	} else {
		l.eng.Ended(status.Wait())
	}
	heeded := l.Impatient(l.urged) // checks may be far behind a program that has ended
	<-engineDone
	heeded()
	stop()
	unwatch()
	if errors.Is(engineErr, translated.ErrRefused) {
		l.refused, engineErr = engineErr.Error(), nil
	}
	return status, errors.Join(engineErr, leaveErr, err)
}

// urged runs when somebody wants mgtrace to end, while the process is held or when it has ended.
func (l *Program) urged() {
	l.urges = true
	l.o.Capture.running(false)
	if l.onUrge != nil {
		l.onUrge()
	}
}

// crashed runs while the process is held at its crash.
func (l *Program) crashed(c target.Crash) {
	l.own.end()
	h := &capture.Hit{Thread: trace.ThreadID(c.TID), Index: int(c.Signal)}
	observe.Interrupted(h, &c.Regs, l.proc)
	l.mu.Lock()
	l.crash = h
	l.goesAstray(h.Index, h.Thread, h.Registers, h.PC, c.Addr)
	l.mu.Unlock()
	l.stopped()
}

// interrupted is bpf.Options.Interrupted. A signal that a handler took may have come at the crash's instruction before,
// as abort's does.
func (l *Program) interrupted(h *capture.Hit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.crash != nil && h.Base == 0 && l.crash.Index == h.Index && l.crash.Thread == h.Thread && l.crash.PC == h.PC {
		h.Regs, h.Stack, h.Skip, h.Below, h.Registers = l.crash.Regs, l.crash.Stack, l.crash.Skip, l.crash.Below, l.crash.Registers
	}
}

// catchUp is how long what the program did may take to be brought in while the process is held.
const catchUp = 30 * time.Second

// stopped runs while the process is held: everything that it did is brought in
// and compared with its memory.
func (l *Program) stopped() {
	ctx, cancel := context.WithTimeout(context.Background(), catchUp)
	defer cancel()
	err := l.eng.Sync(ctx)
	if err == nil && l.held != "" && !l.placed {
		l.placed = true
		err = l.places()
	}
	if err == nil && l.held == "" && (l.crash != nil || l.faults.Handling()) {
		err = l.wild()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full != nil {
		l.opened()
	} else {
		l.missed()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		l.warn("memory was not compared with the history: what the program did was not taken in within %v of its end", catchUp)
		return
	case err != nil:
		l.warn("memory was not compared with the history: %v", err)
		return
	}
	if l.onStop == nil {
		return
	}
	l.onStop(func(b []byte, a trace.Addr) int {
		n, _ := l.proc.ReadMemory(b, uint64(a)) // n tells
		return n
	})
	if l.crash != nil || l.held != "" {
		l.onStop = nil // it is ended by that, and does nothing more
	}
}

// globals reports the declared objects in static memory with their first bytes.
func (l *Program) globals() error {
	for i, g := range l.Prog.Globals {
		ev := trace.Event{Kind: trace.KindGlobal, Addr: g.Addr, Size: g.Size, Aux: uint64(i + 1), Name: g.Name, Data: make([]byte, g.Size)}
		if _, err := l.proc.ReadMemory(ev.Data, uint64(g.Addr)); err != nil {
			return fmt.Errorf("read the global %s: %w", g.Name, err)
		}
		if err := (*intake)(l).Event(&ev); err != nil {
			return err
		}
	}
	return nil
}

// progress reports about once a second until the returned function is called.
func (l *Program) progress() (stop func()) {
	if l.o.Capture.Progress == nil {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		began, last, lastEvents := time.Now(), time.Now(), uint64(0)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				l.o.Capture.Progress(Progress{Done: true})
				return
			case now := <-tick.C:
				n := l.passed.Load()
				l.o.Capture.Progress(Progress{Elapsed: now.Sub(began), Events: n, Rate: float64(n-lastEvents) / now.Sub(last).Seconds()})
				last, lastEvents = now, n
			}
		}
	}()
	return func() { close(done); <-ended }
}

// trailer is what is known at the end.
func (l *Program) trailer(status target.ExitStatus) trace.Trailer {
	s := l.eng.Stats()
	t := trace.Trailer{Hits: s.Hits, Delivered: s.Delivered, Dropped: s.Dropped, Stops: s.Stops, Complete: true, Own: l.own.since(l.eng.Began()), Shared: l.shared.files}
	if len(s.Tactics) > 0 {
		t.Coverage = &trace.Coverage{Stores: l.stores, Traps: s.Traps, Tactics: s.Tactics}
	}
	if l.warnings != nil {
		l.Prog.Warnings = append(l.Prog.Warnings, l.warnings()...)
	}
	for _, im := range l.late {
		if !slices.Contains(l.guessed, im.Path) {
			l.warn("the program never loaded %s", im.Path)
		}
	}
	for _, why := range []string{l.gate.unended(), l.full.unended()} {
		if why != "" {
			l.warn("%s", why)
		}
	}
	t.Modules = l.seen()
	t.Warnings = l.Prog.Warnings[l.headed:]
	incomplete := func(format string, a ...any) {
		if t.Complete = false; t.Why != "" {
			t.Why += "; "
		}
		t.Why += fmt.Sprintf(format, a...)
	}
	if s.Dropped > 0 {
		incomplete("%s lost", report.Plural(int(s.Dropped), "event was", "events were"))
	}
	if s.Hits != s.Delivered+s.Dropped {
		incomplete("the kernel counted %d events, %d arrived and %d were lost", s.Hits, s.Delivered, s.Dropped)
	}
	if why := l.gate.missed(); why != "" {
		incomplete("%s", why)
	}
	if l.execed != "" {
		incomplete("the program replaced itself by %s, which was not watched (use --follow exec=%s)", l.execed, filepath.Base(l.execed))
	}
	if l.held != "" {
		incomplete("mgtrace ended the program (%s)", l.held)
	}
	if l.refused != "" {
		incomplete("mgtrace ended the program, for %s: --engine step is slower and records that", l.refused)
		return t
	}
	if l.frozen {
		return t
	}
	if l.left != "" {
		incomplete("mgtrace let the process go (%s), which runs on", l.left)
		return t
	}
	if !l.exited && l.crash == nil && l.execed == "" && l.held == "" {
		incomplete("the program was killed (%s) before its last state could be seen", status)
	}
	return t
}

// Close takes the engine out, and ends a program that is still under watch.
func (l *Program) Close() { _ = l.close() } // the program has ended, or was told to

// close says what could not be taken out of a program that goes on.
func (l *Program) close() error {
	var errs []error
	if l.eng != nil {
		errs = append(errs, l.eng.Close())
	}
	l.full.abandon()
	if l.proc != nil {
		errs = append(errs, l.proc.Close())
	}
	if l.denote != nil {
		l.denote()
	}
	return errors.Join(errs...)
}

func kernelRelease() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	return string(b[:max(0, len(b)-1)])
}
