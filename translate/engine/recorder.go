package engine

import (
	"context"
	"errors"
	"io"

	"golang.org/x/sys/unix"

	"mgtrace/capture"
	"mgtrace/capture/observe"
	"mgtrace/flow"
	"mgtrace/probe"
	"mgtrace/target"
	"mgtrace/target/mem"
	"mgtrace/trace"
	"mgtrace/translate"
)

// RecordOptions of a Recorder; zero values stand for the defaults.
type RecordOptions struct {
	Options
	observe.DeliveryOptions
	Flow *flow.Writer // nil: events only
}

// Recorder is the engine as a capture engine: it gives the events of a plan as every
// engine does, each with the instant of its instruction, and writes the flow.
//
// All work is done on the tracer's goroutine. Plain stores are recorded with their
// values as the program goes on; at every other site of the plan it stops.
type Recorder struct {
	*Engine
	*observe.Delivery
	w      *flow.Writer
	wanted bool // somebody asked for the flow: w is not for nothing

	at      map[uint64]translate.Site
	notify  uint64 // where the dynamic linker tells of changes; 0: nobody knows
	memory  overlay
	storeAt map[uint64]int // index in Plan.Stores, by address; nil: not made yet
	regs    mem.Regs       // of a store, made up of its record
}

// overlay is the process's memory, but for what a store has written, which may be
// something else by now.
type overlay struct {
	mem.Memory
	addr uint64
	data []byte
}

func (o *overlay) ReadMemory(b []byte, addr uint64) (int, error) {
	if o.data != nil && addr == o.addr && len(b) <= len(o.data) {
		return copy(b, o.data), nil
	}
	return o.Memory.ReadMemory(b, addr)
}

// Record makes the process, which must be held and have one thread, run as
// translations that record. The plan is one for engines in the process
// (probe.Options.InProcess).
func Record(plan *probe.Plan, p *target.Process, o RecordOptions) (*Recorder, error) {
	r := &Recorder{w: o.Flow, wanted: o.Flow != nil}
	brk, err := p.Syscall(unix.SYS_BRK, 0)
	if err != nil {
		return nil, err
	}
	if r.notify, err = p.LinkerNotify(); err != nil {
		return nil, err
	}
	maps, err := p.Maps()
	if err != nil {
		return nil, err
	}
	if r.w == nil {
		r.w = flow.NewWriter(io.Discard, flow.Head{})
		r.w.Pause()
	}
	r.memory.Memory = p
	r.Delivery = observe.NewDelivery(plan, observe.Images(plan, maps), &r.memory, brk, o.DeliveryOptions)
	r.place()
	o.Told = true
	if r.Engine, err = attach(p, r.w, o.Options, r); err != nil {
		return nil, err
	}
	return r, nil
}

// begun takes in a thread that has not executed anything yet.
func (r *Recorder) begun(th *target.Stopped, t *thread, regs *mem.Regs, from int) error {
	maps, err := r.proc.Maps()
	if err != nil {
		return err
	}
	id := trace.ThreadID(t.tid)
	if from == 0 {
		r.Observer.Thread(id, target.StackOf(r.proc.PID(), maps, regs))
		if err := r.w.Other(&flow.Record{Kind: flow.Gap, Why: "what ran before recording began: the dynamic linker"}); err != nil {
			return err
		}
		return r.modules()
	}
	stack := target.NewStack(th, r.proc.PID(), maps, regs)
	if stack[0] == 0 {
		stack = target.StackOf(r.proc.PID(), maps, regs)
	}
	r.Observer.Thread(id, stack)
	r.tell(capture.Hit{Op: capture.Thread, Thread: id})
	return nil
}

// place says what is wanted where.
func (r *Recorder) place() {
	r.at, r.storeAt = make(map[uint64]translate.Site, len(r.Sites)), nil
	for i := range r.Sites {
		s := &r.Sites[i]
		im := &r.Images[s.Image]
		if !im.Mapped {
			continue
		}
		kind := translate.NoSite
		stops := len(s.Points) > 0 || s.Landing || s.After || s.Locked >= 0
		for _, f := range append(append([]int(nil), s.Enter...), s.Leave...) {
			stops = stops || r.Plan.Funcs[f].Role != probe.RoleWait
		}
		switch {
		case stops && s.Store >= 0:
			kind = translate.StopBothSite
		case stops:
			kind = translate.StopSite
		case s.Store >= 0:
			kind = translate.StoreSite
		}
		if kind != translate.NoSite {
			r.at[im.Bias+s.Addr] = kind
		}
	}
	if r.notify != 0 && r.at[r.notify] < translate.StopSite {
		r.at[r.notify] = translate.StopSite
	}
}

