package patch

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"mgtrace/x86"
)

// scene is code, sites and free memory made up from random numbers.
type scene struct {
	code  []Code
	sites []Site
	free  []Range
	emit  *testEmitter
}

// words are instructions of every length and kind.
var words = [][]byte{
	{0x90}, {0xc3}, {0x53}, {0x5d}, {0xf4}, {0xcc}, {0x66, 0x90}, {0x0f, 0x05}, {0xff, 0xd0}, {0xff, 0xe0}, {0xaa}, {0xf3, 0xaa},
	{0x89, 0x07}, {0x31, 0xc0}, {0x48, 0x89, 0x07}, {0x48, 0x89, 0x18}, {0x88, 0x4f, 0x01}, {0x0f, 0x11, 0x07},
	{0x48, 0x89, 0x47, 0x08}, {0x48, 0x83, 0xc0, 0x01}, {0x41, 0xff, 0x14, 0x24}, {0xf3, 0x0f, 0x1e, 0xfa},
	{0xf0, 0x48, 0x0f, 0xb1, 0x17}, {0xf0, 0xff, 0x07}, {0x0f, 0x1f, 0x44, 0x00, 0x00}, {0xb8, 1, 0, 0, 0},
	{0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00}, {0x8b, 0x05, 0x10, 0x00, 0x00, 0x00}, {0xff, 0x15, 0x10, 0x00, 0x00, 0x00}, {0xc7, 0x07, 1, 2, 3, 4},
	{0x48, 0x8d, 0x05, 0xf0, 0xff, 0xff, 0xff}, {0xff, 0x54, 0x24, 0x08}, {0x48, 0x89, 0x87, 0x80, 0, 0, 0}, {0x48, 0xc7, 0x07, 1, 0, 0, 0},
	{0xc7, 0x47, 0x08, 1, 2, 3, 4}, {0x48, 0xc7, 0x47, 0x10, 1, 2, 3, 4}, {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8},
	{0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}, {0xc5, 0xfe, 0x7f, 0x07}, {0xf3, 0xa4},
}

func randomScene(seed uint64, extra []byte) scene {
	r := rand.New(rand.NewPCG(seed, 1))
	var s scene
	addr := uint64(0x400000) + uint64(r.IntN(4096))
	if r.IntN(2) == 0 {
		addr += 0x5555_5555_0000
	}
	short := r.IntN(4) // how much of the code is short instructions
	for n := 1 + r.IntN(3); n > 0; n-- {
		c := Code{Addr: addr}
		for len(c.Bytes) < 40+r.IntN(600) {
			c.Bytes = append(c.Bytes, word(r, short, extra)...)
		}
		lo := addr + uint64(r.IntN(10))
		for lo < c.end() && len(c.Funcs) < 4 {
			hi := min(c.end(), lo+20+uint64(r.IntN(600)))
			c.Funcs = append(c.Funcs, Range{lo, hi})
			lo = hi + uint64(r.IntN(20))
		}
		for r.IntN(4) == 0 {
			c.Pinned = append(c.Pinned, addr+uint64(r.IntN(len(c.Bytes))))
		}
		s.code = append(s.code, c)
		addr = c.end() + uint64(r.IntN(1<<r.IntN(24)))
	}
	density := 1 + r.IntN(8)
	s.sites = sitesOf(s.code, func(*x86.Inst) bool { return r.IntN(8) < density })
	r.Shuffle(len(s.sites), func(i, j int) { s.sites[i], s.sites[j] = s.sites[j], s.sites[i] })
	s.emit = emitterFor(s.code, s.sites, 8+r.IntN(100))
	s.free = randomFree(r, s.code[0].Addr, s.code[len(s.code)-1].end())
	return s
}

