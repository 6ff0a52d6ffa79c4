package probe

import (
	"cmp"
	"maps"
	"slices"

	"mgtrace/objfile"
	"mgtrace/x86"
)

// Where an inlined instance begins, debug information tells badly. gcc names an entry that
// may lie behind the instance's first instructions (a call of malloc, say), or ahead of a
// loop that has the others; clang names none, and the lowest of the addresses may be that of
// an unlikely end, or of a load that was taken out of a loop. So the code is asked: an
// instance is entered where control comes to its instructions from others.

// inlineEntries finds the instructions by which control comes into an instance. Where it only
// comes back to one, the instance was not left: a call begins with what the fullest of the calls
// from elsewhere begins with. A part that neither writes nor calls, from which no other is
// reached, is no call of the function: the compiler has put it elsewhere. What the caller's own
// instructions do that lie among those of such a part is not what the function does.
func (s *sweep) inlineEntries(at objfile.Inlined) (entries []uint64) {
	fn, ok := s.file.FuncAt(at.Entry)
	if !ok {
		return nil
	}
	own, _, _ := s.extent(at, []uint64{at.Entry})
	among := s.among(at)
	g := s.around(fn, own, among)
	var first, again []uint64 // come to by who was not in the instance yet, by who was
	for _, to := range g.into {
		switch {
		case !s.acts(s.reach(own, []uint64{to}), among):
		case g.fresh[to]:
			first = append(first, to)
		default:
			again = append(again, to)
		}
	}
	if len(first) == 0 && s.acts(s.reach(own, []uint64{at.Entry}), among) { // by a jump table, or there is no other
		first, again = []uint64{at.Entry}, slices.DeleteFunc(again, func(to uint64) bool { return to == at.Entry })
	}
	var fullest uint64
	most := 0
	for _, to := range first {
		if n := len(s.deeds(own, among, to, false)); n > most {
			fullest, most = to, n
		}
	}
	begins := s.deeds(own, among, fullest, true)
	alike := func(to uint64) bool {
		for d := range s.deeds(own, among, to, false) {
			if begins[d] {
				return true
			}
		}
		return false
	}
	// Of two that reach each other, the fullest is one. One that is come to again may be the head
	// of a loop that what is ahead of it does nothing to, or the copy of a turn that was taken out.
	add := func(to uint64) {
		if to == fullest || s.idly(own, among, fullest)[to] || alike(to) && !s.reach(own, append(slices.Clone(entries), fullest))[to] {
			entries = append(entries, to)
		}
	}
	for _, to := range slices.Concat(first, again) {
		add(to)
	}
	// What lies ahead of a loop, and does nothing without going into it, is not of the call: the
	// rest is asked again.
	own, _, _ = s.extent(at, entries)
	idle := func(to uint64) bool { return !s.acts(s.reach(own, []uint64{to}), among) }
	rest := at
	rest.Ranges = slices.DeleteFunc(slices.Clone(at.Ranges), func(r [2]uint64) bool {
		return slices.ContainsFunc(entries, func(to uint64) bool { return within([][2]uint64{r}, to) && idle(to) }) &&
			!s.acts(s.reach([][2]uint64{r}, []uint64{r[0]}), among)
	})
	if n := len(rest.Ranges); n > 0 && n < len(at.Ranges) {
		if !within(rest.Ranges, rest.Entry) {
			rest.Entry = rest.Ranges[0][0]
		}
		return s.inlineEntries(rest)
	}
	entries = slices.DeleteFunc(entries, idle)
	slices.Sort(entries)
	return entries
}

// unrolled reports whether an instance seems to be several, one behind the other without a way
// in between: the turns of a loop, of which debug information says that they are one. Then the
// source does twice what it does.
func (s *sweep) unrolled(at objfile.Inlined, entries []uint64) bool {
	parts := slices.Clone(at.Ranges)
	slices.SortFunc(parts, func(x, y [2]uint64) int { return cmp.Compare(x[0], y[0]) })
	all, here := map[deed]bool{}, map[deed]int{} // the part of this row that had it last, from 1
	twice := map[deed]bool{}
	for i, r := range parts {
		if i > 0 && (slices.Contains(entries, r[0]) || !s.runs(parts[i-1][1], r[0])) {
			clear(here)
			clear(twice)
		}
		part := i + 1
		if i > 0 && parts[i-1][1] == r[0] {
			part = i // they are one
		}
		s.each(coderange{lo: r[0], hi: r[1]}, func(pc uint64, _ *x86.Inst) {
			if d, ok := s.deedAt(pc); ok {
				all[d] = true
				if here[d] > 0 && here[d] < part {
					twice[d] = true
				}
				here[d] = part
			}
		})
		if len(twice) > 1 { // one alone may be the copy of a struct
			return true
		}
	}
	return len(twice) > 0 && len(all) == 1
}

// comesBack reports whether control comes from the caller's instructions, as by a jump back of its loop, to where the
// same is done first as at an entry, though the entries lead there too: the first turn of the loop may lie ahead of the others
// without anything between.
func (s *sweep) comesBack(at objfile.Inlined, entries []uint64) bool {
	fn, ok := s.file.FuncAt(at.Entry)
	if !ok {
		return false
	}
	own, _, _ := s.extent(at, entries)
	among := s.among(at)
	begins := map[deed]bool{}
	for _, to := range entries {
		maps.Copy(begins, s.deeds(own, among, to, true))
	}
	return slices.ContainsFunc(s.around(fn, own, among).into, func(to uint64) bool {
		if slices.Contains(entries, to) || s.idly(own, among, to)[at.Entry] {
			return false
		}
		for d := range s.deeds(own, among, to, true) {
			if begins[d] {
				return true
			}
		}
		return false
	})
}

