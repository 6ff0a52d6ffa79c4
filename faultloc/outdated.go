package faultloc

import (
	"slices"
	"strings"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// outdated accuses what made a value wrong that was right when it was stored. Where one
// field would mend all, and what is broken now held by its value then, its statement did well: the
// field should have been stored again, beside the change that broke the constraints.
func outdated(in Input, tb *contributions, suspects []Suspect, repairs []Repair) []Suspect {
	for _, now := range toldFirst(in, repairs) {
		if !now.evidence(in).explains() || now.strayed(suspects) || now.Given || now.Flag {
			continue
		}
		r, last := now.counted(in)
		if in.settledNumber(r.Cell) {
			continue
		}
		before := r.unheeded(in, last) // before anything was broken
		if before == 0 && !r.fitted(in, tb, last) || last > in.Healthy && strange(in, suspects, last) {
			continue
		}
		t := r.broke(in, tb, max(last, in.Healthy))
		if t == 0 || r != now && t >= now.lastChange(in) {
			continue
		}
		e := Evidence{Kind: Outdated, Mends: r, Follows: r.Follows}
		in.cures(&e, r.cured)
		if before != 0 {
			t, e.Flips, e.Unanswered = before, 1, true
		} else if back := r.back(in); back > t && in.looksFor(Mirror) {
			t = back // the one way was stored, and not the other
		} else if out := r.bypassed(in, t); out != 0 {
			onward(in, &suspects, t) // who put the node in was right
			t, e.Bypassed = out, true
		} else if out := r.takenOut(in, t); out != 0 {
			t = out
		} else if out := r.uncounted(in, t); out != 0 {
			t = out
		} else if first := r.brokeBefore(in, tb, t); first != 0 {
			t = first
		} else if link := in.linking(t); link != t && in.History.Op(t).Kind == mgpp.OpDeath && !r.Cell.Pointer {
			e.Beside = link // what is freed is not there any more, and taken out after that
		} else if link != t {
			t, e.Flips = link, 1
		} else if !r.Cell.Pointer {
			t = r.since(in, tb, t)
		}
		if last > in.Healthy && r.Target != 0 && in.History.Op(t).Kind == mgpp.OpBirth && in.Cells.Object(r.Target).Birth > last {
			continue // nothing was put in between: who stored the field may as well have been to come back to it
		}
		e.Named = slices.ContainsFunc(suspects, func(o Suspect) bool { return o.Kind == Omitted && o.Repair == now && o.everywhere() })
		if r != now {
			onward(in, &suspects, now.lastChange(in))
		}
		if e.At = t; e.Beside == 0 && !r.keptAbove(in, t) {
			own, call := r.until(in, t), r.sisterCalls(in, t)
			e.Beside, e.Called = max(own, call), call > own
		}
		if e.Beside == 0 {
			e.Beside = r.upToDate(in, t)
		}
		if w := r.renewed(in, t); w != 0 && in.looksFor(Renewed) {
			e.Named = true
			suspects = addOmitted(in, suspects, Suspect{
				Kind: Omitted, PC: in.History.Op(w).PC, Operation: w, Repair: r, Contributes: r.mended(in),
				Evidence: []Evidence{r.evidence(in), {Kind: Renewed, Beside: t}},
			})
		}
		s := r.accused(in, &suspects, t)
		s.Evidence = append(s.Evidence, e)
		return slices.DeleteFunc(suspects, func(o Suspect) bool { // what would be missing elsewhere is this
			return o.Kind == Omitted && o.Repair == now && (o.has(Mirror) || o.has(Last))
		})
	}
	return suspects
}

// toldFirst are the repairs, numbers of which no equation says what they are last: a sum that does not fit any more is to be stored again,
// and not a number that it adds.
func toldFirst(in Input, repairs []Repair) []*Repair {
	var first, last []*Repair
	for i := range repairs {
		r := &repairs[i]
		if _, told := r.says(in); r.Cell.Pointer || told {
			first = append(first, r)
		} else {
			last = append(last, r)
		}
	}
	return append(first, last...)
}

// settledNumber: of eight like nodes, with several numbers, each still has the number that it got first, as a level or a key.
// Nobody would store that again.
func (in *Input) settledNumber(c Cell) bool {
	if c.Pointer || len(c.Parts) > 0 {
		return false
	}
	view, obj := in.Model.View(in.At), in.Cells.Object(c.Obj)
	values, n := map[uint64]bool{}, 0
	for _, o := range in.Cells.Alike(c.Obj, view, maxRange) {
		like := in.Cells.Object(o)
		at := Cell{Addr: like.Addr + (c.Addr - obj.Addr), Size: c.Size}
		v, ok := read(view, at.Addr, c.Size)
		if !ok {
			continue
		}
		if in.History.LastWrite(at.Addr, uint64(c.Size), in.At) != firstWrite(*in, at, like.Birth) {
			return false
		}
		values[v] = true
		n++
	}
	return n >= minLike && len(values) > 1
}

// accused returns the suspect for the statement of operation t, which is why the repair would help;
// added to the list if it is not there.
func (r *Repair) accused(in Input, suspects *[]Suspect, t mgpp.Timestamp) *Suspect {
	known := len(*suspects)
	s := statement(in, suspects, t)
	if known < len(*suspects) {
		s.Operations, s.Contributes = []mgpp.Timestamp{t}, r.mended(in)
	}
	if s.Repair == nil {
		s.Repair = r
	}
	return s
}

// until is the last of the operations with which the function of one at t went on that were near the
// repair: the store may be missing behind that as well. Of a free it is the last before it, since
// what is freed is taken out before. 0: there is none.
func (r *Repair) until(in Input, t mgpp.Timestamp) (last mgpp.Timestamp) {
	op, f := in.History.Op(t), in.function(t)
	free := op.Kind == mgpp.OpDeath
	for at := t; f != "" && (last == 0 || !free); {
		if free {
			at--
		} else {
			at++
		}
		if at <= in.Healthy || at > in.At {
			break
		}
		switch {
		case in.History.Op(at).Thread != op.Thread || !in.attributed(at) || in.function(at) != f:
		case in.History.Op(at).PC == op.PC: // it is called again, or goes round
			return last
		case r.near(in, at) || r.sister(in, at) || !free && !r.Cell.Pointer && r.ofSister(in, t, at):
			last = at
		}
	}
	return last
}

// sisterCalls is the last of the stores of a number's field, behind an operation, in other nodes that its function has linked, by
// functions that this calls to bring nodes up to date: the call for the repair's node may be missing next to that. 0: there is none.
func (r *Repair) sisterCalls(in Input, t mgpp.Timestamp) (last mgpp.Timestamp) {
	op, f := in.History.Op(t), in.function(t)
	if r.Cell.Pointer || f == "" || op.Kind != mgpp.OpStore {
		return 0
	}
	callee := ""
	for at := t + 1; at <= in.At; at++ {
		if in.History.Op(at).Thread != op.Thread || !in.attributed(at) {
			continue
		}
		switch g := in.function(at); {
		case g == f && in.History.Op(at).PC == op.PC: // it is called again, or goes round
			return last
		case g == f || g == callee && g != "":
		case callee != "" || g == "":
			return last
		default:
			callee = g
		}
		if in.function(at) == callee && r.ofSister(in, t, at) {
			last = at
		}
	}
	return last
}

// ofSister: an operation stored the field of a repair in another node, which the function of the one at t wrote to, or stored or
// overwrote a pointer to, shortly before or behind that.
func (r *Repair) ofSister(in Input, t, at mgpp.Timestamp) bool {
	c, ok := in.cellAt(in.History.Op(at), in.Model.View(at))
	if !ok || c.Obj == r.Cell.Obj || !in.likeCell(c, r.Cell) {
		return false
	}
	near := Repair{Cell: c}
	for u := t - min(t, maxVain); u < min(at, t+maxVain); u++ {
		if u > in.Healthy && in.attributed(u) && in.function(u) == in.function(t) && near.near(in, u) {
			return true
		}
	}
	return false
}

// keptAbove: a change was made by a function that a watched one has called, and who stored the repair's field, each of the newest times, two at
// least, was a watched function itself: what is missing belongs behind that call.
func (r *Repair) keptAbove(in Input, change mgpp.Timestamp) bool {
	if in.within(change) == "" || in.ofWatched(change) {
		return false
	}
	birth, n := in.Cells.Object(r.Cell.Obj).Birth, 0
	for t := in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), in.Healthy); t > birth && n < maxVersions; n++ {
		before := in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), t-1)
		if before <= birth {
			break // it made the field what it was at first
		}
		if !in.attributed(t) || in.within(t) == "" || !in.ofWatched(t) {
			return false
		}
		t = before
	}
	return n > 1
}

