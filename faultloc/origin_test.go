package faultloc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

const stepSpec = `
struct step { struct step *next, *prev; long key, n; };
struct chain { struct step *first; };
type step edges (next);
type chain;
together step, chain;
back: step X, Y; X -> Y => Y.prev == X;
order: step X, Y; X -> Y => X.key < Y.key;
same: step X, Y; X -> Y => X.n == Y.n;
`

// steps makes a chain of n, the newest first: its key is what its call was given, less 7.
func steps(n int) string {
	var b strings.Builder
	b.WriteString("1: c = calloc chain\n1: s0 = calloc step\n2: s0.key = 5000\n9: c.first = s0\ncpoint\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "1: s%d = calloc step\n2: s%d.key = %d\n3: s%d.next = s%d\n4: s%d.prev = s%d\n9: c.first = s%d\ncpoint\n", i, i, 5000-10*i, i, i-1, i-1, i, i)
	}
	return b.String()
}

// lawOf is the law that the executions of a statement broke, "" if they broke none.
func lawOf(in Input, pc int) Law {
	for _, s := range Locate(in).Suspects {
		for _, e := range s.Evidence {
			if e.Kind == Unlike && int(s.PC) == pc {
				return e.Law
			}
		}
	}
	return ""
}

// TestOrigin: a value that does not come from where the statement has always had it from.
func TestOrigin(t *testing.T) {
	var before strings.Builder
	before.WriteString(steps(60))
	for i := 2; i < 40; i += 2 { // that one is taken out
		fmt.Fprintf(&before, "70: s%d.next = s%d\n71: s%d.prev = s%d\n72: free s%d\ncpoint\n", i+1, i-1, i-1, i+1, i)
	}
	for program, want := range map[string]Law{
		"70: s43.next = s40\n71: s41.prev = s43\n72: free s42":                     LawOrigin, // not what s42 leads to
		"70: s43.next = s41\n71: s41.prev = s43\n72: free s42\n73: s41.prev = s50": "",
		"69: s42.next = s40\n70: s43.next = s41\n72: free s42":                     "", // what was there had been wrong before
	} {
		w := newWorld(t, stepSpec)
		w.run(before.String())
		w.run(program)
		in := w.input()
		if got := lawOf(in, 70); got != want || len(in.Found) == 0 {
			t.Errorf("%q: law %q, want %q; found %v", program, got, want, in.Found)
		}
	}
}

// TestFollowedOrigin: the first node has none before it. Who takes it out passes that on, as it always passes on what the node has.
func TestFollowedOrigin(t *testing.T) {
	var before strings.Builder
	before.WriteString(steps(60))
	for i := 2; i < 40; i += 2 {
		fmt.Fprintf(&before, "70: s%d.next = s%d\n71: s%d.prev = s%d\n72: free s%d\ncpoint\n", i+1, i-1, i-1, i+1, i)
	}
	for program, want := range map[string]bool{
		"80: c.first = s59\n71: s59.prev = NULL\n72: free s60\n91: s50.prev = s40": false,
		"70: s43.next = s41\n71: s41.prev = NULL\n72: free s42":                    true,
	} {
		w := newWorld(t, stepSpec)
		w.run(before.String())
		w.run(program)
		in := w.input()
		if got := lawOf(in, 71); (got == LawNull) != want || len(in.Found) == 0 {
			t.Errorf("%q: law %q; found %v", program, got, in.Found)
		}
	}
}

// made tells what was passed to the call in which each node of steps was made.
func (w *world) made() func(mgpp.Timestamp) []uint64 {
	made := map[mgpp.Timestamp]int{} // the number of a node, by its birth
	var births []mgpp.Timestamp
	for at := mgpp.Timestamp(1); at <= w.hist.Now(); at++ {
		if op := w.hist.Op(at); op.Kind == mgpp.OpBirth {
			made[at] = len(births) - 1 // the chain is the first
			births = append(births, at)
		}
	}
	return func(at mgpp.Timestamp) []uint64 {
		i, _ := slices.BinarySearch(births, at+1)
		return []uint64{17, uint64(5007 - 10*made[births[max(i, 1)-1]])}
	}
}

