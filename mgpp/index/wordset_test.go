package index

import (
	"math/rand/v2"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// TestExpect: once it is known what was touched, all is answered as before, also what has not
// been touched.
func TestExpect(t *testing.T) {
	tables := 0
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
				for _, p := range x.parts {
					if p.of != nil {
						tables++
					}
				}
				compareAt(t, h, x, at, rnd)
				if x.Err() != nil {
					t.Fatal(x.Err())
				}
			}
		}
	}
	if tables == 0 {
		t.Error("no chunk has a table of the words that were touched")
	}
}

// TestLink: a table of some words has all writes to these, however many others are in the set,
// and the part answers about other words too.
func TestLink(t *testing.T) {
	full, few := &wordSet{words: 1}, &wordSet{}
	for i := range full.bits {
		full.bits[i] = ^uint64(0)
	}
	if !few.add(8*100, 8*104) {
		t.Fatal("there is no room for four words")
	}
	for _, s := range []*wordSet{nil, full, few} {
		p := &part{}
		const words = 3000
		for i := range uint32(2 * words) {
			p.words = append(p.words, uint64(i%words))
			p.recs = append(p.recs, rec{time: i, mask: 0xff})
		}
		p.link(s)
		for w := range uint64(words) {
			var got []uint32
			p.newest(w, 1<<32, func(r *rec) bool {
				got = append(got, r.time)
				return true
			})
			if len(got) != 2 || got[0] != uint32(words+w) || got[1] != uint32(w) {
				t.Fatalf("word %d was written at %d", w, got)
			}
		}
	}
}

// TestWordSetRoom: a set that has too many words is none.
func TestWordSetRoom(t *testing.T) {
	for _, words := range []uint64{setWords, setWords + 1} {
		s := &wordSet{}
		if got, want := s.add(0x1000, 0x1000+8*words), words == setWords; got != want {
			t.Errorf("room for %d words: %v", words, got)
		}
	}
}
