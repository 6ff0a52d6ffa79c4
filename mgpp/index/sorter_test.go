package index

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// TestSorter: all rows come out, whole and sorted, whether they fit in memory or not, and
// whether one bucket does.
func TestSorter(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, x := range []struct {
		name string
		n    int
		make func(i uint64) (a, b uint64)
	}{
		{"none", 0, nil},
		{"one", 1, func(uint64) (uint64, uint64) { return 7, 7 }},
		{"few", 1000, func(uint64) (uint64, uint64) { return rnd.Uint64(), rnd.Uint64() }},
		{"far apart", 30007, func(uint64) (uint64, uint64) { return rnd.Uint64N(1 << 44), rnd.Uint64() >> rnd.IntN(64) }},
		{"near each other", 30007, func(i uint64) (uint64, uint64) { return 1<<40 + rnd.Uint64N(3000), i }},
		{"some near", 30007, func(i uint64) (uint64, uint64) { return rnd.Uint64N(1<<44) >> (i % 3 * 20), i }},
		{"one first number", 30007, func(uint64) (uint64, uint64) { return 5, rnd.Uint64N(1 << 20) }},
		{"two first numbers", 30007, func(i uint64) (uint64, uint64) { return i % 2, 1 << 40 >> (i % 20) }},
		{"in order", 30007, func(i uint64) (uint64, uint64) { return 5, i }},
		{"alike", 30007, func(uint64) (uint64, uint64) { return 5, 6 }},
	} {
		t.Run(x.name, func(t *testing.T) {
			dir := t.TempDir()
			s := newSorter(3, dir)
			s.most = 2000 * 24
			var want []row
			for i := range x.n {
				r := row{0, 0, uint64(i) * 0x9e3779b97f4a7c15 >> (i % 64)}
				r[0], r[1] = x.make(uint64(i))
				want = append(want, r)
				s.add(r[:3]...)
			}
			var got []row
			if err := s.finish(func(r []uint64) {
				x := row{}
				copy(x[:], r)
				if n := len(got); n > 0 && (key{x[0], x[1]}).less(key{got[n-1][0], got[n-1][1]}) {
					t.Fatalf("row %d, %v, comes after %v", n, x, got[n-1])
				}
				got = append(got, x)
			}); err != nil {
				t.Fatal(err)
			}
			all := func(a, b row) int { return slices.Compare(a[:], b[:]) }
			slices.SortFunc(want, all)
			slices.SortFunc(got, all)
			if !slices.Equal(got, want) {
				t.Errorf("%d rows came out that are not the %d that went in", len(got), len(want))
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// A bucket that can not be read ends it with an error, wherever it is, and leaves nothing behind.
func TestSorterUnreadable(t *testing.T) {
	for part := range int64(8) {
		dir := t.TempDir()
		s := newSorter(3, dir)
		s.most = 2000 * 24
		for i := range uint64(30007) {
			s.add(i*0x9e3779b97f4a7c15>>20, i, i)
		}
		s.spill()
		s.wait()
		if err := s.file.Truncate(s.at * part / 8); err != nil {
			t.Fatal(err)
		}
		rows := 0
		if err := s.finish(func([]uint64) { rows++ }); err == nil {
			t.Errorf("cut off at %d of 8: no error, %d rows", part, rows)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}
