package faultloc

import (
	"fmt"
	"strings"
	"testing"
)

// TestExact: where a statement counted by another number than always, and the count is wrong by as much more, that accounts for it, though
// others have counted on from there, and it has counted as always since.
func TestExact(t *testing.T) {
	const spec = "struct pea { long key; };\nstruct pod { long n; };\ntype pea;\ntype pod;\ntogether pea, pod;\nn: pod B; B.n == COUNT(pea);\n"
	var before strings.Builder
	before.WriteString("1: b = calloc pod\n")
	for i := 1; i <= 30; i++ {
		fmt.Fprintf(&before, "30: x%d = calloc pea\n77: b.n = %d\ncpoint\n", i, i)
	}
	for i := 30; i > 10; i-- {
		fmt.Fprintf(&before, "90: b.n = %d\n60: free x%d\ncpoint\n", i-1, i)
	}
	for _, c := range []struct {
		program string // ten are left
		exact   bool
		want    string
	}{
		{"90: b.n = 8\n77: b.n = 9\n90: b.n = 8\n60: free x10", true, "wrote 90 unlike"},
		{"90: b.n = 9\n77: b.n = 10\n90: b.n = 9\n60: free x10", false, "healthy"},
		{"90: b.n = 5\n88: b.n = 11\n60: free x10", false, "omitted 90"}, // wrong by something else
	} {
		w := newWorld(t, spec)
		w.run(before.String() + c.program)
		in := w.input()
		got, exact := "healthy", false
		if len(in.Found) > 0 {
			r := Locate(in)
			got = first(r, Unlike)
			for _, s := range r.Suspects {
				for _, e := range s.Evidence {
					exact = exact || e.Exact
				}
			}
		}
		if got != c.want || exact != c.exact {
			t.Errorf("%q: %s, exact %t; want %s, %t", c.program, got, exact, c.want, c.exact)
		}
	}
}
