package inline

import (
	"testing"

	"mgtrace/inline/layout"
)

// Slots follow one another to the last byte of the arena, their buffers and guards
// begin at pages, and only the first ones have large buffers.
func TestSlots(t *testing.T) {
	for _, full := range []uint64{minBuffer, 2 * minBuffer, 16 << 20} {
		const n = 3 * largeSlots
		a := &arena{base: arenaPlaces[0], head: 3 * pageSize, buffer: full}
		a.mem = make([]byte, a.head+slotsSize(n, full))
		end := a.head
		for i := range n {
			s := a.slotAt(i)
			if at := s.base - a.base; at != end {
				t.Fatalf("slot %d begins at %#x, the one before ends at %#x", i, at, end)
			}
			end += uint64(len(s.mem))
			if s.guard[1]+layout.Guard != uint64(len(s.mem)) {
				t.Fatalf("slot %d has %#x bytes, its last guard is at %#x", i, len(s.mem), s.guard[1])
			}
			want := full
			if i >= largeSlots {
				want = max(full/4, minBuffer)
			}
			for b := range s.at {
				if size := s.guard[b] - s.at[b]; size != want || s.at[b]%pageSize != 0 || size%pageSize != 0 {
					t.Errorf("buffer %d of slot %d: %#x bytes at %#x, want %#x at a page", b, i, size, s.at[b], want)
				}
			}
		}
		if end != a.size() {
			t.Errorf("slots end at %#x, the arena has %#x", end, a.size())
		}
	}
}
