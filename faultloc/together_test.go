package faultloc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// tallies make n boxes, each of which counts what it holds, in a call that ends well; counts is how many boxes count by another number.
const tallySpec = "struct pin { struct pin *next; };\nstruct box { struct pin *pins; long n; };\ntype pin;\ntype box;\npin.N;\npin X; X.N = 1 + (X.next).N;\nn: box B; B.n == (B.pins).N;\n"

func tallies(n int, each func(i int) string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "1: b%d = calloc box\n", i)
	}
	b.WriteString("cpoint\n")
	for i := range n {
		fmt.Fprintf(&b, "2: p%d = calloc pin\n3: b%d.pins = p%d\n%s", i, i, i, each(i))
	}
	return b.String()
}

// TestTold: a statement that left several numbers wrong, each of which an equation tells, is accused of all of them.
func TestTold(t *testing.T) {
	for _, c := range []struct {
		name  string
		each  func(i int) string
		want  bool
		first string
	}{
		{"one statement", func(i int) string { return fmt.Sprintf("4: b%d.n = %d\n", i, 2+i) }, true, "wrote 4"},
		{"right", func(i int) string { return fmt.Sprintf("4: b%d.n = 1\n", i) }, false, ""},
		{"two statements of one each", func(i int) string { return fmt.Sprintf("%d: b%d.n = %d\n", 4+i, i, 2+i) }, false, "wrote 4"},
	} {
		w := newWorld(t, tallySpec)
		w.run(tallies(2, c.each))
		r := Locate(w.input())
		more := slices.ContainsFunc(r.Suspects, func(s Suspect) bool {
			return s.PC == 4 && slices.ContainsFunc(s.Evidence, func(e Evidence) bool {
				return e.Kind == RepairCell && e.More && e.explains()
			})
		})
		if more != c.want || c.want && fmt.Sprintf("%s %d", r.Suspects[0].Kind, r.Suspects[0].PC) != c.first {
			t.Errorf("%s: together %t; %s", c.name, more, summary(r))
		}
	}
	if s := (Suspect{Evidence: []Evidence{{Kind: RepairCell, More: true, Cured: 2, Of: 2, Usual: true}}}); s.worth() >= worthRepair {
		t.Error("what always counts so is as much worth as what does not")
	}
}

// TestOneOf: what counts on several times by the same is not what is wrong by less than each of these.
func TestOneOf(t *testing.T) {
	const l = "20: l = calloc list\n"
	for _, c := range []struct {
		program string
		wrong   int64
		want    bool
	}{
		{"40: l.length = 1\n41: l.length = 0\n40: l.length = 1", 1, true},
		{"40: l.length = 1\n40: l.length = 2", -2, false}, // another step each time would make up for it
		{"40: l.length = 1\n40: l.length = 3", 1, false},  // not by the same
		{"40: l.length = 1", 1, false},
		{"42: l.length = 1\n40: l.length = 2", 1, false}, // another statement
	} {
		w := newWorld(t, countedSpec)
		w.run(l + "cpoint\n" + c.program)
		if in := w.input(); in.oneOf(in.At, c.wrong) != c.want {
			t.Errorf("%q by %d: %t", c.program, c.wrong, !c.want)
		}
	}
}

const rowSpec = "struct row { long v[5]; long n; };\ntype row;\norder: row R; for I in 0 to R.n - 2, R.v[I] < R.v[I + 1];\n"

// TestClearedBehind: a number that still counts elements which were cleared is missing beside the statement that did so; where others lie
// behind these, it would only look at less.
func TestClearedBehind(t *testing.T) {
	const before = "1: r = calloc row\n2: r.v[0] = 3\n2: r.v[1] = 5\n2: r.v[2] = 7\n2: r.v[3] = 9\n3: r.n = 4\ncpoint\n"
	checkAsked(t, rowSpec, before, Outdated, map[string]string{
		"68: r.v[3] = 0\n80: r.v[2] = 0":              "wrote 80 outdated",
		"68: r.v[3] = 0\n80: r.v[2] = 0\n81: r.n = 2": "healthy",
		"68: r.v[1] = 0":                              "wrote 68", // nothing was taken away
	})
}

