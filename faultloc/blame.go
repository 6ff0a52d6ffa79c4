package faultloc

import (
	"slices"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// blame turns repairs into suspicion: against the statements that last wrote
// and last changed the cell, and, where other statements give like nodes that
// field, against the likeliest of these for not having done it here.
func blame(in Input, tb *contributions, suspects []Suspect, repairs []Repair, l *lab) []Suspect {
	var h *habits
	if in.looksFor(Habit) && len(in.Found) > 0 && in.Cells != nil {
		h = learn(in)
		suspects = unkept(in, tb, h, suspects, repairs, l)
		if in.looksFor(Unlike) {
			suspects = accuseUnlike(in, tb, h, l.fields(), repairs, suspects)
		}
	}
	suspects = oneWay(in, suspects, repairs)
	destroyed := slices.ContainsFunc(repairs, func(r Repair) bool { return r.restores(in, tb) })
	ran := statementsSince(in)
	for i := range repairs {
		r := &repairs[i]
		if len(r.Others) > 0 {
			continue // nobody has stored one of these numbers wrongly: outdated tells beside what all are missing
		}
		last := r.lastWrite(in)
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
		if destroyed || r.Orphans > 0 || r.Created > 0 || !in.looksFor(Missing) || r.strayed(suspects) {
			continue
		}
		if s, ok := released(in, r); ok {
			suspects = addOmitted(in, suspects, s)
			continue
		}
		s, ok := missing(in, tb, r, last, ran)
		ok = ok && (h == nil || h.belongs(s.Operation, ran)) && !slices.ContainsFunc(suspects, r.ownHabit)
		if ok && h != nil && ran != nil {
			s.Evidence[len(s.Evidence)-1].Apart = h.apart(s.Operation, ran) || in.elsewhere(r, s.Operation)
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
		if ok {
			suspects = addOmitted(in, suspects, s)
		}
		if s, ok = beyondTag(in, r, last); ok && in.looksFor(Last) {
			suspects = addOmitted(in, suspects, s)
		}
	}
	if in.looksFor(Basis) && in.Cells != nil {
		suspects = counted(in, suspects, repairs)
	}
	if in.looksFor(Outdated) && in.Cells != nil {
		suspects = outdated(in, tb, suspects, repairs)
		suspects = l.behindCleared(suspects, repairs)
	}
	if in.looksFor(Matched) && in.Cells != nil {
		suspects = matched(in, suspects, repairs)
	}
	if in.Cells != nil {
		if in.looksFor(Outdated) {
			l.asksLess(suspects)
		}
		carried(in, suspects)
		unready(in, suspects)
		if in.looksFor(Unwritten) {
			suspects = unwritten(in, tb, suspects)
		}
		summands(in, suspects)
	}
	yield(suspects)
	located(in, suspects)
	ranAllTheSame(in, suspects)
	return suspects
}

// addOmitted adds a statement that did not run, if it is not there. What frees tell of it is told where it is, too.
func addOmitted(in Input, suspects []Suspect, s Suspect) []Suspect {
	i := slices.IndexFunc(suspects, func(o Suspect) bool { return o.Kind == Omitted && in.Statement(o.PC) == in.Statement(s.PC) })
	if i < 0 {
		return append(suspects, s)
	}
	for _, e := range s.Evidence {
		if o := &suspects[i]; e.Released && !o.has(Missing) {
			if o.Repair == nil {
				o.Repair, o.Contributes = s.Repair, s.Contributes
				o.Evidence = append(o.Evidence, s.Repair.evidence(in))
			}
			o.Evidence = append(o.Evidence, e)
		}
	}
	return suspects
}

// strayed: a suspect has stored it in another field, where it is of no use. Then its store is not missing.
func (r *Repair) strayed(suspects []Suspect) bool {
	return slices.ContainsFunc(suspects, func(s Suspect) bool {
		return slices.ContainsFunc(s.Evidence, func(e Evidence) bool { return e.Kind == Instead && e.Unread && e.Mends == r })
	})
}

// mendable are the statements of which the newest store would mend something had it stored another value, and break nothing.
func mendable(in Input, repairs []Repair) map[string]bool {
	out := map[string]bool{}
	for i := range repairs {
		if r := &repairs[i]; r.Created == 0 && r.Orphans == 0 && !r.Hides {
			if t := r.lastWrite(in); t > in.Healthy && in.attributed(t) {
				out[in.Statement(in.History.Op(t).PC)] = true
			}
		}
	}
	return out
}

// ranAllTheSame notes of statements that should have run somewhere whether they ran elsewhere since the last healthy C-point: the report
// must not say that they did not.
func ranAllTheSame(in Input, suspects []Suspect) {
	from := max(int64(in.Healthy), int64(in.At)-maxInterval)
	for i := range suspects {
		s := &suspects[i]
		if s.Kind != Omitted {
			continue
		}
		st, same := in.Statement(s.PC), map[trace.Addr]bool{}
		for t := in.At; int64(t) > from && s.Ran == 0; t-- {
			pc := in.History.Deed(t).PC
			is, known := same[pc]
			if !known {
				is = pc != 0 && in.Statement(pc) == st
				same[pc] = is
			}
			if is {
				s.Ran = t
			}
		}
	}
}

// located says where those statements should have run of which no habit says it: beside the
// last change that concerned the field's node, or that after which a number was not the right one any more.
func located(in Input, suspects []Suspect) {
	for i := range suspects {
		s := &suspects[i]
		for k := range s.Evidence {
			if e := &s.Evidence[k]; e.Kind == Missing {
				if e.Beside = s.Repair.outdatedAt(suspects); e.Beside == 0 {
					e.Beside = s.Repair.nearest(in)
				}
			}
		}
	}
}

// outdatedAt is the change after which a number of a repair should have been stored again; 0: it is not known.
func (r *Repair) outdatedAt(suspects []Suspect) mgpp.Timestamp {
	for i := range suspects {
		for _, e := range suspects[i].Evidence {
			if e.Kind == Outdated && e.Named && suspects[i].Repair == r && !r.Cell.Pointer {
				return e.At
			}
		}
	}
	return 0
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
		e.Again = again || r.initial(in, t) || r.reset(in, t)
		e.Fitted = in.looksFor(Outdated) && e.explains() && !s.has(Unlike) && r.fitted(in, tb, t)
		e.Usual = in.looksFor(Outdated) && (in.usual(t) || in.oneOf(t, r.differs(in)))
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
	s.further = append(s.further, r)
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
	e := Evidence{Kind: RepairCell, Mends: r, Created: r.Created, Follows: r.Follows, Orphans: r.Orphans, Hides: r.Hides, Dangles: r.Dangles, Given: r.Given, Flag: r.Flag}
	in.cures(&e, r.cured)
	return e
}

// differs is by how much a number would be another one.
func (r *Repair) differs(in Input) int64 {
	now, ok := read(in.Model.View(in.At), r.Cell.Addr, r.Cell.Size)
	if !ok || r.Cell.Pointer {
		return 0
	}
	return signed(r.Value-now, r.Cell.Size)
}

// maxRewrites bounds the stores of a value that is there already.
const maxRewrites = 64

// lastWrite returns the newest operation that may have left what the repair changes. A pointer with a tag is two values in one word: who
// has changed the tag alone has not left the pointer, though it wrote the whole word.
func (r *Repair) lastWrite(in Input) mgpp.Timestamp {
	last := in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), in.At)
	part := r.part(in)
	if part == ^uint64(0) {
		return last
	}
	t := last
	for range maxRewrites {
		if t == 0 || !in.wrote(t) {
			break
		}
		was, ok := read(in.Model.View(t-1), r.Cell.Addr, r.Cell.Size)
		is, known := read(in.Model.View(t), r.Cell.Addr, r.Cell.Size)
		if !ok || !known || was == is || (was^is)&part != 0 {
			return t
		}
		t = in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), t-1)
	}
	return last
}

