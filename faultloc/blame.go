package faultloc

import (
	"slices"
	"strings"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// maxAlike bounds the like nodes that are asked who wrote their field.
const maxAlike = 500

// blame turns repairs into suspicion: against the statements that last wrote
// and last changed the cell, and, where other statements give like nodes that
// field, against the likeliest of these for not having done it here.
func blame(in Input, tb *contributions, suspects []Suspect, repairs []Repair, l *lab) []Suspect {
	var h *habits
	if in.looksFor(Habit) && len(in.Found) > 0 && in.Cells != nil {
		h = learn(in)
		suspects = unkept(in, tb, h, suspects, repairs, l)
		if in.looksFor(Unlike) {
			suspects = accuseUnlike(in, h, l.fields(), suspects)
		}
	}
	suspects = oneWay(in, suspects, repairs)
	destroyed := slices.ContainsFunc(repairs, func(r Repair) bool { return r.restores(in, tb) })
	ran := statementsSince(in)
	for i := range repairs {
		r := &repairs[i]
		last := in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), in.At)
		meant := in.History.Op(last).Kind == mgpp.OpStore && r.Orphans == 0
		if meant {
			suspects = accuse(in, tb, suspects, r, last, false) // of a value that was there, but wrong already
		}
		if t := r.lastChange(in); t != last || !meant {
			suspects = accuse(in, tb, suspects, r, t, meant && t == firstWrite(in, r.Cell, in.Cells.Object(r.Cell.Obj).Birth))
		}
		if t := r.taker(in, tb, last); t != 0 && in.looksFor(Taken) {
			suspects = passOn(in, suspects, r, last, t, Taken)
		}
		if destroyed || r.Orphans > 0 || r.Created > 0 || !in.looksFor(Missing) {
			continue
		}
		s, ok := missing(in, tb, r, last, ran)
		ok = ok && (h == nil || h.belongs(s.Operation, ran))
		if ok && h != nil && ran != nil {
			s.Evidence[len(s.Evidence)-1].Apart = h.apart(s.Operation, ran)
		}
		if !ok && in.looksFor(Beside) && r.neverWritten(in, last) {
			t, found := idle(in, r)
			kind := Idle
			if !found && in.looksFor(Vain) {
				t, found = l.vain(r)
				kind = Vain
			}
			if found {
				w := statement(in, &suspects, t)
				w.Repair, w.Operation, w.Operations = r, t, []mgpp.Timestamp{t}
				w.Evidence = append(w.Evidence, r.evidence(in), Evidence{Kind: kind})
				continue
			}
			s, ok = beside(in, r)
		}
		if !ok && !slices.ContainsFunc(suspects, settled) {
			if in.looksFor(Mirror) {
				s, ok = mirror(in, r)
			}
			if !ok && in.looksFor(Last) {
				s, ok = lastHere(in, tb, r)
			}
		}
		if ok && !slices.ContainsFunc(suspects, func(o Suspect) bool { return o.Kind == Omitted && in.Statement(o.PC) == in.Statement(s.PC) }) {
			suspects = append(suspects, s)
		}
	}
	if in.looksFor(Basis) && in.Cells != nil {
		suspects = counted(in, suspects, repairs)
	}
	if in.looksFor(Outdated) && in.Cells != nil {
		suspects = outdated(in, tb, suspects, repairs)
	}
	located(in, suspects)
	return suspects
}

// located says where those statements should have run of which no habit says it: beside the
// last change that concerned the field's node.
func located(in Input, suspects []Suspect) {
	for i := range suspects {
		s := &suspects[i]
		for k := range s.Evidence {
			if e := &s.Evidence[k]; e.Kind == Missing {
				e.Beside = s.Repair.nearest(in)
			}
		}
	}
}

