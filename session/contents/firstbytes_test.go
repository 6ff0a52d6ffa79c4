package contents

import (
	"encoding/binary"
	"fmt"
	"testing"

	"mgtrace/trace"

	"github.com/google/go-cmp/cmp"
)

// TestFirstBytes: what nobody has written since the history began is known from
// memory at the end, where that is certain.
func TestFirstBytes(t *testing.T) {
	word := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
	alloc := func(a trace.Addr, size uint64) trace.Event {
		return trace.Event{Kind: trace.KindAlloc, Flags: trace.FlagBefore, Addr: a, Size: size}
	}
	events := []trace.Event{
		alloc(0x1000, 16), alloc(0x2000, 16), alloc(0x3000, 16), alloc(0x4000, 16), alloc(0x5000, 16), alloc(0x6000, 16), alloc(0x7000, 16),
		{Kind: trace.KindBegin},
		{Kind: trace.KindStore, Addr: 0x1000, Size: 8, Data: word(1)},
		{Kind: trace.KindStore, Addr: 0x2000, Size: 8, Data: word(1)},
		{Kind: trace.KindFree, Addr: 0x3000},
		{Kind: trace.KindAlloc, Addr: 0x3000, Size: 16},
		{Kind: trace.KindRealloc, Aux: 0x4000, Addr: 0x4000, Size: 16},
		{Kind: trace.KindUnread, Addr: 0x5004, Size: 1},
		{Kind: trace.KindUnmap, Addr: 0x6000, Size: 0x1000},
		{Kind: trace.KindMemory, Addr: 0x1000, Size: 16, Data: append(word(1), word(0x11)...)},
		{Kind: trace.KindMemory, Addr: 0x2000, Size: 16, Data: append(word(2), word(0x11)...)}, // written unseen
		{Kind: trace.KindMemory, Addr: 0x3000, Size: 16, Data: append(word(1), word(0x11)...)},
		{Kind: trace.KindMemory, Addr: 0x4000, Size: 16, Data: append(word(1), word(0x11)...)},
		{Kind: trace.KindMemory, Addr: 0x5000, Size: 16, Data: append(word(1), word(0x11)...)},
		{Kind: trace.KindMemory, Addr: 0x6000, Size: 16, Data: append(word(1), word(0x11)...)},
		{Kind: trace.KindMemory, Addr: 0x7000, Size: 16, Data: append(word(3), word(4)...)},
		{Kind: trace.KindMemory},
	}
	images := func(events []trace.Event) (out []string) {
		f := &firstBytes{written: New()}
		for i := range events {
			if err := f.Event(&events[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.give(func(ev *trace.Event) error {
			out = append(out, fmt.Sprintf("%#x %x", uint64(ev.Addr), ev.Data))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	want := []string{"0x1008 1100000000000000", "0x7000 03000000000000000400000000000000"}
	if d := cmp.Diff(want, images(events)); d != "" {
		t.Error(d)
	}
	if got := images(append(events, trace.Event{Kind: trace.KindLost, Size: 1})); got != nil {
		t.Errorf("events were lost: %q", got)
	}
}
