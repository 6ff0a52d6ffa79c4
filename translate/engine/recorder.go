package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"mgtrace/capture"
	"mgtrace/capture/observe"
	"mgtrace/flow"
	"mgtrace/inline/hook"
	"mgtrace/inline/layout"
	"mgtrace/inline/log"
	"mgtrace/probe"
	"mgtrace/target"
	"mgtrace/target/mem"
	"mgtrace/trace"
	"mgtrace/translate"
	"mgtrace/x86"
)

// Recorder is the engine as a capture engine: it writes the flow, and from Begin on it
// gives the events of a plan as every engine does, each with the instant of its
// instruction.
//
// All work is done on the tracer's goroutine. What happens at the sites of the plan is in
// the threads' logs: plain stores with their values in the records of blocks, and what the
// hook routine notes at the others. System calls are looked at where the thread stops.
type Recorder struct {
	*Engine
	*observe.Delivery
	w      *flow.Writer
	wanted bool // somebody asked for the flow: w is not for nothing

	at      map[uint64]int            // sites of the plan, by address
	told    map[uint64]translate.Site // what translations were told of them
	notify  uint64                    // where the dynamic linker tells of changes; 0: nobody knows
	halts   []uint64                  // of RunTo
	halted  uint64                    // which of them it was
	notes   *notes
	began   target.Moment
	decoder log.Decoder
}

// Record makes the process, which must be held and have one thread, run as
// translations that record to w; nil: nobody wants to know the instructions.
func Record(p *target.Process, w *flow.Writer, o Options) (*Recorder, error) {
	r := &Recorder{w: w, wanted: w != nil, Delivery: observe.NewDelivery(p)}
	if r.w == nil {
		r.w = flow.NewWriter(io.Discard, flow.Head{})
		r.w.Pause()
	}
	var err error
	if r.Engine, err = attach(p, r.w, o, r); err != nil {
		return nil, err
	}
	return r, nil
}

// RunTo lets the process run until a thread is about to execute the instruction at one of
// some addresses, and returns which. To be called before Run of the process.
func (r *Recorder) RunTo(ctx context.Context, addrs ...uint64) (at uint64, err error) {
	if err := r.proc.Do(func() {
		r.halts = addrs
		r.renew(func(pc uint64) bool { return slices.Contains(addrs, pc) })
	}); err != nil {
		return 0, err
	}
	err = r.proc.RunToHalt(ctx)
	r.halts = nil
	return r.halted, errors.Join(r.failure, err)
}

// Native calls f while the process, which is held, can execute its own code, as
// Process.Call has it do.
func (r *Recorder) Native(f func() error) error {
	if err := r.giveExec(); err != nil {
		return err
	}
	err := f()
	maps, merr := r.proc.Maps()
	if merr != nil {
		return errors.Join(err, merr)
	}
	return errors.Join(err, r.takeExec(maps))
}

// Begin has events recorded from now on, of a plan for engines in the process
// (probe.Options.InProcess). The process must be held, and have one thread still.
func (r *Recorder) Begin(plan *probe.Plan, o observe.DeliveryOptions) error {
	r.began = target.Now()
	brk, err := r.proc.Syscall(unix.SYS_BRK, 0)
	if err != nil {
		return err
	}
	if r.notify, err = r.proc.LinkerNotify(); err != nil {
		return err
	}
	maps, err := r.proc.Maps()
	if err != nil {
		return err
	}
	r.Delivery.Begin(plan, observe.Images(plan, r.space.asWanted(maps)), brk, o)
	if err := r.notes.begin(plan, r.Sites, r.Options); err != nil {
		return err
	}
	r.notes.mapped(r.Images)
	r.place()
	if err := errors.Join(r.StoreSites(log.NewTable(plan, false).Sites()), r.modules()); err != nil {
		return err
	}
	var inner error
	err = r.proc.Do(func() { inner = r.replace(maps) })
	return errors.Join(err, inner)
}

