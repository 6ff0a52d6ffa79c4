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
	margin      = 32 // operations on either side, of all threads, among which they are
)

// habits are what the run did time and again: after (or before) this statement, that
// one. A statement, in calls of one function, is an index.
type habits struct {
	in    Input
	index map[string]int
	byPC  map[trace.Addr][]placed
	names []string     // of its statement
	alien []bool       // it is a library's
	first []trace.Addr // the instruction that ran first
	many  []bool       // it has several instructions that store
	times []int        // executions
	near  [2]map[couple]int
	next  map[couple]int         // how often one statement ran right behind another
	past  map[couple]map[int]int // and what ran between them, where there was one
	last  []mgpp.Timestamp       // the newest execution
	usual map[int]bool           // statements that usually run next to some other
	lone  [2]map[trace.Addr]bool // of instructions that ran: never with another store of their own statement on this side
	deeds []deed                 // of the operations from since on
	since mgpp.Timestamp

	// Of statements in calls of any function:
	plain    []int           // the statement as such, by statement in calls of a function
	function []string        // the function in whose text it stands
	byName   map[string]int  // plain by its name
	beside   [2][]body       // by plain
	border   [2]map[int]bool // plain, next to what is of another function
	pairs    [2]tally        // plain, directly next to each other
}

// couple is two statements.
type couple uint64

func two(a, b int) couple { return couple(a)<<32 | couple(b) }

func (c couple) first() int  { return int(c >> 32) }
func (c couple) second() int { return int(c & (1<<32 - 1)) }

// place is an instruction in calls of a function.
type place struct {
	pc     trace.Addr
	within string
}

// placed is a statement in calls of a function.
type placed struct {
	within string
	st     int
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
	only    bool           // what usually runs on its far side did run
	text    bool           // it stands next to the other one in the text of a function
	between mgpp.Timestamp // the operation on the other side, of a gap
}

// learn reads habits off the run up to the last healthy C-point; where there is none,
// off the whole run, since what is wrong for long is rare for all that.
func learn(in Input) *habits {
	h := &habits{in: in, index: map[string]int{}, byPC: map[trace.Addr][]placed{}, byName: map[string]int{}}
	for side := range h.border {
		h.border[side] = map[int]bool{}
	}
	h.near[behind], h.near[before] = map[couple]int{}, map[couple]int{}
	h.lone[behind], h.lone[before] = map[trace.Addr]bool{}, map[trace.Addr]bool{}
	h.next, h.past = map[couple]int{}, map[couple]map[int]int{}
	to := in.Healthy
	if to == 0 {
		to = in.At
	}
	from := mgpp.Timestamp(max(1, int64(to)-maxLearnt))
	h.remember(from, to)
	var near [2]tally
	var next, pairs tally // of pairs: what ran behind a statement, as the couple of it with what ran behind that
	var ends tally        // the number of a couple, by its statements
	var endsOf []couple
	h.walk(from, to, func(t mgpp.Timestamp, st int, around [2][]int, _ [2]bool) {
		h.times[st]++
		h.last[st] = t
		for side := range around {
			for _, o := range around[side] {
				near[side].add(st, o)
			}
			pc := in.History.Deed(t).PC
			was, ran := h.lone[side][pc]
			h.lone[side][pc] = (was || !ran) && !slices.Contains(around[side], st)
		}
		if a := around[behind]; len(a) > 0 {
			next.add(st, a[0])
			if len(a) > 1 {
				end := ends.of(st, a[1])
				if end.n == 0 {
					endsOf = append(endsOf, two(st, a[1]))
					end.n = len(endsOf)
				}
				pairs.add(end.n-1, a[0])
			}
		}
		h.adjoin(st, around)
	})
	for side := range near {
		near[side].each(func(st, o, n int) { h.near[side][two(st, o)] = n })
	}
	next.each(func(st, o, n int) { h.next[two(st, o)] = n })
	pairs.each(func(i, o, n int) {
		if h.past[endsOf[i]] == nil {
			h.past[endsOf[i]] = map[int]int{}
		}
		h.past[endsOf[i]][o] = n
	})
	return h
}

// tally counts couples, by the first: each has few others, which are found sooner than in a map.
type tally [][]times

type times struct{ of, n int }

func (t *tally) add(a, b int) { t.of(a, b).n++ }

// of is what is counted of a couple.
func (t *tally) of(a, b int) *times {
	for len(*t) <= a {
		*t = append(*t, nil)
	}
	list := (*t)[a]
	for i := range list {
		if list[i].of == b {
			return &list[i]
		}
	}
	(*t)[a] = append(list, times{of: b})
	return &(*t)[a][len(list)]
}

