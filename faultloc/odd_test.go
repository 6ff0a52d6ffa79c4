package faultloc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// first says what the first suspect did, on what evidence of a kind.
func first(r Result, k EvidenceKind) string {
	if len(r.Suspects) == 0 {
		return "none"
	}
	for _, s := range r.Suspects {
		if slices.ContainsFunc(s.Evidence, func(e Evidence) bool { return (e.Kind == Outdated || e.Kind == Mirror) && e.Mends == nil }) {
			return "evidence that does not say what is missing"
		}
	}
	s := r.Suspects[0]
	text := string(s.Kind) + " " + strconv.Itoa(int(s.PC))
	if s.has(k) {
		text += " " + string(k)
	}
	return text
}

func TestOdd(t *testing.T) {
	broken := func(program string) (*world, Input) {
		w := newWorld(t, listSpecDL)
		w.run(insertions(3))
		w.run(program)
		in := w.input()
		in.Stray = w.checker.Stray
		return w, in
	}
	// A pointer read from what was freed, and one that is wrong without a free.
	if _, in := broken("80: free n2\n81: n3.next = 0x0b16419777e17863\n82: n3.key = 500"); first(Locate(in), Garbage) != "wrote 80 garbage" {
		t.Errorf("freed too early: %s", first(Locate(in), Garbage))
	}
	if _, in := broken("81: n2.next = n3"); first(Locate(in), Garbage) != "wrote 81" {
		t.Errorf("nothing freed: %s", first(Locate(in), Garbage))
	}
	// A mark for what has been deleted, and a pointer to a function.
	for _, to := range []string{"0x2", "0x7f0000001000"} {
		_, in := broken("80: free n2\n81: n3.next = " + to + "\n82: n3.key = 500")
		in.Elsewhere = func(a trace.Addr) bool { return a == 0x7f0000001000 }
		if slices.ContainsFunc(Locate(in).Suspects, func(s Suspect) bool { return s.has(Garbage) }) {
			t.Errorf("%s is taken for what was read from freed memory", to)
		}
	}
	// A write behind a block, and one into it.
	for _, offset := range []trace.Addr{24, 16} {
		w, in := broken("82: n3.key = 500")
		n := w.block("n3").addr
		w.apply(&trace.Event{Kind: trace.KindStore, PC: 90, Addr: n + offset, Size: 8, Data: make([]byte, 8), Base: n})
		in.At = w.hist.Now()
		in.Found = w.checker.All(w.hist.At(in.At))
		stray := slices.ContainsFunc(Locate(in).Suspects, func(s Suspect) bool { return s.PC == 90 && s.has(Stray) })
		if stray != (offset == 24) {
			t.Errorf("a write at offset %d of 24 bytes: stray %t", offset, stray)
		}
	}
	// The statement in which the run ended.
	_, in := broken("30: x = malloc dnode\n40: x.next = n3")
	in.Cut, in.Died = true, 77
	if s := Locate(in).Suspects; len(s) == 0 || s[len(s)-1].Kind != Died && s[0].Kind != Died {
		t.Errorf("died: %+v", s)
	}
	// Long after what is broken now it only follows from that.
	for after, want := range map[mgpp.Timestamp]bool{0: false, 9: true} {
		in.end = in.At + after
		for _, s := range Locate(in).Suspects {
			if s.Kind == Died && (s.worth() < worthFlip) != want {
				t.Errorf("died %d changes later: worth %d", after, s.worth())
			}
		}
	}
}

// TestWithin: what a statement does in calls of one function is no habit in those of
// another.
// neighbours is broken by a node that is freed while others lead to it.
const neighbours = `
struct dnode { struct dnode *next, *prev; long key; };
type dnode edges (next);
next: dnode X; X.next == NULL or X.next.prev == X;
prev: dnode X; X.prev == NULL or X.prev.next == X;
`

