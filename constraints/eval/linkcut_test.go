package eval

import (
	"math/rand/v2"
	"testing"
)

// Roots are those that walking up parents finds, whatever is linked and cut.
func TestLinkCut(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		const n = 60
		var f linkcut
		f.grow(n)
		var parent [n + 1]int32
		up := func(x int32) int32 {
			for parent[x] != 0 {
				x = parent[x]
			}
			return x
		}
		for range 4000 {
			x, y := 1+r.Int32N(n), 1+r.Int32N(n)
			switch {
			case parent[x] != 0 && r.IntN(3) == 0:
				f.cut(x)
				parent[x] = 0
			case parent[x] == 0 && up(y) != x:
				f.link(x, y)
				parent[x] = y
			}
			if got, want := f.root(y), up(y); got != want {
				t.Fatalf("seed %d: the root of %d is %d, want %d", seed, y, got, want)
			}
		}
	}
}
