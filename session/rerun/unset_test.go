package rerun

import (
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// TestLeft: what nothing has written in a block is what a block that lay there before has left, and is not known all the same.
func TestLeft(t *testing.T) {
	h := mgpp.New(mgpp.Options{})
	const at = trace.Addr(0x5000)
	store := func(addr trace.Addr, b byte) trace.Event {
		return trace.Event{Kind: trace.KindStore, PC: 1, Addr: addr, Base: at, Data: []byte{b, 0, 0, 0, 0, 0, 0, 0}}
	}
	alloc := trace.Event{Kind: trace.KindAlloc, Addr: at, Size: 32, Name: "malloc"}
	for _, ev := range []trace.Event{alloc, store(at+8, 7), store(at+16, 9), {Kind: trace.KindFree, Addr: at}, alloc, store(at+8, 3)} {
		if _, err := h.Apply(&ev); err != nil {
			t.Fatal(err)
		}
	}
	w := world{view: h.At(h.Now()), history: h}
	data, known := make([]byte, 24), make([]bool, 24)
	w.Read(uint64(at+8), data, known)
	if data[0] != 3 || !known[0] || data[8] != 9 || known[8] || data[16] != 0 || known[16] {
		t.Errorf("%v, known %v", data, known)
	}
}
