package faultloc

import (
	"slices"
	"sort"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
)

// Where a C-point is far from the last healthy one, as where the end of the program
// is the only one, most of what lies between was right, and what is wrong has had
// consequences without number. But the structure tells by itself when it was whole:
//
//	       whole     broken  whole   broken for good
//	  ──╷━━━━━━━━━━━╷╌╌╌╌╌╌╌╷━━━━━━━╷╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╴ At
//	                        from    broke   to
//
//  1. before: when the oldest of the inconsistencies became one for good
//  2. the last stretch before that in which nothing was broken: the operation of the
//     program that broke it began in it, at from at the earliest
//     Of a call that does not end it is the first stretch of whole moments behind which none comes for long.
//  3. to: the moment before a statement runs next that, up to then, always ran on a
//     structure that was whole. Where there is no such statement: a moment later than
//     operations usually took, at which no more is broken than at any other near it
//
// Where the history knows of calls, the moments between them are tried first: of two one
// after the other from is whole, and to is not.
//
// The fault is located between from and to. Both are no C-points that anybody has
// declared, and the result says so.

// Limits of the search for moments.
const (
	farAway    = 256     // operations between C-points from which on it is worth the search
	fewest     = 8       // and where the end is the only one
	neverEnds  = 1 << 12 // operations of a call that was not over from which on it is
	lookBack   = 192     // operations before the break that are looked at for whole moments, at first
	lookBefore = 512     // operations before a call that does not end that are
	maxScanned = 1 << 12 // moments that are looked at in all
	minAfter   = 48      // operations after the break that are looked at, at least
	maxAfter   = 256     // and at most
	minRounds  = 8       // inconsistencies that a loop may have left
	fewRounds  = 2       // where nothing accounts for them all
	maxRound   = 1 << 12 // and what may be broken at a moment of its first round
	minWhole   = 3       // times that a statement must have run on a whole structure
	maxDated   = 16      // inconsistencies that are asked since when
	maxEasy    = 128     // what an inconsistency depends on that is evaluated with little effort
	maxTries   = 4       // moments that are checked whole because what is easily asked holds there
	maxSampled = 16      // inconsistencies of a constraint that are asked how much they depend on
	maxSteps   = 64      // changes of one of them that are looked through
	perAhead   = 8       // moments that lie behind for each that a step ahead leaves out
	maxEarly   = 4       // moments, the first, that are asked what never held from there on
	maxEver    = 16      // moments at which that must be broken
	maxHealed  = 512     // inconsistencies times moments at which something of a round must be broken
	// maxDatedDeps bounds what these may depend on, in total.
	maxDatedDeps = 1 << 13
)

// Narrowed is the part of a history in which the fault was located instead of all
// that lies between two C-points.
type Narrowed struct {
	From  mgpp.Timestamp // nothing was broken here
	Broke mgpp.Timestamp // the operation since which something always was
	To    mgpp.Timestamp // where the suspects were judged
	Found int            // inconsistencies there
	// Unsure: the run is short, and nobody knows of calls, or nothing that is broken at To is broken at the end.
	Unsure bool
	Added  int // suspects of all of the run
	// Never: no moment between calls was whole; From is where the search began.
	Never bool
	round bool // To is in a call that does the same wrong time and again
}

// narrow finds such a part; it is not ok where the C-points are near, or no moment was
// whole.
func narrow(in *Input) (n Narrowed, found []eval.Inconsistency, ok bool) {
	if in.Broken == nil || len(in.Found) == 0 || in.At-in.Healthy <= farAway && (in.Healthy > 0 || in.At <= fewest) {
		return n, nil, false
	}
	m := &moments{in: in, broken: map[mgpp.Timestamp]int{}, heavy: map[eval.Instance]bool{}, ran: map[string]*[2]int{}}
	last := mgpp.Timestamp(0)
	if n, ok = m.betweenCalls(); ok {
		if n.To == in.At {
			if len(m.in.Found) >= minRounds && n.To-n.From > farAway {
				if one, found, ok := m.round(n); ok && 2*len(found) < len(m.in.Found) {
					return one, found, true
				}
			}
		}
		if n.To < in.At || n.To-n.From <= neverEnds {
			return m.found(n)
		}
		if last, ok = m.firstBroken(n.From); !ok {
			return m.found(n)
		}
	} else {
		last, ok = m.lastWhole(m.before())
	}
	if !ok || m.empty(last) || in.stopped() {
		return n, nil, false
	}
	n = Narrowed{From: m.beginning(last), Broke: last + 1, Unsure: in.At-in.Healthy <= farAway}
	m.learn(last)
	n.To = m.calm(last + 1)
	return m.found(n)
}

