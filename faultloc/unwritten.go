package faultloc

import (
	"slices"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Limits of the search for where a pointer was copied from that nothing had written.
const (
	maxCopies = 16 // earlier executions of the statement
	fewCopies = 3  // that show where it has its values from
)

// unwritten accuses what should have written a field from which a suspect has copied a pointer. A specification that does not read the field can
// not say that nothing had written it: what the memory held before goes into the structure when the node is taken out, "*p = n->next;".
func unwritten(in Input, tb *contributions, suspects []Suspect) []Suspect {
	for i := range len(suspects) {
		s := &suspects[i]
		if c := tb.byOp[s.Operation]; s.Kind != Wrote || c == nil || c.lasting() == 0 {
			continue
		}
		from, ok := in.copiedFrom(s.Operation)
		if !ok {
			continue
		}
		w, often, of := in.writesOf(from)
		if w == 0 || 4*often < of { // it is written nowhere, or by others than who fills the node in
			if birth := in.Cells.Object(from.Obj).Birth; in.attributed(birth) {
				suspects = charge(in, suspects, birth, Evidence{Kind: Unwritten, Mends: &Repair{Cell: from}, At: s.Operation})
			}
			continue
		}
		suspects = append(suspects, Suspect{
			Kind: Omitted, PC: in.History.Op(w).PC, Operation: w, Contributes: slices.Clone(s.Contributes),
			Evidence: []Evidence{{Kind: Unwritten, Mends: &Repair{Cell: from}, At: s.Operation, Often: often, Of: of}},
		})
	}
	return suspects
}

// copiedFrom is the field that nothing has written of the node to which a cell led, where the statement that stored a pointer there, in all of
// its earlier executions, has had it from that field.
func (in *Input) copiedFrom(t mgpp.Timestamp) (from Cell, ok bool) {
	op := in.History.Op(t)
	if op.Kind != mgpp.OpStore || op.Size != 8 {
		return from, false
	}
	led := func(t mgpp.Timestamp) (obj *graph.Object, o graph.ObjID, view mgpp.View) {
		view = in.Model.View(t - 1)
		was, known := read(view, in.History.Op(t).Addr, 8)
		if !known {
			return nil, 0, view
		}
		if o = in.Cells.At(trace.Addr(was), view); o != 0 {
			obj = in.Cells.Object(o)
		}
		return obj, o, view
	}
	obj, o, view := led(t)
	if v, known := read(in.Model.View(t), op.Addr, 8); obj == nil || !known || v == 0 {
		return from, false
	}
	for _, c := range in.Cells.Fields(o, view) {
		if _, known := read(view, c.Addr, c.Size); known || !c.Pointer || c.Size != 8 {
			continue
		}
		n, same := 0, true
		in.earlier(t, t-1, func(e mgpp.Timestamp) bool {
			was, _, before := led(e)
			if was == nil || was.Type != obj.Type {
				return true
			}
			v, known := read(before, was.Addr+(c.Addr-obj.Addr), c.Size)
			is, ok := read(in.Model.View(e), in.History.Op(e).Addr, c.Size)
			if known && ok {
				n, same = n+1, v == is
			}
			return same && n < maxCopies
		})
		if same && n >= fewCopies && !ok {
			from, ok = c, true
		} else if same && n >= fewCopies {
			return from, false // it may be either
		}
	}
	return from, ok
}

// writesOf is the newest first store of a field in a like node, of the statement that most of these have it from, and how many of how many
// they are.
func (in *Input) writesOf(c Cell) (newest mgpp.Timestamp, often, of int) {
	obj := in.Cells.Object(c.Obj)
	writers := map[string]writer{}
	for _, o := range in.Cells.Alike(c.Obj, in.Model.View(in.At), maxAlike) {
		like := in.Cells.Object(o)
		at := like.Addr + (c.Addr - obj.Addr)
		of++
		if t := firstWrite(*in, Cell{Addr: at, Size: c.Size}, like.Birth); t > like.Birth && in.attributed(t) {
			w := writers[in.statement(t)]
			w.often, w.newest = w.often+1, max(w.newest, t)
			writers[in.statement(t)] = w
		}
	}
	var most writer
	for _, w := range writers {
		if w.before(most) {
			most = w
		}
	}
	return most.newest, most.often, of
}
