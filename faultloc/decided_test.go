package faultloc

import (
	"fmt"
	"strings"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// tried is a call whose experiments have been made.
type tried struct {
	decisions, values []Experiment
	edits, added      []Experiment
	asked             *int // for values
	given             mgpp.Timestamp
	followed          []Read
	survives          mgpp.Timestamp // without that operation
	unset             []Unset
	outlived          []OutlivedPointer
}

// Decisions implements Rerun.
func (x tried) Decisions(bool) []Experiment { return x.decisions }

// Added implements Rerun.
func (x tried) Added() []Experiment { return x.added }

// Values implements Rerun.
func (x tried) Values() []Experiment {
	*x.asked++
	return x.values
}

// Passed implements Rerun.
func (x tried) Passed(mgpp.Timestamp) (Passing, bool) { return Passing{}, false }

// Given implements Rerun.
func (x tried) Given(t mgpp.Timestamp) bool { return t == x.given }

// Stored: the call is over.
func (x tried) Stored(map[mgpp.Timestamp][]byte) (well, ok bool) { return false, false }

// Outlived implements Rerun.
func (x tried) Outlived() []OutlivedPointer { return x.outlived }

// Unset implements Rerun.
func (x tried) Unset() []Unset { return x.unset }

// Followed implements Rerun.
func (x tried) Followed() []Read { return x.followed }

// Before implements Rerun.
func (x tried) Before(t mgpp.Timestamp) (well, ok bool) { return t == x.survives, true }

// ranks says which suspects there are, in order: kind and line, and whether an experiment is behind it.
func ranks(r Result) string {
	var out []string
	for _, s := range r.Suspects {
		text := fmt.Sprintf("%s %d", s.Kind, s.PC)
		for _, k := range []EvidenceKind{Switched, Edited, Altered} {
			if s.has(k) {
				text += " " + string(k)
			}
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

const heapSpec = "struct heap { long v[6]; long n; };\ntype heap;\norder: heap H; for I in 1 to H.n - 1, H.v[(I - 1) / 2] <= H.v[I];\n"

// TestDecided: what experiments with the call tell goes before stores that are right in themselves, and behind
// a field that would mend all.
func TestDecided(t *testing.T) {
	const (
		before = "1: h = calloc heap\n2: h.v[0] = 5\n3: h.n = 1\ncpoint\n"
		// 3 is to go above 5, and the comparison that lets it stops it.
		sifted = "20: h.v[1] = 3\n21: h.n = 2\n"
	)
	const given = 4 // the store of 3
	at := func(line trace.Addr, differs int) Experiment {
		return Experiment{PC: line, Times: 1, Alike: true, Differs: differs, Words: 2, After: 5}
	}
	other := at(50, 4)
	other.Alike = false
	seen, less, hides := at(30, 16), at(30, 16), at(30, 16)
	seen.Went, less.Less, hides.Hides = func() bool { return true }, true, true
	elsewhere := other // nobody executes calls again for what does something else altogether
	elsewhere.Went = func() bool { t.Error("earlier calls were asked"); return true }
	value := at(45, 16)
	value.Was, value.Instead = 1, 0
	for _, c := range []struct {
		name  string
		given mgpp.Timestamp
		try   tried
		first string // how the suspects begin
		last  string // what is somewhere behind, "" nothing
		asked int
	}{
		{"a decision", given, tried{decisions: []Experiment{at(30, 16)}}, "decided 30 switched, ", "wrote 20", 0},
		{"the one that changes least", given, tried{decisions: []Experiment{at(30, 40), at(31, 16), at(30, 48)}}, "decided 31 switched, ", "decided 30 switched", 0},
		{"one that does something else", given, tried{decisions: []Experiment{elsewhere, at(31, 16)}}, "decided 31 switched, ", "decided 50 switched", 0},
		{"one that has gone this way in calls that ended well", given, tried{decisions: []Experiment{seen}}, "wrote 21, ", "decided 30 switched", 0},
		{"one behind it is the first then", given, tried{decisions: []Experiment{seen, at(31, 20)}}, "decided 31 switched, ", "decided 30 switched", 0},
		{"one behind another that explains it", given, tried{decisions: []Experiment{at(31, 16), at(30, 20)}}, "decided 31 switched, ", "decided 30 switched", 0},
		{"one with which a part is left out", given, tried{decisions: []Experiment{less}}, "wrote 21, ", "decided 30 switched", 0},
		{"one with which a constraint looks at less", given, tried{decisions: []Experiment{hides}}, "wrote 20, wrote 21, ", "decided 30 switched", 1},
		{"one with which it does not, though that changes more", given, tried{decisions: []Experiment{hides, at(31, 40)}}, "decided 31 switched, ", "decided 30 switched", 0},
		{"a field that would mend all, and one that changes less", 0, tried{decisions: []Experiment{at(30, 4), at(31, 8)}}, "wrote 20, wrote 21, ", "decided 30 switched", 0},
		{"a value", given, tried{values: []Experiment{value}}, "decided 45 altered, wrote 21, ", "wrote 20", 1},
		{"no value where a decision explains it", given, tried{decisions: []Experiment{at(30, 16)}, values: []Experiment{value}}, "decided 30 switched, ", "", 0},
		{"a statement that stores too", given, tried{decisions: []Experiment{at(21, 16)}}, "wrote 21 switched", "", 0},
		{"a field that would mend all", 0, tried{decisions: []Experiment{at(30, 16)}}, "wrote 20, ", "decided 30 switched", 0},
		{"no experiment", given, tried{}, "wrote 20, ", "", 1},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			w := newWorld(t, heapSpec)
			w.run(before + sifted)
			in := w.input()
			c.try.given, c.try.asked = c.given, new(int)
			in.Rerun = func(mgpp.Timestamp) Rerun { return c.try }
			got := ranks(Locate(in))
			if !strings.HasPrefix(got, c.first) || !strings.Contains(got, c.last) || *c.try.asked != c.asked {
				t.Errorf("%s; want %s… and %q behind it; values were asked for %d times, want %d", got, c.first, c.last, *c.try.asked, c.asked)
			}
			in.Without = []EvidenceKind{Switched, Altered}
			if got := ranks(Locate(in)); strings.Contains(got, "decided") {
				t.Errorf("without the evidence: %s", got)
			}
		})
	}
}

// TestSayTheSame: experiments of a kind that say the same count once.
func TestSayTheSame(t *testing.T) {
	hides := Evidence{Kind: Counterfactual, Cured: 1, Of: 1, Hides: true}
	repair := Evidence{Kind: RepairCell, Cured: 1, Of: 1, Hides: true}
	vague := Evidence{Kind: Switched, Cured: 1, Of: 1}
	edit := Evidence{Kind: Edited, Cured: 1, Of: 1, Held: 1}
	flip := Evidence{Kind: Flip}
	if worthSeen >= worthFlip {
		t.Error("what goes as it always has is not less than what broke something")
	}
	for _, c := range []struct {
		evidence []Evidence
		want     int
	}{
		{[]Evidence{hides, repair}, worthHide},
		{[]Evidence{vague, edit}, worthUnalike},
		{[]Evidence{vague, edit, flip}, worthUnalike + worthFlip},
		{[]Evidence{{Kind: Switched, Alike: true, Seen: true}, {Kind: Edited, Alike: true, Held: 4}}, worthSeen}, // earlier calls say so twice
		{[]Evidence{{Kind: Switched, Alike: true}, {Kind: Edited, Alike: true}}, worthSwitched + worthEdited},
		{[]Evidence{{Kind: Edited, Alike: true, Hides: true}, {Kind: Altered, Alike: true, Hides: true}}, worthIdleCall},
	} {
		s := Suspect{Evidence: c.evidence}
		if got := s.worth(); got != c.want {
			t.Errorf("%v: %d, want %d", c.evidence, got, c.want)
		}
	}
}

// TestIndexed: which element of an array is written is told by what computed the index, if an experiment says that it is another one.
func TestIndexed(t *testing.T) {
	value := func(alike bool) Suspect {
		return Suspect{Kind: Decided, Operation: 4, Evidence: []Evidence{{Kind: Altered, Alike: alike}}}
	}
	for _, c := range []struct {
		name    string
		element bool
		other   Suspect
		want    bool
	}{
		{"an index", true, value(true), true},
		{"of another call", true, value(false), false},
		{"another field", false, value(true), false},
		{"a store", true, Suspect{Kind: Wrote, Operation: 4, Evidence: []Evidence{{Kind: Altered, Alike: true}}}, false},
		{"behind it", true, Suspect{Kind: Decided, Operation: 5, Evidence: []Evidence{{Kind: Edited, Alike: true}}}, false},
	} {
		store := Suspect{Kind: Wrote, Operation: 5, Evidence: []Evidence{{Kind: Instead, Element: c.element}}}
		(&Input{}).indexed([]Suspect{store, c.other})
		if got := store.Evidence[0].Copied; got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// Edits implements Rerun.
func (x tried) Edits(func(trace.Addr) int, bool) []Experiment { return x.edits }

// TestElseStrange: a decision says less where another statement did what it never did before.
func TestElseStrange(t *testing.T) {
	for _, without := range []EvidenceKind{"", Unlike} {
		w := newWorld(t, listSpecDL)
		w.run(insertions(60))
		w.run("30: x = malloc dnode\n31: x.key = 1\n32: x.prev = NULL\n40: x.next = n60\n41: n60.prev = n7")
		in := w.input()
		in.Without = []EvidenceKind{without}
		in.Rerun = func(mgpp.Timestamp) Rerun {
			return tried{asked: new(int), decisions: []Experiment{{PC: 70, Times: 1, Alike: true, Differs: 16, Words: 2, After: in.At - 1}}}
		}
		for _, s := range Locate(in).Suspects {
			if s.Kind == Decided && s.Evidence[0].Later != (without == "") {
				t.Errorf("without %q: %+v", without, s.Evidence[0])
			}
		}
		if got := ranks(Locate(in)); !strings.Contains(got, "decided 70") {
			t.Errorf("without %q: %s", without, got)
		}
	}
}
