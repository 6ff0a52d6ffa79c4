package analysis

import (
	"encoding/binary"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// TestClosedAround: a list that was closed to a circle is told with the link that did it; one that ends is not, nor is a ring that has been one
// since it was made.
func TestClosedAround(t *testing.T) {
	const a, b, c, d = 0x1000, 0x2000, 0x3000, 0x4000
	type store [2]uint64 // the link of a node, and where it leads
	for name, test := range map[string]struct {
		stores []store
		words  []uint64
		closed mgpp.Timestamp // which operation; the first four are the nodes' births
		length int
	}{
		"a list":              {[]store{{a, 0}, {b, a}, {c, b}}, []uint64{c, b}, 0, 0},
		"its end leads back":  {[]store{{a, 0}, {b, a}, {c, b}, {a, b}}, []uint64{0x9999, c}, 8, 2},
		"put in twice":        {[]store{{a, 0}, {b, a}, {c, b}, {b, c}}, []uint64{b}, 8, 2},
		"to itself":           {[]store{{a, 0}, {b, a}, {b, b}, {d, 0}}, []uint64{b}, 7, 1},
		"nothing leads there": {[]store{{a, 0}, {b, b}}, []uint64{a, 0x1008}, 0, 0},
		"a ring":              {[]store{{a, a}, {b, a}, {a, b}, {c, b}, {a, c}}, []uint64{c, a}, 0, 0},
	} {
		h := mgpp.New(mgpp.Options{})
		apply := func(ev trace.Event) {
			if _, err := h.Apply(&ev); err != nil {
				t.Fatal(err)
			}
		}
		for _, at := range []trace.Addr{a, b, c, d} {
			apply(trace.Event{Kind: trace.KindAlloc, PC: 1, Addr: at, Size: 24, Name: "malloc"})
		}
		for i, s := range test.stores {
			apply(trace.Event{Kind: trace.KindStore, PC: trace.Addr(10 + i), Addr: trace.Addr(s[0] + 8), Size: 8, Data: binary.LittleEndian.AppendUint64(nil, s[1])})
		}
		x := Analysis{Hist: h}
		nodes, off, closed := x.closedAround(test.words, []int64{0, 8})
		if closed != test.closed || len(nodes) != test.length || closed != 0 && off != 8 {
			t.Errorf("%s: %d nodes by %d, closed by %d", name, len(nodes), off, closed)
		}
	}
}