// nearest is the last operation since the last healthy C-point that concerned the node of a
// repair's cell: that wrote to it, made it, or led to it, or freed what the cell leads to. 0:
// none did.
func (r *Repair) nearest(in Input) mgpp.Timestamp {
	obj := in.Cells.Object(r.Cell.Obj)
	within := func(addr trace.Addr) bool { return uint64(addr-obj.Addr) < obj.Size }
	leads, _ := read(in.Model.View(in.At), r.Cell.Addr, r.Cell.Size)
	for t := in.At; t > in.Healthy && in.At-t < maxUnlike; t-- {
		op := in.History.Op(t)
		if !in.attributed(t) {
			continue
		}
		switch op.Kind {
		case mgpp.OpDeath:
			if r.Cell.Pointer && leads-uint64(op.Addr) < op.Size {
				return t
			}
		case mgpp.OpStore:
			v, ok := read(in.Model.View(t), op.Addr, int(min(op.Size, 8)))
			if within(op.Addr) || ok && op.Size == 8 && within(trace.Addr(v)) {
				return t
			}
		default:
			if within(op.Addr) {
				return t
			}
		}
	}
	return 0
}

// accuse adds a repair to the evidence against the statement of t, if t wrote
// its cell since all was well; again: it gave a new node the value, and another statement has
// stored the same since: a first value is there to be replaced.
func accuse(in Input, tb *contributions, suspects []Suspect, r *Repair, t mgpp.Timestamp, again bool) []Suspect {
	if t <= in.Healthy || !in.attributed(t) || !in.wrote(t) || in.clears(t) && r.Value != 0 {
		return suspects
	}
	s := statement(in, &suspects, t)
	switch {
	case s.Repair == nil:
		s.Repair = r
		e := r.evidence(in)
		e.Again = again || r.initial(in, t)
		e.Fitted = in.looksFor(Outdated) && e.explains() && !s.has(Unlike) && r.fitted(in, tb, t)
		e.Usual = in.looksFor(Outdated) && in.usual(t)
		s.Evidence = append(s.Evidence, e)
	case s.Repair.Cell.Addr != r.Cell.Addr && r.Orphans == 0 && r.Created == 0 && !(in.looksFor(Outdated) && r.evidence(in).explains() && r.fitted(in, tb, t)):
		s.also(in, r)
	}
	if len(s.Operations) == 0 {
		s.Operations = []mgpp.Timestamp{t}
		s.Contributes = r.mended(in)
	}
	return suspects
}

// also adds a repair of another cell that the same statement wrote: together they
// mend more.
func (s *Suspect) also(in Input, r *Repair) {
	if s.mends == nil {
		s.mends = slices.Clone(s.Repair.cured)
	}
	for i, c := range r.cured {
		s.mends[i] = s.mends[i] || c
	}
	for i := range s.Evidence {
		if e := &s.Evidence[i]; e.Kind == RepairCell {
			n := e.Cured
			in.cures(e, s.mends)
			e.More = e.More || e.Cured > n
		}
	}
}

// unkept accuses statements that did not run where they always do, as far as they
// write such a field as the inconsistencies read.
func unkept(in Input, tb *contributions, h *habits, suspects []Suspect, repairs []Repair, l *lab) []Suspect {
	fields := l.fields()
	for _, b := range h.breaches(tb) {
		example := h.last[b.missing]
		if !in.wrote(example) {
			continue
		}
		op := in.History.Op(example)
		cell, ok := in.Cells.Cell(op.Addr, in.Model.View(example))
		if !ok {
			continue
		}
		value, known := read(in.Model.View(example), cell.Addr, cell.Size)
		s := Suspect{Kind: Omitted, PC: op.PC, Operation: example}
		for i := range repairs {
			if r := &repairs[i]; general(r.Cell.Path) == general(cell.Path) && r.Orphans == 0 && r.Created == 0 && s.Repair == nil && known && (b.text && cell.Pointer || (value == 0) == (r.Value == 0)) {
				s.Repair, s.Contributes = r, r.mended(in)
				s.Evidence = append(s.Evidence, r.evidence(in))
			}
		}
		if s.Repair == nil && !fields[general(cell.Path)] && !concerns(in, example) {
			continue
		}
		s.Evidence = append(s.Evidence, Evidence{Kind: Habit, Often: b.often, Of: b.of, Beside: b.beside, Between: b.between, Alone: s.Repair == nil || !b.text && !s.Evidence[0].settles(), Only: b.only})
		suspects = append(suspects, s)
	}
	return suspects
}

// concerns: the operation changed what a constraint asks of which an instance is broken.
func concerns(in Input, t mgpp.Timestamp) bool {
	touched := in.Model.Touched(t)
	return slices.ContainsFunc(in.Found, func(inc eval.Inconsistency) bool {
		return slices.ContainsFunc(touched, func(i eval.Instance) bool { return i.Constraint == inc.Instance.Constraint })
	})
}