// runs reports whether control runs from lo to hi, not far, without branches.
func (s *sweep) runs(lo, hi uint64) bool {
	ok := hi-lo <= 4*shortGap
	s.each(coderange{lo: lo, hi: hi}, func(_ uint64, in *x86.Inst) {
		ok = ok && (in.Kind == x86.KindOther || in.Kind == x86.KindCall)
	})
	return ok
}

// surroundings tell how control comes to an instance.
type surroundings struct {
	into  []uint64        // its instructions to which others lead, by address
	fresh map[uint64]bool // those to which it comes from where it can be without having done anything of the instance
}

// around follows the control flow of a function about the ranges of an instance. It takes a few
// passes over the function's instructions: there may be hundreds of instances in one of thousands.
func (s *sweep) around(fn objfile.Func, own, among [][2]uint64) surroundings {
	g := s.flow(fn)
	inside := make([]bool, len(g.at))
	for _, r := range own {
		for i, _ := slices.BinarySearch(g.at, r[0]); i < len(g.at) && g.at[i] < r[1]; i++ {
			inside[i] = true
		}
	}
	does := make([]bool, len(g.at)) // instructions of the instance from which it goes on to do something
	for changed := true; changed; {
		changed = false
		for i := len(g.at) - 1; i >= 0; i-- {
			if inside[i] && !does[i] && (g.acts[i] && !within(among, g.at[i]) || slices.ContainsFunc(g.next[i][:], func(to int32) bool { return to >= 0 && inside[to] && does[to] })) {
				does[i], changed = true, true
			}
		}
	}
	var work []int32
	for i := range g.at {
		if g.at[i] == fn.Addr || !g.led[i] && !inside[i] { // by a jump table, or an exception
			work = append(work, int32(i))
		}
	}
	before := make([]bool, len(g.at)) // reached without the instance
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		if i < 0 || before[i] || does[i] {
			continue
		}
		before[i] = true
		work = append(work, g.next[i][:]...)
	}
	out := surroundings{fresh: map[uint64]bool{}}
	for i := range g.at {
		for _, to := range g.next[i] {
			if to >= 0 && inside[to] && !inside[i] {
				out.into = append(out.into, g.at[to])
				if before[i] {
					out.fresh[g.at[to]] = true
				}
			}
		}
	}
	slices.Sort(out.into)
	out.into = slices.Compact(out.into)
	return out
}

// flow is the control flow of a function, by the numbers of its instructions.
type flow struct {
	at   []uint64   // by address
	next [][2]int32 // to which control may pass; -1: none, or out of the function
	led  []bool     // some other passes to it
	acts []bool     // it writes or calls
}

// flow is made once for each function.
func (s *sweep) flow(fn objfile.Func) *flow {
	if g, ok := s.flows[fn.Addr]; ok {
		return g
	}
	g := &flow{}
	ranges := slices.SortedFunc(slices.Values(fn.Ranges), func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) })
	var next [][]uint64
	for _, r := range ranges {
		s.unpadded(r, func(pc uint64, in *x86.Inst) {
			g.at, next, g.acts = append(g.at, pc), append(next, successors(pc, in)), append(g.acts, acts(in))
		})
	}
	g.next, g.led = make([][2]int32, len(g.at)), make([]bool, len(g.at))
	for i, to := range next {
		g.next[i] = [2]int32{-1, -1}
		for k, pc := range to {
			if j, ok := slices.BinarySearch(g.at, pc); ok {
				g.next[i][k], g.led[j] = int32(j), true
			}
		}
	}
	if s.flows == nil {
		s.flows = map[uint64]*flow{}
	}
	s.flows[fn.Addr] = g
	return g
}

// deed is where the source has something that writes or calls.
type deed struct {
	file         string
	line, column int
}

// deeds are those of an instance from an instruction on; with begin, those only that nothing
// is done before.
func (s *sweep) deeds(own, among [][2]uint64, from uint64, begin bool) map[deed]bool {
	code := s.reach(own, []uint64{from})
	if begin {
		code = s.idly(own, among, from)
	}
	deeds := map[deed]bool{}
	for pc := range code {
		if d, ok := s.deedAt(pc); ok && !within(among, pc) {
			deeds[d] = true
		}
	}
	return deeds
}

func (s *sweep) deedAt(pc uint64) (_ deed, ok bool) {
	in, ok := s.inst(pc)
	if !ok || !acts(&in) {
		return deed{}, false
	}
	frames := s.file.Frames(pc)
	if len(frames) == 0 {
		return deed{}, false
	}
	return deed{frames[0].File, frames[0].Line, frames[0].Column}, true
}

// idly are the instructions that control gets to from one without leaving the ranges, up to the
// first that writes or calls.
func (s *sweep) idly(ranges, among [][2]uint64, from uint64) map[uint64]bool {
	reached := map[uint64]bool{}
	for work := []uint64{from}; len(work) > 0; {
		pc := work[len(work)-1]
		work = work[:len(work)-1]
		if reached[pc] || !within(ranges, pc) {
			continue
		}
		if in, ok := s.inst(pc); ok {
			reached[pc] = true
			if !acts(&in) || within(among, pc) {
				work = append(work, successors(pc, &in)...)
			}
		}
	}
	return reached
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

// acts reports whether one of these instructions, but for those of the caller among them, calls,
// or writes elsewhere than to its frame by the stack pointer.
func (s *sweep) acts(code map[uint64]bool, among [][2]uint64) bool {
	for pc := range code {
		if in, ok := s.inst(pc); ok && acts(&in) && !within(among, pc) {
			return true
		}
	}
	return false
}

func acts(in *x86.Inst) bool {
	return in.Kind == x86.KindCall || in.Effect == x86.EffectStore && in.Store.Base != x86.RSP
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
