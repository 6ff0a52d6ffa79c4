package analysis

import (
	"fmt"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/report"
)

// unentered leaves inconsistencies out that may be none, were the nodes known that had entered before mgtrace came to a
// process: what leads to one leads to no node, and what asks which there are, or for ways between them, misses it.
func (a *Analysis) unentered(found []eval.Inconsistency) []eval.Inconsistency {
	if a.prog.Before == nil || len(a.spec.Members) == 0 {
		return found
	}
	return slices.DeleteFunc(found, func(inc eval.Inconsistency) bool {
		if !a.asksWhich(inc.Instance.Constraint) && inc.Through == 0 {
			return false
		}
		a.strange[inc.Instance] = true
		return true
	})
}

// asksWhich: a constraint asks which nodes of a type there are that enters, or for edges and ways between nodes.
func (a *Analysis) asksWhich(k int) bool {
	if k < 0 || k >= len(a.spec.Constraints) {
		return true // an attribute: it may go from node to node
	}
	c := a.spec.Constraints[k]
	asks := slices.ContainsFunc(c.Vars[c.Universal:], func(v check.Var) bool { return v.Type.Intrusive })
	c.Walk(func(e check.Expr) {
		switch e := e.(type) {
		case *check.Relation, *check.Degree, *check.Attr:
			asks = true
		case *check.Aggregate:
			asks = asks || e.Type != nil && e.Type.Intrusive
		case *check.Builtin:
			asks = asks || e.Kind == check.BuiltinExists || e.Kind == check.BuiltinDangling
		}
	})
	return asks
}

// reportUnentered says what was not judged.
func (a *Analysis) reportUnentered(r *report.Report) {
	if n := len(a.strange); n > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s not judged at some C-points: which nodes had entered before mgtrace came is not known; start the program under mgtrace to have all judged",
			report.Plural(n, "constraint instance was", "constraint instances were")))
	}
}
