package mgpp

import (
	"math/rand/v2"
	"slices"
	"testing"

	"mgtrace/trace"
)

// TestCarried: what a move has that does not look through others is what byte by byte is read of the old block: random
// stores of all widths, of known and unknown bytes, in blocks of several pages that are
// resized in place, moved back and forth over each other's memory, and zeroed or not at birth.
func TestCarried(t *testing.T) {
	copied := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		h := New(Options{})
		apply := applier(t, h)
		size, at := uint64(3000+r.IntN(20000)), 0
		place := func() trace.Addr { return trace.Addr(0x100000 + 0x100000*(at%3) + 16*int(seed%4)) }
		birth := trace.Event{Kind: trace.KindAlloc, Addr: place(), Size: size, Name: "calloc"}
		if seed%2 == 0 {
			birth.Flags = trace.FlagZeroed
		}
		apply(birth)
		for range 60 {
			for range r.IntN(20) {
				n := []uint64{1, 2, 4, 8, 8, 32, 700, 9000}[r.IntN(8)]
				n = min(n, size)
				ev := trace.Event{Kind: trace.KindBulk, Size: n, Name: "read", Addr: place() + trace.Addr(r.Uint64N(size-n+1))}
				ev.Data = make([]byte, n)
				for i := range ev.Data {
					ev.Data[i] = byte(r.Uint32())
				}
				switch {
				case n > 64 && r.IntN(2) == 0:
					ev.Data = ev.Data[:r.IntN(int(n))] // the rest is unknown
				case n <= 8:
					ev.Kind, ev.Name = trace.KindStore, ""
				}
				apply(ev)
			}
			from := place()
			if r.IntN(3) > 0 {
				at++
			}
			size = max(size/2, 100) + r.Uint64N(size)
			size = min(size, 40000)
			apply(trace.Event{Kind: trace.KindRealloc, Addr: place(), Aux: uint64(from), Size: size, Name: "realloc"})
		}
		for i := range h.ops.moves {
			m := &h.ops.moves[i]
			if m.behind > 0 {
				continue
			}
			copied++
			old := h.nodes.at(m.old)
			b := Bytes{Data: make([]byte, m.size)}
			times := make([]uint32, m.size)
			h.readNode(m.old, 0, &b, old.death-1, nil, times)
			h.origins(times, old.start)
			data, known := make([]byte, m.size), make([]bool, m.size)
			h.carried(m, 0, data, known)
			if !slices.Equal(data, b.Data) || !slices.Equal(known, b.Written) {
				t.Fatalf("seed %d, move %d: other bytes than the block had", seed, i)
			}
			for off, stored := range times {
				if run := m.runs[m.runAt(uint64(off))]; run.origin() != stored || run.known() != b.Written[off] {
					t.Fatalf("seed %d, move %d: byte %d was stored at %d, known %v; carried as %d, %v", seed, i, off, stored, b.Written[off], run.origin(), run.known())
				}
			}
			for k := 1; k < len(m.runs); k++ {
				if m.runs[k].stored == m.runs[k-1].stored && m.runs[k].node == m.runs[k-1].node {
					t.Errorf("seed %d, move %d: two runs of one time side by side", seed, i)
				}
			}
		}
	}
	if copied == 0 {
		t.Error("no move has runs")
	}
}

// BenchmarkMovedArray is the build of a block of 300 KB that is moved at each step and written
// a little: what an allocator that maps large blocks elsewhere does to a growing array.
func BenchmarkMovedArray(b *testing.B) {
	h := New(Options{})
	const size = 300_000
	place := func(i int) trace.Addr { return trace.Addr(0x1000_0000 + 0x100_0000*(i%2)) }
	apply := func(ev trace.Event) {
		if _, err := h.Apply(&ev); err != nil {
			b.Fatal(err)
		}
	}
	apply(trace.Event{Kind: trace.KindAlloc, Addr: place(0), Size: size, Name: "malloc"})
	apply(trace.Event{Kind: trace.KindBulk, Addr: place(0), Size: size, Data: make([]byte, size), Name: "memset"})
	i := 0
	for b.Loop() {
		i++
		apply(trace.Event{Kind: trace.KindRealloc, Addr: place(i), Aux: uint64(place(i - 1)), Size: size, Name: "realloc"})
		apply(trace.Event{Kind: trace.KindStore, Addr: place(i) + trace.Addr(i%1000*8), Size: 8, Data: make([]byte, 8)})
	}
}
