package faultloc

import (
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// OutlivedPointer is one that led to a block that was freed, and was followed after that.
type OutlivedPointer struct {
	Addr   trace.Addr
	PC     trace.Addr     // the instruction that read or wrote where it led
	Before mgpp.Timestamp // the last operation before it was read
	Freed  mgpp.Timestamp
}

// outlived accuses the free of a block, before the last healthy C-point, to which a pointer still led that the broken call has followed: what was
// freed since then is judged with all else that was done since. Another block may lie there since: what
// the call then did to that, or copied from the pointer, was no fault of its own statements.
func (in *Input) outlived(r Rerun, suspects []Suspect) []Suspect {
	if in.Cells == nil || !in.looksFor(Outlived) {
		return suspects
	}
	for _, x := range r.Outlived() {
		c, ok := in.Cells.Cell(x.Addr, in.Model.View(x.Before))
		if !ok || !c.Pointer || !in.attributed(x.Freed) || x.Freed > in.Healthy {
			continue
		}
		return charge(*in, suspects, x.Freed, Evidence{Kind: Outlived, Mends: &Repair{Cell: c}, By: x.PC})
	}
	return suspects
}
