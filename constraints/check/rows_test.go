package check

import (
	"testing"

	"mgtrace/types"
)

// The first node that does not end before an offset is found as by a look at each.
func TestRowFrom(t *testing.T) {
	of := &NodeType{Layout: &types.Type{Size: 8}}
	for _, r := range []Row{
		{Type: of, Offset: 24},
		{Type: of, Dims: []Dim{{5, 8}}},
		{Type: of, Offset: 4, Dims: []Dim{{5, 24}}},
		{Type: of, Offset: 8, Dims: []Dim{{3, 64}, {2, 16}}},
		{Type: of, Offset: 8, Dims: []Dim{{3, 100}, {2, 40}, {2, 16}}},
	} {
		for off := int64(-10); off < 400; off++ {
			want := int64(0)
			for want < r.Count() && r.At(want)+8 <= off {
				want++
			}
			if got := r.From(off); got != want {
				t.Fatalf("%+v: from %d on it is number %d, want %d", r, off, got, want)
			}
		}
	}
}
