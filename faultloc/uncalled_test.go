package faultloc

import (
	"testing"

	"mgtrace/trace"
)

// TestCallMissing: a place at which a call may be missing is told where nothing else explains what is broken, or where the store that is missing is one of the
// function; and one in the function that stored to the node last before one that is anywhere.
func TestCallMissing(t *testing.T) {
	in := Input{Statement: func(pc trace.Addr) string { return "" }}
	call := func(pc, runs trace.Addr, beside bool) Experiment {
		return Experiment{PC: pc, Alike: true, Edit: "had f() been called here", Beside: beside, Runs: func(at trace.Addr) bool { return at == runs }}
	}
	flip := Suspect{Kind: Wrote, PC: 20, Evidence: []Evidence{{Kind: Flip, Flips: 1}}}
	wrong := Suspect{Kind: Wrote, PC: 21, Evidence: []Evidence{{Kind: Counterfactual, Cured: 1, Of: 1}}}
	outdated := Suspect{Kind: Wrote, PC: 22, Evidence: []Evidence{{Kind: Outdated, Cured: 1, Of: 1, Flips: 1}, {Kind: Flip, Flips: 1}}}
	missing := Suspect{Kind: Omitted, PC: 30, Repair: &Repair{}, Evidence: []Evidence{{Kind: RepairCell, Cured: 1, Of: 1}, {Kind: Missing, Often: 9, Of: 9, Cured: 1}}}
	part := Suspect{Kind: Wrote, PC: 24, Evidence: []Evidence{{Kind: Outdated, Cured: 1, Of: 2, Flips: 1}, {Kind: Flip, Flips: 1}}}
	usual := Suspect{Kind: Wrote, PC: 23, Evidence: []Evidence{{Kind: RepairCell, Cured: 1, Of: 1, Usual: true}}}
	for _, c := range []struct {
		name     string
		suspects []Suspect
		added    []Experiment
		first    trace.Addr
		of       int
	}{
		{"nothing else explains it", []Suspect{flip}, []Experiment{call(60, 0, false)}, 60, 2},
		{"the best of several", []Suspect{flip}, []Experiment{call(60, 0, true), call(61, 0, true)}, 60, 2},
		{"a store explains it", []Suspect{flip, wrong}, []Experiment{call(60, 0, true)}, 21, 2},
		{"it would do with another number", []Suspect{usual, flip}, []Experiment{call(60, 0, false)}, 20, 2},
		{"a field beside a store, and a call there", []Suspect{outdated}, []Experiment{call(60, 0, true)}, 60, 2},
		{"a field beside a store, and a call elsewhere", []Suspect{outdated}, []Experiment{call(60, 0, false)}, 22, 2},
		{"the store that is missing is one of the function's", []Suspect{flip, missing}, []Experiment{call(60, 0, true), call(61, 30, true)}, 61, 3},
		{"it has run elsewhere", []Suspect{flip, missing}, []Experiment{call(61, 30, false)}, 30, 2},
		{"it is another's", []Suspect{flip, missing}, []Experiment{call(60, 0, true)}, 30, 2},
		{"a field that would mend a part beside a store", []Suspect{part}, []Experiment{call(60, 0, false)}, 60, 2},
		{"no call would do", []Suspect{flip}, nil, 20, 1},
	} {
		got, _ := rank(uncalled(in, tried{added: c.added}, c.suspects))
		if got[0].PC != c.first || len(got) != c.of {
			t.Errorf("%s: %d is the first of %d, want %d of %d", c.name, got[0].PC, len(got), c.first, c.of)
		}
	}
}
