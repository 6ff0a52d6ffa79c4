package contents

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"mgtrace/trace"
)

// A block set is a map from addresses to sizes.
func TestBlockSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 7))
	b, want := NewSet(), map[trace.Addr]uint64{}
	if err := b.Sites([]trace.StoreSite{{PC: 1, Width: 8}, trace.AllocSite(trace.KindAlloc, 0, "malloc", 1, nil)}); err != nil {
		t.Fatal(err)
	}
	if err := b.Calls([]trace.StoreSite{trace.AllocSite(trace.KindFree, 0, "free", 1, nil)}); err != nil {
		t.Fatal(err)
	}
	starts := []trace.Addr{0, 0x5555_5555_0000, 0x7fff_bfff_ff00, 0xffff_ffff_ffff_f000}
	for range 20_000 {
		at := func() trace.Addr {
			a := starts[rng.IntN(len(starts))] + 16*trace.Addr(rng.IntN(100))
			if rng.IntN(8) == 0 {
				a++
			}
			return a
		}
		ev := trace.Event{Addr: at(), Size: uint64(rng.IntN(100)), Aux: uint64(at())}
		if rng.IntN(20) == 0 {
			ev.Size = math.MaxUint32 - 1 + uint64(rng.IntN(3))
		}
		switch rng.IntN(4) {
		case 0:
			ev.Kind = trace.KindRealloc
			delete(want, trace.Addr(ev.Aux))
			want[ev.Addr] = ev.Size
		case 1:
			ev.Kind = trace.KindAlloc
			want[ev.Addr] = ev.Size
		default:
			ev.Kind = trace.KindFree
			delete(want, ev.Addr)
		}
		if ev.Kind != trace.KindRealloc && rng.IntN(2) == 0 { // in a run
			rec := trace.StoreRec{Site: 1, Addr: uint64(ev.Addr), Value: ev.Size}
			if ev.Kind == trace.KindFree {
				rec.Site, rec.Value = 2, 0
			}
			run := trace.Stores{Calls: 1, Allocs: []int32{1}, Recs: []trace.StoreRec{{Addr: uint64(at()), Value: 1}, rec}}
			if err := b.Stores(&run); err != nil {
				t.Fatal(err)
			}
		} else if err := b.Event(&ev); err != nil {
			t.Fatal(err)
		}
		if a := at(); b.Size(a) != want[a] {
			t.Fatalf("size at %#x: %d, not %d", a, b.Size(a), want[a])
		}
	}
	if got := b.Addrs(); len(got) == 0 || !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Errorf("%d blocks: %x\nwant %d", len(got), got, len(want))
	}
}
