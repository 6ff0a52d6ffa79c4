package observe

import (
	"context"
	"sync/atomic"
	"time"

	"mgtrace/capture"
	"mgtrace/probe"
	"mgtrace/target/mem"
	"mgtrace/trace"
)

// DeliveryOptions of an engine; zero values stand for the defaults.
type DeliveryOptions struct {
	Stack   int  // bytes of stack captured at allocator calls; default probe.Plan.StackBytes; without Unwind none
	MaxData int  // bytes recorded of one write; default 1 MB
	Static  bool // report stores to static data too
	Unwind  capture.Unwinder
}

// Delivery brings what an observer reports to a sink, as events: what all engines have
// in common that see every instruction.
//
// Until Begin says what the plan is, nothing is an event.
//
// Serve, Finish, Finished and Stats may be called by any goroutine. All else is for the
// one that lets the program go on, the tracer's: an event is with the sink before it
// does.
type Delivery struct {
	Plan     *probe.Plan // nil: there is none yet
	Sites    []capture.Site
	Images   []Image // by index in Plan.Images: where they are now
	Observer *Observer
	Options  DeliveryOptions // with the defaults
	Instant  trace.Instant   // of the instruction whose hits come; 0: the flow has it not

	memory    mem.Memory
	began     time.Time
	sink      capture.Sink
	assembler *capture.Assembler
	sites     []trace.StoreSite // what stores of runs are; nil: there are no runs
	run       trace.Stores      // the stores that were taken last
	told      map[uint64]bool   // modules, by where they begin

	served   chan struct{} // closed: there is a sink
	finished chan struct{} // closed: everything has been given
	ended    atomic.Bool
	err      error // of finished

	hits, stores, filtered atomic.Uint64
}

// NewDelivery makes what delivers the hits of a process with this memory.
func NewDelivery(memory mem.Memory) *Delivery {
	d := &Delivery{memory: memory, told: map[uint64]bool{}, served: make(chan struct{}), finished: make(chan struct{})}
	d.Observer = New(new(probe.Plan), nil, nil, memory, Options{Static: true}, d.Take)
	return d
}

// Begin has the hits of a plan observed from now on, whose files are at images. brk is
// the program break; 0: unknown. The observer knows no threads.
func (d *Delivery) Begin(plan *probe.Plan, images []Image, brk uint64, o DeliveryOptions) {
	switch {
	case o.Unwind == nil:
		o.Stack = 0
	case o.Stack == 0:
		o.Stack = plan.StackBytes()
	}
	if o.MaxData == 0 {
		o.MaxData = 1 << 20
	}
	d.Plan, d.Sites, d.Images, d.Options, d.began = plan, capture.Sites(plan), images, o, time.Now()
	d.Observer = New(plan, d.Sites, images, d.memory, Options{Stack: o.Stack, MaxData: o.MaxData, Static: o.Static, Break: brk}, d.Take)
}

// Remap tells where the files of the plan are now.
func (d *Delivery) Remap(images []Image) {
	d.Images = images
	for i := range images {
		if images[i].Mapped {
			d.Plan.Images[i].Bias = images[i].Bias
		}
	}
	d.Observer.Mapped(images)
}

// Modules are the files of the plan that have been mapped since it was called last.
func (d *Delivery) Modules() (news []trace.Module) {
	for i := range d.Images {
		im := &d.Images[i]
		if !im.Mapped || d.told[im.Code[0]] {
			continue
		}
		d.told[im.Code[0]] = true
		p := d.Plan.Images[i]
		news = append(news, trace.Module{Path: p.Path, Bias: trace.Addr(im.Bias), Lo: trace.Addr(im.Code[0]), Hi: trace.Addr(im.Code[1]), Traced: p.Traced})
	}
	return news
}

