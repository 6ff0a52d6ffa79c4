package graph_test

import (
	"cmp"
	"slices"
	"testing"

	"mgtrace/constraints/graph"
	"mgtrace/constraints/graph/graphtest"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// The head of a list that is pushed to, and checked after each, does not keep the edges that all the
// nodes had to it; and when somebody asks for them they are there.
func TestForget(t *testing.T) {
	const text = "struct node { long key; struct node *next; };\ntype node edges (next);\n"
	spec, h := graphtest.Spec(t, text, nil), mgpp.New(mgpp.Options{})
	g, all := graph.New(spec, h, typing{spec}, graph.Options{}), graph.New(spec, h, typing{spec}, graph.Options{})
	if !g.Defer(2) {
		t.Fatal("nothing is put off")
	}
	apply := func(ev trace.Event) {
		ev.PC = 1
		if _, err := h.Apply(&ev); err != nil {
			t.Fatal(err)
		}
		g.Advance()
		all.Advance()
	}
	put := func(at, to trace.Addr) {
		data := []byte{byte(to), byte(to >> 8), byte(to >> 16), 0, 0, 0, 0, 0}
		apply(trace.Event{Kind: trace.KindStore, Addr: at, Size: 8, Data: data})
	}
	same := func(at mgpp.Timestamp) {
		t.Helper()
		v := h.At(at)
		for o := graph.ObjID(1); int(o) <= all.Objects(); o++ {
			want, got := all.AppendRefs(v, nil, o, nil), g.AppendRefs(v, nil, o, nil)
			byAddr := func(a, b graph.Ref) int { return cmp.Compare(a.Addr, b.Addr) }
			slices.SortFunc(want, byAddr)
			slices.SortFunc(got, byAddr)
			if !slices.EqualFunc(want, got, func(a, b graph.Ref) bool { return a.From == b.From && a.Addr == b.Addr && a.Off == b.Off }) {
				t.Fatalf("at %d, to %s: %v, want %v", at, g.Name(o), got, want)
			}
		}
	}
	const head = 0x1000
	apply(trace.Event{Kind: trace.KindAlloc, Name: "alloc node", Addr: head, Size: 16})
	last := trace.Addr(head)
	checked := h.Now()
	g.Follow()
	for i := range trace.Addr(200) {
		n := 0x2000 + 32*i
		apply(trace.Event{Kind: trace.KindAlloc, Name: "alloc node", Addr: n, Size: 16})
		put(n+8, head)
		put(last+8, n) // the last one led to the head
		last = n
		same(checked)
		same(h.Now())
		checked = h.Now()
		g.Follow()
	}
	if n := g.Past(1); n > 100 {
		t.Errorf("%d past edges to the head are kept", n)
	}
	for at := mgpp.Timestamp(0); at <= h.Now(); at += 7 {
		same(at)
	}
	if n := g.InChange(1, 300); n != all.InChange(1, 300) {
		t.Errorf("edges to the head changed at %d, want %d", n, all.InChange(1, 300))
	}
}

// A block of no bytes is no node, and tells nothing of what else was allocated there: the graph that is
// made anew has the same nodes under the same numbers.
func TestExactAfterEmptyBlock(t *testing.T) {
	const text = "struct node { long key; struct node *next; };\ntype node edges (next);\n"
	spec, h := graphtest.Spec(t, text, nil), mgpp.New(mgpp.Options{})
	g := graph.New(spec, h, typing{spec}, graph.Options{})
	if !g.Defer(2) {
		t.Fatal("nothing is put off")
	}
	apply := func(ev trace.Event) {
		ev.PC = 1
		if _, err := h.Apply(&ev); err != nil {
			t.Fatal(err)
		}
		g.Advance()
	}
	g.Follow()
	for i, size := range []uint64{16, 0, 16, 0, 16, 16} {
		at := 0x1000 + 32*trace.Addr(i)
		apply(trace.Event{Kind: trace.KindAlloc, Name: "alloc node", Addr: at, Size: size})
		if i%2 == 1 {
			apply(trace.Event{Kind: trace.KindFree, Name: "free", Addr: at})
		}
	}
	var want, got []graph.Object
	for o := graph.ObjID(1); int(o) <= g.Objects(); o++ {
		want = append(want, *g.Object(o))
	}
	g.Exact()
	for o := graph.ObjID(1); int(o) <= g.Objects(); o++ {
		got = append(got, *g.Object(o))
	}
	if len(want) != 4 || !slices.Equal(want, got) {
		t.Errorf("made anew it has %+v, before %+v", got, want)
	}
}
