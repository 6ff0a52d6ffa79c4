package mgpp

import (
	"math/rand/v2"
	"testing"

	"mgtrace/trace"
)

// TestInstants: operations have the instants of their events, also where runs of
// stores lie between, which have some or none.
func TestInstants(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	h := New(Options{})
	want := map[Timestamp]trace.Instant{}
	apply := func(e trace.Event) {
		at, err := h.Apply(&e)
		if err != nil {
			t.Fatal(err)
		}
		want[at] = e.Instant
	}
	apply(trace.Event{Kind: trace.KindAlloc, Addr: 4096, Size: 64})
	sites := []trace.StoreSite{{PC: 7, Width: 8}}
	at := trace.Instant(0)
	for range 3 * chunkOps {
		if rnd.IntN(3) == 0 {
			run := trace.Stores{Wall: -1, Recs: []trace.StoreRec{{Addr: 4104, Value: 3}, {Addr: 4112, Value: 4}}}
			if rnd.IntN(2) == 0 {
				run.Instants = []trace.Instant{at + 1, at + 5}
				at += 5
			}
			if _, err := h.ApplyRun(&run, sites); err != nil {
				t.Fatal(err)
			}
			want[h.Now()-1], want[h.Now()] = run.InstantOf(0), run.InstantOf(1)
			continue
		}
		at += trace.Instant(rnd.Uint64N(1 << (1 + rnd.IntN(36))))
		apply(trace.Event{Kind: trace.KindStore, Addr: 4096, Size: 8, Data: make([]byte, 8), Wall: -1, Instant: at})
	}
	for op, instant := range want {
		if got := h.Op(op).Instant; got != instant {
			t.Fatalf("operation %d: instant %d instead of %d", op, got, instant)
		}
	}
}