// found is what is broken where such a part ends.
func (m *moments) found(n Narrowed) (_ Narrowed, found []eval.Inconsistency, ok bool) {
	if n.To >= m.in.At || m.in.stopped() {
		n.To = m.in.At
		found = m.in.Found
	} else {
		found = m.in.Model.All(m.in.Model.View(n.To))
	}
	n.Found = len(found)
	return n, found, len(found) > 0 && !m.in.stopped()
}

// betweenCalls finds two moments between calls one after the other, of which the first is
// whole and the second is not: they are as good as C-points. What is broken for long, and easily
// asked, tells nearly always which two; that the first is whole takes a check of all that there is.
func (m *moments) betweenCalls() (n Narrowed, ok bool) {
	lo, _ := slices.BinarySearch(m.in.Moments, m.in.Healthy)
	hi, _ := slices.BinarySearch(m.in.Moments, m.in.At)
	list := m.in.Moments[lo:hi]
	m.easy = m.oldest(len(m.in.Found), func(i int) eval.Instance { return m.in.Found[i].Instance }, m.in.At)
	whole, is := len(list), m.quiet
	for tries := 1; ; tries++ {
		if whole = m.newest(list[:whole], is); m.in.stopped() {
			return n, false
		}
		if whole < 0 {
			return m.never(list)
		}
		if m.whole(list[whole]) {
			break
		}
		if tries == maxTries {
			is = m.whole
		}
	}
	n = Narrowed{From: list[whole], Broke: list[whole] + 1, To: m.in.At}
	if whole+1 < len(list) {
		n.To = list[whole+1]
		near := m.in.At-m.in.Healthy <= farAway
		passes := (m.ahead || near) && !m.lasts(n.To)
		if passes && m.ahead {
			return m.never(list)
		}
		n.Unsure = passes
	} else if m.in.Quiet > 0 && m.in.Quiet < m.in.At {
		return n, false // which calls came after that is not known
	}
	return n, !m.in.stopped()
}

// round is the part of a call before the statement runs again that broke something for good, up to where least is broken but for what is so at the
// end as well, and that: a loop that does wrong does so each time, and no single change mends all that it has left. It is not ok
// where nothing is left out by that.
func (m *moments) round(n Narrowed) (_ Narrowed, found []eval.Inconsistency, ok bool) {
	broke := m.firstOf(n)
	op := m.in.History.Op(broke)
	again := broke + 1
	for again < n.To && (m.in.History.Op(again).PC != op.PC || m.in.History.Op(again).Thread != op.Thread) {
		again++
	}
	if broke <= n.From || again >= n.To || !m.in.attributed(broke) {
		return n, nil, false
	}
	last := map[eval.Instance]bool{}
	for _, inc := range m.in.Found {
		last[inc.Instance] = true
	}
	n.Broke, n.round = broke, true
	least, most := 0, 0
	for t := broke; t < min(again, broke+maxAfter) && !m.in.stopped(); t++ {
		passing, lasting := 0, 0
		broken := m.in.Model.Broken(m.in.Model.View(t))
		if len(broken) > maxRound {
			return n, nil, false
		}
		for _, i := range broken {
			if last[i] {
				lasting++
			} else {
				passing++
			}
		}
		if t == broke || passing < least || passing == least && lasting >= most {
			n.To, least, most = t, passing, lasting
		}
	}
	found = slices.DeleteFunc(m.in.Model.All(m.in.Model.View(n.To)), func(inc eval.Inconsistency) bool { return !last[inc.Instance] })
	n.Found = len(found)
	return n, found, len(found) > 0 && len(found) < len(m.in.Found) && !m.in.stopped()
}

// inRound is the answer for the first round of a call that does the same wrong a few times, where no suspect accounts for what all of
// them have left. The suspects of all of the call are told behind; if none accounts for what the first round has left either, what
// is known against a statement in both counts.
func (r Result) inRound(in Input) Result {
	if in.Broken == nil || len(in.Found) < fewRounds || r.Stopped || len(r.Suspects) > 0 && r.Suspects[0].accounts() {
		return r
	}
	m := &moments{in: &in}
	n, found, ok := m.round(Narrowed{From: in.Healthy, To: in.At})
	if !ok {
		return r
	}
	part := n.within(in, found)
	one := locate(part)
	if len(one.Suspects) == 0 || one.Stopped {
		return r
	}
	one.addInner(part)
	one.Narrowed = &n
	if !one.Suspects[0].accounts() {
		worth := func(s *Suspect) int {
			if k := slices.IndexFunc(r.Suspects, in.same(s)); k >= 0 {
				return s.worth() + r.Suspects[k].worth()
			}
			return s.worth()
		}
		slices.SortStableFunc(one.Suspects, func(a, b Suspect) int { return worth(&b) - worth(&a) })
	}
	one.append(in, r)
	return one
}

