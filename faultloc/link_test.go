package faultloc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// pushSpec is a stack: each of its nodes is led to once.
const pushSpec = `
struct link { struct link *next; long key; };
struct head { struct link *first; };
type link;
type head;
together head, link;
once: link X; X.INDEGREE == 1;
`

// pushed puts n nodes onto a stack, one behind the other.
func pushed(n int) string {
	var b strings.Builder
	b.WriteString("20: h = calloc head\ncpoint\n")
	before := "NULL"
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "30: n%[1]d = malloc link\n31: n%[1]d.key = %[1]d\n33: n%[1]d.next = %[2]s\n34: h.first = n%[1]d\ncpoint\n", i, before)
		before = fmt.Sprintf("n%d", i)
	}
	return b.String()
}

// TestHalfLink: who puts a node in gives it what it is put before. If the same function gave it something else right before,
// that is wrong, though nothing asked for it yet; a new node's first value from elsewhere is there to be replaced.
func TestHalfLink(t *testing.T) {
	for _, c := range []struct {
		next     string
		function map[string][]int
		want     string
	}{
		{"NULL", map[string][]int{"push": {30, 31, 33, 34}}, "wrote 33"},
		{"NULL", map[string][]int{"make": {30, 31, 33}, "push": {34}}, "wrote 34"},
		{"n2", map[string][]int{"push": {30, 31, 33, 34}}, "none"}, // correct
	} {
		w := newWorld(t, pushSpec)
		w.run(pushed(2))
		w.run("30: x = malloc link\n31: x.key = 9\n33: x.next = " + c.next + "\n34: h.first = x")
		in := w.input()
		in.Function = inFunctions(c.function)
		if got := first(Locate(in), Flip); strings.TrimSuffix(got, " flip") != c.want {
			t.Errorf("%s in %v: %s, want %s", c.next, c.function, got, c.want)
		}
	}
}

// TestOnlyNode: the only node there is may be all of a ring.
func TestOnlyNode(t *testing.T) {
	for program, want := range map[string]string{
		"20: a = malloc cnode\n22: a.key = 1":                 "omitted 22 beside",
		"20: a = malloc cnode\n22: a.key = 1\n23: a.next = a": "none",
	} {
		w := newWorld(t, ringSpec)
		w.run(program)
		if got := first(Locate(w.input()), Beside); got != want {
			t.Errorf("%q: %s, want %s", program, got, want)
		}
	}
}

// TestLacks: a write that missed a node by an address that was computed from it may have been meant for the field that
// the node lacks.
func TestLacks(t *testing.T) {
	for base, want := range map[string]bool{"n3": true, "n1": false} {
		w := newWorld(t, listSpecDL)
		w.run(insertions(3))
		w.run("30: x = malloc dnode\n31: x.key = 1\n32: x.prev = NULL\n40: x.next = n3")
		w.apply(&trace.Event{Kind: trace.KindStore, PC: 90, Addr: w.block("n3").addr + 24, Size: 8, Data: make([]byte, 8), Base: w.block(base).addr + 24})
		in := w.input()
		in.Stray = w.checker.Stray
		r := Locate(in)
		lacks := slices.ContainsFunc(r.Suspects, func(s Suspect) bool {
			return s.PC == 90 && slices.ContainsFunc(s.Evidence, func(e Evidence) bool { return e.Kind == Stray && e.Lacks })
		})
		if lacks != want || want && r.Suspects[0].PC != 90 {
			t.Errorf("by an address of %s: lacks %t; %s", base, lacks, summary(r))
		}
	}
	if (Evidence{Kind: Stray, Lacks: true}).worth() <= (Evidence{Kind: Stray}).worth() {
		t.Error("that a field lacks what was written elsewhere says nothing")
	}
	in := Input{Statement: func(pc trace.Addr) string { return fmt.Sprint(pc) }}
	astray := []Suspect{{Kind: Wrote, PC: 1, Evidence: []Evidence{{Kind: Stray}}}}
	if !in.elseStrange(astray, "2", 2) || in.elseStrange(astray, "1", 1) {
		t.Error("a decision is the simpler explanation than a write to where no memory is")
	}
}

