package faultloc

import (
	"slices"

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
		if from := in.Cells.At(op.Addr, in.Model.View(t)); from != 0 && in.Function != nil {
			if again := in.keptBefore(t, from, was); again != 0 {
				suspects = accuseAgain(in, suspects, again)
			}
			if at, mends := in.emptied(t, from, was); at != 0 {
				suspects = accuseEmptied(in, suspects, at, mends)
				continue
			}
		}
		s := statement(in, &suspects, t)
		if !s.has(Lost) {
			s.Operation = t
			s.Evidence = append(s.Evidence, Evidence{Kind: Lost})
		}
	}
	return suspects
}

// keptBefore is when, before an operation of the same function that took the last pointer to a node out of another one (from), a pointer to that
// other one was stored where it was already, if something that the operation broke would hold with the first one there: what the node led
// to should have been stored ("list->first = n; n->next = NULL;"). 0: it was not.
func (in *Input) keptBefore(t mgpp.Timestamp, from graph.ObjID, lost uint64) mgpp.Timestamp {
	op, view, node := in.History.Op(t), in.Model.View(t), in.Cells.Object(from)
	for at := t - 1; at > in.Healthy && t-at < maxUnlinked; at-- {
		if !in.idly(at) || in.Function(in.History.Op(at).PC) != in.Function(op.PC) {
			continue
		}
		c, ok := in.Cells.Cell(in.History.Op(at).Addr, view)
		if v, known := read(view, c.Addr, 8); !ok || !known || !c.Pointer || c.Obj == from || trace.Addr(v) != node.Addr {
			continue
		}
		if slices.Contains(in.spared(t, c, lost), true) {
			return at
		}
		return 0
	}
	return 0
}

// spared says which inconsistencies an operation broke that would have held after it with another pointer in a cell.
func (in *Input) spared(t mgpp.Timestamp, c Cell, v uint64) []bool {
	view := in.Model.View(t)
	was, is, would := in.verdicts(in.Model.View(t-1)), in.verdicts(view), in.verdicts(with(view, c, v))
	out := make([]bool, len(in.Found))
	for i, f := range in.Found {
		out[i] = is(f.Instance) && !was(f.Instance) && !would(f.Instance)
	}
	return out
}

// emptied is when, before an operation of the same function that took the last pointer to a node out of another one (from), a pointer to that other
// one was replaced by none of those that it had, and what would hold with the lost node there: that should have been stored
// ("list->first = NULL; n->next = NULL;"). 0: it was not.
func (in *Input) emptied(t mgpp.Timestamp, from graph.ObjID, lost uint64) (mgpp.Timestamp, []bool) {
	for at := range in.taken(in.Cells.Object(from).Addr, t, in.Healthy) {
		if in.function(at) != in.function(t) {
			continue
		}
		by := in.History.Op(at)
		c, ok := in.cellAt(by, in.Model.View(t))
		instead, known := read(in.Model.View(at), by.Addr, 8)
		if !ok || !known || !c.Pointer || c.Addr != by.Addr || c.Obj == from || instead != 0 && in.ledTo(from, instead, at-1) || !in.ledTo(from, lost, at-1) {
			return 0, nil
		}
		mends := in.spared(t, c, lost)
		if !slices.Contains(mends, true) {
			return 0, nil
		}
		return at, mends
	}
	return 0, nil
}

// accuseEmptied accuses a store that took a node out, and put nothing there of what that led to.
func accuseEmptied(in Input, suspects []Suspect, t mgpp.Timestamp, mends []bool) []Suspect {
	known := len(suspects)
	s := statement(in, &suspects, t)
	if s.has(Dropped) {
		return suspects
	}
	s.Operation = t
	if known < len(suspects) {
		s.Operations = []mgpp.Timestamp{t}
		for i, inc := range in.Found {
			if mends[i] {
				s.Contributes = append(s.Contributes, inc.Instance)
			}
		}
	}
	e := Evidence{Kind: Dropped, Emptied: true}
	in.cures(&e, mends)
	s.Evidence = append(s.Evidence, e)
	return suspects
}
