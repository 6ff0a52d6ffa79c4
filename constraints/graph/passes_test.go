package graph_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"mgtrace/constraints/graph"
	"mgtrace/constraints/graph/graphtest"
	"mgtrace/mgpp"
	"mgtrace/trace"

	"github.com/google/go-cmp/cmp"
)

// What operations do to the graph that are passed by is what a look at each of them says, of nodes
// that calls make too: anywhere in blocks, over other nodes, in blocks that are freed, moved or
// shrunk around them; and, with odd seeds, apart from each other.
func TestPasses(t *testing.T) {
	apart := 0
	for seed := range uint64(240) {
		w := newMembersWorld(t, seed)
		for range 400 {
			w.step()
			if w.rnd.IntN(4) == 0 {
				w.fast.Advance()
			}
			if w.rnd.IntN(20) == 0 {
				w.compare()
			}
		}
		w.compare()
		for at := mgpp.Timestamp(0); at <= w.h.Now(); at++ {
			if d := cmp.Diff(edges(w.slow, w.h.At(at)), edges(w.fast, w.h.At(at))); d != "" {
				t.Fatalf("seed %d, edges at %d (-slow +fast):\n%s", seed, at, d)
			}
		}
		if w.fast.Apart() {
			apart++
		}
	}
	if apart < 40 || apart > 200 {
		t.Errorf("nodes that calls make lay apart %d times: the test tests little", apart)
	}
}

type membersWorld struct {
	t          *testing.T
	rnd        *rand.Rand
	h          *mgpp.History
	fast, slow *graph.Graph
	at         [6]trace.Addr // of blocks; 0: none
	sizes      [6]uint64
	next       trace.Addr
	entered    []trace.Addr
	apart      bool // nodes lie apart
}

func newMembersWorld(t *testing.T, seed uint64) *membersWorld {
	const text = `
struct node { long key; struct node *next, *prev; };
struct box { struct node *head; long n; };
type node edges (next, prev); type box edges (head);
enter node at push(1);
leave node at pop(1);
`
	w := &membersWorld{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), h: mgpp.New(mgpp.Options{}), next: 0x10000, apart: seed%2 != 0}
	spec := graphtest.Spec(t, text, nil)
	w.fast = graph.New(spec, w.h, typing{spec}, graph.Options{})
	w.slow = graph.New(spec, w.h, typing{spec}, graph.Options{})
	w.slow.Tangle()
	w.fast.Follow()
	w.slow.Follow()
	return w
}

// place is where a node is to begin, 0 if that is nowhere.
func (w *membersWorld) place() trace.Addr {
	if !w.apart {
		return w.somewhere()
	}
	if i := w.rnd.IntN(len(w.at)); w.at[i] != 0 && w.sizes[i] == 160 {
		return w.at[i] + trace.Addr(w.rnd.IntN(6))*24
	}
	return 0
}

// somewhere is an address in one of the blocks, of a word or not.
func (w *membersWorld) somewhere() trace.Addr {
	i := w.rnd.IntN(len(w.at))
	if w.at[i] == 0 {
		return 0x9000 + trace.Addr(w.rnd.IntN(8))*8 // where no block is
	}
	a := w.at[i] + trace.Addr(w.rnd.IntN(int(w.sizes[i]/8)))*8
	if w.rnd.IntN(10) == 0 {
		a += trace.Addr(w.rnd.IntN(8))
	}
	return a
}

// target is what a pointer may hold.
func (w *membersWorld) target() trace.Addr {
	switch n := len(w.entered); {
	case w.rnd.IntN(4) == 0:
		return 0
	case n > 0 && w.rnd.IntN(3) > 0:
		return w.entered[w.rnd.IntN(n)]
	}
	return w.somewhere()
}

func (w *membersWorld) step() {
	i := w.rnd.IntN(len(w.at))
	switch k := w.rnd.IntN(24); {
	case w.at[i] == 0:
		typ := [3]string{"node", "box", "bytes"}[w.rnd.IntN(3)]
		w.sizes[i] = map[string]uint64{"node": 24, "box": 16, "bytes": 160}[typ]
		at := w.next
		if w.rnd.IntN(3) == 0 && w.next > 0x10000 { // where another one was
			at = 0x10000 + trace.Addr(w.rnd.IntN(int(w.next-0x10000)))&^15
			for j, a := range w.at {
				if a != 0 && at < a+trace.Addr(w.sizes[j]) && a < at+trace.Addr(w.sizes[i]) {
					at = w.next
				}
			}
		}
		w.next = max(w.next, at+trace.Addr(w.sizes[i])+16) &^ 15
		w.at[i] = at
		alloc(w.t, w.h, typ, at, w.sizes[i])
	case k == 0:
		apply(w.t, w.h, trace.Event{Kind: trace.KindFree, Addr: w.at[i]})
		w.at[i] = 0
	case k == 1 && !w.apart:
		w.sizes[i] = max(16, w.sizes[i]-min(24, w.sizes[i]))
		apply(w.t, w.h, trace.Event{Kind: trace.KindRealloc, Aux: uint64(w.at[i]), Addr: w.at[i], Size: w.sizes[i], Name: "realloc bytes"})
	case k < 5:
		if a := w.place(); a != 0 {
			w.entered = append(w.entered, a)
			w.member(w.h.Enter, a)
		}
	case k < 7 && len(w.entered) > 0:
		w.member(w.h.Leave, w.entered[w.rnd.IntN(len(w.entered))])
	case k < 9:
		a := w.somewhere()
		apply(w.t, w.h, trace.Event{Kind: trace.KindBulk, Addr: a, Size: 24, Data: make([]byte, 24), Name: "memset"})
	case k < 11:
		apply(w.t, w.h, trace.Event{Kind: trace.KindStore, Addr: w.somewhere(), Size: 4, Data: []byte{1, 2, 3, 4}})
	case k < 17 && len(w.entered) > 0:
		put(w.t, w.h, w.entered[w.rnd.IntN(len(w.entered))]+trace.Addr(w.rnd.IntN(3))*8, w.target())
	default:
		put(w.t, w.h, w.somewhere(), w.target())
	}
}

