package mine

import (
	"slices"
	"testing"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
)

// Of start, top and end the order of the outer two follows from that of the others; the other way round nothing is in order.
func TestTight(t *testing.T) {
	var all []*span
	at := map[string]int{"start": 0, "top": 1, "end": 2}
	for low := range at {
		for high := range at {
			s := &span{low: low, high: high, together: 8, max: 4}
			if at[low] < at[high] {
				s.ordered = 8
			}
			if low != high {
				all = append(all, s)
			}
		}
	}
	var said, follow []string
	for _, s := range tight(all) {
		if s.follows {
			follow = append(follow, s.low+" "+s.high)
		} else {
			said = append(said, s.low+" "+s.high)
		}
	}
	slices.Sort(said)
	if !slices.Equal(said, []string{"start top", "top end"}) || !slices.Equal(follow, []string{"start end"}) {
		t.Errorf("said %v, follow %v", said, follow)
	}
}

// An order that was seen in one distance only, however often, is an accident.
func TestWeighDistance(t *testing.T) {
	for distances, want := range map[int]bool{1: false, enoughLengths - 1: false, enoughLengths: true} {
		c := &candidate{distance: "X.a - X.b", need: enoughLengths}
		for node := range 20 {
			c.sample(eval.Instance{Nodes: [4]graph.ObjID{graph.ObjID(node + 1)}}, []eval.Arg{{Text: "X.a - X.b", Value: string(rune('0' + node%distances))}})
			c.Held++
		}
		c.weigh()
		if good, why := c.justified(); good != want {
			t.Errorf("%d distances: %v (%s)", distances, good, why)
		}
	}
}
