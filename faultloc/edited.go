package faultloc

import (
	"cmp"
	"slices"

	"mgtrace/trace"
)

// edited adds the statements of which an edit would have left nothing broken, in this call and in those before it that ended
// well: the text would be right with it. A store with which this call would have been well, but not those, is none that is wrong.
//
//  1. edits that an earlier call refutes are no explanation, and a statement of which that is true of all edits did well
//  2. of the others those first with which least would have come otherwise
//
// Before an edit goes an experiment, made before, in which fewer bytes would be others.
//
// Where without one store all would be well, only the suspects' own statements are edited: nobody else is accused. Where one is as
// good as certain they are edited first, and the others for less.
func edited(in Input, r Rerun, suspects []Suspect, experiments []Experiment, decisions bool) []Suspect {
	worth := map[string]int{}
	for i := range suspects {
		if s := &suspects[i]; s.Kind != Omitted {
			key := in.Statement(s.PC)
			worth[key] = max(worth[key], s.worth())
		}
	}
	suspected := func(pc trace.Addr) int {
		if n, ok := worth[in.Statement(pc)]; ok {
			return n
		}
		return Unsuspected
	}
	first := slices.ContainsFunc(suspects, func(s Suspect) bool { return leftOut(s) || s.worth() >= worthCertain })
	list := r.Edits(suspected, first)
	in.refute(suspects, list)
	cell := smallest(in, r, suspects)
	explained := cell > 0 && slices.ContainsFunc(suspects, leftOut)
	if first && !explained {
		list = append(list, r.Edits(suspected, false)...)
	}
	simpler := func(x Experiment) bool {
		if len(experiments) == 0 || !experiments[0].tells() {
			return false
		}
		by := experiments[0].Differs - x.Differs
		broke := func(s Suspect) bool {
			return s.Kind == Wrote && s.flips() > 0 && in.Statement(s.PC) == in.Statement(x.PC) && in.Statement(s.PC) != in.Statement(experiments[0].PC)
		}
		// With a decision the other way the call goes another way as well; with another text of what broke something it does not.
		return by < 0 || by == 0 && !(decisions && slices.ContainsFunc(suspects, broke))
	}
	later := false
	for _, x := range in.explaining(list) {
		key := in.Statement(x.PC)
		e := Evidence{
			Kind: Edited, Cured: len(in.Found), Of: len(in.Found), Alike: x.Alike, Less: x.Less, Hides: x.Hides, Differs: x.Differs, Edit: x.Edit, Held: x.Held, Later: !x.exchanges() && (later || in.elseStrange(suspects, key, x.PC) || simpler(x)), Dear: cell > 0,
		}
		later = later || x.Held == 0 // of what would have been as well in earlier calls that says nothing
		if i := slices.IndexFunc(suspects, func(s Suspect) bool { return s.Kind != Omitted && in.Statement(s.PC) == key }); i >= 0 {
			e.Dangles = x.Less && slices.ContainsFunc(suspects[i].Evidence, func(e Evidence) bool { return e.Kind == Counterfactual && e.Dangles })
			suspects[i].Evidence = append(suspects[i].Evidence, e)
			continue
		}
		if explained {
			continue // another text of what nobody suspects says little then
		}
		suspects = append(suspects, Suspect{Kind: Decided, PC: x.PC, Calls: x.Calls, Operation: x.After, Evidence: []Evidence{e}})
	}
	return suspects
}

// refute marks what is known against statements of which earlier calls refute each edit.
func (in *Input) refute(suspects []Suspect, list []Experiment) {
	for i := range suspects {
		s := &suspects[i]
		if s.Kind != Wrote || !slices.ContainsFunc(s.Evidence, refutable) {
			continue
		}
		key, refuted, kept := in.Statement(s.PC), false, false
		for k := range list {
			if x := &list[k]; !kept && in.Statement(x.PC) == key {
				x.ask()
				refuted, kept = refuted || x.Refuted, !x.Refuted && !x.Idle
			}
		}
		for k := range s.Evidence {
			if e := &s.Evidence[k]; refuted && !kept && refutable(*e) {
				e.Refuted = true
			}
		}
	}
}

func refutable(e Evidence) bool {
	return e.Kind == RepairCell || e.Kind == Counterfactual || e.Kind == Outdated
}

// explaining are the edits, one of a statement, that explain best what is broken: with the same blocks, of no consequence in
// earlier calls, with the fewest other bytes.
func (in *Input) explaining(list []Experiment) (out []Experiment) {
	list = slices.DeleteFunc(slices.Clone(list), func(x Experiment) bool { return x.Idle })
	slices.SortStableFunc(list, func(a, b Experiment) int {
		return cmp.Or(cmp.Compare(b2i(b.tells()), b2i(a.tells())), cmp.Compare(b2i(b.Alike), b2i(a.Alike)), cmp.Compare(a.Differs, b.Differs))
	})
	var held []Experiment
	seen := map[string]bool{}
	for i := range list {
		x := &list[i]
		if i > 0 && (x.Alike != list[i-1].Alike || x.Hides != list[i-1].Hides) {
			out, held = append(out, held...), nil
		}
		if key := in.Statement(x.PC); len(out) < maxEdited && !seen[key] {
			switch x.ask(); {
			case x.Refuted:
			case x.Held > 0:
				held = append(held, *x)
			default:
				out, seen[key] = append(out, *x), true
			}
		}
	}
	for _, x := range held {
		if key := in.Statement(x.PC); len(out) < maxEdited && !seen[key] {
			out, seen[key] = append(out, x), true
		}
	}
	return out[:min(len(out), maxEdited)]
}

// leftOut: without one store of a suspect all would be well.
func leftOut(s Suspect) bool {
	return slices.ContainsFunc(s.Evidence, func(e Evidence) bool { return e.Kind == Counterfactual && e.settles() && !e.Refuted })
}

// maxEdited bounds the statements that are accused by edits.
const maxEdited = 3
