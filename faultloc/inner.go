package faultloc

import (
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
)

// What goes wrong early in a call may go wrong again and again before the call is over: each rotation of a node that is
// taken out loses another one, each element that is moved leads to the one before it. At the end no single field would mend it. But
// the run tells what had always held when a statement began to run:
//
//	 tree  holds             holds             broken, to the end
//	──╷━━━━━━━━━━━━━╷━━━━━━━━━━━━━━━━━╷━━━╷╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌ At
//	 rotate  update   rotate   update  rotate    update
//	                                            ^ it never began with tree broken: located here
//
// That is an invariant of a place in the program, as M. Ernst and others look for them ("Dynamically Discovering Likely Program
// Invariants to Support Program Evolution", IEEE TSE 27(2), 2001), but one that the user has stated, and at a place where nobody
// has said that it holds. Where an execution is the first to find such a constraint broken, and it does not hold again up to the
// C-point, the fault is located as if the moment before were the C-point, and only what is broken there of such constraints were. The
// suspects that account for all of that stand beside those of the call.

// Limits of the search for such a place.
const (
	innerLeast  = 6       // operations of a call in which one is looked for
	innerMost   = 1024    // and at most
	innerEach   = 12      // executions of a statement that are asked what was broken
	innerEnough = 4       // and at least
	innerBack   = 8192    // operations that are looked through for them
	innerBroken = 64      // inconsistencies at such a place
	innerWorked = 1 << 16 // steps of evaluation to find it, and again of all experiments there (some 10 ms)
)

// Inside is such a place.
type Inside struct {
	At    mgpp.Timestamp       // the moment before the statement ran
	Found []eval.Inconsistency // what was broken there, in order
	Held  int                  // executions before, the newest, that were asked and at which it held
}

// inner looks for it.
type inner struct {
	in     *Input
	broken map[mgpp.Timestamp][]bool   // by constraint
	begun  uint64                      // steps of evaluation before
	ran    map[string][]mgpp.Timestamp // when statements ran before, the newest first
}

// at tells of each constraint whether it is broken at t.
func (n *inner) at(t mgpp.Timestamp) []bool {
	b, ok := n.broken[t]
	if !ok {
		b = n.in.BrokenOf(t)
		n.broken[t] = b
	}
	return b
}

// exhausted: it has taken too long.
func (n *inner) exhausted() bool { return n.in.stopped() || n.in.work()-n.begun >= innerWorked }

// findInner returns the first such place; nil: there is none.
func findInner(in *Input) *Inside {
	if in.BrokenOf == nil || in.At-in.Healthy < innerLeast || in.At-in.Healthy > innerMost {
		return nil
	}
	n := &inner{in: in, broken: map[mgpp.Timestamp][]bool{}, begun: in.work()}
	since, first := n.since()
	if first == 0 || n.exhausted() {
		return nil
	}
	n.learn(first)
	for t := first + 1; t <= in.At && !n.exhausted(); t++ {
		which, asked := n.never(t, since)
		if which == nil {
			continue
		}
		out := &Inside{At: t - 1, Held: asked}
		for _, inc := range in.Model.All(in.Model.View(t - 1)) {
			if c := inc.Instance.Constraint; c >= 0 && c < len(which) && which[c] {
				out.Found = append(out.Found, inc)
			}
		}
		if in.stopped() || len(out.Found) == 0 || len(out.Found) > innerBroken {
			return nil
		}
		return out
	}
	return nil
}

// since is of each constraint that is broken at the C-point the moment from which on it is, and the first of these; 0: none is.
func (n *inner) since() (since []mgpp.Timestamp, first mgpp.Timestamp) {
	now := n.at(n.in.At)
	since = make([]mgpp.Timestamp, len(now))
	for t := n.in.Healthy + 1; t <= n.in.At && !n.exhausted(); t++ {
		for c, broken := range n.at(t) {
			switch {
			case !now[c] || !broken:
				since[c] = 0
			case since[c] == 0:
				since[c] = t
			}
		}
	}
	for _, t := range since {
		if t != 0 && (first == 0 || t < first) {
			first = t
		}
	}
	return since, first
}