// accounts: with a suspect all that is broken has an explanation.
func (s *Suspect) accounts() bool {
	return s.worth() >= worthRepair || slices.ContainsFunc(s.Evidence, func(e Evidence) bool {
		return (e.Kind == Counterfactual || e.Kind == RepairCell || e.Kind == Outdated) && e.explains()
	})
}

// firstOf is an operation of a part of the history at the beginning of which nothing was broken, before which none of what is broken at the
// end is, and behind which something is: up to the end, as far as a few moments tell. What is so only for a while was on its way.
func (m *moments) firstOf(n Narrowed) mgpp.Timestamp {
	step := 1 + len(m.in.Found)/maxEasy
	yes := func(t mgpp.Timestamp) bool {
		view := m.in.Model.View(t)
		for i := 0; i < len(m.in.Found); i += step {
			if m.in.Model.Verdict(m.in.Found[i].Instance, view) == eval.Broken {
				return true
			}
		}
		return false
	}
	each := func(first mgpp.Timestamp) mgpp.Timestamp {
		return 1 + (n.To-first)*mgpp.Timestamp(min(len(m.in.Found), maxEasy))/maxHealed
	}
	for from := n.From; ; {
		first := from + 1 + mgpp.Timestamp(sort.Search(int(n.To-from-1), func(i int) bool { return yes(from + 1 + mgpp.Timestamp(i)) }))
		healed := from
		for t := first + 1; t < n.To; t += each(first) {
			if !yes(t) {
				healed = t
			}
		}
		if healed == from {
			return first
		}
		from = healed
	}
}

// never: no moment is whole, and something is broken at each of them but for the first few: it never held since it can be asked. All that
// was done later was done to what was wrong already, so the fault is in what the run had done by the first of these.
func (m *moments) never(list []mgpp.Timestamp) (n Narrowed, ok bool) {
	for k, to := range list[:min(len(list), maxEarly)] {
		broken := m.in.Model.Broken(m.in.Model.View(to))
		slices.SortFunc(broken, eval.Instance.Compare)
		for _, i := range broken[:min(len(broken), maxDated)] {
			if to > m.in.Healthy && m.ever(i, list[k:]) {
				return Narrowed{From: m.in.Healthy, Broke: m.in.Healthy + 1, To: to, Never: true}, !m.in.stopped()
			}
		}
	}
	return n, false
}

// ever: an instance is broken at the end, and at moments in equal steps.
func (m *moments) ever(i eval.Instance, list []mgpp.Timestamp) bool {
	for k := range maxEver {
		if m.in.Model.Verdict(i, m.in.Model.View(list[k*len(list)/maxEver])) != eval.Broken {
			return false
		}
	}
	return m.in.Model.Verdict(i, m.in.Model.View(m.in.At)) == eval.Broken
}

// lasts: something is broken at a moment that still is at the end. What is not may be an operation of the program on its way, of
// which the calls that are known are parts: nobody has declared them.
func (m *moments) lasts(t mgpp.Timestamp) bool {
	end := m.in.Model.View(m.in.At)
	broken := m.in.Model.Broken(m.in.Model.View(t))
	return slices.ContainsFunc(broken[:min(len(broken), maxEasy)], func(i eval.Instance) bool { return m.in.Model.Verdict(i, end) == eval.Broken })
}

// newest is the index of a moment of which that is true, and of the next one, if there is one, not; -1: none was found. It
// looks back in steps that grow, and then halves.
func (m *moments) newest(list []mgpp.Timestamp, is func(mgpp.Timestamp) bool) int {
	yes, no := len(list)-1, len(list)
	for step := 1; yes >= 0 && !is(list[yes]) && !m.in.stopped(); step *= 2 {
		yes, no = max(yes-step, min(yes-1, 0)), yes
	}
	if yes < 0 {
		m.ahead = true
		yes, no = m.early(list, is)
	}
	for yes >= 0 && no-yes > 1 && !m.in.stopped() {
		if at := (yes + no) / 2; is(list[at]) {
			yes = at
		} else {
			no = at
		}
	}
	return yes
}

