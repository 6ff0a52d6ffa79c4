package analysis

import (
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Most stores of a program concern no declared object. That takes one look at where they
// go, while they come; to take them over later takes each of them out of the history again. So
// the graph follows the history from run to run, as long as its C-points are checked.

// eager: the graph is to follow at once. Where others make the types of blocks they may not
// be ready to, and where nothing is checked nobody asks.
func (a *Analysis) eager() bool { return !a.done && a.o.Observe == nil && a.Typing != nil }

// fewAtOnce is how many changes of objects behind a C-point are not worth putting off.
const fewAtOnce = 64

// concerned is a store of a run that concerns an object.
type concerned struct {
	index int // in the run
	obj   graph.ObjID
}

// take takes a run of stores into the history, in pieces: the graph is told of those that concern
// objects, most often without a look at what the history has made of them.
func (a *Analysis) take(run *trace.Stores) error {
	if !a.eager() {
		_, err := a.Hist.ApplyRun(run, a.stores)
		return err
	}
	a.Graph.Trail()
	if a.Graph.Overlooks() {
		if _, err := a.Hist.ApplyRun(run, a.stores); err != nil {
			return err
		}
		a.Graph.Passed()
		return nil
	}
	for from, n := 0, len(run.Recs); from < n; {
		to := a.sure(run, from)
		surely := to > from
		if !surely { // one that takes a look
			to++
		}
		if err := a.takePiece(run, from, to, surely); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// sure finds out which objects the stores of a run from a place on concern, up to where that takes a look
// at the history.
func (a *Analysis) sure(run *trace.Stores, from int) (to int) {
	a.concerned = a.concerned[:0]
	for to = from; to < len(run.Recs); to++ {
		r := &run.Recs[to]
		if int(r.Site) >= len(a.stores) {
			return to
		}
		o, sure := a.Graph.Concerned(trace.Addr(r.Addr), uint64(a.stores[r.Site].Width))
		if !sure {
			return to
		}
		if o != 0 {
			a.concerned = append(a.concerned, concerned{to, o})
		}
	}
	return to
}

// takePiece takes a part of a run into the history. surely: which objects it concerns is known.
func (a *Analysis) takePiece(run *trace.Stores, from, to int, surely bool) error {
	piece := run
	if to-from < len(run.Recs) {
		piece = &a.piece
		*piece = *run
		piece.Recs, piece.Instants = run.Recs[from:to], run.Instants[min(from, len(run.Instants)):min(to, len(run.Instants))]
	}
	before := a.Hist.Now()
	if _, err := a.Hist.ApplyRun(piece, a.stores); err != nil {
		return err
	}
	if !surely || len(a.concerned) > 0 && int(a.Hist.Now()-before) != to-from { // not all have become operations
		a.Graph.Trail()
		return nil
	}
	op := mgpp.Brief{Kind: mgpp.OpStore} // filled where it lies: see mgpp's slab
	for _, c := range a.concerned {
		r := &run.Recs[c.index]
		width := a.stores[r.Site].Width
		op.Addr, op.Size, op.Value, op.Valued = trace.Addr(r.Addr), uint64(width), r.Value, width <= 8
		a.Graph.Wrote(c.obj, before+mgpp.Timestamp(c.index-from+1), &op)
	}
	a.Graph.Passed()
	return nil
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
