package faultloc

import (
	"strings"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// TestUnset: a field that nothing had written and that the broken call has read is missing where like nodes have it from, or else where the node
// was allocated. Not so if it was written, if another part of memory was read, or if no statement is known to write it.
func TestUnset(t *testing.T) {
	const spec = "struct node { struct node *next, *prev; long dead; };\ntype node;\nnext: node X; X.next == NULL or X.next.prev == X;\n"
	for _, c := range []struct {
		name, fills, marks, late string
		by                       trace.Addr // from the field
		size                     int
		want                     string
	}{
		{"it is counted on from", "40: $.dead = 1\n", "", "", 0, 8, "wrote 10"},
		{"it is missing", "12: $.dead = 0\n", "", "", 0, 8, "omitted 12"},
		{"it is written elsewhere", "", "15: a.dead = 1\n", "", 0, 8, "wrote 10"},
		{"nobody writes it", "", "", "", 0, 8, ""},
		{"it was written", "12: $.dead = 0\n", "", "12: e.dead = 0\n", 0, 8, ""},
		{"a part of it was read", "12: $.dead = 0\n", "", "", 0, 4, ""},
		{"its neighbour was read", "12: $.dead = 0\n", "", "", 8, 8, ""},
	} {
		w := newWorld(t, spec)
		for _, n := range []string{"a", "b", "c", "d", "f"} {
			w.run(strings.ReplaceAll("10: $ = malloc node\n11: $.next = NULL\n13: $.prev = NULL\n"+c.fills, "$", n))
		}
		w.run(c.marks + "10: e = malloc node\n11: e.next = NULL\n13: e.prev = NULL\n" + c.late + "20: a.next = b\n21: b.prev = a\ncpoint\n30: a.next = c")
		in := w.input()
		at, _ := w.cell("e.dead")
		asked := 0
		in.Rerun = func(mgpp.Timestamp) Rerun {
			return tried{asked: &asked, unset: []Unset{{PC: 40, Addr: trace.Addr(at) + c.by, Size: c.size, Before: in.At}}}
		}
		got, told := "", 0
		for _, s := range Locate(in).Suspects {
			if s.has(Unwritten) {
				told++
				got = ranks(Result{Suspects: []Suspect{s}})
			}
		}
		if got != c.want || told > 1 {
			t.Errorf("%s: %q, %d told, want %q", c.name, got, told, c.want)
		}
	}
}
