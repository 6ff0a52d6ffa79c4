package replay

import (
	"math/rand/v2"
	"testing"
)

// patchy is memory of which every third byte is not known; it notes what was read of it.
type patchy struct {
	bytesWorld
	asked map[uint64]bool
}

func (w patchy) Read(addr uint64, data []byte, known []bool) {
	for i := range data {
		at := addr + uint64(i)
		w.asked[at] = true
		if known[i] = at%3 != 0; known[i] {
			data[i] = byte(at * 7)
		}
	}
}

// TestMemory: what lies in memory is what was written there last, by the run or by that from which it goes on, and else what the
// world has; and of the world no word is read in which nothing was looked at.
func TestMemory(t *testing.T) {
	const base, size = 0x10_0000, 4 * pageSize
	rnd := rand.New(rand.NewPCG(1, 2))
	w := patchy{asked: map[uint64]bool{}}
	m := New(w)
	type state struct {
		c     *cpu
		wrote map[uint64]byte
	}
	at := func(s *state, addr uint64) (b byte, known bool) {
		if b, ok := s.wrote[addr]; ok {
			return b, true
		}
		if addr%3 == 0 {
			return 0, false
		}
		return byte(addr * 7), true
	}
	runs := []*state{{m.begin(&Call{}), map[uint64]byte{}}}
	looked := map[uint64]bool{}
	for range 30_000 {
		s := runs[rnd.IntN(len(runs))]
		addr := uint64(base + rnd.IntN(size))
		if rnd.IntN(2) == 0 {
			addr = base + uint64(rnd.IntN(8)) // one word that is hardly left alone
		}
		switch k := rnd.IntN(100); {
		case k < 1 && len(runs) < 40:
			next := &state{s.c.mark().onward(), map[uint64]byte{}}
			for a, b := range s.wrote {
				next.wrote[a] = b
			}
			runs = append(runs, next)
		case k < 40:
			data := make([]byte, 1+rnd.IntN(20))
			for i := range data {
				data[i] = byte(rnd.Uint32())
				s.wrote[addr+uint64(i)] = data[i]
			}
			s.c.put(addr, data)
			looked[addr>>3], looked[(addr+uint64(len(data))-1)>>3] = true, true
		default:
			n := []int{1, 2, 4, 8}[rnd.IntN(4)]
			want, known := uint64(0), true
			for i := range n {
				b, ok := at(s, addr+uint64(i))
				want |= uint64(b) << (8 * i)
				known = known && ok
				looked[(addr+uint64(i))>>3] = true
			}
			guessed := s.c.run.Guessed
			if got := s.c.load(addr, n); got != want || (s.c.run.Guessed == guessed) != known {
				t.Fatalf("%d bytes at %#x: %#x, known %v; want %#x, %v", n, addr, got, s.c.run.Guessed == guessed, want, known)
			}
			if got := s.c.peek(addr, n); got != want {
				t.Fatalf("%d bytes at %#x: %#x, want %#x", n, addr, got, want)
			}
		}
	}
	for addr := range w.asked {
		if !looked[addr>>3] {
			t.Fatalf("%#x was read, and nobody looked there", addr)
		}
	}
	if len(w.asked) == 0 || len(runs) < 40 {
		t.Errorf("%d bytes read, %d runs", len(w.asked), len(runs))
	}
	once := New(patchy{asked: map[uint64]bool{}})
	c := once.begin(&Call{})
	c.load(base+16, 4)
	c.put(base+32, make([]byte, 16))
	if n := len(once.world.(patchy).asked); n != 8 {
		t.Errorf("%d bytes were read of the world, for one word", n)
	}
}
