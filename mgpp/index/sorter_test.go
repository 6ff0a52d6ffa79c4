package index

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSorter: rows come out sorted, whether they fit in memory or not.
func TestSorter(t *testing.T) {
	for _, n := range []int{0, 1, 1000, 30007} {
		s := newSorter(3, t.TempDir())
		s.most = 10000 * 24
		rnd := rand.New(rand.NewPCG(1, uint64(n)))
		var want []row
		for i := range n {
			r := row{rnd.Uint64N(1 << 44), rnd.Uint64() >> rnd.IntN(64), uint64(i)}
			if i%3 == 0 {
				r[0] &= 0xff
			}
			want = append(want, r)
			s.add(r[:3]...)
		}
		slices.SortStableFunc(want, func(a, b row) int {
			switch {
			case a.less(&b):
				return -1
			case b.less(&a):
				return 1
			}
			return 0
		})
		at := 0
		if err := s.finish(func(r *row) {
			if r[0] != want[at][0] || r[1] != want[at][1] {
				t.Fatalf("row %d of %d is %v, want %v", at, n, *r, want[at])
			}
			at++
		}); err != nil {
			t.Fatal(err)
		}
		if at != n {
			t.Fatalf("%d rows of %d", at, n)
		}
	}
}
