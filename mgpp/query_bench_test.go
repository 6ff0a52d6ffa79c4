package mgpp

import (
	"flag"
	"math/rand/v2"
	"testing"

	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

var changes = flag.Int("changes", 1<<24, "length of the history of BenchmarkQuery")

// scattered is a long history: a quarter of a million nodes of 48 bytes, whose
// words are written the oftener the lower their number; a thousand are freed
// and born again and again. It calls f after each batch.
func scattered(tb testing.TB, n int, f func(*History)) *History {
	h := New(Options{})
	rnd := rand.New(rand.NewPCG(1, 2))
	alloc := func(i int) {
		e := trace.Event{Kind: trace.KindAlloc, Thread: 1, Wall: -1, PC: 0x400, Addr: nodeOf(i), Size: 48, Name: "malloc"}
		if _, err := h.Apply(&e); err != nil {
			tb.Fatal(err)
		}
	}
	for i := range scatteredNodes {
		alloc(i)
	}
	batch := make([]Store, 1<<12)
	for int(h.Now()) < n {
		for k := range batch {
			base := nodeOf(scatter(rnd))
			field := trace.Addr(rnd.IntN(6))
			batch[k] = Store{PC: 0x500 + field, Thread: 1, Addr: base + 8*field, Base: base, Width: 8, Value: uint64(nodeOf(scatter(rnd)))}
			if field == 5 {
				batch[k].Width, batch[k].Value = 4, uint64(k)
			}
		}
		if _, err := h.ApplyStores(batch); err != nil {
			tb.Fatal(err)
		}
		i := scatteredNodes - 1 - rnd.IntN(1000)
		if _, err := h.Apply(&trace.Event{Kind: trace.KindFree, Thread: 1, Wall: -1, PC: 0x401, Addr: nodeOf(i)}); err != nil {
			tb.Fatal(err)
		}
		alloc(i)
		f(h)
	}
	return h
}

const scatteredNodes = 1 << 18

func nodeOf(i int) trace.Addr { return 0x5555_5000_0000 + 64*trace.Addr(i) }

// scatter draws a node: the k-th part of them as often as the rest together.
func scatter(rnd *rand.Rand) int { return rnd.IntN(1 + rnd.IntN(1+rnd.IntN(scatteredNodes))) }

// BenchmarkQuery asks a long history about random cells at random times.
func BenchmarkQuery(b *testing.B) {
	h := scattered(b, *changes, func(*History) {})
	s := h.Stats()
	b.Logf("%d changes, %.1f bytes each", s.Ops, float64(s.Bytes)/float64(s.Ops))
	rnd := rand.New(rand.NewPCG(3, 4))
	cell := func() trace.Addr { return nodeOf(scatter(rnd)) + trace.Addr(8*rnd.IntN(6)) }
	when := func() Timestamp { return Timestamp(1 + rnd.Uint64N(uint64(h.Now()))) }
	for _, q := range []struct {
		name string
		ask  func()
	}{
		{"who", func() { h.Op(h.LastWrite(cell(), 8, when())) }},
		{"who-hot", func() { h.Op(h.LastWrite(nodeOf(0), 8, when())) }},
		{"next", func() { h.NextWrite(cell(), 8, when()) }},
		{"target", func() { h.At(when()).Target(cell(), coded.Plain) }},
		{"target-now", func() { h.At(h.Now()).Target(cell(), coded.Plain) }},
		{"read", func() { h.At(when()).Read(nodeOf(scatter(rnd)), &Bytes{Data: make([]byte, 48)}) }},
		{"node-at", func() { h.NodeAtTime(nodeOf(scatteredNodes-1-rnd.IntN(1000)), when()) }},
		{"change", func() { h.Change(when()) }},
		{"snapshot", func() { // the first of its nodes, and what one of its cells leads to
			v := h.At(when())
			for id := range h.Live(v.Time()) {
				n, _ := v.Node(id)
				v.Target(n.Start, coded.Plain)
				break
			}
		}},
		{"live", func() { // all of them
			for range h.Live(when()) {
			}
		}},
	} {
		b.Run(q.name, func(b *testing.B) {
			for b.Loop() {
				q.ask()
			}
		})
	}
}
