package faultloc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mgtrace/mgpp"
)

// sizedSpec is a tree whose nodes know how many lie below, and how high they are.
const sizedSpec = `
struct sized { struct sized *left, *right; int size, height; };
type sized edges (left, right);
sized.N;
sized X; X.N = (X.left).N + (X.right).N + 1;
sized.H;
sized X; X.H = MAX((X.left).H, (X.right).H) + 1;
size: sized X; X.size == X.N;
height: sized X; X.height == X.H;
tree: sized X; X.INDEGREE <= 1;
`

// rotation turns a chain of three to the right: b rises above c. The statements of rotate are 10 to 12, those of update 20 and 21.
func rotation(steps ...string) string {
	const chain = "1: c = calloc sized\n1: b = calloc sized\n1: a = calloc sized\n2: c.left = b\n2: b.left = a\n" +
		"20: a.size = 1\n21: a.height = 1\n20: b.size = 2\n21: b.height = 2\n20: c.size = 3\n21: c.height = 3\ncpoint\n"
	return chain + "10: c.left = NULL\n11: b.right = c\n" + strings.Join(steps, "\n")
}

// TestJoint: what brings a node up to date stores several numbers, and where it is not called for a node these mend what is broken
// together; the call is missing beside the change, or next to the call for another node.
func TestJoint(t *testing.T) {
	const forB, forC = "20: b.size = 3\n21: b.height = 2", "20: c.size = 1\n21: c.height = 1"
	function := inFunctions(map[string][]int{"rotate": {10, 11, 12}, "update": {20, 21}})
	for _, c := range []struct {
		name    string
		program string
		first   string // the suspect, what it should have been stored beside, and what as well; "": nothing is broken
	}{
		{"right", rotation(forC, forB), ""},
		{"none for the lower one", rotation("20: b.size = 5\n21: b.height = 4"), "wrote 10 outdated: c.height and 1 others, or next to 21"},
		{"one number only", rotation("20: c.size = 1", forB), "wrote 10 outdated: c.height and 0 others, or next to 21"},
	} {
		w := newWorld(t, sizedSpec)
		w.run(c.program)
		in := w.input()
		in.Function = function
		r := Locate(in)
		got := ""
		if len(r.Suspects) > 0 {
			s := r.Suspects[0]
			got = fmt.Sprint(s.Kind, " ", s.PC)
			for _, e := range s.Evidence {
				if e.Kind == Outdated && !e.doubted() {
					got += fmt.Sprintf(" outdated: %s.%s and %d others", w.nameOf(e.Mends.Cell), e.Mends.Cell.Path, len(e.Mends.Others))
					if e.Beside > 0 {
						got += fmt.Sprint(", or next to ", w.hist.Op(e.Beside).PC)
					}
				}
			}
		}
		if got != c.first {
			t.Errorf("%s: %q, want %q; %s", c.name, got, c.first, summary(r))
		}
	}
}

// TestFollowed: where a number was computed from one that had not been brought up to date, no single one mends the equations: both do, and
// the store of the first is missing, next to that of the other.
func TestFollowed(t *testing.T) {
	const (
		spec = "struct span { struct span *left, *right; int size; };\ntype span;\n" +
			"size: span X; X.size == (X.left == NULL ? 0 : X.left.size) + (X.right == NULL ? 0 : X.right.size) + 1;\n"
		chain = "1: c = calloc span\n1: b = calloc span\n1: a = calloc span\n2: c.left = b\n2: b.left = a\n20: a.size = 1\n20: b.size = 2\n20: c.size = 3\ncpoint\n"
		turn  = "10: c.left = NULL\n11: b.right = c\n"
	)
	for program, want := range map[string]string{
		"12: c.size = 1\n13: b.size = 3": "healthy",
		"13: b.size = 5":                 "wrote 10 outdated, next to 13",
	} {
		w := newWorld(t, spec)
		w.run(chain + turn + program)
		in := w.input()
		in.Function = inFunctions(map[string][]int{"rotate": {10, 11, 12, 13}})
		got := "healthy"
		if len(in.Found) > 0 {
			r := Locate(in)
			got = first(r, Outdated)
			for _, e := range r.Suspects[0].Evidence {
				if e.Kind == Outdated && e.Beside > 0 && len(e.Mends.Others) == 1 {
					got += fmt.Sprint(", next to ", w.hist.Op(e.Beside).PC)
				}
			}
		}
		if got != want {
			t.Errorf("%q: %s, want %s", program, got, want)
		}
	}
}

// nameOf is the name that the program has for a cell's node.
func (w *world) nameOf(c Cell) string {
	for name, b := range w.blocks {
		if c.Addr >= b.addr && uint64(c.Addr-b.addr) < b.size {
			return name
		}
	}
	return ""
}

// TestSisterCalls: a call is named that stored the field in another node which the function has linked; not one behind which the function
// goes round, nor one for a node that it has nothing to do with.
func TestSisterCalls(t *testing.T) {
	function := inFunctions(map[string][]int{"rotate": {10, 11, 12}, "update": {20, 21}, "insert": {30}})
	for _, c := range []struct {
		name  string
		steps []string
		want  int // the operation behind the change, 0: none
	}{
		{"the other one's", []string{"20: b.size = 3", "21: b.height = 2"}, 2},
		{"behind another function", []string{"30: d = calloc sized", "21: b.height = 2"}, 0},
		{"of another node", []string{"21: d.height = 2"}, 0},
		{"of the node itself", []string{"21: c.height = 2"}, 0},
		{"when it goes round", []string{"11: b.right = c", "21: b.height = 2"}, 0},
	} {
		w := newWorld(t, sizedSpec)
		w.run("1: d = calloc sized\n20: d.size = 1\n21: d.height = 1\n" + rotation())
		at := w.hist.Now()
		w.run(strings.Join(c.steps, "\n"))
		in := w.input()
		in.Function = function
		cells := in.Cells.Fields(in.Cells.At(w.blocks["c"].addr, in.Model.View(in.At)), in.Model.View(in.At))
		r := &Repair{Cell: cells[slices.IndexFunc(cells, func(c Cell) bool { return c.Path == "height" })]}
		want := mgpp.Timestamp(0)
		if c.want > 0 {
			want = at + mgpp.Timestamp(c.want)
		}
		if got := r.sisterCalls(in, at); got != want {
			t.Errorf("%s: operation %d, want %d", c.name, got, want)
		}
	}
}
