package faultloc

import (
	"iter"
	"slices"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// maxOdd bounds the operations since the last healthy C-point that are looked through.
const maxOdd = 1 << 12

// odd adds what a run does that goes wrong with its memory, whatever the specification:
//
//   - a write that hit no block, though it lies near one
//   - a write into one block by an address of another one
//   - a free, behind which a pointer was stored that leads to where nothing ever was: it
//     was read from what was freed
//   - a free that broke something, of a node that was unlinked only after that
//   - a free of what the same call went on to use, by an address that it had before
//   - the statement in which the run ended
//   - the last free before that, in the same call: what it freed may still have been used
func odd(in Input, suspects []Suspect) []Suspect {
	freed := map[trace.ThreadID]mgpp.Timestamp{}
	accuse := func(t mgpp.Timestamp, e Evidence) { suspects = charge(in, suspects, t, e) }
	for t := max(in.Healthy, in.At-min(in.At, maxOdd)) + 1; t <= in.At; t++ {
		op := in.History.Op(t)
		if !in.attributed(t) {
			continue
		}
		switch op.Kind {
		case mgpp.OpDeath:
			freed[op.Thread] = t
			if broke(suspects, t) {
				if e, ok := in.early(op); ok {
					accuse(t, e)
				}
			}
		case mgpp.OpStore:
			if death := freed[op.Thread]; death > 0 && in.looksFor(Garbage) && in.wild(op) {
				accuse(death, Evidence{Kind: Garbage})
			}
		}
		if in.Stray != nil && in.wrote(t) && in.Stray(op) {
			accuse(t, Evidence{Kind: Stray, Lacks: in.lacks(suspects, op)})
		}
		if in.crossed(op) {
			accuse(t, Evidence{Kind: Crossed, Lacks: in.lacks(suspects, op)})
		}
	}
	if len(freed) > 0 && in.ReadFreed != nil && in.looksFor(Used) {
		if x, ok := in.ReadFreed(in.At); ok && x.Free > in.Healthy {
			accuse(x.Free, Evidence{Kind: Used, By: x.By})
		}
	}
	if in.Died != 0 {
		last := mgpp.Timestamp(0)
		for _, death := range freed {
			last = max(last, death)
		}
		if last > 0 && in.Statement(in.History.Op(last).PC) != in.Statement(in.Died) { // or it is told once, as what died
			accuse(last, Evidence{Kind: Freed})
		}
	}
	if in.Died != 0 && in.looksFor(Crash) {
		suspects = append(suspects, Suspect{Kind: Died, PC: in.Died, Evidence: []Evidence{{Kind: Crash, Sole: len(in.Found) == 0, Later: in.last() > in.At, Next: in.History.Op(in.last()).Kind == mgpp.OpStore && lacking(suspects, in.last()), Filling: in.filling(suspects)}}})
	}
	return suspects
}

// lacks: a field would mend all, of the node that a write missed whose address was computed from it, and that
// write is as wide: it may have been meant for the field.
func (in *Input) lacks(suspects []Suspect, op mgpp.Op) bool {
	return op.Kind == mgpp.OpStore && slices.ContainsFunc(suspects, func(s Suspect) bool {
		r := s.Repair
		if r == nil || !r.evidence(*in).explains() || r.Cell.Size != int(op.Size) {
			return false
		}
		node := in.Cells.Object(r.Cell.Obj)
		reach := node.Size + maxBehind
		return uint64(op.Base-node.Addr)+reach <= 2*reach
	})
}

// filling: the program died in the function that was filling in a node from which a suspect's store is missing, before
// anything led to it. That may have been still to come.
func (in *Input) filling(suspects []Suspect) bool {
	f := ""
	if in.Function != nil {
		f = in.Function(in.Died)
	}
	return f != "" && in.At == in.last() && slices.ContainsFunc(suspects, func(s Suspect) bool {
		if s.Kind != Omitted || s.Repair == nil {
			return false
		}
		obj := in.Cells.Object(s.Repair.Cell.Obj)
		last := in.History.LastWrite(obj.Addr, obj.Size, in.At)
		return obj.Birth > in.Healthy && last > obj.Birth && in.attributed(last) && in.function(last) == f &&
			s.Repair.neverWritten(*in, in.History.LastWrite(s.Repair.Cell.Addr, uint64(s.Repair.Cell.Size), in.At)) &&
			len(in.Cells.Into(obj.ID, in.Model.View(in.At), 1)) == 0
	})
}

// lacking: beside an operation a store is missing that would mend all.
func lacking(suspects []Suspect, t mgpp.Timestamp) bool {
	return slices.ContainsFunc(suspects, func(s Suspect) bool {
		return slices.ContainsFunc(s.Evidence, func(e Evidence) bool { return e.Kind == Outdated && e.At == t && e.explains() })
	})
}

// broke: an operation is among those of a suspect that broke something for good.
func broke(suspects []Suspect, t mgpp.Timestamp) bool {
	return slices.ContainsFunc(suspects, func(s Suspect) bool { return s.has(Flip) && slices.Contains(s.Operations, t) })
}

// wild: an operation stored a pointer that leads to where nothing was ever written, and
// nothing can be.
func (in *Input) wild(op mgpp.Op) bool {
	to, ok := in.astray(op)
	return ok && !mark(to) && in.History.LastWrite(trace.Addr(to), 1, op.Time) == 0 && (in.Elsewhere == nil || !in.Elsewhere(trace.Addr(to)))
}

// mark: a number close to 0, on either side, that stands in a pointer's place is no address:
// programs say by it that an entry is empty, or has been deleted.
func mark(pointer uint64) bool { return pointer+maxMark < 2*maxMark }

// maxMark is the size of a page: at the lowest one, and at the highest, nothing is mapped.
const maxMark = 1 << 12

// astray is the pointer that an operation stored, if it leads to no block.
func (in *Input) astray(op mgpp.Op) (to uint64, ok bool) {
	if in.Cells == nil || op.Kind != mgpp.OpStore || op.Size != 8 {
		return 0, false
	}
	v := in.Model.View(op.Time)
	cell, ok := in.Cells.Cell(op.Addr, v)
	to, known := read(v, op.Addr, 8)
	return to, ok && known && cell.Pointer && to != 0 && !in.ofBlock(trace.Addr(to), v)
}

// ofBlock: an address lies in a block or a node, or right behind a block, where an array
// ends.
func (in *Input) ofBlock(addr trace.Addr, v mgpp.View) bool {
	for _, at := range [2]trace.Addr{addr, addr - 1} {
		if _, ok := v.NodeAt(at); ok {
			return true
		}
	}
	return in.Cells.At(addr, v) != 0
}

// maxBehind is how far behind a block an address counts as one of it: what malloc keeps
// between two blocks (glibc, malloc.c, "Chunk header") and an alignment.
const maxBehind = 16

// maxReach is how far from its register a store may hit: another register that is no
// address, but an index, is farther.
const maxReach = 1 << 12

// crossed: a store hit a block by an address in another one, or right behind it, as that of
// (p + 1)->next is, and its instruction has not done so before.
func (in *Input) crossed(op mgpp.Op) bool {
	if !in.across(op) {
		return false
	}
	before := false
	in.earlier(op.Time, in.Healthy, func(t mgpp.Timestamp) bool {
		before = in.across(in.History.Op(t))
		return !before
	})
	return !before
}

// across: a store hit another block than its address register leads to.
func (in *Input) across(op mgpp.Op) bool {
	if op.Kind != mgpp.OpStore || op.Node == 0 || op.Base == op.Addr || max(op.Base, op.Addr)-min(op.Base, op.Addr) > maxReach {
		return false
	}
	v := in.Model.View(op.Time)
	for d := trace.Addr(0); d <= maxBehind; d++ {
		if id, ok := v.NodeAt(op.Base - d); ok {
			return id != op.Node
		}
	}
	return false
}

// early: a node was freed to which something led, and that was changed only after that, and
// its statement has not done so before, as it does in recursive code that is right. Of says how
// often it freed nodes to which nothing led.
func (in *Input) early(op mgpp.Op) (Evidence, bool) {
	e := Evidence{Kind: Early}
	if in.Cells == nil || !in.led(op) || !in.unlinked(op) {
		return e, false
	}
	linked := false
	in.earlier(op.Time, in.Healthy, func(t mgpp.Timestamp) bool {
		linked = in.led(in.History.Op(t))
		e.Of++
		return !linked && e.Of < maxLike
	})
	if e.Of < minLike {
		e.Of = 0
	}
	return e, !linked
}

// unlinked: soon after a node was freed a pointer was changed that led to it.
func (in *Input) unlinked(op mgpp.Op) bool {
	for t := op.Time + 1; t <= in.At && t-op.Time < maxUnlinked; t++ {
		if in.tookOut(t, op.Addr) {
			return true
		}
	}
	return false
}

// tookOut: an operation changed a pointer that led to an address.
func (in *Input) tookOut(t mgpp.Timestamp, addr trace.Addr) bool {
	op := in.History.Op(t)
	if op.Kind != mgpp.OpStore || op.Size != 8 || !in.changed(t) {
		return false
	}
	was, ok := read(in.Model.View(t-1), op.Addr, 8)
	return ok && was == uint64(addr)
}

// taken yields the stores that took a pointer to an address away, of the thread of an operation, before that and behind a time, the newest
// first: of the last operations only.
func (in *Input) taken(addr trace.Addr, before, after mgpp.Timestamp) iter.Seq[mgpp.Timestamp] {
	thread := in.History.Deed(before).Thread
	return func(yield func(mgpp.Timestamp) bool) {
		for t := before - 1; t > after && before-t < maxUnlinked; t-- {
			if in.History.Deed(t).Thread == thread && in.attributed(t) && in.tookOut(t, addr) && !yield(t) {
				return
			}
		}
	}
}

// led: something led to what an operation freed.
func (in *Input) led(op mgpp.Op) bool {
	if op.Kind != mgpp.OpDeath {
		return false
	}
	v := in.Model.View(op.Time - 1)
	o := in.Cells.At(op.Addr, v)
	return o != 0 && len(in.Cells.Into(o, v, 1)) > 0
}

// maxUnlinked bounds the operations around one that are looked at for what took a node out.
const maxUnlinked = 64
