package faultloc

import (
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// TestOutlived: who freed a node to which a pointer still led that the broken call has followed is accused. Not so if it is none of a
// node, or where nothing was followed.
func TestOutlived(t *testing.T) {
	const spec = "struct node { struct node *next; long n; };\ntype node;\nn: node X; X.n < 5;\n"
	for name, want := range map[string]string{"a.next": "wrote 30", "far": "", "": ""} {
		w := newWorld(t, spec)
		w.run("10: a = malloc node\n12: a.n = 0\n10: b = malloc node\n11: b.next = NULL\n12: b.n = 0\n20: a.next = b\ncpoint\n")
		w.run("30: free b\ncpoint\n10: c = malloc node\n11: c.next = NULL\n12: c.n = 0\ncpoint\n40: c.n = 9")
		in := w.input()
		freed := mgpp.Timestamp(0)
		for at := in.At; at > 0; at-- {
			if in.History.Op(at).Kind == mgpp.OpDeath {
				freed = at
			}
		}
		asked := 0
		in.Rerun = func(mgpp.Timestamp) Rerun {
			x := OutlivedPointer{PC: 39, Addr: 0x10, Before: in.At - 1, Freed: freed}
			if name == "a.next" {
				at, _ := w.cell(name)
				x.Addr = trace.Addr(at)
			}
			if name == "" {
				return tried{asked: &asked}
			}
			return tried{asked: &asked, outlived: []OutlivedPointer{x}}
		}
		got := ""
		for _, s := range Locate(in).Suspects {
			if s.has(Outlived) {
				got = ranks(Result{Suspects: []Suspect{s}})
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
