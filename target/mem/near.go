package mem

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Word is eight bytes of memory at an address that they divide.
type Word struct{ Addr, Value uint64 }

// searchStep is how much memory is read at once, bytes.
const searchStep = 1 << 20

// Near finds the words of mappings of which the value is less than within away from one of the values, the first most of them that it
// comes by. It reads no more than limit bytes. In what can not be read there are none.
func Near(m Memory, maps []Map, values []uint64, within uint64, most int, limit uint64) (out []Word) {
	if len(values) == 0 {
		return nil
	}
	values = slices.Sorted(slices.Values(values))
	// What is near has the upper bits of what is near: one look at a table of 64 bits spares most comparisons.
	shift := bits.Len64(within)
	var filter uint64
	for _, v := range values {
		for _, w := range [...]uint64{v - within, v, v + within} {
			filter |= 1 << (w >> shift & 63)
		}
	}
	buf := make([]byte, searchStep)
	for _, area := range maps {
		for lo := (area.Lo + 7) &^ 7; lo < area.Hi && limit > 0; {
			part := buf[:min(searchStep, area.Hi-lo, limit)]
			n, err := m.ReadMemory(part, lo)
			for i := 0; i+8 <= n; i += 8 {
				w := binary.LittleEndian.Uint64(part[i:])
				if filter>>(w>>shift&63)&1 == 0 || !isNear(values, w, within) {
					continue
				}
				if out = append(out, Word{lo + uint64(i), w}); len(out) == most {
					return out
				}
			}
			if err != nil {
				break // the rest of this mapping is not there
			}
			lo += uint64(len(part))
			limit -= uint64(len(part))
		}
	}
	return out
}

// isNear: one of the values, which are sorted, is less than within away.
func isNear(values []uint64, w, within uint64) bool {
	i, ok := slices.BinarySearch(values, w)
	return ok || i < len(values) && values[i]-w < within || i > 0 && w-values[i-1] < within
}