// ofWatched: an operation was done by the watched function itself during whose call it was. Function may say the file before the name.
func (in *Input) ofWatched(t mgpp.Timestamp) bool {
	f, name := in.function(t), in.within(t)
	return f == name || strings.HasSuffix(f, ":"+name)
}

// upToDate is the first store after an operation to another number of the repair's node, by another function: what brings the node up to
// date may have left this number out. 0: there is none, or the repair is of no number.
func (r *Repair) upToDate(in Input, t mgpp.Timestamp) mgpp.Timestamp {
	thread, f := in.History.Op(t).Thread, in.function(t)
	for at := t + 1; !r.Cell.Pointer && f != "" && at <= in.At; at++ {
		op := in.History.Op(at)
		if op.Kind != mgpp.OpStore || op.Thread != thread || !in.attributed(at) || in.function(at) == f {
			continue
		}
		if c, ok := in.cellAt(op, in.Model.View(at)); ok && !c.Pointer && c.Obj == r.Cell.Obj && c.Addr != r.Cell.Addr {
			return at
		}
	}
	return 0
}

// sister: an operation changed the field of a repair in another node by as much as the repair would.
func (r *Repair) sister(in Input, t mgpp.Timestamp) bool {
	if r.Cell.Pointer {
		return false
	}
	c, ok := in.cellAt(in.History.Op(t), in.Model.View(t))
	by, counts := in.step(t)
	now, known := read(in.Model.View(in.At), r.Cell.Addr, r.Cell.Size)
	return ok && counts && known && c.Size == r.Cell.Size && c.Obj != r.Cell.Obj && in.likeCell(c, r.Cell) && signed(by-(r.Value-now), c.Size) == 0
}

