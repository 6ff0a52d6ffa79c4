package faultloc

import (
	"fmt"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// TestLoopLeftOne: a statement that led several like nodes to the new node since the last healthy C-point should have led this one there as
// well, though another one led more of them to their nodes before.
func TestLoopLeftOne(t *testing.T) {
	const (
		spec = "struct inner { struct leaf *child[16]; };\nstruct leaf { long key; struct inner *up; };\ntype inner;\ntype leaf;\ntogether inner, leaf;\nup: inner X; for I in 0 to 15, X.child[I] == NULL or X.child[I].up == X;\n"
		loop = "73: q.child[%[1]d] = l%[2]d\n74: l%[2]d.up = q\n75: p.child[%[2]d] = NULL\n"
		left = "73: q.child[%[1]d] = l%[2]d\n75: p.child[%[2]d] = NULL\n"
	)
	grown := "1: p = calloc inner\n"
	for i := range 12 {
		grown += fmt.Sprintf("57: l%[1]d = calloc leaf\n57: l%[1]d.key = 1%[1]d\n58: p.child[%[1]d] = l%[1]d\n59: l%[1]d.up = p\ncpoint\n", i)
	}
	split := func(lines ...string) string {
		text := "57: l12 = calloc leaf\n58: p.child[12] = l12\n59: l12.up = p\n1: q = calloc inner\n"
		for i, line := range lines {
			text += fmt.Sprintf(line, i, 4+i)
		}
		return text
	}
	for _, c := range []struct {
		name, program string
		want          int // the first suspect's line; 0: there is none
	}{
		{"the first of three", grown + split(left, loop, loop), 74},
		{"the last of three", grown + split(loop, loop, left), 74},
		{"all", grown + split(loop, loop, loop), 0},
	} {
		w := newWorld(t, spec)
		w.run(c.program)
		r := Locate(w.input())
		got := 0
		for _, s := range r.Suspects {
			if s.Kind == Omitted {
				got = int(s.PC)
				break
			}
		}
		if got != c.want || c.want == 0 && len(r.Suspects) > 0 {
			t.Errorf("%s: %s, want %d omitted", c.name, summary(r), c.want)
			w.show(r)
		}
	}
}

// TestWriterBefore: a loop goes before a statement that was silent, which goes before one that wrote most; that it led a single node there
// says nothing.
func TestWriterBefore(t *testing.T) {
	order := []writer{{often: 3, there: 3}, {often: 2, there: 2}, {often: 1, silent: true}, {often: 9, newest: 8}, {often: 9, newest: 7}, {often: 4, there: 1}}
	for i := range order {
		for k := range order {
			if got := order[i].before(order[k]); got != (i < k) {
				t.Errorf("%+v before %+v: %t", order[i], order[k], got)
			}
		}
	}
}

// TestRanItsFill: a statement that has done in a call what it does in others is not missing for another node. One that was left out is: its
// function ran twice, and it once.
func TestRanItsFill(t *testing.T) {
	const spec = "struct crate { struct crate *next, *prev; };\ntype crate;\nnext: crate X; X.next == NULL or X.next.prev == X;\n"
	const (
		link = "61: %[1]s.next = %[2]s\n62: %[2]s.prev = %[1]s\n"
		half = "61: %[1]s.next = %[2]s\n"
	)
	for _, c := range []struct {
		name, last string
		want       bool
	}{
		{"once, as always", fmt.Sprintf(link, "c8", "n"), true},
		{"once, and its function twice", fmt.Sprintf(link+half, "c8", "n", "n", "c7"), false},
		{"not at all", "70: n.next = NULL\n", false},
	} {
		w := newWorld(t, spec)
		w.run("1: c0 = calloc crate\n")
		var points []mgpp.Timestamp
		for i := 1; i < 9; i++ {
			w.run(fmt.Sprintf("1: c%[2]d = calloc crate\n61: c%[1]d.next = c%[2]d\n62: c%[2]d.prev = c%[1]d\ncpoint\n", i-1, i))
			points = append(points, w.healthy)
		}
		w.run("1: n = calloc crate\n" + c.last)
		in := w.input()
		in.Points = points
		in.Function = func(pc trace.Addr) string { return map[bool]string{true: "link"}[pc/10 == 6] }
		if got := in.ranItsFill(points[0]); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
		if c.want && len(in.Found) > 0 {
			t.Errorf("%s: %d inconsistencies, want none", c.name, len(in.Found))
		}
	}
}

// TestOtherWay: what has always counted up is not missing where a number should be less, but may be where it should be more; what has
// stored other numbers too may be where it should be less.
func TestOtherWay(t *testing.T) {
	const spec = "struct value { int refs; };\nstruct slot { struct value *val; };\ntype value;\ntype slot;\ntogether value, slot;\nrefs: value X; X.refs == X.INDEGREE(val);\n"
	const healthy = `
1: v0 = calloc value
1: v1 = calloc value
2: a = calloc slot
2: b = calloc slot
2: c = calloc slot
2: d = calloc slot
3: v0.refs = 1
4: a.val = v0
3: v0.refs = 2
4: b.val = v0
3: v0.refs = 3
4: c.val = v0
3: v1.refs = 1
4: d.val = v1
cpoint
`
	for _, c := range []struct {
		name, last string
		want       bool
	}{
		{"less", "5: d.val = NULL\n", true},
		{"more", "5: d.val = v0\n3: v1.refs = 0\n", false},
		{"not always", "5: d.val = NULL\n3: v0.refs = 9\n3: v0.refs = 3\n", false},
	} {
		w := newWorld(t, spec)
		w.run(healthy)
		counted := w.healthy
		w.run(c.last)
		in := w.input()
		of := counted - 1 // line 3, for v1
		if c.name == "not always" {
			of = in.At - 1
		}
		wrong, should := "v1", uint64(0)
		if c.name == "more" {
			wrong, should = "v0", 4
		}
		addr, size := w.cell(wrong + ".refs")
		if got := (&Repair{Cell: Cell{Addr: addr, Size: size}, Value: should}).otherWay(in, of); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

// TestMendsSeveral: what mends several inconsistencies by one store, where each like node was written, though these are few, goes before what is part of
// them. Of one inconsistency that says less.
func TestMendsSeveral(t *testing.T) {
	for _, c := range []struct{ of, likes, first int }{{3, 2, 2}, {1, 2, 1}, {3, 1, 1}} {
		list := []Suspect{
			{Kind: Wrote, PC: 1, Evidence: []Evidence{{Kind: Counterfactual, Cured: c.of - 1, Of: c.of}, {Kind: Flip, Flips: 2}}},
			{Kind: Omitted, PC: 2, Evidence: []Evidence{{Kind: RepairCell, Cured: c.of, Of: c.of}, {Kind: Missing, Often: c.likes, Of: c.likes}}},
		}
		if c.of == 1 {
			list[0].Evidence[0].Cured = 1
		}
		first, _ := rank(list)
		if int(first[0].PC) != c.first {
			t.Errorf("of %d inconsistencies, and %d like nodes: suspect %d is first, not %d", c.of, c.likes, first[0].PC, c.first)
		}
	}
}

// TestFirstValue: what a constructor gave to several new nodes, and another statement replaced in them, is not wrong in the one in which nothing
// did, though all of them were made since the last healthy C-point. Not so where it stayed in most.
func TestFirstValue(t *testing.T) {
	const spec = "struct expr { struct expr *parent; long n; };\ntype expr;\nup: expr X, Y; X.parent == Y => Y.n > 0;\n"
	for _, c := range []struct {
		replaced int
		want     bool
	}{{3, true}, {2, false}, {0, false}} {
		w := newWorld(t, spec)
		w.run("1: p = malloc expr\n12: p.n = 5\n10: p.parent = NULL\ncpoint\n")
		w.healthy = 1 // before that
		for i := range 4 {
			text := fmt.Sprintf("1: e%[1]d = malloc expr\n10: e%[1]d.parent = NULL\n", i)
			if i < c.replaced {
				text += fmt.Sprintf("26: e%d.parent = p\n", i)
			}
			w.run(text)
		}
		in := w.input()
		addr, size := w.cell("e3.parent")
		cell, _ := in.Cells.Cell(addr, in.Model.View(in.At))
		r := &Repair{Cell: cell, Value: w.value("p")}
		if got := usualValue(in, r, in.History.LastWrite(addr, uint64(size), in.At)); got != c.want {
			t.Errorf("replaced in %d: %t, want %t", c.replaced, got, c.want)
		}
	}
}
