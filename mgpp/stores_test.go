package mgpp

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/trace"
)

// TestApplyStores: runs of stores make the history that their events make.
func TestApplyStores(t *testing.T) {
	odd := newProgram()
	a, b := odd.malloc(0x40, 100), odd.malloc(0x41, 5000)
	for i, s := range []Store{
		{Addr: trace.Addr(a), Value: 1<<64 - 1, Width: 8},
		{Addr: trace.Addr(a + 3), Value: 0x1122334455667788, Width: 8},
		{Addr: trace.Addr(a + 97), Value: 0x1122334455667788, Width: 8},             // over the end
		{Addr: trace.Addr(a + 16), Value: 0xaabbccddee, Width: 5, Base: 0xffff},     // far
		{Addr: trace.Addr(a + 24), Value: 0xaabbccddeeff, Width: 2},                 // upper bytes are none
		{Addr: trace.Addr(b + 4000), Base: trace.Addr(b), Value: 1, Width: 8},       // the node's start
		{Addr: trace.Addr(b + 4000), Base: trace.Addr(b + 8), Value: 2, Width: 8},   // not quite
		{Addr: trace.Addr(b + 4090), Base: trace.Addr(b), Value: 1 << 40, Width: 8}, // over a page
		{Addr: trace.Addr(a), Value: uint64(b), Width: 8, Flags: trace.FlagAtomic, Thread: 9},
		{Addr: 0x7fff_0000_0000, Value: 3, Width: 8},                      // a stack
		{Addr: 0x7fff_0000_0000, Base: trace.Addr(a), Value: 3, Width: 8}, // out of a node
		{PC: 1<<63 | 0x42, Addr: trace.Addr(a), Value: 4, Width: 4},       // statements that can not be
		{PC: 1<<59 | 0x42, Addr: trace.Addr(a), Value: 4, Width: 4},       // whose bits are used elsewhere
		{PC: 0x42, Addr: trace.Addr(a), Value: 4, Width: 4},
		{Addr: 1<<64 - 4, Value: 4, Width: 8},
		{Addr: trace.Addr(a)},
	} {
		if s.PC == 0 {
			s.PC = trace.Addr(0x1000 + i)
		}
		odd.store(s)
		odd.store(s)
	}
	odd.release(0x43, a)
	odd.put(0x44, a, 8, 5, 8) // after the free
	odd.malloc(0x45, 100)
	for name, p := range map[string]tape{
		"odd": odd.tape, "trees": trees(20_000, 300), "table": table(20_000, 500), "matrix": matrix(20_000, 700), "queue": queue(20_000, 40),
	} {
		x, y := New(Options{}), New(Options{})
		p.runs(t, x)
		p.one(func(e *trace.Event) {
			if _, err := y.Apply(e); err != nil {
				t.Fatal(err)
			}
		})
		if d := cmp.Diff(slices.Collect(y.Ops(1, y.Now())), slices.Collect(x.Ops(1, x.Now()))); d != "" {
			t.Errorf("%s: operations (-events +runs)\n%s", name, d)
		}
		if d := cmp.Diff(y.Anomalies(), x.Anomalies()); d != "" {
			t.Errorf("%s: anomalies (-events +runs)\n%s", name, d)
		}
		if x.Stats() != y.Stats() {
			t.Errorf("%s: %+v and %+v", name, x.Stats(), y.Stats())
		}
		p.check(t, name, x)
	}
}

