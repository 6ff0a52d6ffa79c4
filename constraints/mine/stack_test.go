package mine

import (
	"encoding/binary"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// TestLeadsToStack: a store of a pointer to what a function in a call has on its stack, and others: to the heap, of half of one, and of a number
// beside one.
func TestLeadsToStack(t *testing.T) {
	const block, low, high = 0x5000, 0x7ffd_0000_2000, 0x7ffd_0000_9000
	h := mgpp.New(mgpp.Options{})
	apply := func(ev trace.Event) mgpp.Timestamp {
		at, err := h.Apply(&ev)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	apply(trace.Event{Kind: trace.KindAlloc, Addr: block, Size: 64, Name: "malloc", Thread: 1})
	r := &Run{History: h, Calls: []Call{
		{Thread: 1, EnterStack: Stack{low + 0x1000, high}, LeaveStack: Stack{low + 0x1008, high}},
		{Thread: 1, EnterStack: Stack{low, high}},
		{Thread: 2},
	}}
	for _, c := range []struct {
		name   string
		value  uint64
		offset trace.Addr
		size   uint64
		want   bool
	}{
		{"a variable of a function in a call", low + 0x10, 0, 8, true},
		{"a variable of the function called last", low - 0x100, 8, 8, true},
		{"above all calls", high, 16, 8, false},
		{"the heap", block + 8, 24, 8, false},
		{"half of a pointer", low + 0x10, 32, 4, false},
	} {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], c.value)
		at := apply(trace.Event{Kind: trace.KindStore, Addr: block + c.offset, Size: c.size, Data: b[:c.size], Thread: 1})
		op := h.Op(at)
		if got := r.leadsToStack(at, &op); got != c.want {
			t.Errorf("%s: %v, not %v", c.name, got, c.want)
		}
	}
}
