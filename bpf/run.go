package bpf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"mgtrace/capture"
	"mgtrace/trace"
)

// tick bounds how long a record waits in the ring without a wake-up.
const tick = 10 * time.Millisecond

// Run reads the ring and gives the events to sink until the process is gone or
// has replaced itself by exec, and everything it left is read; or until ctx is
// done, or sink fails, whose errors it returns. It must run while the process
// does: a full ring holds the process.
func (e *Engine) Run(ctx context.Context, sink func(*trace.Event) error) error {
	r := &run{e: e, asm: capture.New(e.plan, e.sites, e.opts.Unwind, sink)}
	defer close(e.done)
	for {
		e.reader.SetDeadline(time.Now().Add(tick))
		ended, err := r.drain()
		if err != nil {
			return err
		}
		e.resume(e.reader.AvailableBytes())
		if err := r.lost(); err != nil {
			return err
		}
		if ended {
			return r.finish()
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// run is the state of one Run.
type run struct {
	e     *Engine
	asm   *capture.Assembler
	rec   ringbuf.Record
	hit   capture.Hit
	over  bool // the last record of the history was read
	quiet int  // rounds without a record since the end

	first *stripping // from when the first thread has ended on, nil once breakpoints were taken out
}

// drain reads records until the deadline. It says whether the history is
// complete.
func (r *run) drain() (ended bool, err error) {
	n := 0
	for {
		err := r.e.reader.ReadInto(&r.rec)
		switch {
		case err == nil:
			n++
			if err := r.record(); err != nil {
				return false, err
			}
			if n%64 == 0 || r.rec.Remaining == 0 {
				r.e.resume(r.rec.Remaining)
			}
			r.e.freeze(r.rec.Remaining)
		case errors.Is(err, ringbuf.ErrFlushed):
			r.synced()
		case errors.Is(err, os.ErrDeadlineExceeded):
			return r.ended(n), nil
		default:
			return false, fmt.Errorf("read the ring buffer: %w", err)
		}
	}
}

func (r *run) record() error {
	r.e.delivered.Add(1)
	if err := decode(r.rec.RawSample, r.e.start, &r.hit); err != nil {
		return err
	}
	if s := r.first; s != nil && !s.whole(r.e, inRing(len(r.rec.RawSample)), r.rec.Remaining) {
		r.first = nil
		r.e.opts.Stripped()
	}
	switch r.hit.Op {
	case codeMapped:
		r.e.mapped(&r.hit)
		return nil
	case capture.Exit, capture.Exec:
		r.over = true
	case capture.ThreadExit:
		if int(r.hit.Thread) == r.e.pid && r.e.opts.Stripped != nil {
			r.first = r.e.watchOver()
		}
	case capture.Signal:
		if r.e.opts.Interrupted != nil {
			r.e.opts.Interrupted(&r.hit)
		}
	}
	r.e.found(&r.hit)
	err := r.asm.Hit(&r.hit)
	if err == nil && r.hit.Op == capture.Unmap {
		r.e.unmapped(r.hit.Addr, r.hit.Size)
	}
	return err
}

// inRing is what a record takes of the ring: a header, and whole words (kernel/bpf/ringbuf.c).
func inRing(sample int) int { return (unix.BPF_RINGBUF_HDR_SZ + sample + 7) &^ 7 }

// ended says whether nothing more will come. The last thread's records may come
// before those of another that ends at the same moment: wait for the counts to
// agree, for some rounds.
func (r *run) ended(n int) bool {
	if !r.over && !r.e.gone() {
		return false
	}
	if n > 0 {
		r.quiet = 0
		return false
	}
	r.quiet++
	s := r.e.Stats()
	return s.Hits == s.Delivered+s.Dropped || r.quiet > 20
}

// synced answers those who wait for the ring to be empty.
func (r *run) synced() {
	for {
		select {
		case c := <-r.e.syncs:
			close(c)
		default:
			return
		}
	}
}

// lost reports records dropped since the last time.
func (r *run) lost() error {
	c, err := r.e.counters()
	if err != nil || c.Dropped == r.e.lost {
		return err
	}
	r.hit = capture.Hit{Op: capture.Lost, Size: c.Dropped - r.e.lost, Wall: -1}
	r.e.lost = c.Dropped
	return r.asm.Hit(&r.hit)
}

func (r *run) finish() error {
	if err := r.lost(); err != nil {
		return err
	}
	r.synced()
	return nil
}

// gone says whether the process has ended.
func (e *Engine) gone() bool {
	p := []unix.PollFd{{Fd: int32(e.pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(p, 0)
	return err == nil && n > 0
}

// Sync waits until everything that the process did before the call is with the
// sink. The process should be held meanwhile, or Sync can wait for ever; a store
// that a thread has begun but not left yet may be missing.
func (e *Engine) Sync(ctx context.Context) error {
	c := make(chan struct{})
	select {
	case e.syncs <- c:
	case <-e.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := e.reader.Flush(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	select {
	case <-c:
		return nil
	case <-e.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *Engine) counters() (counters, error) {
	var per []counters
	if err := e.objs.Counts.Lookup(uint32(0), &per); err != nil {
		return counters{}, fmt.Errorf("read the counters: %w", err)
	}
	var sum counters
	for _, c := range per {
		sum.Probes += c.Probes
		sum.Filtered += c.Filtered
		sum.Hits += c.Hits
		sum.Dropped += c.Dropped
	}
	return sum, nil
}

// Stats returns the counts so far; after Close the last ones. Hits is Delivered
// plus Dropped once Run has returned.
func (e *Engine) Stats() capture.Stats {
	if s := e.final.Load(); s != nil {
		return *s
	}
	c, err := e.counters()
	if err != nil {
		return capture.Stats{Delivered: e.delivered.Load(), Stops: e.stops.Load()}
	}
	return capture.Stats{
		Probes:    c.Probes,
		Filtered:  c.Filtered,
		Hits:      c.Hits,
		Delivered: e.delivered.Load(),
		Dropped:   c.Dropped,
		Stops:     e.stops.Load(),
	}
}

// Close removes all probes and lets the process run if it is held. It may be
// called at any time after Run has returned, and more than once. (If this
// process is killed instead, the kernel closes its files and so removes the
// probes.)
func (e *Engine) Close() error {
	e.closing.Do(func() { e.closed = e.close() })
	return e.closed
}

// close leaves the fields as they are: Stats and Sync may be under way.
func (e *Engine) close() error {
	if e.objs.Counts != nil {
		s := e.Stats()
		e.final.Store(&s)
	}
	var errs []error
	for _, l := range e.links {
		errs = append(errs, l.Close())
	}
	if e.objs.Held != nil {
		e.resume(0)
	}
	if e.freezer != nil {
		errs = append(errs, e.freezer.close())
	}
	if e.reader != nil {
		errs = append(errs, e.reader.Close())
	}
	if e.objs.Ring != nil {
		errs = append(errs, e.objs.Close())
	}
	if e.pidfd >= 0 {
		errs = append(errs, unix.Close(e.pidfd))
	}
	return errors.Join(errs...)
}

// Began is when the events' time begins.
func (e *Engine) Began() time.Time { return e.began }
