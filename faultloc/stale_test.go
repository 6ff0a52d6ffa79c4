package faultloc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// asked runs a program from where a world was healthy, and says what the first suspect did, on
// what evidence of a kind; "healthy" if nothing is broken.
func asked(t *testing.T, spec, before, program string, k EvidenceKind) string {
	t.Helper()
	w := newWorld(t, spec)
	w.run(before)
	w.run(program)
	in := w.input()
	if len(in.Found) == 0 {
		return "healthy"
	}
	return first(Locate(in), k)
}

// checkAsked holds what is said of programs to what is wanted.
func checkAsked(t *testing.T, spec, before string, k EvidenceKind, wants map[string]string) {
	t.Helper()
	for program, want := range wants {
		if got := asked(t, spec, before, program, k); got != want {
			t.Errorf("%q: %s, want %s", program, got, want)
		}
	}
}

const knotSpec = "struct knot { struct knot *next, *spare; };\ntype knot edges (next);\nwhole: knot X; X.next == NULL or X.next.spare == X.next.spare;\n"

// TestStale: a pointer to what was freed before is the fault of the free, or beside it.
func TestStale(t *testing.T) {
	const knots = "1: a = calloc knot\n1: b = calloc knot\n1: c = calloc knot\n2: a.spare = c\ncpoint\n"
	checkAsked(t, knotSpec, knots, Stale, map[string]string{
		"70: free c\n71: b.next = c\n72: a.spare = NULL": "wrote 70 stale",
		"71: b.next = c\n72: a.spare = NULL":             "healthy",
		"71: b.next = c\n70: free c":                     "wrote 71",
	})
}

const (
	bucketSpec = "struct entry { struct entry *next, *all; long key; };\nstruct slots { struct entry *e[2]; };\nstruct table { struct slots *slots; struct entry *all; };\n" +
		"type entry; type slots; type table;\ntogether entry, slots, table;\n"
	buckets = "1: t = calloc table\n1: s = calloc slots\n2: t.slots = s\n1: a = calloc entry\n2: s.e[0] = a\n1: b = calloc entry\n2: a.next = b\n3: t.all = b\n3: b.all = a\ncpoint\n"
)

// TestFresh: a field that was written since all was well is tried beside one that was not and
// mends as well.
func TestFresh(t *testing.T) {
	const replaced = "1: c = calloc entry\n50: c.next = %s\n51: s.e[0] = c\n52: b.all = c\n53: free a"
	checkAsked(t, bucketSpec+"led: entry X; slots S; X.INDEGREE(e, next) == 1 or S.e[1] == X;\n", buckets, RepairCell, map[string]string{
		fmt.Sprintf(replaced, "NULL"): "wrote 50 repair",
		fmt.Sprintf(replaced, "b"):    "healthy",
	})
}

// TestDoomed: a pointer to what is freed next should not have been stored, if it is still there.
func TestDoomed(t *testing.T) {
	const knots = "1: a = calloc knot\n1: b = calloc knot\n1: c = calloc knot\n2: a.next = c\ncpoint\n"
	checkAsked(t, knotSpec, knots, Doomed, map[string]string{
		"70: b.next = c\n71: a.next = NULL\n72: free c":                    "wrote 70 doomed",
		"70: b.next = c\n71: a.next = NULL\n72: b.next = NULL\n73: free c": "healthy",
		"72: free c": "wrote 72", // the pointer was there before
		"69: d = calloc knot\n70: b.next = d\n72: free d": "wrote 70",
	})
}

// TestSaid: the store of a number that an equation says should be another one, and quite another than
// the field ever held, is among the suspects.
func TestSaid(t *testing.T) {
	const spec = "struct stone { struct stone *next; int key; };\nstruct row { struct stone *first; int lowest; };\ntype row; type stone;\ntogether row, stone;\n" +
		"lowest: row R; R.lowest == (R.first == NULL ? 0 : R.first.key);\n"
	w := newWorld(t, spec)
	w.run("1: r = calloc row\n2: r.lowest = 0\ncpoint\n")
	w.run("3: s = calloc stone\n4: s.key = 22767\n5: r.first = s\n6: r.lowest = 1")
	suspects := Locate(w.input()).Suspects
	if !slices.ContainsFunc(suspects, func(s Suspect) bool { return s.PC == 6 && s.has(RepairCell) && s.Repair.Value == 22767 }) {
		t.Errorf("%+v", suspects)
	}
}

// TestInstead: a store into another field than the one that would have been right.
func TestInstead(t *testing.T) {
	const before = "1: d = calloc avl\n2: d.key = 25\ncpoint\n"
	const tree = "1: a = calloc avl\n2: a.key = 10\n1: b = calloc avl\n2: b.key = 5\n3: a.left = b\n1: c = calloc avl\n2: c.key = 20\n3: a.right = c\n"
	checkAsked(t, strings.Split(avlSpec, "root: ")[0], tree+before, Instead, map[string]string{
		"60: d.left = c\n61: a.left = d":  "wrote 61 instead",
		"60: d.left = c\n61: a.right = d": "healthy",
	})
}

