package step

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

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
	Stack   int  // bytes of stack captured at allocator calls; default 512; without Unwind none
	MaxData int  // bytes recorded of one write; default 1 MB
	Static  bool // report stores to static data too
	Unwind  capture.Unwinder
	Flow    *flow.Writer // nil: events only
}

// Engine records one process. Attach makes it, Run gives the events, Close ends it.
//
// All work is done on the tracer's goroutine, instruction by instruction: what the
// program has done is with the sink before it goes on.
type Engine struct {
	plan  *probe.Plan
	sites []capture.Site
	proc  *target.Process
	opts  Options
	began time.Time

	// Only the tracer's goroutine uses these.
	observer  *observe.Observer
	assembler *capture.Assembler
	flow      *writer
	threads   map[int]*thread
	pieces    map[uint64]*piece
	notify    uint64 // where the dynamic linker tells of changes; 0: nobody knows
	xsave     uint32 // bytes that xsave may write
	over      bool

	run   chan struct{} // closed: there is a sink
	done  chan struct{} // closed: everything has been given
	ended atomic.Bool
	err   error // of done

	hits, stores, filtered atomic.Uint64
}

// Attach makes the process, which must be held, execute step by step. The plan is one
// for engines in the process (probe.Options.InProcess).
func Attach(plan *probe.Plan, p *target.Process, o Options) (*Engine, error) {
	switch {
	case o.Unwind == nil:
		o.Stack = 0
	case o.Stack == 0:
		o.Stack = 512
	}
	e := &Engine{
		plan: plan, sites: capture.Sites(plan), proc: p, opts: o, began: time.Now(),
		threads: map[int]*thread{}, pieces: map[uint64]*piece{}, run: make(chan struct{}), done: make(chan struct{}),
		flow: newWriter(o.Flow), xsave: target.XsaveSize(),
	}
	brk, err := p.Syscall(unix.SYS_BRK, 0)
	if err != nil {
		return nil, err
	}
	if e.notify, err = p.LinkerNotify(); err != nil {
		return nil, err
	}
	images, err := e.images()
	if err != nil {
		return nil, err
	}
	e.observer = observe.New(plan, e.sites, images, p, observe.Options{Stack: o.Stack, MaxData: o.MaxData, Static: o.Static, Break: brk}, e.take)
	if err := e.adopt(); err != nil {
		return nil, err
	}
	if err := e.flow.modules(plan, images); err != nil {
		return nil, err
	}
	if err := p.SetInterceptor((*interceptor)(e)); err != nil {
		return nil, err
	}
	return e, p.SetStepper((*stepper)(e))
}

// images says where the files of the plan are.
func (e *Engine) images() ([]observe.Image, error) {
	maps, err := e.proc.Maps()
	if err != nil {
		return nil, err
	}
	return observe.Images(e.plan, maps), nil
}

// remap looks where the files of the plan are now.
func (e *Engine) remap() {
	images, err := e.images()
	if err != nil {
		return // it is ending
	}
	for i := range images {
		if images[i].Mapped {
			e.plan.Images[i].Bias = images[i].Bias
		}
	}
	e.observer.Mapped(images)
	e.fail(e.flow.modules(e.plan, images))
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
		e.observer.Thread(t.id, target.StackOf(e.proc.PID(), maps, &regs))
		if err := e.flow.begin(t.id, 0); err != nil {
			return err
		}
	}
	return e.flow.gap(0, "what ran before recording began: the dynamic linker, or a program that was attached to")
}

// Run gives the events to sink until the process is gone or has replaced itself; or
// until ctx is done, or sink fails, whose errors it returns.
func (e *Engine) Run(ctx context.Context, sink capture.Sink) error {
	e.assembler = capture.New(e.plan, e.sites, e.opts.Unwind, sink.Event)
	close(e.run)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-e.done:
			return e.err
		case <-tick.C:
			// A recorder that is killed loses what it had no second for. While a
			// handler runs in which the process is held, that can wait.
			go func() { _ = e.proc.Do(e.flow.flush) }() // it has ended meanwhile
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// take gets the observer's hits.
func (e *Engine) take(h *capture.Hit) error {
	h.Wall = int64(time.Since(e.began))
	h.Instant = e.flow.at
	e.hits.Add(1)
	if h.Op == capture.Store {
		e.stores.Add(1)
	}
	e.filtered.Store(e.observer.Filtered)
	return e.assembler.Hit(h)
}

// tell reports what the tracer sees itself.
func (e *Engine) tell(h capture.Hit) {
	e.flow.at = 0
	e.fail(e.take(&h))
}

// fail ends the recording; the program goes on at full speed.
func (e *Engine) fail(err error) {
	if err == nil || e.over {
		return
	}
	e.stop()
	e.finish(err)
}

// stop takes the engine out of the process.
func (e *Engine) stop() {
	e.over = true
	_ = e.proc.SetStepper(nil) // gone: then nobody is stepped either
}

// finish has Run return.
func (e *Engine) finish(err error) {
	if e.ended.CompareAndSwap(false, true) {
		e.err = err
		close(e.done)
	}
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
	e.finish(nil)
	return err
}

// Ended tells the engine that the process has ended, and how: the last event.
func (e *Engine) Ended(status uint64) {
	if e.ended.Load() {
		return
	}
	<-e.run
	e.flow.settle()
	e.flow.at = 0
	err := e.take(&capture.Hit{Op: capture.Exit, Thread: trace.ThreadID(e.proc.PID()), Index: int(status)})
	e.finish(errors.Join(err, e.flow.err))
}

// Stats returns the counts so far.
func (e *Engine) Stats() capture.Stats {
	n := e.hits.Load()
	return capture.Stats{Stores: e.stores.Load(), Filtered: e.filtered.Load(), Hits: n, Delivered: n}
}

// Unprobed returns nothing: every instruction is seen.
func (e *Engine) Unprobed() []probe.Unprobed { return nil }

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
