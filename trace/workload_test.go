package trace

import (
	"math/rand/v2"
	"testing"
)

// workload makes stores as programs do: a few hundred sites in a few dozen
// basic blocks, of which some are hot; each block fills fields of a node, walks
// an array, or keeps counters. Its proportions lie between those of real
// programs (bash, cc1, git, jq, perl, sqlite3, xz: 6 to 36 % of the stores have
// a base of their own, 1 to 12 % are wide, 10 to 25 % of the sites are not the
// predicted ones).
type workload struct {
	rnd    *rand.Rand
	sites  []StoreSite
	blocks []basicBlock
	nodes  []uint64
	addr   uint64 // of the array
	count  uint64
	block  int // that runs
	at     int // in it
	node   uint64
	left   int // times that it runs again
}

type basicBlock struct {
	first, n int
	array    bool
}

func newWorkload(seed uint64) *workload {
	w := &workload{rnd: rand.New(rand.NewPCG(seed, 2)), addr: 0x7ffff0000000}
	for i := range 3000 {
		w.nodes = append(w.nodes, 0x555555800000+uint64(i)*64+uint64(w.rnd.IntN(2))*16)
	}
	for k := range 60 {
		b := basicBlock{first: len(w.sites), n: 1 + w.rnd.IntN(6), array: k%9 == 4}
		for i := range b.n {
			s := StoreSite{PC: Addr(0x401000 + len(w.sites)*9), Width: [...]uint8{8, 8, 8, 8, 8, 4, 4, 4, 4, 1, 2, 16}[w.rnd.IntN(12)], Base: BaseOffset, Disp: int64(8 * i)}
			if b.array {
				s.Base, s.Disp = BaseOwn, 0
			}
			w.sites = append(w.sites, s)
		}
		w.blocks = append(w.blocks, b)
	}
	w.jump()
	return w
}

// jump goes to another block; the first are the hottest.
func (w *workload) jump() {
	w.block = int(float64(len(w.blocks)) * w.rnd.Float64() * w.rnd.Float64() * w.rnd.Float64())
	w.at = 0
	w.node = w.nodes[w.rnd.IntN(len(w.nodes))]
	w.left = 0
	if w.blocks[w.block].array {
		w.left = w.rnd.IntN(12)
	}
}

// fill makes the stores of s.
func (w *workload) fill(s *Stores) {
	s.Thread, s.Wide = 4711, s.Wide[:0]
	for i := range s.Recs {
		b := &w.blocks[w.block]
		site := &w.sites[b.first+w.at]
		r := StoreRec{Site: uint32(b.first + w.at), Addr: w.node + uint64(8*w.at)}
		if b.array {
			r.Addr, r.Base = w.addr+uint64(site.Width), w.addr&^0xfff
			w.addr = r.Addr
		}
		r.Value = w.value(site)
		if site.Width > 8 {
			v := r.Value
			r.Value = uint64(len(s.Wide))
			for range site.Width {
				s.Wide = append(s.Wide, byte(v))
				v = v>>8 | v<<56
			}
		}
		s.Recs[i] = r
		switch w.at++; {
		case w.at < b.n:
		case w.left > 0:
			w.left--
			w.at = 0
		default:
			w.jump()
		}
	}
}

func (w *workload) value(site *StoreSite) uint64 {
	v := uint64(0)
	switch k := w.rnd.IntN(8); {
	case k < 2: // 0
	case k < 4 && site.Width >= 8:
		v = w.nodes[w.rnd.IntN(len(w.nodes))]
	case k < 7:
		w.count++
		v = w.count
	default:
		v = w.rnd.Uint64()
	}
	if site.Width < 8 {
		v &= lowBytes(int(site.Width))
	}
	return v
}

// TestWorkload holds the workload to what it says.
func TestWorkload(t *testing.T) {
	w := newWorkload(1)
	s := Stores{Recs: make([]StoreRec, 1<<16)}
	w.fill(&s)
	own, wide, missed := 0, 0, 0
	next := map[uint32]uint32{}
	last := uint32(0)
	for _, r := range s.Recs {
		if w.sites[r.Site].Base == BaseOwn {
			own++
		}
		if w.sites[r.Site].Width > 8 {
			wide++
		}
		if next[last] != r.Site {
			missed++
		}
		next[last], last = r.Site, r.Site
	}
	for _, c := range []struct {
		name        string
		n, low, top int
	}{{"own bases", own, 6, 36}, {"wide", wide, 1, 12}, {"missed", missed, 10, 25}} {
		if share := 100 * c.n / len(s.Recs); share < c.low || share > c.top {
			t.Errorf("%s: %d %%", c.name, share)
		}
	}
}
