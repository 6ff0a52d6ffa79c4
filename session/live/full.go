package live

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"mgtrace/capture/observe"
	"mgtrace/flow"
	"mgtrace/probe"
	"mgtrace/step"
	"mgtrace/target"
	"mgtrace/target/mem"
	"mgtrace/trace"
	translated "mgtrace/translate/engine"
)

// full is a recording of all executed instructions.
type full struct {
	id   string // what trace and flow have in common
	path string
	file *spill
	w    *flow.Writer
	done bool

	// Which part of the run is wanted; see limitFull.
	window           Window
	from, to, around []trace.FuncID
	recording        func(on bool) error
	limited, on      bool
	over             bool
	calls            uint64 // of from
	ends             *ended // the call whose return ends the part
}

// fullEngines lists the engines that tell all instructions.
func fullEngines(o *CaptureOptions) ([]string, error) {
	switch {
	case o.Watch:
		return nil, errors.New("--full and --watch do not go together: record with --full, then look at the trace")
	case o.Engine == "" || o.Engine == "auto":
		return []string{trace.EngineTranslate, trace.EngineStep}, nil
	case o.Engine == trace.EngineTranslate || o.Engine == trace.EngineStep:
		return []string{o.Engine}, nil
	}
	return nil, fmt.Errorf("--engine %s does not see every instruction: leave --engine out with --full, or write --engine translate or step", o.Engine)
}

// engineOf is the engine that --full asks for by name, or "": the trace tells which
// one it was.
func engineOf(o *CaptureOptions) string {
	if o.Engine == "auto" {
		return ""
	}
	return o.Engine
}

// beginFull begins the flow beside the trace, if it is wanted.
func (l *Program) beginFull() error {
	if !l.o.Capture.Full {
		return nil
	}
	switch {
	case l.o.Record == "":
		return errors.New("--full writes the executed instructions beside the trace: say where with -o FILE")
	case l.o.Last > 0:
		return errors.New("--full and --last do not go together: limit the part with --from, --to or --around")
	}
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return err
	}
	f := &full{id: hex.EncodeToString(id[:]), path: flow.Path(l.o.Record), window: l.o.Capture.Window}
	exe, err := l.proc.Exe()
	if err != nil {
		return err
	}
	file, err := os.Create(f.path)
	if err != nil {
		return fmt.Errorf("record the instructions: %w", err)
	}
	f.file = &spill{File: file}
	part := f.window.String()
	if a := l.o.Capture.Around; a != "" {
		part = "--around " + a
	}
	f.w = flow.NewWriter(f.file, flow.Head{Trace: f.id, Path: exe, Args: l.o.Args, Engine: engineOf(&l.o.Capture), Part: part})
	l.full = f
	if f.on = l.o.Capture.Around == "" && f.window.From == "" && f.window.After == 0; !f.on {
		f.w.Pause()
	}
	return nil
}

// everything is an engine that sees every instruction, also before there is a plan.
type everything interface {
	engine
	Recording(on bool) error
	RunTo(ctx context.Context, addrs ...uint64) (uint64, error)
	Native(f func() error) error
	Begin(plan *probe.Plan, o observe.DeliveryOptions) error
}

// follow makes the first of some engines see all instructions from here on.
func (l *Program) follow(names []string) error {
	var w *flow.Writer
	if l.full != nil {
		w = l.full.w
	}
	var errs []error
	for _, name := range names {
		e, err := followBy(name, l.proc, w)
		if err == nil {
			l.every, l.eng, l.followed = e, e, name
			if l.full == nil {
				return nil
			}
			l.full.recording = e.Recording
			return l.full.began(l.proc)
		}
		errs = append(errs, fmt.Errorf("engine %s: %w", name, err))
		l.o.Capture.log("engine %s can not serve: %v", name, err)
	}
	return errors.Join(errs...)
}

