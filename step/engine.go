package step

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"mgtrace/capture"
	"mgtrace/capture/observe"
	"mgtrace/flow"
	"mgtrace/probe"
	"mgtrace/target"
	"mgtrace/trace"
)

// Options of an engine; zero values stand for the defaults.
type Options struct {
	observe.DeliveryOptions
	Flow *flow.Writer // nil: events only
}

// Engine records one process. Attach makes it, Run gives the events, Close ends it.
//
// All work is done on the tracer's goroutine, instruction by instruction: what the
// program has done is with the sink before it goes on.
type Engine struct {
	*observe.Delivery
	proc *target.Process

	// Only the tracer's goroutine uses these.
	flow    *writer
	threads map[int]*thread
	pieces  map[uint64]*piece
	notify  uint64 // where the dynamic linker tells of changes; 0: nobody knows
	xsave   uint32 // bytes that xsave may write
	over    bool
}

// Attach makes the process, which must be held, execute step by step. The plan is one
// for engines in the process (probe.Options.InProcess).
func Attach(plan *probe.Plan, p *target.Process, o Options) (*Engine, error) {
	brk, err := p.Syscall(unix.SYS_BRK, 0)
	if err != nil {
		return nil, err
	}
	notify, err := p.LinkerNotify()
	if err != nil {
		return nil, err
	}
	maps, err := p.Maps()
	if err != nil {
		return nil, err
	}
	d := observe.NewDelivery(plan, observe.Images(plan, maps), p, brk, o.DeliveryOptions)
	e := &Engine{
		Delivery: d, proc: p, flow: newWriter(o.Flow, &d.Instant), threads: map[int]*thread{}, pieces: map[uint64]*piece{},
		notify: notify, xsave: target.XsaveSize(),
	}
	if err := e.adopt(); err != nil {
		return nil, err
	}
	if err := e.flow.modules(e.Modules()); err != nil {
		return nil, err
	}
	if err := p.SetInterceptor((*interceptor)(e)); err != nil {
		return nil, err
	}
	return e, p.SetStepper((*stepper)(e))
}

// remap looks where the files of the plan are now.
func (e *Engine) remap() {
	maps, err := e.proc.Maps()
	if err != nil {
		return // it is ending
	}
	e.Remap(observe.Images(e.Plan, maps))
	e.fail(e.flow.modules(e.Modules()))
}

// adopt takes in the threads that exist.
func (e *Engine) adopt() error {
	tids, err := e.proc.Threads()
	if err != nil {
		return err
	}
	maps, err := e.proc.Maps()
	if err != nil {
		return err
	}
	for _, tid := range tids {
		regs, err := e.proc.Regs(tid)
		if err != nil {
			return err
		}
		t := e.thread(tid)
		e.Observer.Thread(t.id, target.StackOf(e.proc.PID(), maps, &regs))
		if err := e.flow.begin(t.id, 0); err != nil {
			return err
		}
	}
	return e.flow.gap(0, "what ran before recording began: the dynamic linker, or a program that was attached to")
}

// Run gives the events to sink until the process is gone or has replaced itself; or
// until ctx is done, or sink fails, whose errors it returns.
func (e *Engine) Run(ctx context.Context, sink capture.Sink) error {
	return e.Serve(ctx, sink, func() { _ = e.proc.Do(e.flow.flush) }) // it has ended meanwhile
}

// tell reports what the tracer sees itself.
func (e *Engine) tell(h capture.Hit) { e.fail(e.Tell(h)) }

// fail ends the recording; the program goes on at full speed.
func (e *Engine) fail(err error) {
	if err == nil || e.over {
		return
	}
	e.stop()
	e.Finish(err)
}

// stop takes the engine out of the process.
func (e *Engine) stop() {
	e.over = true
	_ = e.proc.SetStepper(nil) // gone: then nobody is stepped either
}

// Recording says whether the flow has the instructions from now on, with that which is
// being executed. It may be called by the sink.
func (e *Engine) Recording(on bool) error {
	return e.proc.Do(func() { e.flow.recording(on) })
}

// Sync has nothing to wait for.
func (e *Engine) Sync(context.Context) error { return nil }

// Detach ends the recording of a process that goes on.
func (e *Engine) Detach() error {
	err := e.proc.Do(func() {
		e.flow.settle()
		e.stop()
	})
	e.Finish(nil)
	return err
}

// Ended tells the engine that the process has ended, and how: the last event.
func (e *Engine) Ended(status uint64) {
	if e.Finished() {
		return
	}
	e.flow.settle()
	err := e.Tell(capture.Hit{Op: capture.Exit, Thread: trace.ThreadID(e.proc.PID()), Index: int(status)})
	e.Finish(errors.Join(err, e.flow.err))
}

// Close lets the process, if it lives, go on at full speed.
func (e *Engine) Close() error {
	err := e.proc.Do(func() {
		e.flow.settle()
		e.stop()
	})
	if errors.Is(err, target.ErrExited) {
		return nil
	}
	return err
}
