package faultloc

import (
	"fmt"
	"strings"
	"testing"
)

// TestTallied: a number that a condition asked for is that of the blocks that are reached, up to a change that nobody counted.
func TestTallied(t *testing.T) {
	var begin strings.Builder
	begin.WriteString("1: l = calloc list\n2: l.n = 0\n")
	last := "NULL"
	for i := range 9 {
		name := fmt.Sprint("i", i)
		fmt.Fprintf(&begin, "10: %s = malloc item\n11: %s.next = %s\n12: l.head = %s\n13: l.n = %d\n", name, name, last, name, i+1)
		last = name
	}
	numbered := begin.String() + "20: l.head = i7\n21: free i8\n"
	begin.WriteString("20: l.head = i7\n21: free i8\n22: l.n = 8\n20: l.head = i6\n21: free i7\n22: l.n = 7\n")
	const add = "10: j = malloc item\n11: j.next = i5\n12: l.head = j\n13: l.n = %s\n"
	for name, c := range map[string]struct{ run, want string }{
		"all counted":           {"20: l.head = i5\n21: free i6\n22: l.n = 6\n" + strings.ReplaceAll(add, "%s", "7"), ""},
		"another path":          {"30: l.head = i5\n31: free i6\n" + strings.ReplaceAll(add, "%s", "8"), "30 took 1 after 12"},
		"at the end":            {"30: l.head = i5\n31: free i6\n", "30 took 1 after 12"},
		"the same path":         {"20: l.head = i5\n21: free i6\n" + strings.ReplaceAll(add, "%s", "8"), "20 took 1 after 12"},
		"perhaps on its way":    {"20: l.head = i5\n21: free i6\n", ""},
		"brought, not counted":  {"40: k = malloc item\n41: k.next = i6\n42: l.head = k\n20: l.head = i6\n22: l.n = 6\n", "42 brought 1 after 12"},
		"counted, not brought":  {"50: l.n = 8\n20: l.head = i5\n22: l.n = 7\n", "50 stored after 12"},
		"counted twice":         {"20: l.head = i5\n23: l.n = 5\n20: l.head = i4\n22: l.n = 4\n", "23 stored after 12"},
		"set to another number": {"50: l.n = 0\n", "50 stored after 12"},
		"moved to another list": {"60: m = calloc list\n61: m.head = i6\n62: l.head = i5\n63: l.n = 6\n64: m.n = 1\n", ""},
		"numbers them":          {"", "20 took 1 after 10, number 1"}, // behind the crash
	} {
		w := newWorld(t, "struct list { struct item *head; long n; };\nstruct item { struct item *next; };\ntype list, item;\n")
		if c.run == "" {
			w.run(numbered)
		} else {
			w.run(begin.String())
			w.run(c.run)
		}
		in := w.input()
		in.Died, in.Ends = 77, true
		in.Led = func() []Read { return []Read{{Addr: w.block("l").addr + 8, Size: 8, Of: -1, Before: in.At}} }
		got := ""
		for i, s := range Crashed(in).Suspects {
			for _, e := range s.Evidence {
				switch {
				case e.Kind != Tallied:
					continue
				case e.Moved > 0:
					got = fmt.Sprintf("%d brought %d", s.PC, e.Moved)
				case e.Moved < 0:
					got = fmt.Sprintf("%d took %d", s.PC, -e.Moved)
				default:
					got = fmt.Sprintf("%d stored", s.PC)
				}
				got += fmt.Sprintf(" after %d", e.Of)
				if !e.Falls {
					got += fmt.Sprintf(", number %d", i)
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
