package graph_test

import (
	"math/rand/v2"
	"testing"

	"mgtrace/constraints/graph"
	"mgtrace/constraints/graph/graphtest"
	"mgtrace/mgpp"
	"mgtrace/trace"

	"github.com/google/go-cmp/cmp"
)

// The cells of many objects that wait lead where they do if each write is looked at: also those that take a longer
// look, because they were written in parts, hold a pointer that is older than what lies there now, or lead nowhere.
func TestResolveBeside(t *testing.T) {
	const (
		text  = "struct node { long key; struct node *next, *prev; };\ntype node edges (next, prev);\n"
		nodes = 20_000 // more than are looked at at a time
	)
	spec, h := graphtest.Spec(t, text, nil), mgpp.New(mgpp.Options{})
	g, all := graph.New(spec, h, typing{spec}, graph.Options{}), graph.New(spec, h, typing{spec}, graph.Options{})
	if !g.Defer(4) {
		t.Fatal("nothing is put off")
	}
	r := rand.New(rand.NewPCG(1, 2))
	at := func(i int) trace.Addr { return 0x100000 + 64*trace.Addr(i) }
	for i := range nodes {
		alloc(t, h, "node", at(i), 24)
	}
	for round := range 2 {
		for i := range nodes {
			cell := at(i) + 8*trace.Addr(1+r.IntN(2))
			switch r.IntN(12) {
			case 0:
				put(t, h, cell, 0)
			case 1:
				put(t, h, cell, 0x99)
			case 2:
				put(t, h, cell, at(r.IntN(nodes))+8)
			case 3:
				put(t, h, cell, at(r.IntN(nodes)))
				apply(t, h, trace.Event{Kind: trace.KindStore, Addr: cell, Size: 2, Data: []byte{byte(r.IntN(4) << 6), byte(r.IntN(256))}})
			case 4:
				k := r.IntN(nodes)
				put(t, h, cell, at(k))
				apply(t, h, trace.Event{Kind: trace.KindFree, Addr: at(k)})
				alloc(t, h, "node", at(k), 24)
			default:
				put(t, h, cell, at(r.IntN(nodes)))
			}
		}
		g.Advance()
		all.AdvanceSlowly()
		now := h.At(h.Now())
		want := edges(all, now)
		if d := cmp.Diff(want, edges(g, now)); d != "" || len(want) < nodes/3 {
			t.Fatalf("round %d, %d edges (-each write +beside each other):\n%s", round, len(want), d)
		}
		g.Follow()
		all.Follow()
	}
}