// replace leads the program's thread to translations that know of the plan.
func (r *Recorder) replace(maps []mem.Map) error {
	t := r.threads[r.proc.PID()]
	if t == nil || len(r.threads) != 1 {
		return fmt.Errorf("the program has %d threads already", len(r.threads))
	}
	th, err := r.proc.Thread(t.tid)
	if err != nil {
		return err
	}
	regs, err := th.Regs()
	if err != nil {
		return err
	}
	if err := r.leave(th, t, &regs, false); err != nil {
		return err
	}
	r.owns(t, target.StackOf(r.proc.PID(), maps, &regs))
	r.renew(func(pc uint64) bool { _, ok := r.at[pc]; return ok || pc == r.notify })
	return r.enter(th, &regs, regs.RIP)
}

// renew forgets the translations of code in which something is wanted now.
func (r *Recorder) renew(wanted func(pc uint64) bool) {
	r.drop(func(b *block) bool {
		for i := range b.layout.Insts {
			if wanted(b.layout.PC(i)) {
				return true
			}
		}
		return false
	})
}

// begun takes in a thread that has not executed anything yet.
func (r *Recorder) begun(th *target.Stopped, t *thread, regs *mem.Regs) {
	r.owns(t, r.proc.NewStack(th, regs))
	r.tell(capture.Hit{Op: capture.Thread, Thread: trace.ThreadID(t.tid)})
}

// owns tells which stack is a thread's: stores to it are not wanted.
func (r *Recorder) owns(t *thread, stack [2]uint64) {
	own := log.Range{Lo: stack[0], Hi: stack[1]}
	if r.Plan != nil && r.Plan.Frames() {
		own = log.Range{}
	}
	t.filter = log.NewFilter(r.static(), own)
	t.wall = int64(time.Since(r.began.At))
	t.set(layout.Process, notesAt)
	t.set(layout.StackLo, stack[0])
	t.set(layout.StackHi, stack[1])
}

// static is data whose stores are not wanted.
func (r *Recorder) static() (out []log.Range) {
	for _, s := range r.Observer.Unwanted() {
		out = append(out, log.Range{Lo: s[0], Hi: s[1]})
	}
	return out
}

// place notes where the sites of the plan are.
func (r *Recorder) place() {
	r.at, r.told = make(map[uint64]int, len(r.Sites)), map[uint64]translate.Site{}
	for i := range r.Sites {
		s := &r.Sites[i]
		if im := &r.Images[s.Image]; im.Mapped && (s.Store >= 0 || r.notes.wanted(s)) {
			r.at[im.Bias+s.Addr] = i
		}
	}
}

// site says what is wanted at an instruction; plain: the value that it stores can be
// recorded with its block.
func (r *Recorder) site(pc uint64, plain bool) translate.Site {
	stop := pc == r.notify && pc != 0 || slices.Contains(r.halts, pc)
	i, ok := r.at[pc]
	if !ok {
		return translate.Site{Stop: stop}
	}
	if told, ok := r.told[pc]; ok {
		return told
	}
	s := &r.Sites[i]
	out := translate.Site{Stop: stop}
	switch {
	case s.Store < 0:
	case plain:
		out.Store = uint32(s.Store) + 1
	default:
		out.After = true
	}
	if out.After || r.notes.wanted(s) {
		n, err := r.notes.add(i, pc, out.After)
		if err != nil {
			r.fail(err)
		}
		out.Note = n + 1
	}
	r.told[pc] = out
	return out
}

