package inline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mgtrace/capture"
	"mgtrace/inline/emit"
	"mgtrace/inline/hook"
	"mgtrace/inline/layout"
	"mgtrace/inline/log"
	"mgtrace/inline/matter"
	"mgtrace/inline/patch"
	"mgtrace/probe"
	"mgtrace/target"
	"mgtrace/target/undo"
	"mgtrace/trace"
)

// Options of an engine; zero values stand for the defaults.
type Options struct {
	Buffer  int  // bytes of each of the two buffers of the first threads; default 16 MB, at least 64 KB
	Stack   int  // bytes of stack captured at allocator calls; default probe.Plan.StackBytes; without Unwind none
	MaxData int  // bytes recorded of one write; default 1 MB
	Threads int  // at most so many at once; default 2048
	Static  bool // report stores to static data too
	Strict  bool // a place in the total order for each store, not only for those that synchronise
	// Hold holds each thread at points, calls and returns of watched functions
	// until what it did is with the sink.
	Hold bool
	// Apart has the sink do its work beside the reader, a little later, where there
	// are processors for it; what it has taken is certain when Sync returns.
	Apart  bool
	Unwind *capture.CallFrames // the engine has it for itself, and Learned is its own
	// Filter drops stores where they happen that reach no block which may
	// matter: see Engine.Tell. Where that can not be had all are recorded,
	// and Warnings says so.
	Filter bool
	Matter matter.Blocks // with Filter
	// Undo is told how to take the engine out before it is put in, for TakeBack, if
	// this process may be killed and the other one is to live; nil: it dies as well.
	Undo      *undo.Writer
	Libraries capture.Libraries // nil: nobody wants to know

	sigsegv bool // guard pages raise SIGSEGV, as without userfaultfd
}

func (o *Options) fill(plan *probe.Plan) {
	if o.Buffer == 0 {
		o.Buffer = 16 << 20
		if o.Matter.Barren {
			o.Buffer = 4 << 20 // what is asked of the program comes as late as buffers are large
		}
	}
	o.Buffer = max(o.Buffer, minBuffer)
	switch {
	case o.Unwind == nil:
		o.Stack = 0
	case o.Stack == 0:
		o.Stack = plan.StackBytes()
	}
	if o.MaxData == 0 {
		o.MaxData = 1 << 20
	}
	if o.Threads == 0 {
		o.Threads = 2048
	}
}

// Engine records one process. Attach makes it, Run reads it, Close removes it.
type Engine struct {
	plan   *probe.Plan
	sites  []capture.Site
	images []*image // by index in the plan; nil: not mapped
	proc   *target.Process
	opts   Options
	filter emit.Filter

	arena  *arena
	tables *hook.Tables
	at     tableAddrs
	hook   uint64 // address of the hook routine
	shadow uint64 // of the shadow table; 0: none
	places []hookPlace
	began  target.Moment
	clock  log.Clock    // set by Run
	known  *knownStacks // set by Run; nil: stacks are not unwound

	// Only the tracer's goroutine uses these.
	units   []*unit
	notify  uint64 // where the dynamic linker tells of changes; 0: nobody waits for that
	numbers map[placeKey]int
	regions regions
	of      map[int]*slot // by thread

	streams sync.Mutex // guards the slots' streams, and arena.slots
	wake    chan struct{}
	freed   chan struct{} // a buffer was read, or all that a thread has left
	syncs   chan request
	done    chan struct{} // Run has returned
	over    bool          // the process is gone or has replaced itself (under streams)

	unprobed []probe.Unprobed
	warnings []string
	limit    uint64 // of the process's memory (RLIMIT_AS), bytes
	tactics  [patch.NumTactics]int
	traps    atomic.Uint64
	stops    atomic.Uint64
	merged   atomic.Pointer[log.Stats]
	failure  error        // of the tracer's side (under streams)
	exit     *capture.Hit // the last event (under streams)
	closed   bool
	removed  bool     // everything is out of the process
	undo     []uint64 // entries in Options.Undo
}

// tableAddrs is where the hook routine's tables lie in the process.
type tableAddrs struct{ sites, stores, funcs, syscalls, verdicts, late, paths, barren, named, end uint64 }

// Attach patches a process according to the plan, which must be made for it
// (probe.Options.InProcess). The process must be held; when Attach returns it
// can run on. On an error nothing is left behind.
func Attach(plan *probe.Plan, p *target.Process, o Options) (e *Engine, err error) {
	o.fill(plan)
	e = &Engine{
		plan: plan, sites: capture.Sites(plan), proc: p, opts: o, began: target.Now(),
		of: map[int]*slot{}, numbers: map[placeKey]int{},
		wake: make(chan struct{}, 1), freed: make(chan struct{}, 1), syncs: make(chan request), done: make(chan struct{}),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Close())
			e = nil
		}
	}()
	if err := e.locateImages(); err != nil {
		return e, err
	}
	warning, err := e.opts.fit(p)
	if err != nil {
		return e, err
	}
	if warning != "" {
		e.warnings = append(e.warnings, warning)
	}
	e.limit = memoryLimit(p.PID())
	if err := e.share(); err != nil {
		return e, err
	}
	if err := e.awaitLibraries(); err != nil {
		return e, err
	}
	var mapped []int
	for i, im := range e.images {
		if im != nil {
			mapped = append(mapped, i)
		}
	}
	u, err := e.makeUnit(mapped)
	if err != nil {
		return e, err
	}
	if err := e.adopt(); err != nil {
		return e, err
	}
	if err := p.SetInterceptor((*interceptor)(e)); err != nil {
		return e, err
	}
	if err := e.install(u); err != nil || e.notify == 0 {
		return e, err
	}
	if u, err = e.breakpoint(); err != nil {
		return e, err
	}
	return e, e.install(u)
}

