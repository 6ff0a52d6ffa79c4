package eval_test

import (
	"testing"

	"mgtrace/constraints/eval"
	"mgtrace/trace"
)

// TestTalliesOfMany: of many nodes as many are counted as are enough, from everywhere among them; and all where few satisfy the guard.
func TestTalliesOfMany(t *testing.T) {
	w := newWorld(t, `
struct node { long kind, pad; };
type node;
all:  node X;  X.pad == 0;
rare: node X;  X.kind == 7 => X.pad == 0;
`)
	const n = 10_000
	for i := range n {
		a := w.alloc("node", 16, true)
		if i%1000 == 999 {
			w.put8(a, 7)
		}
		if i >= n/2 {
			w.put8(a+8, 1)
		}
	}
	got := w.c.Tallies(w.h.At(w.h.Now()), func(trace.Addr) bool { return false }, func(int, int) bool { return false }, nil)
	if all := got[0].Held + got[0].Broken; all < 1000 || all > n/2 || got[0].Held < all/3 || got[0].Broken < all/3 {
		t.Errorf("of all, half of which are broken: %+v", got[0])
	}
	if want := (eval.Tally{Held: 5, Broken: 5}); got[1] != want {
		t.Errorf("of the rare ones %+v, not %+v", got[1], want)
	}
}