// check holds each store's operation and the bytes after it to the tape.
func (p tape) check(t *testing.T, name string, h *History) {
	t.Helper()
	at := Timestamp(0)
	for _, s := range p {
		for _, x := range s.stores {
			op := h.Op(at + 1)
			if op.Kind != OpStore || op.PC != x.PC || op.Addr != x.Addr || op.Size != uint64(x.Width) {
				continue // it was dropped
			}
			at++
			if op.Base != x.Base || op.Thread != x.Thread || op.Flags != x.Flags || op.Wall != -1 {
				t.Fatalf("%s: %+v became %+v", name, x, op)
			}
			for i, b := range h.Change(at)[0].New.Data {
				if b != byte(x.Value>>(8*i)) {
					t.Fatalf("%s: %+v wrote % x", name, x, h.Change(at)[0].New.Data)
				}
			}
			if op.Node != 0 && h.LastWrite(x.Addr, uint64(x.Width), at) != at {
				t.Fatalf("%s: %+v is not the last write", name, x)
			}
		}
		for s.event != nil && at < h.Now() {
			if k := h.Op(at + 1).Kind; k != OpBirth && k != OpDeath {
				break
			}
			at++
		}
	}
	if at != h.Now() {
		t.Errorf("%s: %d of %d operations are on the tape", name, at, h.Now())
	}
}