// general is a field's path without its indices.
func general(path string) string {
	for {
		i := strings.IndexByte(path, '[')
		j := strings.IndexByte(path, ']')
		if i < 0 || j < i {
			return path
		}
		path = path[:i] + path[j+1:]
	}
}

// maxInterval bounds the operations since the last healthy C-point that are
// asked for their statement.
const maxInterval = 1 << 16

// statementsSince returns the statements that wrote since the last healthy
// C-point: one that did is not the one that is missing, if there is another.
// Nil: too many, or no such point.
func statementsSince(in Input) map[string]bool {
	if in.Healthy == 0 || in.At-in.Healthy > maxInterval {
		return nil
	}
	ran := map[string]bool{}
	seen := map[trace.Addr]bool{}
	for t := in.Healthy + 1; t <= in.At; t++ {
		if pc := in.History.Op(t).PC; !seen[pc] {
			seen[pc] = true
			ran[in.Statement(pc)] = true
		}
	}
	return ran
}

func (r *Repair) evidence(in Input) Evidence {
	e := Evidence{Kind: RepairCell, Created: r.Created, Orphans: r.Orphans, Hides: r.Hides, Given: r.Given}
	in.cures(&e, r.cured)
	return e
}

// maxRewrites bounds the stores of a value that is there already.
const maxRewrites = 64

// lastChange returns the operation that gave the cell another value last.
func (r *Repair) lastChange(in Input) mgpp.Timestamp {
	t := in.At
	for range maxRewrites {
		t = in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), t)
		if t == 0 || !in.wrote(t) {
			break
		}
		was, ok := read(in.Model.View(t-1), r.Cell.Addr, r.Cell.Size)
		is, ok2 := read(in.Model.View(t), r.Cell.Addr, r.Cell.Size)
		if ok != ok2 || was != is {
			break
		}
		t--
	}
	return t
}

// restores: the repair puts back what the program had stored and an operation
// that broke the constraints for good overwrote. Then nothing is missing.
func (r *Repair) restores(in Input, tb *contributions) bool {
	last := r.lastChange(in)
	if c := tb.byOp[last]; !r.evidence(in).settles() || c == nil || c.lasting() == 0 {
		return false
	}
	before := in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), last-1)
	was, ok := read(in.Model.View(last-1), r.Cell.Addr, r.Cell.Size)
	return before > 0 && in.wrote(before) && ok && was == r.Value
}

// missing finds the statement that gives like nodes this field, but did not
// here.
//
//  1. none, if the cell is wrong by what was written into it: by an operation
//     that broke the constraints for good, or, in a node that was there at the
//     last healthy C-point, by any since
//  2. the candidates are those that wrote such a value into like nodes, but
//     since the last healthy C-point not here; where the cell has had a value,
//     those that give a new node its first one are none
//  3. one that was silent since then goes before one that ran; then the one
//     that wrote most of the nodes. One that ran, or where the node is new,
//     must have written half of them
func missing(in Input, tb *contributions, r *Repair, last mgpp.Timestamp, ran map[string]bool) (Suspect, bool) {
	fresh := in.Healthy == 0 || in.Cells.Object(r.Cell.Obj).Birth > in.Healthy
	if c := tb.byOp[last]; c != nil && c.lasting() > 0 || last > in.Healthy && !fresh {
		return Suspect{}, false
	}
	if fresh && last > in.Healthy && !usualValue(in, r, last) {
		return Suspect{}, false
	}
	writers, of := usualWriters(in, r, fresh, last > in.Cells.Object(r.Cell.Obj).Birth)
	here := map[string]bool{}
	for t, n := last, 0; t > in.Healthy && n < maxRewrites; n++ {
		here[in.Statement(in.History.Op(t).PC)] = true
		t = in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), t-1)
	}
	var best writer
	silent := false
	for st, w := range writers {
		quiet := ran != nil && !ran[st]
		if here[st] || (!quiet || fresh) && 2*w.often < of {
			continue
		}
		if best.often == 0 || quiet && !silent || quiet == silent && w.before(best) {
			best, silent = w, quiet
		}
	}
	if best.often == 0 {
		return Suspect{}, false
	}
	return Suspect{
		Kind: Omitted, PC: in.History.Op(best.newest).PC, Operation: best.newest, Repair: r, Contributes: r.mended(in),
		Evidence: []Evidence{r.evidence(in), {Kind: Missing, Often: best.often, Of: of}},
	}, true
}