// everywhere: in all like nodes the statement has stored the field.
func (s *Suspect) everywhere() bool {
	return slices.ContainsFunc(s.Evidence, func(e Evidence) bool { return e.Kind == Missing && !e.Apart && e.Of > 1 && e.Often == e.Of })
}

// strange: an operation's statement did what it never did before.
func strange(in Input, suspects []Suspect, t mgpp.Timestamp) bool {
	st := in.Statement(in.History.Op(t).PC)
	return slices.ContainsFunc(suspects, func(s Suspect) bool {
		return s.Kind == Wrote && s.has(Unlike) && in.Statement(s.PC) == st
	})
}

// fitted: the value of the repair's cell was right when an operation last stored it, or a number soon after that, or at
// the last healthy C-point, or until something else was broken. What is broken now held
// then, and would not have held with the value that mends it now.
func (r *Repair) fitted(in Input, tb *contributions, last mgpp.Timestamp) bool {
	since := max(last, in.Healthy)
	if birth := in.Cells.Object(r.Cell.Obj).Birth; last == 0 && birth > since && r.cleared(in, tb) {
		since = birth // with 0, as calloc leaves it
	}
	if in.Cells.Object(r.Cell.Obj).Birth > since || last > in.Healthy && !in.changed(last) && !in.again(last) {
		return false // what is stored again is meant
	}
	if last > in.Healthy && r.halfLink(in, tb, last) {
		return false
	}
	if last > in.Healthy && in.unlinks(last) {
		return false // as long as the node lived, it may have stood in for what is missing
	}
	fits := func(at mgpp.Timestamp) bool {
		if r.Target != 0 && in.Cells.Object(r.Target).Birth > at { // it could not be stored then
			return true
		}
		view := in.Model.View(at)
		return right(in, r.cured, view, r.on(view))
	}
	until := tb.until(in, r.cured, since)
	if fits(since) || fits(until) {
		return true
	}
	for t := since + 1; t < until && t <= since+maxSoon && last > in.Healthy && !r.Cell.Pointer; t++ {
		if fits(t) {
			return true
		}
	}
	return false
}

