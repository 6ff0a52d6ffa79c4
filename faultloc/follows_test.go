package faultloc

import (
	"slices"
	"strings"
	"testing"
)

// TestFollows: a count that an equation tells is missing beside the change, though with the right one another constraint of its node would break:
// that asks for what would have come next, as the end of what nothing leads to any more. Not where another equation says that it is something else.
func TestFollows(t *testing.T) {
	const spec = "struct order { struct level *level; };\nstruct level { int norders; int most; long volume; };\ntype order;\ntype level;\ntogether order, level;\norders: level L; L.norders == L.INDEGREE(level);\n"
	const begin = "1: l = calloc level\n2: o = calloc order\n5: l.volume = 20\n5: l.most = 1\n5: l.norders = 1\n6: o.level = l\ncpoint\n"
	for _, c := range []struct {
		name, spec, run, want string
	}{
		{"it is missing", "used: level L; L.norders > 0;\n", "20: free o\n", "wrote 20"},
		{"to another field", "used: level L; L.norders > 0;\n", "20: free o\n21: l.volume = 19\n22: l.volume = 7\n", "wrote 21"},
		{"another equation", "used: level L; L.norders == L.most;\n", "20: free o\n", ""},
	} {
		w := newWorld(t, spec+c.spec)
		w.run(begin + c.run)
		r := Locate(w.input())
		follows := slices.ContainsFunc(r.Repairs, func(r Repair) bool {
			return r.Cell.Path == "norders" && r.Value == 0 && r.Follows == 1 && r.Created == 0
		})
		if got := ranks(r); follows != (c.want != "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s first; repairs %+v", c.name, got, c.want, r.Repairs)
		}
	}
}
