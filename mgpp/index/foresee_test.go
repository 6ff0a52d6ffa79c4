package index

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// tableOf writes rows as a table.
func tableOf(t *testing.T, rows []row) (tableMeta, []byte) {
	t.Helper()
	var file bytes.Buffer
	out := newOutput(&file)
	w := newTable(out, 3)
	for i := range rows {
		w.add(rows[i][:])
	}
	m, err := w.finish()
	if err := errors.Join(err, out.w.Flush()); err != nil {
		t.Fatal(err)
	}
	return m, file.Bytes()
}

// TestForesee: a table of which blocks are read beforehand answers as before, about keys that were
// foreseen and about others, and of a block that is damaged says so.
func TestForesee(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 100, 3 * blockRows * pageBlocks} {
		var rows []row
		for i := range n {
			rows = append(rows, row{uint64(i / 5), uint64(i%5) * 3, rnd.Uint64() >> 40})
		}
		m, file := tableOf(t, rows)
		for _, wanted := range []int{3, foreseeFrom, 1000} {
			var keys []key
			for range wanted {
				keys = append(keys, key{rnd.Uint64N(uint64(n)/5 + 2), rnd.Uint64N(16)})
			}
			slices.SortFunc(keys, func(a, b key) int { return slices.Compare(a[:], b[:]) })
			ahead, plain := &table{tableMeta: m, f: bytes.NewReader(file)}, &table{tableMeta: m, f: bytes.NewReader(file)}
			if err := ahead.foresee(keys); err != nil {
				t.Fatal(err)
			}
			if has := len(ahead.foreseen) > 0; has != (wanted >= foreseeFrom && n > 0) {
				t.Errorf("%d keys of %d rows, read beforehand: %v", wanted, n, has)
			}
			for range 500 {
				keys = append(keys, key{rnd.Uint64N(uint64(n)/5 + 2), rnd.Uint64N(16)})
			}
			for _, k := range keys {
				a, i, okA, err := ahead.before(k[0], k[1])
				b, j, okB, err2 := plain.before(k[0], k[1])
				if a != b || i != j || okA != okB || errors.Join(err, err2) != nil {
					t.Fatalf("before %v of %d rows: %v %d %v, want %v %d %v (%v, %v)", k, n, a, i, okA, b, j, okB, err, err2)
				}
				if okA && i > 0 {
					if c, err := ahead.at(i - 1); err != nil || c != rows[i-1] {
						t.Fatalf("row %d is %v, want %v (%v)", i-1, c, rows[i-1], err)
					}
				}
			}
			if n < foreseeFrom {
				continue
			}
			bad := slices.Clone(file)
			bad[len(bad)/10] ^= 1 // in a block
			all := make([]key, n)
			for i := range all {
				all[i] = key{rows[i][0], rows[i][1] + 1}
			}
			if err := (&table{tableMeta: m, f: bytes.NewReader(bad)}).foresee(all); !errors.Is(err, ErrCorrupt) {
				t.Errorf("a damaged block: %v", err)
			}
		}
	}
}
