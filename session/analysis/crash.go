package analysis

import (
	"mgtrace/constraints/eval"
	"mgtrace/faultloc"
	"mgtrace/report"
)

// A program may die before anything is broken: a pointer that it follows is NULL. There is no inconsistency to trace back, but
// the call in which it died can be executed again.

// sole: it is about a crash at which nothing is broken.
func (p *point) sole() bool { return p.Kind == "crash" && len(p.found) == 0 && p.fault == nil }

// crashed locates such a crash, if the program died in its own code.
func (a *Analysis) crashed() (c report.CPoint, ok bool) {
	if a.died == 0 || a.Exit == nil || a.Exit != a.signal || a.checked == 0 || a.o.NoLocate || len(a.points) > 0 {
		return c, false
	}
	p := &point{CPoint: eval.CPoint{Kind: "crash"}, time: a.Hist.Now(), healthy: a.whole}
	a.Graph.Exact()
	in := a.question(p)
	res := a.watched(p, in, faultloc.Crashed)
	c = report.CPoint{Kind: p.Kind, File: a.signal.File, Path: a.signal.Path, Line: a.signal.Line, Timestamp: uint64(p.time), Fault: report.Crash}
	c.Inconsistencies = []report.Inconsistency{{Constraint: report.Crash, Reason: "the program died of " + a.signal.Signal + ", and nothing was inconsistent", Total: 1}}
	for i := range res.Suspects {
		s := a.suspect(i+1, &res.Suspects[i], p.time)
		s.Contributes = []string{report.Crash}
		c.Suspects = append(c.Suspects, s)
	}
	return c, len(c.Suspects) > 0
}