// TestFreedAndDied: a free in the call in which the run ended goes before the statement
// in which it did, but for one of that statement itself.
func TestFreedAndDied(t *testing.T) {
	for program, want := range map[string]string{"80: free n2": "wrote 80 freed", "82: n2.next = NULL": "wrote 82", "77: free n2": "died 77"} {
		w := newWorld(t, neighbours)
		w.run(insertions(3))
		w.run(program)
		in := w.input()
		in.Cut, in.Died = true, 77
		if got := first(Locate(in), Freed); got != want {
			t.Errorf("%s: %s, want %s", program, got, want)
		}
	}
}

// TestDiedNext: where a store is missing beside the last change, the statement in which the run
// ended would have done it.
func TestDiedNext(t *testing.T) {
	for program, want := range map[string]bool{
		"30: x = malloc dnode\n31: x.key = 90\n40: x.next = n3":                  true,
		"30: x = malloc dnode\n40: x.next = n3\n31: x.key = 90":                  false,
		"30: x = malloc dnode\n31: x.key = 90\n40: x.next = n3\n41: n3.prev = x": false,
	} {
		w := newWorld(t, listSpecDL)
		w.run(insertions(3))
		w.run(program)
		in := w.input()
		in.Cut, in.Died = true, 77
		s := Locate(in).Suspects
		if got := s[0].Kind == Died && s[0].Evidence[0].Next; got != want {
			t.Errorf("%q: %+v, want next %t", program, s, want)
		}
	}
}

// TestDiedFilling: what a node lacks was still to come where the run ended in the function that was filling
// it in, and nothing led to it yet.
func TestDiedFilling(t *testing.T) {
	died := inFunctions(map[string][]int{"add": {30, 31, 32, 77}, "link": {40}})
	elsewhere := inFunctions(map[string][]int{"add": {30, 31, 32}, "link": {40, 77}})
	for _, c := range []struct {
		program  string
		function func(trace.Addr) string
		want     bool
	}{
		{"30: x = malloc dnode\n31: x.key = 90\n32: x.prev = NULL", died, true},
		{"30: x = malloc dnode\n31: x.key = 90\n32: x.prev = NULL", elsewhere, false},
		{"30: x = malloc dnode\n31: x.key = 90\n32: x.prev = NULL\n40: n3.next = x", died, false},
	} {
		w := newWorld(t, neighbours)
		w.run("30: n3 = malloc dnode\n31: n3.key = 1\n32: n3.prev = NULL\n33: n3.next = NULL\ncpoint")
		w.run(c.program)
		in := w.input()
		in.Cut, in.Died, in.Function = true, 77, c.function
		s := Locate(in).Suspects
		if got := s[0].Kind == Died && s[0].Evidence[0].Filling; got != c.want {
			t.Errorf("%q: %+v, want filling %t", c.program, s, c.want)
		}
	}
}

