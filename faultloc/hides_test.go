package faultloc

import "testing"

// TestHides: that an inconsistency would be gone without a store, only since what its guard asks for would never have been written, says no
// more than that a constraint would look at less.
func TestHides(t *testing.T) {
	const spec = "struct tab { int n; };\nstruct sym { int kind; struct tab *table; };\ntype sym;\ntype tab;\nin: sym X; X.kind == 1 => X.table != NULL;\n"
	for program, want := range map[string]bool{
		"2: x = malloc sym\n3: x.table = NULL\n4: x.kind = 1":                true,
		"2: x = malloc sym\n5: x.kind = 0\n3: x.table = NULL\n4: x.kind = 1": false, // it would be known, and ask for nothing
	} {
		w := newWorld(t, spec)
		w.run("1: t = calloc tab\ncpoint\n" + program)
		seen := 0
		for _, s := range Locate(w.input()).Suspects {
			for _, e := range s.Evidence {
				if s.PC != 4 || e.Kind != Counterfactual {
					continue
				}
				if seen++; e.Hides != want {
					t.Errorf("%q: hides: %t", program, e.Hides)
				}
			}
		}
		if seen != 1 {
			t.Errorf("%q: the store was left out in %d experiments", program, seen)
		}
	}
}