// Serve gives the events to sink until Finish is called, whose error it returns, or ctx
// is done. Once a second it calls flush: a recorder that is killed loses what it had no
// second for.
func (d *Delivery) Serve(ctx context.Context, sink capture.Sink, flush func()) error {
	d.sink, d.assembler = sink, capture.New(d.Plan, d.Sites, d.Options.Unwind, sink.Event)
	if err := d.tellSites(); err != nil {
		return err
	}
	close(d.served)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-d.finished:
			return d.err
		case <-tick.C:
			go flush() // the tracer may be held for long
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// StoreSites says what the stores are that Store takes: before Serve, and when other
// files are mapped.
func (d *Delivery) StoreSites(sites []trace.StoreSite) error {
	first := d.sites == nil
	if !first {
		if err := d.Flush(); err != nil {
			return err
		}
	}
	if d.sites = sites; first {
		return nil
	}
	<-d.served
	return d.tellSites()
}

func (d *Delivery) tellSites() error {
	if d.sites == nil {
		return nil
	}
	d.assembler.Runs(d.sites, d.sink.Stores)
	return d.sink.Sites(d.sites)
}

// maxRun is how many stores are delivered at once, at most.
const maxRun = 512

// Store takes a plain store with the instant of its instruction. It may stay here until
// the next one or Flush. wide is its value if that has more than 8 bytes.
func (d *Delivery) Store(thread trace.ThreadID, wall int64, at trace.Instant, rec trace.StoreRec, wide []byte) error {
	r := &d.run
	if len(r.Recs) == maxRun || thread != r.Thread || wall != r.Wall {
		if err := d.Flush(); err != nil {
			return err
		}
		r.Thread, r.Wall = thread, wall
	}
	if len(wide) > 0 {
		rec.Value = uint64(len(r.Wide))
		r.Wide = append(r.Wide, wide...)
	}
	r.Recs, r.Instants = append(r.Recs, rec), append(r.Instants, at)
	return nil
}

// Flush delivers the stores that have been taken.
func (d *Delivery) Flush() error {
	n := len(d.run.Recs)
	if n == 0 {
		return nil
	}
	<-d.served
	d.hits.Add(uint64(n))
	d.stores.Add(uint64(n))
	d.filtered.Store(d.Observer.Filtered)
	err := d.assembler.Stores(&d.run)
	d.run.Recs, d.run.Instants, d.run.Wide = d.run.Recs[:0], d.run.Instants[:0], d.run.Wide[:0]
	return err
}

// Take gets the observer's hits. It waits until there is a sink.
func (d *Delivery) Take(h *capture.Hit) error {
	if d.Plan == nil {
		return nil
	}
	if err := d.Flush(); err != nil {
		return err
	}
	<-d.served
	if h.Wall == 0 { // nobody has looked
		h.Wall = int64(time.Since(d.began))
	}
	h.Instant = d.Instant
	d.hits.Add(1)
	if h.Op == capture.Store {
		d.stores.Add(1)
	}
	d.filtered.Store(d.Observer.Filtered)
	return d.assembler.Hit(h)
}

// Tell takes a hit that the tracer sees itself: it is of no instruction.
func (d *Delivery) Tell(h capture.Hit) error {
	d.Instant = 0
	return d.Take(&h)
}

// Hits counts what has been taken.
func (d *Delivery) Hits() uint64 { return d.hits.Load() }

// Finish has Serve return, with an error or nil. What comes later is not heard.
func (d *Delivery) Finish(err error) {
	if d.ended.CompareAndSwap(false, true) {
		d.err = err
		close(d.finished)
	}
}

// Finished says that Finish has been called.
func (d *Delivery) Finished() bool { return d.ended.Load() }

// Stats returns the counts so far.
func (d *Delivery) Stats() capture.Stats {
	n := d.hits.Load()
	return capture.Stats{Stores: d.stores.Load(), Filtered: d.filtered.Load(), Hits: n, Delivered: n}
}

// Unprobed returns nothing: every instruction is seen.
func (d *Delivery) Unprobed() []probe.Unprobed { return nil }

// Began is when the events' time begins.
func (d *Delivery) Began() time.Time { return d.began }
