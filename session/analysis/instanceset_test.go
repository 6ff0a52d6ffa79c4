package analysis

import (
	"testing"

	"mgtrace/constraints/eval"

	"github.com/google/go-cmp/cmp"
)

// TestInstanceSet: whether an inconsistency is in a set is told by its instance alone; lists keep their order.
func TestInstanceSet(t *testing.T) {
	list := func(constraints ...int) (out []eval.Inconsistency) {
		for _, c := range constraints {
			out = append(out, eval.Inconsistency{Instance: eval.Instance{Constraint: c, Index: [3]int64{int64(c)}}, Reason: "here"})
		}
		return out
	}
	other := list(7, 3, 5)
	other[0].Reason = "there"
	set := instances(other)
	if diff := cmp.Diff(list(5, 7), set.of(list(5, 1, 7, 9))); diff != "" {
		t.Errorf("of (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(list(1, 9), set.not(list(5, 1, 7, 9))); diff != "" {
		t.Errorf("not (-want +got):\n%s", diff)
	}
	set.remove(list(7, 9))
	if diff := cmp.Diff(list(5), set.of(list(5, 1, 7, 9))); diff != "" {
		t.Errorf("without 7 and 9 (-want +got):\n%s", diff)
	}
}
