package faultloc

import (
	"fmt"
	"strings"
	"testing"
)

// TestLawMatters: that a value did not come from where it always has is no fault where nothing that is broken asks which one it is.
func TestLawMatters(t *testing.T) {
	const (
		counted = "struct pin { struct pin *next, *mate; };\nstruct box { struct pin *first; long mated; };\ntype pin;\ntype box;\ntogether box, pin;\ncounted: box B; B.mated == COUNT(pin X: X.mate != NULL);\n"
		near    = "near: pin X; X.mate == NULL or X.mate == X.next;\n"
	)
	var before strings.Builder
	before.WriteString("1: b = calloc box\n1: p0 = calloc pin\n")
	for i := 1; i <= 30; i++ {
		fmt.Fprintf(&before, "1: p%d = calloc pin\n2: p%d.next = p%d\n", i, i, i-1)
	}
	for i := 1; i <= 20; i++ {
		fmt.Fprintf(&before, "70: p%d.mate = p%d\n71: b.mated = %d\ncpoint\n", i, i-1, i)
	}
	for spec, want := range map[string]Law{counted: "", counted + near: LawOrigin} {
		w := newWorld(t, spec)
		w.run(before.String() + "70: p25.mate = p3\n71: b.mated = 22")
		in := w.input()
		if got := lawOf(in, 70); got != want || len(in.Found) == 0 {
			t.Errorf("law %q, want %q; found %v", got, want, in.Found)
		}
	}
}
