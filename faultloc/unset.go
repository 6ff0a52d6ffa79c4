package faultloc

import (
	"slices"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Unset is a read of memory that nothing had written.
type Unset struct {
	PC     trace.Addr // of the instruction that read it
	Addr   trace.Addr
	Size   int
	Before mgpp.Timestamp // the last operation before it
}

// unset accuses what should have written a field that the broken call has read, where nothing had written it. It is the statement from
// which like nodes have its first value; where few have one, who allocated the node.
func (in *Input) unset(r Rerun, suspects []Suspect) []Suspect {
	astray := func(s Suspect) bool { return s.has(Stray) || s.has(Crossed) } // it may have been meant for the field
	if in.Cells == nil || !in.looksFor(Unwritten) || slices.ContainsFunc(suspects, astray) {
		return suspects
	}
	for _, u := range r.Unset() {
		c, ok := in.empty(u)
		if !ok {
			continue
		}
		obj := in.Cells.Object(c.Obj)
		e := Evidence{Kind: Unwritten, Mends: &Repair{Cell: c}, By: u.PC}
		w, often, of := in.writesOf(c)
		if w == 0 && !in.stores(c) {
			continue // it may be written by what is not recorded, as a library that it is handed to
		}
		if 4*often < of || !in.fills(w) || in.statement(w) == in.Statement(u.PC) { // it is not who fills the node in, or counts on from what lies there
			told := func(s Suspect) bool { return s.Kind == Omitted && s.Repair != nil && in.likeCell(s.Repair.Cell, c) }
			if in.attributed(obj.Birth) && !slices.ContainsFunc(suspects, told) {
				suspects = charge(*in, suspects, obj.Birth, e)
			}
			continue
		}
		e.Often, e.Of = often, of
		suspects = in.neverFilled(suspects, w, e)
	}
	return suspects
}

// empty is the field of a node that was read where nothing had written it.
func (in *Input) empty(u Unset) (c Cell, ok bool) {
	if in.Cells == nil {
		return c, false
	}
	view := in.Model.View(u.Before)
	c, ok = in.Cells.Cell(u.Addr, view)
	if !ok || c.Addr != u.Addr || c.Size != u.Size || len(c.Parts) > 0 || c.Tags != 0 {
		return c, false // a part of it may be written, as of bit-fields
	}
	obj := in.Cells.Object(c.Obj)
	_, known := read(view, c.Addr, c.Size)
	return c, !known && obj.Type != nil && obj.Global == 0
}

// neverFilled accuses the statement that did w, which gives like nodes the field, of not having done it here.
func (in *Input) neverFilled(suspects []Suspect, w mgpp.Timestamp, e Evidence) []Suspect {
	i := slices.IndexFunc(suspects, func(s Suspect) bool { return s.Kind == Omitted && in.Statement(s.PC) == in.statement(w) })
	if i < 0 {
		i = len(suspects)
		suspects = append(suspects, Suspect{Kind: Omitted, PC: in.History.Op(w).PC, Operation: w})
	}
	if s := &suspects[i]; !s.has(Unwritten) {
		s.Evidence = append(s.Evidence, e)
	}
	return suspects
}

// fills: an operation gave a field its value in the function that has allocated the node.
func (in *Input) fills(t mgpp.Timestamp) bool {
	c, ok := in.cellAt(in.History.Op(t), in.Model.View(t))
	return ok && in.function(t) == in.function(in.Cells.Object(c.Obj).Birth)
}

// stores: the program stores a field somewhere, of a node of its type, also of one that has been freed since.
func (in *Input) stores(c Cell) bool {
	for t := in.At; t > 0 && in.At-t < maxLearnt; t-- {
		op := in.History.Op(t)
		if op.Kind != mgpp.OpStore || int(op.Size) != c.Size || !in.attributed(t) {
			continue
		}
		if o, ok := in.cellAt(op, in.Model.View(t)); ok && in.likeCell(o, c) {
			return true
		}
	}
	return false
}
