package faultloc

import (
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// What something led to at the last healthy C-point, and nothing leads to any more though it lives, is lost. The store that
// took the last pointer to it away is where to look.

// Limits of the search for what is lost.
const (
	maxLostIn = 1 << 10 // operations since the last healthy C-point
	maxLostOf = 256     // pointers taken away that are asked
)

// lost accuses the stores that took the last pointer away to nodes that something led to at the last healthy C-point.
func lost(in Input, tb *contributions, suspects []Suspect) []Suspect {
	if in.Healthy == 0 || in.At-in.Healthy > maxLostIn {
		return suspects
	}
	view := in.Model.View(in.At)
	seen := map[graph.ObjID]bool{}
	for t, n := in.At, 0; t > in.Healthy && n < maxLostOf && !in.stopped(); t-- {
		op := in.History.Op(t)
		if op.Kind != mgpp.OpStore || op.Size != 8 || !in.attributed(t) {
			continue
		}
		was, ok := read(in.Model.View(t-1), op.Addr, 8)
		is, ok2 := read(in.Model.View(t), op.Addr, 8)
		o := in.Cells.At(trace.Addr(was), in.Model.View(t-1))
		if !ok || ok2 && is == was || o == 0 || seen[o] {
			continue
		}
		n++
		seen[o] = true
		obj := in.Cells.Object(o)
		if obj.Death != 0 && obj.Death <= in.At || obj.Birth > in.Healthy || len(in.Cells.Into(o, view, 1)) > 0 || len(in.Cells.Into(o, in.Model.View(in.Healthy), 1)) == 0 {
			continue
		}
		if tb.byOp[t] == nil || in.Cells.Rooted(o, view) {
			continue
		}
		s := statement(in, &suspects, t)
		if !s.has(Lost) {
			s.Operation = t
			s.Evidence = append(s.Evidence, Evidence{Kind: Lost})
		}
	}
	return suspects
}