// locateImages finds the files of the plan in the process.
func (e *Engine) locateImages() error {
	maps, err := e.proc.Maps()
	if err != nil {
		return err
	}
	e.images = make([]*image, len(e.plan.Images))
	for i, im := range e.plan.Images {
		if e.images[i], err = locate(im, maps, e.proc); err != nil {
			return err
		}
	}
	if e.images[0] == nil {
		return fmt.Errorf("%s is not mapped in process %d", e.plan.Images[0].Path, e.proc.PID())
	}
	return nil
}

// adopt gives the threads that exist their slots.
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
		if regs.GSBase != 0 { // whoever has a slot gets GS base 0 in the end
			return fmt.Errorf("thread %d uses the GS segment itself: --engine ebpf can record it", tid)
		}
		s, err := e.give(nil, tid, target.StackOf(e.proc.PID(), maps, &regs), false)
		if err != nil {
			return err
		}
		regs.GSBase = s.base
		if err := e.proc.SetRegs(tid, regs); err != nil {
			return err
		}
	}
	return nil
}

// give gives a thread a slot; fresh: the program has just made it.
func (e *Engine) give(th *target.Stopped, tid int, stack [2]uint64, fresh bool) (*slot, error) {
	e.awaitSlot()
	e.streams.Lock()
	defer e.streams.Unlock()
	s, err := e.arena.take(th)
	if err != nil {
		return nil, err
	}
	if len(e.of) > 0 {
		*e.arena.process(layout.Many) = 1 // nobody takes a stamp now: its maker is making it
	}
	s.begin(tid, e.hook, stack)
	s.stamp = e.arena.stamp()
	if fresh {
		s.notes = append(s.notes, note{stamp: s.stamp, hit: e.hit(capture.Thread, tid)})
	}
	e.of[tid] = s
	return s, nil
}

// awaitSlot waits where all slots are taken for that of a thread which has ended: the reader may be late.
func (e *Engine) awaitSlot() {
	for {
		e.streams.Lock()
		waits := e.arena.full() && len(e.of) < len(e.arena.slots)
		e.streams.Unlock()
		if !waits {
			return
		}
		e.awake()
		select {
		case <-e.freed:
		case <-e.done:
			return
		}
	}
}

// Began is when the events' time begins.
func (e *Engine) Began() time.Time { return e.began.At }

// wall is the time since recording began, ns.
func (e *Engine) wall() int64 { return int64(time.Since(e.began.At)) }

// hit is one that the tracer sees itself.
func (e *Engine) hit(op capture.Op, tid int) *capture.Hit {
	return &capture.Hit{Op: op, Thread: trace.ThreadID(tid), Wall: e.wall()}
}

// Stats returns the counts so far.
func (e *Engine) Stats() capture.Stats {
	s := capture.Stats{Traps: e.traps.Load(), Stops: e.stops.Load()}
	if m := e.merged.Load(); m != nil {
		s.Stores, s.Filtered = m.Stores, m.Filtered
		s.Delivered = m.Stores + m.Hits
		s.Hits = s.Delivered
	}
	for t := patch.B1; t < patch.NumTactics; t++ {
		s.Tactics = append(s.Tactics, trace.Tactic{Name: t.String(), Sites: e.tactics[t]})
	}
	return s
}

// Unprobed returns the places that could not be patched, beyond those of the
// plan: more than before when the program has opened a library.
func (e *Engine) Unprobed() []probe.Unprobed {
	e.streams.Lock()
	defer e.streams.Unlock()
	return slices.Clone(e.unprobed)
}

// Warnings tell what else could not be done or was noticed since they were asked for last.
func (e *Engine) Warnings() []string {
	w := e.warnings
	e.warnings = nil
	return w
}

// Sync waits until everything that the process, which must be held, did is with
// the sink.
func (e *Engine) Sync(ctx context.Context) error {
	if err := e.proc.Do(e.settleAll); err != nil && !errors.Is(err, target.ErrExited) {
		return err
	}
	e.noticeLimit()
	return e.ask(ctx, request{all: true})
}

// request is made of the reader: to bring what there is to the sink.
type request struct {
	all    bool                // the process is held: no last store is to be waited for
	then   func(*reader) error // is done behind that, while the sink is at rest; nil: nothing
	answer chan error
}

// ask waits until the reader has done as it is told, or reads no more.
func (e *Engine) ask(ctx context.Context, req request) error {
	req.answer = make(chan error, 1)
	select {
	case e.syncs <- req:
	case <-e.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-req.answer:
		return err
	case <-e.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close takes everything out of the process, if it lives: its code is as it
// was, and its threads are outside of trampolines. It may be called at any time
// after Attach, and more than once.
func (e *Engine) Close() error {
	if e.closed {
		return nil
	}
	e.closed = true
	var errs []error
	inUse := false
	if _, ended := e.proc.Status(); !ended && !e.removed && e.arena != nil {
		err := e.remove()
		inUse = err != nil && !killed(err)
		e.removed = err == nil
		errs = append(errs, err)
	}
	if !inUse {
		errs = append(errs, e.nothingToUndo())
	}
	if e.arena != nil && !inUse { // else threads are in trampolines still, and the tracer looks there
		if e.arena.guards != nil {
			e.arena.guards.close()
		}
		e.arena.close()
	}
	for i, err := range errs {
		if killed(err) {
			errs[i] = nil // it ended meanwhile
		}
	}
	return errors.Join(errs...)
}