// TestExchanged: two nodes that exchange their numbers have no other numbers than before.
func TestExchanged(t *testing.T) {
	for program, want := range map[string]Law{
		"60: x.key = 4700":                       LawHanded,
		"60: x.key = 4700\n61: s30.key = 4690":   "",
		"60: x.key = 4700\n61: s30.prev = x":     LawHanded,
		"60: x.key = 4700\n61: s30.key = 123456": LawHanded,
	} {
		w := newWorld(t, stepSpec)
		w.run(steps(30))
		w.run("1: x = calloc step\n80: x.key = 4690\n3: x.next = s30\n9: c.first = x\n" + program)
		in := w.input()
		in.Args = w.made()
		if got := lawOf(in, 60); got != want || len(in.Found) == 0 {
			t.Errorf("%q: law %q, want %q; found %v", program, got, want, in.Found)
		}
	}
}

// TestExchangedKept: nor have two that have kept their numbers till then.
func TestExchangedKept(t *testing.T) {
	for program, want := range map[string]Law{"60: s5.key = 4940": LawKept, "60: s5.key = 4940\n61: s6.key = 4950": ""} {
		w := newWorld(t, stepSpec)
		w.run(steps(30))
		w.run(program)
		if in := w.input(); lawOf(in, 60) != want || len(in.Found) == 0 {
			t.Errorf("%q: law %q, want %q; found %v", program, lawOf(in, 60), want, in.Found)
		}
	}
}

// listed is an ordered list of n items, whose length 64 counts in the function that links them.
func listed(n int) string {
	var b strings.Builder
	b.WriteString("20: l = calloc list\ncpoint\n")
	before := "NULL"
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "30: e%[1]d = malloc item\n31: e%[1]d.key = %[2]d\n60: e%[1]d.next = %[3]s\n62: l.first = e%[1]d\n63: l.lowest = %[2]d\n64: l.length = %[1]d\ncpoint\n", i, 1000-i, before)
		before = fmt.Sprintf("e%d", i)
	}
	return b.String()
}

// TestReplacedHabit: where a statement did not run another one has stored the field: it left the wrong value.
func TestReplacedHabit(t *testing.T) {
	for program, want := range map[string]string{"71: l.length = 32": "wrote 71", "": "omitted 64", "64: l.length = 31": "none"} {
		w := newWorld(t, countedSpec)
		points := w.rounds(strings.SplitAfter(listed(30), "cpoint\n")...)
		w.run("30: x = malloc item\n31: x.key = 5\n60: x.next = e30\n62: l.first = x\n63: l.lowest = 5\n" + program)
		in := w.input()
		in.Points = points
		if got := first(Locate(in), Stray); got != want {
			t.Errorf("%q: %s, want %s", program, got, want)
		}
	}
}

// TestUncounted: what is counted where nodes are linked is missing where they are taken out, and not beside the free.
func TestUncounted(t *testing.T) {
	for _, c := range []struct {
		function map[string][]int
		count    string
		want     string
	}{
		{map[string][]int{"make": {30, 31}, "link": {60, 62, 63, 64}, "unlink": {65, 66}, "remove": {69}}, "", "wrote 65"},
		{map[string][]int{"insert": {30, 31, 60, 62, 63, 64}, "unlink": {65, 66}, "remove": {69}}, "", "wrote 69"},
		{map[string][]int{"make": {30, 31}, "link": {60, 62, 63, 64}, "unlink": {65, 66}, "remove": {69}}, "67: l.length = 7", "none"},
	} {
		w := newWorld(t, countedSpec)
		w.run(listed(8))
		w.run("65: l.first = e7\n66: l.lowest = 993\n" + c.count + "\n69: free e8")
		in := w.input()
		in.Function = inFunctions(c.function)
		if got := first(Locate(in), Stray); got != c.want {
			t.Errorf("%v: %s, want %s", c.function, got, c.want)
		}
	}
}

