package live

import (
	"mgtrace/capture"
	"mgtrace/trace"
)

// intake is a program under watch as its engine sees it: it hands what happens
// to everybody who wants it. The target's handlers, which look at what the sinks made
// of it, have their turn in between. A run can be as short as one store, so what is
// done for each counts.
type intake Program

// tellEvery is how many events pass before a progress report knows of them, at most.
const tellEvery = 1 << 12

// maxUnheeded is after how many events an engine is told which blocks do not matter, however few there are: one that is written to all
// the time would cost more than what it is good for.
const maxUnheeded = 1 << 16

// Begin implements capture.Batched: a lock for each event would cost as much as the rest.
func (in *intake) Begin() {
	in.mu.Lock()
	in.batch = true
	for _, s := range in.sinks {
		if b, ok := s.(capture.Batched); ok {
			b.Begin()
		}
	}
}

// End implements capture.Batched.
func (in *intake) End() {
	for _, s := range in.sinks {
		if b, ok := s.(capture.Batched); ok {
			b.End()
		}
	}
	in.batch = false
	in.mu.Unlock()
}

// lock is for what is done between Begin and End too.
func (in *intake) lock() {
	if !in.batch {
		in.mu.Lock()
	}
}

func (in *intake) unlock() {
	if !in.batch {
		in.mu.Unlock()
	}
}

// count counts events, stores among them.
func (in *intake) count(events, stores int) {
	in.events += uint64(events)
	in.stores += uint64(stores)
	if in.events-in.told >= tellEvery {
		in.told = in.events
		in.passed.Store(in.told)
		if in.heed != nil && in.events >= maxUnheeded {
			in.heed(nil, 0, in.tell)
		}
	}
}

// Sites implements capture.Sink.
func (in *intake) Sites(sites []trace.StoreSite) error {
	in.sites.Set(sites)
	in.lock()
	defer in.unlock()
	for _, s := range in.sinks {
		if err := s.Sites(sites); err != nil {
			return err
		}
	}
	return nil
}

// Calls implements capture.Mixed. Sinks that are not mixed never see them.
func (in *intake) Calls(fresh []trace.StoreSite) error {
	fresh = in.libs.sites(fresh)
	in.sites.Add(fresh)
	in.lock()
	defer in.unlock()
	for _, s := range in.sinks {
		if m, ok := s.(capture.Mixed); ok {
			if err := m.Calls(fresh); err != nil {
				return err
			}
		}
	}
	return nil
}

// Allocs implements capture.Allocating: nobody looks at each allocation.
func (in *intake) Allocs() bool {
	for _, s := range in.sinks {
		if a, ok := s.(capture.Allocating); !ok || !a.Allocs() {
			return false
		}
	}
	return in.gate == nil && in.heed == nil && in.full == nil
}

// Stores implements capture.Sink.
func (in *intake) Stores(run *trace.Stores) error {
	if over, err := in.ceased(run.Thread, run.Wall); over {
		return err
	}
	in.faults.Stores(run)
	if in.full != nil {
		if err := in.full.event(&trace.Event{Kind: trace.KindStore, Thread: run.Thread, Wall: run.Wall}); err != nil {
			return err
		}
	}
	if in.gate != nil {
		if pass, err := in.gate.stores(run); !pass {
			return err
		}
	}
	in.count(len(run.Recs), len(run.Recs)-run.Calls)
	if len(in.sinks) == 0 {
		return nil // and nobody to wait for
	}
	in.lock()
	var err error
	for i := 0; i < len(in.sinks) && err == nil; i++ {
		s := in.sinks[i]
		if run.Calls > 0 {
			if _, ok := s.(capture.Mixed); !ok {
				err = in.splitter.Split(run, in.sites.All(), s)
				continue
			}
		}
		err = s.Stores(run)
	}
	in.unlock()
	return err
}

// Event implements capture.Sink.
func (in *intake) Event(ev *trace.Event) error {
	if over, err := in.ceased(ev.Thread, ev.Wall); err != nil || over && !aboutTheEnd(ev.Kind) {
		return err
	}
	if in.every != nil && ev.Kind == trace.KindMap && len(in.late) > 0 {
		in.lock()
		(*Program)(in).mapped()
		in.unlock()
	}
	if ev.Kind == trace.KindMap {
		in.shared.note(ev.Addr, in.proc.Maps)
	}
	if len(in.libs.shifts) > 0 {
		ev.PC, ev.Stack = in.libs.told(ev.PC), in.libs.stack(ev.Stack)
	}
	if in.heed != nil && (ev.Kind == trace.KindAlloc || ev.Kind == trace.KindRealloc) {
		in.heed(ev.Stack, ev.Size, in.tell)
	}
	in.faults.Event(ev)
	if ev.Kind == trace.KindSignal && ev.Flags&trace.FlagHandled != 0 {
		in.lock()
		(*Program)(in).goesAstray(int(ev.Aux), ev.Thread, ev.Args, uint64(ev.PC), uint64(ev.Addr))
		in.unlock()
	}
	if in.full != nil {
		if err := in.full.event(ev); err != nil {
			return err
		}
	}
	if in.gate != nil {
		if pass, err := in.gate.event(ev); !pass {
			return err
		}
	}
	return in.deliver(ev)
}

// deliver gives an event to every sink.
func (in *intake) deliver(ev *trace.Event) error {
	stores := 0
	if ev.Kind == trace.KindStore {
		stores = 1
	}
	in.count(1, stores)
	if len(in.sinks) == 0 {
		return nil
	}
	in.lock()
	err := (*Program)(in).emit(ev)
	in.unlock()
	return err
}