// TestStatsBytes holds what Stats says of the memory to what the heap says.
func TestStatsBytes(t *testing.T) {
	p := trees(1<<20, 5000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	h := New(Options{})
	p.runs(t, h)
	runtime.GC()
	runtime.ReadMemStats(&after)
	said, real := float64(h.Stats().Bytes), float64(after.HeapAlloc)-float64(before.HeapAlloc)
	if said < 0.9*real || said > 1.1*real {
		t.Errorf("%.0f bytes said, %.0f on the heap", said, real)
	}
	t.Logf("%.2f bytes a change on the heap, %.2f said", real/float64(h.Now()), said/float64(h.Now()))
	runtime.KeepAlive(p)
}

// TestApplyRun: the runs of a trace make the history that their events make.
func TestApplyRun(t *testing.T) {
	sites := []trace.StoreSite{
		{PC: 0x40, Width: 8, Base: trace.BaseOffset, Disp: 8},
		{PC: 0x41, Width: 4, Base: trace.BaseOwn, Flags: trace.FlagAtomic},
		{PC: 0x42, Width: 16},
		{PC: 0x43, Width: 1, Base: trace.BaseNone},
	}
	moved := slices.Clone(sites) // of another recording
	for i := range moved {
		moved[i].PC += 0x100
	}
	rnd := rand.New(rand.NewPCG(8, 9))
	x, y := New(Options{}), New(Options{})
	for i := range 300 {
		if i%7 == 6 {
			sites, moved = moved, sites
		}
		run := trace.Stores{Thread: trace.ThreadID(1 + rnd.IntN(2)), Wall: rnd.Int64N(4) - 1, Wide: make([]byte, 64)}
		for i := range run.Wide {
			run.Wide[i] = byte(rnd.Uint32())
		}
		for range rnd.IntN(20) {
			r := trace.StoreRec{Site: rnd.Uint32N(uint32(len(sites))), Addr: 0x10000 + rnd.Uint64N(0x3000), Base: 0x10000, Value: rnd.Uint64N(48)}
			if sites[r.Site].Width <= 8 { // else it is an offset
				r.Value |= rnd.Uint64N(3) << 32
			}
			run.Recs = append(run.Recs, r)
		}
		if n, err := x.ApplyRun(&run, sites); n != len(run.Recs) || err != nil {
			t.Fatal(n, err)
		}
		block := trace.Event{Kind: trace.KindAlloc, Wall: 7, Addr: trace.Addr(0x10000 + 32*rnd.Uint64N(0x180)), Size: 48}
		var e trace.Event
		for i := range run.Recs {
			run.Event(i, sites, &e)
			if _, err := y.Apply(&e); err != nil {
				t.Fatal(err)
			}
		}
		for _, h := range []*History{x, y} {
			if _, err := h.Apply(&block); err != nil {
				t.Fatal(err)
			}
		}
	}
	if d := cmp.Diff(slices.Collect(y.Ops(1, y.Now())), slices.Collect(x.Ops(1, x.Now()))); d != "" || x.Stats() != y.Stats() {
		t.Errorf("(-events +runs)\n%s", d)
	}
	for addr := trace.Addr(0x10000); addr < 0x13000; addr += 8 {
		for _, at := range []Timestamp{x.Now() / 2, x.Now()} {
			v, since := x.Word(addr, at)
			if w, also := y.Word(addr, at); v != w || since != also {
				t.Errorf("at %d, %#x holds %#x since %d, not %#x since %d", at, uint64(addr), v, since, w, also)
			}
		}
	}
	bad := trace.Stores{Recs: []trace.StoreRec{{Site: 4}}}
	if n, err := x.ApplyRun(&bad, sites); n != 0 || err == nil || errors.Is(err, ErrFull) {
		t.Error(n, err)
	}
}

func TestClocks(t *testing.T) {
	long := make([]int64, 3*chunkOps)
	for i := range long {
		long[i] = int64(i / 5000 * 7)
	}
	for _, walls := range [][]int64{
		{5, 6, 7}, {-1, 5, 6}, {5, -1, 6}, {-1, -1}, {5, 5, 5, 6, 6, -1, -1, 6, 5}, {5, 1 << 40, 1 << 40, 6, -1, 3, 1 << 50}, long,
	} {
		var w clocks
		for i, x := range walls {
			w.set(uint32(i+1), x)
		}
		for i, x := range walls {
			if got := w.get(uint32(i + 1)); got != x {
				t.Fatalf("%d of %d: %d, want %d", i, len(walls), got, x)
			}
		}
	}
	var w clocks
	for i, x := range long {
		w.set(uint32(i+1), x)
	}
	if n := w.bytes(); n > 1000 {
		t.Errorf("clocks of ten runs take %d bytes", n)
	}
}

// Memory that is cleared takes no more than any store, wherever it lies; what is written so and is not all zeros, or
// not all known, is kept as it is.
func TestZeros(t *testing.T) {
	h := New(Options{})
	write := func(addr trace.Addr, size int, data []byte) {
		t.Helper()
		if _, err := h.Apply(&trace.Event{Kind: trace.KindBulk, Addr: addr, Size: uint64(size), Data: data, Wall: -1}); err != nil {
			t.Fatal(err)
		}
	}
	const start, size = 0x10000 - 100, 10_000
	if _, err := h.Apply(&trace.Event{Kind: trace.KindAlloc, Addr: start, Size: size, Wall: -1}); err != nil {
		t.Fatal(err)
	}
	for i := range trace.Addr(60) { // over the end of a page, too
		write(start+i*3, 120, make([]byte, 120))
	}
	write(start+400, len(zeros), make([]byte, len(zeros)))
	write(start+400, 40, make([]byte, 40))
	if n, words := h.ops.wides.len(), h.ops.words.n; n != 0 || words != 0 {
		t.Errorf("%d long writes and %d words are kept, want none", n, words)
	}
	ends := append(make([]byte, 119), 7)
	write(start+5004, 120, ends)
	write(start+5200, 120, make([]byte, 60))
	write(start+6000, 4000, make([]byte, 4000))
	b := Bytes{Data: make([]byte, size), Written: make([]bool, size)}
	if !h.At(h.Now()).Read(start, &b) {
		t.Fatal("the block can not be read")
	}
	for i := range b.Data {
		written := i < 297 || i >= 400 && i < 400+len(zeros) || i >= 5004 && i < 5124 || i >= 5200 && i < 5260 || i >= 6000
		if b.Written[i] != written || b.Data[i] != map[bool]byte{true: 7}[i == 5123] {
			t.Fatalf("byte %d is %d, written %v", i, b.Data[i], b.Written[i])
		}
	}
	if v, at := h.Word(start+404, h.Now()); v != 0 || at != 63 {
		t.Errorf("the word of the last zeros is %d, stored at %d", v, at)
	}
	if v, _ := h.Word(start+5116, h.Now()); v != 7<<56 {
		t.Errorf("the word of what is not all zeros is %#x", v)
	}
}
