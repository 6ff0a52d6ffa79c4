package faultloc

import (
	"cmp"
	"encoding/binary"
	"slices"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Rerun makes experiments with a call, which is executed once more on what was recorded: what would have left nothing
// broken?
type Rerun interface {
	// Decisions are the conditions of which that is true had they gone the other way.
	// Few: not many experiments are made, as something else explains it already.
	Decisions(few bool) []Experiment
	// Values are the computed values of which that is true had they been others.
	Values() []Experiment
	// Edits are the instructions of which that is true had they been others each time. Those of a statement of which
	// the worth is the greatest are tried first; suspected: and no others than those of which it is not Unsuspected. Asked
	// again, it leaves out what it has tried, and tries less.
	Edits(worth func(trace.Addr) int, suspected bool) []Experiment
	// Added are the calls of which that is true had they been made beside those that were: Edit says which, PC behind or before which
	// instruction, Runs whether an instruction is of the function that would be called, and Beside whether it is where the node was stored to last
	// that it is given, and others are given to it. The best comes first.
	Added() []Experiment
	// Passed is the call by which an operation of this call was handed what it stored, as an argument, if it was
	// and its function has only passed it on; not where that is an argument of this call. Or what it stored was returned to it.
	Passed(mgpp.Timestamp) (Passing, bool)
	// Stored: had some operations of this call stored these bytes, or none where they are nil, the call would have come to its end and left nothing
	// broken. Not ok where that is not known, or the call is over: what an experiment leaves there is what there would be.
	Stored(instead map[mgpp.Timestamp][]byte) (well, ok bool)
	// Followed is memory on which the address depends at which the program died, in this call, the nearest first; none: it did not, or that is
	// not known.
	Followed() []Read
	// Before: had an operation before this call, in which the program died, changed nothing, the call would have come through where it
	// died and to its end, and left nothing broken. Not ok where that is not known.
	Before(mgpp.Timestamp) (well, ok bool)
	// Outlived are pointers by which this call came to what had been freed, in the order in which they were followed.
	Outlived() []OutlivedPointer
	// Unset are reads, in this call, of memory that nothing had written, without which the call would have gone another way.
	Unset() []Unset
	// Given: what an operation of this call stored is an argument of it, as it was.
	Given(mgpp.Timestamp) bool
}

// Passing is a call that hands something on.
type Passing struct {
	PC    trace.Addr   // of the call
	Calls []trace.Addr // return addresses of the calls around it, innermost first
	// Returned: the value came back from a call instead, in which that instruction computed it, or read it from memory. That call has changed
	// something: what only looks for a node is not meant.
	Returned bool
}

// Experiment is one after which nothing is broken.
type Experiment struct {
	PC    trace.Addr     // of the instruction that decides, or computes
	Calls []trace.Addr   // return addresses of the calls in which it was executed, innermost first
	After mgpp.Timestamp // the last operation before it
	// Times is how often a decision was made, where it went the other way each time.
	Times        int
	Was, Instead uint64 // the value, and the other one
	// Alike: the same blocks are allocated and freed, or one is freed in place of another and no byte is another one. Else the call does
	// something else altogether, as one
	// does that finds no such key.
	Alike bool
	Idle  bool // the call does nothing at all
	// Went: in calls that left all whole a decision went the way that it went here. Nil: it did not.
	Went    func() bool
	Less    bool   // it does a part of what it did, and nothing else
	More    bool   // it does all of that, and something beside
	Hides   bool   // a constraint looks at less, and not any more where it was broken
	Differs int    // bytes that are others at the end
	Words   int    // in how many words
	Edit    string // what the instruction would be, in words
	Held    int    // in so many earlier calls, which left all whole, the edit would have mattered, and all would have held
	Refuted bool   // in one of these not all would have
	Runs    func(trace.Addr) bool
	Beside  bool
	// Before asks the earlier calls for Held and Refuted; nil: they were asked.
	Before func() (held int, refuted bool)
}

// Unsuspected is the worth of a statement that is not among the suspects.
const Unsuspected = -1

// exchanges: all that would have come otherwise is which block was freed.
func (x *Experiment) exchanges() bool { return x.Alike && x.Differs == 0 }

// tells: it leaves the structure whole, with the same blocks, and all that was broken is asked still.
func (x *Experiment) tells() bool { return x.Alike && !x.Hides }

// guards: all that it does beside is to store one field, no larger than the one of which a store is missing: that store is there, and
// this condition has left it out.
func (x *Experiment) guards(missing int) bool {
	return x.tells() && x.More && x.Words == 1 && x.Differs <= missing
}

// ask asks the earlier calls, if that was not done.
func (x *Experiment) ask() {
	if x.Before != nil {
		x.Held, x.Refuted = x.Before()
		x.Before = nil
	}
}

// decided adds the decisions and values that would have left nothing broken.
//
// A store that is right in itself may have been made in the wrong case, or to the wrong place, and one that is missing
// may have been left out by a condition: then no store is wrong, and the condition or the value is.
//
//  1. Decisions, those first with which least would have come otherwise: with the same blocks,
//     and few other bytes. Where one field would mend all, which is less, another explanation is simpler.
//  2. Where neither these nor a field explain it: values.
func decided(in Input, suspects []Suspect) []Suspect {
	if in.Rerun == nil || len(suspects) == 0 {
		return suspects
	}
	worst := slices.MaxFunc(suspects, func(a, b Suspect) int { return cmp.Compare(a.worth(), b.worth()) })
	r := in.Rerun(worst.Operation)
	if r == nil {
		return suspects
	}
	if in.Cut {
		in.unfinished(r, suspects)
	}
	if in.looksFor(Passed) {
		suspects = passed(in, r, suspects)
	}
	suspects = in.outlived(r, in.unset(r, suspects))
	if !in.looksFor(Switched) {
		return suspects
	}
	cell := smallest(in, r, suspects)
	experiments := simplest(r.Decisions(cell > 0))
	suspects = accuseDecided(in, suspects, experiments, Switched, cell)
	decisions := len(experiments) > 0
	if cell == 0 && (len(experiments) == 0 || !experiments[0].tells()) && in.looksFor(Altered) {
		experiments, decisions = simplest(r.Values()), false
		suspects = accuseDecided(in, suspects, experiments, Altered, cell)
	}
	if len(experiments) > 0 && experiments[0].tells() && cell == 0 {
		in.excuse(r, suspects)
	}
	if in.looksFor(Edited) {
		suspects = edited(in, r, suspects, experiments, decisions)
	}
	if in.looksFor(Uncalled) {
		suspects = uncalled(in, r, suspects)
	}
	in.indexed(suspects)
	return suspects
}

// unfinished: where the run ended in the middle of a call, what that had stored by then was on its way. That less is broken without one
// of its stores, or with another value, is no evidence if the call would not have ended well all the same.
func (in *Input) unfinished(r Rerun, suspects []Suspect) {
	for i := range suspects {
		s := &suspects[i]
		for k := range s.Evidence {
			if stores := in.storesOf(s, &s.Evidence[k]); len(stores) > 0 {
				well, ok := r.Stored(stores)
				s.Evidence[k].Unfinished = ok && !well
			}
		}
	}
}

// storesOf are the operations that an experiment with a statement's stores is about, and what each would have stored; nil: nothing. There
// are none if it is another experiment.
func (in *Input) storesOf(s *Suspect, e *Evidence) map[mgpp.Timestamp][]byte {
	out := map[mgpp.Timestamp][]byte{}
	switch {
	case s.Kind != Wrote:
	case e.Kind == Counterfactual && e.Times > 0:
		for _, t := range s.Operations[:min(e.Times, len(s.Operations))] {
			out[t] = nil
		}
	case e.Kind == Counterfactual:
		out[s.Operation] = nil
	case e.Kind == RepairCell && s.Repair != nil:
		repairs := []*Repair{s.Repair}
		if e.More {
			repairs = append(repairs, s.further...)
		}
		for _, r := range repairs {
			c := r.Cell
			op := in.History.Op(in.History.LastWrite(c.Addr, uint64(c.Size), in.At))
			if op.Addr != c.Addr || int(op.Size) != c.Size || out[op.Time] != nil {
				return nil
			}
			out[op.Time] = binary.LittleEndian.AppendUint64(nil, r.Value)[:c.Size]
		}
	}
	return out
}

// indexed: a store that should have gone to another element of an array was led to where it went by an index. If an experiment
// says that another statement has computed something else before, that is why.
func (in *Input) indexed(suspects []Suspect) {
	for i := range suspects {
		s := &suspects[i]
		computed := func(d Suspect) bool {
			return d.Kind == Decided && d.Operation < s.Operation && slices.ContainsFunc(d.Evidence, func(e Evidence) bool {
				return (e.Kind == Altered || e.Kind == Edited) && e.Alike && !e.Hides && !e.Dear
			})
		}
		for k := range s.Evidence {
			if e := &s.Evidence[k]; e.Kind == Instead && e.Element && !e.Unread {
				e.Copied = slices.ContainsFunc(suspects, computed)
			}
		}
	}
}

// madeBy: an operation stored a pointer to a node that the statement at pc has allocated.
func (in *Input) madeBy(pc trace.Addr, t mgpp.Timestamp) bool {
	op, view := in.History.Op(t), in.Model.View(t)
	v, ok := read(view, op.Addr, int(min(op.Size, 8)))
	if !ok || in.Cells == nil {
		return false
	}
	o := in.Cells.At(trace.Addr(v), view)
	return o != 0 && in.Cells.Object(o).Birth > 0 && in.statement(in.Cells.Object(o).Birth) == in.Statement(pc)
}

// passed looks for where values come from that settle the matter: who only stores what was passed to it did so as it
// was told, and the call that passed it is accused as well. It goes before it with a number, which is computed for one
// use; with a pointer behind it: of the nodes that a function is passed it may have stored the wrong one. So is the statement from
// which a pointer was returned to it, before it; a number that was returned may well be what such a function is there for.
//
// Who has returned a new node could have returned no other one.
func passed(in Input, r Rerun, suspects []Suspect) []Suspect {
	for i := range suspects {
		s := suspects[i]
		if s.Kind != Wrote || !slices.ContainsFunc(s.Evidence, Evidence.explains) {
			continue
		}
		o, ok := r.Passed(s.Operation)
		same := func(x Suspect) bool {
			return (x.Kind == Decided || x.Operation == s.Operation) && in.Statement(x.PC) == in.Statement(o.PC)
		}
		if !ok || o.Returned && (!in.pointerAt(s.Operation) || in.madeBy(o.PC, s.Operation)) || slices.ContainsFunc(suspects, same) {
			continue
		}
		from := Suspect{Kind: Decided, PC: o.PC, Calls: o.Calls, Operation: s.Operation, Repair: s.Repair, Contributes: s.Contributes}
		from.Evidence = append(from.Evidence, Evidence{Kind: Passed, At: s.Operation, Returned: o.Returned})
		for k := range s.Evidence {
			if e := &suspects[i].Evidence[k]; e.Kind == RepairCell || e.Kind == Counterfactual {
				from.Evidence = append(from.Evidence, *e)
				if other := &from.Evidence[len(from.Evidence)-1]; in.pointerAt(s.Operation) && !o.Returned {
					other.Copied = true
				} else {
					e.Copied = true
				}
			}
		}
		suspects = append(suspects, from)
	}
	return suspects
}

// pointerAt: an operation wrote a pointer.
func (in *Input) pointerAt(t mgpp.Timestamp) bool {
	c, ok := in.cellAt(in.History.Op(t), in.Model.View(in.At))
	return ok && c.Pointer
}

// excuse: where an experiment explains all, who stored what the call was given did well.
func (in *Input) excuse(r Rerun, suspects []Suspect) {
	for i := range suspects {
		s := &suspects[i]
		if s.Repair == nil || !in.handed(r, s.Repair.Cell) {
			continue
		}
		for k := range s.Evidence {
			if e := &s.Evidence[k]; e.Kind == RepairCell || e.Kind == Counterfactual {
				e.Given = true
			}
		}
	}
}

// simplest orders experiments by how little they change.
func simplest(list []Experiment) []Experiment {
	slices.SortStableFunc(list, func(a, b Experiment) int {
		if a.Alike != b.Alike {
			return cmp.Compare(b2i(b.Alike), b2i(a.Alike))
		}
		if a.Hides != b.Hides {
			return cmp.Compare(b2i(a.Hides), b2i(b.Hides))
		}
		if a.Idle != b.Idle {
			return cmp.Compare(b2i(a.Idle), b2i(b.Idle))
		}
		return cmp.Or(cmp.Compare(a.Differs, b.Differs), -cmp.Compare(a.After, b.After))
	})
	return list
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// accuseDecided adds the statements of the first experiments to the suspects.
func accuseDecided(in Input, suspects []Suspect, list []Experiment, kind EvidenceKind, cell int) []Suspect {
	var seen []string // statements
	missing := notStored(in, suspects)
	slices.SortStableFunc(list, func(a, b Experiment) int { return cmp.Compare(b2i(b.guards(missing)), b2i(a.guards(missing))) })
	idle := 0
	later := false
	for _, x := range list {
		key := in.Statement(x.PC)
		if slices.Contains(seen, key) || kind == Altered && (!x.Alike || x.Words < 2) {
			continue // what changes one word only is a repair, and was judged as such
		}
		if x.Idle {
			if idle++; idle > maxIdle || cell > 0 || list[0].tells() {
				continue // where something else explains it
			}
		}
		if len(seen) == maxDecided || cell > 0 && len(seen) == 1 {
			break
		}
		e := Evidence{
			Kind: kind, Cured: len(in.Found), Of: len(in.Found), Times: x.Times, Alike: x.Alike, Idle: x.Idle, Less: x.Less, Hides: x.Hides, Differs: x.Differs,
			Was: x.Was, Instead: x.Instead, Later: later || in.elseStrange(suspects, key, x.PC), Dear: cell > 0 && !x.guards(missing), Guards: x.guards(missing),
			Seen: x.Alike && x.Went != nil && x.Went(), // of one that does something else altogether it makes no difference
		}
		later = later || !e.Seen
		seen = append(seen, key)
		if i := slices.IndexFunc(suspects, func(s Suspect) bool { return s.Kind != Omitted && in.Statement(s.PC) == key }); i >= 0 {
			suspects[i].Evidence = append(suspects[i].Evidence, e)
			continue
		}
		suspects = append(suspects, Suspect{Kind: Decided, PC: x.PC, Calls: x.Calls, Operation: x.After, Evidence: []Evidence{e}})
	}
	return suspects
}

// elseStrange: another statement did what it never did before, or wrote where it must not, or stored again a pointer that should have been another
// one, or did not run where it always has, and
// that is a simpler explanation than an experiment with this one. A decision of the same function may be what left it out.
func (in *Input) elseStrange(suspects []Suspect, key string, pc trace.Addr) bool {
	strange := func(s Suspect) bool {
		return s.Kind == Wrote && slices.ContainsFunc(s.Evidence, func(e Evidence) bool {
			return e.Kind == Unlike && !e.Later || e.Kind == Stray || e.Kind == Crossed || e.Unchanged
		})
	}
	silent := func(s Suspect) bool {
		return s.Kind == Omitted && in.Function != nil && in.Function(s.PC) != in.Function(pc) && slices.ContainsFunc(s.Evidence, Evidence.always)
	}
	is := slices.ContainsFunc(suspects, strange) || slices.ContainsFunc(suspects, silent)
	return is && !slices.ContainsFunc(suspects, func(s Suspect) bool { return strange(s) && in.Statement(s.PC) == key })
}

// smallest is the size of the smallest field that would mend all by itself; 0: none would.
func smallest(in Input, r Rerun, suspects []Suspect) (size int) {
	for i := range suspects {
		for _, e := range suspects[i].Evidence {
			if n := suspects[i].alone(in, r, e); n > 0 && (size == 0 || n < size) {
				size = n
			}
		}
	}
	return size
}

// notStored is the size of the field that would mend all and should have been stored, or stored again; 0: there is none, or what a statement
// did store would mend all as well, if it was something else than that or what was there before.
func notStored(in Input, suspects []Suspect) (size int) {
	for i := range suspects {
		s := &suspects[i]
		if slices.ContainsFunc(s.Evidence, func(e Evidence) bool { return e.Kind == Passed }) {
			continue // what it passed on, another one stored
		}
		for _, e := range s.Evidence {
			switch {
			case e.Kind == Outdated && e.explains() && !e.Refuted:
				size = max(size, e.Mends.Cell.Size)
			case !e.settles(), e.Kind == Counterfactual, s.restores(in):
			case s.Kind == Omitted && s.Repair != nil:
				size = max(size, s.Repair.Cell.Size)
			default:
				return 0
			}
		}
	}
	return size
}

// alone is the size of the field with which a piece of evidence mends all.
func (s *Suspect) alone(in Input, r Rerun, e Evidence) int {
	switch {
	case e.Kind == Outdated && e.explains() && !e.Refuted || e.Kind == RepairCell && e.More && e.explains() && !e.doubted() && !e.Refuted:
	case e.Refuted || !e.settles():
		return 0
	}
	switch {
	case s.Repair != nil && in.handed(r, s.Repair.Cell):
		return 0
	case e.Kind != Counterfactual:
		return s.Repair.Cell.Size
	}
	return int(in.History.Op(s.Operation).Size)
}

// handed: a number is there that was an argument of the call. Nobody has computed it wrongly.
func (in *Input) handed(r Rerun, c Cell) bool {
	return !c.Pointer && r.Given(in.History.LastWrite(c.Addr, uint64(c.Size), in.At))
}

// maxDecided bounds the statements that are accused by experiments of a kind.
const maxDecided = 4

// maxIdle bounds those of them behind which the call would have done nothing: the last ones before it did something.
const maxIdle = 1
