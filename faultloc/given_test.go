package faultloc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mgtrace/mgpp"
)

// TestGivenFew: of two nodes that each have what their call was given, another key fits as little as of many.
func TestGivenFew(t *testing.T) {
	for _, c := range []struct {
		given bool
		link  string
		want  string
	}{{true, "left", "wrote 40"}, {false, "left", "wrote 31"}, {true, "right", ""}} {
		w := newWorld(t, "struct node { struct node *left, *right; long key; };\ntype node;\norder: node X; (X.left == NULL or X.left.key < X.key) and (X.right == NULL or X.key < X.right.key);\n")
		w.run("30: a = calloc node\n31: a.key = 2\ncpoint\n30: b = calloc node\n31: b.key = 3\n40: a." + c.link + " = b")
		in := w.input()
		if c.given {
			in.Args = func(at mgpp.Timestamp) []uint64 {
				if at > in.Healthy {
					return []uint64{3}
				}
				return []uint64{2}
			}
		}
		got := ""
		if r := Locate(in); len(r.Suspects) > 0 {
			got = fmt.Sprint(r.Suspects[0].Kind, " ", uint64(r.Suspects[0].PC))
		}
		if got != c.want {
			t.Errorf("given %v, %s: %q, want %q", c.given, c.link, got, c.want)
		}
	}
}

// TestGivenOverwritten: a key that one call stored, and then stored over, is not what the program was given; one that
// another call changed may be.
func TestGivenOverwritten(t *testing.T) {
	for _, c := range []struct {
		name    string
		between bool // the two stores are of two calls
		args    []uint64
		given   bool
	}{{"one call", false, nil, false}, {"another call", true, nil, true}, {"its argument", false, []uint64{9}, true}} {
		w := newWorld(t, "struct node { long key, twin; };\ntype node;\nsame: node X;  X.key == X.twin;\n")
		for i, n := range strings.Split("abcdefghij", "") {
			w.run(fmt.Sprintf("30: %s = calloc node\n31: %[1]s.key = %d\n32: %[1]s.twin = %[2]d", n, 1000+100*i))
		}
		w.run("cpoint\n30: x = calloc node\n31: x.key = 5000\n32: x.twin = 5000\n41: x.key = 9")
		in := w.input()
		now := w.hist.Now()
		in.Moments = []mgpp.Timestamp{in.Healthy, now}
		if c.between {
			in.Moments = []mgpp.Timestamp{in.Healthy, now - 1, now}
		}
		in.Args = func(mgpp.Timestamp) []uint64 { return c.args }
		i := slices.IndexFunc(Locate(in).Suspects, func(s Suspect) bool { return s.PC == 41 })
		if i < 0 {
			t.Fatalf("%s: not a suspect", c.name)
		}
		for _, e := range Locate(in).Suspects[i].Evidence {
			if e.Kind == Counterfactual && e.Given != c.given {
				t.Errorf("%s: given %v, want %v", c.name, e.Given, c.given)
			}
		}
	}
}

// TestWorkedOut: a number of which an equation says what it should be, and that is none of its call's arguments, is none that the program was
// given, though each node has its own.
func TestWorkedOut(t *testing.T) {
	const spec = "struct span { struct span *next; long from, width; };\ntype span;\nmeet: span X; X.next == NULL or X.next.from == X.from + X.width;\n"
	for _, c := range []struct {
		name  string
		args  []uint64
		given bool
	}{{"not known", nil, true}, {"other arguments", []uint64{7}, false}, {"its argument", []uint64{44}, true}} {
		w := newWorld(t, spec)
		w.run("1: s0 = calloc span\n2: s0.from = 100\n3: s0.width = 10")
		for i := 1; i < 10; i++ {
			w.run(fmt.Sprintf("1: s%[2]d = calloc span\n2: s%[2]d.from = %[3]d\n3: s%[2]d.width = 10\n4: s%[1]d.next = s%[2]d", i-1, i, 100+10*i))
		}
		w.run("cpoint\n1: x = calloc span\n2: x.from = 44\n3: x.width = 10\n4: s9.next = x")
		in := w.input()
		in.Args = func(mgpp.Timestamp) []uint64 { return c.args }
		repairs := Locate(in).Repairs
		i := slices.IndexFunc(repairs, func(r Repair) bool { return r.Cell.Path == "from" && r.Value == 200 })
		if i < 0 || repairs[i].Given != c.given {
			t.Errorf("%s: %+v, want a repair with given %t", c.name, repairs, c.given)
		}
	}
}
