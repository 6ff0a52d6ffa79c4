package mgpp

import (
	"slices"
	"testing"
)

// TestForget: a history of nodes that forgets numbers operations as one that does not,
// gives each node once, before it is forgotten, and keeps few.
func TestForget(t *testing.T) {
	whole, h := New(Options{NodesOnly: true}), New(Options{NodesOnly: true})
	var given []NodeID
	give := func(id NodeID) {
		if n, want := h.Node(id), whole.Node(id); n.Start != want.Start || n.Size != want.Size || n.Birth != want.Birth || n.Death != want.Death {
			t.Fatalf("node %d is %+v when it is forgotten, want %+v", id, n, want)
		}
		given = append(given, id)
	}
	for i, e := range churn(400_000, 64) {
		want, err := whole.Apply(&e)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := h.Apply(&e); err != nil || got != want {
			t.Fatalf("event %d is operation %d, want %d: %v", i, got, want, err)
		}
		if i%50_000 == 49_999 {
			h.Forget(give)
		}
	}
	if h.NodeCount() != whole.NodeCount() || h.Stats().Live != whole.Stats().Live {
		t.Fatalf("%d nodes, %d alive; want %d, %d", h.NodeCount(), h.Stats().Live, whole.NodeCount(), whole.Stats().Live)
	}
	if h.Remembered() > h.NodeCount()/2 || h.Remembered()+len(given) != h.NodeCount() {
		t.Errorf("of %d nodes %d are remembered, %d forgotten", h.NodeCount(), h.Remembered(), len(given))
	}
	for n := range h.Nodes() {
		given = append(given, n.ID)
	}
	slices.Sort(given)
	if len(slices.Compact(given)) != whole.NodeCount() {
		t.Errorf("%d nodes were forgotten or are left, of %d", len(given), whole.NodeCount())
	}
	if n := h.Node(given[0]); n.ID != 0 {
		t.Errorf("node %d is forgotten, and is %+v", given[0], n)
	}
}
