package mgpp

import (
	"slices"
	"testing"

	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

// TestManyMoves: the bytes of a block that is moved many times are those that were stored, at
// all times, and so are the times of their storing, however many moves lie between.
func TestManyMoves(t *testing.T) {
	h := New(Options{})
	apply := func(ev trace.Event) Timestamp {
		at, err := h.Apply(&ev)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	const size = 64
	place := func(i int) trace.Addr { return trace.Addr(0x10000 + 0x1000*i) }
	apply(trace.Event{Kind: trace.KindAlloc, Addr: 0x8000, Size: 16, Name: "malloc"}) // what is pointed to
	apply(trace.Event{Kind: trace.KindAlloc, Addr: place(0), Size: size, Name: "malloc"})
	stored := apply(trace.Event{Kind: trace.KindStore, Addr: place(0) + 8, Size: 8, Data: []byte{0, 0x80, 0, 0, 0, 0, 0, 0}})

	type state struct {
		at      Timestamp
		addr    trace.Addr
		data    [size]byte
		written [size]bool
	}
	now := state{addr: place(0)}
	now.data[9] = 0x80
	for i := range 8 {
		now.written[8+i] = true
	}
	var states []state
	for i := range 4 * maxBehind {
		now.addr = place(i + 1)
		apply(trace.Event{Kind: trace.KindRealloc, Addr: now.addr, Aux: uint64(place(i)), Size: size, Name: "realloc"})
		off := 16 + i
		now.data[off], now.written[off] = byte(i+1), true
		now.at = apply(trace.Event{Kind: trace.KindStore, Addr: now.addr + trace.Addr(off), Size: 1, Data: []byte{byte(i + 1)}})
		states = append(states, now)
	}
	copied := 0
	for _, m := range h.ops.moves {
		if m.behind == 0 {
			copied++
		}
		if m.behind > maxBehind {
			t.Errorf("a move looks through %d", m.behind)
		}
	}
	if copied == 0 || copied == len(h.ops.moves) {
		t.Errorf("%d of %d moves have copied", copied, len(h.ops.moves))
	}
	for _, s := range states {
		v := h.At(s.at)
		b := Bytes{Data: make([]byte, size)}
		if !v.Read(s.addr, &b) || !slices.Equal(b.Data, s.data[:]) || !slices.Equal(b.Written, s.written[:]) {
			t.Fatalf("at %d: %x, written %v; want %x, %v", s.at, b.Data, b.Written, s.data, s.written)
		}
		if x := v.Target(s.addr+8, coded.Plain); x.State != Points || x.Node != 1 || x.Since != stored {
			t.Errorf("at %d: the pointer is %+v, want one to node 1 since %d", s.at, x, stored)
		}
	}
}