// usualValue: the statement of operation last gave like nodes the same value up to
// the last healthy C-point. Then it is not what it wrote that is wrong.
func usualValue(in Input, r *Repair, last mgpp.Timestamp) bool {
	st := in.Statement(in.History.Op(last).PC)
	value, ok := read(in.Model.View(last), r.Cell.Addr, r.Cell.Size)
	if !ok {
		return false
	}
	offset, size := r.Cell.Addr-in.Cells.Object(r.Cell.Obj).Addr, uint64(r.Cell.Size)
	for _, o := range in.Cells.Alike(r.Cell.Obj, in.Model.View(in.At), maxAlike) {
		obj := in.Cells.Object(o)
		t := in.History.LastWrite(obj.Addr+offset, size, in.At)
		for n := 0; t > obj.Birth && n < maxVersions; n++ {
			if t <= in.Healthy && in.Statement(in.History.Op(t).PC) == st {
				v, ok := read(in.Model.View(t), obj.Addr+offset, r.Cell.Size)
				if ok && (v == value || r.Cell.Pointer && (v == 0) == (value == 0)) {
					return true
				}
			}
			t = in.History.LastWrite(obj.Addr+offset, size, t-1)
		}
	}
	return false
}

// neverWritten: the cell has no value, neither from the start, as static memory has; or it has the zero of a new
// node's memory that a statement cleared.
func (r *Repair) neverWritten(in Input, last mgpp.Timestamp) bool {
	_, known := read(in.Model.View(in.At), r.Cell.Addr, r.Cell.Size)
	birth := in.Cells.Object(r.Cell.Obj).Birth
	return !known && last <= birth || birth > in.Healthy && in.clears(last)
}

// beside finds where the first value of a field is missing that was never written, and
// that no like node has from anywhere: at the statement that gave the nearest field of
// the node its first value.
func beside(in Input, r *Repair) (Suspect, bool) {
	obj := in.Cells.Object(r.Cell.Obj)
	size := uint64(r.Cell.Size)
	for d := size; d <= maxBeside; d += size {
		for _, addr := range [2]trace.Addr{r.Cell.Addr - trace.Addr(d), r.Cell.Addr + trace.Addr(d)} {
			if addr < obj.Addr || uint64(addr-obj.Addr)+size > obj.Size {
				continue
			}
			first := firstWrite(in, Cell{Addr: addr, Size: r.Cell.Size}, obj.Birth)
			if first > in.Healthy && in.attributed(first) && in.wrote(first) {
				return Suspect{
					Kind: Omitted, PC: in.History.Op(first).PC, Operation: first, Repair: r, Contributes: r.mended(in),
					Evidence: []Evidence{r.evidence(in), {Kind: Beside}},
				}, true
			}
		}
	}
	return Suspect{}, false
}

// idle finds a store of the repair's value into another field of the node that held it
// already, while the node was still being filled in: it may have been meant for the one
// that was never written. Of several it is the one that followed the soonest on what had
// stored the value before.
func idle(in Input, r *Repair) (best mgpp.Timestamp, ok bool) {
	birth := in.Cells.Object(r.Cell.Obj).Birth
	fields := in.Cells.Fields(r.Cell.Obj, in.Model.View(in.At))
	filled := mgpp.Timestamp(0)
	for _, c := range fields {
		filled = max(filled, firstWrite(in, c, birth))
	}
	gap := mgpp.Timestamp(0)
	for _, c := range fields {
		if c.Addr == r.Cell.Addr || c.Size != r.Cell.Size || c.Pointer != r.Cell.Pointer {
			continue
		}
		size := uint64(c.Size)
		t := in.History.LastWrite(c.Addr, size, min(in.At, filled))
		if t <= in.Healthy || !in.attributed(t) || in.History.Op(t).Kind != mgpp.OpStore || in.changed(t) {
			continue
		}
		before := in.History.LastWrite(c.Addr, size, t-1)
		is, _ := read(in.Model.View(t), c.Addr, c.Size)
		if is == r.Value && before > birth && (!ok || t-before < gap) {
			best, gap, ok = t, t-before, true
		}
	}
	return best, ok
}