func (w *membersWorld) member(f func(*trace.Event, trace.Addr, uint64, int) (mgpp.Timestamp, error), a trace.Addr) {
	if _, err := f(&trace.Event{Kind: trace.KindCall, PC: 1}, a, 24, 0); err != nil {
		w.t.Fatal(err)
	}
}

// compare looks at all objects, at what leads to them now and what has changed: of that the fast
// way may say more.
func (w *membersWorld) compare() {
	w.fast.Advance()
	w.slow.AdvanceSlowly()
	now := w.h.At(w.h.Now())
	if w.fast.Objects() != w.slow.Objects() {
		w.t.Fatalf("%d objects, want %d", w.fast.Objects(), w.slow.Objects())
	}
	for o := graph.ObjID(1); int(o) <= w.slow.Objects(); o++ {
		if slow, fast := *w.slow.Object(o), *w.fast.Object(o); slow != fast {
			w.t.Fatalf("at %d: object %+v, want %+v", w.h.Now(), fast, slow)
		}
	}
	if d := cmp.Diff(edges(w.slow, now), edges(w.fast, now)); d != "" {
		w.t.Fatalf("edges at %d (-slow +fast):\n%s", w.h.Now(), d)
	}
	for _, d := range w.slow.Pending().Dirt {
		got := w.fast.Pending().Find(d.Obj)
		if got == nil {
			got = &graph.Dirt{}
		}
		if d.Mask&^got.Mask != 0 || d.In && !got.In || d.Life && !got.Life {
			w.t.Fatalf("at %d, object %d changed: %+v, want %+v", w.h.Now(), d.Obj, *got, d)
		}
	}
	if p := w.slow.Pending(); p.Untyped && !w.fast.Pending().Untyped || p.All && !w.fast.Pending().All {
		w.t.Fatalf("at %d: changed more than is told", w.h.Now())
	}
	if w.rnd.IntN(3) == 0 {
		w.fast.Follow()
		w.slow.Follow()
	}
}

// A graph that coasts knows which objects there were, and what led where before.
func TestCoast(t *testing.T) {
	passed := false
	for seed := range uint64(40) {
		w := newMembersWorld(t, seed)
		var times []mgpp.Timestamp
		for range 200 {
			w.step()
			if w.rnd.IntN(8) == 0 {
				times = append(times, w.h.Now())
			}
		}
		w.fast.Advance()
		w.fast.Coast()
		w.slow.AdvanceSlowly()
		var before [][]string
		for _, at := range times {
			before = append(before, edges(w.slow, w.h.At(at)))
		}
		for range 400 {
			w.step()
			if w.rnd.IntN(20) == 0 {
				w.fast.Advance()
			}
		}
		w.fast.Advance()
		w.slow.AdvanceSlowly()
		if w.fast.Objects() != w.slow.Objects() {
			t.Fatalf("seed %d: %d objects, want %d", seed, w.fast.Objects(), w.slow.Objects())
		}
		for o := graph.ObjID(1); int(o) <= w.slow.Objects(); o++ {
			if slow, fast := *w.slow.Object(o), *w.fast.Object(o); slow != fast {
				t.Fatalf("seed %d: object %+v, want %+v", seed, fast, slow)
			}
		}
		for i, at := range times {
			if d := cmp.Diff(before[i], edges(w.fast, w.h.At(at))); d != "" {
				t.Fatalf("seed %d: edges at %d (-want +got):\n%s", seed, at, d)
			}
		}
		now := w.h.At(w.h.Now())
		passed = passed || !slices.Equal(edges(w.slow, now), edges(w.fast, now))
	}
	if !passed {
		t.Error("no write was passed by")
	}
}

// The dirt of an object is found among as many as there are, after each time they are forgotten.
func TestChanges(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var c graph.Changes
	for round := range 200 {
		c.Reset()
		want := map[graph.ObjID]uint64{}
		n, most := rnd.IntN(1<<rnd.IntN(12)), 1+rnd.IntN(1<<14)
		for range n {
			o := graph.ObjID(1 + rnd.IntN(most))
			want[o]++
			c.Of(o).Mask++
		}
		for o := range graph.ObjID(most + 2) {
			d := c.Find(o)
			if k := want[o]; (d != nil) != (k > 0) || d != nil && (d.Obj != o || d.Mask != k) {
				t.Fatalf("round %d: object %d has %+v, want %d", round, o, d, k)
			}
		}
		if len(c.Dirt) != len(want) {
			t.Fatalf("round %d: %d dirty objects, want %d", round, len(c.Dirt), len(want))
		}
	}
}