// cleared: a number has what its node's memory was cleared to, and what broke what it mends did not link the node: who does that to one that
// lacks a value did well, but a container's fields are right until something is put in.
func (r *Repair) cleared(in Input, tb *contributions) bool {
	obj := in.Cells.Object(r.Cell.Obj)
	if _, known := read(in.Model.View(obj.Birth), r.Cell.Addr, r.Cell.Size); !known || r.Cell.Pointer {
		return false
	}
	t := r.broke(in, tb, obj.Birth)
	if in.History.Op(t).Kind != mgpp.OpStore {
		return t > obj.Birth // another node's birth
	}
	v, ok := read(in.Model.View(t), in.History.Op(t).Addr, 8)
	return !(ok && v-uint64(obj.Addr) < obj.Size)
}

// halfLink: a node was put between a cell and what that led to, and the node should lead there, but the same function had given
// it another pointer right before: of the two halves of the link that one is wrong, though nothing asked for it yet.
func (r *Repair) halfLink(in Input, tb *contributions, last mgpp.Timestamp) bool {
	if !r.Cell.Pointer || r.Value == 0 {
		return false
	}
	t := r.broke(in, tb, last)
	op := in.History.Op(t)
	if t == 0 || t-last > maxVain || op.Kind != mgpp.OpStore || op.Size != 8 || in.function(t) != in.function(last) {
		return false
	}
	was, ok := read(in.Model.View(t-1), op.Addr, 8)
	is, ok2 := read(in.Model.View(t), op.Addr, 8)
	return ok && ok2 && was == r.Value && in.Cells.At(trace.Addr(is), in.Model.View(t)) == r.Cell.Obj
}

// maxSoon is how many operations after a number was stored are asked whether it was right then: what is to
// depend on it is often stored right behind it ("t->index = n; slot[n] = t;").
const maxSoon = 4

// unlinks: an operation took out of a field a pointer to a node that has died since.
func (in *Input) unlinks(t mgpp.Timestamp) bool {
	op := in.History.Op(t)
	if op.Size != 8 {
		return false
	}
	was, ok := read(in.Model.View(t-1), op.Addr, 8)
	if !ok {
		return false
	}
	o := in.Cells.At(trace.Addr(was), in.Model.View(t-1))
	if o == 0 {
		return false
	}
	death := in.Cells.Object(o).Death
	return death > t && death <= in.At
}

// again: an operation's statement has stored before what was there already, as one does that
// brings a field up to date.
func (in *Input) again(last mgpp.Timestamp) bool {
	found := false
	in.earlier(last, last, func(t mgpp.Timestamp) bool {
		found = !in.changed(t)
		return !found
	})
	return found
}

// usual: an operation stored the constant that its statement has stored each time up to the
// last healthy C-point, or counted by the step by which it has always counted, in calls of the same function. Then it is not
// that one which is wrong.
func (in *Input) usual(t mgpp.Timestamp) bool {
	op := in.History.Op(t)
	if op.Kind != mgpp.OpStore || op.Size > 8 {
		return false
	}
	value, known := read(in.Model.View(t), op.Addr, int(op.Size))
	step, counts := in.step(t)
	n, within := 0, in.within(t)
	in.earlier(t, in.Healthy, func(t mgpp.Timestamp) bool {
		if in.within(t) != within {
			return true
		}
		o := in.History.Op(t)
		v, ok := read(in.Model.View(t), o.Addr, int(op.Size))
		known = known && ok && v == value
		by, ok := in.step(t)
		counts = counts && ok && by == step
		n++
		return (known || counts) && n < maxLike
	})
	return (known || counts) && n >= minLike
}

// oneOf: an operation counted a number on as the same instruction did other times since the last healthy C-point. Another step, the
// same each time, would not make up for what the number is wrong by: the text is right.
func (in *Input) oneOf(t mgpp.Timestamp, wrong int64) bool {
	op := in.History.Op(t)
	step, ok := in.step(t)
	times := int64(0)
	for at := t; ok && times < maxRewrites && at > in.Healthy; times++ {
		at = in.History.LastWrite(op.Addr, op.Size, at)
		for at > in.Healthy && in.History.Op(at).PC != op.PC {
			at = in.History.LastWrite(op.Addr, op.Size, at-1)
		}
		if at <= in.Healthy {
			break
		}
		if by, counts := in.step(at); !counts || by != step {
			return false
		}
		at--
	}
	return times > 1 && wrong%times != 0
}