// vain finds a store into another field of the node that another one replaced while the node was still
// being filled in, so that it was of no use, and whose value would do in the field that was never written.
func (l *lab) vain(r *Repair) (mgpp.Timestamp, bool) {
	in := l.in
	birth := in.Cells.Object(r.Cell.Obj).Birth
	for _, c := range in.Cells.Fields(r.Cell.Obj, l.view) {
		first := firstWrite(in, c, birth)
		if c.Size != r.Cell.Size || c.Pointer != r.Cell.Pointer || first <= in.Healthy || !in.attributed(first) || in.History.Op(first).Kind != mgpp.OpStore {
			continue
		}
		v, ok := read(in.Model.View(first), c.Addr, c.Size)
		next := in.History.LastWrite(c.Addr, uint64(c.Size), min(in.At, first+maxVain))
		if !ok || next == first || !in.changed(next) || in.function(next) != in.function(first) || l.exhausted() {
			continue
		}
		if o, worth := l.try(l.with(r.Cell, v), r.Cured); worth && o.n >= r.Cured && o.created == 0 {
			return first, true
		}
	}
	return 0, false
}

// maxVain is within how many operations a first value is replaced while its node is being filled in.
const maxVain = 8

// clears: an operation wrote zeros over several fields at once, as is done with new memory: what any of them
// should have held since, it is not to be asked.
func (in *Input) clears(t mgpp.Timestamp) bool {
	op := in.History.Op(t)
	if op.Kind != mgpp.OpBulk || op.Size <= 8 {
		return false
	}
	view := in.Model.View(t)
	for at := uint64(0); at+8 <= min(op.Size, maxCleared); at += 8 {
		if v, ok := read(view, op.Addr+trace.Addr(at), 8); !ok || v != 0 {
			return false
		}
	}
	return true
}

// maxCleared is of how many bytes all must be zero.
const maxCleared = 256

// firstWrite is when a field of a node was written for the first time, 0 if never.
func firstWrite(in Input, c Cell, birth mgpp.Timestamp) (first mgpp.Timestamp) {
	t := in.History.LastWrite(c.Addr, uint64(c.Size), in.At)
	for n := 0; t > birth && n < maxRewrites && !in.clears(t); n++ {
		first = t
		t = in.History.LastWrite(c.Addr, uint64(c.Size), t-1)
	}
	return first
}

// mirror finds where a pointer is missing that nothing has changed since the last
// healthy C-point: near the statement that has since made its target lead to its node.
func mirror(in Input, r *Repair) (Suspect, bool) {
	if !r.evidence(in).settles() || in.fresh(r.Cell) {
		return Suspect{}, false
	}
	t := r.back(in)
	if t == 0 {
		return Suspect{}, false
	}
	return Suspect{
		Kind: Omitted, PC: in.History.Op(t).PC, Operation: t, Repair: r, Contributes: r.mended(in),
		Evidence: []Evidence{r.evidence(in), {Kind: Mirror}},
	}, true
}

// back is the last store, since the last healthy C-point, of a pointer that leads from the repair's target to its
// node: the way back. 0: there is none.
func (r *Repair) back(in Input) (last mgpp.Timestamp) {
	if !r.Cell.Pointer || r.Target == 0 || r.Target == r.Cell.Obj {
		return 0
	}
	view := in.Model.View(in.At)
	for _, c := range in.Cells.Fields(r.Target, view) {
		v, ok := read(view, c.Addr, c.Size)
		if !ok || !c.Pointer || v == 0 || in.Cells.At(trace.Addr(v), view) != r.Cell.Obj || !r.mutual(in, c) {
			continue
		}
		if t := in.History.LastWrite(c.Addr, uint64(c.Size), in.At); t > max(in.Healthy, last) && in.attributed(t) && in.wrote(t) {
			last = t
		}
	}
	return last
}