// early is what newest looks for where no step back met a moment of which that is true: it is so for a short while at most, behind what makes
// the structure part by part, and before what breaks it. So the steps ahead grow with how many moments lie behind.
func (m *moments) early(list []mgpp.Timestamp, is func(mgpp.Timestamp) bool) (yes, no int) {
	yes = -1
	for at, next := 0, 0; at < len(list) && !m.in.stopped(); at = next {
		next = min(at+1+at/perAhead, len(list))
		if is(list[at]) {
			yes, no = at, next
		}
	}
	return yes, no
}

// moments remembers how much is broken when.
type moments struct {
	in      *Input
	broken  map[mgpp.Timestamp]int
	deps    int                    // of the instances that were asked since when
	longest mgpp.Timestamp         // the longest time between two whole moments
	ahead   bool                   // no step back met a whole one
	easy    []eval.Instance        // what was broken at some moment, and is evaluated with little effort
	heavy   map[eval.Instance]bool // what depended on much, and is not asked again
	// Statements, and how often something was broken, and nothing, when one ran.
	ran map[string]*[2]int
}

// quiet: nothing is broken at t of what is easily asked.
func (m *moments) quiet(t mgpp.Timestamp) bool {
	view := m.in.Model.View(t)
	return !slices.ContainsFunc(m.easy, func(i eval.Instance) bool { return m.in.Model.Verdict(i, view) == eval.Broken })
}

// whole: nothing is broken at t. What may be broken for long is asked first.
func (m *moments) whole(t mgpp.Timestamp) bool {
	if !m.quiet(t) {
		return false
	}
	if m.at(t) == 0 {
		return true
	}
	if len(m.easy) < maxDated {
		broken := m.in.Model.Broken(m.in.Model.View(t))
		slices.SortFunc(broken, eval.Instance.Compare)
		m.easy = append(m.easy, m.oldest(len(broken), func(i int) eval.Instance { return broken[i] }, t)...)
	}
	return false
}

// oldest returns of n instances in order that are broken at t, and depend on little, of each constraint the one that has been what it
// is for longest. Few are asked: of a list that a program has led astray there may be hundreds of thousands.
func (m *moments) oldest(n int, broken func(int) eval.Instance, t mgpp.Timestamp) (out []eval.Instance) {
	for from := 0; from < n; {
		k := broken(from).Constraint
		same := sort.Search(n-from, func(i int) bool { return broken(from+i).Constraint > k })
		var best eval.Instance
		since := t + 1
		for i := 0; i < same; i += 1 + same/maxSampled {
			if last, ok := m.changed(broken(from+i), t); ok && last < since {
				best, since = broken(from+i), last
			}
		}
		if since <= t {
			out = append(out, best)
		}
		from += same
	}
	return out
}

// changed is when an instance was last affected before t; it is not ok if it depends on much.
func (m *moments) changed(i eval.Instance, t mgpp.Timestamp) (last mgpp.Timestamp, ok bool) {
	if m.heavy[i] {
		return 0, false
	}
	deps := m.in.Model.Eval(i, m.in.Model.View(t)).Deps
	if m.in.Model.Weight(deps, t, maxEasy) > maxEasy {
		m.heavy[i] = true
		return 0, false
	}
	return eval.LastChange(m.in.Model, deps, t), true
}

// before is when the oldest of the inconsistencies became one for good, as far as it
// can be found with little effort: it may have been earlier.
func (m *moments) before() mgpp.Timestamp {
	view := m.in.Model.View(m.in.At)
	from := seeds(*m.in, view)
	at := m.in.At
	for i, p := range from[:min(len(from), maxDated)] {
		if i > 0 && m.deps >= maxDatedDeps {
			break
		}
		at = min(at, m.since(p))
	}
	return at
}

// since is when an instance became inconsistent for good.
func (m *moments) since(p pending) mgpp.Timestamp {
	t, r := m.in.At, p.result
	for n := 0; n < maxSteps && (n == 0 || m.deps < maxDatedDeps); n++ {
		m.deps += len(r.Deps)
		last := eval.LastChange(m.in.Model, r.Deps, t)
		if last <= m.in.Healthy {
			return m.in.Healthy + 1
		}
		r = m.in.Model.Eval(p.instance, m.in.Model.View(last-1))
		if r.Verdict != eval.Broken || m.in.stopped() {
			return last
		}
		t = last - 1
	}
	return t
}

// at is how much is broken at t.
func (m *moments) at(t mgpp.Timestamp) int {
	n, ok := m.broken[t]
	if !ok {
		n = m.in.Broken(t)
		m.broken[t] = n
	}
	return n
}

