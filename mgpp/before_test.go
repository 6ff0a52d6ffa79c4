package mgpp

import (
	"encoding/binary"
	"testing"

	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

// before makes a history that finds blocks of some sizes at some addresses, each
// of which points to the next one.
func before(t *testing.T, sizes map[trace.Addr]uint64, order ...trace.Addr) *History {
	t.Helper()
	h := New(Options{})
	for _, a := range order {
		apply(t, h, &trace.Event{Kind: trace.KindAlloc, Flags: trace.FlagBefore, Addr: a, Size: sizes[a], Name: "malloc"})
	}
	for i, a := range order {
		data := make([]byte, sizes[a])
		binary.LittleEndian.PutUint64(data, uint64(order[(i+1)%len(order)]))
		for j := 8; j < len(data); j++ {
			data[j] = byte(j)
		}
		apply(t, h, &trace.Event{Kind: trace.KindImage, Addr: a, Size: sizes[a], Data: data})
	}
	return h
}

func apply(t *testing.T, h *History, ev *trace.Event) {
	t.Helper()
	if _, err := h.Apply(ev); err != nil {
		t.Fatal(err)
	}
}

// Blocks that were there before live from time 0 on, made by no operation, with
// the bytes of the image, and their pointers lead to each other.
func TestBefore(t *testing.T) {
	// Part of a page, pages as a whole, more than a page has owners for.
	sizes := map[trace.Addr]uint64{0x10010: 24, 0x10030: 40, 0x20010: 3*pageSize + 8, 0x40000: 2 * pageSize, 0x1000_0000: hugeSize + 16}
	order := []trace.Addr{0x10010, 0x10030, 0x20010, 0x40000, 0x1000_0000}
	h := before(t, sizes, order...)
	if h.Now() != 0 {
		t.Fatalf("%d operations", h.Now())
	}
	for i, a := range order {
		for _, off := range []uint64{0, 8, sizes[a] / 2, sizes[a] - 1} {
			id, ok := h.NodeAtTime(a+trace.Addr(off), 0)
			n := h.Node(id)
			if !ok || n.Start != a || !n.Before || n.Birth != 0 || n.Size != sizes[a] {
				t.Fatalf("at %#x+%d: %+v", a, off, n)
			}
		}
		if _, ok := h.NodeAtTime(a+trace.Addr(sizes[a]), 0); ok {
			t.Errorf("a node behind %#x", a)
		}
		b := Bytes{Data: make([]byte, 3), Written: make([]bool, 3)}
		if !h.At(0).Read(a+9, &b) || b.Data[0] != 9 || !b.Written[2] || b.Newest != 0 {
			t.Errorf("bytes at %#x: %+v", a, b)
		}
		next := order[(i+1)%len(order)]
		if to := h.At(0).Target(a, coded.Plain); to.State != Points || h.Node(to.Node).Start != next {
			t.Errorf("%#x leads to %+v, want %#x", a, to, next)
		}
	}
}

// What happens to such a block later.
func TestBeforeAndAfter(t *testing.T) {
	const a, b, c = 0x10010, 0x10030, 0x20010
	h := before(t, map[trace.Addr]uint64{a: 24, b: 40, c: 5000}, a, b, c)
	apply(t, h, &trace.Event{Kind: trace.KindStore, Addr: a + 8, Size: 1, Data: []byte{0xff}})
	apply(t, h, &trace.Event{Kind: trace.KindFree, Addr: b})
	if to := h.At(h.Now()).Target(a, coded.Plain); to.State != Dangling {
		t.Errorf("a freed block: %+v", to)
	}
	if to := h.At(1).Target(a, coded.Plain); to.State != Points {
		t.Errorf("before that: %+v", to)
	}
	// A new block in its place has nothing of its bytes.
	apply(t, h, &trace.Event{Kind: trace.KindAlloc, Addr: b, Size: 40, Name: "malloc"})
	got := Bytes{Data: make([]byte, 8), Written: make([]bool, 8)}
	if !h.At(h.Now()).Read(b, &got) || got.Written[0] {
		t.Errorf("a new block has the bytes of the one before: %+v", got)
	}
	// Moved, it keeps them.
	apply(t, h, &trace.Event{Kind: trace.KindRealloc, Aux: a, Addr: 0x30010, Size: 64, Name: "realloc"})
	got = Bytes{Data: make([]byte, 24), Written: make([]bool, 24)}
	if !h.At(h.Now()).Read(0x30010, &got) || got.Data[8] != 0xff || got.Data[9] != 9 || !got.Written[23] {
		t.Errorf("moved: %+v", got)
	}
	// Grown in place, what is new is not the image's.
	apply(t, h, &trace.Event{Kind: trace.KindImage, Addr: c + 5000, Size: 8, Data: make([]byte, 8)})
	apply(t, h, &trace.Event{Kind: trace.KindRealloc, Aux: c, Addr: c, Size: 5100, Name: "realloc"})
	got = Bytes{Data: make([]byte, 16), Written: make([]bool, 16)}
	if !h.At(h.Now()).Read(c+4992, &got) || !got.Written[7] || got.Written[8] {
		t.Errorf("grown: %+v", got)
	}
	// One that was on its way to being free when it was found is no missed free.
	apply(t, h, &trace.Event{Kind: trace.KindAlloc, Addr: c, Size: 16, Name: "malloc"})
	if n := len(h.Anomalies()); n != 0 {
		t.Errorf("anomalies: %+v", h.Anomalies())
	}
}
