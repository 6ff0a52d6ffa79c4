package analysis

import "mgtrace/trace"

// Most stores of a program concern no declared object. That takes one look at where they
// go, while they come; to take them over later takes each of them out of the history again. So
// the graph follows the history from run to run, as long as its C-points are checked.

// eager: the graph is to follow at once. Where others make the types of blocks they may not
// be ready to, and where nothing is checked nobody asks.
func (a *Analysis) eager() bool { return !a.done && a.o.Observe == nil && a.Typing != nil }

// fewAside is how many stores that concern no object are not worth a piece of their own.
const fewAside = 8

// fewAtOnce is how many changes of objects behind a C-point are not worth putting off.
const fewAtOnce = 64

// take takes a run of stores into the history, in pieces all of which concern no object, or
// some of which do.
func (a *Analysis) take(run *trace.Stores) error {
	if !a.eager() {
		_, err := a.Hist.ApplyRun(run, a.stores)
		return err
	}
	a.Graph.Trail()
	for from, n := 0, len(run.Recs); from < n; {
		to := from
		for to < n && a.aside(&run.Recs[to]) {
			to++
		}
		aside := to - from
		if aside < fewAside && to < n {
			for left := fewAside; to < n && left > 0; to++ { // until so many in a row concern none
				if left--; !a.aside(&run.Recs[to]) {
					left = fewAside
				}
			}
			aside = 0
		}
		piece := &a.piece
		*piece = *run
		piece.Recs, piece.Instants = run.Recs[from:to], run.Instants[min(from, len(run.Instants)):min(to, len(run.Instants))]
		if _, err := a.Hist.ApplyRun(piece, a.stores); err != nil {
			return err
		}
		if aside > 0 {
			a.Graph.Passed()
		} else {
			a.Graph.Trail()
		}
		from = to
	}
	return nil
}

// aside: a store of a run concerns no object.
func (a *Analysis) aside(r *trace.StoreRec) bool {
	return int(r.Site) < len(a.stores) && a.Graph.Aside(trace.Addr(r.Addr), uint64(a.stores[r.Site].Width))
}

// apply takes an event into the history.
func (a *Analysis) apply(ev *trace.Event) error {
	aside := ev.Kind == trace.KindBulk && a.asideBulk(ev)
	if _, err := a.Hist.Apply(ev); err != nil {
		return err
	}
	if aside {
		a.Graph.Passed()
	}
	return nil
}

// asideBulk: what a library function is about to write concerns no object. The graph has
// followed.
func (a *Analysis) asideBulk(ev *trace.Event) bool {
	if !a.eager() {
		return false
	}
	a.Graph.Trail()
	return a.Graph.Aside(ev.Addr, max(ev.Size, uint64(len(ev.Data))))
}
