package faultloc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// inFunctions says in which function the statements stand.
func inFunctions(functions map[string][]int) func(trace.Addr) string {
	return func(pc trace.Addr) string {
		for f, pcs := range functions {
			if slices.Contains(pcs, int(pc)) {
				return f
			}
		}
		return ""
	}
}

// TestBody: what always ran next to each other in one function does so in the first call from elsewhere too.
func TestBody(t *testing.T) {
	together := inFunctions(map[string][]int{"make": {30, 31, 32}, "link": {40, 41}})
	for _, c := range []struct {
		name     string
		before   int // insertions
		function func(trace.Addr) string
		last     string
		want     string
	}{
		{"one of a function's statements", 30, together, "", "omitted 41 habit"},
		{"few cases", 10, together, "", "omitted 41"},
		{"statements of two functions", 30, inFunctions(map[string][]int{"make": {30, 31, 32}, "link": {40}, "back": {41}}), "", "omitted 41"},
		{"nobody knows", 30, nil, "", "omitted 41"},
		{"all ran", 30, together, "\n41: n30.prev = x", "healthy"},
	} {
		w := newWorld(t, listSpecDL)
		w.run(insertions(c.before))
		last := map[bool]string{true: "40: x.next = n30", false: "40: x.next = n10"}[c.before == 30]
		w.run("30: x = malloc dnode\n31: x.key = 1\n32: x.prev = NULL\n" + last + c.last)
		in := w.input()
		in.Function = c.function
		in.Within = func(at mgpp.Timestamp) string {
			if at > in.Healthy {
				return "remove"
			}
			return "insert"
		}
		got := "healthy"
		if len(in.Found) > 0 {
			got = first(Locate(in), Habit)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

const boxSpec = "struct box { long width, height, x, y; };\ntype box;\nsize: box X; X.width == 8 and X.height == 8 and X.x == 0 and X.y == 0;\n"

// TestVain: a value that is replaced while its node is being filled in was meant for a field that nothing
// has written, if it would do there.
func TestVain(t *testing.T) {
	for program, want := range map[string]string{
		"1: b = malloc box\n2: b.width = 8\n3: b.x = 8\n4: b.y = 0\n5: b.x = 0":      "wrote 3 vain",
		"1: b = malloc box\n2: b.width = 8\n3: b.height = 8\n4: b.y = 0\n5: b.x = 0": "healthy",
		"1: b = malloc box\n2: b.width = 8\n3: b.x = 9\n4: b.y = 0\n5: b.x = 0":      "omitted 2", // 9 is no height
	} {
		w := newWorld(t, boxSpec)
		w.run(program)
		in := w.input()
		in.Function = func(trace.Addr) string { return "make" }
		got := "healthy"
		if len(in.Found) > 0 {
			got = first(Locate(in), Vain)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", program, got, want)
		}
	}
}

// TestUntil: where a field should have been stored again, it may be behind the last statement of the
// function that concerned its node, too; or where another one has stored another number of that.
func TestUntil(t *testing.T) {
	const program = "30: x = malloc item\n31: x.next = NULL\n33: x.key = 5\n40: l.first = x\n42: l.lowest = 5"
	for _, c := range []struct {
		function map[string][]int
		want     trace.Addr
	}{
		{map[string][]int{"make": {30, 31, 33}, "add": {40, 42}}, 42},
		{map[string][]int{"make": {30, 31, 33}, "add": {40}, "least": {42}}, 42},
		{nil, 0},
	} {
		w := newWorld(t, countedSpec)
		w.run("20: l = calloc list\ncpoint\n" + program)
		in := w.input()
		in.Function = inFunctions(c.function)
		s := Locate(in).Suspects[0]
		i := slices.IndexFunc(s.Evidence, func(e Evidence) bool { return e.Kind == Outdated })
		if s.PC != 40 || i < 0 || in.History.Op(s.Evidence[i].Beside).PC != c.want {
			t.Errorf("%v: %d, %+v, want %d", c.function, s.PC, s.Evidence, c.want)
		}
	}
}

// TestGivenTogether: what the program was given may be anything in one node, but hardly in several at once.
func TestGivenTogether(t *testing.T) {
	one := Evidence{Kind: RepairCell, Given: true, Cured: 2, Of: 2}
	all := one
	all.More = true
	if one.worth() != worthGiven || all.worth() != worthRepair {
		t.Errorf("one %d, all %d", one.worth(), all.worth())
	}
}

// TestBeyond: what a call does in another one on the way, as where a table grows, is no reason to miss what comes after it. What
// does not come after it is missing all the same.
func TestBeyond(t *testing.T) {
	const spec = "struct item { struct item *next; long key, kind; };\ntype item edges (next);\nknown: item X; X.kind == 1;\n"
	call := func(i int, between, kind string) string {
		return fmt.Sprintf("1: n%d = calloc item\n2: n%d.key = %d\n%s%s4: n%d.next = n%d\n", i, i, 7*i, between, kind, i, i-1)
	}
	kind := func(i int) string { return fmt.Sprintf("3: n%d.kind = 1\n", i) }
	var grown strings.Builder
	const calls = 60
	for i := range 2 * margin {
		fmt.Fprintf(&grown, "20: n1.key = %d\n21: n2.key = %d\n", 1000+i, 2000+i)
	}
	for program, want := range map[string]bool{
		call(calls, grown.String(), kind(calls)) + "30: n5.kind = 2\n": false,
		call(calls, grown.String(), ""):                                true,
	} {
		w := newWorld(t, spec)
		w.run("1: n0 = calloc item\n3: n0.kind = 1\ncpoint\n")
		var points []mgpp.Timestamp
		for i := 1; i < calls; i++ {
			w.run(call(i, "", kind(i)) + "cpoint\n")
			points = append(points, w.healthy)
		}
		w.run(program)
		in := w.input()
		in.Points = points
		in.Function = inFunctions(map[string][]int{"insert": {1, 2, 3, 4}, "grow": {20, 21}, "other": {30}})
		if len(in.Found) == 0 {
			t.Fatal("nothing is inconsistent")
		}
		missing := slices.ContainsFunc(Locate(in).Suspects, func(s Suspect) bool { return s.Kind == Omitted && s.has(Habit) })
		if missing != want {
			t.Errorf("after a long call a statement is missing: %t, not %t", missing, want)
		}
	}
}
