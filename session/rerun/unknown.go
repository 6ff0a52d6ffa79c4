package rerun

import (
	"encoding/binary"
	"maps"
	"slices"

	"mgtrace/mgpp"
	"mgtrace/replay"
	"mgtrace/trace"
)

// What nobody has recorded of a call may be found by trying: only what makes the call do what was recorded, each store with its
// value, is believed. So it is with the arguments of a call that the compiler has inlined, of which another copy of the function is
// executed, and with what a library function returned that no memory tells, as rand, or a clock.

// Parameter is one of which the argument is not known.
type Parameter struct {
	Size     int      // bytes of a number; 0: it is a pointer
	Pointers []uint64 // to which it may lead
	Likely   uint64   // what the debug information says; 0: nothing
}

const (
	maxUnknown      = 256     // runs, to find what is not known of a call
	maxUnknownLike  = 64      // of one of the calls before it
	maxUnknownSteps = 200_000 // instructions of these
	maxCandidates   = 24      // for one argument
	maxResults      = 8       // of library functions, the first of which are tried apart
	maxNumbers      = 12      // variables in static memory
	maxCounters     = 4       // of these that are found
	maxTries        = 48      // runs to find them
)

// search tries until a call does what was recorded.
type search struct {
	r           *Rerun
	was         []replay.Effect
	numbers     []uint64
	runs, steps int
	set, unset  bool // world.set; and whether it would make a difference
}

// unknown finds what is not known of a call. It reports whether the call did what was recorded then.
func (r *Rerun) unknown(was []replay.Effect) bool {
	s := &search{r: r, was: was, numbers: r.numbersOf(was)}
	choices := make([][]uint64, len(r.call.Unknown))
	for i, p := range r.call.Unknown {
		choices[i] = s.candidates(i, p)
	}
	for _, s.set = range [2]bool{false, true} {
		if s.runs, s.steps = maxUnknown, maxUnknownSteps; r.p.Like != nil {
			s.runs, s.steps = maxUnknownLike, maxUnknownSteps/8
		}
		if s.set && !s.unset {
			return false
		}
		if r.call.Unknown == nil && s.results() || r.call.Unknown != nil && s.arguments(choices) {
			return true
		}
	}
	return false
}

