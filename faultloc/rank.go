package faultloc

import (
	"cmp"
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// statements groups the contributing operations by statement, the statement
// with the newest operation first. Operations without one are apart.
func statements(in Input, tb *contributions) (out []Suspect, unseen []mgpp.Timestamp) {
	type pair struct {
		pc trace.Addr // the suspect's
		i  eval.Instance
	}
	known := map[pair]bool{}
	for _, t := range tb.order {
		if !in.attributed(t) {
			if in.wrote(t) {
				unseen = append(unseen, t)
			}
			continue
		}
		c := tb.byOp[t]
		s := statement(in, &out, t)
		s.Second = c.second && (s.Second || len(s.Operations) == 0)
		s.Operations = append(s.Operations, t)
		for _, i := range c.instances {
			if k := (pair{s.PC, i}); !known[k] {
				known[k] = true
				s.Contributes = append(s.Contributes, i)
			}
		}
		s.gather(in, t, c)
	}
	return out, unseen
}

// attributed reports whether the statement of an operation is known.
func (in *Input) attributed(t mgpp.Timestamp) bool {
	d := in.History.Deed(t)
	return d.PC != 0 && d.Name != trace.UnseenWrite
}

func (in *Input) wrote(t mgpp.Timestamp) bool {
	switch in.History.Deed(t).Kind {
	case mgpp.OpStore, mgpp.OpBulk, mgpp.OpUnread:
		return true
	}
	return false
}

// statement returns the suspect for the statement of operation t, added to the
// list if it is not there.
func statement(in Input, list *[]Suspect, t mgpp.Timestamp) *Suspect {
	pc := in.History.Op(t).PC
	key := in.Statement(pc)
	for i := range *list {
		if s := &(*list)[i]; s.Kind == Wrote && in.Statement(s.PC) == key {
			return s
		}
	}
	*list = append(*list, Suspect{Kind: Wrote, PC: pc, Operation: t})
	return &(*list)[len(*list)-1]
}

// gather adds what an operation did, and shows the one with the most flips.
func (s *Suspect) gather(in Input, t mgpp.Timestamp, c *contribution) {
	flips := c.breaks(&in)
	kind, mended := Touch, false
	switch {
	case c.second:
		kind = Entered
	case flips > 0:
		kind, mended = Flip, in.looksFor(Mended) && in.mendedBefore(t, c)
	}
	if kind == Flip && flips > s.flips() {
		s.Operation = t
	}
	for i := range s.Evidence {
		if e := &s.Evidence[i]; e.Kind == kind {
			e.Flips += flips
			e.Born = e.Born && born(in, t, c)
			e.Mended = e.Mended && mended
			return
		}
	}
	s.Evidence = append(s.Evidence, Evidence{Kind: kind, Flips: flips, Born: born(in, t, c), Mended: mended})
}

// born: an operation made a node, or gave a new one the first values of fields, by which constraints began to ask for it
// what nothing can have stored yet.
func born(in Input, t mgpp.Timestamp, c *contribution) bool {
	op := in.History.Op(t)
	if op.Kind == mgpp.OpBirth {
		return true
	}
	for i := range c.flipped {
		if f := &c.flipped[i]; f.lasting && !f.slept {
			return false
		}
	}
	if in.Cells == nil || !in.wrote(t) || op.Size > storeBytes || len(c.flipped) == 0 {
		return false
	}
	fields, view := 0, in.Model.View(t)
	for at, end := op.Addr, op.Addr+trace.Addr(op.Size); at < end; { // a compiler makes one store of several fields
		cell, ok := in.Cells.Cell(at, view)
		if !ok {
			at++ // no field is there
			continue
		}
		if birth := in.Cells.Object(cell.Obj).Birth; birth <= in.Healthy || firstWrite(in, cell, birth) != t {
			return false
		}
		fields++
		at = cell.Addr + trace.Addr(cell.Size)
	}
	return fields > 0
}

// storeBytes is how many bytes a compiler stores at once.
const storeBytes = 64

func (s *Suspect) flips() int {
	n := 0
	for _, e := range s.Evidence {
		n = max(n, e.Flips)
	}
	return n
}

// mended returns the inconsistencies that a repair cures.
func (r *Repair) mended(in Input) []eval.Instance {
	var out []eval.Instance
	for i, inc := range in.Found {
		if r.cured[i] {
			out = append(out, inc.Instance)
		}
	}
	return out
}

// What evidence is worth, in hundredths. An experiment that cures all and does no
// harm is worth most; one that cures a part, that part; one that merely cuts a node
// off, less than the flip and the repair of a field together.
const (
	worthAll      = 600 // counterfactual: cures all and does no harm
	worthSome     = 300 // cures more than it breaks
	worthCut      = 200 // cures, but cuts a node off
	worthRepair   = 500 // wrote, or should have written, the cell that mends all
	worthPart     = 300 // that mends some
	worthLoose    = 100 // but cuts a node off
	worthOld      = 200 // Outdated
	worthNamed    = 50  // where it is known which statement is missing
	worthGiven    = 80  // with another of the numbers that the program is given
	worthHide     = 150 // an experiment that only makes a constraint look at less
	worthOften    = 400 // Missing: in at least four of five like nodes the statement wrote the field, or it led several there now
	worthMost     = 250 // in most of them
	worthSeldom   = 100
	worthAlways   = 500 // Habit: without exception, in many cases
	worthUsual    = 300
	worthAlone    = 150 // Habit: of a statement whose field would not mend all
	worthOnly     = 400 // the same, but only that one is missing
	worthNew      = 900 // Unlike: a field that it never wrote before, or none
	worthStrange  = 600 // a number that no node held
	worthUnlike   = 350 // another law
	worthLater    = 100 // Unlike: another statement broke a law before
	worthLast     = 0
	worthIdle     = 100
	worthUsed     = 1200
	worthUnset    = 2000 // more than all that is known of who copied it
	worthGarbage  = 600
	worthNowhere  = 1000 // Followed: more than an experiment with another decision
	worthSurvives = 260  // more than the crash itself
	worthFollowed = 120
	worthTallied  = 400 // more than the crash itself
	worthStray    = 600
	worthStrayed  = 1000
	worthBasis    = 700 // in place of what the statements lose that counted on
	worthDoomed   = 150
	worthAgain    = 400 // the pointer was there already: more than the free that broke something
	worthEarly    = 350 // Early: as it never did before
	worthStill    = 200
	worthMeant    = 350 // Instead: to a field that nothing broken reads
	worthFreed    = 60
	worthCrash    = 150
	worthNext     = 600 // a crash where the store that is missing would come next, or may
	worthAfter    = 50  // a crash when all was broken already
	worthDied     = 200 // and when nothing was: more than an experiment that only leaves it out
	worthVague    = 90  // a repair by a statement of which nothing firm says that it is missing
	worthFlip     = 100
	worthLost     = 200
	worthBorn     = 20 // of a birth
	worthMended   = 50 // where others have mended it before
	worthSwitched = 900
	worthGuards   = 1500 // it has left out the store that is missing: more than the store beside which that is missing
	worthLess     = 160  // with which a part of the call is left out
	worthSeen     = 90   // where it goes as it went in calls that ended well: less than a flip
	worthAltered  = 400
	worthEdited   = 900
	worthUnsure   = 300
	worthCall     = 1200 // more than that of the store that is missing in the function
	worthCertain  = 1100
	worthOther    = 150
	worthIdleCall = 10 // also of an experiment that hides
	worthUnalike  = 60
	worthInner    = 300
	worthNothing  = 0
)

// enough like nodes to call something usual; many cases to call a habit firm.
const (
	enough = 3
	many   = 20
)

// part is worth's share of what an experiment cures, less what it breaks: of what is at the
// core, if something is.
func (e Evidence) part(worth int) int {
	cured, of := e.Cured, e.Of
	if e.Cores > 0 {
		cured, of = e.Core, e.Cores
	}
	return worth * max(0, cured-max(0, e.Created)) / max(1, of)
}

// cures notes what an experiment cures.
func (in *Input) cures(e *Evidence, cured []bool) {
	e.Cured, e.Of, e.Core, e.Cores = 0, len(in.Found), 0, 0
	for i, c := range cured {
		if c {
			e.Cured++
		}
		if in.core != nil && in.core[i] {
			e.Cores++
			if c {
				e.Core++
			}
		}
	}
}

// explains: it cures all, or all from which the rest may follow, and does no harm.
func (e Evidence) explains() bool {
	all := e.Cured == e.Of || e.Cores > 0 && e.Core == e.Cores
	return all && e.Created == 0 && e.Orphans == 0 && !e.Hides
}

// worth of one piece of evidence.
func (e Evidence) worth() int {
	if e.Copied {
		e.Copied = false
		return 3 * e.worth() / 4
	}
	if e.Refuted {
		e.Refuted = false
		return e.worth() / 4
	}
	if e.Unfinished {
		return worthNothing
	}
	if e.Unasked {
		e.Unasked = false
		return min(e.worth(), worthSome)
	}
	switch e.Kind {
	case Counterfactual:
		switch {
		case e.Created < 0 || e.Cured <= e.Created:
			return worthNothing
		case e.Orphans > 0 && e.Cured < e.Of:
			return worthNothing
		case e.Orphans > 0:
			return e.part(worthCut)
		case e.doubted():
			return e.part(worthLoose)
		case e.Given:
			return e.part(worthGiven)
		case e.Hides:
			return e.part(worthHide)
		case e.settles():
			return worthAll
		}
		return e.part(worthSome)
	case RepairCell:
		switch {
		case e.Orphans > 0, e.doubted():
			return e.part(worthLoose)
		case e.Hides:
			return e.part(worthHide)
		case e.Given && !e.More:
			return e.part(worthGiven)
		case e.settles(), e.More && e.Cured == e.Of:
			return worthRepair
		}
		return e.part(worthPart)
	case Missing:
		switch {
		case e.Apart:
			return worthNothing
		case e.There >= several, e.Of >= enough && 5*e.Often >= 4*e.Of:
			return worthOften
		case e.Of >= enough && 2*e.Often > e.Of:
			return worthMost
		}
		return worthSeldom
	case Unwritten:
		return worthUnset
	case Renewed:
		return worthUsual
	case Habit:
		switch {
		case e.Between > 0:
			return worthOnly
		case e.Alone && e.Only && e.Of >= many && 50*e.Often >= 49*e.Of:
			return worthOnly
		case e.Alone:
			return worthAlone
		case e.Left, e.Of >= many && 50*e.Often >= 49*e.Of:
			return worthAlways
		}
		return worthUsual
	case Unlike:
		switch {
		case e.Later:
			return worthLater
		case e.Law == LawField || e.Law == LawOutside || e.Law == LawOrigin || e.Law == LawHanded || e.Exact:
			return worthNew
		case e.Law == LawEnumerator || e.Law == LawNegative:
			return worthStrange
		}
		return worthUnlike
	case Outdated:
		if e.Named {
			return e.part(worthNamed)
		}
		if e.Unanswered || e.Bypassed {
			return e.part(worthOld) + 2*worthFlip
		}
		if e.Flips > 0 {
			return e.part(worthOld) + worthFlip
		}
		return e.part(worthOld)
	case Last:
		if e.Element {
			return worthSeldom
		}
		return worthLast
	case Beside:
		return worthSeldom
	case Mirror:
		if e.Of > 0 {
			return e.part(worthRepair)
		}
		return worthSeldom
	case Idle, Vain:
		return worthIdle
	case Used, Outlived:
		return worthUsed
	case Tallied:
		if !e.Falls {
			return worthFollowed
		}
		return worthTallied
	case Garbage:
		return worthGarbage
	case Followed:
		switch {
		case !e.Sole && (e.Next || e.Read == ReadIndex):
			return worthNext
		case !e.Sole:
			return worthFlip
		case e.Read == ReadAsked:
			return worthFollowed // the last of those who wrote it, and not more than that
		case e.Depth == 0 && e.Read >= ReadNowhere, e.Read == ReadIndex, e.Read == ReadFreedBlock:
			return worthNowhere
		case e.Survives:
			return worthSurvives
		case e.Depth > 0:
			return worthFreed
		}
		return worthFollowed
	case Stray, Crossed:
		if e.Lacks {
			return worthStrayed
		}
		return worthStray
	case Dropped:
		return e.part(worthRepair)
	case Basis, Stale, Taken:
		return e.part(worthBasis)
	case Lost:
		return worthLost
	case Doomed:
		if e.Unchanged {
			return worthAgain
		}
		return worthDoomed
	case Early:
		if e.Of > 0 {
			return worthEarly
		}
		return worthStill
	case Freed:
		return worthFreed
	case Crash:
		switch {
		case e.Sole:
			return worthDied
		case e.Later:
			return worthAfter
		case e.Next, e.Filling:
			return worthNext
		}
		return worthCrash
	case Swapped, Instead:
		if e.Unread {
			return worthMeant
		}
		return worthAll
	case Switched:
		switch {
		case e.Idle, e.Hides:
			return worthIdleCall
		case !e.Alike:
			return worthUnalike
		case e.Later, e.Dear:
			return worthOther
		case e.Seen:
			return worthSeen
		case e.Less:
			return worthLess
		case e.Guards:
			return worthGuards
		}
		return worthSwitched
	case Edited:
		switch {
		case e.Hides:
			return worthIdleCall
		case e.Dear, e.Dangles, e.Held > 0, !e.Alike && e.Later:
			return worthUnalike
		case e.Later:
			return worthOther
		case !e.Alike || e.Less:
			return worthUnsure
		}
		return worthEdited
	case Uncalled:
		if e.Named {
			return worthCall
		}
		if e.Next || e.Only {
			return worthRepair
		}
		return worthOther
	case Altered:
		if e.Hides {
			return worthIdleCall
		}
		if e.Later || e.Dear {
			return worthUnalike
		}
		return worthAltered
	case Flip:
		if e.Born {
			return worthBorn
		}
		if e.Mended {
			return worthMended
		}
		return worthFlip
	}
	return worthNothing
}

// settles: the experiment leaves nothing broken and nobody cut off.
func (e Evidence) settles() bool {
	return (e.Kind == Counterfactual || e.Kind == RepairCell) && e.Cured == e.Of && e.Created == 0 && e.Orphans == 0 && !e.More && !e.Hides && !e.Unasked && !e.doubted() && !e.Given
}

// doubted: something says that what the experiment is about was right.
func (e Evidence) doubted() bool {
	return e.Fitted || e.Onward || e.Usual || e.Again || e.Dangles || e.Unready || e.Flag || e.Summand || e.Unfinished
}

// settled: some evidence against it settles the matter.
func settled(s Suspect) bool {
	return slices.ContainsFunc(s.Evidence, func(e Evidence) bool {
		return e.settles() || e.Kind == Swapped && !e.Unasked || e.Kind == Instead && !e.Unread
	})
}

// Best returns the piece of evidence that is worth most, of several the first;
// nil if there is none.
func (s *Suspect) Best() *Evidence {
	var best *Evidence
	for i := range s.Evidence {
		if e := &s.Evidence[i]; best == nil || e.worth() > best.worth() {
			best = e
		}
	}
	return best
}

func (s *Suspect) worth() int {
	// Of the experiments with a given value, of those that hide, of the vague ones, and of those with which nothing is asked, which say the same:
	n, given, hides, vague, unasked := 0, 0, 0, 0, 0
	for _, e := range s.Evidence {
		w := e.worth()
		if e.Kind == Missing {
			w = s.share(w)
		}
		if e.Kind == RepairCell && s.Kind == Omitted && !slices.ContainsFunc(s.Evidence, Evidence.firm) && !(e.settles() && e.Of > 1 && slices.ContainsFunc(s.Evidence, Evidence.without)) {
			w = min(w, worthVague)
		}
		if e.Given {
			w, given = max(0, w-given), max(w, given)
		}
		if e.Hides {
			w, hides = max(0, w-hides), max(w, hides)
		}
		if e.Unasked {
			w, unasked = max(0, w-unasked), max(w, unasked)
		}
		if e.vague() {
			w, vague = max(0, w-vague), max(w, vague)
		}
		n += w
	}
	if s.Inner != nil {
		n += worthInner
	}
	if s.Whole > 0 {
		n /= wholeShare
	}
	return n
}

// vague: an experiment with the call in which it would have done something else, or of which earlier calls say that it is as well as what
// was done. Conditions are tried twice, by themselves and each time.
func (e Evidence) vague() bool {
	return e.Kind == Switched && (!e.Alike || e.Seen) || e.Kind == Edited && (!e.Alike || e.Held > 0)
}

// share is the part of a worth that a repair cures of what is broken; of one that
// is a number that the program is given, nothing.
func (s *Suspect) share(worth int) int {
	for _, e := range s.Evidence {
		if e.Kind == RepairCell {
			if e.Given {
				return 0
			}
			return e.part(worth)
		}
	}
	return worth
}

// wholeShare is what evidence is divided by against a statement after which all was whole.
const wholeShare = 4

// firm: it says which statement is missing.
func (e Evidence) firm() bool {
	return e.Kind == Habit && !e.Alone || e.Kind == Missing && e.worth() == worthOften || e.Kind == Renewed || e.Kind == Beside && e.Unset
}

// without: each like node was written there, if these are few.
func (e Evidence) without() bool { return e.Kind == Missing && e.Of > 1 && e.Often == e.Of && !e.Apart }

// always: a statement ran next to another one without exception, in many cases, and as did what runs on its other side.
func (e Evidence) always() bool {
	return e.Kind == Habit && e.Between == 0 && (e.Only || !e.Alone) && e.Of >= many && e.Often == e.Of
}

// evidenceOrder is the order in which evidence is shown.
var evidenceOrder = [...]EvidenceKind{Counterfactual, RepairCell, Passed, Edited, Switched, Altered, Uncalled, Swapped, Instead, Basis, Stale, Taken, Dropped, Lost, Doomed, Used, Outlived, Tallied, Followed, Garbage, Early, Freed, Stray, Crossed, Crash, Unwritten, Habit, Renewed, Missing, Unlike, Outdated, Idle, Vain, Beside, Mirror, Last, Flip, Entered, Touch}

// rank sorts by suspicion. Where the first settles the matter, those that
// merely touched, or wrote what entered, are kept apart.
func rank(suspects []Suspect) (first, others []Suspect) {
	for i := range suspects {
		slices.SortStableFunc(suspects[i].Evidence, func(a, b Evidence) int {
			return slices.Index(evidenceOrder[:], a.Kind) - slices.Index(evidenceOrder[:], b.Kind)
		})
	}
	slices.SortStableFunc(suspects, func(a, b Suspect) int {
		return cmp.Or(
			cmp.Compare(b.worth(), a.worth()),
			cmp.Compare(b.flips(), a.flips()),
			cmp.Compare(class(a), class(b)),
			cmp.Compare(b.Operation, a.Operation),
		)
	})
	if len(suspects) == 0 || !settled(suspects[0]) || suspects[0].has(Last) || suspects[0].Inner != nil {
		return suspects, nil
	}
	for _, s := range suspects {
		if s.worth() > worthNothing {
			first = append(first, s)
		} else {
			others = append(others, s)
		}
	}
	return first, others
}

func class(s Suspect) int {
	if s.Second {
		return 2
	}
	return 1
}
