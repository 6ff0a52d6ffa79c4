package session

import (
	"mgtrace/capture"
	"mgtrace/trace"
)

// intake is a program under watch as its engine sees it: it hands what happens
// to everybody who wants it.
type intake live

// each gives something to every sink. The target's handlers, which look at what
// the sinks made of it, have their turn in between.
func (in *intake) each(events int, f func(capture.Sink) error) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.events.Add(uint64(events))
	for _, s := range in.sinks {
		if err := f(s); err != nil {
			return err
		}
	}
	return nil
}

// Sites implements capture.Sink.
func (in *intake) Sites(sites []trace.StoreSite) error {
	if in.gate != nil {
		in.gate.sites = sites
	}
	return in.each(0, func(s capture.Sink) error { return s.Sites(sites) })
}

// Stores implements capture.Sink.
func (in *intake) Stores(run *trace.Stores) error {
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
	in.stores.Add(uint64(len(run.Recs)))
	return in.each(len(run.Recs), func(s capture.Sink) error { return s.Stores(run) })
}

// Event implements capture.Sink.
func (in *intake) Event(ev *trace.Event) error {
	if ev.Kind == trace.KindMap && len(in.late) > 0 {
		in.mu.Lock()
		(*live)(in).mapped()
		in.mu.Unlock()
	}
	if in.relevance != nil && ev.Kind == trace.KindAlloc && in.relevance.ignores(ev.PC) {
		in.filter.Ignore(uint64(ev.PC))
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
	if ev.Kind == trace.KindStore {
		in.stores.Add(1)
	}
	in.events.Add(1)
	in.mu.Lock()
	defer in.mu.Unlock()
	return (*live)(in).emit(ev)
}

// Sites implements capture.Sink.
func (a *Analysis) Sites(sites []trace.StoreSite) error {
	a.stores = sites
	return nil
}

// Stores implements capture.Sink: what Event does with each of them. Neither
// C-points nor members of structures depend on a store alone.
func (a *Analysis) Stores(run *trace.Stores) error {
	a.schedule.GoesOn(run.Thread)
	if a.unended != nil {
		a.unended.left += uint64(len(run.Recs))
		return nil
	}
	if _, ok := a.around[run.Thread]; ok && len(run.Recs) > 0 {
		run.Event(0, a.stores, &a.event)
		a.attribute(&a.event)
		if _, err := a.hist.Apply(&a.event); err != nil {
			return err
		}
		rest := *run
		rest.Recs, rest.Instants = rest.Recs[1:], rest.Instants[min(1, len(rest.Instants)):]
		run = &rest
	}
	_, err := a.hist.ApplyRun(run, a.stores)
	a.unending()
	return err
}
