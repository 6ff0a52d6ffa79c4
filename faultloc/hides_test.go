package faultloc

import "testing"

// checkHides holds what evidence of a kind against the statement 4 says of what it hides to what is wanted, and counts such evidence.
func checkHides(t *testing.T, w *world, program string, kind EvidenceKind, want bool) (seen int) {
	t.Helper()
	for _, s := range Locate(w.input()).Suspects {
		for _, e := range s.Evidence {
			if s.PC != 4 || e.Kind != kind {
				continue
			}
			if seen++; e.Hides != want {
				t.Errorf("%q: hides: %t", program, e.Hides)
			}
		}
	}
	return seen
}

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
		seen := checkHides(t, w, program, Counterfactual, want)
		if seen != 1 {
			t.Errorf("%q: the store was left out in %d experiments", program, seen)
		}
	}
}

// TestHidesElements: with another end there is no element to ask for, and so nothing broken. That says no more of a pointer than of a
// number. Another beginning of a chain does not hide what is broken in it.
func TestHidesElements(t *testing.T) {
	for _, test := range []struct {
		spec, program string
		hides         bool
	}{
		{"struct stack { long *start, *top; };\ntype stack;\nARRAY room OF long;\nup: stack X; for I in 1 to X.top - X.start - 1, X.start[I - 1] <= X.start[I];\n",
			"1: r = calloc room 32\n1: s = calloc stack\n1: s.start = r\n1: s.top = r\ncpoint\n2: r.[0] = 5\n3: r.[1] = 2\n4: s.top = r+16", true},
		{"struct stack { long *start; long top; };\ntype stack;\nARRAY room OF long;\nup: stack X; for I in 1 to X.top - 1, X.start[I - 1] <= X.start[I];\n",
			"1: r = calloc room 32\n1: s = calloc stack\n1: s.start = r\n1: s.top = 1\ncpoint\n2: r.[0] = 5\n3: r.[1] = 2\n4: s.top = 2", true},
		{"struct item { struct item *next; long key; };\ntype item;\nup: item X; X.next != NULL => X.key <= X.next.key;\n",
			"1: a = calloc item\n1: b = calloc item\n1: b.key = 3\n1: c = calloc item\n1: c.key = 9\ncpoint\n2: a.next = b\n3: a.key = 5\n4: a.next = b", false},
	} {
		w := newWorld(t, test.spec)
		w.run(test.program)
		seen := false
		for _, s := range Locate(w.input()).Suspects {
			for _, e := range s.Evidence {
				if e.Kind != RepairCell {
					continue
				}
				if e.Mends == nil {
					t.Errorf("%s: %d would mend nothing", test.program, s.PC)
				}
				if ends := s.PC == 4; ends && e.Hides != test.hides || !ends && e.Hides {
					t.Errorf("%s: %d hides: %t", test.program, s.PC, e.Hides)
				}
				seen = seen || s.PC == 4
			}
		}
		if test.hides && !seen {
			t.Errorf("%s: nothing is said of the end", test.program)
		}
	}
}

// TestHidesTogether: that all would be well without several changes of a statement says as little where fewer elements would be asked for,
// and so does that they would not be asked for had it written another field.
func TestHidesTogether(t *testing.T) {
	const spec = "struct st { long n, k; struct st *p[4]; };\ntype st;\nup: st X; for I in 0 to X.n - 1, X.p[I] == X;\nlow: st X; X.k < 5;\n"
	for _, c := range []struct {
		program string
		times   int
		hides   bool
	}{
		{"3: x.p[0] = y\n4: x.n = 1\n3: x.p[1] = y\n4: x.n = 2", 2, true},
		{"3: x.p[0] = y\n4: x.n = 1", 0, true},
		{"4: x.k = 7\n4: y.k = 7", 2, false},
		{"4: x.k = 7", 0, false},
	} {
		w := newWorld(t, spec)
		w.run("1: x = calloc st\n2: y = calloc st\ncpoint\n" + c.program)
		seen := 0
		for _, s := range Locate(w.input()).Suspects {
			for _, e := range s.Evidence {
				switch {
				case s.PC != 4:
				case e.Kind == Counterfactual && e.Times == c.times:
					if seen++; e.Hides != c.hides {
						t.Errorf("%q: hides: %t", c.program, e.Hides)
					}
				case e.Kind == Instead:
					t.Errorf("%q: %+v", c.program, e.Kind)
				}
			}
		}
		if seen == 0 {
			t.Errorf("%q: no experiment without the statement's %d changes", c.program, c.times)
		}
	}
}

// TestHidesStates: a number that no node has ever held, with which nothing is asked of this one any more, is no state that it may be meant to be in.
func TestHidesStates(t *testing.T) {
	const spec = "struct job { long state; struct job *next; };\ntype job;\nlinked: job X; X.state == 1 => X.next != NULL;\n"
	for program, want := range map[string]bool{
		"1: a = calloc job\ncpoint\n2: x = malloc job\n3: x.next = NULL\n4: x.state = 1":                                false, // another one is in state 0
		"1: a = malloc job\n1: a.next = a\n1: a.state = 1\ncpoint\n2: x = malloc job\n3: x.next = NULL\n4: x.state = 1": true,
		"1: x = malloc job\n1: x.next = x\n1: x.state = 2\ncpoint\n4: x.state = 1\n3: x.next = NULL":                    false, // it was
	} {
		w := newWorld(t, spec)
		w.run(program)
		seen := checkHides(t, w, program, RepairCell, want)
		if seen == 0 {
			t.Errorf("%q: no repair", program)
		}
	}
}
