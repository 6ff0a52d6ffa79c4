package faultloc

import (
	"slices"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Where two nodes lead to each other, who stored the one way marks the place where the other is missing.

// mirror finds where a pointer is missing that nothing has changed since the last
// healthy C-point: near the statement that has since made its target lead to its node.
func mirror(in Input, r *Repair) (Suspect, bool) {
	if !r.evidence(in).settles() || in.fresh(r.Cell) {
		return Suspect{}, false
	}
	t := r.back(in)
	if t == 0 {
		return Suspect{}, false
	}
	return Suspect{
		Kind: Omitted, PC: in.History.Op(t).PC, Operation: t, Repair: r, Contributes: r.mended(in),
		Evidence: []Evidence{r.evidence(in), {Kind: Mirror, Mends: r}},
	}, true
}

// back is the last store, since the last healthy C-point, of a pointer that leads from the repair's target to its
// node: the way back. 0: there is none.
func (r *Repair) back(in Input) (last mgpp.Timestamp) {
	if !r.Cell.Pointer || r.Target == 0 || r.Target == r.Cell.Obj {
		return 0
	}
	view := in.Model.View(in.At)
	for _, c := range in.Cells.Fields(r.Target, view) {
		v, ok := read(view, c.Addr, c.Size)
		if !ok || !c.Pointer || v == 0 || in.Cells.At(trace.Addr(v), view) != r.Cell.Obj || !r.mutual(in, c) {
			continue
		}
		if t := in.History.LastWrite(c.Addr, uint64(c.Size), in.At); t > max(in.Healthy, last) && in.attributed(t) && in.wrote(t) {
			last = t
		}
	}
	return last
}

// mutual: at the last healthy C-point the repair's field was not mostly something else than the way back of a
// pointer like this one, which leads from the repair's target to its node. Of an array any element may be the way back, as of a
// triangle's three neighbours.
func (r *Repair) mutual(in Input, c Cell) bool {
	way := c.Addr - in.Cells.Object(c.Obj).Addr
	node := in.Cells.Object(r.Cell.Obj)
	view := in.Model.View(in.Healthy)
	is, either, not := 0, 0, 0
	for _, o := range in.Cells.Alike(c.Obj, view, maxSample) {
		v, ok := read(view, in.Cells.Object(o).Addr+way, 8)
		to := in.Cells.At(trace.Addr(v), view)
		if !ok || v == 0 || to == 0 || in.Cells.Object(to).Type != node.Type {
			continue
		}
		back, ok := read(view, in.Cells.Object(to).Addr+(r.Cell.Addr-node.Addr), 8)
		switch {
		case ok && in.Cells.At(trace.Addr(back), view) == o, r.anyElement(in, to, o, view):
			is++
		case ok && in.either(way, back, to, o, view):
			either++
		default:
			not++
		}
	}
	if is == 0 { // it leads back from nowhere
		return either+not == 0
	}
	return is+either >= not
}

// either: a pointer to a node, the way, has one of several ways back, as that to a father in a tree has: another one leads back to an object, and that
// of the repair, which holds back, leads nowhere, or to a node that has this way to the same node.
func (in *Input) either(way trace.Addr, back uint64, node, o graph.ObjID, view mgpp.View) bool {
	if back != 0 {
		other := in.Cells.At(trace.Addr(back), view)
		if other == 0 || in.Cells.Object(other).Type != in.Cells.Object(o).Type {
			return false
		}
		v, ok := read(view, in.Cells.Object(other).Addr+way, 8)
		if !ok || in.Cells.At(trace.Addr(v), view) != node {
			return false
		}
	}
	return in.leadsBy(node, o, view, func(Cell) bool { return true })
}

// anyElement: the repair's field is an element of an array, and in another node one of these leads to an object.
func (r *Repair) anyElement(in Input, node, to graph.ObjID, view mgpp.View) bool {
	of := General(r.Cell.Path)
	return of != r.Cell.Path && in.leadsBy(node, to, view, func(c Cell) bool { return General(c.Path) == of })
}

// leadsBy: one of some pointers of a node leads to an object.
func (in *Input) leadsBy(node, to graph.ObjID, view mgpp.View, some func(Cell) bool) bool {
	return slices.ContainsFunc(in.Cells.Fields(node, view), func(c Cell) bool {
		v, ok := read(view, c.Addr, c.Size)
		return ok && c.Pointer && some(c) && in.Cells.At(trace.Addr(v), view) == to
	})
}

// oneWay accuses what made the target of a missing pointer lead back to its node, where the pointer has
// its node's first value still: who gives a new node that does not know yet where it will be. If a habit
// already names the statement that should have stored the pointer, nobody else is accused.
func oneWay(in Input, suspects []Suspect, repairs []Repair) []Suspect {
	if !in.looksFor(Mirror) {
		return suspects
	}
	for i := range repairs {
		r := &repairs[i]
		last := in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), in.At)
		if last <= in.Healthy || !r.evidence(in).explains() || !r.initial(in, last) && !r.reset(in, last) || slices.ContainsFunc(suspects, r.omittedBy) {
			continue
		}
		t := r.back(in)
		known := len(suspects)
		s := statement(in, &suspects, t)
		if known < len(suspects) {
			s.Operations, s.Contributes = []mgpp.Timestamp{t}, r.mended(in)
		}
		if s.Repair == nil {
			s.Repair, s.Operation = r, t
		}
		if !s.has(Mirror) {
			e := r.evidence(in)
			e.Kind, e.Mends = Mirror, r
			s.Evidence = append(s.Evidence, e)
		}
	}
	return suspects
}

// omittedBy: a suspect is the statement that would have made the repair, by its habit.
func (r *Repair) omittedBy(s Suspect) bool {
	return s.Kind == Omitted && s.Repair != nil && s.Repair.Cell.Addr == r.Cell.Addr && s.Repair.Value == r.Value && s.has(Habit)
}

// initial: an operation gave the repair's cell the first value of a new node, and something else has made the target
// lead back to that since.
func (r *Repair) initial(in Input, t mgpp.Timestamp) bool {
	birth := in.Cells.Object(r.Cell.Obj).Birth
	back := r.back(in)
	return birth > in.Healthy && back > t && t == firstWrite(in, r.Cell, birth) && in.function(back) != in.function(t) && !r.kept(in)
}

// reset: an operation left NULL in the repair's cell where NULL was, in another function than the one that has made the target
// lead back since: who takes a node out does not know yet where it will be. Where the target led back already it did, and that has been moved since.
func (r *Repair) reset(in Input, t mgpp.Timestamp) bool {
	v, ok := read(in.Model.View(t), r.Cell.Addr, r.Cell.Size)
	back := r.back(in)
	known := func() bool {
		return in.leadsBy(r.Target, r.Cell.Obj, in.Model.View(t), func(Cell) bool { return true })
	}
	return ok && v == 0 && !in.changed(t) && back > t && in.function(back) != in.function(t) && !known()
}

// kept: most like nodes have in the repair's field what they got first.
func (r *Repair) kept(in Input) bool {
	offset, n, kept := r.Cell.Addr-in.Cells.Object(r.Cell.Obj).Addr, 0, 0
	for _, o := range in.Cells.Alike(r.Cell.Obj, in.Model.View(in.At), maxSample) {
		obj := in.Cells.Object(o)
		last := in.History.LastWrite(obj.Addr+offset, uint64(r.Cell.Size), in.At)
		if n++; last > obj.Birth && in.History.LastWrite(obj.Addr+offset, uint64(r.Cell.Size), last-1) <= obj.Birth {
			kept++
		}
	}
	return n >= minLike && 2*kept > n
}
