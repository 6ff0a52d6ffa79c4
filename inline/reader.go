package inline

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"mgtrace/capture"
	"mgtrace/inline/layout"
	"mgtrace/inline/log"
	"mgtrace/trace"
)

// The reader looks at the cursors this often: while the program writes, and
// while it does not. A full buffer wakes it, and whatever the tracer notes.
const (
	shortest = time.Millisecond
	longest  = 256 * time.Millisecond
)

// Run gives the events to sink until the process is gone or has replaced itself,
// and everything it left is read; or until ctx is done, or sink fails, whose
// errors it returns. It must run while the process does: full buffers hold the
// process.
func (e *Engine) Run(ctx context.Context, sink capture.Sink) (err error) {
	defer close(e.done)
	_, mixed := sink.(capture.Mixed)
	a, allocs := sink.(capture.Allocating)
	allocs = allocs && a.Allocs()
	var pipe *capture.Pipe
	if e.opts.Apart && !e.opts.Hold && runtime.GOMAXPROCS(0) > 1 {
		pipe = capture.NewPipe(sink)
		defer func() { err = cmp.Or(err, pipe.Close()) }()
		sink = pipe
	}
	table := log.NewTable(e.plan, e.opts.Strict)
	out := assembled{capture.New(e.plan, e.sites, e.opts.Unwind.Unwinder(), sink.Event)}
	if err := sink.Sites(table.Sites()); err != nil {
		return err
	}
	out.Runs(table.Sites(), sink.Stores)
	e.streams.Lock()
	static := e.static()
	e.streams.Unlock()
	r := &reader{e: e, sink: sink, out: out, pipe: pipe}
	e.clock = log.NewClock(e.began.Since())
	o := log.Options{Clock: e.clock, Static: static}
	if e.opts.Stack > 0 {
		e.known = e.knowStacks()
		o.Known = e.known.stack
	}
	if pipe != nil {
		o.Room = pipe.Room
	}
	if mixed {
		o.Calls = func(fresh []trace.StoreSite) error {
			out.RunCalls(fresh)
			return sink.(capture.Mixed).Calls(fresh)
		}
		if allocs {
			o.Allocs = out.Plain
		}
	}
	r.merger = log.NewMerger(table, o, out)
	return r.run(ctx)
}

// assembled is the assembler as the merger's sink.
type assembled struct{ *capture.Assembler }

// reader is the state of one Run.
type reader struct {
	e      *Engine
	merger *log.Merger
	out    assembled
	sink   capture.Sink
	pipe   *capture.Pipe // sink, if it is one
	slots  []*slot
	took   []*slot // whose full buffer was taken in this round
	ended  []*slot // whose thread ended in it
	held   []*slot // whose thread waited when it began
	quiet  time.Duration
}

