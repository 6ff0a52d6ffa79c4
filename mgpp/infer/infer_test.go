package infer

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/trace"
)

func heap(a trace.Addr) bool { return a >= 0x1000 && a < 0x10000 }

// text shows a graph: nodes as their addresses, edges as FROM→value, with times.
func text(s *Snapshot) string {
	var out []string
	for _, n := range s.Nodes {
		var l []string
		for _, a := range n.Addrs {
			l = append(l, fmt.Sprintf("%x", a))
		}
		out = append(out, "["+strings.Join(l, " ")+"]")
	}
	for _, e := range s.Edges {
		to := fmt.Sprint(e.Value)
		if e.To != 0 {
			to = fmt.Sprintf("%x", e.Value)
			if e.Offset > 0 {
				to += fmt.Sprintf("(+%d)", e.Offset)
			}
		}
		out = append(out, fmt.Sprintf("(%d)%x→%s", e.Time, e.From, to))
	}
	return strings.Join(out, " ")
}

func expect(t *testing.T, g *Graph, at Timestamp, want string) {
	t.Helper()
	if got := text(g.At(at)); got != want {
		t.Errorf("at %d\n got %s\nwant %s", at, got, want)
	}
}

// TestFigure36 is the thesis's figure 3.6: the three operations on nodes.
func TestFigure36(t *testing.T) {
	g := New(Options{Allocator: true, Heap: heap})
	g.Touch(1, 0x1000, 8)
	g.Offset(1, 0x1000, 0x1008, 8)
	expect(t, g, 2, "[1000 1008]") // join
	g.Touch(1, 0x1010, 8)
	g.Offset(1, 0x1000, 0x1010, 8)
	expect(t, g, 4, "[1000 1008 1010]") // merge
	expect(t, g, 3, "[1000 1008] [1010]")
	c := g.Node(g.At(4).Nodes[0].Node)
	if d := cmp.Diff([]Member{{1, 4}, {2, 4}}, c.Members); d != "" || c.Birth != 4 {
		t.Errorf("%+v %s", c, d)
	}
	g.Store(1, 0x1000, 8, 0x1010, 0)
	expect(t, g, 5, "[1000 1008] [1010] (5)1000→1010") // split
	if n := g.Node(g.At(5).Nodes[1].Node); n.Source != c.ID || n.Birth != 5 {
		t.Errorf("%+v", n)
	}
	expect(t, g, 4, "[1000 1008 1010]")
}

// TestFigure34 is figure 3.4: the graph of figure 3.2 at 6 is rolled back to 4: the
// edges of 5 and 6 go, and with them the older one counts again. What the algorithm
// does not see is a block's birth: a node comes with its first address, so the two
// mallocs are instructions that have an address each.
func TestFigure34(t *testing.T) {
	const node, newNode = 0x1000, 0x1020
	g := New(Options{Heap: heap})
	g.Touch(11, node, 1)             // 1: node = malloc
	g.Store(12, node, 8, 0, 0)       // 2: node->next = NULL
	g.Touch(13, newNode, 1)          // 3: new_node = malloc
	g.Store(14, newNode, 8, 0, 0)    // 4: new_node->next = NULL
	g.Store(15, node, 8, newNode, 0) // 5
	g.Store(19, node, 8, 0, 0)       // 6
	for at, want := range []string{
		"",
		"[1000]",
		"[1000] (2)1000→0",
		"[1000] [1020] (2)1000→0",
		"[1000] [1020] (2)1000→0 (4)1020→0",
		"[1000] [1020] (5)1000→1020 (4)1020→0",
		"[1000] [1020] (6)1000→0 (4)1020→0",
	} {
		expect(t, g, Timestamp(at), want)
	}
	if n := g.Node(2); n.Birth != 3 || n.PC != 13 {
		t.Errorf("%+v", n)
	}
}

