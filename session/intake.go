package session

import (
	"mgtrace/capture"
	"mgtrace/mgpp"
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
	return in.each(0, func(s capture.Sink) error { return s.Sites(sites) })
}

// Stores implements capture.Sink.
func (in *intake) Stores(run *trace.Stores) error {
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
	return in.each(1, func(s capture.Sink) error { return s.Event(ev) })
}

// storeSites is what an analysis knows of runs of stores.
type storeSites struct {
	sites []trace.StoreSite
	batch []mgpp.Store
	ev    trace.Event
}

// Sites implements capture.Sink.
func (a *Analysis) Sites(sites []trace.StoreSite) error {
	a.stores.sites = sites
	return nil
}

// Stores implements capture.Sink: what Event does with each of them. Neither
// C-points nor members of structures depend on a store alone.
func (a *Analysis) Stores(run *trace.Stores) error {
	a.schedule.GoesOn(run.Thread)
	s := &a.stores
	s.batch = s.batch[:0]
	for i := range run.Recs {
		r := &run.Recs[i]
		site := &s.sites[r.Site]
		if site.Width > 8 {
			if err := a.applyBatch(); err != nil {
				return err
			}
			run.Event(i, s.sites, &s.ev)
			if _, err := a.hist.Apply(&s.ev); err != nil {
				return err
			}
			continue
		}
		s.batch = append(s.batch, mgpp.Store{
			PC: site.PC, Addr: trace.Addr(r.Addr), Base: site.BaseOf(r), Value: r.Value,
			Thread: run.Thread, Flags: site.Flags, Width: site.Width,
		})
	}
	return a.applyBatch()
}

func (a *Analysis) applyBatch() error {
	if len(a.stores.batch) == 0 {
		return nil
	}
	_, err := a.hist.ApplyStores(a.stores.batch)
	a.stores.batch = a.stores.batch[:0]
	return err
}