// TestChange: a store that always changed something, and now nothing, is suspicious, and who read from there what it had
// left there went on from that.
func TestChange(t *testing.T) {
	for to, want := range map[string]Law{"n20": LawChange, "n19": ""} {
		w := newWorld(t, pushSpec)
		w.run(pushed(40))
		for i := 40; i > 20; i-- {
			w.run(fmt.Sprintf("80: h.first = n%d\n81: free n%d\ncpoint", i-1, i))
		}
		w.run("80: h.first = " + to + "\n61: n20.next = " + to + "\n62: h.first = n20")
		in := w.input()
		if got := lawOf(in, 80); got != want {
			t.Errorf("to %s: law %q, want %q", to, got, want)
		}
		for _, s := range Locate(in).Suspects {
			onward := slices.ContainsFunc(s.Evidence, func(e Evidence) bool { return e.Onward })
			if s.PC == 61 && onward != (want != "") {
				t.Errorf("to %s: who read it went on from there: %t", to, onward)
			}
		}
	}
}

// endSpec: ends of arcs count those that lead from them.
const endSpec = "struct end { struct arc *arcs, *last; long n, m; };\nstruct arc { struct arc *next, *back; };\ntype end;\ntype arc;\ntogether end, arc;\narc.OUT;\narc A; A.OUT = 1 + (A.next).OUT;\nout: end E; E.n == (E.arcs).OUT;\n"

// TestUntilSister: a count may also be missing up to where its function, or one that is called for it, has counted another node's.
func TestUntilSister(t *testing.T) {
	for count, want := range map[int]trace.Addr{53: 53, 54: 54, 55: 0} { // 54 is another function's, 55 that of what made the arcs
		w := newWorld(t, endSpec)
		w.run(fmt.Sprintf("1: a = calloc end\n1: b = calloc end\ncpoint\n30: x = calloc arc\n30: y = calloc arc\n51: a.arcs = x\n52: b.arcs = y\n%d: b.n = 1", count))
		in := w.input()
		in.Function = inFunctions(map[string][]int{"make": {30}, "add": {51, 52, 53}, "count": {54}, "": {55}})
		s := Locate(in).Suspects[0]
		i := slices.IndexFunc(s.Evidence, func(e Evidence) bool { return e.Kind == Outdated })
		if s.PC != 51 || i < 0 || in.History.Op(s.Evidence[i].Beside).PC != want {
			t.Errorf("%d: %s; %+v", count, summary(Locate(in)), s.Evidence)
		}
	}
}

// TestUpToDate: a count may also be missing where another function has stored another number of its node, after the link; not where
// that was another node's, a pointer, or before it.
func TestUpToDate(t *testing.T) {
	const link = "\n51: a.arcs = x\n"
	for program, want := range map[string]trace.Addr{
		link + "60: a.m = 7": 60, link + "60: b.m = 7": 0, link + "60: a.last = x": 0, "\n60: a.m = 7" + link: 0,
	} {
		w := newWorld(t, endSpec)
		w.run("1: a = calloc end\n1: b = calloc end\ncpoint\n30: x = calloc arc" + program)
		in := w.input()
		in.Function = inFunctions(map[string][]int{"make": {30}, "add": {51, 52}, "update": {60}})
		s := Locate(in).Suspects[0]
		i := slices.IndexFunc(s.Evidence, func(e Evidence) bool { return e.Kind == Outdated })
		if s.PC != 51 || i < 0 || in.History.Op(s.Evidence[i].Beside).PC != want {
			t.Errorf("%q: %s; %+v", program, summary(Locate(in)), s.Evidence)
		}
	}
}

// TestBrokeBefore: a pointer that nobody stored to what a freed node led to was missing when the first count went wrong, if one did
// before the free.
func TestBrokeBefore(t *testing.T) {
	const spec = "struct group { struct member *first; long n; };\nstruct member { struct member *next; long id; };\ntype group;\ntype member;\ntogether group, member;\nmember.N;\nmember M; M.N = 1 + (M.next).N;\nsize: group G; G.n == (G.first).N;\none: member M; M.INDEGREE(first, next) == 1;\n"
	for program, want := range map[string]trace.Addr{
		"60: a.n = 2\n70: free b":                 60,
		"70: free b\n60: a.n = 2":                 70,
		"55: x.next = y\n60: a.n = 2\n70: free b": 0,
	} {
		w := newWorld(t, spec)
		w.run("1: a = calloc group\n1: b = calloc group\n2: x = calloc member\n2: y = calloc member\n3: a.first = x\n3: b.first = y\n4: a.n = 1\n4: b.n = 1\ncpoint\n" + program)
		var by trace.Addr
		for _, s := range Locate(w.input()).Suspects {
			if by == 0 && s.has(Outdated) {
				by = s.PC
			}
		}
		if by != want {
			t.Errorf("%q: beside %d, want %d: %s", program, by, want, summary(Locate(w.input())))
		}
	}
}

