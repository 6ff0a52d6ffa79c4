package eval_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/constraints/eval"
	"mgtrace/trace"
)

// TestSources: the cells whose edges an in-degree counts are named, those alone, and of many a few.
func TestSources(t *testing.T) {
	w := newWorld(t, `struct tree { struct tree *child[2]; struct tree *up; };
type tree edges (child);
one: tree X; X.ISROOT == FALSE => X.INDEGREE <= 1;
left: tree X; X.INDEGREE(child) + X.OUTDEGREE < 3;
none: tree X; X.child[0] == NULL;`)
	var at [8]trace.Addr
	for i := range at {
		at[i] = w.alloc("tree", 24, true)
	}
	ask := func() map[string][]eval.Arg {
		got := map[string][]eval.Arg{}
		for _, inc := range w.all() {
			got[w.c.Label(inc.Instance)+" "+w.g.Name(inc.Instance.Nodes[0])] = w.c.Sources(inc.Instance, w.h.At(w.h.Now()))
		}
		return got
	}
	w.put8(at[0], uint64(at[2]))
	w.put8(at[1]+8, uint64(at[2]))
	w.put8(at[3]+16, uint64(at[2])) // no edge
	want := map[string][]eval.Arg{
		"one tree#3":  {{Text: "X.INDEGREE", Value: "tree#1.child[0], tree#2.child[1]"}},
		"none tree#1": nil,
	}
	if d := cmp.Diff(want, ask()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, a := range at[3:] {
		w.put8(a+8, uint64(at[2]))
	}
	if got, want := ask()["left tree#3"], "tree#1.child[0], tree#2.child[1], tree#4.child[1], tree#5.child[1], …"; len(got) != 1 || got[0].Value != want {
		t.Errorf("%v, want %s", got, want)
	}
}