func (r *reader) run(ctx context.Context) error {
	timer := time.NewTimer(shortest)
	defer timer.Stop()
	r.quiet = shortest
	for {
		var req request
		select {
		case <-r.e.wake:
		case <-timer.C:
		case req = <-r.e.syncs:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		over, err := r.round(req.all)
		if err == nil && req.then != nil {
			if err = r.pass(true); err == nil {
				err = req.then(r)
			}
		}
		if req.answer != nil {
			req.answer <- err
		}
		if err != nil || over {
			return err
		}
		timer.Reset(r.quiet)
	}
}

// round reads what there is. all: also what the threads wrote last, because the
// process is held outside of trampolines.
func (r *reader) round(all bool) (over bool, err error) {
	e := r.e
	r.held = r.waitingHeld(r.held[:0]) // before the cursors: what they did is in the logs
	// The counter before the cursors: docs/design/inline.md, "Order".
	order := e.arena.order().Load()
	e.streams.Lock()
	over, err = e.over, e.failure
	exit := e.exit
	r.slots = append(r.slots[:0], e.arena.slots...)
	e.streams.Unlock()
	if err != nil {
		return false, err
	}
	n := 0
	for _, s := range r.slots {
		k, err := r.take(s, all || over, &order)
		if err != nil {
			return false, err
		}
		n += k
	}
	if over {
		err = r.merger.Finish()
	} else {
		err = r.merger.Cut(order)
	}
	r.release()
	stats := r.merger.Stats()
	e.merged.Store(&stats)
	if err == nil {
		r.letGo(r.held)
	}
	if err == nil && over && exit != nil {
		err = r.out.Hit(exit)
	}
	if err == nil {
		err = r.pass(all)
	}
	if !e.arena.quiet && r.out.Quiet() {
		e.silence()
	}
	switch {
	case n >= e.opts.Buffer/turnAt: // as much or more has come meanwhile
		r.quiet = 0
	case n > 0:
		r.quiet = shortest
	default:
		r.quiet = min(max(2*r.quiet, shortest), longest)
	}
	if e.opts.Hold {
		r.quiet = holdTick
	}
	return over, err
}

// pass has the sink take what was delivered; wait: before it returns.
func (r *reader) pass(wait bool) error {
	switch {
	case r.pipe == nil:
		return nil
	case wait:
		return r.pipe.Flush()
	}
	return r.pipe.Pass()
}

// take gives what a thread has written to the merger, and returns how much. all: its last
// store is no longer to be waited for. order is where the cut will be: a thread at an exchange
// has a record to come that may have to be the first of what others have done since.
func (r *reader) take(s *slot, all bool, order *uint64) (n int, err error) {
	e := r.e
	e.streams.Lock()
	if s.tid == 0 {
		e.streams.Unlock()
		return 0, nil
	}
	known := s.known
	s.known = true
	if since := s.get(layout.Since); since != 0 { // before the cursor
		*order = min(*order, since-1)
	}
	pieces, notes, full := s.take()
	tid, stamp, stack := trace.ThreadID(s.tid), s.stamp, s.stack
	e.streams.Unlock()
	if full {
		r.took = append(r.took, s)
	}
	if !known {
		own := log.Range{Lo: stack[0], Hi: stack[1]}
		if e.plan.Frames() {
			own = log.Range{} // what goes to no block there the history leaves out
		}
		r.merger.Start(tid, stamp, own)
	}
	last := pieces[1].at + uint64(len(pieces[1].bytes))
	for i, p := range pieces {
		end := p.at + uint64(len(p.bytes))
		for len(notes) > 0 && notes[0].at <= end {
			if notes[0].loose() && len(notes) > 1 && notes[1].hit == nil && notes[1].at == notes[0].at {
				notes[0], notes[1] = notes[1], notes[0]
			}
			if notes[0].loose() && len(notes) == 1 && notes[0].at == last && !all {
				r.later(s, notes[0])
				notes = nil
				break
			}
			k := notes[0].at - p.at
			if err := r.add(tid, p.bytes[:k], &notes[0]); err != nil {
				return n, err
			}
			n += int(k) + 1
			if h := notes[0].hit; h != nil && h.Op == capture.ThreadExit {
				r.ended = append(r.ended, s)
				return n, nil
			}
			p.at, p.bytes, notes = notes[0].at, p.bytes[k:], notes[1:]
		}
		// The last record may be that of the first piece, and its retraction come with the second.
		if err := r.merger.Add(tid, p.bytes, i == 0 || !all); err != nil {
			return n, err
		}
		n += len(p.bytes)
	}
	return n, nil
}

// later keeps a note for the next round: as if it were made now.
func (r *reader) later(s *slot, n note) {
	r.e.streams.Lock()
	n.stamp = r.e.arena.stamp()
	s.notes = slices.Insert(s.notes, 0, n)
	r.e.streams.Unlock()
}

// extend goes on with a file that has been mapped, before anything of it is recorded.
func (r *reader) extend(i int, im *image) error {
	in := r.e.plan.Images[i]
	in.Bias = im.bias
	if r.e.opts.Libraries != nil {
		in.Moved = r.e.opts.Libraries.Opened(i, im.bias)
	}
	table := log.NewTable(r.e.plan, r.e.opts.Strict)
	r.merger.Extend(table, r.e.static())
	r.out.Runs(table.Sites(), r.sink.Stores)
	return r.sink.Sites(table.Sites())
}

func (r *reader) add(tid trace.ThreadID, bytes []byte, n *note) error {
	if len(bytes) > 0 {
		if err := r.merger.Add(tid, bytes, true); err != nil {
			return err
		}
	}
	if n.hit == nil {
		if !r.merger.Retract(tid) {
			return errors.New("a store that did not execute is not in the log")
		}
		return nil
	}
	return r.merger.Event(n.hit, n.stamp)
}

// release frees the full buffers that were read and the slots of threads that have ended, and has
// the threads go on that wait for one.
func (r *reader) release() {
	for _, s := range r.took {
		evict(s.fullBuffer())
		r.e.streams.Lock()
		s.full = false
		s.offer()
		starved, tid := s.starved, s.tid
		r.e.streams.Unlock()
		if starved && r.e.arena.guards.fault != nil {
			// Not here: the tracer may be waiting for room in another.
			go func() { _ = r.e.proc.Poke(tid) }() // it has ended meanwhile
		}
	}
	r.e.streams.Lock()
	for _, s := range r.ended {
		s.stream = stream{}
		r.e.arena.unused = append(r.e.arena.unused, s)
	}
	r.e.streams.Unlock()
	if len(r.took)+len(r.ended) > 0 {
		select {
		case r.e.freed <- struct{}{}:
		default:
		}
	}
	r.took, r.ended = r.took[:0], r.ended[:0]
}