// learn notes when the statements that ran from first on had run before that.
func (n *inner) learn(first mgpp.Timestamp) {
	n.ran = map[string][]mgpp.Timestamp{}
	for t := first + 1; t <= n.in.At; t++ {
		if n.in.attributed(t) {
			n.ran[n.in.statement(t)] = nil
		}
	}
	for t := first - 1; t > 1 && first-t < innerBack; t-- {
		if !n.in.attributed(t) {
			continue
		}
		s := n.in.statement(t)
		if list, asked := n.ran[s]; asked && len(list) < innerEach {
			n.ran[s] = append(list, t)
		}
	}
}

// never tells of each constraint whether it was broken for good when the operation at t was done, and never when its statement
// ran before, of which so many were asked; nil: none was.
func (n *inner) never(t mgpp.Timestamp, since []mgpp.Timestamp) (which []bool, asked int) {
	if !n.in.attributed(t) {
		return nil, 0
	}
	before := n.ran[n.in.statement(t)]
	if len(before) < innerEnough {
		return nil, 0
	}
	which = make([]bool, len(since))
	for c, from := range since {
		which[c] = from != 0 && from < t
	}
	for _, at := range before {
		if !slices.Contains(which, true) || n.exhausted() {
			return nil, 0
		}
		for c, broken := range n.at(at - 1) {
			which[c] = which[c] && !broken
		}
	}
	if !slices.Contains(which, true) {
		return nil, 0
	}
	return which, len(before)
}

// explainsCall: an experiment with the call says that it would have left nothing broken, by doing the same in another way.
func (s *Suspect) explainsCall() bool {
	return slices.ContainsFunc(s.Evidence, func(e Evidence) bool {
		return (e.Kind == Switched || e.Kind == Altered || e.Kind == Edited) && e.worth() >= worthAltered
	})
}

// addInner puts the suspects of such a place beside those of the call, where neither these nor an experiment with it account for all.
func (r *Result) addInner(in Input) {
	if r.Settled() || r.Stopped || len(r.Suspects) == 0 || !in.looksFor(Inner) || slices.ContainsFunc(r.Suspects, func(s Suspect) bool { return s.explainsCall() }) {
		return
	}
	inside := findInner(&in)
	if inside == nil {
		return
	}
	in.end = in.last()
	in.At, in.Found, in.core = inside.At, inside.Found, nil
	in.brief, in.Rerun, in.ReadFreed, in.Died, in.Cut = true, nil, nil, 0, true // experiments with the call were made
	part := locate(in)
	if part.Stopped {
		return
	}
	all := append(r.Suspects, r.Others...)
	for _, s := range part.Suspects {
		if !s.mendsInside(in) {
			continue
		}
		s.Inner = inside
		s.Evidence = slices.DeleteFunc(s.Evidence, func(e Evidence) bool { return e.Kind == Counterfactual })
		k := slices.IndexFunc(all, func(o Suspect) bool { return o.Kind == s.Kind && in.Statement(o.PC) == in.Statement(s.PC) })
		switch {
		case k < 0:
			all = append(all, s)
		case s.worth() > all[k].worth():
			all[k] = s
		}
	}
	r.Suspects, r.Others = rank(all)
}

// mendsInside: it accounts for all that is broken in the middle of a call, by what should have been stored. To leave out what
// broke it does so there in any case, and says nothing: counterfactuals are not kept. Nor does a statement of a function that the
// call has not come to, which has stored such a field in others.
func (s *Suspect) mendsInside(in Input) bool {
	return !slices.ContainsFunc(s.Evidence, func(e Evidence) bool { return e.Apart }) && slices.ContainsFunc(s.Evidence, func(e Evidence) bool {
		switch e.Kind {
		case RepairCell:
			return e.settles() && !s.restores(in)
		case Instead:
			return !e.Unread
		}
		return e.Kind == Swapped
	})
}

// restores: its repair is what the cell held before it.
func (s *Suspect) restores(in Input) bool {
	if s.Kind != Wrote || s.Repair == nil || s.Operation == 0 {
		return false
	}
	was, ok := read(in.Model.View(s.Operation-1), s.Repair.Cell.Addr, s.Repair.Cell.Size)
	return ok && was == s.Repair.Value
}
