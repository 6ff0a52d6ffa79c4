package index

import (
	"math/rand/v2"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// TestSieve: once it is known what was touched, all is answered as before, also what has not
// been touched.
func TestSieve(t *testing.T) {
	left := 0
	for seed := range uint64(4) {
		h, path := program(t, seed, 300)
		build(t, path)
		r, err := trace.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		rnd := rand.New(rand.NewPCG(7, seed))
		some := func() mgpp.Timestamp { return mgpp.Timestamp(rnd.Uint64N(uint64(h.Now()) + 1)) }
		for range 12 {
			from, to := some(), some()
			from, to = min(from, to), max(from, to)
			for _, at := range []mgpp.Timestamp{from, to, some()} {
				x, err := Open(path+".idx", r)
				if err != nil {
					t.Fatal(err)
				}
				defer x.Close()
				x.Touched(from, to)
				s := x.sieve
				compareAt(t, h, x, at, rnd)
				if x.Err() != nil {
					t.Fatal(x.Err())
				}
				if s != nil {
					left += len(s.parts)
				}
			}
		}
	}
	if left == 0 {
		t.Error("no chunk was decoded for what was touched only")
	}
}

// TestLeave: a part of what is left has the newest write to each byte, however many words pass.
func TestLeave(t *testing.T) {
	s := &sieve{}
	for i := range s.bits {
		s.bits[i] = ^uint64(0)
	}
	p := &part{only: s}
	p.link(s)
	const words = 3000
	for round, r := range []rec{{mask: 0x0f}, {mask: 0xff}, {mask: 0xf0}} {
		for w := range uint64(words) {
			r.time = uint32(words*round) + uint32(w)
			p.leave(w, r)
		}
	}
	if len(p.recs) != 2*words {
		t.Errorf("%d writes are kept of %d words; want two of each", len(p.recs), words)
	}
	for w := range uint64(words) {
		var got []uint8
		p.newest(w, 1<<32, func(r *rec) bool {
			got = append(got, r.mask)
			return true
		})
		if len(got) != 2 || got[0] != 0xf0 || got[1] != 0xff {
			t.Fatalf("word %d: %x", w, got)
		}
	}
}

// TestSieveRoom: a sieve through which too much would pass is none.
func TestSieveRoom(t *testing.T) {
	for _, words := range []uint64{sieveWords, sieveWords + 1} {
		s := &sieve{}
		if got, want := s.add(0x1000, 0x1000+8*words), words == sieveWords; got != want {
			t.Errorf("room for %d words: %v", words, got)
		}
	}
}
