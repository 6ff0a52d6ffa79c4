package faultloc

import (
	"strings"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// TestCrashed: where nothing is broken the statement in which the program died is accused, and goes behind an experiment with which
// it would not have died, unless that only leaves out a part of the call.
func TestCrashed(t *testing.T) {
	at := Experiment{PC: 30, Times: 1, Alike: true, Differs: 16, Words: 2, After: 5}
	less := at
	less.Less = true
	for name, c := range map[string]struct {
		try   tried
		first string
	}{
		"no experiment":              {tried{}, "died 77"},
		"a decision":                 {tried{decisions: []Experiment{at}}, "decided 30 switched, died 77"},
		"one that leaves out a part": {tried{decisions: []Experiment{less}}, "died 77, decided 30 switched"},
		"another text":               {tried{edits: []Experiment{at}}, "decided 30 edited, died 77"},
	} {
		w := newWorld(t, heapSpec)
		w.run("1: h = calloc heap\n2: h.v[0] = 5\n3: h.n = 1\ncpoint\n20: h.v[1] = 8\n")
		in := w.input()
		in.Cut, in.Died = true, 77
		c.try.asked = new(int)
		in.Rerun = func(mgpp.Timestamp) Rerun { return c.try }
		if got := ranks(Crashed(in)); !strings.HasPrefix(got, c.first) {
			t.Errorf("%s: %s, want %s", name, got, c.first)
		}
	}
}

// TestBeneath: a free is accused of what called it going on, though the structure was whole after it, and nothing else is told of the crash.
func TestBeneath(t *testing.T) {
	for name, c := range map[string]struct {
		beneath func(mgpp.Timestamp) bool
		want    bool
	}{
		"nothing is known of calls": {nil, false},
		"of another call":           {func(mgpp.Timestamp) bool { return false }, false},
		"of what called both":       {func(mgpp.Timestamp) bool { return true }, true},
	} {
		w := newWorld(t, neighbours)
		w.run(insertions(3))
		w.run("80: x = malloc dnode\n81: free x\ncpoint\n82: n1.key = 1")
		in := w.input()
		in.Cut, in.Died, in.Beneath = true, 83, c.beneath
		got := ranks(Crashed(in))
		if !strings.HasPrefix(got, "died 83") || strings.Contains(got, "wrote 81") != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestUsed: a free of what the call went on to use goes first; one before the last healthy C-point is not of this.
func TestUsed(t *testing.T) {
	for before, want := range map[mgpp.Timestamp]bool{1: true, 2: false} { // so many operations before the end
		w := newWorld(t, neighbours)
		w.run(insertions(3))
		w.run("80: free n2\n81: n1.key = 1")
		in := w.input()
		in.ReadFreed = func(mgpp.Timestamp) (ReadFreed, bool) { return ReadFreed{Free: in.At - before, By: 81}, true }
		if got := first(Locate(in), Used); (got == "wrote 80 used") != want {
			t.Errorf("%d before the end: %s, want used %t", before, got, want)
		}
		in.ReadFreed = func(mgpp.Timestamp) (ReadFreed, bool) { return ReadFreed{}, false }
		if got := first(Locate(in), Used); strings.HasSuffix(got, "used") {
			t.Errorf("nothing was used: %s", got)
		}
	}
}

// TestInside: a statement that did not run is shown where its own function ran, if what it usually runs next to is another one's.
func TestInside(t *testing.T) {
	w := newWorld(t, listSpecDL)
	var points []mgpp.Timestamp
	for _, part := range strings.SplitAfter(insertions(30), "cpoint\n") {
		w.run(part)
		points = append(points, w.healthy)
	}
	w.run("30: x = malloc dnode\n31: x.key = 1\n32: x.prev = NULL\n40: x.next = n30")
	for _, own := range []bool{true, false} {
		in := w.input()
		in.Points = points
		in.Function = func(pc trace.Addr) string {
			if pc == 41 || own && pc == 32 {
				return "link"
			}
			return "insert"
		}
		var inside mgpp.Timestamp
		for _, s := range Locate(in).Suspects {
			for _, e := range s.Evidence {
				if s.Kind == Omitted && s.PC == 41 && e.Kind == Habit {
					inside = e.Inside
				}
			}
		}
		want := mgpp.Timestamp(0)
		if own {
			want = in.At - 1
		}
		if inside != want {
			t.Errorf("own %t: inside %d, want %d", own, inside, want)
		}
	}
}

// TestAsked: of two executions that are part of as many broken laws the one is blamed that is asked for, else the first, and of
// one that stores what the other overwrites the one that stores it.
func TestAsked(t *testing.T) {
	for law, otherwise := range map[Law]mgpp.Timestamp{LawCopied: 4, LawMoved: 5} {
		for asked, want := range map[mgpp.Timestamp]mgpp.Timestamp{0: otherwise, 4: 4, 5: 5} {
			got := blamed(nil, []broken{{t: 5, beside: 4, law: law}}, func(t mgpp.Timestamp) bool { return t == asked })
			if len(got) != 1 || got[0].t != want || got[0].turned != (want == 4) {
				t.Errorf("%s, asked for %d: %+v, want %d", law, asked, got, want)
			}
		}
	}
}
