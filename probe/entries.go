package probe

import (
	"slices"

	"mgtrace/objfile"
	"mgtrace/x86"
)

// Where an inlined instance begins, debug information tells badly. gcc names an entry that
// may lie behind the instance's first instructions (a call of malloc, say), or ahead of a
// loop that has the others; clang names none, and the lowest of the addresses may be that of
// an unlikely end, or of a load that was taken out of a loop. So the code is asked: an
// instance is entered where control comes to its instructions from others.

// inlineEntries finds the instructions by which control comes into an instance. A part of it
// that neither writes nor calls, from which no other is reached, is no call of the function:
// the compiler has put it elsewhere.
func (s *sweep) inlineEntries(at objfile.Inlined) (entries []uint64) {
	fn, ok := s.file.FuncAt(at.Entry)
	if !ok {
		return nil
	}
	own, _, _ := s.extent(at, []uint64{at.Entry})
	var first, beside []uint64 // come to from what is around, from another instance
	for _, r := range fn.Ranges {
		s.unpadded(r, func(pc uint64, in *x86.Inst) {
			if within(own, pc) {
				return
			}
			for _, to := range successors(pc, in) {
				switch {
				case !within(own, to):
				case to != at.Entry && s.ofAnother(at, pc):
					beside = append(beside, to)
				default:
					first = append(first, to)
				}
			}
		})
	}
	// The end that two instances share is the one's, and the other comes to it: that is no call
	// (see sharedTail). But of two in a row, the second is come to from the first only.
	called := s.reach(own, first)
	for _, to := range beside {
		if !called[to] {
			first = append(first, to)
			called = s.reach(own, first)
		}
	}
	if !called[at.Entry] { // by a jump table, or there is no other
		first = append(first, at.Entry)
	}
	for _, to := range first {
		if !slices.Contains(entries, to) && s.acts(s.reach(own, []uint64{to})) {
			entries = append(entries, to)
		}
	}
	slices.Sort(entries)
	return entries
}

// unpadded visits the instructions of a range, but for what pads it behind a jump.
func (s *sweep) unpadded(r [2]uint64, visit func(pc uint64, in *x86.Inst)) {
	over := false // control does not come from before
	s.each(coderange{lo: r[0], hi: r[1]}, func(pc uint64, in *x86.Inst) {
		if over = over && in.IsNop() && !s.targets.has(pc); over {
			return
		}
		visit(pc, in)
		over = in.Kind == x86.KindJmp || in.Kind == x86.KindRet || in.Kind == x86.KindStop
	})
}

// successors are the instructions to which control may pass from one, but for calls and
// indirect jumps.
func successors(pc uint64, in *x86.Inst) (to []uint64) {
	if in.Direct && (in.Kind == x86.KindJmp || in.Kind == x86.KindJcc) {
		to = append(to, in.Target)
	}
	if in.Kind != x86.KindJmp && in.Kind != x86.KindRet && in.Kind != x86.KindStop {
		to = append(to, pc+uint64(in.Len))
	}
	return to
}

// ofAnother reports whether an instruction belongs to an inlined instance that is not
// around this one.
func (s *sweep) ofAnother(at objfile.Inlined, pc uint64) bool {
	return slices.ContainsFunc(s.file.InlinedAt(pc), func(o objfile.Inlined) bool { return !within(o.Ranges, at.Ranges[0][0]) })
}

// reach are the instructions of the ranges that control gets to from some without leaving
// them.
func (s *sweep) reach(ranges [][2]uint64, from []uint64) map[uint64]bool {
	reached := map[uint64]bool{}
	for work := slices.Clone(from); len(work) > 0; {
		pc := work[len(work)-1]
		work = work[:len(work)-1]
		if reached[pc] || !within(ranges, pc) {
			continue
		}
		if in, ok := s.inst(pc); ok {
			reached[pc] = true
			work = append(work, successors(pc, &in)...)
		}
	}
	return reached
}

// acts reports whether one of these instructions calls, or writes elsewhere than to its
// frame by the stack pointer.
func (s *sweep) acts(code map[uint64]bool) bool {
	for pc := range code {
		if in, ok := s.inst(pc); ok && (in.Kind == x86.KindCall || in.Effect == x86.EffectStore && in.Store.Base != x86.RSP) {
			return true
		}
	}
	return false
}

// again reports whether control gets to a part of an instance from its other parts: then it is no
// beginning, and what lies behind it is the next turn of a loop.
func (s *sweep) again(at objfile.Inlined, part [2]uint64) (again bool) {
	for _, r := range at.Ranges {
		s.unpadded(r, func(pc uint64, in *x86.Inst) {
			for _, to := range successors(pc, in) {
				again = again || part[0] <= to && to < part[1] && (pc < part[0] || pc >= part[1])
			}
		})
	}
	return again
}
