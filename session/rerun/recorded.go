package rerun

import (
	"bytes"
	"slices"

	"mgtrace/mgpp"
	"mgtrace/replay"
)

// effect is what an operation did, as a run would tell it.
func effect(h *mgpp.History, op *mgpp.Op) (e replay.Effect, ok bool) {
	e = replay.Effect{PC: uint64(op.PC), Addr: uint64(op.Addr), Size: op.Size}
	switch op.Kind {
	case mgpp.OpStore:
		e.Kind = replay.Store
	case mgpp.OpBulk:
		e.Kind = replay.Bulk
	case mgpp.OpBirth:
		e.Kind = replay.Alloc
	case mgpp.OpDeath:
		e.Kind = replay.Free
	case mgpp.OpResize, mgpp.OpMove:
		was, ok := h.NodeThen(op.Node, op.Time-1)
		if e.Kind, e.From = replay.Resize, uint64(was.Start); !ok {
			return e, false
		}
	default:
		return e, false
	}
	if e.Kind == replay.Store || e.Kind == replay.Bulk {
		b := mgpp.Bytes{Data: make([]byte, op.Size)}
		if h.At(op.Time).Read(op.Addr, &b) {
			e.Data = b.Data
		}
	}
	return e, true
}

// agrees: an effect is the one that was recorded. What a library function wrote may depend on what is not known yet.
// elsewhere: another copy of the code was executed.
func agrees(e, was *replay.Effect, elsewhere bool) bool {
	if e.Kind != was.Kind || e.Addr != was.Addr || e.Kind == replay.Resize && e.From != was.From || e.Kind != replay.Free && e.Size != was.Size {
		return false
	}
	return e.Kind != replay.Store || (elsewhere || within(e, was.PC)) && (was.Data == nil || bytes.Equal(e.Data, was.Data))
}

// within: an effect is of an instruction, or of a function that is called there: what the C++ library stores is recorded as
// the statement's that calls it.
func within(e *replay.Effect, pc uint64) bool {
	return e.PC == pc || slices.ContainsFunc(e.Stack, func(back uint64) bool { return back > pc && back-pc <= maxInstruction })
}

// maxInstruction is how long an instruction is at most (SDM volume 2, 2.3.11).
const maxInstruction = 15

// reproduces returns which effects of a run are those that were recorded, in this order; nil if not all are there. What
// it did besides may not have been recorded, since nothing depends on it.
func reproduces(run *replay.Run, was []replay.Effect, elsewhere bool) []int {
	matched := make([]int, 0, len(was))
	for k := range run.Effects {
		if i := len(matched); i < len(was) && agrees(&run.Effects[k], &was[i], elsewhere) {
			matched = append(matched, k)
		}
	}
	if len(matched) < len(was) {
		return nil
	}
	return matched
}

// leave learns from what was recorded what lay in new blocks: where a bit-field is the first that is written to a byte, its other bits are stored
// as they were, and of what an allocator has left there nothing is recorded. It reports whether there was any.
func (r *Rerun) leave(was []replay.Effect) (any bool) {
	i, n := 0, -1
	new := map[uint64]leftAt{} // bytes of new blocks that nothing has written yet
	for k := range r.was.Effects {
		e := &r.was.Effects[k]
		agreed := i < len(was) && agrees(e, &was[i], false)
		switch {
		case e.Kind == replay.Alloc:
			n++
			for off := range min(e.Size, maxLeftIn) {
				new[e.Addr+off] = leftAt{n, off}
			}
		case e.Kind == replay.Store && !agreed && i < len(was) && was[i].Kind == replay.Store && e.Addr == was[i].Addr && within(e, was[i].PC) && len(e.Data) == len(was[i].Data):
			agreed = true
			for j, b := range was[i].Data {
				if at, is := new[e.Addr+uint64(j)]; is && b != e.Data[j] {
					any = r.learnLeft(at, b, b^e.Data[j]) || any
				}
			}
		}
		if agreed {
			i++
		}
		if e.Kind == replay.Store || e.Kind == replay.Bulk {
			for j := range uint64(len(e.Data)) {
				delete(new, e.Addr+j)
			}
		}
	}
	return any
}

// leftAt is a byte of the block that an allocation gives.
type leftAt struct {
	alloc int
	off   uint64
}

// maxLeftIn bounds where in a new block it is looked for what was left.
const maxLeftIn = 64

// learnLeft notes bits of a byte of a new block. It reports whether that is news.
func (r *Rerun) learnLeft(at leftAt, bits, mask byte) bool {
	list := r.left[at.alloc]
	k := slices.IndexFunc(list, func(l replay.Left) bool { return l.Off == at.off })
	switch {
	case k < 0:
		if r.left == nil {
			r.left = map[int][]replay.Left{}
		}
		r.left[at.alloc] = append(list, replay.Left{Off: at.off, Mask: mask, Bits: bits & mask})
		return true
	case mask&^list[k].Mask == 0:
		return false // it was so, and is something else
	}
	list[k].Mask, list[k].Bits = list[k].Mask|mask, list[k].Bits|bits&mask
	return true
}
