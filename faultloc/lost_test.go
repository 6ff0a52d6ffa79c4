package faultloc

import (
	"slices"
	"testing"

	"mgtrace/constraints/check"
)

// TestRooted: a node to which static memory leads is not lost, though no edge leads to it any more.
func TestRooted(t *testing.T) {
	const (
		spec   = "struct twig { struct twig *kid; };\nstruct top { struct twig *first; };\nglobal top;\ntype twig;\ntwig.N;\ntwig X; X.N = (X.kid).N + 1;\nall: twig X; ::top.first == X => X.N == COUNT(twig);\n"
		before = "1: r = calloc twig\n2: top.first = r\n1: a = calloc twig\n3: r.kid = a\ncpoint\n"
	)
	for _, c := range []struct {
		name, program string
		suspects      bool
	}{
		{"its child becomes the root", "35: r.kid = NULL\n36: top.first = a", true},
		{"correct", "35: r.kid = NULL\n36: top.first = a\n37: free r", false},
	} {
		w := newWorld(t, spec)
		top := w.spec.Globals[0]
		w.blocks["top"] = &block{addr: staticMemory, typ: &check.NodeType{Layout: top.Layout}, size: uint64(top.Size)}
		w.run(before + c.program)
		r := Locate(w.input())
		if len(r.Suspects) > 0 != c.suspects || slices.ContainsFunc(r.Suspects, func(s Suspect) bool { return s.has(Lost) }) {
			t.Errorf("%s: %s", c.name, summary(r))
			w.show(r)
		}
	}
}
