package analysis

import (
	"slices"
	"testing"

	"mgtrace/constraints/eval"
)

// TestWaits: what was left out is asked again after 1, 2, 4, … C-points and at the end, and not at a crash; what
// was never judged is said, each statement once.
func TestWaits(t *testing.T) {
	var e elisions
	key, kind, other := eval.Instance{Constraint: 1}, eval.Instance{Constraint: 2}, eval.Instance{Constraint: 3}
	var asked []int
	for checked := 10; checked < 30; checked++ {
		if !e.waits(key, checked, "return") {
			asked = append(asked, checked)
			e.wait(key, checked, "key")
		}
	}
	if want := []int{10, 11, 12, 14, 18, 26}; !slices.Equal(asked, want) {
		t.Errorf("asked at C-points %v, want %v", asked, want)
	}
	if e.waits(key, 30, "exit") || !e.waits(key, 100, "crash") {
		t.Error("it is to be asked at the end, and not at a crash")
	}
	e.wait(kind, 30, "kind")
	e.wait(other, 30, "kind")
	e.wait(eval.Instance{Constraint: 4}, 30, "") // one of too many to ask
	for _, c := range []struct {
		judged []eval.Instance
		want   []string
	}{
		{nil, []string{"key", "kind"}},
		{[]eval.Instance{kind}, []string{"key", "kind"}},
		{[]eval.Instance{key}, []string{"kind"}},
		{[]eval.Instance{kind, other, key}, nil},
	} {
		judged := map[eval.Instance]bool{}
		for _, i := range c.judged {
			judged[i] = true
		}
		if got := e.unjudged(judged); !slices.Equal(got, c.want) {
			t.Errorf("judged %v: %v, want %v", c.judged, got, c.want)
		}
	}
}
