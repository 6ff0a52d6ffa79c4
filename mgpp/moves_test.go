package mgpp

import (
	"errors"
	"slices"
	"testing"

	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

// applier applies events that a history must take, and says when they were.
func applier(t *testing.T, h *History) func(trace.Event) Timestamp {
	return func(ev trace.Event) Timestamp {
		t.Helper()
		at, err := h.Apply(&ev)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
}

// TestManyMoves: the bytes of a block that is moved many times are those that were stored, at
// all times, and so are the times of their storing, however many moves lie between.
func TestManyMoves(t *testing.T) {
	h := New(Options{})
	apply := applier(t, h)
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
		t.Errorf("%d of %d moves have runs", copied, len(h.ops.moves))
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

// TestLargeMove: a realloc that would carry more than a history has pages for is refused; one
// that carries little to a large block is not.
func TestLargeMove(t *testing.T) {
	for _, c := range []struct {
		had, size uint64
		want      error
	}{{1 << 41, 1 << 41, ErrFull}, {1 << 41, 64, nil}, {64, 1 << 41, nil}} {
		h := New(Options{})
		for _, ev := range []trace.Event{
			{Kind: trace.KindAlloc, Addr: 0x1000_0000, Size: c.had, Name: "malloc"},
			{Kind: trace.KindStore, Addr: 0x1000_0010, Size: 8, Data: []byte("carried!")},
		} {
			if _, err := h.Apply(&ev); err != nil {
				t.Fatal(err)
			}
		}
		const to = 0x4000_0000_0000
		_, err := h.Apply(&trace.Event{Kind: trace.KindRealloc, Aux: 0x1000_0000, Addr: to, Size: c.size, Name: "realloc"})
		if !errors.Is(err, c.want) {
			t.Errorf("%d bytes become %d: %v", c.had, c.size, err)
		}
		b := Bytes{Data: make([]byte, 8)}
		if in := h.At(h.Now()).Read(to+0x10, &b); in != (err == nil) || in && string(b.Data) != "carried!" {
			t.Errorf("%d bytes become %d: %v %q", c.had, c.size, in, b.Data)
		}
	}
}

// TestUnmapped: a large block is moved by mapping its memory elsewhere, which is told before the
// realloc. What another thread unmapped, or was freed, is not moved.
func TestUnmapped(t *testing.T) {
	const from, to, size = 0x7000_0000, 0x7100_0000, 0x40000
	for name, c := range map[string]struct {
		ends trace.Event
		by   trace.ThreadID
		want bool
	}{
		"mremap":         {trace.Event{Kind: trace.KindUnmap, Thread: 1, Addr: from, Size: size}, 1, true},
		"another thread": {trace.Event{Kind: trace.KindUnmap, Thread: 2, Addr: from, Size: size}, 1, false},
		"freed":          {trace.Event{Kind: trace.KindFree, Thread: 1, Addr: from + 16}, 1, false},
	} {
		h := New(Options{})
		for _, ev := range []trace.Event{
			{Kind: trace.KindAlloc, Thread: 1, Addr: from + 16, Size: size - 32, Name: "malloc"},
			{Kind: trace.KindStore, Thread: 1, Addr: from + 24, Size: 8, Data: []byte("carried!")},
			c.ends,
			{Kind: trace.KindMap, Thread: 1, Addr: to, Size: 2 * size},
			{Kind: trace.KindRealloc, Thread: c.by, Aux: from + 16, Addr: to + 16, Size: 2*size - 32, Name: "realloc"},
		} {
			if _, err := h.Apply(&ev); err != nil {
				t.Fatal(err)
			}
		}
		b := Bytes{Data: make([]byte, 8)}
		if !h.At(h.Now()).Read(to+24, &b) || slices.Contains(b.Written, false) == c.want || c.want && string(b.Data) != "carried!" {
			t.Errorf("%s: %q %v", name, b.Data, b.Written)
		}
		if op := h.Op(h.Now()); (op.Kind == OpMove) != c.want || (len(h.Anomalies()) == 0) != c.want {
			t.Errorf("%s: %+v, %v", name, op, h.Anomalies())
		}
	}
}

// TestMovedBy: who had a block moved is told by the stack of the call, as who allocated or freed it is.
func TestMovedBy(t *testing.T) {
	h := New(Options{})
	apply := applier(t, h)
	apply(trace.Event{Kind: trace.KindAlloc, Addr: 0x1000, Size: 16, Name: "malloc", Stack: []trace.Addr{0x401000}})
	stack := []trace.Addr{0x402000, 0x403000}
	moved := apply(trace.Event{Kind: trace.KindRealloc, Aux: 0x1000, Addr: 0x2000, Size: 32, Name: "realloc", Stack: stack})
	if op := h.Op(moved); op.Kind != OpMove || !slices.Equal(op.Stack, stack) {
		t.Errorf("moved by %+v", op)
	}
}

// TestMovesOfMuch: of a large block that realloc moves again and again, when its bytes were
// stored is asked in pieces: byte by byte, through all the moves, took minutes.
func TestMovesOfMuch(t *testing.T) {
	h := New(Options{})
	apply := applier(t, h)
	const step = 100_000
	place := func(i int) trace.Addr { return trace.Addr(0x1000_0000 * (1 + i)) }
	apply(trace.Event{Kind: trace.KindAlloc, Addr: place(0), Size: step, Name: "malloc"})
	var stored []Timestamp
	for i := range 60 {
		size := uint64(step * (i + 1))
		if i > 0 {
			apply(trace.Event{Kind: trace.KindRealloc, Addr: place(i), Aux: uint64(place(i - 1)), Size: size, Name: "realloc"})
		}
		stored = append(stored, apply(trace.Event{Kind: trace.KindStore, Addr: place(i) + trace.Addr(size) - 8, Size: 8, Data: []byte{0, 0, 0, 0x10, 0, 0, 0, 0}}))
	}
	v := h.At(h.Now())
	for i, s := range stored {
		at := place(len(stored)-1) + trace.Addr(step*(i+1)-8)
		if x := v.Target(at, coded.Plain); x.Since != s {
			t.Errorf("what was stored at %d counts as stored at %d", s, x.Since)
		}
	}
}

// TestGrownInPlace: a block that grows where it is, a little at a time, as a program reads its
// input: what each step costs does not depend on how many there were before.
func TestGrownInPlace(t *testing.T) {
	h := New(Options{})
	apply := func(ev trace.Event) {
		if _, err := h.Apply(&ev); err != nil {
			t.Fatal(err)
		}
	}
	const place, steps = 0x10000, 30_000
	apply(trace.Event{Kind: trace.KindAlloc, Addr: place, Size: 16, Name: "malloc"})
	for i := uint64(2); i <= steps; i++ {
		apply(trace.Event{Kind: trace.KindRealloc, Addr: place, Aux: place, Size: 16 * i, Name: "realloc"})
		apply(trace.Event{Kind: trace.KindStore, Addr: trace.Addr(place + 16*i - 1), Size: 1, Data: []byte{byte(i)}})
		apply(trace.Event{Kind: trace.KindStore, Addr: place + 8, Size: 8, Data: []byte{1, 2, 3, 4, 5, 6, 7, 8}})
	}
	b := Bytes{Data: make([]byte, 16*steps)}
	if !h.At(h.Now()).Read(place, &b) || b.Data[16*77-1] != 77 || !b.Written[16*77-1] || b.Written[16*77-2] {
		t.Error("the block does not read as it was written")
	}
}

// TestShrunkInPlace: of a block that became shorter within a page that was all its own, the
// rest is in no block.
func TestShrunkInPlace(t *testing.T) {
	h := New(Options{})
	const place, size = 4 * pageSize, 3 * pageSize
	for _, ev := range []trace.Event{
		{Kind: trace.KindAlloc, Addr: place, Size: size, Name: "malloc"},
		{Kind: trace.KindRealloc, Addr: place, Aux: place, Size: size - pageSize/2, Name: "realloc"},
		{Kind: trace.KindStore, Addr: place + size - pageSize/2 + 16, Size: 8, Data: make([]byte, 8)},
		{Kind: trace.KindStore, Addr: place + size - pageSize, Size: 8, Data: make([]byte, 8)},
	} {
		if _, err := h.Apply(&ev); err != nil {
			t.Fatal(err)
		}
	}
	if op := h.Op(h.Now() - 1); op.Node != 0 || op.Other != 1 {
		t.Errorf("a store behind the block: %+v", op)
	}
	if op := h.Op(h.Now()); op.Node != 1 {
		t.Errorf("a store into the block: %+v", op)
	}
}