// TestHanded: a new node has what the call was given, whichever statement stores it.
func TestHanded(t *testing.T) {
	for program, want := range map[string]Law{
		"1: x = calloc step\n80: x.key = 4701\n3: x.next = s30\n4: s30.prev = x\n9: c.first = x": LawHanded,
		"1: x = calloc step\n80: x.key = 4690\n3: x.next = s30\n9: c.first = x":                  "", // as it was given
	} {
		w := newWorld(t, stepSpec)
		w.run(steps(30))
		w.run(program)
		in := w.input()
		in.Args = w.made()
		if got := lawOf(in, 80); got != want || len(in.Found) == 0 {
			t.Errorf("%q: law %q, want %q; found %v", program, got, want, in.Found)
		}
	}
}

// TestReached: a loop that goes from node to node leaves one out.
func TestReached(t *testing.T) {
	spec := strings.ReplaceAll(stepSpec, "X.n == Y.n;", "X.key < 4400 or Y.key > 4490 or X.n == Y.n;")
	round := func(number, but int) string {
		var b strings.Builder
		for i := 60; i > 50; i-- {
			if i != but {
				fmt.Fprintf(&b, "60: s%d.n = %d\n", i, number)
			}
		}
		return b.String()
	}
	for but, want := range map[int]Law{57: LawReached, 51: ""} { // in the middle, and at the end
		w := newWorld(t, spec)
		w.run(steps(60))
		var points []mgpp.Timestamp
		for number := range 7 {
			w.run(round(number, 0) + "cpoint")
			points = append(points, w.healthy)
		}
		w.run(round(7, but))
		in := w.input()
		in.Points, in.Without = points, []EvidenceKind{OfOrigin}
		if got := lawOf(in, 60); got != want || len(in.Found) == 0 {
			t.Errorf("without %d: law %q, want %q; found %v", but, got, want, in.Found)
		}
	}
}

// TestOneWay: of two pointers that lead to each other one is missing: beside the other, not where the new node got its
// first value.
func TestOneWay(t *testing.T) {
	const before = "1: a = calloc step\n2: a.key = 1\n1: b = calloc step\n2: b.key = 9\n3: a.next = b\n4: b.prev = a\ncpoint\n"
	const inserted = "30: x = malloc step\n31: x.key = 5\n32: x.prev = NULL\n33: x.n = 0\n%s74: x.next = b\n75: a.next = x\n76: b.prev = x"
	for missing, want := range map[string]string{"": "wrote 75 mirror", "73: x.prev = a\n": "healthy"} {
		w := newWorld(t, stepSpec)
		w.run(before + fmt.Sprintf(inserted, missing))
		in := w.input()
		in.Function = func(pc trace.Addr) string { return strconv.Itoa(int(pc) / 10) }
		got := "healthy"
		if len(in.Found) > 0 {
			got = first(Locate(in), Mirror)
		}
		if got != want {
			t.Errorf("with %q: %s, want %s", missing, got, want)
		}
	}
}

const twigSpec = "struct twig { struct twig *left, *right; long key; };\ntype twig edges (left, right);\nheld: twig X; X.key < 100 => X.INDEGREE == 1;\n"

// TestTaken: who took out what should be there is to blame, not who moved what was left.
func TestTaken(t *testing.T) {
	const tree = "1: a = calloc twig\n2: a.key = 100\n1: b = calloc twig\n2: b.key = 50\n3: a.left = b\n1: c = calloc twig\n2: c.key = 10\n4: a.right = c\ncpoint\n"
	checkAsked(t, twigSpec, tree, Taken, map[string]string{
		"60: a.left = NULL\n70: a.left = c":                   "wrote 60 taken",
		"60: a.right = NULL\n70: a.right = b\n71: a.left = c": "healthy",
		"70: a.left = c": "wrote 70",
	})
}

// TestAside: a number is set aside, and only counted on from there.
func TestAside(t *testing.T) {
	const item = "30: %[1]s = malloc item\n31: %[1]s.next = NULL\n33: %[1]s.key = %[2]d\n"
	x, y, z := fmt.Sprintf(item, "x", 5), fmt.Sprintf(item, "y", 7), fmt.Sprintf(item, "z", 9)
	before := "20: l = calloc list\n" + x + "40: l.first = x\n42: l.lowest = 5\n41: l.length = 1\ncpoint\n" + y + "44: x.next = y\n41: l.length = 2\ncpoint\n"
	checkAsked(t, countedSpec, before, Basis, map[string]string{
		z + "44: y.next = z\n63: l.length = 1\n41: l.length = 2": "wrote 63 basis",
		z + "44: y.next = z\n41: l.length = 3":                   "healthy",
	})
}
