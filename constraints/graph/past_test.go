package graph

import (
	"math/rand/v2"
	"slices"
	"testing"

	"mgtrace/mgpp"
)

// TestPasts: which edges there were at a time is what a look at all of them tells.
func TestPasts(t *testing.T) {
	const end = 4000
	for _, longest := range []uint32{1, 20, end} {
		r := rand.New(rand.NewPCG(1, uint64(longest)))
		var p pasts
		for until := uint32(2); until < end; until++ {
			for range r.IntN(3) {
				p.add(pastRef{inRef{since: until - 1 - r.Uint32N(min(longest, until-1))}, until, 0})
			}
		}
		for at := mgpp.Timestamp(0); at <= end; at += 7 {
			var got, want []int
			for i := p.at(at); i < len(p.list); i = p.next(i+1, at) {
				got = append(got, i)
			}
			for i := range p.list {
				if k := &p.list[i]; mgpp.Timestamp(k.since) <= at && at < mgpp.Timestamp(k.until) {
					want = append(want, i)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("at %d: %v, want %v", at, got, want)
			}
		}
		if p.clear(); p.at(1) != 0 {
			t.Error("something is left")
		}
	}
}