// numbered makes n nodes with numbers, each linked to the one before; every second one is
// linked by another statement.
func numbered(n int) string {
	var b strings.Builder
	b.WriteString("1: n0 = calloc item\n2: n0.key = 5000\n3: n0.kind = 1\ncpoint\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "1: n%d = calloc item\n2: n%d.key = %d\n3: n%d.kind = 1\n", i, i, 5000-100*i, i)
		fmt.Fprintf(&b, "%d: n%d.%s = n%d\n7: n%d.rank = %d\ncpoint\n", 5+i%2, i, [2]string{"left", "right"}[i%2], i-1, i, i%5)
	}
	return b.String()
}

const itemSpec = `
struct item { struct item *left, *right; int key, kind, rank; };
type item edges (left, right);
order: item X, Y; X -> Y => X.key < Y.key;
near: item X, Y; X -> Y => Y.key - X.key <= 100;
known: item X; X.kind == 1;
led: item X; X.key < 5000 => X.OUTDEGREE >= 1;
`

// kinds are cells of which those named kind hold 0, 1 or 2.
type kinds struct{ testCells }

func (k kinds) Cell(addr trace.Addr, v mgpp.View) (Cell, bool) {
	c, ok := k.testCells.Cell(addr, v)
	if c.Path == "kind" {
		c.Values = []int64{0, 1, 2}
	}
	return c, ok
}

// TestFieldLaws: a store that is the first to hold what no node held in the field.
func TestFieldLaws(t *testing.T) {
	law := func(spec, program string, pc int) (l Law) {
		w := newWorld(t, spec)
		w.run(numbered(30))
		w.run(program)
		in := w.input()
		for _, s := range Locate(in).Suspects {
			for _, e := range s.Evidence {
				if e.Kind == Unlike && int(s.PC) == pc {
					l = e.Law
				}
			}
		}
		return l
	}
	for _, c := range []struct {
		program string
		pc      int
		want    Law
	}{
		{"60: n9.key = -10", 60, LawNegative},
		{"60: n9.key = 9000", 60, LawFar},
		{"60: n9.kind = 2", 60, LawKept},
		{"60: n9.key = 4000", 60, LawKept},
		{"60: n9.rank = 2\n61: n9.kind = 2", 60, ""}, // no constraint asks for ranks
		{"2: n9.key = 5001", 2, LawKept},
	} {
		if got := law(itemSpec, c.program, c.pc); got != c.want {
			t.Errorf("%q: law %q, want %q", c.program, got, c.want)
		}
	}
	// A number that the specification asks for is neither negative nor far: that the node had kept its own is told instead.
	for asked, want := range map[string]Law{
		"X.key == -10 => X.rank == 0": LawKept, "-10 == X.key => X.rank == 0": LawKept, "X.key == -11 => X.rank == 0": LawNegative, "X.kind == -10 => X.rank == 0": LawNegative,
		"X.key >= 0 => X.rank <= 99": LawKept, "0 > X.key => X.rank == 0": LawKept, "X.kind >= 0 => X.rank <= 99": LawNegative,
		"X.key > 2500 => X.rank <= 99": LawNegative, // tells no negative number from the others
		"X.key >= -10":                 LawKept, "-10 <= X.key": LawKept, "X.key >= -11": LawNegative, "X.key > -99": LawNegative,
	} {
		if got := law(itemSpec+"odd: item X; "+asked+";\n", "60: n9.key = -10", 60); got != want {
			t.Errorf("asked whether %s: law %q, want %q", asked, got, want)
		}
	}
	for _, asked := range []string{"X.key == 9000", "X.key > 8000"} {
		if got := law(itemSpec+"odd: item X; "+asked+" => X.rank == 0;\n", "60: n9.key = 9000", 60); got != LawKept {
			t.Errorf("a far number that is asked for, %s: law %q", asked, got)
		}
	}
	// An enumeration has no other values, if its nodes hold none.
	for program, want := range map[string]Law{"60: n9.kind = 7": LawEnumerator, "60: n9.kind = 2": LawKept, "60: n3.kind = 7": LawEnumerator} {
		w := newWorld(t, itemSpec)
		w.run(numbered(map[bool]int{true: 4, false: 30}[strings.Contains(program, "n3")])) // few nodes are enough
		w.run(program)
		in := w.input()
		in.Cells = kinds{testCells{Graph: w.graph}}
		if e := Locate(in).Suspects[0].Evidence; !slices.ContainsFunc(e, func(e Evidence) bool { return e.Kind == Unlike && e.Law == want }) {
			t.Errorf("%s: %+v, want law %s", program, e, want)
		}
	}
	// What a statement has done before it may do again.
	w := newWorld(t, itemSpec)
	w.run(numbered(30) + "60: n30.key = 2050\ncpoint\n")
	w.run("60: n9.key = 3900")
	if s := Locate(w.input()).Suspects; len(s) == 0 || s[0].has(Unlike) {
		t.Errorf("a statement that changed the field before: %+v", s)
	}
}

// TestGap: between two statements one of several has always run.
func TestGap(t *testing.T) {
	for program, want := range map[string]string{
		"1: x = calloc item\n2: x.key = 1950\n3: x.kind = 1\n7: x.rank = 2":                   "omitted 5 habit",
		"1: x = calloc item\n2: x.key = 1950\n3: x.kind = 1\n6: x.right = n30\n7: x.rank = 2": "healthy",
	} {
		got := asked(t, itemSpec, numbered(30), program, Habit)
		if got = strings.Replace(got, "omitted 6", "omitted 5", 1); got != want { // either may be missing
			t.Errorf("%q: %s, want %s", program, got, want)
		}
	}
}
