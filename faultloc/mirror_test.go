package faultloc

import "testing"

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