// has reports whether a couple was ever counted.
func (t tally) has(a, b int) bool {
	return a < len(t) && slices.ContainsFunc(t[a], func(x times) bool { return x.of == b })
}

func (t tally) each(f func(a, b, n int)) {
	for a := range t {
		for _, c := range t[a] {
			f(a, c.of, c.n)
		}
	}
}

// deed is what is asked of an operation more than once.
type deed struct {
	st     int32 // its statement, plus one; 0: it was not asked for
	thread trace.ThreadID
	none   bool // it is of no statement
	stored bool // up to eight bytes, by a store
}

// remember makes room for what is asked of the operations from one on, up to the end or as many again.
func (h *habits) remember(from, to mgpp.Timestamp) {
	h.since = from - min(from, margin)
	h.deeds = make([]deed, min(h.in.last(), to+maxLearnt)+1-h.since)
}

// deed tells of an operation.
func (h *habits) deed(t mgpp.Timestamp) deed {
	if i := t - h.since; t >= h.since && i < mgpp.Timestamp(len(h.deeds)) {
		if h.deeds[i].st == 0 && !h.deeds[i].none {
			h.deeds[i] = h.ask(t)
		}
		return h.deeds[i]
	}
	return h.ask(t)
}

func (h *habits) ask(t mgpp.Timestamp) deed {
	d := h.in.History.Deed(t)
	if d.PC == 0 || d.Name == trace.UnseenWrite {
		return deed{none: true, thread: d.Thread}
	}
	return deed{st: int32(h.at(place{d.PC, h.in.within(t)})) + 1, thread: d.Thread, stored: d.Kind == mgpp.OpStore && d.Size <= 8}
}

// statement is the index of the statement.
func (d deed) statement() int { return int(d.st) - 1 }

// gap tells what is missing between two statements of which one ran right behind the other, as
// it never did before: nearly always there was one between them, though not always the same.
func (h *habits) gap(st, next int) (between map[int]int, of int) {
	between = h.past[two(st, next)]
	for _, n := range between {
		of += n
	}
	if of < many || 10*of < 9*h.times[st] || h.next[two(st, next)] > 0 {
		return nil, 0
	}
	return between, of
}

// skipped notes what is missing in the gap between two operations of a thread, by their
// statements.
func (h *habits) skipped(found map[int]breach, st, next int, prev, t mgpp.Timestamp) {
	between, of := h.gap(st, next)
	for o, n := range between {
		was, ok := found[o]
		if h.alien[o] || 10*n < of || ok && (was.between == 0 || n <= was.often) {
			continue
		}
		found[o] = breach{missing: o, beside: t, often: n, of: of, only: true, between: prev}
	}
}

// statement is the index of an operation's statement.
func (h *habits) statement(t mgpp.Timestamp) int {
	return h.at(place{h.in.History.Deed(t).PC, h.in.within(t)})
}

func (h *habits) at(p place) int {
	for _, k := range h.byPC[p.pc] {
		if k.within == p.within {
			return k.st
		}
	}
	name := h.in.Statement(p.pc) + "\x00" + p.within
	i, ok := h.index[name]
	if !ok {
		i = len(h.times)
		h.index[name] = i
		h.names = append(h.names, h.in.Statement(p.pc))
		h.alien = append(h.alien, h.in.Library != nil && h.in.Library(p.pc))
		h.times = append(h.times, 0)
		h.last = append(h.last, 0)
		h.first, h.many = append(h.first, p.pc), append(h.many, false)
		plain, known := h.byName[h.names[i]]
		if !known {
			plain = len(h.byName)
			h.byName[h.names[i]] = plain
		}
		h.plain = append(h.plain, plain)
		f := ""
		if h.in.Function != nil {
			f = h.in.Function(p.pc)
		}
		h.function = append(h.function, f)
	}
	h.many[i] = h.many[i] || h.first[i] != p.pc
	h.byPC[p.pc] = append(h.byPC[p.pc], placed{p.within, i})
	return i
}

// step is one operation of a thread, in one of the intervals between C-points.
type step struct {
	t        mgpp.Timestamp
	st       int
	interval int
}