// mutual: at the last healthy C-point the repair's field was not mostly something else than the way back of a
// pointer like this one, which leads from the repair's target to its node.
func (r *Repair) mutual(in Input, c Cell) bool {
	way := c.Addr - in.Cells.Object(c.Obj).Addr
	node := in.Cells.Object(r.Cell.Obj)
	view := in.Model.View(in.Healthy)
	is, not := 0, 0
	for _, o := range in.Cells.Alike(c.Obj, view, maxSample) {
		v, ok := read(view, in.Cells.Object(o).Addr+way, 8)
		to := in.Cells.At(trace.Addr(v), view)
		if !ok || v == 0 || to == 0 || in.Cells.Object(to).Type != node.Type {
			continue
		}
		back, ok := read(view, in.Cells.Object(to).Addr+(r.Cell.Addr-node.Addr), 8)
		if ok && in.Cells.At(trace.Addr(back), view) == o {
			is++
		} else {
			not++
		}
	}
	return is >= not
}

// taker is the operation that took the repair's value out of its cell, and broke for good what it mends, where the last
// one that wrote there came only after that, from another function: who moves what he finds does well. 0: there is none.
func (r *Repair) taker(in Input, tb *contributions, last mgpp.Timestamp) mgpp.Timestamp {
	if !r.Cell.Pointer || r.Value == 0 || !r.evidence(in).settles() {
		return 0
	}
	for t, n := last, 0; t > in.Healthy && n < maxRewrites; n++ {
		if was, ok := read(in.Model.View(t-1), r.Cell.Addr, r.Cell.Size); ok && was == r.Value {
			c := tb.byOp[t]
			if t == last || !in.attributed(t) || !in.wrote(t) || c == nil || c.lasting() == 0 || in.Statement(in.History.Op(t).PC) == in.Statement(in.History.Op(last).PC) {
				return 0
			}
			return t
		}
		t = in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), t-1)
	}
	return 0
}

// oneWay accuses what made the target of a missing pointer lead back to its node, where the pointer has
// its node's first value still: who gives a new node that does not know yet where it will be. If a habit
// already names the statement that should have stored the pointer, nobody else is accused.
func oneWay(in Input, suspects []Suspect, repairs []Repair) []Suspect {
	if !in.looksFor(Mirror) {
		return suspects
	}
	for i := range repairs {
		r := &repairs[i]
		last := in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), in.At)
		if last <= in.Healthy || !r.evidence(in).explains() || !r.initial(in, last) || slices.ContainsFunc(suspects, r.omittedBy) {
			continue
		}
		t := r.back(in)
		known := len(suspects)
		s := statement(in, &suspects, t)
		if known < len(suspects) {
			s.Operations, s.Contributes = []mgpp.Timestamp{t}, r.mended(in)
		}
		if s.Repair == nil {
			s.Repair, s.Operation = r, t
		}
		if !s.has(Mirror) {
			e := r.evidence(in)
			e.Kind = Mirror
			s.Evidence = append(s.Evidence, e)
		}
	}
	return suspects
}

// omittedBy: a suspect is the statement that would have made the repair, by its habit.
func (r *Repair) omittedBy(s Suspect) bool {
	return s.Kind == Omitted && s.Repair != nil && s.Repair.Cell.Addr == r.Cell.Addr && s.Repair.Value == r.Value && s.has(Habit)
}

// initial: an operation gave the repair's cell the first value of a new node, and something else has made the target
// lead back to that since.
func (r *Repair) initial(in Input, t mgpp.Timestamp) bool {
	birth := in.Cells.Object(r.Cell.Obj).Birth
	back := r.back(in)
	return birth > in.Healthy && back > t && t == firstWrite(in, r.Cell, birth) && in.function(back) != in.function(t) && !r.kept(in)
}

// kept: most like nodes have in the repair's field what they got first.
func (r *Repair) kept(in Input) bool {
	offset, n, kept := r.Cell.Addr-in.Cells.Object(r.Cell.Obj).Addr, 0, 0
	for _, o := range in.Cells.Alike(r.Cell.Obj, in.Model.View(in.At), maxSample) {
		obj := in.Cells.Object(o)
		last := in.History.LastWrite(obj.Addr+offset, uint64(r.Cell.Size), in.At)
		if n++; last > obj.Birth && in.History.LastWrite(obj.Addr+offset, uint64(r.Cell.Size), last-1) <= obj.Birth {
			kept++
		}
	}
	return n >= minLike && 2*kept > n
}

