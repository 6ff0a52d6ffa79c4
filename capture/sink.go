package capture

import "mgtrace/trace"

// Sink takes the events of a run, in its order. An error ends the recording.
type Sink interface {
	// Sites says what the stores of runs are, by StoreRec.Site. It is called
	// before the first run, and again when more of the program is mapped.
	Sites([]trace.StoreSite) error
	// Stores takes a run of plain stores: the fast form of that many events.
	Stores(*trace.Stores) error
	Event(*trace.Event) error
}

// Batched is a Sink that would rather know when much comes at once, for what it does only
// once then: between Begin and End one goroutine calls it. A Pipe tells it.
type Batched interface {
	Sink
	Begin()
	End()
}

// Mixed is a Sink whose runs may have calls of library functions among their stores
// (trace.StoreSite.Name), which costs less than an event for each.
type Mixed interface {
	Sink
	// Calls appends sites, of calls, to those that there are since Sites was called last.
	Calls(fresh []trace.StoreSite) error
}

// Allocating is a Mixed whose runs may have calls of allocators too (trace.StoreSite.Kind), if Allocs
// says so when the recording begins.
type Allocating interface {
	Mixed
	Allocs() bool
}

// Events is a Sink that gets every store as an event.
func Events(f func(*trace.Event) error) Sink { return &events{take: f} }

type events struct {
	take  func(*trace.Event) error
	sites []trace.StoreSite
	ev    trace.Event
}

func (s *events) Sites(sites []trace.StoreSite) error { s.sites = sites; return nil }

func (s *events) Event(ev *trace.Event) error { return s.take(ev) }

func (s *events) Stores(run *trace.Stores) error {
	for i := range run.Recs {
		run.Event(i, s.sites, &s.ev)
		if err := s.take(&s.ev); err != nil {
			return err
		}
	}
	return nil
}
