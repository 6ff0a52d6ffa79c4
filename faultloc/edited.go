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
func edited(in Input, r Rerun, suspects []Suspect, experiments []Experiment) []Suspect {
	worth := map[string]int{}
	for i := range suspects {
		if s := &suspects[i]; s.Kind != Omitted {
			key := in.Statement(s.PC)
			worth[key] = max(worth[key], s.worth())
		}
	}
	list := r.Edits(func(pc trace.Addr) int { return worth[in.Statement(pc)] })
	refuted, kept := map[string]bool{}, map[string]bool{}
	var good []Experiment
	for _, x := range list {
		switch key := in.Statement(x.PC); {
		case x.Refuted:
			refuted[key] = true
		case !x.Idle:
			kept[key] = true
			good = append(good, x)
		}
	}
	for i := range suspects {
		s := &suspects[i]
		if key := in.Statement(s.PC); s.Kind != Wrote || !refuted[key] || kept[key] {
			continue
		}
		for k := range s.Evidence {
			if e := &s.Evidence[k]; e.Kind == RepairCell || e.Kind == Counterfactual || e.Kind == Outdated {
				e.Refuted = true
			}
		}
	}
	slices.SortStableFunc(good, func(a, b Experiment) int {
		return cmp.Or(cmp.Compare(b2i(b.Alike), b2i(a.Alike)), cmp.Compare(b2i(a.Held > 0), b2i(b.Held > 0)), cmp.Compare(a.Differs, b.Differs))
	})
	cell := smallest(in, r, suspects)
	explained := cell > 0 && slices.ContainsFunc(suspects, leftOut)
	var seen []string
	for _, x := range good {
		key := in.Statement(x.PC)
		if slices.Contains(seen, key) {
			continue
		}
		if len(seen) == maxEdited {
			break
		}
		e := Evidence{
			Kind: Edited, Cured: len(in.Found), Of: len(in.Found), Alike: x.Alike, Less: x.Less, Differs: x.Differs, Edit: x.Edit, Held: x.Held, Later: len(seen) > 0 || len(experiments) > 0 && experiments[0].Alike && experiments[0].Differs <= x.Differs, Dear: cell > 0,
		}
		seen = append(seen, key)
		if i := slices.IndexFunc(suspects, func(s Suspect) bool { return s.Kind != Omitted && in.Statement(s.PC) == key }); i >= 0 {
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

// leftOut: without one store of a suspect all would be well.
func leftOut(s Suspect) bool {
	return slices.ContainsFunc(s.Evidence, func(e Evidence) bool { return e.Kind == Counterfactual && e.settles() && !e.Refuted })
}

// maxEdited bounds the statements that are accused by edits.
const maxEdited = 3
