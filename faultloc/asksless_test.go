package faultloc

import (
	"strings"
	"testing"

	"mgtrace/mgpp"
)

const backSpec = `
struct link { struct link *next, *prev; long key; };
struct chain { struct link *first, *last; };
type link;
type chain;
together chain, link;
`

// TestAsksLess: a node that was put in before another one leads to it rightly, and what is missing is the way back, though without the
// pointer nothing would be broken either. Where nothing made the way back outdated, the pointer is wrong.
func TestAsksLess(t *testing.T) {
	const before = "20: c = calloc chain\n21: a = malloc link\n22: a.key = 5\n23: a.next = NULL\n24: a.prev = NULL\n25: c.first = a\n26: c.last = a\ncpoint\n"
	for _, law := range []string{"back: link X; X.next == NULL or X.next.prev == X;\n", "back: link X; X.next != NULL => X.next.prev == X;\n"} {
		for program, want := range map[string]string{
			"30: x = malloc link\n31: x.key = 1\n32: x.prev = NULL\n33: x.next = a\n35: c.first = x":                 "outdated",
			"30: x = malloc link\n31: x.key = 1\n32: x.prev = NULL\n33: x.next = a\n34: a.prev = x\n35: c.first = x": "none",
			"30: x = malloc link\n31: x.key = 9\n32: x.prev = a\n33: x.next = a\n34: a.next = x\n35: c.last = x":     "wrote 33",
		} {
			w := newWorld(t, backSpec+law)
			w.run(before + program)
			if got := first(Locate(w.input()), Outdated); !strings.Contains(got, want) {
				t.Errorf("%s%s: %s, want %s", law, program, got, want)
			}
		}
	}
}

// TestNoNegative: a number below 0, with which nothing would be asked any more, is tried only where like nodes hold such, whether the field
// itself holds 0 or a neighbour's does.
func TestNoNegative(t *testing.T) {
	const law = "forth: link X; X.next != NULL and X.key >= 0 => X.next.prev == X;\n"
	for spare, want := range map[string]bool{"0": false, "-1": true} {
		w := newWorld(t, backSpec+law)
		w.run("20: c = calloc chain\n21: a = malloc link\n22: a.key = 0\n23: a.next = NULL\n24: a.prev = NULL\n25: c.first = a\n26: s = malloc link\n27: s.next = NULL\n28: s.prev = NULL\n29: s.key = " + spare +
			"\ncpoint\n30: x = malloc link\n31: x.key = 0\n32: x.prev = NULL\n33: x.next = a\n35: c.first = x")
		got := false
		for _, s := range Locate(w.input()).Suspects {
			for _, e := range s.Evidence {
				r := e.Mends
				if s.Repair != nil {
					r = s.Repair
				}
				got = got || r != nil && r.Cell.Path == "key" && int64(r.Value) < 0
			}
		}
		if got != want {
			t.Errorf("with a node that has %s: a negative number tried: %v", spare, got)
		}
	}
}

// TestGuards: a condition that only has left out the store that is missing goes before where that would stand; one with which more comes
// otherwise does not, nor where a statement that did store is wrong itself.
func TestGuards(t *testing.T) {
	const before = "20: c = calloc chain\n21: a = malloc link\n22: a.key = 5\n23: a.next = NULL\n24: a.prev = NULL\n25: c.first = a\n26: c.last = a\ncpoint\n"
	const missing = "30: x = malloc link\n31: x.key = 1\n32: x.prev = NULL\n33: x.next = a\n35: c.first = x"
	const wrong = "30: x = malloc link\n31: x.key = 9\n32: x.prev = a\n33: x.next = a\n34: a.next = x\n35: c.last = x"
	only := Experiment{PC: 29, Times: 1, Alike: true, More: true, Differs: 8, Words: 1, After: 8}
	more, other, larger := only, only, only
	more.Words, more.Differs = 2, 8
	other.More = false
	larger.Differs = 9
	for _, c := range []struct {
		program string
		x       Experiment
		want    bool
	}{{missing, only, true}, {missing, more, false}, {missing, other, false}, {missing, larger, false}, {wrong, only, false}} {
		w := newWorld(t, backSpec+"back: link X; X.next == NULL or X.next.prev == X;\n")
		w.run(before + c.program)
		in := w.input()
		in.Rerun = func(mgpp.Timestamp) Rerun { return tried{decisions: []Experiment{c.x}, asked: new(int)} }
		if got := ranks(Locate(in)); strings.HasPrefix(got, "decided 29 switched, ") != c.want || !strings.Contains(got, "decided 29") {
			t.Errorf("%s, %+v: %s, want it first: %t", c.program, c.x, got, c.want)
		}
	}
}
