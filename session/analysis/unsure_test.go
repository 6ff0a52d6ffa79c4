package analysis

import (
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/trace"
)

// TestSuspend: what is broken at an inlined boundary is unsure until a C-point that asks the same has come: one for its own
// type or for all, of its own thread. One for another type, as the next at the same boundary may be, tells nothing of it.
func TestSuspend(t *testing.T) {
	leaf, branch := &check.NodeType{Name: "leaf"}, &check.NodeType{Name: "branch"}
	at := func(thread trace.ThreadID, typ *check.NodeType, constraints ...int) *point {
		p := &point{CPoint: eval.CPoint{Kind: "return", Thread: thread, For: typ, Inlined: true}, time: 5}
		for _, c := range constraints {
			p.found = append(p.found, eval.Inconsistency{Instance: eval.Instance{Constraint: c}})
		}
		return p
	}
	for _, c := range []struct {
		name  string
		later *point
		want  int // what of the first point's is unsure still
	}{
		{"for its type, mended", at(1, leaf), 0},
		{"for all, mended", at(1, nil), 0},
		{"for all, one of two mended", at(1, nil, 3), 1},
		{"for another type", at(1, branch), 2},
		{"for another type, of which the constraint is too", at(1, branch, 3), 2},
		{"of another thread", at(2, leaf), 2},
	} {
		var a Analysis
		first := at(1, leaf, 3, 4)
		a.suspend(first, 0)
		a.suspend(c.later, 0)
		if len(first.found) != c.want {
			t.Errorf("%s: %d are unsure, not %d", c.name, len(first.found), c.want)
		}
		total := 0
		for _, p := range a.unsure {
			total += len(p.found)
		}
		if total != c.want {
			t.Errorf("%s: %d are unsure in all, not %d", c.name, total, c.want)
		}
	}
}

// TestSuspendOften: each call of an inlined function breaks one instance more, of which no boundary tells whether it is meant. What is
// unsure already is looked at once at each boundary: with each point's compared with all, a thousand calls took half a minute.
func TestSuspendOften(t *testing.T) {
	const calls = 1000
	var a Analysis
	var found []eval.Inconsistency
	for call := range calls {
		found = append(found, eval.Inconsistency{Instance: eval.Instance{Index: [3]int64{int64(call)}}})
		a.suspend(&point{CPoint: eval.CPoint{Kind: "return", Thread: 1, Inlined: true}, time: 5, found: found}, 0)
	}
	if len(a.unsure) != calls {
		t.Fatalf("%d points are unsure", len(a.unsure))
	}
	for call, p := range a.unsure {
		if len(p.found) != 1 || p.found[0].Instance.Index[0] != int64(call) {
			t.Errorf("call %d: %v is unsure", call, p.found)
		}
	}
}
