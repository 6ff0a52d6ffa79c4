package faultloc

import (
	"slices"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Limits of what is learnt from the run itself.
const (
	maxLearnt   = 1 << 14 // operations
	habitWindow = 4       // operations of the thread on either side
	minTimes    = 6       // executions from which a habit can be read
	maxBreaches = 8
)

// habits are what the run did time and again: after (or before) this statement, that
// one. A statement is an index.
type habits struct {
	in    Input
	index map[string]int
	byPC  map[trace.Addr]int
	times []int // executions
	near  [2]map[[2]int]int
	last  []mgpp.Timestamp // the newest execution
	firm  map[int]uint8    // on which sides of others a statement usually is
}

// The two sides of an operation.
const (
	behind = iota
	before
)

// breach is a habit that was not kept since the last healthy C-point.
type breach struct {
	missing int            // the statement that did not run
	beside  mgpp.Timestamp // the operation on one side of which it usually does
	often   int            // it did in so many
	of      int            // of so many cases
	sides   uint8          // on which it is missed, a bit each
}

// learn reads habits off the run up to the last healthy C-point; where there is none,
// off the whole run, since what is wrong for long is rare for all that.
func learn(in Input) *habits {
	h := &habits{in: in, index: map[string]int{}, byPC: map[trace.Addr]int{}}
	h.near[behind], h.near[before] = map[[2]int]int{}, map[[2]int]int{}
	to := in.Healthy
	if to == 0 {
		to = in.At
	}
	h.walk(mgpp.Timestamp(max(1, int64(to)-maxLearnt)), to, func(t mgpp.Timestamp, st int, around [2][]int, _ [2]bool) {
		h.times[st]++
		h.last[st] = t
		for side := range around {
			for _, o := range around[side] {
				h.near[side][[2]int{st, o}]++
			}
		}
	})
	return h
}

// statement is the index of an operation's statement.
func (h *habits) statement(pc trace.Addr) int {
	if i, ok := h.byPC[pc]; ok {
		return i
	}
	name := h.in.Statement(pc)
	i, ok := h.index[name]
	if !ok {
		i = len(h.times)
		h.index[name] = i
		h.times = append(h.times, 0)
		h.last = append(h.last, 0)
	}
	h.byPC[pc] = i
	return i
}

// step is one operation of a thread, in one of the intervals between C-points.
type step struct {
	t        mgpp.Timestamp
	st       int
	interval int
}

// walk calls f for each operation in [from, to] with the statements that ran next to
// it in its thread, each once, and whether they may not be all: the run was cut off.
// What lies beyond a C-point is not next to it.
func (h *habits) walk(from, to mgpp.Timestamp, f func(t mgpp.Timestamp, st int, around [2][]int, cut [2]bool)) {
	threads := map[trace.ThreadID][]step{}
	var order []trace.ThreadID
	interval, _ := slices.BinarySearch(h.in.Points, from)
	for t := from; t <= to; t++ {
		for interval < len(h.in.Points) && h.in.Points[interval] < t {
			interval++
		}
		op := h.in.History.Op(t)
		if op.PC == 0 || op.Name == unseenWrite {
			continue
		}
		if _, ok := threads[op.Thread]; !ok {
			order = append(order, op.Thread)
		}
		threads[op.Thread] = append(threads[op.Thread], step{t, h.statement(op.PC), interval})
	}
	var buf [2][habitWindow]int
	for _, id := range order {
		run := threads[id]
		for i := range run {
			var around [2][]int
			var cut [2]bool
			for side := range around {
				around[side] = buf[side][:0]
				for k := 1; k <= habitWindow; k++ {
					j := i + k
					if side == before {
						j = i - k
					}
					if j < 0 || j >= len(run) {
						cut[side] = j < 0 || h.in.Cut
						break
					}
					if run[j].interval != run[i].interval {
						break
					}
					if !slices.Contains(around[side], run[j].st) {
						around[side] = append(around[side], run[j].st)
					}
				}
			}
			f(run[i].t, run[i].st, around, cut)
		}
	}
}

// breaches are the habits that were not kept since the last healthy C-point, the
// firmest first, one for each statement that is missing.
func (h *habits) breaches(tb *contributions) []breach {
	usual := map[int][2][]int{} // by statement: what is usually on either side
	h.firm = map[int]uint8{}
	for side := range h.near {
		for pair, n := range h.near[side] {
			if of := h.times[pair[0]]; of >= minTimes && 10*n >= 9*of {
				u := usual[pair[0]]
				u[side] = append(u[side], pair[1])
				h.firm[pair[1]] |= 1 << side
				usual[pair[0]] = u
			}
		}
	}
	found := map[int]breach{}
	from := max(int64(h.in.Healthy)+1, int64(h.in.At)-maxLearnt)
	h.walk(mgpp.Timestamp(from), h.in.At, func(t mgpp.Timestamp, st int, around [2][]int, cut [2]bool) {
		for side, list := range usual[st] {
			if cut[side] {
				continue // it may have been about to run
			}
			for _, o := range list {
				if slices.Contains(around[side], o) {
					continue
				}
				if h.in.Healthy == 0 && (tb.byOp[t] == nil || 50*h.near[side][[2]int{st, o}] < 49*h.times[st]) {
					continue // in a whole run there is an exception to everything
				}
				b := breach{o, t, h.near[side][[2]int{st, o}], h.times[st], 1 << side}
				was, ok := found[o]
				sides := was.sides | b.sides
				if ok && !b.firmer(was) {
					b = was
				}
				b.sides = sides
				found[o] = b
			}
		}
	})
	var out []breach
	for _, b := range found {
		// What usually runs between two others and is missed by one of them only was
		// passed by on another way.
		if b.sides == h.firm[b.missing] {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b breach) int {
		switch {
		case a.firmer(b):
			return -1
		case b.firmer(a):
			return 1
		}
		return a.missing - b.missing
	})
	return out[:min(len(out), maxBreaches)]
}

// firmer: a's habit has the fewer exceptions, or the more cases.
func (b breach) firmer(o breach) bool {
	if l, r := b.often*o.of, o.often*b.of; l != r {
		return l > r
	}
	return b.of > o.of
}

// keeps reports whether it would have been seen if this statement had not run where
// it usually does.
func (h *habits) keeps(pc trace.Addr) bool { return h.firm[h.statement(pc)] != 0 }
