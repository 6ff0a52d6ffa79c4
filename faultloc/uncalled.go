package faultloc

import "slices"

// uncalled accuses places at which a call may be missing: had a function been called there that the program has, all would be well.
//
//  1. a function in which a statement stands of which a store is missing, as one that brings a node's height up to date: then that statement did not run
//     since nobody called it, and the place is where the call should be
//  2. where nothing else explains what is broken, any function
func uncalled(in Input, r Rerun, suspects []Suspect) []Suspect {
	explained := slices.ContainsFunc(suspects, func(s Suspect) bool {
		own := func(e Evidence) bool {
			return (e.Kind == RepairCell || e.Kind == Counterfactual) && e.explains() && !e.Refuted
		}
		return s.worth() > worthUnsure && !s.has(Outdated) || s.Kind == Wrote && slices.ContainsFunc(s.Evidence, own)
	})
	omitted := func(s Suspect) bool { return s.Kind == Omitted && s.Repair != nil && s.worth() > 0 }
	if explained && !slices.ContainsFunc(suspects, omitted) {
		return suspects
	}
	added := r.Added()
	named := func(x Experiment) bool {
		return slices.ContainsFunc(suspects, func(s Suspect) bool { return x.Beside && omitted(s) && x.Runs(s.PC) })
	}
	if slices.ContainsFunc(added, named) {
		added = slices.DeleteFunc(added, func(x Experiment) bool { return !named(x) })
	} else if explained {
		return suspects
	}
	if len(added) == 0 {
		return suspects
	}
	x := added[0]
	whole := func(s Suspect) bool {
		return slices.ContainsFunc(s.Evidence, func(e Evidence) bool { return e.Of > 0 && e.Cured == e.Of && e.worth() > 0 })
	}
	e := Evidence{Kind: Uncalled, Cured: len(in.Found), Of: len(in.Found), Alike: true, Differs: x.Differs, Edit: x.Edit, Named: named(x), Next: x.Beside, Only: !slices.ContainsFunc(suspects, whole)}
	return append(suspects, Suspect{Kind: Decided, PC: x.PC, Calls: x.Calls, Operation: x.After, Evidence: []Evidence{e}})
}