// lastHere finds where a change of a field is missing that nothing has changed since
// the last healthy C-point, and that no statement is known to change: near the statement
// that wrote the element next to it, of an array, or else was the last to write to the same node.
func lastHere(in Input, tb *contributions, r *Repair) (Suspect, bool) {
	if !r.evidence(in).settles() || in.fresh(r.Cell) {
		return Suspect{}, false
	}
	obj := in.Cells.Object(r.Cell.Obj)
	t, element := r.element(in, tb), true
	if t == 0 {
		t, element = in.History.LastWrite(obj.Addr, obj.Size, in.At), false
	}
	if t <= in.Healthy || !in.attributed(t) || !in.wrote(t) {
		return Suspect{}, false
	}
	return Suspect{
		Kind: Omitted, PC: in.History.Op(t).PC, Operation: t, Repair: r, Contributes: r.mended(in),
		Evidence: []Evidence{r.evidence(in), {Kind: Last, Element: element}},
	}, true
}

// element is the last store, since the last healthy C-point and before what broke the constraints
// for good, into an element of an array next to a repair's; 0: there was none, or it is in no
// array.
func (r *Repair) element(in Input, tb *contributions) (last mgpp.Timestamp) {
	broke := r.broke(in, tb, in.Healthy)
	size := trace.Addr(r.Cell.Size)
	for _, addr := range [2]trace.Addr{r.Cell.Addr - size, r.Cell.Addr + size} {
		c, ok := in.Cells.Cell(addr, in.Model.View(in.At))
		if !ok || c.Obj != r.Cell.Obj || c.Path == r.Cell.Path || general(c.Path) != general(r.Cell.Path) {
			continue
		}
		if t := in.History.LastWrite(addr, uint64(size), broke); t > in.Healthy && in.attributed(t) && in.wrote(t) {
			last = max(last, t)
		}
	}
	return last
}

// maxBeside bounds how far from a field, in bytes, another counts as beside it.
const maxBeside = 64

// writer is what is known of a statement that writes a field of like nodes.
type writer struct {
	often  int // nodes
	newest mgpp.Timestamp
}

func (w writer) before(o writer) bool {
	return w.often > o.often || w.often == o.often && w.newest > o.newest
}

// maxVersions bounds how far back the writers of one field are looked for.
const maxVersions = 8

// usualWriters returns the statements that like nodes have had the repair's
// field from, and how many nodes had it from any. What counts is a store of
// the repair's value, if that is a number; of a pointer, if it is one; of NULL.
// If no node had such a value, any value counts, unless the node is new: what a
// new node holds was written for it.
func usualWriters(in Input, r *Repair, fresh, again bool) (map[string]writer, int) {
	like := in.Cells.Alike(r.Cell.Obj, in.Model.View(in.At), maxAlike)
	if w, of := fieldWriters(in, r, like, true, again); of > 0 || fresh {
		return w, of
	}
	return fieldWriters(in, r, like, false, again)
}

// fieldWriters counts who wrote the field of the nodes: such a value only, if such;
// not the first value of all, if again.
func fieldWriters(in Input, r *Repair, nodes []graph.ObjID, such, again bool) (map[string]writer, int) {
	offset, size := r.Cell.Addr-in.Cells.Object(r.Cell.Obj).Addr, uint64(r.Cell.Size)
	out := map[string]writer{}
	of := 0
	for _, o := range nodes {
		obj := in.Cells.Object(o)
		mine := map[string]bool{}
		t := in.History.LastWrite(obj.Addr+offset, size, in.At)
		for n := 0; t > obj.Birth && n < maxVersions; n++ {
			before := in.History.LastWrite(obj.Addr+offset, size, t-1)
			first := before <= obj.Birth
			if st := in.Statement(in.History.Op(t).PC); !mine[st] && in.attributed(t) && (!such || r.like(in, obj.Addr+offset, t)) && !(first && again) {
				mine[st] = true
				w := out[st]
				out[st] = writer{w.often + 1, max(w.newest, t)}
			}
			t = before
		}
		if len(mine) > 0 {
			of++
		}
	}
	return out, of
}

// like reports whether the field at addr held such a value as the repair's at t. What another
// member of a union held is none.
func (r *Repair) like(in Input, addr trace.Addr, t mgpp.Timestamp) bool {
	v, ok := read(in.Model.View(t), addr, r.Cell.Size)
	if c, known := in.Cells.Cell(addr, in.Model.View(t)); !known || c.Path != r.Cell.Path {
		return false
	}
	if r.Cell.Pointer {
		return ok && (v == 0) == (r.Value == 0)
	}
	return ok && v == r.Value
}
