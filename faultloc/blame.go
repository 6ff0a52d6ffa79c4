package faultloc

import (
	"slices"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// maxAlike bounds the like nodes that are asked who wrote their field.
const maxAlike = 500

// blame turns repairs into suspicion: against the statement that last changed
// the cell, and, where like nodes have that field from another statement,
// against that one for not having done it here.
func blame(in Input, tb *contributions, suspects []Suspect, repairs []Repair) []Suspect {
	destroyed := slices.ContainsFunc(repairs, func(r Repair) bool { return r.restores(in, tb) })
	for i := range repairs {
		r := &repairs[i]
		last := r.lastChange(in)
		if last > in.Healthy && in.attributed(last) && in.wrote(last) {
			s := statement(in, &suspects, last)
			if s.Repair == nil {
				s.Repair = r
				s.Evidence = append(s.Evidence, r.evidence(in))
			}
			if len(s.Operations) == 0 {
				s.Operations = []mgpp.Timestamp{last}
				s.Contributes = r.mended(in)
			}
		}
		if destroyed || r.Orphans > 0 {
			continue
		}
		if s, ok := missing(in, tb, r, last); ok && !slices.ContainsFunc(suspects, func(o Suspect) bool { return o.Kind == Omitted && o.PC == s.PC }) {
			suspects = append(suspects, s)
		}
	}
	return suspects
}

func (r *Repair) evidence(in Input) Evidence {
	return Evidence{Kind: RepairCell, Cured: r.Cured, Of: len(in.Found), Created: r.Created, Orphans: r.Orphans}
}

// maxRewrites bounds the stores of a value that is there already.
const maxRewrites = 64

// lastChange returns the operation that gave the cell another value last.
func (r *Repair) lastChange(in Input) mgpp.Timestamp {
	t := in.At
	for range maxRewrites {
		t = in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), t)
		if t == 0 || !in.wrote(t) {
			break
		}
		was, ok := read(in.Model.View(t-1), r.Cell.Addr, r.Cell.Size)
		is, ok2 := read(in.Model.View(t), r.Cell.Addr, r.Cell.Size)
		if ok != ok2 || was != is {
			break
		}
		t--
	}
	return t
}

// restores: the repair puts back what the program had stored and an operation
// that broke the constraints for good overwrote. Then nothing is missing.
func (r *Repair) restores(in Input, tb *contributions) bool {
	last := r.lastChange(in)
	if c := tb.byOp[last]; !r.evidence(in).settles() || c == nil || c.lasting() == 0 {
		return false
	}
	before := in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), last-1)
	was, ok := read(in.Model.View(last-1), r.Cell.Addr, r.Cell.Size)
	return before > 0 && in.wrote(before) && ok && was == r.Value
}

// missing finds the statement that gives like nodes this field, but did not
// here. There is none where the cell is wrong by what was written into it.
func missing(in Input, tb *contributions, r *Repair, last mgpp.Timestamp) (Suspect, bool) {
	if c := tb.byOp[last]; c != nil && c.lasting() > 0 {
		return Suspect{}, false
	}
	usual, often, of := usualWriter(in, r)
	if usual == 0 || 2*often < of {
		return Suspect{}, false
	}
	st := in.Statement(in.History.Op(usual).PC)
	for t := last; t > in.Healthy; t = in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), t-1) {
		if in.Statement(in.History.Op(t).PC) == st {
			return Suspect{}, false // it did
		}
	}
	return Suspect{
		Kind: Omitted, PC: in.History.Op(usual).PC, Operation: usual, Repair: r, Contributes: r.mended(in),
		Evidence: []Evidence{r.evidence(in), {Kind: Missing, Often: often, Of: of}},
	}, true
}

// usualWriter returns an operation of the statement that most like nodes have
// the repair's field from: of the nodes that hold what the repair would store
// (a number), or a pointer if it is one, or NULL; of all if these are too few
// to tell.
func usualWriter(in Input, r *Repair) (example mgpp.Timestamp, often, of int) {
	view := in.Model.View(in.At)
	offset := r.Cell.Addr - in.Cells.Object(r.Cell.Obj).Addr
	like := in.Cells.Alike(r.Cell.Obj, view, maxAlike)
	same := slices.DeleteFunc(slices.Clone(like), func(o graph.ObjID) bool {
		v, ok := read(view, in.Cells.Object(o).Addr+offset, r.Cell.Size)
		if r.Cell.Pointer {
			return !ok || (v == 0) != (r.Value == 0)
		}
		return !ok || v != r.Value
	})
	if len(same) >= 2 {
		like = same
	}
	return commonWriter(in, like, offset, r.Cell.Size)
}

func commonWriter(in Input, nodes []graph.ObjID, offset trace.Addr, size int) (example mgpp.Timestamp, often, of int) {
	count := map[string]int{}
	newest := map[string]mgpp.Timestamp{}
	for _, o := range nodes {
		t := in.History.LastWrite(in.Cells.Object(o).Addr+offset, uint64(size), in.At)
		if t == 0 || !in.attributed(t) || t < in.Cells.Object(o).Birth {
			continue
		}
		of++
		st := in.Statement(in.History.Op(t).PC)
		count[st]++
		newest[st] = max(newest[st], t)
		if count[st] > often || count[st] == often && newest[st] > example {
			example, often = newest[st], count[st]
		}
	}
	return example, often, of
}
