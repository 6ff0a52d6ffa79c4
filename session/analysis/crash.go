package analysis

import (
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/trace"
)

// A program may die before anything is broken: a pointer that it follows is NULL. There is no inconsistency to trace back, but
// the call in which it died can be executed again.

// sole: it is about a crash at which nothing is broken.
func (p *point) sole() bool { return p.Kind == "crash" && len(p.found) == 0 && p.fault == nil }

// crashed locates such a crash, if the program died in its own code.
func (a *Analysis) crashed() (c report.CPoint, ok bool) {
	if a.died.pc == 0 || a.Exit == nil || a.Exit != a.signal || a.checked == 0 || a.o.NoLocate || len(a.points) > 0 {
		return c, false
	}
	p := &point{CPoint: eval.CPoint{Kind: "crash"}, time: a.beforeAbort(), healthy: a.whole}
	a.Graph.Exact()
	in := a.question(p)
	res := a.watched(p, in, faultloc.Crashed)
	c = report.CPoint{Kind: p.Kind, File: a.signal.File, Path: a.signal.Path, Line: a.signal.Line, Timestamp: uint64(p.time), Fault: report.Crash}
	c.Inconsistencies = []report.Inconsistency{{Constraint: report.Crash, Reason: "the program died of " + a.signal.Signal + ", and nothing was inconsistent", Total: 1}}
	if a.died.aborted && !slices.ContainsFunc(res.Suspects, func(s faultloc.Suspect) bool { return s.Kind != faultloc.Died }) {
		return c, false // where it aborted is told in any case
	}
	for i := range res.Suspects {
		s := a.suspect(i+1, &res.Suspects[i], p.time)
		s.Contributes = []string{report.Crash}
		c.Suspects = append(c.Suspects, s)
	}
	return c, len(c.Suspects) > 0
}

// beforeAbort is the last operation that the program did before it ended itself: assert and its kin allocate for what they say.
func (a *Analysis) beforeAbort() mgpp.Timestamp {
	t := a.Hist.Now()
	for ; a.died.aborted && t > 0; t-- {
		pc := a.Hist.Op(t).PC
		if im, ok := a.Symbols.Image(pc); pc != a.died.pc && (!ok || im.Traced) {
			break
		}
	}
	return t
}

// Limits of the search for pointers to where the program died.
const (
	maxHolders = 1 << 20 // objects; of more nobody is asked
	maxOff     = 1 << 12 // bytes from where a pointer leads
)

// holding are the pointers of nodes, and of declared objects in static memory, that lead nowhere, and from which the address may have come at
// which the program found no memory. It has followed one of them most likely. Nothing is told of NULL: many are.
func (a *Analysis) holding(at mgpp.Timestamp) (out []faultloc.Read) {
	fault := a.died.fault
	if fault < maxOff {
		return nil
	}
	var all []graph.ObjID
	for i := range a.spec.Globals {
		if o := a.Graph.Global(i); o != 0 {
			all = append(all, o)
		}
	}
	for _, t := range a.spec.Types {
		all = a.Graph.Live(t, at, all)
	}
	if len(all) > maxHolders {
		return nil
	}
	v := a.Hist.At(at)
	for _, o := range all {
		for _, c := range (locatorCells{a.Graph}).Fields(o, v) {
			to, known := mgpp.Number(v, c.Addr, c.Size)
			if !known || !c.Pointer || uint64(fault)-to >= maxOff {
				continue
			}
			if _, ok := v.NodeAt(trace.Addr(to)); !ok {
				out = append(out, faultloc.Read{Addr: c.Addr, Size: c.Size, Of: -1, Before: at, Born: a.Graph.Object(o).Birth})
			}
		}
	}
	return out
}