// step is by how much an operation changed the number that it wrote; not ok, if not at all.
func (in *Input) step(t mgpp.Timestamp) (by uint64, ok bool) {
	op := in.History.Op(t)
	if op.Size > 8 {
		return 0, false
	}
	if c, ok := in.cellAt(op, in.Model.View(t)); !ok || c.Pointer {
		return 0, false
	}
	was, ok := read(in.Model.View(t-1), op.Addr, int(op.Size))
	is, ok2 := read(in.Model.View(t), op.Addr, int(op.Size))
	return is - was, ok && ok2 && is != was
}

// earlier calls f for the executions up to a time of an operation's instruction before it,
// the newest first, until f does not want more.
func (in *Input) earlier(of, to mgpp.Timestamp, f func(mgpp.Timestamp) bool) {
	pc := in.History.Deed(of).PC
	for t := min(of-1, to); t > 0 && to-t < maxEarlier; t-- {
		if in.History.Deed(t).PC == pc && in.attributed(t) && !f(t) {
			return
		}
	}
}

// maxEarlier bounds the operations that are looked through for earlier executions.
const maxEarlier = 1 << 12

// until is the moment, from a time on, right before the first of what is cured was broken
// for good.
func (tb *contributions) until(in Input, cured []bool, since mgpp.Timestamp) mgpp.Timestamp {
	first := tb.brokeFirst(in, cured, func(t mgpp.Timestamp) bool { return t > since })
	return max(since, first-min(first, 1))
}

// brokeFirst is the first of some operations that broke for good what is cured.
func (tb *contributions) brokeFirst(in Input, cured []bool, of func(mgpp.Timestamp) bool) (first mgpp.Timestamp) {
	cures := map[eval.Instance]bool{}
	for i, inc := range in.Found {
		cures[inc.Instance] = cured[i]
	}
	for t, c := range tb.byOp {
		if first != 0 && t > first || !of(t) {
			continue
		}
		for i := range c.flipped {
			if f := &c.flipped[i]; f.lasting && cures[f.instance] {
				first = t
			}
		}
	}
	return first
}

// right: all that is cured held at a time, and something would not have been in a
// hypothetical graph.
func right(in Input, cured []bool, at, other mgpp.View) bool {
	was, would := in.verdicts(at), in.verdicts(other)
	needed := false
	for i, inc := range in.Found {
		if !cured[i] {
			continue
		}
		if was(inc.Instance) || in.stopped() {
			return false
		}
		needed = needed || would(inc.Instance)
	}
	if !needed && in.Broken != nil {
		needed = len(in.Model.Broken(other)) > in.Broken(at.Time())
	}
	return needed
}

// maxAsked is how many instances are evaluated one by one: of more it is cheaper to find
// all that is broken.
const maxAsked = 16

// verdicts tells of what is inconsistent whether it is so on a view.
func (in *Input) verdicts(v mgpp.View) func(eval.Instance) bool {
	if len(in.Found) <= maxAsked {
		return func(i eval.Instance) bool { return in.Model.Verdict(i, v) == eval.Broken }
	}
	var broken map[eval.Instance]bool
	return func(i eval.Instance) bool {
		if broken == nil {
			broken = map[eval.Instance]bool{}
			for _, i := range in.Model.Broken(v) {
				broken[i] = true
			}
		}
		return broken[i]
	}
}

// broke is the first operation since then that broke for good what the repair cures.
func (r *Repair) broke(in Input, tb *contributions, since mgpp.Timestamp) mgpp.Timestamp {
	return tb.brokeFirst(in, r.cured, func(t mgpp.Timestamp) bool {
		return t > since && in.attributed(t) && r.concerned(in, t)
	})
}

// concerned: of a repair with a pointer an operation is near the repair.
func (r *Repair) concerned(in Input, t mgpp.Timestamp) bool {
	return !r.Cell.Pointer || in.History.Op(t).Kind != mgpp.OpStore || r.near(in, t)
}

