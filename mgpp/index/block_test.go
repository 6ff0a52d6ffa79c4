package index

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// room is a coded block as parseBlock wants it.
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
		k, err := parseBlock(coded, f.cols)
		if err != nil || k.n != len(want) {
			t.Fatalf("round %d: %d rows, %v; want %d", round, k.n, err, len(want))
		}
		all := k.rows(rows{})
		for i := range want {
			if all.at(i) != want[i] || k.row(i) != want[i] {
				t.Fatalf("round %d: row %d of %d is %v, alone %v, want %v", round, i, len(want), all.at(i), k.row(i), want[i])
			}
		}
		if _, err := parseBlock(room(coded[:len(coded)-1]), f.cols); err == nil {
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
	r, err := parseBlock(room(f.code()), 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		a, b uint64
		want int
	}{{0, 0, 0}, {3, 5, 0}, {3, 6, 1}, {3, 10, 2}, {4, 0, 2}, {4, 1, 3}, {7, 7, 3}, {7, 8, 4}, {9, 0, 4}} {
		if got, _ := r.below(x.a, x.b); got != x.want {
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
		k, err := parseBlock(room(b), n)
		if err != nil {
			return
		}
		r := k.rows(rows{})
		if r.len() == 0 || r.len() > blockRows || len(r.cells) != n*r.len() {
			t.Fatalf("%d rows of %d columns in %d numbers", r.len(), n, len(r.cells))
		}
		if last := r.len() - 1; k.row(last) != r.at(last) {
			t.Fatalf("the last row is %v, alone %v", r.at(last), k.row(last))
		}
	})
}