// TestFigure37 is the program of figures 3.3 and 3.7 on an allocator of the kind that
// they have (Lea's): chunks are cut off one large chunk; free ones are in a doubly-linked
// list by their first two words, whose head and tail are static; a chunk is joined with
// the free one beside it. The figure does not show the allocator's instructions, so its
// timestamps, which count them, are not these: the graphs are.
func TestFigure37(t *testing.T) {
	const head, tail = 0x100, 0x110 // not in the heap
	tmp := func(i int) trace.Addr { return trace.Addr(0x1000 + 0x20*(i-1)) }
	g := New(Options{Allocator: true, Heap: heap})
	next := func(pc trace.Addr, i int, v trace.Addr) { g.Store(pc, tmp(i), 8, uint64(v), 0) }
	var at []Timestamp // after each line
	line := func(f func()) { f(); at = append(at, g.Now()) }

	line(func() { g.Touch(1, tmp(1), 1) }) // the chunk that there is
	for i := 2; i <= 5; i++ {              // lines 2 to 5: derived from it inside malloc
		line(func() { g.Offset(trace.Addr(i), tmp(i-1), tmp(i), 1) })
	}
	one := "[1000 1020 1040 1060 1080]"
	expect(t, g, at[4], one)
	for i := 1; i <= 4; i++ { // lines 6 to 9: tmpI->next = tmpI+1 splits
		line(func() { next(trace.Addr(5+i), i, tmp(i+1)) })
	}
	expect(t, g, at[5], "[1000] [1020 1040 1060 1080] (6)1000→1020")
	expect(t, g, at[8], "[1000] [1020] [1040] [1060] [1080] (6)1000→1020 (7)1020→1040 (8)1040→1060 (9)1060→1080")
	line(func() { next(10, 1, tmp(3)) })
	line(func() { // free(tmp2): the first in the list
		g.Store(11, tmp(2), 8, tail, 0)
		g.Offset(11, tmp(2), tmp(2)+8, 8)
		g.Store(11, tmp(2)+8, 8, head, 0)
	})
	line(func() { // free(tmp4): before tmp2
		g.Offset(12, tmp(4), tmp(4)+8, 8)
		g.Store(12, tmp(4), 8, uint64(tmp(2)), 0)
		g.Store(12, tmp(4)+8, 8, head, 0)
		g.Store(12, tmp(2)+8, 8, uint64(tmp(4)), 0)
	})
	line(func() { next(13, 1, tmp(3)) })
	line(func() { next(14, 3, 0) })
	before := text(g.At(g.Now()))
	line(func() { g.Offset(15, tmp(4), tmp(5), 8) }) // free(tmp5) joins it with tmp4
	end := g.At(g.Now())
	var cluster *Part
	for i := range end.Nodes {
		if n := g.Node(end.Nodes[i].Node); n.Cluster() {
			cluster = &end.Nodes[i]
			for _, m := range n.Members {
				if m.Time != g.Now() {
					t.Errorf("merge edge of %d, want %d", m.Time, g.Now())
				}
			}
			if n.Birth != g.Now() || len(n.Members) != 2 {
				t.Errorf("%+v", n)
			}
		}
	}
	if cluster == nil || cluster.Start != tmp(4) || cluster.Addrs[len(cluster.Addrs)-1] != tmp(5) {
		t.Fatalf("cluster %+v in %s", cluster, text(end))
	}
	expect(t, g, g.Now()-1, before) // rolled back: two nodes again
	expect(t, g, at[4], one)        // and one, before the first split
	if len(g.Suspects()) != 0 {
		t.Errorf("%+v", g.Suspects())
	}
}

// Without the allocator's code, what connects two nodes is suspected and merges
// nothing, and a pointer into a node is an edge with an offset.
func TestWithoutAllocator(t *testing.T) {
	g := New(Options{Heap: heap})
	g.Offset(1, 0x1000, 0x1010, 8)
	g.Touch(1, 0x1020, 8)
	g.Offset(7, 0x1000, 0x1020, 1) // overflow
	g.Store(1, 0x1020, 8, 0x1010, 0)
	expect(t, g, g.Now(), "[1000 1010] [1020] (3)1020→1010(+16)")
	if d := cmp.Diff([]Suspect{{2, 7, 0x1000, 0x1020, 1, 2}}, g.Suspects()); d != "" {
		t.Error(d)
	}
}

// At any time the graph is what it was when that was the present: compared with a graph
// that was built up to there only.
func TestRetrieval(t *testing.T) {
	for seed := range uint64(40) {
		steps := random(seed)
		whole := New(Options{Allocator: seed%2 == 0, Heap: heap})
		for _, s := range steps {
			s(whole)
		}
		part := New(Options{Allocator: seed%2 == 0, Heap: heap})
		for _, s := range steps {
			s(part)
			if d := cmp.Diff(text(part.At(part.Now())), text(whole.At(part.Now()))); d != "" {
				t.Fatalf("seed %d at %d (-then +retrieved):\n%s", seed, part.Now(), d)
			}
			part.sound(t)
		}
	}
}

// sound: each address belongs to one node, which lists it.
func (g *Graph) sound(t *testing.T) {
	t.Helper()
	n := 0
	for id, l := range g.owned {
		for _, a := range l {
			if n++; g.owner(a) != id {
				t.Fatalf("%x belongs to %d and is listed by %d", a, g.owner(a), id)
			}
		}
		if len(l) == 0 {
			t.Fatalf("node %d has no address", id)
		}
	}
	for a := range g.places {
		if g.owner(a) == 0 {
			n++
		}
	}
	if n != len(g.places) {
		t.Fatalf("%d addresses listed of %d", n, len(g.places))
	}
}

func random(seed uint64) (steps []func(*Graph)) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	addr := func() trace.Addr { return trace.Addr(0x1000 + 8*rnd.IntN(24)) }
	for range 60 {
		a, b, v := addr(), addr(), uint64(rnd.IntN(2))*uint64(addr())
		switch rnd.IntN(8) {
		case 5:
			steps = append(steps, func(g *Graph) { g.Begin(a, Moment{Instant: g.present.Instant, PC: 4}) })
		case 6:
			steps = append(steps, func(g *Graph) { g.End(5, a) })
		case 7:
			steps = append(steps, func(g *Graph) { g.Point(6, a, b) })
		case 0:
			steps = append(steps, func(g *Graph) { g.Touch(1, a, 8) })
		case 1, 2:
			steps = append(steps, func(g *Graph) { g.Offset(2, a, b, 8) })
		default:
			steps = append(steps, func(g *Graph) { g.Store(3, a, 8, v, 0) })
		}
	}
	return steps
}
