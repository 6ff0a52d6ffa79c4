package faultloc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mgtrace/mgpp"
)

// open is a call in the middle of which the program died, or one of which a value came back to a store.
type open struct {
	tried
	well, known bool
	returned    *Passing
	stores      *[]map[mgpp.Timestamp][]byte // those that were asked
}

// Stored implements Rerun.
func (x open) Stored(stores map[mgpp.Timestamp][]byte) (well, ok bool) {
	if x.stores != nil {
		*x.stores = append(*x.stores, stores)
	}
	return x.well, x.known
}

// Passed implements Rerun.
func (x open) Passed(mgpp.Timestamp) (Passing, bool) {
	if x.returned == nil {
		return Passing{}, false
	}
	return *x.returned, true
}

// TestUnfinished: what a call had stored when the program died in it is no fault where the call would not have ended well without it;
// where that is not known, or it would have, or the program did not die, it is as ever.
func TestUnfinished(t *testing.T) {
	for _, c := range []struct {
		name string
		cut  bool
		call open
		want string
	}{
		{"it would not have ended well", true, open{known: true}, "died 60, wrote 20, "},
		{"it would have", true, open{known: true, well: true}, "wrote 20, "},
		{"not known", true, open{}, "wrote 20, "},
		{"at the end", false, open{known: true}, "wrote 20, "},
	} {
		w := newWorld(t, "struct item { struct item *next; long n; };\ntype item;\nno: item X; X.n == 0;\n")
		w.run("1: a = calloc item\ncpoint\n20: a.n = 1")
		in := w.input()
		if in.Cut = c.cut; c.cut {
			in.Died = 60
		}
		c.call.asked = new(int)
		in.Rerun = func(mgpp.Timestamp) Rerun { return c.call }
		if got := ranks(Locate(in)) + ", "; !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s; want %s…", c.name, got, c.want)
		}
	}
}

// TestUnfinishedTogether: the same of a statement that stored several numbers wrongly: all of them are asked together.
func TestUnfinishedTogether(t *testing.T) {
	w := newWorld(t, "struct item { struct item *next; long n; };\ntype item;\nno: item X; X.n == 0;\n")
	w.run("1: a = calloc item\n1: b = calloc item\ncpoint\n20: a.n = 1\n20: b.n = 2")
	in := w.input()
	in.Cut, in.Died = true, 60
	var stores []map[mgpp.Timestamp][]byte
	in.Rerun = func(mgpp.Timestamp) Rerun { return open{tried: tried{asked: new(int)}, known: true, stores: &stores} }
	if got := ranks(Locate(in)); got != "died 60, wrote 20" {
		t.Errorf("%s", got)
	}
	if !slices.ContainsFunc(stores, func(s map[mgpp.Timestamp][]byte) bool { return len(s) == 2 && s[4] != nil && s[3] != nil }) {
		t.Errorf("asked for %v", stores)
	}
}

// TestReturned: who stores a pointer that was returned to him did well, and the statement from which it came is accused before his; not
// for a number, nor for the new node that he has made.
func TestReturned(t *testing.T) {
	for _, c := range []struct{ made, field, value, want string }{{"1", "next", "b", "decided 9, wrote 20, "}, {"1", "n", "7", "wrote 20, "}, {"9", "next", "b", "wrote 20, "}} {
		w := newWorld(t, "struct item { struct item *next, *all; long n; };\ntype item;\nno: item X; (X.next == NULL or X.next == X.all) and X.n == 0;\n")
		w.run("1: a = calloc item\n" + c.made + ": b = calloc item\n2: b.all = b\n2: a.all = a\ncpoint\n20: a." + c.field + " = " + c.value)
		in := w.input()
		in.Rerun = func(mgpp.Timestamp) Rerun {
			return open{tried: tried{asked: new(int)}, returned: &Passing{PC: 9, Returned: true}}
		}
		if got := ranks(Locate(in)) + ", "; !strings.HasPrefix(got, c.want) {
			t.Errorf("%s, made by %s: %s; want %s…", c.field, c.made, got, c.want)
		}
	}
}

