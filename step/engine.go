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

// Engine records one process: its instructions from Attach on, its events from Begin on.
// Run gives these to a sink; Close ends the engine.
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
	notify  uint64   // where the dynamic linker tells of changes; 0: nobody knows
	halts   []uint64 // of RunTo
	halted  uint64   // which of them it was
	xsave   uint32   // bytes that xsave may write
	over    bool
}

// Attach makes the process, which must be held, execute step by step, and what it
// executes be written to w; nil: nobody wants to know.
func Attach(p *target.Process, w *flow.Writer) (*Engine, error) {
	d := observe.NewDelivery(p)
	e := &Engine{
		Delivery: d, proc: p, flow: newWriter(w, &d.Instant), threads: map[int]*thread{}, pieces: map[uint64]*piece{}, xsave: target.XsaveSize(),
	}
	tids, err := p.Threads()
	if err != nil {
		return nil, err
	}
	for _, tid := range tids {
		if err := e.flow.begin(e.thread(tid).id, 0); err != nil {
			return nil, err
		}
	}
	if err := p.SetInterceptor((*interceptor)(e)); err != nil {
		return nil, err
	}
	return e, p.SetStepper((*stepper)(e))
}

// RunTo lets the process run until a thread is about to execute the instruction at one of
// some addresses, and returns which. To be called before Run of the process.
func (e *Engine) RunTo(ctx context.Context, addrs ...uint64) (at uint64, err error) {
	e.halts = addrs
	err = e.proc.RunToHalt(ctx)
	e.halts = nil
	return e.halted, err
}

// Native calls f while the process, which is held, can execute its own code: it always
// can.
func (*Engine) Native(f func() error) error { return f() }

// Begin has events recorded from now on, of a plan for engines in the process
// (probe.Options.InProcess). The process must be held.
func (e *Engine) Begin(plan *probe.Plan, o observe.DeliveryOptions) error {
	brk, err := e.proc.Syscall(unix.SYS_BRK, 0)
	if err != nil {
		return err
	}
	if e.notify, err = e.proc.LinkerNotify(); err != nil {
		return err
	}
	maps, err := e.proc.Maps()
	if err != nil {
		return err
	}
	e.Delivery.Begin(plan, observe.Images(plan, maps), brk, o)
	for tid, t := range e.threads {
		regs, err := e.proc.Regs(tid)
		if err != nil {
			return err
		}
		e.Observer.Thread(t.id, target.StackOf(e.proc.PID(), maps, &regs))
	}
	return e.flow.modules(e.Modules())
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