// TestHandedFew: few nodes tell what new ones hold, if their numbers are large and just what was given; one that is wrong already is
// no exception that counts.
func TestHandedFew(t *testing.T) {
	const spec = "struct leaf { struct leaf *next; long key; };\ntype leaf;\norder: leaf X; X.next == NULL or X.key < X.next.key;\n"
	program := func(n int, key func(i int) int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "1: x%d = calloc leaf\n2: x%d.key = %d\n", i, i, key(i))
			if i > 0 {
				fmt.Fprintf(&b, "3: x%d.next = x%d\n", i, i-1)
			}
			b.WriteString("cpoint\n")
		}
		return b.String() + fmt.Sprintf("1: y = calloc leaf\n4: y.key = 99000\n3: y.next = x%d", n-1)
	}
	given := func(i int) int { return 90000 - 1000*i }
	for _, c := range []struct {
		name string
		n    int
		key  func(i int) int
		want Law
	}{
		{"as they were given", 6, given, LawHanded},
		{"one was wrong before", 6, func(i int) int {
			if i == 5 {
				return 7
			}
			return given(i)
		}, LawHanded},
		{"too few", 3, given, ""},
		{"small ones", 6, func(i int) int { return 20 - i }, ""},
		{"others", 6, func(i int) int { return 80000 - 3000*i }, ""},
	} {
		w := newWorld(t, spec)
		w.run(program(c.n, c.key))
		in := w.input()
		in.Args = func(at mgpp.Timestamp) []uint64 {
			i := 0
			for t := range at {
				if op := in.History.Op(t + 1); op.PC == 1 && t+1 <= at {
					i++
				}
			}
			if c.name == "small ones" {
				return []uint64{uint64(20 - i + 1)}
			}
			return []uint64{uint64(given(i - 1))}
		}
		if got := lawOf(in, 4); got != c.want {
			t.Errorf("%s: law %q, want %q", c.name, got, c.want)
		}
	}
}

// TestNotCountedOn: an inequality does not tell by how much a number is wrong, so that nobody has counted on from there; an equation does.
func TestNotCountedOn(t *testing.T) {
	for _, c := range []struct {
		spec, program string
		want          bool
	}{
		{rowSpec, "1: r = calloc row\n2: r.v[0] = 30\n2: r.v[1] = 50\n2: r.v[2] = 70\n3: r.n = 3\ncpoint\n44: r.v[2] = 50\n97: r.v[2] = 20", false},
		{tallySpec, "1: b = calloc box\ncpoint\n44: b.n = 3\n2: p = calloc pin\n3: b.pins = p\n97: b.n = 4", true},
	} {
		w := newWorld(t, c.spec)
		w.run(c.program)
		if got := slices.ContainsFunc(Locate(w.input()).Suspects, func(s Suspect) bool { return s.PC == 44 && s.has(Basis) }); got != c.want {
			t.Errorf("%q: counted on %t", c.program, got)
		}
	}
}

// TestSilentStrange: a decision of another function says less where a statement did not run that always has.
func TestSilentStrange(t *testing.T) {
	in := Input{Function: func(pc trace.Addr) string { return map[trace.Addr]string{1: "f", 2: "f", 3: "g"}[pc] }, Statement: func(pc trace.Addr) string { return fmt.Sprint(pc) }}
	silent := func(often int) []Suspect {
		return []Suspect{{Kind: Omitted, PC: 1, Evidence: []Evidence{{Kind: Habit, Only: true, Alone: true, Of: 91, Often: often}}}}
	}
	for _, c := range []struct {
		often int
		pc    trace.Addr
		want  bool
	}{{91, 3, true}, {91, 2, false}, {90, 3, false}} {
		if got := in.elseStrange(silent(c.often), fmt.Sprint(c.pc), c.pc); got != c.want {
			t.Errorf("ran in %d of 91 cases, a decision at %d: strange %t", c.often, c.pc, got)
		}
	}
}

// TestStrayed: what was stored in another field is not missing, nor outdated.
func TestStrayed(t *testing.T) {
	r := &Repair{}
	with := func(e Evidence) []Suspect { return []Suspect{{Kind: Wrote, Evidence: []Evidence{e}}} }
	if !r.strayed(with(Evidence{Kind: Instead, Unread: true, Mends: r})) {
		t.Error("it was stored")
	}
	if r.strayed(with(Evidence{Kind: Instead, Unread: true, Mends: &Repair{}})) || r.strayed(with(Evidence{Kind: Instead})) {
		t.Error("something else was stored")
	}
}

// TestBroughtUpToDate: a number that was stored as it was, after a change that it should have answered, is wrong by that store, as are
// those that follow from it; where it was not stored again, it is missing beside the change.
func TestBroughtUpToDate(t *testing.T) {
	const spec = "struct twig { struct twig *left; long height; };\ntype twig;\ntwig.HEIGHT;\ntwig X; X.HEIGHT = 1 + (X.left).HEIGHT;\nstored: twig X; X.height == X.HEIGHT;\n"
	const before = "1: a = calloc twig\n1: b = calloc twig\n1: c = calloc twig\n42: c.height = 1\n50: b.left = c\n42: b.height = 2\n50: a.left = b\n42: a.height = 3\n42: a.height = 3\ncpoint\n"
	const change = "1: d = calloc twig\n42: d.height = 1\n50: c.left = d\n42: c.height = 2\n82: c.left = NULL\n83: free d\n"
	for _, c := range []struct{ program, want string }{
		{change + "42: c.height = 2\n42: b.height = 3\n42: a.height = 4", "wrote 42"},
		{change + "42: c.height = 1\n42: b.height = 2\n42: a.height = 3", ""},
		{change, "wrote 82"},
	} {
		w := newWorld(t, spec)
		w.run(before + c.program)
		r := Locate(w.input())
		if got, _, _ := strings.Cut(summary(r), ","); got != c.want {
			t.Errorf("%q: %s first, want %q", c.program, got, c.want)
			w.show(r)
		}
	}
}
