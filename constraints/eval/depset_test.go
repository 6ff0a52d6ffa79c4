package eval

import (
	"math/rand/v2"
	"testing"
)

// TestDepSet: a set has what was added since it was emptied, and nothing else.
func TestDepSet(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	s := &depSet{}
	s.empty()
	for round := range 200 {
		if round == 100 {
			s.round = ^uint32(0) // the next one begins anew
		}
		s.empty()
		want := map[depKey]bool{}
		for range rnd.IntN(1500) {
			k := depKey{uint64(0x5555_0000 + 8*rnd.IntN(900)), uint64(rnd.IntN(2))<<32 | uint64(rnd.IntN(3))}
			if s.has(k) != want[k] || s.add(k) == want[k] || !s.has(k) {
				t.Fatalf("round %d: %v was there %t", round, k, want[k])
			}
			want[k] = true
		}
		if s.n != len(want) {
			t.Fatalf("round %d: %d, want %d", round, s.n, len(want))
		}
	}
	if (*depSet)(nil).has(depKey{}) {
		t.Error("something is in no set")
	}
}
