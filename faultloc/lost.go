package faultloc

import (
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// A node to which nothing leads any more was lost somewhere. What broke its constraints is the
// end of the last link to it. But that may have been due, as where a node is moved, and its old
// place is freed; then the newest link to it is the one that should be there.

// lost accuses, for each node of an inconsistency to which nothing leads any more by the fields
// that the constraints ask about (a node may be in two lists, and missing in one),
//
//   - the store that overwrote the newest link to it, if that was made since the last healthy
//     C-point
//   - else, if the node that had the link was freed, the store that took that one out before
func lost(in Input, tb *contributions, suspects []Suspect) []Suspect {
	for _, o := range in.lostNodes(tb) {
		t, overwritten := in.loser(o)
		if t == 0 || !in.attributed(t) || in.stopped() || tb.byOp[t] != nil && tb.byOp[t].lasting() > 0 {
			continue // or it is known for what it broke
		}
		known := len(suspects)
		s := statement(in, &suspects, t)
		if s.has(Lost) {
			continue
		}
		if known < len(suspects) {
			s.Operations = []mgpp.Timestamp{t}
		}
		s.Evidence = append(s.Evidence, Evidence{Kind: Lost, Again: overwritten})
	}
	return suspects
}

// lostNodes are the nodes to which nothing leads any more, of the inconsistencies and of the
// pointers that were taken out where these were broken.
func (in *Input) lostNodes(tb *contributions) (out []graph.ObjID) {
	view := in.Model.View(in.At)
	seen := map[graph.ObjID]bool{}
	add := func(o graph.ObjID) {
		if o == 0 || seen[o] || len(seen) == maxLed || len(out) == maxLost {
			return
		}
		seen[o] = true
		if obj := in.Cells.Object(o); (obj.Death == 0 || obj.Death > in.At) && len(in.links(o, view)) == 0 {
			out = append(out, o)
		}
	}
	for _, inc := range in.Found {
		for _, o := range inc.Instance.Nodes {
			add(o)
		}
	}
	for _, t := range tb.order {
		if op := in.History.Op(t); t > in.Healthy && tb.byOp[t].lasting() > 0 && op.Kind == mgpp.OpStore && op.Size == 8 {
			if was, ok := read(in.Model.View(t-1), op.Addr, 8); ok {
				add(in.Cells.At(trace.Addr(was), in.Model.View(t-1)))
			}
		}
	}
	return out
}

// links returns the cells that lead to o, of other nodes and of the fields that the constraints
// which are broken ask about, if they do.
func (in *Input) links(o graph.ObjID, v mgpp.View) (out []trace.Addr) {
	m, ok := in.Model.(interface {
		Links(eval.Instance, graph.ObjID, mgpp.View) ([]trace.Addr, bool)
	})
	asks, seen := false, map[int]bool{}
	for _, inc := range in.Found {
		if k := inc.Instance.Constraint; ok && !seen[k] {
			seen[k] = true
			of, asked := m.Links(inc.Instance, o, v)
			out, asks = append(out, of...), asks || asked
		}
	}
	if !asks {
		return in.Cells.Into(o, v, maxLinks)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Limits of the search for what lost a node.
const (
	maxLed    = 64 // nodes that are asked whether something leads to them
	maxLost   = 8  // nodes to which nothing does
	maxLinks  = 16 // cells that lead to one, where the constraints ask about no fields
	maxLinked = 64 // operations of a statement that may have linked what is freed
)

// loser is the operation that lost a node; overwritten: its link had been made since the last
// healthy C-point.
func (in *Input) loser(o graph.ObjID) (t mgpp.Timestamp, overwritten bool) {
	addr := uint64(in.Cells.Object(o).Addr)
	link, cell := mgpp.Timestamp(0), trace.Addr(0)
	for t := in.At; t > in.Healthy && in.At-t < maxOdd; t-- {
		if op := in.History.Op(t); op.Kind == mgpp.OpStore && op.Size == 8 {
			v := in.Model.View(t)
			if to, ok := read(v, op.Addr, 8); ok && to == addr && slices.Contains(in.links(o, v), op.Addr) {
				link, cell = t, op.Addr
				break
			}
		}
	}
	if link == 0 {
		into := in.links(o, in.Model.View(in.Healthy))
		if len(into) != 1 {
			return 0, false
		}
		link, cell = in.Healthy, into[0]
	}
	for t := link + 1; t <= in.At; t++ {
		op := in.History.Op(t)
		switch {
		case op.Kind == mgpp.OpDeath && uint64(cell-op.Addr) < op.Size:
			return in.unlinker(op), false
		case in.wrote(t) && op.Addr < cell+8 && cell < op.Addr+trace.Addr(op.Size):
			if link == in.Healthy {
				return 0, false // which is what broke the constraints
			}
			return t, true
		}
	}
	return 0, false
}

// unlinker is the store, since the last healthy C-point, that took out the last pointer to a node
// before it was freed; 0: none, or something still led to it then.
func (in *Input) unlinker(death mgpp.Op) mgpp.Timestamp {
	if in.led(death) {
		return 0
	}
	for t := death.Time - 1; t > in.Healthy && death.Time-t < maxOdd; t-- {
		if in.tookOut(t, death.Addr) {
			return t
		}
	}
	return 0
}

// doomed accuses the store of a pointer to a node that was there at the last healthy C-point, and
// was freed after the store, if the pointer is still there: nobody links what is about to be freed.
func doomed(in Input, suspects []Suspect) []Suspect {
	view := in.Model.View(in.At)
	for i := range suspects {
		s := &suspects[i]
		for _, t := range s.Operations[:min(len(s.Operations), maxLinked)] {
			op := in.History.Op(t)
			if t <= in.Healthy || op.Kind != mgpp.OpStore || op.Size != 8 || !in.changed(t) || in.History.LastWrite(op.Addr, 8, in.At) != t {
				continue
			}
			c, ok := in.Cells.Cell(op.Addr, view)
			v, known := read(view, op.Addr, 8)
			o := in.Cells.At(trace.Addr(v), in.Model.View(t))
			if !ok || !known || !c.Pointer || o == 0 {
				continue
			}
			if n := in.Cells.Object(o); n.Birth <= in.Healthy && n.Death > t && n.Death <= in.At {
				s.Evidence = append(s.Evidence, Evidence{Kind: Doomed})
				break
			}
		}
	}
	return suspects
}
