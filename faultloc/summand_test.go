package faultloc

import "testing"

// TestSummand: a sum lacks all of what a new node holds: it was not counted in, and nothing is wrong with what it holds.
func TestSummand(t *testing.T) {
	const (
		spec = "struct pea { struct pea *next; long weight; };\nstruct pod { struct pea *first; long sum; };\ntype pea;\ntype pod;\ntogether pea, pod;\n" +
			"pea.S;\npea X; X.S = X.weight + (X.next).S;\nsum: pod B; B.sum == (B.first == NULL ? 0 : (B.first).S);\n"
		before = "1: b = calloc pod\n30: x = calloc pea\n31: x.weight = 4\n40: b.first = x\n41: b.sum = 4\ncpoint\n30: y = calloc pea\n31: y.weight = 3\n32: y.next = x\n40: b.first = y\n"
	)
	for program, want := range map[string]string{
		"":              "wrote 40 outdated",
		"41: b.sum = 7": "healthy",
		"41: b.sum = 5": "wrote 41 outdated", // it was counted in, by something else
	} {
		w := newWorld(t, spec)
		w.run(before + program)
		got := "healthy"
		if in := w.input(); len(in.Found) > 0 {
			got = first(Locate(in), Outdated)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", program, got, want)
		}
	}
}
