package capture

import (
	"slices"
	"sync"

	"mgtrace/trace"
)

// How much a pipe collects before it hands it over: little enough to stay in a
// processor's cache, enough that handing over costs nothing.
const (
	loadRecs   = 1 << 12 // stores
	loadEvents = 1 << 10
	loadBytes  = 1 << 16 // of data of events
	loads      = 6       // that are under way, at most
)

// Pipe is a Sink that gives everything, in order, to another one on a goroutine
// of its own: so the work of reading a log and that of keeping what was in it are
// shared by two processors. It copies what it is given, but for the stacks of
// events, which must never change, and holds only so much: who writes waits. An
// error of the other sink is returned by a later call, by Flush at the latest.
//
// One goroutine may use it. Flush must be called where whoever waits for the
// other sink must not wait for more to come.
type Pipe struct {
	sink Sink
	cur  *load
	full chan *load
	free chan *load

	mu  sync.Mutex
	err error // of sink
}

// NewPipe returns a pipe to sink. Close ends it.
func NewPipe(sink Sink) *Pipe {
	p := &Pipe{sink: sink, full: make(chan *load, loads), free: make(chan *load, loads)}
	for range loads - 1 {
		p.free <- new(load)
	}
	p.cur = new(load)
	go p.run()
	return p
}

// load is what goes through the pipe at once.
type load struct {
	items    []item
	recs     []trace.StoreRec
	wide     []byte
	instants []trace.Instant
	allocs   []int32
	events   []trace.Event
	bytes    []byte
	args     []uint64
	calls    []trace.StoreSite // sites that are new, before all else
	sites    []trace.StoreSite // new ones, after all else
	run      trace.Stores      // that is being delivered
	taken    chan error        // told when all of it and what came before has been taken; nil: nobody waits
}

// item is an event, the next one, or a run of stores, whose parts are the next ones.
// Events can be as frequent as stores: it is small.
type item struct {
	wall                 int64
	thread               trace.ThreadID
	recs, wide, instants int32 // how many of each; no recs: an event
	calls, allocs        int32 // among recs
}

// reset empties the load. What its events refer to is its own memory, or lives on anyway.
func (l *load) reset() {
	*l = load{items: l.items[:0], recs: l.recs[:0], wide: l.wide[:0], instants: l.instants[:0], allocs: l.allocs[:0], events: l.events[:0], bytes: l.bytes[:0], args: l.args[:0], calls: l.calls[:0]}
}

// Sites implements Sink.
func (p *Pipe) Sites(sites []trace.StoreSite) error {
	p.cur.sites = sites
	return p.Flush()
}

// Calls implements Mixed, if the other sink does.
func (p *Pipe) Calls(fresh []trace.StoreSite) error {
	p.cur.calls = append(p.cur.calls, fresh...)
	return nil
}

// Room returns an empty slice with a capacity of n. The stores of a run that is collected
// there, before anything else is given to the pipe, need not be copied.
func (p *Pipe) Room(n int) []trace.StoreRec {
	l := p.cur
	l.recs = slices.Grow(l.recs, n)
	return l.recs[len(l.recs):]
}

// Stores implements Sink.
func (p *Pipe) Stores(s *trace.Stores) error {
	n := len(s.Recs)
	if n == 0 {
		return nil
	}
	l := p.cur
	if at := len(l.recs); n <= cap(l.recs)-at && &s.Recs[0] == &l.recs[:at+1][at] {
		l.recs = l.recs[:at+n]
	} else {
		l.recs = append(l.recs, s.Recs...)
	}
	l.wide = append(l.wide, s.Wide...)
	l.instants = append(l.instants, s.Instants...)
	l.allocs = append(l.allocs, s.Allocs...)
	l.items = append(l.items, item{})
	x := &l.items[len(l.items)-1] // filled where it lies: a copy of what has just been written takes longer
	x.wall, x.thread, x.recs, x.wide = s.Wall, s.Thread, int32(n), int32(len(s.Wide))
	x.instants, x.calls, x.allocs = int32(len(s.Instants)), int32(s.Calls), int32(len(s.Allocs))
	if len(l.recs) >= loadRecs {
		return p.send()
	}
	return nil
}

// Event implements Sink. What is mapped may concern whoever writes to the pipe as
// well: it waits until the sink has seen it.
func (p *Pipe) Event(ev *trace.Event) error {
	l := p.cur
	l.items = append(l.items, item{})
	l.events = append(l.events, *ev)
	e := &l.events[len(l.events)-1]
	if len(ev.Data) > 0 {
		at := len(l.bytes)
		l.bytes = append(l.bytes, ev.Data...)
		e.Data = l.bytes[at:len(l.bytes):len(l.bytes)]
	}
	if len(ev.Args) > 0 {
		at := len(l.args)
		l.args = append(l.args, ev.Args...)
		e.Args = l.args[at:len(l.args):len(l.args)]
	}
	switch {
	case ev.Kind == trace.KindMap:
		return p.Flush()
	case len(l.events) >= loadEvents || len(l.bytes) >= loadBytes:
		return p.send()
	}
	return nil
}

// Pass hands over what has been collected, and does not wait.
func (p *Pipe) Pass() error {
	if len(p.cur.items) == 0 {
		return p.failed()
	}
	return p.send()
}

// Flush returns when the other sink has taken everything.
func (p *Pipe) Flush() error {
	taken := make(chan error)
	p.cur.taken = taken
	p.full <- p.cur
	p.cur = <-p.free
	return <-taken
}

// Close flushes and ends the pipe.
func (p *Pipe) Close() error {
	err := p.Flush()
	close(p.full)
	return err
}

func (p *Pipe) send() error {
	p.full <- p.cur
	p.cur = <-p.free
	return p.failed()
}

func (p *Pipe) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// run gives what comes to the sink, until it fails.
func (p *Pipe) run() {
	for l := range p.full {
		err := p.failed()
		if err == nil {
			if err = l.deliverAll(p.sink); err != nil {
				p.mu.Lock()
				p.err = err
				p.mu.Unlock()
			}
		}
		taken := l.taken
		l.reset()
		p.free <- l
		if taken != nil {
			taken <- err
		}
	}
}

func (l *load) deliverAll(sink Sink) error {
	if b, ok := sink.(Batched); ok {
		b.Begin()
		defer b.End()
	}
	return l.deliver(sink)
}

func (l *load) deliver(sink Sink) (err error) {
	if len(l.calls) > 0 {
		if err := sink.(Mixed).Calls(l.calls); err != nil {
			return err
		}
	}
	events, recs, wide, instants, allocs := l.events, l.recs, l.wide, l.instants, l.allocs
	run := &l.run
	for i := range l.items {
		it := &l.items[i]
		if it.recs == 0 {
			err = sink.Event(&events[0])
			events = events[1:]
		} else {
			run.Thread, run.Wall, run.Calls = it.thread, it.wall, int(it.calls)
			run.Recs, recs = cut(recs, it.recs)
			run.Wide, wide = cut(wide, it.wide)
			run.Instants, instants = cut(instants, it.instants)
			run.Allocs, allocs = cut(allocs, it.allocs)
			err = sink.Stores(run)
		}
		if err != nil {
			return err
		}
	}
	if l.sites != nil {
		err = sink.Sites(l.sites)
	}
	return err
}

// cut returns the first n of s, which can not grow, and the rest.
func cut[T any](s []T, n int32) (first, rest []T) { return s[:n:n], s[n:] }
