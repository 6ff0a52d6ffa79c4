package index

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// room is a coded block as decodeBlock wants it.
func room(b []byte) []byte { return append(slices.Clone(b), make([]byte, behind)...)[:len(b)] }

// TestBlock: what is coded is decoded, and is a block no more when a byte is missing.
func TestBlock(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for round := range 300 {
		f := filling{cols: 2 + rnd.IntN(maxCols-1)}
		var want []row
		for range 1 + rnd.IntN(blockRows) {
			var r row
			for c := range f.cols {
				r[c] = rnd.Uint64() >> rnd.IntN(64)
				if rnd.IntN(3) == 0 {
					r[c] = -r[c]
				}
			}
			want = append(want, r)
			f.add(r[:])
		}
		coded := room(f.code())
		got, err := decodeBlock(coded, f.cols, rows{})
		if err != nil || got.len() != len(want) {
			t.Fatalf("round %d: %d rows, %v; want %d", round, got.len(), err, len(want))
		}
		for i := range want {
			if got.at(i) != want[i] {
				t.Fatalf("round %d: row %d of %d is %v, want %v", round, i, len(want), got.at(i), want[i])
			}
		}
		if _, err := decodeBlock(room(coded[:len(coded)-1]), f.cols, rows{}); err == nil {
			t.Fatalf("round %d: a block without its last byte is decoded", round)
		}
	}
}

// TestBelow: a search in a block finds the place of a key.
func TestBelow(t *testing.T) {
	f := filling{cols: 2}
	for _, r := range [][]uint64{{3, 5}, {3, 9}, {4, 0}, {7, 7}} {
		f.add(r)
	}
	r, err := decodeBlock(room(f.code()), 2, rows{})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		a, b uint64
		want int
	}{{0, 0, 0}, {3, 5, 0}, {3, 6, 1}, {3, 10, 2}, {4, 0, 2}, {4, 1, 3}, {7, 7, 3}, {7, 8, 4}, {9, 0, 4}} {
		if got := r.below(x.a, x.b); got != x.want {
			t.Errorf("%d rows are below (%d, %d), want %d", got, x.a, x.b, x.want)
		}
	}
}

// FuzzBlock: any bytes are a block or an error.
func FuzzBlock(f *testing.F) {
	x := filling{cols: 3}
	for i := range uint64(5) {
		x.add([]uint64{i, i * i, 1 << (9 * i)})
	}
	f.Add(slices.Clone(x.code()), uint8(3))
	f.Fuzz(func(t *testing.T, b []byte, cols uint8) {
		n := 2 + int(cols)%(maxCols-1)
		r, err := decodeBlock(room(b), n, rows{})
		if err == nil && (r.len() == 0 || r.len() > blockRows || len(r.cells) != n*r.len()) {
			t.Fatalf("%d rows of %d columns in %d numbers", r.len(), n, len(r.cells))
		}
	})
}