// word is an instruction, a branch to somewhere near, or anything.
func word(r *rand.Rand, short int, extra []byte) []byte {
	switch n := r.IntN(40); {
	case n < 3:
		return []byte{0x74, byte(r.Uint32())}
	case n == 3:
		return []byte{0xeb, byte(r.IntN(40))}
	case n == 4:
		return []byte{0xe2 + byte(r.IntN(2)), byte(r.Uint32())}
	case n < 8:
		op := [][]byte{{0xe8}, {0xe9}, {0x0f, 0x84}, {0xc7, 0xf8}}[r.IntN(4)]
		return binary.LittleEndian.AppendUint32(op[:len(op):len(op)], uint32(int32(r.IntN(400)-200)))
	case n == 8: // a branch behind the LOCK prefix
		return []byte{0x74, 0x01, 0xf0, 0x0f, 0xb1, 0x17}
	case n == 9:
		return []byte{byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())}
	case n == 10 && len(extra) > 0:
		at := r.IntN(len(extra))
		return extra[at:min(len(extra), at+15)]
	}
	return words[r.IntN(len(words)>>r.IntN(short+1))]
}

// randomFree leaves much or little, in large or small pieces, around [lo, hi).
func randomFree(r *rand.Rand, lo, hi uint64) []Range {
	var free []Range
	at := uint64(0x1000)
	if lo > 4<<30 {
		at = lo - 3<<30
	}
	most := 20 + r.IntN(12)
	for at < hi+3<<30 && len(free) < 200 {
		end := at + 1<<17 + uint64(r.Int64N(1<<most))
		if at < hi && end > lo {
			if end = lo; at+1<<17 > lo {
				at = hi
				continue
			}
		}
		free = append(free, Range{at, end})
		at = end + uint64(r.Int64N(1<<most))
	}
	return free
}

// make plans and proves.
func (s *scene) make(t testing.TB) *Plan {
	t.Helper()
	plan, err := Make(s.code, s.sites, s.free, s.emit)
	if err != nil {
		t.Fatal(err)
	}
	if err := Verify(plan, s.code, s.sites, s.free, s.emit); err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestRandom(t *testing.T) {
	var total [NumTactics]int
	for seed := range uint64(500) {
		s := randomScene(seed, nil)
		plan := s.make(t)
		for i, n := range plan.Tactics {
			total[i] += n
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	for i, n := range total {
		t.Logf("%v: %d", Tactic(i), n)
		if n == 0 {
			t.Errorf("no site got %v: the test is too narrow", Tactic(i))
		}
	}
}

func FuzzMake(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, []byte{0xf0, 0x48, 0x0f, 0xb1, 0x17})
	}
	f.Fuzz(func(t *testing.T, seed uint64, extra []byte) {
		s := randomScene(seed, extra)
		s.make(t)
	})
}

// TestVerifyNotices changes plans: no changed byte of the code or of a
// trampoline goes unnoticed, but for a prefix that became another one.
func TestVerifyNotices(t *testing.T) {
	for seed := range uint64(30) {
		s := randomScene(seed, nil)
		plan := s.make(t)
		noticed := func() bool { return Verify(plan, s.code, s.sites, s.free, s.emit) != nil }
		for i := range plan.Patches {
			p := &plan.Patches[i]
			for b := range p.New {
				was := p.New[b]
				p.New[b] ^= 1 << (seed & 7)
				if !noticed() && !isPad(was) {
					t.Errorf("seed %d: the byte at %#x, % x instead of % x", seed, p.Addr+uint64(b), p.New[b], was)
				}
				p.New[b] = was
			}
		}
		for i := range plan.Trampolines {
			b := plan.Trampolines[i].Bytes
			b[len(b)/2] ^= 1
			if !noticed() {
				t.Errorf("seed %d: a byte of the trampoline at %#x", seed, plan.Trampolines[i].Addr)
			}
			b[len(b)/2] ^= 1
		}
		for i := range plan.Patches {
			rest := *plan
			rest.Patches = append(append([]Patch(nil), plan.Patches[:i]...), plan.Patches[i+1:]...)
			if Verify(&rest, s.code, s.sites, s.free, s.emit) == nil && !allPads(plan.Patches[i].New) {
				t.Errorf("seed %d: no patch at %#x", seed, plan.Patches[i].Addr)
			}
		}
	}
}

func isPad(b byte) bool {
	for _, p := range pads {
		if p == b {
			return true
		}
	}
	return false
}

func allPads(b []byte) bool {
	for _, x := range b {
		if !isPad(x) {
			return false
		}
	}
	return true
}