// walk calls f for each operation in [from, to] with the statements that ran next to
// it in its thread, each once, the nearest first, and whether they may not be all: the
// run was cut off. What lies beyond a C-point is not next to it.
func (h *habits) walk(from, to mgpp.Timestamp, f func(t mgpp.Timestamp, st int, around [2][]int, cut [2]bool)) {
	threads := map[trace.ThreadID]*[]step{}
	var order []trace.ThreadID
	var last *[]step // of the thread that ran last
	interval := 0
	for t := max(1, from-min(from, margin)); t <= min(h.in.last(), to+margin); t++ {
		for interval < len(h.in.Points) && h.in.Points[interval] < t {
			interval++
		}
		d := h.deed(t)
		if d.none {
			continue
		}
		if n := len(order); n == 0 || order[n-1] != d.thread || len(threads) > 1 {
			if last = threads[d.thread]; last == nil {
				order = append(order, d.thread)
				run := make([]step, 0, min(h.in.last(), to+margin)+1-t)
				last = &run
				threads[d.thread] = last
			}
		}
		*last = append(*last, step{t, d.statement(), interval})
	}
	var buf [2][habitWindow]int
	for _, id := range order {
		run := *threads[id]
		for i := range run {
			if run[i].t < from || run[i].t > to {
				continue
			}
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
	h.usual = map[int]bool{}
	for side := range h.near {
		for pair := range h.near[side] {
			if h.isUsual(side, pair.first(), pair.second()) {
				u := usual[pair.first()]
				u[side] = append(u[side], pair.second())
				usual[pair.first()] = u
				h.usual[pair.second()] = true
			}
		}
	}
	found := map[int]breach{}
	from := max(int64(h.in.Healthy)+1, int64(h.in.At)-maxLearnt)
	last := map[trace.ThreadID]mgpp.Timestamp{}
	h.walk(mgpp.Timestamp(from), h.in.At, func(t mgpp.Timestamp, st int, around [2][]int, cut [2]bool) {
		thread := h.in.History.Deed(t).Thread
		if prev := last[thread]; prev > 0 && len(around[before]) > 0 && h.in.Healthy > 0 && h.in.looksFor(Gap) {
			h.skipped(found, around[before][0], st, prev, t)
		}
		last[thread] = t
		for side := range around {
			if !cut[side] && h.in.Healthy > 0 && h.in.looksFor(Text) {
				h.tear(found, side, st, around[side], t)
			}
		}
		for side, list := range usual[st] {
			if cut[side] || slices.Equal(around[side], []int{st}) {
				continue // it may have been about to run, or lie beyond a loop
			}
			for _, o := range list {
				if o == st && (!h.many[o] || h.in.Healthy > 0 && h.lone[side][h.in.History.Deed(t).PC]) {
					continue // how often a store repeats says nothing, nor that a constructor's last one has none of its own behind it
				}
				if slices.Contains(around[side], o) || h.alien[o] || h.excluded(o, around[side]) {
					continue
				}
				only, elsewhere := h.companions(usual[o][side], around[side], side, st)
				if elsewhere && !h.always(side, st, o) || !only && (h.ranNear(t, o, side) || h.ranBeyond(t, st, o, side)) {
					continue // the program went another way, or a longer one
				}
				if h.in.Healthy == 0 && (tb.byOp[t] == nil || 50*h.near[side][two(st, o)] < 49*h.times[st]) {
					continue // in a whole run there is an exception to everything
				}
				b := breach{missing: o, beside: t, often: h.near[side][two(st, o)], of: h.times[st], only: only}
				was, ok := found[o]
				nearer := side == behind && !was.firmer(b) // of several places the last before it
				if !ok || b.firmer(was) || nearer {
					found[o] = b
				}
			}
		}
	})
	var out []breach
	for _, b := range found {
		out = append(out, b)
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

// isUsual: statement o runs on this side of st in nine of ten cases.
func (h *habits) isUsual(side, st, o int) bool {
	of := h.times[st]
	return of >= minTimes && 10*h.near[side][two(st, o)] >= 9*of
}

// excluded: something ran that has often run, and never with the statement near: the program
// went another way.
func (h *habits) excluded(st int, around []int) bool {
	return slices.ContainsFunc(around, func(c int) bool {
		return h.times[c] >= minTimes && h.near[behind][two(c, st)]+h.near[before][two(c, st)] == 0
	})
}

// ranNear: since the last healthy C-point the statement ran on this side of t all the
// same, farther off.
func (h *habits) ranNear(t mgpp.Timestamp, st, side int) bool {
	for d := mgpp.Timestamp(1); d <= margin; d++ {
		at := t + d
		if side == before {
			at = t - d
		}
		if at <= h.in.Healthy || at > h.in.At {
			return false
		}
		if h.in.History.Deed(at).PC != 0 && h.statement(at) == st {
			return true
		}
	}
	return false
}

// ranBeyond: since the last healthy C-point the statement ran on this side of t all the same, and of its function few others before it: what
// lies between was done in other calls, as where a table grows before an entry is put in, and t's own statement has not run again there.
func (h *habits) ranBeyond(t mgpp.Timestamp, st, o, side int) bool {
	f, thread := h.function[o], h.in.History.Deed(t).Thread
	if f == "" {
		return false
	}
	first, last := h.in.Healthy+1, h.in.At
	next, _ := slices.BinarySearch(h.in.Points, t)
	if next > 0 {
		first = max(first, h.in.Points[next-1]+1)
	}
	if next < len(h.in.Points) {
		last = min(last, h.in.Points[next])
	}
	for d, own := mgpp.Timestamp(1), 0; d <= maxBeyond && own < habitWindow; d++ {
		at := t + d
		if side == before {
			at = t - min(d, t)
		}
		if at < first || at > last {
			return false
		}
		if deed := h.in.History.Deed(at); deed.PC == 0 || deed.Thread != thread {
			continue
		}
		switch is := h.statement(at); {
		case is == o:
			return true
		case is == st:
			return false
		case h.function[is] == f:
			own++
		}
	}
	return false
}

// maxBeyond bounds how many changes of other calls are looked over.
const maxBeyond = 4096

// always: it does so without exception, in many cases.
func (h *habits) always(side, st, o int) bool {
	return h.times[st] >= many && h.near[side][two(st, o)] == h.times[st]
}

// companions looks for what usually runs on the far side of a statement that is missing
// beside st, in what did run there, the nearest first. Only that one is missing if some
// of it ran, with nothing in between that is unusual, or if it has no companions and
// nothing ran there that never did before. The program went elsewhere if it has
// companions, and none of them ran.
func (h *habits) companions(usual, around []int, side, st int) (only, elsewhere bool) {
	stranger, unknown := false, len(around) == 0
	for _, c := range around {
		if slices.Contains(usual, c) && c != st {
			return !stranger, stranger
		}
		stranger = stranger || !h.isUsual(side, st, c)
		unknown = unknown || h.near[side][two(st, c)] == 0
	}
	elsewhere = slices.ContainsFunc(usual, func(c int) bool { return c != st })
	return !elsewhere && !unknown, elsewhere
}

// firmer: a's habit has the fewer exceptions, or the more cases.
func (b breach) firmer(o breach) bool {
	if l, r := b.often*o.of, o.often*b.of; l != r {
		return l > r
	}
	return b.of > o.of
}

// uncalled: other statements of a statement's function have run, and none of them since the last healthy
// C-point: then it was not called, and it is not one of its statements that is missing.
func (h *habits) uncalled(t mgpp.Timestamp, ran map[string]bool) bool {
	st := h.statement(t)
	others := false
	for o, f := range h.function {
		switch {
		case f == "" || f != h.function[st]:
		case ran[h.names[o]]:
			return false
		default:
			others = others || h.plain[o] != h.plain[st]
		}
	}
	return others
}

// apart: a statement has such as usually run next to it, and none of them ran since the
// last healthy C-point: the program was elsewhere.
func (h *habits) apart(t mgpp.Timestamp, ran map[string]bool) bool {
	if h.uncalled(t, ran) {
		return true
	}
	st, known := h.statement(t), false
	for side := range h.near {
		for pair := range h.near[side] {
			if pair.first() == st && pair.second() != st && h.isUsual(side, st, pair.second()) {
				if ran[h.names[pair.second()]] {
					return false
				}
				known = true
			}
		}
	}
	return known
}

// belongs reports whether the statement of an earlier operation may be missing since the
// last healthy C-point though no habit says so. In such calls as this one it would have
// been seen; from calls of another function it may be if something ran here that usually
// runs next to it there. Of one without habits, something must have run here that ever ran next to it.
func (h *habits) belongs(t mgpp.Timestamp, ran map[string]bool) bool {
	st := h.statement(t)
	habitual := h.usual[st]
	if habitual && h.in.within(t) == h.in.within(h.in.At) {
		return false
	}
	known := false
	for side := range h.near {
		for pair := range h.near[side] {
			if pair.first() != st || pair.second() == st {
				continue
			}
			known = true
			if ran[h.names[pair.second()]] && (!habitual || h.isUsual(side, st, pair.second())) {
				return true
			}
		}
	}
	return !habitual && !known
}
