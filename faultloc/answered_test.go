package faultloc

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

const (
	usedSpec  = "struct entry { long key; };\nstruct cache { long used; };\ntype entry;\ntype cache;\nused: cache C; C.used == COUNT(entry);\n"
	shelfSpec = "struct item { struct item *next; };\nstruct shelf { struct item *items, *shown; long n; };\ntype item;\ntype shelf;\nn: shelf S; S.shown != NULL => S.n == COUNT(item);\n"
	forkSpec  = "struct twig { struct twig *kid[2]; long top; };\ntype twig;\nthere: twig X; for I in 0 to 1, X.kid[I] == NULL or X.kid[I].EXISTS == TRUE;\nlinked: twig X; X.top == 1 or X.INDEGREE == 1;\n"
	sizeSpec  = "struct node { struct node *kid[2]; };\nstruct tree { struct node *top; };\ntype node;\ntype tree;\nnode.N;\nnode X; X.N = (X.kid[0]).N + (X.kid[1]).N + 1;\nall: tree T; (T.top).N == COUNT(node);\n"
	twigs     = "1: t = calloc twig\n2: t.top = 1\n1: q = calloc twig\n3: t.kid[0] = q\n1: a = calloc twig\n3: q.kid[0] = a\n1: b = calloc twig\n3: q.kid[1] = b\ncpoint"
	nodes     = "1: t = calloc tree\n2: r = calloc node\n3: t.top = r\n2: a = calloc node\n3: r.kid[0] = a\n2: b = calloc node\n3: r.kid[1] = b\ncpoint"
)

// filled is a cache of 12 entries that is full, each made by 104 and counted by 111.
func filled() string {
	var b strings.Builder
	b.WriteString("1: c = calloc cache\ncpoint\n")
	for i := range 12 {
		fmt.Fprintf(&b, "104: e%d = calloc entry\n111: c.used = %d\ncpoint\n", i, i+1)
	}
	return b.String()
}

// TestAnswered: who did as each time, or made what is new, is not accused before what has no answer. Each case has a
// correct twin.
func TestAnswered(t *testing.T) {
	for _, c := range []struct{ name, spec, before, fault, correct, want string }{
		{
			"no decrement beside a free", usedSpec, filled(),
			"69: free e3\n104: e = calloc entry\n111: c.used = 13",
			"68: c.used = 11\n69: free e3\n104: e = calloc entry\n111: c.used = 12",
			"wrote 69",
		},
		{ // the count is asked for only when all are there
			"not counted at all", shelfSpec, "1: s = calloc shelf\ncpoint",
			"10: a = calloc item\n11: s.items = a\n10: b = calloc item\n12: b.next = a\n11: s.items = b\n20: s.shown = b",
			"10: a = calloc item\n11: s.items = a\n13: s.n = 1\n10: b = calloc item\n12: b.next = a\n11: s.items = b\n13: s.n = 2\n20: s.shown = b",
			"wrote 11",
		},
		{ // the one beside whose link the count was stored has its answer
			"counted, but too little", shelfSpec, "1: s = calloc shelf\ncpoint",
			"10: a = calloc item\n11: s.items = a\n13: s.n = 1\n10: b = calloc item\n12: b.next = a\n21: s.items = b\n20: s.shown = b",
			"10: a = calloc item\n11: s.items = a\n13: s.n = 1\n20: s.shown = a",
			"wrote 21",
		},
		{
			"another node is lost as well", forkSpec, twigs,
			"86: free a\n89: t.kid[0] = a\n90: free q", "86: free a\n89: t.kid[0] = b\n90: free q", "wrote 89",
		},
		{
			"lost subtrees", sizeSpec, nodes,
			"59: m = calloc node\n35: r.kid[0] = NULL\n35: r.kid[1] = NULL\n53: m.kid[0] = r\n54: t.top = m",
			"59: m = calloc node\n53: m.kid[0] = r\n54: t.top = m",
			"wrote 35",
		},
	} {
		for _, program := range []string{c.fault, c.correct} {
			w := newWorld(t, c.spec)
			points := w.rounds(strings.SplitAfter(c.before, "cpoint")...)
			w.run(program)
			in := w.input()
			in.Points = points
			in.Broken = w.checker.CountBroken
			r := Locate(in)
			if c.name == "lost subtrees" && program == c.fault && first(r, Lost) != "wrote 35 lost" {
				t.Errorf("%s: %s", c.name, first(r, Lost))
			}
			switch got, _, _ := strings.Cut(summary(r), ","); {
			case program == c.fault && got != c.want:
				t.Errorf("%s: %s first, want %s", c.name, got, c.want)
				w.show(r)
			case program == c.correct && len(in.Found)+len(r.Suspects) > 0:
				t.Errorf("%s, correct: %s", c.name, summary(r))
			}
		}
	}
}

