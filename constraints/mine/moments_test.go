package mine

import (
	"testing"

	"mgtrace/constraints/graph/graphtest"
	"mgtrace/trace"
)

// TestSurvey: a write that was found in memory alone is no other thread's.
func TestSurvey(t *testing.T) {
	for _, c := range []struct {
		name    string
		last    trace.Event
		threads int
	}{
		{"another thread's store", trace.Event{Kind: trace.KindStore, Thread: 2}, 2},
		{"an unseen write", trace.Event{Kind: trace.KindBulk, Name: trace.UnseenWrite}, 1},
	} {
		w := graphtest.New(t, "struct node { struct node *next; long key; }; type node;")
		w.Apply(trace.Event{Kind: trace.KindAlloc, Addr: 0x1000, Size: 16, Name: "malloc node", Thread: 1})
		c.last.Addr, c.last.Size, c.last.Data = 0x1008, 1, []byte{7}
		w.Apply(c.last)
		land := survey(&Run{History: w.H, FuncOf: func(trace.Addr) string { return "f" }}, w.G)
		if len(land.changes) != 2 || len(land.by) != c.threads {
			t.Errorf("%s: %d changes by %d threads, not 2 by %d", c.name, len(land.changes), len(land.by), c.threads)
		}
	}
}
