package analysis

import (
	"testing"

	"mgtrace/constraints/eval"

	"github.com/google/go-cmp/cmp"
)

// TestBoth: what two lists of inconsistencies have in common is told by their instances alone, in the order of the first.
func TestBoth(t *testing.T) {
	list := func(constraints ...int) (out []eval.Inconsistency) {
		for _, c := range constraints {
			out = append(out, eval.Inconsistency{Instance: eval.Instance{Constraint: c, Index: [3]int64{int64(c)}}, Reason: "here"})
		}
		return out
	}
	other := list(7, 3, 5)
	other[0].Reason = "there"
	found := list(5, 1, 7, 9)
	if diff := cmp.Diff(list(5, 7), both(found, other)); diff != "" {
		t.Errorf("both (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(list(5, 1, 7, 9), found); diff != "" {
		t.Errorf("the list has changed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(list(1, 9), without(found, other)); diff != "" {
		t.Errorf("without (-want +got):\n%s", diff)
	}
}
