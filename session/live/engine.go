package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"mgtrace/bpf"
	"mgtrace/capture"
	"mgtrace/inline"
	"mgtrace/inline/matter"
	"mgtrace/probe"
	"mgtrace/session/typing"
	"mgtrace/target"
	"mgtrace/trace"
)

// engine is what a session asks of a capture engine.
type engine interface {
	// Run gives the events of the process to sink, in the order of the run,
	// until the process is gone.
	Run(ctx context.Context, sink capture.Sink) error
	// Sync returns when everything that the process, which is held, did has
	// been given to sink.
	Sync(ctx context.Context) error
	// Detach takes everything out of the process, which is held, and ends the
	// recording: Run returns. What Sync has not brought is missing.
	Detach() error
	// Ended tells that the process has ended, with a status as of wait(2).
	Ended(status uint64)
	Stats() capture.Stats
	Began() time.Time // of the events' time
	Unprobed() []probe.Unprobed
	Close() error
}

// filter is an engine that can drop stores where they happen.
type filter interface {
	Filtering() bool
	Tell(matter.Frame) bool
	Closer
}

// Closer closes parts of blocks: see inline.Engine.
type Closer interface {
	CloseBarren(block, addr, size uint64, wall int64) bool
	ClosedBarren() (closed, done bool)
	CloseAlike(stack []trace.Addr, size, lo, hi uint64) bool
	OpenAlike(stack []trace.Addr)
}

// enginesFor lists the engines to try for a value of --engine, in order: with --watch
// those that can hold the program at a C-point. The one inside the process comes first:
// it is a thousand times faster, and needs no privilege.
func enginesFor(o *CaptureOptions) ([]string, error) {
	name, watch := o.Engine, o.Watch
	if o.Full {
		return fullEngines(o)
	}
	if watch {
		if name == trace.EngineKernel {
			return nil, errors.New("--watch holds the program at each C-point, which the kernel's probes can not: leave --engine out")
		}
		return []string{trace.EngineInline}, nil
	}
	switch name {
	case "", "auto":
		return []string{trace.EngineInline, trace.EngineKernel}, nil
	case trace.EngineInline, trace.EngineKernel, trace.EngineStep, trace.EngineTranslate:
		return []string{name}, nil
	}
	return nil, fmt.Errorf("--engine %s: write auto, inline, ebpf, step, or with --full translate", name)
}

// unwindDepth is how many frames of an allocation's stack are kept.
const unwindDepth = 24

// capture plans, and puts the probes of the first engine in that can serve.
func (l *Program) capture() error {
	names, err := enginesFor(&l.o.Capture)
	if err != nil {
		return err
	}
	if l.every == nil && (names[0] == trace.EngineStep || names[0] == trace.EngineTranslate) {
		if err := l.follow(names); err != nil {
			return err
		}
	}
	if l.every != nil {
		return l.captureFollowed()
	}
	before := l.Prog
	var errs []error
	for _, name := range names {
		l.Prog = before
		l.Prog.Modules = slices.Clone(before.Modules)
		l.Prog.Engine = name
		if err := l.prepare(name != trace.EngineKernel); err != nil {
			return err
		}
		began := time.Now()
		if l.eng, err = l.attach(name); err == nil {
			l.unprobed(l.eng.Unprobed())
			l.o.Capture.log("engine %s: %s; ready in %s", name, l.reasonFor(name, len(names) > 1), time.Since(began).Round(time.Millisecond))
			l.logTactics()
			return nil
		}
		l.eng = nil
		if errors.Is(err, target.ErrExited) || errors.Is(err, unix.ESRCH) { // killed meanwhile
			return fmt.Errorf("%w before recording began", target.ErrExited)
		}
		errs = append(errs, fmt.Errorf("engine %s: %w", name, err))
		l.o.Capture.log("engine %s can not serve: %v", name, err)
	}
	return errors.Join(errs...)
}

func (l *Program) reasonFor(name string, auto bool) string {
	switch {
	case name == trace.EngineTranslate:
		return "every instruction is recorded by translations of the program's code"
	case name == trace.EngineStep && l.full != nil:
		return "only step by step are all instructions seen; expect tens of microseconds for each"
	case !auto:
		return "as --engine says"
	case name == trace.EngineInline && l.before != nil:
		return "we may trace the process, so its stores can be caught inside it"
	case name == trace.EngineInline:
		return "the program is our own child, so its stores can be caught inside it, without privileges"
	}
	return "the kernel's probes, because the program can not be patched"
}

// attach puts the probes of one engine in. The process is held.
func (l *Program) attach(name string) (engine, error) {
	if name == trace.EngineKernel && l.plan.Inside {
		return nil, errors.New("the kernel's probes leave out what an allocator writes into its own memory: use --engine inline")
	}
	unwind, static := l.unwinder(), l.wantsStatic()
	if name == trace.EngineKernel {
		return l.attachKernel(bpf.Options{Unwind: unwind.Unwinder(), Static: static, Libraries: (*opening)(l), Interrupted: l.interrupted, Stripped: l.stripped})
	}
	table, err := l.besideSanitizer()
	if err != nil {
		return nil, err
	}
	o := inline.Options{Unwind: unwind, Static: static, Strict: l.o.Capture.Strict, Hold: l.o.Capture.Watch, Apart: !l.o.Capture.Counts, Undo: l.o.Capture.Undo}
	o.Libraries = (*opening)(l)
	// What a declared allocator fills in before it gives a block out lies in no block yet that matters.
	declared := slices.ContainsFunc(l.plan.Funcs, func(f probe.Func) bool { return f.Declared })
	if !l.o.Capture.Everything && table && !declared {
		o.Matter, o.Filter = typing.MatterTo(l.Spec, &l.Prog, l.Symbols, l.late)
	}
	if !o.Filter {
		o.Matter = matter.Blocks{}
		o.Matter.Members, _ = typing.Entering(l.Spec, &l.Prog)
	}
	e, err := inline.Attach(l.plan, l.proc, o)
	if err != nil {
		return nil, err
	}
	if e.Filtering() {
		l.filter, l.matter = plainly{e, &l.libs}, o.Matter
		l.tell = l.filter.Tell
	}
	l.warnings = e.Warnings
	l.Prog.Warnings = append(l.Prog.Warnings, l.warnings()...)
	return e, nil
}

// wantsStatic says whether stores to static data are wanted.
func (l *Program) wantsStatic() bool {
	return len(l.plan.Globals) > 0 || l.Spec != nil && len(l.Spec.Members)+len(l.Spec.Reaches) > 0
}

// unwinder tells the calls around an allocation; nil: nobody wants to know.
func (l *Program) unwinder() *capture.CallFrames {
	if l.o.Capture.Counts {
		return nil
	}
	return capture.CFI(l.file, unwindDepth)
}

// logTactics says how the sites are probed.
func (l *Program) logTactics() {
	for _, t := range l.eng.Stats().Tactics {
		l.o.Capture.log("%7d sites by %s", t.Sites, t.Name)
	}
}
