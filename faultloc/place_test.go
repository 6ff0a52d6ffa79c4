package faultloc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// rounds runs a program, an interval between C-points at a time.
func (w *world) rounds(parts ...string) (points []mgpp.Timestamp) {
	for _, p := range parts {
		w.run(p)
		points = append(points, w.healthy)
	}
	return points
}

const kindSpec = "struct item { struct item *left, *right; int key, kind, rank; };\ntype item;\nknown: item X; X.kind != 2;\n"

// TestLongLoop: what always runs before a loop is not missing where the loop only runs longer.
func TestLongLoop(t *testing.T) {
	for program, want := range map[string]bool{"59: a.kind = 1\n": false, "58: a.key = 3\n": true} {
		round := func(first string, times int) string {
			var b strings.Builder
			b.WriteString(first)
			for i := range times {
				fmt.Fprintf(&b, "61: a.rank = %d\n", i)
			}
			return b.String()
		}
		w := newWorld(t, kindSpec)
		parts := []string{"1: a = calloc item\ncpoint"}
		for i := range 20 {
			parts = append(parts, round("59: a.kind = 1\n", 1+i%3)+"cpoint")
		}
		points := w.rounds(parts...)
		w.run(round(program, 9) + "70: a.kind = 2")
		in := w.input()
		in.Points = points
		omitted := slices.ContainsFunc(Locate(in).Suspects, func(s Suspect) bool { return s.Kind == Omitted && s.PC == 59 })
		if omitted != want {
			t.Errorf("after %q: 59 is missing: %t", program, omitted)
		}
	}
}

// TestRanElsewhere: of a statement that is missing beside another one it is known whether it ran elsewhere in the call.
func TestRanElsewhere(t *testing.T) {
	loop := func(times int) string { return strings.Repeat("61: a.rank = 1\n", times) }
	for first, want := range map[string]bool{"59: a.kind = 1\n": true, "58: a.key = 3\n": false} {
		w := newWorld(t, kindSpec)
		parts := []string{"1: a = calloc item\ncpoint"}
		for i := range 20 {
			parts = append(parts, "59: a.kind = 1\n"+loop(1+i%3)+"cpoint")
		}
		points := w.rounds(parts...)
		ran := w.hist.Now() + 1
		w.run(first + loop(40) + "58: a.key = 3\n" + loop(9) + "70: a.kind = 2")
		in := w.input()
		in.Points = points
		suspects := Locate(in).Suspects
		i := slices.IndexFunc(suspects, func(s Suspect) bool { return s.Kind == Omitted && s.PC == 59 })
		if i < 0 || (suspects[i].Ran == ran) != want || !want && suspects[i].Ran != 0 {
			t.Errorf("after %q: %+v", first, suspects)
		}
	}
}

// TestGivenAgain: what calls are given stays so where a later call stores another one.
func TestGivenAgain(t *testing.T) {
	w := newWorld(t, kindSpec)
	var given []uint64
	for i := range 10 {
		w.run(fmt.Sprintf("1: n%[1]d = calloc item\n2: n%[1]d.key = %[2]d", i, 100+7*i))
	}
	w.run("9: n5.key = 77\ncpoint")
	in := w.input()
	at, size := w.cell("n4.key")
	c, _ := in.Cells.Cell(at, in.Model.View(in.At))
	in.Args = func(mgpp.Timestamp) []uint64 { return given }
	for arg, want := range map[uint64]bool{77: true, 78: false} {
		given = []uint64{0x7f0000000000, arg}
		if got := newLab(in).given(c); got != want || size != 4 {
			t.Errorf("77 stored in a call with %d: given %t", arg, got)
		}
	}
}

// TestMutual: the way back of a pointer is the field that leads back in other nodes.
func TestMutual(t *testing.T) {
	w := newWorld(t, "struct entry { struct entry *chain, *prev, *next; };\ntype entry;\nback: entry X; X.next == NULL or X.next.prev == X;\n")
	w.run("1: a = calloc entry\n1: b = calloc entry\n1: c = calloc entry\n2: a.next = b\n2: b.prev = a\n2: b.next = c\n2: c.prev = b\ncpoint\n1: z = calloc entry\n40: a.prev = z")
	in := w.input()
	for field, want := range map[string]trace.Addr{"z.next": 40, "z.chain": 0} {
		at, _ := w.cell(field)
		c, _ := in.Cells.Cell(at, in.Model.View(in.At))
		r := Repair{Cell: c, Target: in.Cells.At(w.block("a").addr, in.Model.View(in.At))}
		got := trace.Addr(0)
		if back := r.back(in); back != 0 {
			got = in.History.Op(back).PC
		}
		if got != want {
			t.Errorf("the way back of %s is at %d, want %d", field, got, want)
		}
	}
}

// TestCleared: who clears new memory is not who should have stored something else there.
func TestCleared(t *testing.T) {
	const made = "1: x = malloc item\n%s\n20: x.key = 5\n30: x.rank = 1"
	spec := strings.Replace(kindSpec, "!= 2", "== 1", 1)
	for cleared, want := range map[string]string{"19: memcpy x.left 0 0 0 0": "omitted 20 beside", "19: memcpy x.left 0 0 0 9": "wrote 19"} {
		w := newWorld(t, spec)
		w.run(fmt.Sprintf(made, cleared))
		if got := first(Locate(w.input()), Beside); got != want {
			t.Errorf("%q: %s, want %s", cleared, got, want)
		}
	}
}

// TestNotCounted: numbers that are all 0 still are no law.
func TestNotCounted(t *testing.T) {
	for number, want := range map[string]Law{"0": "", "1": LawKept} {
		w := newWorld(t, strings.Replace(itemSpec, "X.kind == 1", "X.kind == "+number, 1))
		w.run(strings.ReplaceAll(numbered(30), "kind = 1", "kind = "+number))
		w.run("60: n9.kind = 2")
		if got := lawOf(w.input(), 60); got != want {
			t.Errorf("all %s: law %q, want %q", number, got, want)
		}
	}
}
