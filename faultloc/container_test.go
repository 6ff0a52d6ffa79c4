package faultloc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mgtrace/mgpp"
)

// A container of which the first calls are wrong already: there is no execution to compare with.

// podSpec is a container that counts its nodes and knows the least key.
const podSpec = `
struct pea { struct pea *next, *prev; long key; };
struct pod { struct pea *first; long n, least; };
type pea;
type pod;
together pea, pod;
pea.LEAST;
pea X; X.LEAST = X.next == NULL ? X.key : MIN(X.key, (X.next).LEAST);
back:  pea X; X.prev == NULL or X.prev.next == X;
n:     pea X; pod B; X.prev == NULL => B.n == COUNT(pea);
least: pod B; B.least == (B.first == NULL ? 0 : (B.first).LEAST);
`

// TestFillsIn: a new node's first values ask for what is not counted yet; the count is missing where the node is linked, and not
// where it is filled in.
func TestFillsIn(t *testing.T) {
	const one = "1: b = calloc pod\n30: x = calloc pea\n31: x.key = 7\n32: x.prev = NULL\n40: b.first = x\n42: b.n = 1\n43: b.least = 7\ncpoint\n"
	function := inFunctions(map[string][]int{"make": {30, 31, 32}, "push": {40, 41, 42}, "add": {43}})
	for _, c := range []struct{ count, want string }{
		{"", "wrote 41 outdated"},
		{"42: b.n = 2\n", "healthy"},
	} {
		w := newWorld(t, podSpec)
		w.run(one + "30: y = malloc pea\n31: y.key = 8\n32: y.prev = NULL\n40: y.next = x\n41: x.prev = y\n41: b.first = y\n" + c.count)
		in := w.input()
		in.Function, in.Broken = function, w.checker.CountBroken
		got := "healthy"
		if len(in.Found) > 0 {
			got = first(Locate(in), Outdated)
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.count, got, c.want)
		}
	}
}

// TestContainerCleared: what a container's memory was cleared to is right until something is put in: a field is missing beside that, and
// the key, an argument of the call, is what the program was given.
func TestContainerCleared(t *testing.T) {
	for _, c := range []struct {
		least string
		args  []uint64
		want  string
	}{
		{"", []uint64{7000}, "wrote 40 outdated"},
		{"43: b.least = 7000\n", []uint64{7000}, "healthy"},
	} {
		w := newWorld(t, podSpec)
		w.run("cpoint\n1: b = calloc pod\n30: x = calloc pea\n31: x.key = 7000\n40: b.first = x\n42: b.n = 1\n" + c.least)
		in := w.input()
		in.Args = func(mgpp.Timestamp) []uint64 { return c.args }
		got := "healthy"
		if len(in.Found) > 0 {
			got = first(Locate(in), Outdated)
		}
		if got != c.want {
			t.Errorf("%q, given %d: %s, want %s", c.least, c.args, got, c.want)
		}
	}
}

// TestGivenAlone: of a single node a key is what the program was given if it is an argument of its call, and larger than anything that can
// have been counted.
func TestGivenAlone(t *testing.T) {
	for _, c := range []struct {
		key   int
		arg   uint64
		given bool
	}{{7000, 7000, true}, {7000, 7001, false}, {2, 2, false}} {
		w := newWorld(t, podSpec)
		w.run(fmt.Sprintf("cpoint\n1: b = calloc pod\n30: x = calloc pea\n31: x.key = %d\n40: b.first = x", c.key))
		in := w.input()
		in.Args = func(mgpp.Timestamp) []uint64 { return []uint64{c.arg} }
		l := newLab(in)
		cells := in.Cells.Fields(in.Cells.At(w.blocks["x"].addr, l.view), l.view)
		key := cells[slices.IndexFunc(cells, func(c Cell) bool { return c.Path == "key" })]
		if got := l.given(key); got != c.given {
			t.Errorf("key %d of a call with %d: given %t", c.key, c.arg, got)
		}
	}
}

// TestClearedCount: a count that its container's allocation has cleared is wrong from the birth of the first node on; it is missing where
// that is linked.
func TestClearedCount(t *testing.T) {
	for count, want := range map[string]string{"": "wrote 40 outdated", "42: b.n = 1": "healthy"} {
		w := newWorld(t, strings.Replace(podSpec, "least:", "all:   pod B; B.n == COUNT(pea);\nleast:", 1))
		w.run("cpoint\n1: b = calloc pod\n30: x = calloc pea\n31: x.key = 7\n40: b.first = x\n43: b.least = 7\n" + count)
		got := "healthy"
		if in := w.input(); len(in.Found) > 0 {
			got = first(Locate(in), Outdated)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", count, got, want)
		}
	}
}

// TestClearedNode: who links a node whose own field nothing has stored did well.
func TestClearedNode(t *testing.T) {
	const spec = "struct rib { struct rib *below; long height; };\ntype rib;\nrib.H;\nrib X; X.H = (X.below).H + 1;\nheight: rib X; X.height == X.H or X.INDEGREE == 0;\n"
	w := newWorld(t, spec)
	w.run("1: r = calloc rib\n2: r.height = 1\ncpoint\n30: x = calloc rib\n40: r.below = x\n41: r.height = 2")
	in := w.input()
	l := newLab(in)
	cells := in.Cells.Fields(in.Cells.At(w.blocks["x"].addr, l.view), l.view)
	tb := traceback(in)
	for i := range cells {
		r := &Repair{Cell: cells[i], Value: 1, cured: make([]bool, len(in.Found))}
		for k := range r.cured {
			r.cured[k] = true
		}
		if r.cleared(in, tb) {
			t.Errorf("%s of a node that was linked", cells[i].Path)
		}
	}
}