// near: an operation wrote to the node of the repair's cell or to the one that it should lead to, or
// stored or overwrote a pointer to one of these.
func (r *Repair) near(in Input, t mgpp.Timestamp) bool {
	op := in.History.Op(t)
	theirs := func(addr trace.Addr, at mgpp.Timestamp) bool {
		o := in.Cells.At(addr, in.Model.View(at))
		return o != 0 && (o == r.Cell.Obj || o == r.Target)
	}
	if obj := in.Cells.Object(r.Cell.Obj); theirs(op.Addr, t) || uint64(op.Addr-obj.Addr) < obj.Size { // which may be in static memory
		return true
	}
	for _, at := range [2]mgpp.Timestamp{t - 1, t} {
		if v, ok := read(in.Model.View(at), op.Addr, 8); ok && op.Size == 8 && theirs(trace.Addr(v), at) {
			return true
		}
	}
	return false
}

// since is the first operation, from one on that broke what the repair cures, after which the
// repair's number was the right one: before that it would have been wrong as well.
func (r *Repair) since(in Input, tb *contributions, t mgpp.Timestamp) mgpp.Timestamp {
	asked := 0
	_, told := r.says(in)
	for _, at := range slices.Backward(tb.order) {
		if at < t {
			continue
		}
		if asked++; asked > maxSince || in.stopped() {
			break
		}
		was, would := in.verdicts(in.Model.View(at)), in.verdicts(r.on(in.Model.View(at)))
		still := false
		for i, inc := range in.Found { // of a number that an equation tells, what was not broken yet did not ask for it yet
			still = still || r.cured[i] && would(inc.Instance) && (!told || was(inc.Instance))
		}
		if !still && in.attributed(at) && in.wrote(at) {
			return at
		}
	}
	return t
}

// maxSince bounds the operations after which a number is asked whether it was right.
const maxSince = 32

// linking is where a node becomes part of a structure, for its birth, or no longer is, for
// its death, if only after that: the store that first leads to it, or the first that ceases to; where a block has moved, the first that follows it.
// The first value of a field of a node to which nothing led by then is a part of its birth: who fills it in does not know where
// it will be. For another operation, or without such a store, it is the operation itself.
func (in *Input) linking(t mgpp.Timestamp) mgpp.Timestamp {
	op := in.History.Op(t)
	if o, ok := in.fillsIn(t); ok {
		if link := in.linking(o.Birth); link > t {
			return link
		}
		return t
	}
	leads := func(at, by mgpp.Timestamp) bool {
		o := in.History.Op(by)
		if o.Kind != mgpp.OpStore || o.Size != 8 || !in.attributed(by) || uint64(o.Addr-op.Addr) < op.Size {
			return false // its pointers to itself do not link it
		}
		v, ok := read(in.Model.View(at), o.Addr, 8)
		return ok && v-uint64(op.Addr) < op.Size
	}
	switch op.Kind {
	case mgpp.OpBirth:
		first := t
		for at := t + 1; at <= in.At; at++ {
			if !leads(at, at) {
				continue
			}
			view, link := in.Model.View(at), in.History.Op(at).Addr
			if c, ok := in.Cells.Cell(link, view); ok && in.Cells.Object(c.Obj).Global != 0 {
				return at
			}
			if o := in.Cells.At(op.Addr, view); slices.Contains(in.Cells.Into(o, view, maxInto), link) {
				return at // not a way back, as its child's to its parent may be
			}
			if first == t {
				first = at
			}
		}
		return first
	case mgpp.OpDeath:
		for at := t + 1; at <= in.At && at-t < maxUnlinked; at++ {
			if leads(at-1, at) && !leads(at, at) {
				return at
			}
		}
	case mgpp.OpMove:
		for at := t + 1; at <= in.At && at-t < maxUnlinked; at++ {
			if in.moves(at, t) {
				return at
			}
		}
	}
	return t
}

// moves: an operation stored a pointer into a block that was moved, or to its end, where one into the block that it was before had been: what
// leads there can be stored again only once the block has moved.
func (in *Input) moves(at, moved mgpp.Timestamp) bool {
	o, m := in.History.Op(at), in.History.Op(moved)
	if o.Kind != mgpp.OpStore || o.Size != 8 || !in.attributed(at) {
		return false
	}
	was, ok := read(in.Model.View(at-1), o.Addr, 8)
	is, ok2 := read(in.Model.View(at), o.Addr, 8)
	old, ok3 := in.Model.View(moved - 1).Node(m.Node)
	return ok && ok2 && ok3 && was-uint64(old.Start) <= old.Size && is-uint64(m.Addr) <= m.Size
}

