package faultloc

import (
	"fmt"
	"testing"

	"mgtrace/trace"
)

// TestMutualElements: of neighbours in arrays any element may be the way back. A new triangle comes between two that were neighbours: who
// stored that it leads to the one is where the way back is missing, and not who took the other out.
func TestMutualElements(t *testing.T) {
	const (
		spec = "struct tri { struct tri *by[3]; };\ntype tri;\nmutual: tri X, Y; X -> Y => Y -> X;\n"
		mesh = "1: a = calloc tri\n1: b = calloc tri\n1: d = calloc tri\n1: e = calloc tri\n2: a.by[1] = b\n2: b.by[0] = a\n2: b.by[2] = d\n2: d.by[2] = b\n2: d.by[0] = e\n2: e.by[1] = d\ncpoint\n"
		born = "50: c = calloc tri\n51: c.by[0] = b\n52: b.by[1] = c\n"
		out  = "17: c.by[0] = NULL\n17: b.by[0] = NULL\n18: b.by[1] = NULL\n19: b.by[2] = NULL\n"
		in   = "75: c.by[2] = a\n72: c.by[0] = b\n63: b.by[2] = c\n61: b.by[1] = d\n"
	)
	checkAsked(t, spec, mesh, Outdated, map[string]string{
		born + out + in:                       "wrote 75 outdated",
		born + out + "61: a.by[1] = c\n" + in: "healthy",
	})
}

// TestUpward: a new node to which nothing leads, and which leads upwards by a pointer that is no edge: the way down is missing. A father has
// two ways down, and one that was never used is none.
func TestUpward(t *testing.T) {
	const spec = "struct leaf { struct leaf *left, *right, *up; };\nstruct top { struct leaf *first; };\ntype leaf edges (left, right);\ntype top;\ntogether top, leaf;\nheld: leaf X; X.INDEGREE == 1;\n"
	const begin = "20: h = calloc top\ncpoint\n30: a = calloc leaf\n32: h.first = a\ncpoint\n30: b = calloc leaf\n31: b.up = a\n33: a.left = b\ncpoint\n30: d = calloc leaf\n31: d.up = b\n35: b.right = d\ncpoint\n"
	for end, want := range map[string]string{
		"30: c = calloc leaf\n31: c.up = a\n":                  "wrote 31 a",
		"30: c = calloc leaf\n31: c.up = b\n":                  "wrote 31 b",
		"30: c = calloc leaf\n31: c.up = a\n34: a.right = c\n": "none", // correct
	} {
		w := newWorld(t, spec)
		w.run(begin)
		w.run(end)
		got := "none"
		if r := Locate(w.input()); len(r.Suspects) > 0 {
			s := r.Suspects[0]
			got = fmt.Sprintf("%s %d", s.Kind, s.PC)
			for _, e := range s.Evidence {
				if e.Mends != nil {
					got += " " + w.nameOf(e.Mends.Cell)
					break
				}
			}
		}
		if got != want {
			t.Errorf("%q: %s, want %s", end, got, want)
		}
	}
}

// TestMovedSince: who left NULL in a pointer back when the way there was made already knew of it, also where that way has been moved to another field since; who did
// before that did not.
func TestMovedSince(t *testing.T) {
	const (
		spec  = "struct n { struct n *left, *right, *up; };\ntype n edges (left, right);\nup: n X, Y; X -> Y => Y.up == X;\n"
		begin = "20: a = calloc n\n21: b = calloc n\ncpoint\n"
		swap  = "70: a.left = b\n71: a.right = NULL\n"
	)
	for program, want := range map[string]string{
		"50: a.right = b\n51: b.up = NULL\n" + swap: "51",
		"50: a.right = b\n51: b.up = a\n" + swap:    "healthy",
		"30: b.up = NULL\n50: a.right = b\n":        "50",
	} {
		w := newWorld(t, spec)
		w.run(begin)
		w.run(program)
		in := w.input()
		in.Function = func(pc trace.Addr) string { return fmt.Sprint(pc / 10) }
		got := "healthy"
		if len(in.Found) > 0 {
			got = fmt.Sprint(Locate(in).Suspects[0].PC)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", program, got, want)
		}
	}
}
