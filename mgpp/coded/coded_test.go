package coded

import "testing"

func TestPointer(t *testing.T) {
	const cell, node = 0x55d0c0ffee10, 0x55d0c0ffe2a0
	for _, c := range []struct {
		name           string
		as             Pointer
		word           uint64
		pointer, extra uint64
	}{
		{"plain", Plain, node | 3, node | 3, 0},
		{"tagged", Pointer{Tags: 7}, node | 3, node, 3},
		{"by its address", Pointer{Shift: 12}, node ^ cell>>12, node, 0},
		{"NULL by its address", Pointer{Shift: 12}, cell >> 12, 0, 0},
		{"both", Pointer{Tags: 7}.With(Pointer{Shift: 12}), (node | 5) ^ cell>>12, node, 5},
	} {
		if p, x := c.as.Decode(c.word, cell), c.as.Tag(c.word, cell); p != c.pointer || x != c.extra {
			t.Errorf("%s: %#x and tag %d, want %#x and %d", c.name, p, x, c.pointer, c.extra)
		}
	}
}
