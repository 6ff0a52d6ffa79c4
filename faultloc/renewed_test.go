package faultloc

import (
	"fmt"
	"strings"
	"testing"

	"mgtrace/mgpp"
)

const docSpec = `
struct piece { struct piece *prev, *next; long length; };
struct document { struct piece *head, *tail; long length; };
type piece;
type document;
together piece, document;
piece.TEXT;
piece P; P.TEXT = P.length + (P.next).TEXT;
back:   piece P; P.next == NULL or P.next.prev == P;
tail:   document D; D.tail == NULL or D.tail.next == NULL;
length: document D; D.length == (D.head).TEXT;
`

// begun is a document of two pieces, of which the function at lines 51 to 59 has put the second at the end.
const begun = `
1: d = calloc document
2: p1 = calloc piece
3: d.head = p1
3: d.tail = p1
cpoint
20: p2 = calloc piece
48: p2.prev = p1
51: p1.next = p2
59: d.tail = p2
cpoint
`

// TestRenewed: what a function stores only at times, beside a change, is missing where it has done so before, and not beside the change; not where
// another function has done that, where another one of its statements may as well be meant, or where it has run there, for another node.
func TestRenewed(t *testing.T) {
	const fault = "20: p3 = calloc piece\n48: p3.prev = p2\n51: p2.next = p3\n"
	for _, c := range []struct {
		before, add, want string
	}{
		{"", "48, 51, 59", "omitted 59"},
		{"", "48, 51", "wrote 51"},
		{"51: p1.next = NULL\n58: d.tail = p1\ncpoint\n48: p2.prev = p1\n51: p1.next = p2\n59: d.tail = p2\ncpoint\n", "48, 51, 58, 59", "wrote 51"},
		{"20: e = calloc document\n21: q1 = calloc piece\n22: e.head = q1\n22: e.tail = q1\ncpoint\n", "48, 51, 59", "wrote 51"},
	} {
		w := newWorld(t, docSpec)
		fault := fault
		if strings.Contains(c.before, "e =") {
			fault += "59: e.tail = q1\n"
		}
		w.run(begun + c.before + fault)
		in := w.input()
		add := map[string][]int{"add": nil}
		for line := range strings.SplitSeq(c.add, ", ") {
			var n int
			fmt.Sscan(line, &n)
			add["add"] = append(add["add"], n)
		}
		in.Function = inFunctions(add)
		if got := ranks(Locate(in)); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s, in %s: %s, want %s first", c.before, c.add, got, c.want)
		}
	}
	w := newWorld(t, docSpec) // and nothing is missing where it was stored
	w.run(begun + fault + "59: d.tail = p3\n")
	if got := Locate(w.input()); len(got.Suspects) > 0 {
		t.Errorf("nothing is wrong: %s", ranks(got))
	}
}

// TestPutBetween: what a new node leads back to was right until another one was put between, in the same call; where nothing was put there, who
// stored it first may as well have been to store it again.
func TestPutBetween(t *testing.T) {
	for program, want := range map[string]string{
		"48: p2.prev = p1\n51: p1.next = p2\n20: p3 = calloc piece\n48: p3.prev = p1\n50: p3.next = p2\n51: p1.next = p3":                   "wrote 51",
		"48: p2.prev = p1\n51: p1.next = p2\n20: p3 = calloc piece\n48: p3.prev = p1\n50: p3.next = p2\n57: p2.prev = p3\n51: p1.next = p3": "",
	} {
		w := newWorld(t, "struct piece { struct piece *prev, *next; };\ntype piece;\nback: piece P; P.next == NULL or P.next.prev == P;\nforth: piece P; P.prev == NULL or P.prev.next == P;\n")
		w.run("2: p1 = calloc piece\ncpoint\n20: p2 = malloc piece\n49: p2.next = NULL\n" + program)
		if got := ranks(Locate(w.input())); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q: %s, want %s", program, got, want)
		}
	}
}

// TestToldFirst: where a piece is taken out, the sum is to be stored again, and not the length of another piece.
func TestToldFirst(t *testing.T) {
	for program, want := range map[string]string{
		"60: p1.next = NULL\n61: d.tail = p1\n62: free p2":                   "length",
		"60: p1.next = NULL\n61: d.tail = p1\n62: free p2\n63: d.length = 3": "",
	} {
		w := newWorld(t, docSpec)
		w.run("1: d = calloc document\n2: p1 = calloc piece\n2: p2 = calloc piece\n3: p1.length = 3\n3: p2.length = 4\n4: p1.next = p2\n4: p2.prev = p1\n5: d.head = p1\n5: d.tail = p2\n5: d.length = 7\ncpoint\n" +
			"30: p1.length = 2\n31: d.length = 6\n32: p1.length = 3\n33: d.length = 7\n" + program)
		got := ""
		for _, s := range Locate(w.input()).Suspects {
			for _, e := range s.Evidence {
				if e.Kind == Outdated && got == "" {
					got = e.Mends.Cell.Path
				}
			}
		}
		if got != want {
			t.Errorf("%q: %q should have been stored again, want %q", program, got, want)
		}
	}
}

// TestKeptAbove: a sum that watched functions keep, and none that they call, is missing behind the call in which a piece was taken out, not
// further on in that; where another function has kept it, it may be anywhere.
func TestKeptAbove(t *testing.T) {
	for keeps, want := range map[string]bool{"erase": true, "other": false} {
		w := newWorld(t, docSpec)
		w.run("1: d = calloc document\n2: p1 = calloc piece\n2: p2 = calloc piece\n3: p1.length = 3\n3: p2.length = 4\n4: p1.next = p2\n4: p2.prev = p1\n5: d.head = p1\n5: d.tail = p2\n5: d.length = 7\ncpoint\n" +
			"30: p1.length = 2\n63: d.length = 6\ncpoint\n30: p1.length = 3\n63: d.length = 7\ncpoint\n60: p1.next = NULL\n61: d.tail = p1\n62: free p2\n")
		in := w.input()
		in.Within = func(mgpp.Timestamp) string { return "erase" }
		in.Function = inFunctions(map[string][]int{"drop": {60, 61}, keeps: {63}})
		for _, s := range Locate(in).Suspects {
			for _, e := range s.Evidence {
				if e.Kind == Outdated && (s.PC != 60 || (e.Beside == 0) != want) {
					t.Errorf("kept by %s: beside %d, and %d", keeps, s.PC, e.Beside)
				}
			}
		}
	}
}
