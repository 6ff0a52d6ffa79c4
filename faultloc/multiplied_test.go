package faultloc

import (
	"slices"
	"testing"
)

// TestMultiplied: what an equation says of a number that it multiplies is tried, however far that is from what is there.
func TestMultiplied(t *testing.T) {
	const (
		spec   = "struct person { long age; };\nstruct hall { long pairs; };\ntype person;\ntype hall;\npaired: hall H; 2 * H.pairs == COUNT(person);\n"
		before = "1: h = calloc hall\n2: a = calloc person\n2: b = calloc person\n3: h.pairs = 1\ncpoint\n"
		come   = "2: c = calloc person\n2: d = calloc person\n2: e = calloc person\n2: f = calloc person\n2: g = calloc person\n2: i = calloc person\n"
	)
	for count, mends := range map[string]bool{"": true, "3: h.pairs = 4": false} {
		w := newWorld(t, spec)
		w.run(before + come + count)
		r := Locate(w.input())
		if got := slices.ContainsFunc(r.Repairs, func(r Repair) bool { return r.Cell.Path == "pairs" && r.Value == 4 && r.Cured == 1 }); got != mends {
			t.Errorf("with %q: pairs = 4 mends all %t, want %t", count, got, mends)
			w.show(r)
		}
		if !mends && len(r.Suspects) > 0 {
			t.Errorf("correct: %s", summary(r))
		}
	}
}
