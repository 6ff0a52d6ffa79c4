package faultloc

import (
	"slices"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Where no statement is known that should have stored a field, a statement beside it marks the place.

// neverWritten: the cell has no value, neither from the start, as static memory has; or it has the zero of a new
// node's memory that a statement cleared.
func (r *Repair) neverWritten(in Input, last mgpp.Timestamp) bool {
	_, known := read(in.Model.View(in.At), r.Cell.Addr, r.Cell.Size)
	birth := in.Cells.Object(r.Cell.Obj).Birth
	return !known && last <= birth || birth > in.Healthy && in.clears(last)
}

// beside finds where the first value of a field is missing that was never written, and
// that no like node has from anywhere: at the statement that gave the nearest field of
// the node its first value.
func beside(in Input, r *Repair) (Suspect, bool) {
	obj := in.Cells.Object(r.Cell.Obj)
	size := uint64(r.Cell.Size)
	for d := size; d <= maxBeside; d += size {
		var near []mgpp.Timestamp
		for _, addr := range [2]trace.Addr{r.Cell.Addr - trace.Addr(d), r.Cell.Addr + trace.Addr(d)} {
			if addr < obj.Addr || uint64(addr-obj.Addr)+size > obj.Size {
				continue
			}
			first := firstWrite(in, Cell{Addr: addr, Size: r.Cell.Size}, obj.Birth)
			if first > in.Healthy && in.attributed(first) && in.wrote(first) {
				near = append(near, first)
			}
		}
		if len(near) == 0 {
			continue
		}
		_, known := read(in.Model.View(in.At), r.Cell.Addr, r.Cell.Size)
		e := Evidence{Kind: Beside, Unset: !known}
		if len(near) > 1 { // either side is as near
			e.Beside = near[1]
		}
		return Suspect{
			Kind: Omitted, PC: in.History.Op(near[0]).PC, Operation: near[0], Repair: r, Contributes: r.mended(in),
			Evidence: []Evidence{r.evidence(in), e},
		}, true
	}
	return Suspect{}, false
}

// unready: where a field that was never written would mend all, who linked its node did well: what the field should hold is asked
// for since then, and would be whoever links it.
func unready(in Input, suspects []Suspect) {
	for i := range suspects {
		r := suspects[i].Repair
		if r == nil || !r.evidence(in).settles() || !slices.ContainsFunc(suspects[i].Evidence, func(e Evidence) bool { return e.Kind == Beside && e.Unset }) {
			continue
		}
		for k := range suspects {
			s := &suspects[k]
			op := in.History.Op(s.Operation)
			if s.Kind != Wrote || op.Kind != mgpp.OpStore || op.Size != 8 {
				continue
			}
			v, ok := read(in.Model.View(s.Operation), op.Addr, 8)
			if !ok || in.Cells.At(trace.Addr(v), in.Model.View(s.Operation)) != r.Cell.Obj {
				continue
			}
			for n := range s.Evidence {
				if e := &s.Evidence[n]; e.Kind == Counterfactual || e.Kind == RepairCell {
					e.Unready = true
				}
			}
		}
	}
}

// idle finds a store of the repair's value into another field of the node that held it
// already, while the node was still being filled in: it may have been meant for the one
// that was never written. Of several it is the one that followed the soonest on what had
// stored the value before.
func idle(in Input, r *Repair) (best mgpp.Timestamp, ok bool) {
	birth := in.Cells.Object(r.Cell.Obj).Birth
	fields := in.Cells.Fields(r.Cell.Obj, in.Model.View(in.At))
	filled := mgpp.Timestamp(0)
	for _, c := range fields {
		filled = max(filled, firstWrite(in, c, birth))
	}
	filled = in.goesOn(r.Cell.Obj, filled)
	gap := mgpp.Timestamp(0)
	for _, c := range fields {
		if c.Addr == r.Cell.Addr || c.Size != r.Cell.Size || c.Pointer != r.Cell.Pointer {
			continue
		}
		size := uint64(c.Size)
		t := in.History.LastWrite(c.Addr, size, min(in.At, filled))
		if t <= in.Healthy || !in.attributed(t) || in.History.Op(t).Kind != mgpp.OpStore || in.changed(t) {
			continue
		}
		before := in.History.LastWrite(c.Addr, size, t-1)
		is, _ := read(in.Model.View(t), c.Addr, c.Size)
		if is == r.Value && before > birth && (!ok || t-before < gap) {
			best, gap, ok = t, t-before, true
		}
	}
	return best, ok
}

// goesOn is the last of the operations that follow one without another between, and write to the same node:
// a field that has its value already may be written once more before the node is full.
func (in *Input) goesOn(of graph.ObjID, t mgpp.Timestamp) mgpp.Timestamp {
	obj := in.Cells.Object(of)
	for t < in.At {
		if op := in.History.Op(t + 1); op.Kind != mgpp.OpStore || uint64(op.Addr-obj.Addr) >= obj.Size {
			break
		}
		t++
	}
	return t
}

// vain finds a store into another field of the node that another one replaced while the node was still
// being filled in, so that it was of no use, and whose value would do in the field that was never written.
func (l *lab) vain(r *Repair) (mgpp.Timestamp, bool) {
	in := l.in
	birth := in.Cells.Object(r.Cell.Obj).Birth
	for _, c := range in.Cells.Fields(r.Cell.Obj, l.view) {
		first := firstWrite(in, c, birth)
		if c.Size != r.Cell.Size || c.Pointer != r.Cell.Pointer || first <= in.Healthy || !in.attributed(first) || in.History.Op(first).Kind != mgpp.OpStore {
			continue
		}
		v, ok := read(in.Model.View(first), c.Addr, c.Size)
		next := in.History.LastWrite(c.Addr, uint64(c.Size), min(in.At, first+maxVain))
		if !ok || next == first || !in.changed(next) || in.function(next) != in.function(first) || l.exhausted() {
			continue
		}
		if o, worth := l.try(l.with(r.Cell, v), r.Cured); worth && o.n >= r.Cured && o.created == 0 {
			return first, true
		}
	}
	return 0, false
}

// maxVain is within how many operations a first value is replaced while its node is being filled in.
const maxVain = 8

// clears: an operation wrote zeros over several fields at once, as is done with new memory: what any of them
// should have held since, it is not to be asked.
func (in *Input) clears(t mgpp.Timestamp) bool {
	op := in.History.Op(t)
	if op.Kind != mgpp.OpBulk || op.Size <= 8 {
		return false
	}
	view := in.Model.View(t)
	for at := uint64(0); at+8 <= min(op.Size, maxCleared); at += 8 {
		if v, ok := read(view, op.Addr+trace.Addr(at), 8); !ok || v != 0 {
			return false
		}
	}
	return true
}

// maxCleared is of how many bytes all must be zero.
const maxCleared = 256

// firstWrite is when a field of a node was written for the first time, 0 if never.
func firstWrite(in Input, c Cell, birth mgpp.Timestamp) (first mgpp.Timestamp) {
	t := in.History.LastWrite(c.Addr, uint64(c.Size), in.At)
	for n := 0; t > birth && n < maxRewrites && !in.clears(t); n++ {
		first = t
		t = in.History.LastWrite(c.Addr, uint64(c.Size), t-1)
	}
	return first
}

// lastHere finds where a change of a field is missing that nothing has changed since
// the last healthy C-point, and that no statement is known to change: near the statement
// that wrote the element next to it, of an array, or else was the last to write to the same node.
func lastHere(in Input, tb *contributions, r *Repair) (Suspect, bool) {
	if !r.evidence(in).settles() || r.lastWrite(in) > in.Healthy {
		return Suspect{}, false
	}
	obj := in.Cells.Object(r.Cell.Obj)
	t, element := r.element(in, tb), true
	if t == 0 {
		t, element = in.History.LastWrite(obj.Addr, obj.Size, in.At), false
	}
	if t <= in.Healthy || !in.attributed(t) || !in.wrote(t) {
		return Suspect{}, false
	}
	return Suspect{
		Kind: Omitted, PC: in.History.Op(t).PC, Operation: t, Repair: r, Contributes: r.mended(in),
		Evidence: []Evidence{r.evidence(in), {Kind: Last, Element: element}},
	}, true
}

// element is the last store, since the last healthy C-point and before what broke the constraints
// for good, into an element of an array next to a repair's; 0: there was none, or it is in no
// array.
func (r *Repair) element(in Input, tb *contributions) (last mgpp.Timestamp) {
	broke := r.broke(in, tb, in.Healthy)
	size := trace.Addr(r.Cell.Size)
	for _, addr := range [2]trace.Addr{r.Cell.Addr - size, r.Cell.Addr + size} {
		c, ok := in.Cells.Cell(addr, in.Model.View(in.At))
		if !ok || c.Obj != r.Cell.Obj || c.Path == r.Cell.Path || General(c.Path) != General(r.Cell.Path) {
			continue
		}
		if t := in.History.LastWrite(addr, uint64(size), broke); t > in.Healthy && in.attributed(t) && in.wrote(t) {
			last = max(last, t)
		}
	}
	return last
}

// maxBeside bounds how far from a field, in bytes, another counts as beside it.
const maxBeside = 64
