package mgpp

import (
	"math/rand/v2"
	"testing"
)

// TestPacked: what is packed is found again, of any width.
func TestPacked(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	var pk packer
	for width := range 33 {
		list := make([]uint32, 1+rnd.IntN(300))
		base := rnd.Uint32() >> (width % 31)
		for i := range list {
			list[i] = base + uint32(rnd.Uint64N(1<<width)) // may wrap
		}
		p := pk.pack(list)
		for i, v := range list {
			if got := p.at(uint32(i)); got != v {
				t.Fatalf("width %d: number %d of %d is %d, want %d", width, i, len(list), got, v)
			}
		}
	}
}

// TestColumn: numbers are found while those before them are being packed, and when they have been.
func TestColumn(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 2))
	var c column
	var want []uint32
	for i := uint32(0); i < 40*columnChunk; i += 1 + rnd.Uint32N(3)*rnd.Uint32N(3) {
		if rnd.IntN(columnChunk) == 0 {
			i += rnd.Uint32N(3 * columnChunk) // more than a chunk of them is 0
		}
		for int(i) > len(want) {
			want = append(want, 0)
		}
		v := rnd.Uint32() >> (i / columnChunk % 32)
		c.set(i, v)
		want = append(want, v)
		for range 4 {
			if k := i - min(i, rnd.Uint32N(1<<rnd.IntN(20))); c.at(k) != want[k] {
				t.Fatalf("number %d is %d when %d is set, want %d", k, c.at(k), i, want[k])
			}
		}
	}
	for i, v := range want {
		if got := c.at(uint32(i)); got != v {
			t.Fatalf("number %d is %d, want %d", i, got, v)
		}
	}
}

// TestPackedValues: of numbers that come again and again the different ones are kept, where that takes less.
func TestPackedValues(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	var pk packer
	for _, n := range []int{1, 2, 63, 1000, columnChunk} {
		for _, different := range []int{1, 2, 3, 64, 200, 1025, 2048, 2049, columnChunk} {
			for _, width := range []int{1, 5, 12, 20, 32} {
				values := make([]uint32, different)
				for i := range values {
					values[i] = rnd.Uint32() >> (32 - width)
				}
				list := make([]uint32, n)
				for i := range list {
					list[i] = values[rnd.IntN(different)]
				}
				p := pk.pack(list)
				for i, v := range list {
					if got := p.at(uint32(i)); got != v {
						t.Fatalf("%d numbers, %d different, %d bits: number %d is %d, want %d", n, different, width, i, got, v)
					}
				}
				if most := 8 + (n*width+31)/32*4; len(p.bits) > most {
					t.Errorf("%d numbers, %d different, %d bits take %d bytes", n, different, width, len(p.bits))
				}
				if n == columnChunk && different == 64 && width == 32 && len(p.bits) > n*6/8+4*64 {
					t.Errorf("of %d numbers 64 are different, and take %d bytes", n, len(p.bits))
				}
			}
		}
	}
}
