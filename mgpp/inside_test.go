package mgpp

import (
	"testing"

	"mgtrace/trace"
)

// What surely lies in a live node, without a look at nodes, does lie in one; and of granules that only
// one node has, from their beginning on, all that lies in it is known to, up to its last byte.
func TestInside(t *testing.T) {
	const page = 0x10000
	type extent struct{ start, size uint64 }
	for _, c := range []struct {
		name string
		all  []extent
	}{
		{"whole granules", []extent{{page + 32, 48}}},
		{"half a granule behind", []extent{{page + 32, 40}}},
		{"less than a granule", []extent{{page + 32, 7}}},
		{"in the middle of granules", []extent{{page + 40, 40}}},
		{"in the middle of one", []extent{{page + 36, 4}}},
		{"two in one granule", []extent{{page + 32, 24}, {page + 56, 24}}},
		{"up to the end of the page", []extent{{page + pageSize - 40, 40}}},
		{"over it", []extent{{page + pageSize - 32, 40}}},
		{"a page", []extent{{page, pageSize + 8}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := New(Options{})
			check := func(live []extent) {
				t.Helper()
				for a := uint64(page - 32); a < page+2*pageSize; a++ {
					for n := uint64(1); n <= granule; n++ {
						within, known, here := false, false, 0
						for _, x := range live {
							first := a &^ (granule - 1)
							if x.start < first+granule && first < x.start+x.size {
								here++
							}
							if x.start <= a && a+n <= x.start+x.size {
								within, known = true, first >= x.start && a+n <= first+granule
							}
						}
						if got := h.mem.lookup(a).inside(a, n); got && !within || known && here == 1 && !got {
							t.Fatalf("%#x+%d: inside is %v, within %v", a, n, got, within)
						}
					}
				}
			}
			apply := func(k trace.Kind, x extent) {
				if _, err := h.Apply(&trace.Event{Kind: k, Addr: trace.Addr(x.start), Size: x.size, Aux: x.start}); err != nil {
					t.Fatal(err)
				}
			}
			for _, x := range c.all {
				apply(trace.KindAlloc, x)
			}
			check(c.all)
			grown := c.all[len(c.all)-1]
			for _, by := range []uint64{0, 9, 4, 21, 1} { // of its granules
				last := extent{grown.start, grown.size + by}
				apply(trace.KindRealloc, last)
				check(append(c.all[:len(c.all)-1:len(c.all)-1], last))
			}
			apply(trace.KindFree, c.all[0])
			if len(c.all) == 1 {
				check(nil)
			}
		})
	}
}