// lastWhole is the last moment before t at which nothing is broken, and learns how
// long it usually takes from one to the next. Moments are asked for in ascending
// order: that is cheap.
func (m *moments) lastWhole(t mgpp.Timestamp) (last mgpp.Timestamp, ok bool) {
	hi, step := t, mgpp.Timestamp(lookBack)
	for scanned := mgpp.Timestamp(0); scanned < maxScanned && !m.in.stopped(); scanned += step {
		lo := m.in.Healthy
		if hi-lo > step {
			lo = hi - step
		}
		if last, ok = m.scan(lo, hi, hi-lo); ok || lo == m.in.Healthy {
			break
		}
		hi, step = lo, 2*step
	}
	return last, ok
}

// firstBroken is the last moment at which nothing is broken before it is for long, in a call that
// began at a whole one and did not end. How long it usually takes the operations before that call tell.
func (m *moments) firstBroken(from mgpp.Timestamp) (last mgpp.Timestamp, ok bool) {
	m.scan(from-min(from, lookBefore), from, lookBefore)
	patience, to := max(farAway, 4*m.longest), min(m.in.At, from+maxScanned)
	last, ok = m.scan(from, to, patience)
	return last, ok && to-last > patience
}

// scan looks at the moments from lo to hi, until for so many of them something is broken: which
// is the last at which nothing is, and how long does it take from one to the next?
func (m *moments) scan(lo, hi, patience mgpp.Timestamp) (last mgpp.Timestamp, ok bool) {
	gap := mgpp.Timestamp(0)
	for at := lo; at < hi && gap < patience && !m.in.stopped(); at++ {
		if m.at(at) > 0 {
			gap++
			continue
		}
		if ok {
			m.longest = max(m.longest, gap)
		}
		last, ok, gap = at, true, 0
	}
	return last, ok
}

// empty: before t there was none of what is inconsistent. That nothing is broken then
// says nothing, neither does what ran then.
func (m *moments) empty(t mgpp.Timestamp) bool {
	if m.in.Cells == nil {
		return false
	}
	asked := false
	for _, inc := range m.in.Found[:min(len(m.in.Found), maxDated)] {
		for _, o := range inc.Instance.Nodes {
			if o == 0 {
				continue
			}
			asked = true
			if len(m.in.Cells.Alike(o, m.in.Model.View(t), 1)) > 0 {
				return false
			}
		}
	}
	return asked
}

// beginning is where the stretch of whole moments begins that ends with last.
func (m *moments) beginning(last mgpp.Timestamp) mgpp.Timestamp {
	for last > m.in.Healthy {
		if n, known := m.broken[last-1]; !known || n > 0 {
			break
		}
		last--
	}
	return last
}

// learn counts on what the statements up to t ran.
func (m *moments) learn(t mgpp.Timestamp) {
	for at := t; at > 0; at-- {
		n, known := m.broken[at-1]
		if !known {
			break
		}
		st := m.in.statement(at)
		if m.ran[st] == nil {
			m.ran[st] = &[2]int{}
		}
		if n > 0 {
			m.ran[st][0]++
		} else {
			m.ran[st][1]++
		}
	}
}

// calm is the moment, t or later, at which the fault is located.
func (m *moments) calm(t mgpp.Timestamp) mgpp.Timestamp {
	for at := t; at < min(m.in.At, t+maxAfter); at++ {
		if r := m.ran[m.in.statement(at+1)]; r != nil && r[0] == 0 && r[1] >= minWhole {
			return at
		}
	}
	begin := min(m.in.At, t+m.longest)
	end := min(m.in.At, begin+min(maxAfter, max(minAfter, m.longest)))
	best := begin
	for at := begin; at <= end && !m.in.stopped(); at++ {
		if n := m.at(at); n < m.at(best) || n == m.at(best) && best == at-1 {
			best = at
		}
	}
	return best
}

// within is the question about that part of the history only.
func (n Narrowed) within(in Input, found []eval.Inconsistency) Input {
	in.end, in.amid = in.At, n.round
	in.At, in.Healthy, in.Found = n.To, n.From, found
	if len(in.Moments) > len(in.Points) {
		in.Points = in.Moments
	}
	return in
}

// changed: an operation that stored a value did not store the one that was there.
func (in *Input) changed(t mgpp.Timestamp) bool {
	op := in.History.Op(t)
	if op.Kind != mgpp.OpStore || op.Size > 8 {
		return true
	}
	was, ok := read(in.Model.View(t-1), op.Addr, int(op.Size))
	is, ok2 := read(in.Model.View(t), op.Addr, int(op.Size))
	return ok != ok2 || was != is
}