// TestUnready: where a field was never written, who links its node did well; not where it was.
func TestUnready(t *testing.T) {
	for set, want := range map[bool]string{true: "wrote 32, ", false: "omitted 31, "} {
		w := newWorld(t, "struct head { struct item *first; };\nstruct item { long key; long level; };\ntype head;\ntype item;\nlow: head H; H.first == NULL or H.first.level == 0;\n")
		lines := "1: h = calloc head\ncpoint\n30: a = malloc item\n31: a.key = 5\n"
		if set {
			lines += "32: a.level = 3\n"
		}
		w.run(lines + "40: h.first = a")
		if got := ranks(Locate(w.input())) + ", "; !strings.HasPrefix(got, want) {
			t.Errorf("set %v: %s; want %s…", set, got, want)
		}
	}
}

// TestFlag: a field that holds 0 or 1 in all like nodes would not hold another number; one that holds 2 somewhere may.
func TestFlag(t *testing.T) {
	for _, c := range []struct {
		other string
		flag  bool
	}{{"1", true}, {"2", false}} {
		w := newWorld(t, "struct slot { long used; long n; };\ntype slot;\nsum: slot X; X.used == X.n;\n")
		for i, n := range strings.Split("abcdefghi", "") {
			used := "1"
			switch {
			case i%3 == 0:
				used = "0"
			case n == "h":
				used = c.other
			}
			w.run("2: " + n + " = calloc slot\n3: " + n + ".used = " + used + "\n4: " + n + ".n = " + used)
		}
		w.run("cpoint\n30: i.used = 1\n31: i.n = 5")
		r := Locate(w.input())
		k := slices.IndexFunc(r.Repairs, func(r Repair) bool { return r.Cell.Path == "used" && r.Value == 5 })
		if k < 0 || r.Repairs[k].Flag != c.flag {
			t.Errorf("others hold %s: %+v, want flag %v", c.other, r.Repairs, c.flag)
		}
	}
}

// TestFlagOutdated: in a field in which all like nodes hold 0 or 1 no other number should have been stored again; in one that holds 7
// somewhere it may be.
func TestFlagOutdated(t *testing.T) {
	for other, want := range map[string]bool{"0": false, "7": true} {
		w := newWorld(t, "struct slot { long used; }; struct head { long n; };\ntype slot; type head;\nsum: head H; H.n == COUNT(slot X: X.used == 1);\n")
		w.run("2: h = calloc head")
		for i, used := range []string{"1", "0", "1", "0", "1", "0", "1", "1", other} {
			w.run(fmt.Sprintf("2: s%d = calloc slot\n3: s%[1]d.used = %s", i, used))
		}
		w.run("5: s1.used = 1\n6: s1.used = 0\n4: h.n = 5\ncpoint\n4: h.n = 4")
		got := slices.ContainsFunc(Locate(w.input()).Suspects, func(s Suspect) bool { return s.has(Outdated) })
		if got != want {
			t.Errorf("one holds %s: outdated %v, want %v", other, got, want)
		}
	}
}

// TestSettledNumber: a number that all like nodes have kept is not one that should have been stored again.
func TestSettledNumber(t *testing.T) {
	for _, kept := range []bool{true, false} {
		w := newWorld(t, "struct item { struct item *next; long level; };\ntype item;\nup: item X; X.level == (X.next == NULL ? 1 : X.next.level + 1);\n")
		w.run("2: a = calloc item\n3: a.level = 1")
		for i, n := range strings.Split("bcdefghij", "") {
			w.run(fmt.Sprintf("2: %s = calloc item\n3: %[1]s.level = %d\n4: %[1]s.next = %[3]c", n, i+2, n[0]-1))
		}
		if !kept {
			w.run("4: a.level = 2\n4: a.level = 1")
		}
		w.run("cpoint\n40: j.next = a")
		got := slices.ContainsFunc(Locate(w.input()).Suspects, func(s Suspect) bool { return s.has(Outdated) })
		if got == kept {
			t.Errorf("kept %v: outdated %v", kept, got)
		}
	}
}
