package faultloc

import (
	"strings"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// TestEdited: the statement whose text would be right with an edit goes first, unless earlier calls say otherwise, or
// something else explains it.
func TestEdited(t *testing.T) {
	const (
		before = "1: h = calloc heap\n2: h.v[0] = 5\n3: h.n = 1\ncpoint\n"
		sifted = "20: h.v[1] = 3\n21: h.n = 2\n"
		given  = 4 // the store of 3
	)
	at := func(line trace.Addr, differs int) Experiment {
		return Experiment{PC: line, Times: 1, Alike: true, Differs: differs, Words: 2, After: 5, Edit: "with another text"}
	}
	but := func(x Experiment, f func(*Experiment)) Experiment { f(&x); return x }
	refuted := func(x *Experiment) { x.Refuted = true }
	for _, c := range []struct {
		name  string
		given mgpp.Timestamp
		try   tried
		first string // how the suspects begin
		not   string // what is not among them
	}{
		{"an edit", given, tried{edits: []Experiment{at(30, 16)}}, "decided 30 edited, ", "none"},
		{"the one that changes least", given, tried{edits: []Experiment{at(30, 40), at(31, 16)}}, "decided 31 edited, ", "none"},
		{"one with which an earlier call would not have ended well", given, tried{edits: []Experiment{but(at(30, 16), refuted)}}, "wrote 20, ", "decided 30"},
		{"one with which the call does nothing", given, tried{edits: []Experiment{but(at(30, 16), func(x *Experiment) { x.Idle = true })}}, "wrote 20, ", "decided 30"},
		{"one with which earlier calls would have done something else", given, tried{edits: []Experiment{but(at(30, 16), func(x *Experiment) { x.Held = 3 })}}, "wrote 20, ", "none"},
		{"another one that changes more than a decision", given, tried{decisions: []Experiment{at(32, 8)}, edits: []Experiment{at(30, 16)}}, "decided 32 switched, ", "none"},
		{"one of what broke something, which changes as much as a decision", given, tried{decisions: []Experiment{at(32, 16)}, edits: []Experiment{at(21, 16)}}, "wrote 21 edited, ", "none"},
		{"one of what broke nothing", given, tried{decisions: []Experiment{at(32, 16)}, edits: []Experiment{at(20, 16)}}, "decided 32 switched, ", "none"},
		{"a store that would mend all", 0, tried{edits: []Experiment{at(30, 16)}}, "wrote 20, ", "none"},
		{"a store of which earlier calls say that it is right", 0, tried{edits: []Experiment{but(at(20, 8), refuted), at(30, 16)}}, "decided 30 edited, ", "none"},
		{"one of which another edit would do", 0, tried{edits: []Experiment{but(at(20, 8), refuted), at(20, 8), at(30, 16)}}, "wrote 20 edited, ", "none"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			w := newWorld(t, heapSpec)
			w.run(before + sifted)
			in := w.input()
			c.try.given, c.try.asked = c.given, new(int)
			in.Rerun = func(mgpp.Timestamp) Rerun { return c.try }
			got := ranks(Locate(in))
			if !strings.HasPrefix(got, c.first) || strings.Contains(got, c.not) {
				t.Errorf("%s; want %s… and not %q", got, c.first, c.not)
			}
			in.Without = []EvidenceKind{Switched, Altered, Edited}
			if got := ranks(Locate(in)); strings.Contains(got, "decided") {
				t.Errorf("without the evidence: %s", got)
			}
		})
	}
}

// TestEditedLeftOut: where without one store all would be well, another text of a statement that nobody
// suspects is not told.
func TestEditedLeftOut(t *testing.T) {
	for without, want := range map[EvidenceKind]bool{"": false, Counterfactual: true} {
		w := newWorld(t, neighbours)
		w.run(insertions(3))
		w.run("80: n2.prev = n2")
		in := w.input()
		in.Without = []EvidenceKind{without}
		in.Rerun = func(mgpp.Timestamp) Rerun {
			return tried{asked: new(int), edits: []Experiment{{PC: 30, Times: 1, Alike: true, Differs: 16, Words: 2, After: 5, Edit: "with another text"}}}
		}
		if got := ranks(Locate(in)); strings.Contains(got, "decided 30") != want {
			t.Errorf("without %q: %s, want decided 30 among them %t", without, got, want)
		}
	}
}