// TestElsewhere: what a statement does in nodes like this one is missing where it would
// have run, not where the program was at something else.
func TestElsewhere(t *testing.T) {
	for program, want := range map[string]string{
		"80: free n15": "wrote 80",
		"30: x = malloc dnode\n31: x.key = 1\n32: x.prev = NULL\n40: x.next = n30": "omitted 41",
	} {
		w := newWorld(t, neighbours)
		w.run(insertions(30))
		w.run(program)
		in := w.input()
		if got := first(Locate(in), Flip); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", program, got, want)
		}
		astray := newLab(in).cells()[0].astray
		if leads := want != "wrote 80"; astray == leads {
			t.Errorf("%s: the first candidate for a repair leads nowhere: %t", program, astray)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, same := range []bool{true, false} {
		w := newWorld(t, listSpecDL)
		w.run(insertions(8))
		w.run("30: x = malloc dnode\n31: x.key = 1\n32: x.prev = NULL\n40: x.next = n8")
		in := w.input()
		in.Within = func(at mgpp.Timestamp) string {
			if at > in.Healthy && !same {
				return "remove"
			}
			return "insert"
		}
		s := Locate(in).Suspects
		if got := len(s) > 0 && s[0].has(Habit); got != same {
			t.Errorf("in calls of the same function %t: a habit %t", same, got)
		}
	}
}

// TestLibrary: what a library's code did not do is no habit that the program has broken.
func TestLibrary(t *testing.T) {
	for _, library := range []bool{true, false} {
		w := newWorld(t, listSpecDL)
		w.run(insertions(8))
		w.run("30: x = malloc dnode\n31: x.key = 1\n32: x.prev = NULL\n40: x.next = n8")
		in := w.input()
		in.Library = func(pc trace.Addr) bool { return library && pc == 41 }
		s := Locate(in).Suspects
		if got := slices.ContainsFunc(s, func(s Suspect) bool { return s.has(Habit) }); got == library {
			t.Errorf("the statement that did not run is a library's %t: a habit %t", library, got)
		}
	}
}

// TestLibraryUnlike: what a library's code stores it was given: another value is no law broken.
func TestLibraryUnlike(t *testing.T) {
	for _, library := range []bool{true, false} {
		w := newWorld(t, listSpecDL+"keyed: dnode X; X.key == 7;\n")
		for i := range 20 {
			w.run(fmt.Sprintf("30: k%[1]d = malloc dnode\n31: k%[1]d.key = 7\n32: k%[1]d.prev = NULL\n33: k%[1]d.next = NULL\ncpoint", i))
		}
		w.run("30: x = malloc dnode\n31: x.key = 6\n32: x.prev = NULL\n40: x.next = k3")
		in := w.input()
		in.Library = func(pc trace.Addr) bool { return library && pc == 31 }
		s := Locate(in).Suspects
		if got := slices.ContainsFunc(s, func(s Suspect) bool { return s.PC == 31 && s.has(Unlike) }); got == library {
			t.Errorf("the statement that stored another value is a library's %t: accused %t", library, got)
		}
	}
}

// TestWhole: after what a statement did the structure was whole, so that another is
// the more suspicious.
func TestWhole(t *testing.T) {
	for _, c := range []struct {
		again string
		whole bool
	}{{"50: n5.prev = n4", false}, {"50: n6.prev = n6", true}} {
		w := newWorld(t, listSpecDL)
		w.run(insertions(6))
		w.run("30: x = malloc dnode\n31: x.key = 1\n32: x.prev = NULL\n40: x.next = n6\n41: n6.prev = x\n" + c.again)
		in := w.input()
		in.Broken = w.checker.CountBroken
		for _, s := range Locate(in).Suspects {
			if s.PC == 41 && (s.Whole > 0) != c.whole {
				t.Errorf("%s: whole after line 41 at %d", c.again, s.Whole)
			}
			if s.PC == 50 && s.Whole > 0 {
				t.Errorf("%s: whole after it", c.again)
			}
		}
	}
}

// TestEarly: a free that broke something, of a node that was unlinked only after that.
func TestEarly(t *testing.T) {
	const before = "82: n1.prev = n4\n80: free n2\n81: n3.next = n1\n82: n1.prev = n3\ncpoint\n" // it always does so
	for program, want := range map[string]bool{
		"80: free n2\n81: n3.next = n1":            true,
		"81: n3.next = n1\n80: free n2":            false,
		before + "80: free n3\n81: n4.next = n1\n": false,
	} {
		w := newWorld(t, neighbours)
		w.run(insertions(4))
		w.run(program) // n1.prev leads to what was freed
		in := w.input()
		early := slices.ContainsFunc(Locate(in).Suspects, func(s Suspect) bool { return s.PC == 80 && s.has(Early) })
		if len(in.Found) == 0 || early != want {
			t.Errorf("%s: early %t", program, early)
		}
	}
}

// TestCrossed: a store into one node by an address of another one, or right behind it.
func TestCrossed(t *testing.T) {
	for _, c := range []struct {
		base string
		off  trace.Addr
		want bool
	}{{"n2", 0, true}, {"n2", 24, true}, {"n3", 0, false}} {
		w := newWorld(t, listSpecDL)
		w.run(insertions(3))
		at, _ := w.cell("n3.key")
		w.apply(&trace.Event{Kind: trace.KindStore, PC: 90, Addr: at, Size: 8, Data: []byte{0, 2, 0, 0, 0, 0, 0, 0}, Base: w.block(c.base).addr + c.off})
		r := Locate(w.input())
		crossed := slices.ContainsFunc(r.Suspects, func(s Suspect) bool { return s.PC == 90 && s.has(Crossed) })
		if len(r.Suspects) == 0 || crossed != c.want {
			t.Errorf("by an address %d behind %s: crossed %t", c.off, c.base, crossed)
		}
	}
}

// TestUsual: a statement that stored the constant that it always has, or counted by the step that
// it always has, did well, one that stored something else did not.
func TestUsual(t *testing.T) {
	for _, c := range []struct {
		before int
		value  string
		want   bool
	}{{minLike, "NULL", true}, {minLike, "n8", false}, {minLike - 1, "NULL", false}} {
		w := newWorld(t, listSpecDL)
		w.run(insertions(c.before))
		w.run("30: n8 = malloc dnode\n31: n8.key = 1\n32: n8.prev = " + c.value)
		if in := w.input(); in.usual(in.At) != c.want {
			t.Errorf("%s after %d nodes: usual %t", c.value, c.before, !c.want)
		}
	}
}

func TestUsualStep(t *testing.T) {
	for _, c := range []struct {
		before int
		next   string
		want   bool
	}{{minLike, "9", true}, {minLike, "10", false}, {minLike - 1, "8", false}} {
		w := newWorld(t, gapSpec)
		w.run(typed(c.before))
		w.run("30: l.gap = " + c.next)
		if in := w.input(); in.usual(in.At) != c.want {
			t.Errorf("%s after %d keys: usual %t", c.next, c.before, !c.want)
		}
	}
}

// TestGivenOnce: without an operation, and with another value in its field, is one experiment
// where the field holds what the program was given.
func TestGivenOnce(t *testing.T) {
	without := Evidence{Kind: Counterfactual, Cured: 1, Of: 1, Given: true}
	other := Evidence{Kind: RepairCell, Cured: 1, Of: 1, Given: true}
	s := Suspect{Kind: Wrote, Evidence: []Evidence{without, other}}
	if got := s.worth(); got != worthGiven {
		t.Errorf("both are worth %d, one %d", got, worthGiven)
	}
}

// TestExcluded: what usually runs next to something is not missing where something else ran
// with which it never does.
func TestExcluded(t *testing.T) {
	w := newWorld(t, listSpecDL)
	var points []mgpp.Timestamp
	for _, part := range strings.SplitAfter(insertions(80), "cpoint\n") {
		w.run(part)
		points = append(points, w.healthy)
	}
	for i := 81; i < 88; i++ { // by other statements
		w.run(fmt.Sprintf("30: n%d = malloc dnode\n31: n%d.key = %d\n32: n%d.prev = NULL\n60: n%d.next = n%d\n61: n%d.prev = n%d\ncpoint", i, i, 100-i, i, i, i-1, i-1, i))
		points = append(points, w.healthy)
	}
	w.run("30: x = malloc dnode\n31: x.key = 1\n32: x.prev = NULL\n60: x.next = n87")
	in := w.input()
	in.Points = points
	r := Locate(in)
	missing := func(line trace.Addr) bool {
		return slices.ContainsFunc(r.Suspects, func(s Suspect) bool { return s.Kind == Omitted && s.PC == line })
	}
	if !missing(61) || missing(41) {
		t.Errorf("%s, want 61 omitted, and not 41", summary(r))
	}
}

// TestUsers: a statement with several users, as a list's own functions have, has written a field
// before if it did so in calls of another function.
func TestUsers(t *testing.T) {
	for _, known := range []bool{true, false} {
		w := newWorld(t, neighbours)
		w.run("1: c = calloc dnode\n1: d = calloc dnode")
		if known {
			w.run("8: d.next = c\n7: c.prev = d")
		}
		setup := w.hist.Now()
		for i := range 20 {
			w.run(fmt.Sprintf("1: a%[1]d = calloc dnode\n1: b%[1]d = calloc dnode\n9: b%[1]d.prev = a%[1]d\n7: a%[1]d.next = b%[1]d", i))
		}
		w.run("cpoint\n1: e = calloc dnode\n1: f = calloc dnode\n7: e.prev = f")
		in := w.input()
		in.Within = func(at mgpp.Timestamp) string {
			if at <= setup {
				return "setup"
			}
			return "insert"
		}
		odd := false
		for _, s := range Locate(in).Suspects {
			odd = odd || slices.ContainsFunc(s.Evidence, func(e Evidence) bool { return e.Law == LawField })
		}
		if odd == known {
			t.Errorf("written before in calls of another function %t: accused of a new field %t", known, odd)
		}
	}
}

// TestZero: 0 from a statement that has stored many numbers, and never that, is odd.
func TestZero(t *testing.T) {
	w := newWorld(t, "struct node { struct node *next; long key; };\ntype node;\nordered: node X; X.next == NULL or X.key < X.next.key;\n")
	w.run("30: n0 = calloc node\n31: n0.key = 7")
	for i := 1; i < 24; i++ {
		w.run(fmt.Sprintf("30: n%[1]d = calloc node\n31: n%[1]d.key = %[3]d\n33: n%[2]d.next = n%[1]d\ncpoint", i, i-1, 7+i*(i+3)))
	}
	w.run("30: x = calloc node\n31: x.key = 0\n33: n23.next = x")
	if r := Locate(w.input()); r.Suspects[0].PC != 31 || !slices.ContainsFunc(r.Suspects[0].Evidence, func(e Evidence) bool { return e.Law == LawZero }) {
		t.Errorf("%s, want 31 for its 0", summary(r))
	}
	w.run("31: x.key = 5000")
	if r := Locate(w.input()); len(r.Suspects) > 0 {
		t.Errorf("correct: %s", summary(r))
	}
}

// TestGivenLarge: of few nodes, numbers that are larger than all changes are were not counted, but given: who linked
// the nodes goes before who stored one of them.
func TestGivenLarge(t *testing.T) {
	for _, c := range []struct{ a, b, link, want string }{{"67853", "18803", "right", "wrote 40"}, {"67853", "18803", "left", ""}} {
		w := newWorld(t, "struct node { struct node *left, *right; long key; };\ntype node;\norder: node X; (X.left == NULL or X.left.key < X.key) and (X.right == NULL or X.key < X.right.key);\n")
		w.run("30: a = calloc node\n31: a.key = " + c.a + "\n30: z = calloc node\n31: z.key = 80911\ncpoint\n30: b = calloc node\n31: b.key = " + c.b + "\n40: a." + c.link + " = b")
		got := ""
		if r := Locate(w.input()); len(r.Suspects) > 0 {
			got = fmt.Sprint(r.Suspects[0].Kind, " ", uint64(r.Suspects[0].PC))
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.link, got, c.want)
		}
	}
}

