package log

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/inline/layout"
	"mgtrace/trace"
)

// Many records at once say what each of them says alone: of stores of every form
// to a heap, static data, the stack, and across their bounds, with windows that
// open and close.
func TestPlainIsOne(t *testing.T) {
	static := []Range{{0x5000_0000, 0x5000_1003}, {0x5000_4000, 0x5000_4001}, {0x7fff_0000_0000, 0x7fff_0010_0000}}
	stack := Range{0x7ffd_0000_0000, 0x7ffd_0080_0000}
	edges := []uint64{0, 0x5000_0000, 0x5000_1003, 0x5000_4000, 0x5000_5000, 0x7fff_0000_0000, 0x7fff_0010_0000, 0x7ffd_0000_0000, 0x7ffd_0080_0000}
	forms := []int{sQuad, sLong, sByte, sIndex, sXchg, sCas, sVector, sPair, sTen, sGlobal}
	plan := testPlan()
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 2))
		strict := seed%4 == 3
		var records [][]byte
		for range 3 * batch {
			addr := edges[rng.IntN(len(edges))] + uint64(rng.IntN(300)) - 150
			if rng.IntN(3) == 0 {
				addr = 0x5000_8000 + rng.Uint64N(1<<30)
			}
			r := storeRecord{index: forms[rng.IntN(len(forms))], addr: addr, value: make([]byte, 64), base: rng.Uint64(), wrote: rng.IntN(2) == 0}
			for i := range r.value {
				r.value[i] = byte(rng.Uint32())
			}
			records = append(records, r.bytes(plan, strict))
			if rng.IntN(100) == 0 {
				lo := edges[rng.IntN(len(edges))]
				records = append(records, note(layout.NoteQuiet, uint32(rng.IntN(8)/7), lo, uint64(rng.IntN(2)*200), 0))
			}
		}
		var got [2]string
		var stats [2]Stats
		for i, pieces := range [][][]byte{{join(records...)}, records} {
			o := Options{Static: static}
			if i == 0 { // elsewhere each time
				o.Room = func(n int) []trace.StoreRec { return make([]trace.StoreRec, 0, n) }
			}
			m, s := merger(plan, strict, o)
			m.threads[1].stack = stack
			for _, p := range pieces {
				if err := m.Add(1, p, false); err != nil {
					t.Fatal(err)
				}
			}
			if err := m.Finish(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for _, line := range s.got {
				got[i] += line + "\n"
			}
			stats[i] = m.Stats()
		}
		if d := cmp.Diff(got[1], got[0]); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
		if d := cmp.Diff(stats[1], stats[0]); d != "" {
			t.Fatalf("seed %d: counts: %s", seed, d)
		}
		if stats[0].Filtered == 0 || stats[0].Failed == 0 || stats[0].Stores == 0 {
			t.Fatalf("seed %d: %+v", seed, stats[0])
		}
	}
}

// No tag leads to a form where there is none, of a damaged log neither.
func TestNoForm(t *testing.T) {
	for n := range 70 {
		plan := testPlan()
		stores := plan.Stores
		plan.Stores = nil
		for i := range n {
			plan.Stores = append(plan.Stores, stores[i%len(stores)])
		}
		forms := NewTable(plan, n%2 == 0).plain
		for i := range forms {
			f := &forms[i]
			if i < n && f.tag < layout.Special {
				continue
			}
			if m := len(forms) - 1; int(f.tag>>layout.WordsBits)&m == i {
				t.Errorf("%d stores: the tag %#x leads to form %d, which is none", n, f.tag, i)
			}
		}
	}
}