// reached deals with a thread that is about to execute an instruction at which it stops.
func (r *Recorder) reached(th *target.Stopped, pc uint64) {
	switch {
	case slices.Contains(r.halts, pc):
		r.halted = pc
		th.Halt()
	case pc == r.notify:
		r.remap()
	}
}

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
	r.notes.mapped(images)
	for _, t := range r.threads {
		t.filter.SetStatic(r.static())
	}
	r.place()
	if err := errors.Join(r.StoreSites(log.NewTable(r.Plan, false).Sites()), r.modules()); err != nil {
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
	r.decoder.Clock = log.NewClock(r.began.Since())
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

// latest is the instant of what a thread, whose log is empty, has executed last. Others
// may have run since.
func (r *Recorder) latest(t *thread) trace.Instant {
	if r.w.Paused() {
		return 0
	}
	return t.last
}

// noted gives what the hook routine has noted, at the start of rec, to the sink, and
// returns how many bytes it takes. What it notes behind an instruction is a store; all
// else is of the instruction that comes next.
func (r *Recorder) noted(t *thread, rec []byte) (int, error) {
	h, n, err := r.decoder.Decode(trace.ThreadID(t.tid), &t.filter, rec)
	if err != nil || h == nil {
		return n, err
	}
	t.wall = h.Wall
	r.Observer.Filtered = r.decoder.Filtered
	if r.Instant = r.next(); h.Op == capture.Store {
		r.Instant = r.latest(t)
	}
	return n, r.Take(h)
}

// led: a signal leads a thread away, which is about to go on with these registers. A
// store that the hook routine has seen coming has not executed; as a string, in part
// perhaps.
func (r *Recorder) led(t *thread, regs *mem.Regs) {
	p, ok := hook.Innermost(t.mem)
	if !ok || r.notes.pc(p.Site) != regs.RIP || p.SP != regs.RSP {
		return
	}
	hook.Forget(t.mem)
	addr, size := p.Done(regs.RDI)
	if r.Plan.Stores[p.Store].Effect.Shape != x86.ShapeString || size == 0 || !t.filter.Wanted(addr, size) {
		return
	}
	h := capture.Hit{Op: capture.Store, Index: p.Store, Thread: trace.ThreadID(t.tid), PC: regs.RIP, SP: regs.RSP, Addr: addr, Size: size, Base: p.Base,
		Data: make([]byte, min(size, uint64(r.Options.MaxData)))}
	if n, err := r.proc.ReadMemory(h.Data, addr); err != nil {
		clear(h.Data[n:])
		h.Flags |= capture.Unread // it has been unmapped meanwhile
	}
	if uint64(len(h.Data)) < size {
		h.Flags |= capture.Partial
	}
	r.Instant = r.latest(t)
	if err := r.Take(&h); err != nil {
		r.fail(err)
	}
}

// stored tells of the stores among the first n instructions of a block's execution,
// whose first instruction has an instant.
func (r *Recorder) stored(t *thread, l *translate.Layout, rec []byte, n int, at trace.Instant) error {
	if r.w.Paused() {
		at = 0
	}
	r.Observer.Filtered = r.decoder.Filtered
	for i := range l.Stores {
		s := &l.Stores[i]
		if s.Inst >= n {
			break
		}
		addr := s.Addr(rec)
		if !t.filter.Wanted(addr, uint64(s.Width)) {
			r.decoder.Filtered++
			continue
		}
		data := s.Bytes(rec)
		out := trace.StoreRec{Site: uint32(s.Number), Addr: addr, Base: s.Base.In(rec), Value: binary.LittleEndian.Uint64(data)}
		if s.Width <= 8 {
			data = nil
		}
		instant := trace.Instant(0)
		if at != 0 {
			instant = at + trace.Instant(s.Inst)
		}
		if err := r.Store(trace.ThreadID(t.tid), t.wall, instant, out, data[:min(len(data), s.Width)]); err != nil {
			return err
		}
	}
	return nil
}

// called tells of a system call, which has returned with these registers, which it may change.
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
	if w, ok := hook.OpenWriter(t.mem); ok {
		regs.RIP = r.Observer.Caller(w.Func, w.PC, w.SP, regs)
	}
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

// signalled tells of a signal.
func (r *Recorder) signalled(t *thread, sig int, info target.Siginfo, regs *mem.Regs, handled, ends bool) {
	if h, told := capture.SignalHit(sig, info.Code, info.Addr, handled, ends); told {
		h.Thread = trace.ThreadID(t.tid)
		observe.Interrupted(&h, regs, r.proc)
		r.tell(h)
	}
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

// Began is when the events' time begins.
func (r *Recorder) Began() time.Time { return r.began.At }