// busy is a model that has taken so many steps.
type busy struct {
	eval.Model
	steps uint64
}

func (b *busy) Work() uint64 { return b.steps }

// TestWorked: trials end after so many steps of evaluation.
func TestWorked(t *testing.T) {
	w := newWorld(t, gapSpec)
	w.run(typed(1))
	in := w.input()
	m := &busy{in.Model, 7}
	in.Model = m
	l := newLab(in)
	m.steps += maxWorked - 1
	if l.exhausted() {
		t.Error("too early")
	}
	if m.steps++; !l.exhausted() {
		t.Error("never")
	}
}

// TestUncalled: no statement of a function is missing of which none ran that usually do.
func TestUncalled(t *testing.T) {
	for _, ran := range []bool{true, false} {
		w := newWorld(t, listSpecDL)
		w.run("30: a = calloc dnode\n30: b = calloc dnode")
		first := w.hist.Now() + 1
		for range 10 {
			w.run("40: a.next = b\n41: b.prev = a\n50: a.prev = NULL\ncpoint")
		}
		w.run("50: a.prev = b")
		if ran {
			w.run("41: b.prev = a")
		}
		in := w.input()
		in.Function = func(pc trace.Addr) string { return fmt.Sprint(uint64(pc) / 10) }
		if got := learn(in).uncalled(first, statementsSince(in)); got == ran {
			t.Errorf("another statement ran %t: uncalled %t", ran, got)
		}
	}
}
