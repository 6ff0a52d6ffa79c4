package mem_test

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/target/mem"
)

// TestNear: the words are those that a look at each finds.
func TestNear(t *testing.T) {
	const lo, within = 0x1000, 64
	memory := make([]byte, 3<<20)
	value := uint64(88172645463325252)
	for i := 0; i < len(memory); i += 8 {
		value ^= value << 13 // G. Marsaglia, "Xorshift RNGs"
		value ^= value >> 7
		value ^= value << 17
		binary.LittleEndian.PutUint64(memory[i:], value)
	}
	values := []uint64{5, 1 << 63, 0x5555_0000}
	for i, w := range []uint64{5 + 63, 5 + 64, 1<<63 - 63, 1<<63 - 64, 0x5555_0000} {
		binary.LittleEndian.PutUint64(memory[i<<19:], w)
	}
	binary.LittleEndian.PutUint64(memory[len(memory)-8:], ^uint64(0)) // near none: numbers do not go round
	maps := []mem.Map{{Lo: lo, Hi: lo + uint64(len(memory))}, {Lo: 1 << 40, Hi: 1<<40 + 1<<20}}
	from := mem.NewFake(mem.Segment{Addr: lo, Data: memory})

	var want []mem.Word
	for i := 0; i < len(memory); i += 8 {
		w := binary.LittleEndian.Uint64(memory[i:])
		for _, v := range values {
			if w >= v && w-v < within || w < v && v-w < within {
				want = append(want, mem.Word{Addr: lo + uint64(i), Value: w})
			}
		}
	}
	if len(want) < 3 {
		t.Fatalf("%d words are near: the test tests nothing", len(want))
	}
	near := func(values []uint64, most int, limit uint64) []mem.Word {
		return mem.Near(from, maps, values, within, most, limit)
	}
	if d := cmp.Diff(want, near(values, 100, 1<<30)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if d := cmp.Diff(want[:2], near(values, 2, 1<<30)); d != "" {
		t.Errorf("the first two: -want +got:\n%s", d)
	}
	if d := cmp.Diff(want[:1], near(values, 100, 1<<20)); d != "" {
		t.Errorf("of the first part: -want +got:\n%s", d)
	}
	if got := near(nil, 100, 1<<30); got != nil {
		t.Errorf("near nothing: %v", got)
	}
}
