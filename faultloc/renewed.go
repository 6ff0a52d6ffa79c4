package faultloc

import (
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// nearBy is how many operations beside a change are looked at.
const nearBy = 16

// renewed is the newest store of a repair's field, in its node or else in like ones, that the function of a change has made beside it before:
// what is to be stored only at times, as a list's end, is missing there and not beside the change. 0: there was
// none, several statements did, or it has run beside the change, for another node.
func (r *Repair) renewed(in Input, change mgpp.Timestamp) (store mgpp.Timestamp) {
	f := in.function(change)
	if f == "" || in.History.Op(change).Kind != mgpp.OpStore {
		return 0
	}
	obj := in.Cells.Object(r.Cell.Obj)
	offset := r.Cell.Addr - obj.Addr
	for i, o := range append([]graph.ObjID{r.Cell.Obj}, in.Cells.Alike(r.Cell.Obj, in.Model.View(in.At), maxLikeRenewed)...) {
		like := in.Cells.Object(o)
		at := like.Addr + offset
		t := in.History.LastWrite(at, uint64(r.Cell.Size), in.Healthy)
		for n := 0; t > like.Birth && n < maxVersions; n++ {
			if in.attributed(t) && in.function(t) == f && in.wrote(t) && r.like(in, at, t) && in.ranBeside(in.History.Op(change).PC, t, 0, in.Healthy) {
				if store != 0 && in.statement(t) != in.statement(store) {
					return 0
				}
				store = max(store, t)
			}
			t = in.History.LastWrite(at, uint64(r.Cell.Size), t-1)
		}
		if i == 0 && store != 0 {
			break
		}
	}
	if store == 0 || in.statement(store) == in.statement(change) || in.ranBeside(in.History.Op(store).PC, change, in.Healthy, in.At) {
		return 0 // it has run, for another node
	}
	return store
}

// maxLikeRenewed bounds the like nodes that are asked.
const maxLikeRenewed = 16

// ranBeside: an instruction ran near an operation of its function, after one time and up to another.
func (in *Input) ranBeside(pc trace.Addr, of, from, to mgpp.Timestamp) bool {
	f, op := in.function(of), in.History.Op(of)
	ran := func(t mgpp.Timestamp) (is, on bool) {
		o := in.History.Op(t)
		if o.Thread != op.Thread || !in.attributed(t) || in.function(t) != f {
			return false, true
		}
		return o.PC == pc, o.PC != op.PC // another call, or another round
	}
	for t := of - 1; t > from && of-t <= nearBy; t-- {
		if is, on := ran(t); is || !on {
			return is
		}
	}
	for t := of + 1; t <= to && t-of <= nearBy; t++ {
		if is, on := ran(t); is || !on {
			return is
		}
	}
	return false
}