func (r *Recorder) site(pc uint64) translate.Site { return r.at[pc] }

// remap looks where the files of the plan are now.
func (r *Recorder) remap() {
	maps, err := r.proc.Maps()
	if err != nil {
		return // it is ending
	}
	images := observe.Images(r.Plan, r.space.asWanted(maps))
	for i := range images {
		if im := &images[i]; im.Mapped && im.Code != r.Images[i].Code {
			r.forget(im.Code[0], im.Code[1]) // what was translated knew of no sites
		}
	}
	r.Remap(images)
	r.place()
	if err := r.modules(); err != nil {
		r.fail(err)
	}
}

// modules tells of files that have been mapped.
func (r *Recorder) modules() error {
	news := r.Modules()
	for i := range news {
		if err := r.w.Other(&flow.Record{Kind: flow.Map, Module: &news[i]}); err != nil {
			return err
		}
	}
	return nil
}

// Run gives the events to sink until the process is gone or has replaced itself; or
// until ctx is done, or sink fails, whose errors it returns.
func (r *Recorder) Run(ctx context.Context, sink capture.Sink) error {
	return r.Serve(ctx, sink, func() { _ = r.proc.Do(r.flush) }) // it has ended meanwhile
}

func (r *Recorder) flush() {
	if err := r.w.Flush(); err != nil {
		r.fail(err)
	}
}

// tell reports what the tracer sees itself.
func (r *Recorder) tell(h capture.Hit) {
	if err := r.Tell(h); err != nil {
		r.fail(err)
	}
}

// next is the instant of the instruction that is executed next.
func (r *Recorder) next() trace.Instant {
	if r.w.Paused() {
		return 0
	}
	return r.w.Instant()
}

// before: a thread, whose log is empty, is about to execute the instruction at
// regs.RIP, which is a site.
func (r *Recorder) before(t *thread, regs *mem.Regs) {
	if regs.RIP == r.notify {
		r.remap()
	}
	r.Instant = r.next()
	t.about = regs.RIP
	if err := r.Observer.Before(trace.ThreadID(t.tid), regs); err != nil {
		r.fail(err)
	}
}

// latest is the instant of what a thread, whose log is empty, has executed last. Others
// may have run since.
func (r *Recorder) latest(t *thread) trace.Instant {
	if r.w.Paused() {
		return 0
	}
	return t.last
}

// after: it has.
func (r *Recorder) after(t *thread, regs *mem.Regs) {
	r.Instant = r.latest(t)
	t.about = 0
	if err := r.Observer.After(trace.ThreadID(t.tid), regs); err != nil {
		r.fail(err)
	}
}

// led: a signal leads a thread away, which is about to go on with these registers.
func (r *Recorder) led(t *thread, regs *mem.Regs) {
	switch t.about {
	case 0:
		return
	case regs.RIP:
		t.about = 0
		if r.Instant = r.next(); t.partial && r.Instant > 0 {
			r.Instant--
		}
		if err := r.Observer.Cancel(trace.ThreadID(t.tid), regs); err != nil {
			r.fail(err)
		}
	default:
		r.after(t, regs)
	}
}

// stored tells of the stores among the first n instructions of a block's execution,
// whose first instruction has an instant.
func (r *Recorder) stored(t *thread, l *translate.Layout, rec []byte, n int, at trace.Instant) {
	id := trace.ThreadID(t.tid)
	for i := range l.Stores {
		s := &l.Stores[i]
		if s.Inst >= n {
			return
		}
		g := registers(&r.regs)
		if s.BaseReg >= 0 {
			*g[s.BaseReg] = s.Base.In(rec)
		}
		if s.IndexReg >= 0 {
			*g[s.IndexReg] = s.Index.In(rec)
		}
		r.regs.RSP, r.regs.RIP, r.regs.FSBase = s.SP.In(rec), l.PC(s.Inst), t.fs
		if r.Instant = 0; at != 0 {
			r.Instant = at + trace.Instant(s.Inst)
		}
		index, ok := r.index(r.regs.RIP)
		if !ok {
			continue // its file was unmapped meanwhile
		}
		r.memory.addr, r.memory.data = observe.Address(&r.Plan.Stores[index].Effect, &r.regs), s.Bytes(rec)
		err := errors.Join(r.Observer.Before(id, &r.regs), r.Observer.After(id, &r.regs))
		r.memory.data = nil
		if err != nil {
			r.fail(err)
			return
		}
	}
}

