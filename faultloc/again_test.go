package faultloc

import (
	"slices"
	"testing"

	"mgtrace/trace"
)

// TestStoredAgain: who stores a pointer where it is already, to a node that is freed after that, should have stored another one; not who
// does so before another one takes it out, nor where the node lives.
func TestStoredAgain(t *testing.T) {
	const before = "1: a = calloc knot\n1: b = calloc knot\n1: c = calloc knot\n2: a.next = b\n2: b.next = c\ncpoint\n"
	checkAsked(t, knotSpec, before, Doomed, map[string]string{
		"70: a.next = b\n72: free b":                 "wrote 70 doomed",
		"70: a.next = b\n71: a.next = c\n72: free b": "healthy",
		"72: free b": "wrote 72",
		"70: a.next = b\n71: b.next = NULL\n72: free c": "healthy",
	})
}

// TestCutOff: who stores a pointer to a node where it is already, before what the node leads to is cut off in the same function, should
// have stored that; not who does so in another function.
func TestCutOff(t *testing.T) {
	const (
		spec   = "struct bead { struct bead *next, *back; };\nstruct wire { struct bead *first; };\ntype bead edges (next);\ntype wire;\ntogether wire, bead;\nlinked: bead X; X.INDEGREE == 1;\nback: bead X; X.next == NULL or X.next.back == NULL or X.next.back == X;\n"
		before = "1: w = calloc wire\n1: a = calloc bead\n1: b = calloc bead\n1: c = calloc bead\n2: b.next = c\n2: a.next = b\n2: b.back = a\n3: w.first = a\ncpoint\n"
	)
	for _, c := range []struct {
		name, program string
		accused       bool
	}{
		{"the first is left where it was", "80: w.first = a\n86: a.next = NULL\n87: c.next = a", true},
		{"by another function", "10: w.first = a\n86: a.next = NULL\n87: c.next = a", false},
		{"the way back", "81: b.back = a\n86: a.next = c", false},
		{"taken out", "80: w.first = b\n86: a.next = NULL\n87: c.next = a", false},
	} {
		w := newWorld(t, spec)
		w.run(before + c.program)
		in := w.input()
		in.Function = func(pc trace.Addr) string {
			return map[bool]string{true: "take_out", false: "other"}[pc >= 80 && pc < 87]
		}
		r := Locate(in)
		accused := slices.ContainsFunc(r.Suspects, func(s Suspect) bool { return s.has(Doomed) })
		if accused != c.accused || c.accused && r.Suspects[0].PC != 80 || (len(in.Found) == 0) != (c.name == "taken out") {
			t.Errorf("%s: %s, %d broken", c.name, summary(r), len(in.Found))
		}
	}
}