// numbersOf are those that may have been arguments, or results of library functions: what the call stored, and what lay in the nodes
// that it freed or wrote to.
func (r *Rerun) numbersOf(was []replay.Effect) (out []uint64) {
	add := func(data []byte) {
		for ; len(data) >= 4; data = data[4:] {
			if v := uint64(binary.LittleEndian.Uint32(data)); !slices.Contains(out, v) && len(out) < maxCandidates {
				out = append(out, v)
			}
		}
	}
	for _, new := range [2]bool{true, false} { // what was stored in new nodes comes first
		for i := range was {
			if e := &was[i]; e.Kind == replay.Store && len(e.Data) < 8 && r.born(e.Addr) == new {
				var b [4]byte
				copy(b[:], e.Data)
				add(b[:])
			}
		}
	}
	for i := range was {
		if e := &was[i]; (e.Kind == replay.Store || e.Kind == replay.Bulk) && len(e.Data) >= 8 {
			v := binary.LittleEndian.Uint64(e.Data)
			if e.Kind == replay.Store && len(e.Data) == 8 {
				if !r.block(v) && !slices.Contains(out, v) && len(out) < maxCandidates {
					out = append(out, v)
				}
				continue
			}
			add(e.Data[:min(len(e.Data), 32)])
		}
	}
	v := r.p.History.At(r.call.From)
	ids := make([]mgpp.NodeID, 0, len(r.did))
	for id := range r.did {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b mgpp.NodeID) int {
		if r.did[a] != r.did[b] {
			return r.did[b] - r.did[a]
		}
		return int(a) - int(b)
	})
	for _, id := range ids {
		n, ok := v.Node(id)
		if !ok {
			continue
		}
		b := mgpp.Bytes{Data: make([]byte, min(n.Size, 32))}
		if v.Read(trace.Addr(n.Start), &b) {
			for i := 0; i+4 <= len(b.Data); i += 4 {
				if !slices.Contains(b.Written[i:i+4], false) {
					add(b.Data[i : i+4])
				}
			}
		}
	}
	for _, v := range [3]uint64{0, 1, ^uint64(0)} {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// born: an address is of a block that the call allocated.
func (r *Rerun) born(addr uint64) bool {
	return slices.ContainsFunc(r.births, func(op mgpp.Op) bool { return addr-uint64(op.Addr) < op.Size })
}

// candidates are what the i-th argument may have been, the likeliest first.
func (s *search) candidates(i int, p Parameter) []uint64 {
	out := s.guesses(i, p)
	if p.Likely == 0 {
		return out
	}
	return append([]uint64{p.Likely}, slices.DeleteFunc(slices.Clone(out), func(v uint64) bool { return v == p.Likely })...)
}

func (s *search) guesses(i int, p Parameter) (out []uint64) {
	if p.Size > 0 {
		return s.numbers
	}
	out = s.r.likely(slices.Clone(p.Pointers))
	if like := s.r.p.Like; like != nil && i < len(like.call.Args) && slices.Contains(out, like.call.Args[i]) {
		out = append([]uint64{like.call.Args[i]}, slices.DeleteFunc(out, func(v uint64) bool { return v == like.call.Args[i] })...)
	}
	return append(out[:min(len(out), maxCandidates)], 0)
}

// arguments tries combinations, those first of which each is among the likeliest.
func (s *search) arguments(choices [][]uint64) bool {
	if len(choices) > 6 {
		return false
	}
	args := make([]uint64, len(choices))
	far, most := 0, 0
	for _, c := range choices {
		most += len(c) - 1
	}
	var try func(i, left int) bool
	try = func(i, left int) bool {
		if i == len(choices) {
			return left == 0 && s.try(args)
		}
		for k := 0; k <= min(left, len(choices[i])-1) && !s.over(); k++ {
			args[i] = choices[i][k]
			if try(i+1, left-k) {
				return true
			}
		}
		return false
	}
	for ; far <= most && !s.over(); far++ {
		if try(0, far) {
			return true
		}
	}
	return false
}

func (s *search) over() bool { return s.runs <= 0 || s.steps <= 0 }

// try executes the call with arguments.
func (s *search) try(args []uint64) bool {
	s.r.call.Args = slices.Clone(args)
	if s.run() {
		return true
	}
	return s.r.was.Results > 0 && s.results()
}

// results tries what library functions may have returned: one of the numbers each time, or as much more as what was stored then is too
// little (a time limit is a time and something); two numbers that were stored one behind the other, as the time is; and one so often and
// then another one, as in a loop that goes on for as long as it is that.
func (s *search) results() bool {
	usual := [3]uint64{1, 0, 1<<31 - 1}
	for _, v := range append(slices.Clone(usual[:]), s.numbers...) {
		if s.returning(v) {
			return true
		}
		if more, _, ok := short(s.r.was.Effects, s.was); ok && s.returning(v+more) {
			return true
		}
	}
	for _, p := range pairs(s.was) {
		if s.r.fraction = p[1]; s.returning(p[0]) {
			return true
		}
	}
	s.r.fraction = 0
	for k := 1; k <= min(maxResults, s.r.was.Results); k++ {
		for _, often := range usual {
			for _, then := range usual {
				if often != then && s.returning(append(slices.Repeat([]uint64{often}, k), then)...) {
					return true
				}
			}
		}
	}
	s.r.results = nil
	return false
}

func (s *search) returning(results ...uint64) bool {
	s.r.results = results
	return !s.over() && s.run()
}

// short is how much more a run would have had to store where it first stored another number than what was recorded, and how many of the effects that
// were recorded it had then.
func short(run, was []replay.Effect) (more uint64, had int, ok bool) {
	for k := range run {
		if had < len(was) && agrees(&run[k], &was[had], false) {
			had++
		}
	}
	if had == len(was) || was[had].Kind != replay.Store || len(was[had].Data) > 8 {
		return 0, had, false
	}
	for k := range run {
		if e := &run[k]; e.Kind == replay.Store && e.PC == was[had].PC && e.Addr == was[had].Addr && len(e.Data) == len(was[had].Data) {
			return number(was[had].Data) - number(e.Data), had, true
		}
	}
	return 0, had, false
}

// counters finds what lay in numbers in static memory that were not recorded, as the next one that a node is given: where a store has another value than
// what was recorded, one that was read had as much more, with which the call does more of what was recorded. tries is how many runs there may be still.
func (r *Rerun) counters(w *world, was []replay.Effect, tries *int) {
	told := w.told
	for range maxCounters {
		more, had, ok := short(r.was.Effects, was)
		if !ok || r.matched != nil || !r.counter(w, was, more, had, tries) {
			break
		}
	}
	if r.matched == nil {
		w.told = told
	}
}

// counter finds one of them, with which the call goes on behind the first effects that it had.
func (r *Rerun) counter(w *world, was []replay.Effect, more uint64, had int, tries *int) bool {
	before := w.told
	for _, at := range slices.Backward(slices.Clone(w.numbers)) {
		if *tries--; *tries < 0 {
			break
		}
		size := w.flags(trace.Addr(at))
		data, known := make([]byte, size), make([]bool, size)
		w.told = maps.Clone(before)
		w.Read(at, data, known)
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], number(data)+more)
		for i, x := range b[:size] {
			w.told[at+uint64(i)] = x
		}
		r.execute(w, was)
		if _, further, _ := short(r.was.Effects, was); r.matched != nil || further > had {
			return true
		}
	}
	w.told = before
	return false
}

// pairs are what was stored to two words that lie side by side, at once or one behind the other.
func pairs(was []replay.Effect) (out [][2]uint64) {
	for i := range was {
		switch e := &was[i]; {
		case len(e.Data) == 16:
			out = append(out, [2]uint64{number(e.Data[:8]), number(e.Data[8:])})
		case i > 0 && len(e.Data) == 8 && len(was[i-1].Data) == 8 && e.Addr == was[i-1].Addr+8:
			out = append(out, [2]uint64{number(was[i-1].Data), number(e.Data)})
		}
	}
	return out
}

// number is one as it lies in memory.
func number(data []byte) uint64 {
	var b [8]byte
	copy(b[:], data)
	return binary.LittleEndian.Uint64(b[:])
}

// run executes the call with what is tried, and reports whether it did what was recorded.
func (s *search) run() bool {
	w := s.r.world()
	w.set = s.set
	s.r.execute(w, s.was)
	s.unset = s.unset || w.unset
	s.runs--
	s.steps -= s.r.was.Steps
	return s.r.fits()
}

// written is what was recorded that a library function wrote there.
func (r *Rerun) written(addr, size uint64) []byte {
	for t := r.call.From + 1; t <= r.call.To; t++ {
		if op := r.p.History.Op(t); op.Kind == mgpp.OpBulk && uint64(op.Addr) == addr && op.Size == size {
			e, _ := effect(r.p.History, &op)
			return e.Data
		}
	}
	return nil
}

// result is the n-th that a library function returned of which nothing tells.
func (r *Rerun) result(n int) uint64 {
	switch {
	case len(r.results) == 0:
		return 1
	case n < len(r.results):
		return r.results[n]
	}
	return r.results[len(r.results)-1]
}
