package trace

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

// TestFast: the loop that is written in assembly codes what the one in Go does, errors included.
func TestFast(t *testing.T) {
	if !leadingZeros {
		t.Skip("not on this processor")
	}
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		table := &siteTable{}
		var sites []StoreSite
		for i := range []int{5, 300, slots + 500}[seed%3] {
			s := StoreSite{PC: Addr(i), Width: [...]uint8{1, 4, 8, 16, 10, 8, 64}[i%7], Base: BaseForm(rnd.IntN(3))}
			if i%11 == 6 {
				s = CallSite("memcpy", s.PC, s.Width)
			}
			if i%11 == 5 {
				s = AllocSite(KindAlloc, 0, "malloc", s.PC, nil)
			}
			sites = append(sites, s)
			table.add(s)
		}
		fast, plain := newStoreEncoder(table), newStoreEncoder(table)
		for range 30 {
			var s Stores
			for range rnd.IntN(3 * piece) {
				s.add(randomStore(rnd, len(sites), &s), rnd, sites)
			}
			switch rnd.IntN(20) {
			case 0:
				if len(s.Recs) > 0 {
					s.Recs[rnd.IntN(len(s.Recs))].Site = uint32(len(sites)) << rnd.IntN(8)
				}
			case 1:
				s.Wide = s.Wide[:rnd.IntN(len(s.Wide)+1)]
			case 2:
				if len(s.Recs) > 0 {
					s.Recs[rnd.IntN(len(s.Recs))].Value = rnd.Uint64() // maybe of a wide one
				}
			}
			err := fast.add(s.Recs, s.Wide)
			var want error
			for recs := s.Recs; len(recs) > 0 && want == nil; recs = recs[min(piece, len(recs)):] {
				want = plain.addPiece(recs[:min(piece, len(recs))], s.Wide)
			}
			if errors.Is(err, errSite) != errors.Is(want, errSite) || errors.Is(err, errWide) != errors.Is(want, errWide) {
				t.Fatalf("seed %d: %v, want %v", seed, err, want)
			}
			if fast.touched != plain.touched {
				t.Fatalf("seed %d: other pages", seed)
			}
			if rnd.IntN(3) == 0 || fast.room() < 3*piece {
				if !bytes.Equal(fast.appendBlock(nil), plain.appendBlock(nil)) {
					t.Fatalf("seed %d: other bytes", seed)
				}
			}
		}
	}
}
