package analysis

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/describe"
	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/trace"
	"mgtrace/types"
)

// reasons says why a statement is suspected: the best piece of evidence in one
// sentence, and all of it as a list. at is the time of what is broken.
func (a *Analysis) reasons(s *faultloc.Suspect, out *report.Suspect, at mgpp.Timestamp) {
	best := headline(s)
	for i := range s.Evidence {
		e := &s.Evidence[i]
		text := a.evidence(s, *e)
		if text == "" {
			continue
		}
		out.Evidence = append(out.Evidence, text)
		if e != best && !a.implied(s, e, best) {
			out.Also = append(out.Also, text)
		}
	}
	if s.Whole > 0 {
		out.Also = append(out.Also, fmt.Sprintf("all constraints held after it, at change %s", report.Thousands(uint64(s.Whole))))
		out.Evidence = append(out.Evidence, out.Also[len(out.Also)-1])
	}
	if left := a.leftBehind(s, at); left != "" {
		out.Also = append(out.Also, left)
		out.Evidence = append(out.Evidence, left)
	}
	if line, field, ok := a.Symbols.Moved(s.PC); ok {
		text := fmt.Sprintf("the line table gives this store line %d, which does not write %s: the compiler merged or moved it", line, field)
		if line == 0 {
			text = fmt.Sprintf("the line table gives this store no line: this one writes %s", field)
		}
		out.Also = append(out.Also, text)
		out.Evidence = append(out.Evidence, out.Also[len(out.Also)-1])
	}
	for _, p := range out.Merged {
		out.Also = append(out.Also, fmt.Sprintf("the compiler made one store of it and of line %d: either may be meant", p.Line))
		out.Evidence = append(out.Evidence, out.Also[len(out.Also)-1])
	}
	for _, p := range out.Shared {
		out.Also = append(out.Also, fmt.Sprintf("line %d assigns the field as well, and the compiler made no store of its own of it: it may be meant", p.Line))
		out.Evidence = append(out.Evidence, out.Also[len(out.Also)-1])
	}
	if len(out.Evidence) == 0 {
		out.Evidence = []string{"it changed " + beneath(out.Contributes)}
	}
	out.Why = a.why(s, best, out)
	if s.Inner != nil {
		out.Why += " " + a.inside(s.Inner)
	}
}

// inside says when a suspect was judged, where that is the middle of a call.
func (a *Analysis) inside(in *faultloc.Inside) string {
	return fmt.Sprintf("(Of what was broken in the middle of the call, before change %s by %s: %s held there the last %d times before.)",
		report.Thousands(uint64(in.At+1)), a.Symbols.Place(a.Hist.Op(in.At+1).PC), strings.Join(a.labels(in.Found), ", "), in.Held)
}

