package capture

import (
	"fmt"

	"mgtrace/trace"
)

// Runs tells the assembler what the stores of runs are, by index in Plan.Stores,
// and where whole runs go. With a nil sink their stores go one by one where all
// events go. It is called before the first run, and again with more sites when
// the plan has grown.
func (a *Assembler) Runs(sites []trace.StoreSite, sink func(*trace.Stores) error) {
	a.stores.Set(sites)
	a.runs = sink
}

// RunCalls tells of sites behind those that there are: calls.
func (a *Assembler) RunCalls(fresh []trace.StoreSite) { a.stores.Add(fresh) }

// Stores takes a run of plain stores, in the order of the run. It does what Hit
// does with each of them, but for one thing: they carry no stack pointer, so a
// frame that was left without a return is noticed at the thread's next hit.
//
// A run goes to the sink of Runs as it is, unless the thread is inside a
// declared allocator, or inside another one and the run has calls. There is no work for
// each store.
func (a *Assembler) Stores(s *trace.Stores) error {
	if a.err != nil || len(s.Recs) == 0 {
		return a.err
	}
	t := a.threads.Of(s.Thread)
	if len(a.unborn) > 0 {
		a.bearAll(s)
	}
	if t.write.open {
		a.cut(t) // the rest of a write was lost
	}
	if a.runs != nil && !a.holds(t) && !(s.Calls > 0 && a.ownBooks(t)) {
		if a.err == nil {
			a.err = a.runs(s)
		}
		return a.err
	}
	sites := a.stores.All()
	for i := range s.Recs {
		if n := len(sites); int(s.Recs[i].Site) >= n {
			a.err = fmt.Errorf("run of stores: no index %d in %d", s.Recs[i].Site, n)
			break
		}
		s.Event(i, sites, &a.ev)
		a.keep(t, &a.ev)
		if a.err != nil {
			break
		}
	}
	return a.err
}