// TestSister: the same field of another node was changed by as much.
func TestSister(t *testing.T) {
	for program, want := range map[string]bool{"50: b.rank = 1": true, "50: b.rank = 5": false, "50: b.key = 1": false, "50: a.rank = 1": false} {
		w := newWorld(t, kindSpec)
		w.run("1: a = calloc item\n1: b = calloc item")
		addr, _ := w.cell("a.rank")
		in := w.input()
		cell, _ := in.Cells.Cell(addr, in.Model.View(in.At))
		w.run(program)
		in.At = w.hist.Now()
		now, _ := read(in.Model.View(in.At), addr, cell.Size)
		r := Repair{Cell: cell, Value: now + 1}
		if got := r.sister(in, in.At); got != want {
			t.Errorf("%q: %t", program, got)
		}
	}
}

// TestOutdatedAt: a number is missing beside the change after which it was not the right one any more.
func TestOutdatedAt(t *testing.T) {
	r := &Repair{}
	for named, want := range map[bool]mgpp.Timestamp{true: 7, false: 0} {
		list := []Suspect{{Kind: Wrote, Repair: r, Evidence: []Evidence{{Kind: Outdated, Named: named, At: 7}}}}
		if got := r.outdatedAt(list); got != want {
			t.Errorf("named %t: %d, want %d", named, got, want)
		}
	}
}

// TestBornFirst: with the first value of a field, or of several in one store, a new node asks for what nothing can have stored yet, an
// older one does not, nor one that had a value in one of them.
func TestBornFirst(t *testing.T) {
	const before = "1: a = malloc item\n2: a.rank = 2\n2: a.kind = 1\ncpoint\n1: b = malloc item\n"
	for program, want := range map[string]bool{
		"2: b.rank = 2\n2: b.kind = 1\n3: b.key = 5":        true,
		"2: b.rank = 2\n2: b.kind = 1\n3: a.key = 5":        false,
		"2: b.kind = 1\n3: memcpy b.key 5 2":                true,
		"2: b.kind = 1\n3: memcpy a.key 5 2":                false,
		"2: b.kind = 1\n2: b.rank = 3\n3: memcpy b.key 5 2": false,
	} {
		w := newWorld(t, "struct item { long key, rank; int kind; };\ntype item;\nranked: item X; X.key == 5 => X.rank == 1;\n")
		w.run(before + program)
		got := false
		for _, s := range Locate(w.input()).Suspects {
			got = got || s.PC == 3 && slices.ContainsFunc(s.Evidence, func(e Evidence) bool { return e.Kind == Flip && e.Born })
		}
		if got != want {
			t.Errorf("%q: born %t", program, got)
		}
	}
}

// TestLedByNoEdge: what a pointer leads to that is no edge is cut off without it as well, unless another one leads there.
func TestLedByNoEdge(t *testing.T) {
	const spec = `
struct item { long key; };
struct box { struct box *next; struct item *item; long items; };
type box %s;
type item;
together box, item;
count: box X; X.items == (X.item == NULL ? 0 : 1);
`
	for edges, spec := range map[string]string{"next": fmt.Sprintf(spec, "edges (next)"), "all": fmt.Sprintf(spec, "")} {
		for also, want := range map[string]int{"": 1, "\n43: c.item = i": 0} {
			w := newWorld(t, spec)
			w.run("20: c = calloc box\n21: c.items = 1\n22: j = malloc item\n23: c.item = j\n24: b = calloc box\ncpoint")
			w.run("40: i = malloc item\n41: b.item = i" + also)
			got := -1
			for _, s := range Locate(w.input()).Suspects {
				for _, e := range s.Evidence {
					if s.PC == 41 && e.Kind == Counterfactual {
						got = e.Orphans
					}
				}
			}
			if got != want {
				t.Errorf("edges %s, also %q: %d nodes are cut off without the pointer, want %d", edges, also, got, want)
			}
		}
	}
}