// labels are the constraints that are broken, each once.
func (a *Analysis) labels(found []eval.Inconsistency) (out []string) {
	for _, inc := range found {
		if l := a.Checker.Label(inc.Instance); !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

// headline is the best evidence; where that is a repair of another field than the statement
// wrote, the evidence that says so; of a statement in which the program died, that it did.
func headline(s *faultloc.Suspect) *faultloc.Evidence {
	best := s.Best()
	if s.Kind == faultloc.Died {
		if i := slices.IndexFunc(s.Evidence, func(e faultloc.Evidence) bool { return e.Kind == faultloc.Crash }); i >= 0 {
			return &s.Evidence[i]
		}
	}
	if best == nil || best.Kind != faultloc.RepairCell {
		return best
	}
	for i := range s.Evidence {
		if e := &s.Evidence[i]; e.Kind == faultloc.Idle || e.Kind == faultloc.Vain {
			return e
		}
	}
	return best
}

// maxLeft bounds the pointers that are listed of those to a freed node.
const maxLeft = 3

// leftBehind says which pointers still lead, at a time, to the node that a statement
// freed, or took out of the structure, before: what it, or a statement near it, should
// have changed.
func (a *Analysis) leftBehind(s *faultloc.Suspect, at mgpp.Timestamp) string {
	if s.Kind != faultloc.Wrote || s.Operation == 0 {
		return ""
	}
	var gone graph.ObjID
	switch op := a.Hist.Op(s.Operation); op.Kind {
	case mgpp.OpDeath:
		gone = a.Graph.Former(op.Node)
	case mgpp.OpLeave:
		gone = a.Graph.Covered(op.Addr, op.Time)
	default:
		return ""
	}
	if left := a.leadTo(gone, at); left != "" {
		return "what still leads to it: " + left
	}
	return ""
}

// leadTo lists the pointers that lead, at a time, to a node that is gone, and who stored them; "" if there are none.
func (a *Analysis) leadTo(gone graph.ObjID, at mgpp.Timestamp) string {
	v := a.Hist.At(at)
	refs := a.Graph.Left(v, gone)
	var parts []string
	for _, r := range refs[:min(len(refs), maxLeft)] {
		f, ok := describe.FieldAt(a.Graph, v, r.From, r.Addr)
		if !ok {
			continue
		}
		part := describe.Join(a.Graph.Name(r.From), f.Path)
		if by := a.Symbols.Place(a.Hist.Op(v.Target(r.Addr, r.Cell.Coded).Since).PC); by != "" {
			part += ", stored at " + by
		}
		parts = append(parts, part)
	}
	if more := len(refs) - maxLeft; more > 0 && len(parts) > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, "; ")
}

// why is the sentence.
func (a *Analysis) why(s *faultloc.Suspect, best *faultloc.Evidence, out *report.Suspect) string {
	switch s.Kind {
	case faultloc.Omitted:
		return a.whyOmitted(s)
	case faultloc.Decided:
		return a.whyDecided(s, best)
	case faultloc.Died:
		switch {
		case best == nil:
		case best.Sole:
			return "The program died in this statement, and nothing was inconsistent."
		case best.Next:
			return "The program died in this statement, right behind a change beside which a store is missing that would mend all."
		case best.Filling:
			return "The program died in this statement, while a new node was being filled in: what that lacks may have been still to come."
		}
		return "The program died in this statement, before the call was over: what is inconsistent may just have been on its way."
	}
	if best != nil {
		switch best.Kind {
		case faultloc.Counterfactual:
			change := "this change"
			if best.Times > 0 {
				change = fmt.Sprintf("%d changes of this statement", best.Times)
			}
			return fmt.Sprintf("Without %s, %s would be gone%s.", change, ofAll(best.Cured, best.Of), harm(best))
		case faultloc.RepairCell:
			if best.More {
				return fmt.Sprintf("It left wrong values: with %s, and others in further fields that it wrote, %s would be gone%s.", a.repair(best.Mends), ofAll(best.Cured, best.Of), harm(best))
			}
			return fmt.Sprintf("It left the wrong value: with %s, %s would be gone%s.", a.repair(best.Mends), ofAll(best.Cured, best.Of), harm(best))
		case faultloc.Outdated:
			if best.Bypassed {
				return report.Sentence(a.evidence(s, *best))
			}
			return fmt.Sprintf("A field that was right until this change is not any more: had %s been stored beside it%s, %s would be gone%s.", a.repair(best.Mends), a.until(best), ofAll(best.Cured, best.Of), harm(best))
		case faultloc.Flip:
			if best.Born { // of what is new nothing held before
				return fmt.Sprintf("From this change on, %s did not hold.", asked(best, out))
			}
			before := ""
			if best.Mended {
				before = " This statement has done so in calls that ended well, and others mended it."
			}
			if len(out.Contributes) == 1 {
				return fmt.Sprintf("This change broke %s, which held before.%s", out.Contributes[0], before)
			}
			return fmt.Sprintf("This change broke %s that held before.%s", report.Plural(best.Flips, "constraint instance", "constraint instances"), before)
		case faultloc.Tallied:
			return report.Sentence(tallied(best))
		case faultloc.Garbage:
			return "It freed memory, and after that a pointer was stored that leads to where nothing ever was: it was read from what had been freed."
		case faultloc.Freed:
			if best.Called {
				return "It freed memory, and what had it freed was running still when the program died: what was freed may have been used."
			}
			return "It freed memory in the call in which the program died: what it freed may still have been used."
		case faultloc.Stray:
			return "It wrote near a block, to memory that belongs to none" + missed(best) + "."
		case faultloc.Crossed:
			return "It wrote into a block by an address of another one" + missed(best) + "."
		case faultloc.Basis:
			return "What it stored was wrong, and was counted on from: by as much it is wrong now, " + a.repair(s.Repair) + " would be right."
		case faultloc.Doomed:
			if best.Unchanged {
				return report.Sentence(a.evidence(s, *best))
			}
			return "It stored a pointer to a node that was freed after that, and the pointer is still there."
		case faultloc.Unlike, faultloc.Followed, faultloc.Dropped, faultloc.Lost, faultloc.Early, faultloc.Used, faultloc.Stale, faultloc.Taken, faultloc.Instead, faultloc.Swapped, faultloc.Edited, faultloc.Switched, faultloc.Altered, faultloc.Unwritten, faultloc.Outlived:
			return report.Sentence(a.evidence(s, *best))
		case faultloc.Idle:
			return "It stored what a field held already, beside one that nothing has written: with " + a.repair(s.Repair) + " it would be well."
		case faultloc.Vain:
			return "What it stored was replaced while the node was still being filled in; in the field that nothing has written it would do: " + a.repair(s.Repair) + "."
		case faultloc.Mirror:
			return "It stored a pointer of which the way back is missing: with " + a.repair(best.Mends) + fmt.Sprintf(", %s would be gone%s.", ofAll(best.Cured, best.Of), harm(best))
		case faultloc.Entered:
			return "It wrote what a later change made part of a broken constraint."
		}
	}
	return fmt.Sprintf("It changed %s.", beneath(out.Contributes))
}

// until names the statement up to which a store may be missing, if that is not the suspect itself.
func (a *Analysis) until(e *faultloc.Evidence) string {
	if e.Beside == 0 {
		return ""
	}
	there := a.besidePlace(e)
	if there == a.placeOf(e.At) {
		return ""
	}
	return fmt.Sprintf(", or next to %s:%d", there.File, there.Line)
}

// beneath names what constraints depend on.
func beneath(constraints []string) string {
	switch len(constraints) {
	case 0:
		return "what a broken constraint depends on"
	case 1:
		return "what " + constraints[0] + " depends on"
	}
	return "what " + strings.Join(constraints, " and ") + " depend on"
}

func (a *Analysis) whyOmitted(s *faultloc.Suspect) string {
	text := "It did not run here"
	if s.Ran != 0 {
		text = "It ran at " + a.when(s.Ran) + ", and not here"
	}
	then := ": with that, "
	switch {
	case slices.ContainsFunc(s.Evidence, func(e faultloc.Evidence) bool { return e.Kind == faultloc.Beside }):
		text, then = "It wrote the field beside one that nothing has written"+a.otherSide(s)+": with "+a.repair(s.Repair), ", "
	case slices.ContainsFunc(s.Evidence, func(e faultloc.Evidence) bool { return e.Kind == faultloc.Mirror }):
		text, then = "It made "+a.Graph.Name(s.Repair.Target)+" lead there, and the way back is missing: with "+a.repair(s.Repair), ", "
	case slices.ContainsFunc(s.Evidence, func(e faultloc.Evidence) bool { return e.Kind == faultloc.Last }):
		text, then = "Near this statement, the last that wrote to the node, a change is missing: with "+a.repair(s.Repair), ", "
	case s.Repair != nil:
		text = "It did not set " + a.repair(s.Repair) + " here"
	}
	for i := range s.Evidence {
		switch e := &s.Evidence[i]; e.Kind {
		case faultloc.Unwritten:
			text = fmt.Sprintf("In %d of %d like nodes it wrote %s; here %s", e.Often, e.Of, e.Mends.Cell.Path, a.evidence(s, *e))
		case faultloc.RepairCell:
			text += fmt.Sprintf("%s%s would be gone%s", then, ofAll(e.Cured, e.Of), harm(e))
		case faultloc.Missing:
			if e.There > 1 {
				text += fmt.Sprintf("; it did so in %d like nodes in the same interval", e.There)
				continue
			}
			if e.Released {
				text += fmt.Sprintf("; it took such a pointer to %d of %d nodes away that were freed there before", e.Often, e.Of)
				continue
			}
			text += fmt.Sprintf("; in %d of %d like nodes it did", e.Often, e.Of)
		case faultloc.Renewed:
			text += fmt.Sprintf("; it has done that before beside %s, and did not at %s", a.Symbols.Place(a.Hist.Op(e.Beside).PC), a.when(e.Beside))
		case faultloc.Habit:
			if e.Between != 0 {
				text += "; " + a.gap(e)
				continue
			}
			text += fmt.Sprintf("; in %d of %d cases it ran next to %s, but not at %s", e.Often, e.Of, a.Symbols.Place(a.Hist.Op(e.Beside).PC), a.when(e.Beside))
			if e.Inside != 0 {
				text += fmt.Sprintf(" (its function ran %s there)", a.Symbols.Place(a.Hist.Op(e.Inside).PC))
			}
			if e.Left {
				text += ", though a node was taken out to which nothing leads any more"
			}
		}
	}
	return text + "."
}

// otherSide names the statement that wrote the field on the other side of one that nothing has written, if that
// is as near.
func (a *Analysis) otherSide(s *faultloc.Suspect) string {
	for i := range s.Evidence {
		if e := &s.Evidence[i]; e.Kind == faultloc.Beside && e.Beside != 0 {
			return ", as " + a.Symbols.Place(a.Hist.Op(e.Beside).PC) + " did on its other side"
		}
	}
	return ""
}

// gap says that nothing ran between two statements where something always did.
func (a *Analysis) gap(e *faultloc.Evidence) string {
	return fmt.Sprintf("in %d cases something ran between %s and %s, this statement in %d of them; at %s, nothing did",
		e.Of, a.Symbols.Place(a.Hist.Op(e.Between).PC), a.Symbols.Place(a.Hist.Op(e.Beside).PC), e.Often, a.when(e.Beside))
}

// implied: a piece of evidence tells nothing that the sentence does not. To set
// a field to what it was is to leave the change out, and what is missing is all
// in the sentence.
func (a *Analysis) implied(s *faultloc.Suspect, e, best *faultloc.Evidence) bool {
	switch {
	case s.Kind == faultloc.Omitted:
		return e.Kind == faultloc.RepairCell || e.Kind == faultloc.Missing || e.Kind == faultloc.Habit || e.Kind == faultloc.Renewed || e.Kind == faultloc.Unwritten || e.Kind == faultloc.Beside || e.Kind == faultloc.Mirror || e.Kind == faultloc.Last
	case e.Kind == faultloc.Touch || e.Kind == faultloc.Entered:
		return true
	case s.Kind == faultloc.Decided && e.Kind == faultloc.Passed && best.Kind == faultloc.RepairCell:
		return true // the sentence begins with it
	case e.Kind == faultloc.Edited && (best.Kind == faultloc.Counterfactual || best.Kind == faultloc.Switched):
		return true // mostly the same experiment in other words
	case e.Kind == faultloc.RepairCell && (best.Kind == faultloc.Idle || best.Kind == faultloc.Vain):
		return true
	case e.Kind == faultloc.RepairCell && best.Kind == faultloc.Counterfactual:
		return e.Cured <= best.Cured && a.restores(s)
	}
	return false
}

// restores: the repair of a suspect is the value from before its change.
func (a *Analysis) restores(s *faultloc.Suspect) bool {
	if s.Operation == 0 {
		return false
	}
	c := &s.Repair.Cell
	was, ok := a.word(c.Addr, c.Size, s.Operation-1)
	return ok && was == s.Repair.Value
}

// word is what up to eight bytes held at a time, if all of them are known.
func (a *Analysis) word(addr trace.Addr, size int, t mgpp.Timestamp) (v uint64, ok bool) {
	b := mgpp.NewBytes(size)
	if !a.Hist.At(t).Read(addr, &b) || slices.Contains(b.Written, false) {
		return 0, false
	}
	for i, x := range b.Data {
		v |= uint64(x) << (8 * i)
	}
	return v, true
}

func (a *Analysis) repair(r *faultloc.Repair) string {
	text := a.repairOne(r)
	for _, n := range r.Others {
		text += " and " + a.repairOne(&faultloc.Repair{Cell: n.Cell, Value: n.Value})
	}
	return text
}

// repairOne says what a repair would set its first field to.
func (a *Analysis) repairOne(r *faultloc.Repair) string {
	if len(r.Cell.Parts) > 0 {
		var parts []string
		for _, p := range r.Cell.Parts {
			parts = append(parts, fmt.Sprintf("%s = %d", describe.Join(a.Graph.Name(r.Cell.Obj), p.Path), p.Of(r.Value)))
		}
		return strings.Join(parts, ", ")
	}
	value, number := fmt.Sprint(int64(r.Value)), a.floating(r)
	tag, word := r.Value&r.Cell.Tags, r.Value&^r.Cell.Tags
	as := describe.CodedAs(a.Graph, r.Cell.Obj, r.Cell.Addr)
	switch pointer := as.Decode(r.Value, uint64(r.Cell.Addr)); {
	case as.Shift != 0 && pointer == 0:
		value = "NULL"
	case as.Shift != 0:
		value = fmt.Sprintf("%#x", pointer)
	case r.Cell.Pointer && r.Target != 0:
		value = a.Graph.Name(r.Target)
		if off := word - uint64(a.Graph.Object(r.Target).Addr); off != 0 && off < a.Graph.Object(r.Target).Size {
			value = fmt.Sprintf("%s+%d", value, off)
		}
	case r.Cell.Pointer && word == 0:
		value = "NULL"
	case r.Cell.Pointer:
		value = fmt.Sprintf("%#x", word)
	case r.Cell.Unsigned:
		value = fmt.Sprint(r.Value << (64 - 8*r.Cell.Size) >> (64 - 8*r.Cell.Size))
	case number != nil:
		value = number.Decode(binary.LittleEndian.AppendUint64(nil, r.Value), 0, 0).String()
	case r.Cell.Size < 8:
		value = fmt.Sprint(int64(r.Value<<(64-8*r.Cell.Size)) >> (64 - 8*r.Cell.Size))
	}
	if tag != 0 && as.Shift == 0 {
		value += fmt.Sprintf(" tag %d", tag)
	}
	return fmt.Sprintf("%s = %s", describe.Join(a.Graph.Name(r.Cell.Obj), r.Cell.Path), value)
}

// floating is the type of a repair's field, if it holds a floating-point number; else nil.
func (a *Analysis) floating(r *faultloc.Repair) *types.Type {
	view := a.Hist.At(a.Graph.Object(r.Cell.Obj).Birth)
	if f, ok := describe.BareFieldAt(a.Graph, view, r.Cell.Obj, r.Cell.Addr); ok && f.Type != nil && f.Type.Kind == types.Float {
		return f.Type
	}
	return nil
}

// evidence puts one piece of evidence into words.
func (a *Analysis) evidence(s *faultloc.Suspect, e faultloc.Evidence) string {
	switch e.Kind {
	case faultloc.Counterfactual:
		if e.Times > 0 {
			return fmt.Sprintf("without %d of its changes, %s would be gone%s", e.Times, ofAll(e.Cured, e.Of), harm(&e))
		}
		return fmt.Sprintf("without it, %s would be gone%s%s", ofAll(e.Cured, e.Of), harm(&e), excuse(&e))
	case faultloc.RepairCell:
		with := ""
		if e.More {
			with = " and other fields that it wrote"
		}
		return fmt.Sprintf("setting %s%s would mend %s%s%s", a.repair(e.Mends), with, ofAll(e.Cured, e.Of), harm(&e), excuse(&e))
	case faultloc.Passed:
		if e.Returned {
			return "what it came to is what " + a.Symbols.Place(a.Hist.Op(e.At).PC) + " was returned, and stored as it was"
		}
		return "it passed on what " + a.Symbols.Place(a.Hist.Op(e.At).PC) + " stored as it was"
	case faultloc.Switched:
		return a.switched(s, &e)
	case faultloc.Altered:
		return a.altered(s, &e)
	case faultloc.Edited:
		return a.edited(&e)
	case faultloc.Uncalled:
		return e.Edit + ", " + a.well(&e) + experiment
	case faultloc.Habit:
		if e.Between != 0 {
			return a.gap(&e)
		}
		text := fmt.Sprintf("in %d of %d cases this statement ran next to %s; at %s, it did not", e.Often, e.Of, a.Symbols.Place(a.Hist.Op(e.Beside).PC), a.when(e.Beside))
		if e.Left {
			text += ", though a node was taken out to which nothing leads any more"
		}
		return text
	case faultloc.Unlike:
		return a.unlike(&e)
	case faultloc.Outdated:
		if e.Bypassed {
			return fmt.Sprintf("it took a node out that was put in again after that, and left a pointer to it: had %s been stored beside it%s, %s would be gone%s", a.repair(e.Mends), a.until(&e), ofAll(e.Cured, e.Of), harm(&e))
		}
		return fmt.Sprintf("with %s stored beside it%s, %s would be gone%s: it was right before", a.repair(e.Mends), a.until(&e), ofAll(e.Cured, e.Of), harm(&e))
	case faultloc.Last:
		if e.Element {
			return "it wrote the next element of the array"
		}
		return "it was the last to write to the node"
	case faultloc.Flip:
		if e.Born {
			if e.Flips > 1 {
				return fmt.Sprintf("from it on %d constraint instances did not hold", e.Flips)
			}
			return "from it on a constraint did not hold"
		}
		if e.Flips > 1 {
			return fmt.Sprintf("it turned %d constraint instances from true to false", e.Flips)
		}
		return "it turned a constraint from true to false"
	case faultloc.Missing:
		if e.Released {
			return fmt.Sprintf("it took such a pointer to %d of %d nodes away that were freed there before; here it did not", e.Often, e.Of)
		}
		return fmt.Sprintf("in %d of %d like nodes this statement set the field; here it did not", e.Often, e.Of)
	case faultloc.Unwritten:
		c := e.Mends.Cell
		if e.By != 0 {
			to := "what the call did depends on it"
			if e.Led {
				to = "the program followed it to where it died"
			}
			return fmt.Sprintf("nothing wrote %s, which %s read, and %s", describe.Join(a.Graph.Name(c.Obj), c.Path), a.Symbols.Place(e.By), to)
		}
		return fmt.Sprintf("nothing wrote %s, and %s stored what lay there", describe.Join(a.Graph.Name(c.Obj), c.Path), a.Symbols.Place(a.Hist.Op(e.At).PC))
	case faultloc.Renewed:
		return fmt.Sprintf("it has set the field before beside %s; here it did not", a.Symbols.Place(a.Hist.Op(e.Beside).PC))
	case faultloc.Vain:
		return "what it stored was replaced at once, and would do in the field that nothing has written"
	case faultloc.Mirror:
		return "it stored a pointer of which the way back is missing"
	case faultloc.Lost:
		return "it took away the last pointer to a node that is there still"
	case faultloc.Dropped:
		if e.Emptied {
			return fmt.Sprintf("it took a node out, and put nothing there of what that led to, which then was taken away from the node as well: with that, %s would have held on", ofAll(e.Cured, e.Of))
		}
		return fmt.Sprintf("it took a node out that was freed after that, and put nothing there of what the node led to: with that, %s would be gone", ofAll(e.Cured, e.Of))
	case faultloc.Garbage:
		return "it freed memory, and after that a pointer was stored that leads to where nothing ever was"
	case faultloc.Early:
		return early(&e)
	case faultloc.Freed:
		if e.Called {
			return "it freed memory, and what had it freed was running still when the program died"
		}
		return "it freed memory in the call in which the program died"
	case faultloc.Stray:
		return "it wrote to memory that belongs to no block" + missed(&e)
	case faultloc.Crossed:
		return "its address was computed from that of another block" + missed(&e)
	case faultloc.Basis:
		return "it stored a number that was wrong by as much as it is now, and was counted on from"
	case faultloc.Used:
		return "it freed memory that was used after that in the same call, at " + a.Symbols.Place(e.By) + experiment
	case faultloc.Outlived:
		c := e.Mends.Cell
		return fmt.Sprintf("it freed a node to which %s still led, and %s came there by that", describe.Join(a.Graph.Name(c.Obj), c.Path), a.Symbols.Place(e.By))
	case faultloc.Followed:
		return a.followed(s, &e)
	case faultloc.Tallied:
		return tallied(&e)
	case faultloc.Stale:
		return "it freed a node, and a pointer to that was stored only afterwards: something still led to it"
	case faultloc.Taken:
		return "it took out what should be there still (" + a.repair(s.Repair) + "), and others have only moved what was left"
	case faultloc.Doomed:
		if e.Unchanged {
			return "it stored the pointer that was there already, to a node that was freed, or cut off from what it led to, after that"
		}
		return "it stored a pointer to a node that was freed after that"
	case faultloc.Crash:
		if e.Next {
			return "the program died in it, right behind a change beside which a store is missing"
		}
		return "the program died in it"
	case faultloc.Instead:
		if e.Unread {
			return fmt.Sprintf("had it set %s and not this field, %s would be gone%s", a.repair(e.Mends), ofAll(e.Cured, e.Of), harm(&e))
		}
		if e.Elsewhere {
			return fmt.Sprintf("had it written the field of another node, %s would be gone%s", ofAll(e.Cured, e.Of), harm(&e))
		}
		return fmt.Sprintf("had it written another field of the node, %s would be gone%s", ofAll(e.Cured, e.Of), harm(&e))
	case faultloc.Swapped:
		return fmt.Sprintf("with its operands the other way round, %s would be gone%s", ofAll(e.Cured, e.Of), harm(&e))
	case faultloc.Idle:
		return "it stored what a field held already, beside one that nothing has written"
	case faultloc.Beside:
		return "it wrote the field beside one that nothing has written"
	case faultloc.Entered:
		return "it wrote what a later change made part of a broken constraint"
	case faultloc.Touch:
		return "it changed a value that a broken constraint depends on"
	}
	return ""
}

// unlike says which law of a statement one of its executions broke.
func (a *Analysis) unlike(e *faultloc.Evidence) string {
	before := fmt.Sprintf("in all of %s before", report.Plural(e.Of, "execution", "executions"))
	other := ""
	if e.Beside != 0 {
		other = a.Symbols.Place(a.Hist.Op(e.Beside).PC)
	}
	if e.Turned {
		switch e.Law {
		case faultloc.LawMoved:
			return before + " it overwrote the value that " + other + " stored; not here"
		case faultloc.LawCopied:
			return before + " " + other + " stored the value that it stored; not here"
		case faultloc.LawNode:
			return before + " " + other + " stored a pointer to the node that it wrote to; not here"
		case faultloc.LawReached:
			return before + " the same pointer, or the same step in an array, led from where it wrote to where " + other + " did; not here"
		case faultloc.LawInto:
			return before + " " + other + " wrote to the node to which it stored a pointer; not here"
		}
	}
	switch e.Law {
	case faultloc.LawField:
		return before + " it wrote another field than here"
	case faultloc.LawOutside:
		return before + " it wrote a field; here it wrote outside of all of them"
	case faultloc.LawNull:
		op := a.Hist.Op(e.At)
		if v, ok := a.word(op.Addr, int(min(op.Size, 8)), e.At); ok && v == 0 {
			return before + " it stored a pointer; here it stored NULL"
		}
		return before + " it stored NULL; here it stored a pointer"
	case faultloc.LawStep:
		if e.Exact {
			return before + " it counted by another number, and the number is wrong by as much"
		}
		return before + " it counted by another number"
	case faultloc.LawChange:
		return before + " it stored another value than there was; here it changed nothing"
	case faultloc.LawZero:
		return before + " it stored another number each time or two, and never 0"
	case faultloc.LawSame:
		return before + " it stored another value, and always the same"
	case faultloc.LawEnumerator:
		return "it stored what is no value of the field's type; other nodes hold none"
	case faultloc.LawNegative:
		return "it stored a negative number; none of " + report.Plural(e.Of, "like node", "like nodes") + " held one before"
	case faultloc.LawFar:
		return "it stored a number far from those of " + report.Plural(e.Of, "like node", "like nodes")
	case faultloc.LawHanded:
		return "it left a new node with another number than " + origin(e.Origin) + " in which it was made; " + report.Plural(e.Of, "like node", "like nodes") + " have that"
	case faultloc.LawKept:
		return "it changed a number that " + report.Plural(e.Of, "like node", "like nodes") + " kept as they first got it"
	case faultloc.LawReached:
		return before + " the same pointer, or the same step in an array, led there from where " + other + " wrote; not here"
	case faultloc.LawOrigin:
		return before + " it had its value from " + origin(e.Origin) + "; not here"
	case faultloc.LawMoved:
		return before + ", the value that it stored was the one that " + other + " overwrote; not here"
	case faultloc.LawCopied:
		return before + ", the value that it stored was the one that " + other + " stored; not here"
	case faultloc.LawNode:
		return before + ", it stored a pointer to the node that " + other + " wrote to; not here"
	case faultloc.LawBeside:
		return before + ", it wrote to the same node as " + other + "; not here"
	case faultloc.LawInto:
		return before + ", it wrote to the node to which " + other + " stored a pointer; not here"
	}
	return ""
}

func ofAll(n, of int) string {
	switch {
	case n == of && of == 1:
		return "the inconsistency"
	case n == 2 && of == 2:
		return "both inconsistencies"
	case n == of:
		return fmt.Sprintf("all %d inconsistencies", of)
	}
	return fmt.Sprintf("%d of %d inconsistencies", n, of)
}

// harm says what else an experiment would do.
func harm(e *faultloc.Evidence) string {
	switch {
	case e.Created > 0:
		return fmt.Sprintf(", but %s would break", report.Plural(e.Created, "other", "others"))
	case e.Hides:
		return hidden
	case e.Dangles:
		return ", but what it would lead to again leads to what was freed"
	case e.Orphans > 0:
		return fmt.Sprintf(", but nothing would lead to %s any more", report.Plural(e.Orphans, "node", "nodes"))
	case e.Created < 0:
		return ""
	case e.Follows > 0:
		return ", and what would break then asks for what would have come next"
	}
	return " and nothing else would break"
}

// early says that a free came too early.
func early(e *faultloc.Evidence) string {
	text := "it freed a node to which something led, and that was changed only afterwards"
	if e.Of > 0 {
		text += fmt.Sprintf("; in %s before nothing led to it any more", report.Plural(e.Of, "execution", "executions"))
	}
	return text
}

// missed tells that a node lacks what a write that went astray may have been meant for.
func missed(e *faultloc.Evidence) string {
	if !e.Lacks {
		return ""
	}
	return ", and a field of that would mend all"
}

// excuse is why an experiment says less against a statement than it seems to.
func excuse(e *faultloc.Evidence) string {
	switch {
	case e.Fitted:
		return "; but what it stored was right at that time"
	case e.Unfinished:
		return "; but the call would not have ended well with it (it was executed on)"
	case e.Unready:
		return "; but a field of the node was never written, and is asked for whoever links it"
	case e.Flag:
		return "; but such fields hold 0 or 1"
	case e.Summand:
		return "; but a sum lacks all of what it holds"
	case e.Again:
		return "; but another statement has stored the same since"
	case e.Usual:
		return "; but it has stored the same, or counted by the same, each time"
	case e.Onward:
		return "; but it only went on from what was wrong already"
	case e.Given:
		return "; but such fields hold what the program was given, and another value fits anywhere"
	case e.Cores > 0 && e.Core == e.Cores && e.Cured < e.Of:
		return "; the others may follow from that"
	}
	return ""
}

// origin tells where a value came from.
func origin(o faultloc.Origin) string {
	from := ""
	switch {
	case o.Arg > 0:
		from = fmt.Sprintf("argument %d of the call", o.Arg)
	case o.Far != 0:
		from = fmt.Sprintf("the element %+d of the array", o.Far)
	case o.Via != "":
		from = o.Via + "." + o.Field
	default:
		from = o.Field
	}
	if o.By != 0 {
		return fmt.Sprintf("%s %+d", from, o.By)
	}
	return from
}

// asked names what began to be asked for with what is new, and did not hold.
func asked(e *faultloc.Evidence, out *report.Suspect) string {
	if len(out.Contributes) == 1 {
		return out.Contributes[0]
	}
	return report.Plural(e.Flips, "constraint instance", "constraint instances")
}

// whyDecided tells why a statement is accused that stored nothing itself.
func (a *Analysis) whyDecided(s *faultloc.Suspect, best *faultloc.Evidence) string {
	text := a.evidence(s, *best)
	for i := range s.Evidence {
		if e := &s.Evidence[i]; e.Kind == faultloc.Passed && best.Kind == faultloc.RepairCell {
			text = fmt.Sprintf("%s: with %s, %s would be gone%s", a.evidence(s, *e), a.repair(s.Repair), ofAll(best.Cured, best.Of), harm(best))
		}
	}
	return report.Sentence(text)
}

// experiment says how it is known.
const experiment = " (an experiment: the call was executed again on what was recorded)"

// switched tells of the experiment with a condition.
func (a *Analysis) switched(s *faultloc.Suspect, e *faultloc.Evidence) string {
	text := "had this condition gone the other way" + a.during(s)
	if e.Times > 1 {
		text += fmt.Sprintf(", each of %d times", e.Times)
	}
	switch {
	case e.Idle:
		return text + ", the call would have done nothing, and so have left nothing broken" + experiment
	case !e.Alike:
		return text + ", " + a.well(e) + ", but done something else: other blocks would have been allocated or freed" + experiment
	}
	text += ", " + a.well(e)
	switch {
	case e.Hides:
		text += hidden
	case e.Less:
		text += ", but only have left out a part of what it did"
	case e.Seen:
		text += "; but it has gone this way before, in calls that ended well"
	}
	return text + experiment
}

// hidden is what is to be said against an experiment.
const hidden = ", but only because a constraint would look at less"

// well is what an experiment came to. Where nothing was broken it is about a crash.
func (a *Analysis) well(e *faultloc.Evidence) string {
	switch {
	case e.Of == 0:
		return "the program would not have died, and the call would have left nothing broken"
	case a.again != nil && a.again.Midway():
		return "the call would have come here with nothing broken"
	}
	return "the call would have left nothing broken"
}

// altered tells of the experiment with a value.
func (a *Analysis) altered(s *faultloc.Suspect, e *faultloc.Evidence) string {
	text := fmt.Sprintf("had %s been computed here instead of %s%s, %s", a.number(e.Instead), a.number(e.Was), a.during(s), a.well(e))
	if e.Hides {
		text += hidden
	}
	return text + experiment
}

// edited tells of the experiment with another text.
func (a *Analysis) edited(e *faultloc.Evidence) string {
	text := e.Edit + ", " + a.well(e)
	if e.Held > 0 {
		text += fmt.Sprintf(", nor would %s before in which that matters", report.Plural(e.Held, "call", "calls"))
	}
	if e.Hides {
		text += hidden
	}
	return text + experiment
}

// during names the call in which an experiment was made, as far as it is known.
func (a *Analysis) during(s *faultloc.Suspect) string {
	t := s.Operation
	if k := &a.tried; s.Kind == faultloc.Decided && k.from <= t && (k.to == 0 || t <= k.to) {
		t = max(t, k.from+1) // the suspect's is the last before it, which may be one before the call
	}
	if in := a.calls.at(t); in != "" {
		return " in " + in
	}
	return ""
}

// number names what a register held: a node, or a number.
func (a *Analysis) number(v uint64) string { return a.numberAt(v, a.Hist.Now()) }

// numberAt is number of what one held at a time.
func (a *Analysis) numberAt(v uint64, at mgpp.Timestamp) string {
	if name := a.nodeThen(v, at); name != "" {
		return name
	}
	if v > 1<<32 && int64(v) > 0 {
		return fmt.Sprintf("%#x", v)
	}
	return fmt.Sprint(int64(v))
}

// nodeAt is the node to which an address leads, and how far behind its start; "" if it leads to none.
func (a *Analysis) nodeAt(v uint64) string { return a.nodeThen(v, a.Hist.Now()) }

// nodeThen is the node that was there at a time.
func (a *Analysis) nodeThen(v uint64, at mgpp.Timestamp) string {
	if v <= 1<<20 {
		return ""
	}
	list := a.Graph.At(a.Hist.At(at), trace.Addr(v))
	if len(list) == 0 {
		return ""
	}
	name := a.Graph.Name(list[0])
	if off := v - uint64(a.Graph.Object(list[0]).Addr); off != 0 {
		name = fmt.Sprintf("%s+%d", name, off)
	}
	return name
}