// index is that of the store at pc in the plan.
func (r *Recorder) index(pc uint64) (int, bool) {
	if r.storeAt == nil {
		r.storeAt = map[uint64]int{}
		for i := range r.Sites {
			if s := &r.Sites[i]; s.Store >= 0 && r.Images[s.Image].Mapped {
				r.storeAt[r.Images[s.Image].Bias+s.Addr] = s.Store
			}
		}
	}
	i, ok := r.storeAt[pc]
	return i, ok
}

// called tells of a system call, which has returned with these registers.
func (r *Recorder) called(t *thread, nr uint64, regs *mem.Regs) {
	r.Instant = r.latest(t)
	id := trace.ThreadID(t.tid)
	var err error
	if !t.calls {
		was := *regs
		was.RAX = nr
		was.RIP -= 2
		err = r.Observer.BeforeCall(id, &was)
	}
	t.calls = false
	if err = errors.Join(err, r.Observer.AfterCall(id, regs, func(uint64, uint64) {})); err != nil {
		r.fail(err)
	}
}

// calling tells of a system call that is about to be made.
func (r *Recorder) calling(t *thread, regs *mem.Regs) {
	r.Instant = r.next()
	t.calls = true
	if err := r.Observer.BeforeCall(trace.ThreadID(t.tid), regs); err != nil {
		r.fail(err)
	}
}

// reported are the signals that are events even if the program handles them.
const reported = 1<<(unix.SIGSEGV-1) | 1<<(unix.SIGBUS-1) | 1<<(unix.SIGILL-1) | 1<<(unix.SIGFPE-1) | 1<<(unix.SIGABRT-1)

// signalled tells of a signal.
func (r *Recorder) signalled(t *thread, sig int, info target.Siginfo, regs *mem.Regs, handled, ends bool) {
	if reported>>(sig-1)&1 == 0 && !ends {
		return
	}
	h := capture.Hit{Op: capture.Signal, Thread: trace.ThreadID(t.tid), Index: sig, PC: regs.RIP, SP: regs.RSP}
	if info.Code > 0 && sig != int(unix.SIGABRT) {
		h.Addr = info.Addr
	}
	if handled {
		h.Base = 1
	}
	r.tell(h)
}

// Recording says whether the flow has the instructions from now on. It may be called by
// the sink.
func (r *Recorder) Recording(on bool) error {
	if !r.wanted {
		return nil
	}
	return r.proc.Do(func() {
		switch {
		case on == !r.w.Paused():
		case on:
			if err := r.w.Resume(); err != nil {
				r.fail(err)
			}
		default:
			r.w.Pause()
		}
	})
}

// Sync brings what the process, which is held, has done to the sink.
func (r *Recorder) Sync(context.Context) error {
	return r.proc.Do(func() {
		for _, t := range r.threads {
			r.consume(t) // in the middle of a block it has a record there
		}
	})
}

// Detach ends the recording. The process can not go on without the engine: it is to be
// ended.
func (r *Recorder) Detach() error {
	err := r.Sync(context.Background())
	r.Finish(nil)
	return err
}

// Ended tells the engine that the process has ended, and how: the last event.
func (r *Recorder) Ended(status uint64) {
	if r.Finished() {
		return
	}
	err := r.Tell(capture.Hit{Op: capture.Exit, Thread: trace.ThreadID(r.proc.PID()), Index: int(status)})
	r.Finish(errors.Join(r.failure, err))
}

// Stats returns the counts of events so far.
func (r *Recorder) Stats() capture.Stats { return r.Delivery.Stats() }

// Close ends the engine.
func (r *Recorder) Close() error {
	r.Finish(nil)
	return r.Engine.Close()
}
