package faultloc

import (
	"encoding/binary"
	"math"
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Limits of the experiments. A trial evaluates what is broken and concerned by its change,
// and, only if that cures something, what else its change concerns; where paths are searched
// it may cost the graph.
const (
	maxWeighed  = 24      // counterfactuals
	maxTrials   = 240     // hypothetical graphs checked
	maxBroken   = 1 << 17 // inconsistencies that trials cured or created, in total
	maxSearched = 1 << 17 // nodes visited by path searches, in total
	maxWorked   = 1 << 18 // steps of evaluation, in total: of a constraint over thousands of indices a trial costs as many
	longSearch  = 1 << 14 // and if there were so many, not more trials than:
	fewTrials   = 32
	maxInstead  = 64  // hypothetical graphs with a store into another field
	maxMeant    = 16  // of a field that nothing broken reads, beside those of the search for a repair, which may have used up all
	maxTogether = 24  // operations of one statement that are undone together
	maxHidden   = 8   // inconsistencies that are asked whether their constraint still looks there
	maxReached  = 256 // objects through which a cut off node is looked for
	maxUndone   = 32  // pointer cells of one operation that are looked at for orphans
)

// lab makes experiments with the graph at the C-point: what would be broken if
// its bytes were others?
type lab struct {
	in     Input
	view   mgpp.View
	index  map[eval.Instance]int // of Found
	trials int
	limit  int // of trials
	listed int
	wants  []uint64                      // values that comparisons of inconsistencies want
	said   map[trace.Addr][]uint64       // what their equations say that cells hold
	suit   map[trace.Addr][]uint64       // and what pointers might be that they put in order
	lacks  []int64                       // by how much the sides of their equations differ
	wrong  []candidate                   // what cells returned; nil: it was not asked
	paths  map[string]bool               // what fields returned
	like   map[graph.ObjID][]graph.ObjID // what alike returned
	start  uint64                        // path cost at the beginning
	begun  uint64                        // and steps of evaluation

	neighbours map[graph.ObjID][]graph.ObjID // what near returned
	subjects   []graph.ObjID                 // what about returned; nil: it was not asked
}

func newLab(in Input) *lab {
	l := &lab{in: in, view: in.Model.View(in.At), index: map[eval.Instance]int{}, limit: maxTrials}
	l.like, l.neighbours = map[graph.ObjID][]graph.ObjID{}, map[graph.ObjID][]graph.ObjID{}
	for i, inc := range in.Found {
		l.index[inc.Instance] = i
	}
	l.start, l.begun = l.searched(), l.work()
	return l
}

// searched is what path searches have cost so far, if the model counts it.
func (l *lab) searched() uint64 {
	if m, ok := l.in.Model.(interface{ PathCost() uint64 }); ok {
		return m.PathCost()
	}
	return 0
}

// work is how many steps evaluation has made so far, if the model counts them.
func (l *lab) work() uint64 { return l.in.work() }

func (in *Input) work() uint64 {
	if m, ok := in.Model.(interface{ Work() uint64 }); ok {
		return m.Work()
	}
	return 0
}

// exhausted: no more trials.
func (l *lab) exhausted() bool {
	if l.in.stopped() || l.trials >= l.limit || l.listed >= maxBroken {
		return true
	}
	if worked := l.work() - l.begun; worked >= maxWorked || l.in.brief && worked >= innerWorked {
		return true
	}
	searched := l.searched() - l.start
	return searched >= maxSearched || searched >= longSearch && l.trials >= fewTrials
}

// outcome of a trial.
type outcome struct {
	cured   []bool // by index in Found
	n       int    // how many are
	created int    // inconsistencies that are not there at the C-point
	made    []eval.Instance
}

// try checks a hypothetical graph. It is not worth looking at where nothing is cured, or not by
// lead more than is created.
func (l *lab) try(hypo mgpp.View, lead int) (o outcome, worth bool) {
	l.trials++
	cured, created, ok := l.in.Model.Cures(hypo, lead)
	l.listed += len(cured) + len(created) + 1
	if !ok || l.in.stopped() {
		return o, false
	}
	created = slices.DeleteFunc(created, l.goes)
	o = outcome{cured: make([]bool, len(l.in.Found)), created: len(created), made: created}
	for _, inst := range cured {
		if i, found := l.index[inst]; found {
			o.cured[i] = true
			o.n++
		}
	}
	return o, o.n > 0
}

// goes: the fault is located in the middle of a call, and an instance is of a node that is not there any more at the end: it was on its way
// out then, and may lead where it likes.
func (l *lab) goes(i eval.Instance) bool {
	return l.in.amid && slices.ContainsFunc(i.Nodes[:], func(o graph.ObjID) bool {
		if o == 0 {
			return false
		}
		death := l.in.Cells.Object(o).Death
		return death > l.in.At && death <= l.in.end
	})
}

// anyLead has everything tried that cures something.
const anyLead = math.MinInt

// weigh adds the counterfactual: the graph at the C-point without this one
// operation's bytes.
func (l *lab) weigh(tb *contributions, suspects []Suspect) {
	weighed := 0
	for i := range suspects {
		s := &suspects[i]
		best := Evidence{}
		for _, t := range s.shown() {
			if weighed == maxWeighed || l.exhausted() {
				break
			}
			weighed++
			if e := l.counterfactual(tb, t); e.Cured > 0 && (best.Cured == 0 || e.gain() > best.gain()) {
				best = e
				s.Operation = t
			}
		}
		if e := l.together(s); e.Cured > best.Cured && e.gain() > best.gain() {
			best = e
		}
		if best.Cured > 0 {
			s.Evidence = append(s.Evidence, best)
		}
		if l.in.looksFor(Swapped) {
			l.swap(s)
		}
	}
}

// swap makes the experiment with the operands of a store the other way round: with
// q->next = p instead of p->next = q.
func (l *lab) swap(s *Suspect) {
	op := l.in.History.Op(s.Operation)
	if l.in.Cells == nil || op.Kind != mgpp.OpStore || op.Size != 8 || l.exhausted() || l.in.practised(op.Time) {
		return
	}
	cell, ok := l.in.Cells.Cell(op.Addr, l.view)
	v, known := read(l.in.Model.View(op.Time), op.Addr, 8)
	if !ok || !known || !cell.Pointer || cell.Addr != op.Addr {
		return
	}
	from, to := l.in.Cells.Object(cell.Obj), l.in.Cells.Object(l.in.Cells.At(trace.Addr(v), l.view))
	if to.Type == nil || to.Type != from.Type || to.Addr == from.Addr || uint64(to.Addr) != v {
		return
	}
	var back [8]byte
	binary.LittleEndian.PutUint64(back[:], uint64(from.Addr))
	hypo := mgpp.With(l.in.History.Without(l.view, op.Time), to.Addr+(op.Addr-from.Addr), back[:])
	all := len(l.in.Found)
	if o, ok := l.try(hypo, all); ok && o.n == all && o.created == 0 && l.orphans(hypo, op.Addr, 8) == 0 {
		s.Evidence = append(s.Evidence, Evidence{Kind: Swapped, Cured: o.n, Of: o.n})
	}
}

// practised: an operation's instruction has often run up to the last healthy C-point. Its text is right.
func (in *Input) practised(t mgpp.Timestamp) bool { return in.ran(t, minLike) }

// ran: an operation's instruction had run so often by the last healthy C-point.
func (in *Input) ran(t mgpp.Timestamp, least int) bool {
	n := 0
	in.earlier(t, in.Healthy, func(mgpp.Timestamp) bool {
		n++
		return n < least
	})
	return n == least
}

// instead makes experiments with other fields of the node that a store wrote to, with p->right = q
// for p->left = q, and with the same field of other nodes, with r->left = q. A number that it changed is tried as
// what is counted on from there, too: p->ins++ for p->outs++. They are made where no repair mends all.
func (l *lab) instead(suspects []Suspect, repairs []Repair) {
	if slices.ContainsFunc(repairs, func(r Repair) bool { return len(r.Others) == 0 && r.evidence(l.in).settles() }) {
		return
	}
	all := len(l.in.Found)
	l.limit = min(maxTrials, l.trials+maxInstead)
	defer func() { l.limit = maxTrials }()
	for i := range suspects {
		s := &suspects[i]
		op := l.in.History.Op(s.Operation)
		if s.Operation <= l.in.Healthy || op.Kind != mgpp.OpStore || op.Size > 8 || settled(*s) || l.in.practised(op.Time) {
			continue
		}
		cell, ok := l.in.Cells.Cell(op.Addr, l.view)
		v, known := read(l.in.Model.View(op.Time), op.Addr, int(op.Size))
		if !ok || !known || cell.Addr != op.Addr || cell.Size != int(op.Size) {
			continue
		}
		without := l.in.History.Without(l.view, op.Time)
		was, held := read(without, cell.Addr, cell.Size)
		dangles := func(hypo mgpp.View) bool {
			return held && cell.Pointer && l.dangles(l.in.Cells.At(trace.Addr(was), l.view), hypo)
		}
		given := !cell.Pointer && l.given(cell) // it would be as well in another element
		for _, c := range append(l.in.Cells.Fields(cell.Obj, l.view), l.sameField(cell)...) {
			if c.Addr == cell.Addr || given && c.Obj == cell.Obj && General(c.Path) == General(cell.Path) || c.Size != cell.Size || c.Pointer != cell.Pointer || c.Pointer && v != 0 && !l.fits(c, v) {
				continue
			}
			if l.exhausted() {
				return
			}
			if slices.ContainsFunc(l.insteadOf(op, c, v), func(v uint64) bool {
				hypo := with(without, c, v)
				o, ok := l.try(hypo, all)
				return ok && o.n == all && o.created == 0 && l.orphans(hypo, op.Addr, op.Size)+l.orphans(hypo, c.Addr, uint64(c.Size)) == 0 && !dangles(hypo) && (cell.Pointer || !l.hides(hypo, o.cured))
			}) {
				s.Evidence = append(s.Evidence, Evidence{Kind: Instead, Cured: all, Of: all, Elsewhere: c.Obj != cell.Obj, Element: c.Obj == cell.Obj && c.Path != cell.Path && General(c.Path) == General(cell.Path)})
				break
			}
		}
	}
}

// insteadOf are the values that a store would have left in another field than its own: the one that it stored, and a
// number that differs from what is there by as much as it changed its own.
func (l *lab) insteadOf(op mgpp.Op, c Cell, v uint64) []uint64 {
	was, known := read(l.in.Model.View(op.Time-1), op.Addr, int(op.Size))
	now, held := read(l.view, c.Addr, c.Size)
	if counted := now + v - was; !c.Pointer && known && held && was != v && signed(counted-v, c.Size) != 0 {
		return []uint64{v, counted}
	}
	return []uint64{v}
}

// meant finds stores that may have been meant for the field of a repair that mends all, and went to another one of
// its node, which nothing that is broken reads: n->width += by for n->points += by. They changed it to the repair's
// value, or a number by as much as that would be changed, all executions since the last healthy C-point together, and are of no use
// where they went.
func (l *lab) meant(suspects []Suspect, repairs []Repair) []Suspect {
	all, began := len(l.in.Found), l.trials
	l.limit = began + maxMeant
	defer func() { l.limit, l.trials = maxTrials, began }()
	for i := range repairs {
		r := &repairs[i]
		if !r.evidence(l.in).explains() || len(r.Cell.Parts) > 0 {
			continue
		}
		obj := l.in.Cells.Object(r.Cell.Obj)
		for t := l.in.At; t > l.in.Healthy && l.in.At-t < maxUnlike && !l.exhausted(); t-- {
			op := l.in.History.Op(t)
			if op.Kind != mgpp.OpStore || uint64(op.Addr-obj.Addr) >= obj.Size || !l.in.attributed(t) || !l.suits(r, t) || l.in.practised(t) {
				continue
			}
			hypo := l.view
			for _, t := range l.in.executions(t) {
				hypo = l.in.History.Without(hypo, t)
			}
			hypo = r.on(hypo)
			if o, ok := l.try(hypo, all-r.Follows); !ok || o.n != all || o.created > r.Follows || l.orphans(hypo, op.Addr, op.Size) > 0 {
				continue
			}
			known := len(suspects)
			s := statement(l.in, &suspects, t)
			switch {
			case known < len(suspects):
				s.Operations, s.Contributes, s.Repair = []mgpp.Timestamp{t}, r.mended(l.in), r
			case s.has(Instead):
				continue
			}
			s.Evidence = append(s.Evidence, Evidence{Kind: Instead, Cured: all, Of: all, Follows: r.Follows, Unread: true, Mends: r})
		}
	}
	return suspects
}

// suits: a store changed another field, which had a value, to what a repair would set its own to; a number by as much.
func (l *lab) suits(r *Repair, t mgpp.Timestamp) bool {
	op := l.in.History.Op(t)
	c, ok := l.in.Cells.Cell(op.Addr, l.in.Model.View(t))
	is, known := read(l.in.Model.View(t), op.Addr, int(min(op.Size, 8)))
	if !ok || !known || c.Addr != op.Addr || c.Addr == r.Cell.Addr || int(op.Size) != c.Size || c.Pointer != r.Cell.Pointer || len(c.Parts) > 0 || !l.in.changed(t) {
		return false
	}
	if first := firstWrite(l.in, c, l.in.Cells.Object(c.Obj).Birth); first == 0 || first == t {
		return false // it gave the field its first value
	}
	if c.Pointer {
		return is == r.Value && is != 0
	}
	all := l.in.executions(t)
	was, ok := read(l.in.Model.View(all[len(all)-1]-1), op.Addr, c.Size)
	now, held := read(l.view, r.Cell.Addr, r.Cell.Size)
	return ok && held && signed(is-was, c.Size) == signed(r.Value-now, r.Cell.Size)
}

// executions are those of a store's instruction that wrote what it wrote, since the last healthy C-point and with nothing else in
// between, the newest first. Of one behind which others come it is that one alone.
func (in *Input) executions(t mgpp.Timestamp) []mgpp.Timestamp {
	op, out := in.History.Op(t), []mgpp.Timestamp{t}
	if in.History.LastWrite(op.Addr, op.Size, in.At) != t {
		return out
	}
	for len(out) < maxTogether {
		before := in.History.LastWrite(op.Addr, op.Size, out[len(out)-1]-1)
		if before <= in.Healthy || in.History.Op(before).PC != op.PC {
			break
		}
		out = append(out, before)
	}
	return out
}

// sameField is a field in other nodes of its type that the inconsistencies are about.
func (l *lab) sameField(cell Cell) (out []Cell) {
	node := l.in.Cells.Object(cell.Obj)
	seen := []graph.ObjID{cell.Obj}
	for _, inc := range l.in.Found[:min(len(l.in.Found), maxHidden)] {
		for _, o := range inc.Instance.Nodes {
			if o == 0 || slices.Contains(seen, o) || l.in.Cells.Object(o).Type != node.Type {
				continue
			}
			seen = append(seen, o)
			if c, ok := l.in.Cells.Cell(l.in.Cells.Object(o).Addr+(cell.Addr-node.Addr), l.view); ok {
				out = append(out, c)
			}
		}
	}
	return out
}

// together is the counterfactual of several operations of one statement: a statement
// that is wrong is so each time.
func (l *lab) together(s *Suspect) Evidence {
	hypo, n, orphans := l.view, 0, 0
	for _, t := range s.Operations {
		if t <= l.in.Healthy || n == maxTogether {
			break
		}
		if l.in.wrote(t) {
			hypo = l.in.History.Without(hypo, t)
			n++
		}
	}
	if n < 2 || l.exhausted() {
		return Evidence{}
	}
	o, ok := l.try(hypo, anyLead)
	if !ok {
		return Evidence{}
	}
	usual := l.in.looksFor(Outdated)
	for _, t := range s.Operations[:min(len(s.Operations), n)] {
		op := l.in.History.Op(t)
		orphans += l.orphans(hypo, op.Addr, op.Size)
		if usual {
			_, counted := l.in.step(t)
			usual = counted && l.in.usual(t)
		}
	}
	e := Evidence{Kind: Counterfactual, Created: o.created, Orphans: orphans, Hides: l.hides(hypo, o.cured), Times: n, Usual: usual}
	l.in.cures(&e, o.cured)
	return e
}

func (s *Suspect) has(k EvidenceKind) bool {
	return slices.ContainsFunc(s.Evidence, func(e Evidence) bool { return e.Kind == k })
}

// shown returns the operations of a suspect worth a counterfactual.
func (s *Suspect) shown() []mgpp.Timestamp {
	ops := []mgpp.Timestamp{s.Operation}
	for _, t := range s.Operations {
		if t != s.Operation && len(ops) < 4 {
			ops = append(ops, t)
		}
	}
	return ops
}

// gain orders experiments: what they cure, less what they do harm to.
func (e Evidence) gain() int { return 2*e.Cured - 2*e.Created - e.Orphans }

func (l *lab) counterfactual(tb *contributions, t mgpp.Timestamp) Evidence {
	op := l.in.History.Op(t)
	switch op.Kind {
	case mgpp.OpStore, mgpp.OpBulk, mgpp.OpUnread:
	default:
		return Evidence{} // lives can not be undone
	}
	hypo := l.in.History.Without(l.view, t)
	o, ok := l.try(hypo, anyLead)
	if !ok {
		return Evidence{}
	}
	e := Evidence{
		Kind: Counterfactual, Created: o.created,
		Orphans: l.orphans(hypo, op.Addr, op.Size), Hides: l.hides(hypo, o.cured), Fitted: l.fitted(tb, o.cured, t),
	}
	if c, ok := l.in.cellAt(op, l.view); ok {
		e.Given = !c.Pointer && l.given(c)
		if was, ok := read(hypo, c.Addr, c.Size); ok && c.Pointer {
			e.Dangles = l.dangles(l.in.Cells.At(trace.Addr(was), l.view), l.view)
		}
	}
	step, counted := l.in.step(t)
	e.Usual = counted && l.in.looksFor(Outdated) && (l.in.usual(t) || l.in.oneOf(t, signed(step, int(op.Size))))
	l.in.cures(&e, o.cured)
	return e
}

// cellAt is the field of a view that an operation wrote.
func (in *Input) cellAt(op mgpp.Op, v mgpp.View) (c Cell, ok bool) {
	if in.Cells == nil || op.Size > 8 {
		return c, false
	}
	return in.Cells.Cell(op.Addr, v)
}

// likeCell: two cells are of one field, of nodes of one type.
func (in *Input) likeCell(a, b Cell) bool {
	return a.Path == b.Path && in.Cells.Object(a.Obj).Type == in.Cells.Object(b.Obj).Type
}

// fitted: what an operation did was right after it, until something else broke what would
// be cured without it.
func (l *lab) fitted(tb *contributions, cured []bool, t mgpp.Timestamp) bool {
	if !l.in.looksFor(Outdated) {
		return false
	}
	at := tb.until(l.in, cured, t)
	if at <= t {
		return false
	}
	view := l.in.Model.View(at)
	return right(l.in, cured, view, l.in.History.Without(view, t))
}

// hides: one of the inconsistencies that are cured in a hypothetical graph is so because
// its constraint does not look there any more, as where the number of elements is less.
func (l *lab) hides(hypo mgpp.View, cured []bool) bool {
	n := 0
	for i, inc := range l.in.Found {
		if !cured[i] {
			continue
		}
		if n++; n > maxHidden {
			break
		}
		switch l.in.Model.Verdict(inc.Instance, hypo) {
		case eval.Absent:
			if !l.cleared(inc.Instance) {
				return true
			}
		case eval.NotApplicable:
			if l.unknown(inc.Instance, hypo) {
				return true
			}
		}
	}
	return false
}

// unknown: an instance does not apply in a hypothetical graph, since what its guard asks for would never have been written.
func (l *lab) unknown(i eval.Instance, hypo mgpp.View) bool {
	return slices.ContainsFunc(l.in.Model.Eval(i, hypo).Args, eval.Arg.Undefined)
}

// cleared: an instance reads an element of an array that was set to 0, or NULL, since the last healthy C-point, as are all behind it:
// what takes elements away leaves them so, and nothing is hidden by a number with which they are not asked for.
func (l *lab) cleared(i eval.Instance) bool { return l.clearing(i) != 0 }

// clearing is when that was done, of several elements for the last time; 0: it was not.
func (l *lab) clearing(i eval.Instance) (last mgpp.Timestamp) {
	if l.in.Cells == nil || l.in.Healthy == 0 {
		return 0
	}
	healthy := l.in.Model.View(l.in.Healthy)
	for _, addr := range l.reads(i) {
		c, ok := l.in.Cells.Cell(addr, l.view)
		if !ok || General(c.Path) == c.Path {
			continue
		}
		now, is := read(l.view, c.Addr, c.Size)
		was, had := read(healthy, c.Addr, c.Size)
		if is && now == 0 && had && was != 0 && !slices.ContainsFunc(l.in.Cells.Fields(c.Obj, l.view), func(o Cell) bool {
			v, ok := read(l.view, o.Addr, o.Size)
			return o.Addr > c.Addr && General(o.Path) == General(c.Path) && (!ok || v != 0)
		}) {
			last = max(last, l.in.History.LastWrite(c.Addr, uint64(c.Size), l.in.At))
		}
	}
	return last
}

// behindCleared accuses the statement that cleared elements which a number still counts that would mend all: what stores
// the number is missing beside it.
func (l *lab) behindCleared(suspects []Suspect, repairs []Repair) []Suspect {
	for i := range repairs {
		r := &repairs[i]
		if !r.ofNumber() || !r.evidence(l.in).explains() || l.in.fresh(r.Cell) {
			continue
		}
		last, hypo := mgpp.Timestamp(0), l.with(r.Cell, r.Value)
		for i, inc := range l.in.Found {
			if r.cured[i] && l.in.Model.Verdict(inc.Instance, hypo) == eval.Absent {
				last = max(last, l.clearing(inc.Instance))
			}
		}
		if last == 0 || !l.in.attributed(last) {
			continue
		}
		s := r.accused(l.in, &suspects, last)
		if !s.has(Outdated) {
			e := Evidence{Kind: Outdated, Mends: r, At: last, Beside: r.until(l.in, last), Flips: 1}
			l.in.cures(&e, r.cured)
			s.Evidence = append(s.Evidence, e)
		}
	}
	return suspects
}

// orphans counts the nodes that something leads to at the C-point, but nothing
// in the hypothetical graph, whose bytes differ in one range. To cut a node off
// makes its constraints hold, but hardly ever what was meant.
func (l *lab) orphans(hypo mgpp.View, addr trace.Addr, size uint64) int {
	if l.in.Cells == nil {
		return 0
	}
	var seen []graph.ObjID
	n := 0
	first := addr - (7 & addr)
	for a := first; a < addr+trace.Addr(size) && a < first+8*maxUndone; a += 8 {
		was, ok := read(l.view, a, 8)
		is, ok2 := read(hypo, a, 8)
		if !ok || ok2 && was == is {
			continue
		}
		o := l.in.Cells.At(trace.Addr(was), l.view)
		if o == 0 || slices.Contains(seen, o) {
			continue
		}
		seen = append(seen, o)
		c, ok := l.in.Cells.Cell(a, l.view)
		switch {
		case len(l.in.Cells.Into(o, l.view, 1)) == 0: // by other pointers than edges it may be
			if l.in.Cells.Led(o, l.view) && !l.in.Cells.Led(o, hypo) {
				n++
			}
		case len(l.in.Cells.Into(o, hypo, 1)) == 0,
			ok && l.led(o, General(c.Path), l.view) && !l.led(o, General(c.Path), hypo) && !l.reaches(c.Obj, o, hypo):
			n++
		}
	}
	return n
}

// led: something leads to an object, other than back to it from what it leads to by a
// field: of a doubly linked list that is cut, the next node's prev leads nowhere.
func (l *lab) led(o graph.ObjID, field string, v mgpp.View) bool {
	into := l.in.Cells.Into(o, v, maxInto)
	if len(into) == maxInto {
		return true
	}
	behind := l.leadsTo(o, v, func(c *Cell) bool { return General(c.Path) == field })
	return slices.ContainsFunc(into, func(a trace.Addr) bool {
		c, ok := l.in.Cells.Cell(a, v)
		return !ok || !slices.Contains(behind, c.Obj)
	})
}

// leadsTo returns what the pointers of an object lead to, of those that are wanted.
func (l *lab) leadsTo(o graph.ObjID, v mgpp.View, wanted func(*Cell) bool) (out []graph.ObjID) {
	for _, c := range l.in.Cells.Fields(o, v) {
		if !c.Pointer || !wanted(&c) {
			continue
		}
		if to, ok := read(v, c.Addr, 8); ok && to != 0 {
			if x := l.in.Cells.At(trace.Addr(to), v); x != 0 {
				out = append(out, x)
			}
		}
	}
	return out
}

// reaches: pointers lead from one object to another, or would have to be followed
// further than is worth it.
func (l *lab) reaches(from, to graph.ObjID, v mgpp.View) bool {
	seen := map[graph.ObjID]bool{from: true}
	work := []graph.ObjID{from}
	for len(work) > 0 {
		o := work[len(work)-1]
		work = work[:len(work)-1]
		for _, x := range l.leadsTo(o, v, func(*Cell) bool { return true }) {
			switch {
			case x == to || len(seen) == maxReached:
				return true
			case !seen[x]:
				seen[x] = true
				work = append(work, x)
			}
		}
	}
	return false
}

// read returns the number of size bytes at addr, false if a byte is unknown.
func read(v mgpp.View, addr trace.Addr, size int) (uint64, bool) { return mgpp.Number(v, addr, size) }