// fillsIn: an operation gave a node, which is new since the last healthy C-point, the first value of a field, and nothing led to it.
func (in *Input) fillsIn(t mgpp.Timestamp) (o *graph.Object, ok bool) {
	op, view := in.History.Op(t), in.Model.View(t)
	if in.Cells == nil || op.Kind != mgpp.OpStore || op.Size > storeBytes {
		return nil, false
	}
	c, ok := in.Cells.Cell(op.Addr, view)
	if !ok {
		return nil, false
	}
	o = in.Cells.Object(c.Obj)
	return o, o.Birth > in.Healthy && firstWrite(*in, c, o.Birth) == t && len(in.Cells.Into(c.Obj, view, 1)) == 0
}

// uncounted is, of a count that a free made wrong, the store that took the node out before that, where those that changed
// the count before did so in functions that link nodes, and make none: what is missing belongs to taking the node out. 0: the
// operation is no such free, or they did not, or there was no such store.
func (r *Repair) uncounted(in Input, t mgpp.Timestamp) (last mgpp.Timestamp) {
	op := in.History.Op(t)
	if op.Kind != mgpp.OpDeath || r.Cell.Pointer {
		return 0
	}
	linked, n := 0, 0
	for at := in.At; n < maxVersions; n++ {
		if at = in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), at-min(at, 1)); at == 0 || !in.attributed(at) {
			break
		}
		if in.links(at) {
			linked++
		}
	}
	if n == 0 || 2*linked <= n {
		return 0
	}
	for at := range in.taken(op.Addr, t, in.Healthy) {
		if uint64(in.History.Op(at).Addr-op.Addr) >= op.Size && in.function(at) != in.function(t) {
			return at
		}
	}
	return 0
}

// brokeBefore is, of a pointer that should have been stored before a node was freed which led there, the first operation that broke
// something of what it mends, if that came before the free. 0: the operation is no such free, or nothing was broken then.
func (r *Repair) brokeBefore(in Input, tb *contributions, t mgpp.Timestamp) mgpp.Timestamp {
	op := in.History.Op(t)
	if op.Kind != mgpp.OpDeath || !r.Cell.Pointer || r.Target == 0 {
		return 0
	}
	return tb.brokeFirst(in, r.cured, func(at mgpp.Timestamp) bool { return at > in.Healthy && at < t && in.attributed(at) && in.wrote(at) })
}

// links: near an operation its function stored pointers to nodes, and neither made nor freed any.
func (in *Input) links(t mgpp.Timestamp) (links bool) {
	f := in.function(t)
	for at := t - min(t-1, maxUnlinked/4); f != "" && at <= min(in.At, t+maxUnlinked/4); at++ {
		op := in.History.Op(at)
		if op.Thread != in.History.Op(t).Thread || !in.attributed(at) || in.function(at) != f {
			continue
		}
		switch op.Kind {
		case mgpp.OpBirth, mgpp.OpDeath:
			return false
		case mgpp.OpStore:
			v, ok := read(in.Model.View(at), op.Addr, 8)
			links = links || ok && op.Size == 8 && in.Cells.At(trace.Addr(v), in.Model.View(at)) != 0
		}
	}
	return links
}

// takenOut is where a pointer was left behind to a node that an operation freed: the last store before that, since the
// last healthy C-point, that took another pointer to the node away. The free did well, and what is missing belongs
// to taking the node out. 0: the operation is no such free, or there was no such store.
func (r *Repair) takenOut(in Input, t mgpp.Timestamp) mgpp.Timestamp {
	op := in.History.Op(t)
	left, ok := read(in.Model.View(in.At), r.Cell.Addr, r.Cell.Size)
	if op.Kind != mgpp.OpDeath || !r.Cell.Pointer || !ok || left-uint64(op.Addr) >= op.Size {
		return 0
	}
	for at := range in.taken(op.Addr, t, in.Healthy) {
		if uint64(in.History.Op(at).Addr-op.Addr) >= op.Size {
			return at
		}
	}
	return 0
}