// TestDangles: to lead to a chain again mends nothing where its last node leads to what was freed meanwhile.
func TestDangles(t *testing.T) {
	for program, want := range map[string]bool{
		"65: t.slot = NULL\n66: free a": true, // for b.shadow = NULL
		"65: t.slot = NULL":             false,
	} {
		w := newWorld(t, scopeSpec)
		w.run(chain3)
		w.run(program)
		got := false
		for _, s := range Locate(w.input()).Suspects {
			for _, e := range s.Evidence {
				got = got || (e.Kind == RepairCell || e.Kind == Counterfactual) && s.PC == 65 && e.Dangles
			}
		}
		if got != want {
			t.Errorf("%s: %t", program, got)
		}
	}
}

// TestDroppedLoop: what a freed node led to may be what it was taken out of; that is not to lead to itself.
func TestDroppedLoop(t *testing.T) {
	for program, want := range map[string]string{
		"60: c.shadow = NULL\n61: b.shadow = c\n62: t.slot = b\n66: free b\n67: t.slot = a": "wrote 66",
		"65: c.shadow = NULL\n66: free b": "wrote 65 dropped", // a is lost
	} {
		w := newWorld(t, scopeSpec)
		w.run(chain3)
		w.run(program)
		r := Locate(w.input())
		s := r.Suspects[0]
		got := fmt.Sprintf("%s %d", s.Kind, s.PC)
		if s.has(Dropped) {
			got += " dropped"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", program, got, want)
		}
	}
}

// TestDroppedOfItsType: what a freed node led to by a pointer of another type is not what belongs where the node was.
func TestDroppedOfItsType(t *testing.T) {
	w := newWorld(t, `
struct cell { int refs; struct cell *next; };
struct version { struct cell *head; struct version *next; };
type cell;
type version;
together cell, version;
refs: cell X; X.refs == X.INDEGREE(next, head);
`)
	w.run(`
1: c = calloc cell
2: c.refs = 1
3: a = calloc version
4: a.head = c
3: b = calloc version
5: b.next = a
cpoint
60: b.next = NULL
61: free a
`)
	in := w.input()
	in.Cells = typedCells{in.Cells}
	if len(in.Found) != 1 {
		t.Fatalf("%d inconsistencies", len(in.Found))
	}
	for _, s := range Locate(in).Suspects {
		if s.has(Dropped) {
			t.Errorf("%s %d: a pointer to a cell belongs where one to a version was", s.Kind, s.PC)
		}
	}
}

// typedCells are cells of which "next" leads to nodes of its own node's type alone.
type typedCells struct{ Structure }

func (c typedCells) Cell(addr trace.Addr, v mgpp.View) (Cell, bool) {
	cell, ok := c.Structure.Cell(addr, v)
	if of := c.Object(cell.Obj).Type; ok && cell.Path == "next" {
		cell.Places = func(o graph.ObjID) []uint64 {
			if c.Object(o).Type == of {
				return []uint64{0}
			}
			return nil
		}
	}
	return cell, ok
}

// TestOwnRepair: what should have been stored beside a statement is not what the statement itself should have stored.
func TestOwnRepair(t *testing.T) {
	w := newWorld(t, `
struct item { long key; };
struct box { struct box *next; struct item *item; long items; };
type box;
type item;
together box, item;
count: box X; X.items == (X.item == NULL ? 0 : 1);
`)
	w.run("cpoint\n20: b = malloc box\n21: b.next = NULL\n22: b.item = NULL\n23: b.items = 0\n30: i = malloc item\n41: b.item = i")
	said := false
	for _, s := range Locate(w.input()).Suspects {
		for _, e := range s.Evidence {
			if e.Kind != Outdated {
				continue
			}
			said = true
			if s.PC != 41 || s.Repair == nil || s.Repair.Cell.Path != "item" || e.Mends.Cell.Path != "items" {
				t.Errorf("%s %d: its own repair is of %+v, the other of %s", s.Kind, s.PC, s.Repair, e.Mends.Cell.Path)
			}
		}
	}
	if !said {
		t.Error("nothing is said to be missing beside the statement")
	}
}
