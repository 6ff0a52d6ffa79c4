package graph_test

import (
	gocmp "cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"mgtrace/constraints/graph"
	"mgtrace/constraints/graph/graphtest"
	"mgtrace/mgpp"
	"mgtrace/trace"

	"github.com/google/go-cmp/cmp"
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
			byAddr := func(a, b graph.Ref) int { return gocmp.Compare(a.Addr, b.Addr) }
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

// Where a program writes more than there is to write to, nobody looks at its writes any more, and all pointers are
// looked at when the graph is asked for: they lead where they do if each write is looked at, whatever was born, ended
// and grew meanwhile, and what has changed is said. Before, and after few writes, each is looked at.
func TestOverlook(t *testing.T) {
	const text = "struct node { long key; struct node *next, *prev; };\ntype node edges (next, prev);\n"
	overlooked, looked := [2]int{}, 0 // by whether what has changed was asked for before
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 1))
		spec, h := graphtest.Spec(t, text, nil), mgpp.New(mgpp.Options{})
		g, all := graph.New(spec, h, typing{spec}, graph.Options{}), graph.New(spec, h, typing{spec}, graph.Options{})
		if !g.Defer(r.IntN(4)) {
			t.Fatal("nothing is put off")
		}
		apply := func(ev trace.Event) {
			ev.PC = 1
			if _, err := h.Apply(&ev); err != nil {
				t.Fatal(err)
			}
			g.Trail()
		}
		var live [5]trace.Addr
		next := trace.Addr(0x1000)
		for stretch := range 4 {
			for range []int{20, 200, 800, 2000}[r.IntN(4)] {
				i := r.IntN(len(live))
				switch k := r.IntN(200); {
				case live[i] == 0:
					live[i], next = next, next+64
					apply(trace.Event{Kind: trace.KindAlloc, Name: "alloc node", Addr: live[i], Size: 24})
				case k == 0:
					apply(trace.Event{Kind: trace.KindFree, Name: "free", Addr: live[i]})
					live[i] = 0
				case k == 1 && r.IntN(8) == 0:
					apply(trace.Event{Kind: trace.KindRealloc, Name: "realloc node", Aux: uint64(live[i]), Addr: live[i], Size: 24 + 8*uint64(r.IntN(4))})
				case k < 4:
					apply(trace.Event{Kind: trace.KindBulk, Name: "memset", Addr: live[i], Size: 24, Data: make([]byte, 24)})
				default:
					put(t, h, live[i]+8*trace.Addr(r.IntN(3)), live[r.IntN(len(live))])
					g.Trail()
				}
			}
			if looked++; g.Overlooks() {
				looked--
				overlooked[min(stretch, 1)]++
			}
			g.Advance()
			all.AdvanceSlowly()
			if g.Overlooks() {
				t.Fatal("it overlooks writes, and all has been looked at")
			}
			if d := cmp.Diff(edges(all, h.At(h.Now())), edges(g, h.At(h.Now()))); d != "" {
				t.Fatalf("seed %d, edges at %d (-each write +overlooked):\n%s", seed, h.Now(), d)
			}
			for o := graph.ObjID(1); int(o) <= all.Objects(); o++ {
				if want, got := *all.Object(o), *g.Object(o); want != got {
					t.Fatalf("seed %d: object %+v, want %+v", seed, got, want)
				}
			}
			for _, d := range all.Pending().Dirt {
				got := g.Pending().Find(d.Obj)
				if got == nil {
					got = &graph.Dirt{}
				}
				if !g.Pending().All && g.Alive(d.Obj, h.Now()) && (d.Mask&^got.Mask != 0 || d.Life && !got.Life) {
					t.Fatalf("seed %d, at %d, object %d changed: %+v, want %+v", seed, h.Now(), d.Obj, *got, d)
				}
			}
			g.Follow()
			all.Follow()
		}
	}
	if min(overlooked[0], overlooked[1], looked) < 10 {
		t.Errorf("writes were overlooked %d times, and looked at %d times: the test tests little", overlooked, looked)
	}
}

// Where a block is resized again and again, for which the graph must be as it is, more and more writes are looked at
// before none is.
func TestOverlookBroken(t *testing.T) {
	h, g := setup(t, nodes)
	if !g.Defer(0) {
		t.Fatal("nothing is put off")
	}
	alloc(t, h, "node", 0x2000, 24)
	var looked []int
	for i := range 8 {
		n := 0
		for ; !g.Overlooks() && n < 100_000; n++ {
			put(t, h, 0x2008, trace.Addr(n))
			g.Trail()
		}
		looked = append(looked, n)
		apply(t, h, trace.Event{Kind: trace.KindRealloc, Name: "realloc node", Aux: 0x2000, Addr: 0x2000, Size: uint64(32 + 8*(i%2))})
		g.Trail()
	}
	if first, last := looked[0], looked[len(looked)-1]; first < 10 || last < 64*first || last >= 100_000 {
		t.Errorf("so many writes were looked at before none was: %d", looked)
	}
}

// The write that makes the count of an object's owners 0 is looked at, however many there were before it.
func TestOverlookNoOwners(t *testing.T) {
	h, g := setup(t, nodes)
	if !g.Defer(0) {
		t.Fatal("nothing is put off")
	}
	alloc(t, h, "node@8", 0x2000, 32)
	put(t, h, 0x2000, 1<<32)
	for i := range trace.Addr(5000) {
		put(t, h, 0x2010, i)
		g.Trail()
	}
	put(t, h, 0x2000, 0)
	disowned := h.Now()
	put(t, h, 0x2010, 0)
	g.Advance()
	if o := g.Object(1); o.Death != disowned {
		t.Errorf("it died at %d, want %d", o.Death, disowned)
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