// followBy returns no pointer that is nil in an interface.
func followBy(name string, p *target.Process, w *flow.Writer) (everything, error) {
	if name == trace.EngineStep {
		e, err := step.Attach(p, w)
		if err != nil {
			return nil, err
		}
		return e, nil
	}
	e, err := translated.Record(p, w, translated.Options{})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// began records what the kernel wrote for a program that stands at its exec: arguments
// and environment.
func (f *full) began(p *target.Process) error {
	regs, err := p.Regs(p.PID())
	if err != nil {
		return err
	}
	maps, err := p.Maps()
	if err != nil {
		return err
	}
	stack, ok := mem.FindMap(maps, regs.RSP)
	if !ok {
		return fmt.Errorf("the program has no stack at %#x", regs.RSP)
	}
	return f.w.Other(&flow.Record{
		Kind: flow.Define, Cause: flow.BySyscall, Thread: trace.ThreadID(p.PID()), Number: unix.SYS_EXECVE,
		Mem: flow.Ranges([][2]uint64{{regs.RSP, stack.Hi}}),
	})
}

// native calls f while the program, which is held, can execute its own code.
func (l *Program) native(f func() error) error {
	if l.every == nil {
		return f()
	}
	return l.every.Native(f)
}

// captureFollowed plans, and has the engine that follows the program record events too.
func (l *Program) captureFollowed() error {
	began := time.Now()
	l.Prog.Engine = l.followed
	if l.full != nil {
		l.Prog.Flow = l.full.id
	}
	if err := l.native(func() error { return l.prepare(true) }); err != nil {
		return err
	}
	if err := l.every.Begin(l.plan, observe.DeliveryOptions{Unwind: l.unwinder().Unwinder(), Static: l.wantsStatic()}); err != nil {
		return fmt.Errorf("engine %s: %w", l.followed, err)
	}
	l.o.Capture.log("engine %s: %s; ready in %s", l.followed, l.reasonFor(l.followed, false), time.Since(began).Round(time.Millisecond))
	return nil
}

// limitFull has only the instructions of a part recorded; events are recorded all.
func (l *Program) limitFull() error {
	f, o := l.full, &l.o.Capture
	f.limited = o.Around != "" || o.Window.set()
	if !f.limited {
		return nil
	}
	if o.Around != "" && o.Window.set() {
		return errors.New("--around says all by itself: leave --from, --to and --after out")
	}
	var err error
	if f.around, err = l.functions("--around", o.Around); err != nil {
		return err
	}
	if f.from, err = l.functions("--from", o.Window.From); err != nil {
		return err
	}
	f.to, err = l.functions("--to", o.Window.To)
	return err
}

// unended says that the part has no end of its own, "" if it has one, or was to have none.
func (f *full) unended() string {
	if f == nil || !f.on || len(f.to) == 0 || f.ends != nil {
		return ""
	}
	return neverEnded(f.window.To)
}

func (f *full) turn(on bool) error {
	if f.on == on {
		return nil
	}
	f.on = on
	return f.recording(on)
}

// event sees where the part begins and ends.
func (f *full) event(ev *trace.Event) error {
	if !f.limited || f.over {
		return nil
	}
	call, ret := ev.Kind == trace.KindCall, ev.Kind == trace.KindReturn
	if ret && f.ends != nil && f.ends.thread == ev.Thread && f.ends.sp == ev.SP {
		f.ends = nil
		f.over = len(f.around) == 0
		return f.turn(false)
	}
	if !f.on {
		if call && is(f.from, ev) {
			f.calls++
		}
		switch {
		case call && is(f.around, ev):
		case len(f.around) > 0:
			return nil
		case len(f.from) > 0 && (!call || !is(f.from, ev) || f.calls <= f.window.Calls):
			return nil
		case time.Duration(ev.Wall) < f.window.After:
			return nil
		}
		if err := f.turn(true); err != nil {
			return err
		}
	}
	if call && f.ends == nil && (is(f.to, ev) || is(f.around, ev)) {
		f.ends = &ended{ev.Thread, ev.SP}
	}
	return nil
}

// onLoss says who is told when no more can be written.
func (f *full) onLoss(lost func(error)) {
	if f != nil {
		f.file.tell(func(err error) { lost(fmt.Errorf("record the instructions to %s: %w", f.path, err)) })
	}
}

// cease ends it where the history ends.
func (f *full) cease() error {
	if f == nil {
		return nil
	}
	f.limited, f.over, f.ends = true, true, nil
	return f.turn(false)
}

// finish ends the flow.
func (f *full) finish(t trace.Trailer) {
	if f == nil || f.done {
		return
	}
	f.done = true
	f.file.failed(errors.Join(f.w.Finish(flow.Trailer{Complete: t.Complete, Why: t.Why}), f.file.Close()))
}

// abandon closes the flow of a recording that failed: it stays readable up to its last
// whole section.
func (f *full) abandon() {
	if f == nil || f.done {
		return
	}
	f.done = true
	_ = f.w.Flush() // the recording has failed already, for a reason that is being reported
	_ = f.file.Close()
}

func (f *full) summary() *flow.Summary {
	if f == nil {
		return nil
	}
	s := f.w.Stats()
	return flow.Summarise(f.path, s.Bytes, s.Insts, s.Accesses, s.Blocks, s.Gaps)
}
