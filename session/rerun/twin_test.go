package rerun

import (
	"encoding/binary"
	"testing"

	"mgtrace/constraints/graph/graphtest"
	"mgtrace/replay"
	"mgtrace/trace"
)

// TestTakesBack: what an experiment freed is there again for the next one, with all pointers to it, of which some are no edges.
func TestTakesBack(t *testing.T) {
	const text = `struct node { struct node *next, *up; };
type node edges (next);
up: node X;  X.next != NULL => X.next.up == X;
`
	w := graphtest.New(t, text)
	const a, b, c = 0x1000, 0x2000, 0x3000
	for _, at := range []trace.Addr{a, b, c} {
		w.Alloc("node", at, 16)
	}
	for _, p := range [][2]uint64{{a, b}, {a + 8, 0}, {b, c}, {b + 8, a}, {c, 0}, {c + 8, b}} {
		w.Put(trace.Addr(p[0]), 8, p[1])
	}
	spec := w.G.Spec()
	twin := newTwin(Program{History: w.H, Spec: spec, Typing: graphtest.Typing(spec)}, w.H.Now())
	if twin == nil {
		t.Fatal("there is none")
	}
	put := func(addr, v uint64) replay.Effect {
		return replay.Effect{Kind: replay.Store, Addr: addr, Size: 8, Data: binary.LittleEndian.AppendUint64(nil, v)}
	}
	free := func(addr uint64) replay.Effect { return replay.Effect{Kind: replay.Free, Addr: addr, Name: "free"} }
	for i, e := range []struct {
		effects []replay.Effect
		healthy bool
	}{
		{[]replay.Effect{free(b)}, false},
		{nil, true},
		{[]replay.Effect{put(a, c), put(c+8, a), free(b)}, true},
		{[]replay.Effect{put(b, 0), free(c)}, true},
		{[]replay.Effect{put(a, c), free(b)}, false},
		{nil, true},
	} {
		if got := twin.healthy(e.effects); got != e.healthy || twin.spoilt {
			t.Errorf("%d: healthy %t, spoilt %t", i, got, twin.spoilt)
		}
	}
}