// beyondTag finds where a store of a pointer is missing beside one of its tag alone, after the last of the pointer.
func beyondTag(in Input, r *Repair, last mgpp.Timestamp) (Suspect, bool) {
	t := in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), in.At)
	if t == last || r.part(in) != ^r.Cell.Tags || !r.evidence(in).settles() || t <= in.Healthy || !in.attributed(t) {
		return Suspect{}, false
	}
	return Suspect{
		Kind: Omitted, PC: in.History.Op(t).PC, Operation: t, Repair: r, Contributes: r.mended(in),
		Evidence: []Evidence{r.evidence(in), {Kind: Last}},
	}, true
}

// part is which bits of its cell the repair is about: of a pointer with a tag where it leads to, else the bits of the tag that it changes.
func (r *Repair) part(in Input) uint64 {
	now, ok := read(in.Model.View(in.At), r.Cell.Addr, r.Cell.Size)
	switch change := now ^ r.Value; {
	case r.Cell.Tags == 0 || !ok:
		return ^uint64(0)
	case change&^r.Cell.Tags != 0:
		return ^r.Cell.Tags
	default:
		return change
	}
}

// lastChange returns the operation that gave the cell another value last, or the part of it that is wrong.
func (r *Repair) lastChange(in Input) mgpp.Timestamp {
	t, part := in.At, r.part(in)
	for range maxRewrites {
		t = in.History.LastWrite(r.Cell.Addr, uint64(r.Cell.Size), t)
		if t == 0 || !in.wrote(t) {
			break
		}
		was, ok := read(in.Model.View(t-1), r.Cell.Addr, r.Cell.Size)
		is, ok2 := read(in.Model.View(t), r.Cell.Addr, r.Cell.Size)
		if ok != ok2 || (was^is)&part != 0 {
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
