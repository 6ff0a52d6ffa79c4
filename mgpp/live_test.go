package mgpp

import (
	"math/rand/v2"
	"slices"
	"testing"

	"mgtrace/trace"
)

// TestLive compares the index with a look at every node.
func TestLive(t *testing.T) {
	h := New(Options{})
	rnd := rand.New(rand.NewPCG(1, 2))
	var live []trace.Addr
	apply := func(e trace.Event) {
		if _, err := h.Apply(&e); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 6000 {
		// It grows, shrinks to little, and grows again.
		if most := []int{3000, 5, 800}[i/2000]; len(live) < most && (rnd.IntN(3) > 0 || len(live) == 0) {
			a := trace.Addr(0x100000 + i*32)
			live = append(live, a)
			apply(trace.Event{Kind: trace.KindAlloc, Addr: a, Size: 16})
		} else {
			k := rnd.IntN(len(live))
			apply(trace.Event{Kind: trace.KindFree, Addr: live[k]})
			live = slices.Delete(live, k, k+1)
		}
	}
	for at := Timestamp(0); at <= h.Now(); at += 37 {
		var want []NodeID
		for n := range h.Nodes() {
			if n.Birth <= at && (n.Death == 0 || at < n.Death) {
				want = append(want, n.ID)
			}
		}
		if got := slices.Collect(h.Live(at)); !slices.Equal(got, want) {
			t.Fatalf("at %d: %d nodes, want %d", at, len(got), len(want))
		}
	}
	for range h.Live(h.Now()) {
		break // a reader may stop
	}
}

// TestLiveIsCheap: of a million nodes that came and went the index shows few.
func TestLiveIsCheap(t *testing.T) {
	var l lifetimes
	const n = 1 << 20
	for id := NodeID(1); id <= n; id++ {
		l.born(id)
		if id > 10 {
			l.died(id-10, uint32(id))
		}
	}
	for _, at := range []uint32{0, 11, 5000, n / 2, n - 1, n} {
		groups := 0
		l.each(at, at>>groupBits, func(g uint32) bool {
			groups++
			return true
		})
		if groups > 3 {
			t.Errorf("at %d: %d groups of nodes", at, groups)
		}
	}
}