// TestServed: a function that was called for other nodes is not where a store for this one is missing.
func TestServed(t *testing.T) {
	const spec = "struct cell { struct cell *back, *sib; };\ntype cell edges (sib);\nback: cell X; X.sib == NULL or X.sib.back == X;\n"
	var b strings.Builder
	for i := range 10 { // 24 to 26 are meld
		n := strconv.Itoa(i)
		b.WriteString("1: a" + n + " = calloc cell\n1: b" + n + " = calloc cell\n1: c" + n + " = calloc cell\n")
		b.WriteString("25: a" + n + ".sib = b" + n + "\n26: b" + n + ".back = a" + n + "\n25: b" + n + ".sib = c" + n + "\n26: c" + n + ".back = b" + n + "\ncpoint\n")
	}
	for program, want := range map[string]string{
		"45: a3.sib = c3\n47: b3.sib = NULL\n25: c9.sib = b3\n26: b3.back = c9":                   "wrote 45",
		"45: a3.sib = c3\n46: c3.back = a3\n47: b3.sib = NULL\n25: c9.sib = b3\n26: b3.back = c9": "",
	} {
		w := newWorld(t, spec)
		points := w.rounds(strings.SplitAfter(b.String(), "cpoint")...)
		w.run(program)
		in := w.input()
		in.Points, in.Broken = points, w.checker.CountBroken
		in.Function = func(pc trace.Addr) string {
			if pc >= 40 {
				return "cut"
			}
			return "meld"
		}
		in.Within = func(t mgpp.Timestamp) string {
			if t > in.Healthy {
				return "decrease"
			}
			return "push"
		}
		r := Locate(in)
		if got, _, _ := strings.Cut(summary(r), ","); got != want {
			t.Errorf("%q: %s first, want %q", program, got, want)
			w.show(r)
		}
		at, size := w.cell("c3.back")
		c, _ := in.Cells.Cell(at, in.Model.View(in.At))
		meld := in.History.LastWrite(at, uint64(size), in.Healthy)
		for to, elsewhere := range map[string]bool{"a3": true, "b3": false} {
			repair := &Repair{Cell: c, Target: in.Cells.At(w.block(to).addr, in.Model.View(in.At))}
			if got := in.elsewhere(repair, meld); got != elsewhere {
				t.Errorf("meld was called for other nodes than c3 and %s: %t", to, got)
			}
		}
	}
}

// TestYield: a statement whose field mends nothing is worth little where a store is missing elsewhere that mends all.
func TestYield(t *testing.T) {
	for mends, want := range map[int]int{2: worthAlone, 1: worthOnly} {
		list := []Suspect{
			{Evidence: []Evidence{{Kind: Outdated, Cured: mends, Of: 2}}},
			{Evidence: []Evidence{{Kind: Habit, Alone: true, Only: true, Often: many, Of: many}}},
		}
		if yield(list); list[1].worth() != want {
			t.Errorf("mends %d of 2: the habit is worth %d, want %d", mends, list[1].worth(), want)
		}
	}
}

// TestBorn: what a birth alone has broken counts less than what any other change has: the new node asks for what nothing
// could have stored yet.
func TestBorn(t *testing.T) {
	w := newWorld(t, kindSpec+"ranked: item X; X.rank == 1;\nkeyed: item X; X.key == 1;\n")
	w.run("1: a = calloc item\n2: a.rank = 1\n2: a.key = 1\ncpoint\n1: b = calloc item\n9: a.kind = 2")
	born := false
	for _, s := range Locate(w.input()).Suspects {
		for _, e := range s.Evidence {
			born = born || e.Kind == Flip && e.Born
			if e.Kind == Flip && e.Born != (s.PC == 1) {
				t.Errorf("line %d: born %t", s.PC, e.Born)
			}
		}
	}
	if !born {
		t.Error("no birth broke anything")
	}
	list, _ := rank([]Suspect{
		{Kind: Wrote, PC: 1, Operation: 9, Evidence: []Evidence{{Kind: Flip, Flips: 2, Born: true}}},
		{Kind: Wrote, PC: 2, Operation: 7, Evidence: []Evidence{{Kind: Touch}}},
		{Kind: Wrote, PC: 3, Operation: 8, Evidence: []Evidence{{Kind: Flip, Flips: 1}}},
	})
	if list[0].PC != 3 || list[1].PC != 1 {
		t.Errorf("%+v", list)
	}
}
