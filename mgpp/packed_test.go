package mgpp

import (
	"math/rand/v2"
	"testing"
)

// TestPacked: what is packed is found again, of any width.
func TestPacked(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for width := range 33 {
		list := make([]uint32, 1+rnd.IntN(300))
		base := rnd.Uint32() >> (width % 31)
		for i := range list {
			list[i] = base + uint32(rnd.Uint64N(1<<width)) // may wrap
		}
		p := pack(list)
		for i, v := range list {
			if got := p.at(uint32(i)); got != v {
				t.Fatalf("width %d: number %d of %d is %d, want %d", width, i, len(list), got, v)
			}
		}
	}
}
