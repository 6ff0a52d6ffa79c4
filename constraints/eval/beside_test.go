package eval_test

import (
	"testing"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"

	"github.com/google/go-cmp/cmp"
)

// aHistory is one that a checker asks from one goroutine only.
type aHistory struct{ *mgpp.History }

// What is asked on all processors is what is asked node by node: the same is broken, in as many steps, and the same guards
// have held.
func TestBeside(t *testing.T) {
	const text = `
struct n { long v; struct n *next; };
struct head { struct n *first; };
global head;
type n; type head;
n.BIG;
n X; X.BIG = X.v > 99 ? 1 : 0;
one:    n X; X.INDEGREE(next) == 1;
in:     n X; X.INDEGREE == 1;
even:   n X; X.v < 98 => X.v >= 2;
after:  n X, Y; X.next == Y => Y.v >= 1 or X.v >= 1;
never:  n X; X.v == 1000 => X.v == 1001;
noted:  n X; X.v <= 99 => X.BIG == 0;
`
	const nodes = 70_000 // more than are asked at a time
	for _, broken := range []int{0, 300} {
		l := newRing(t, text, nodes)
		for i, a := range l.nodes {
			v := 2 + l.r.IntN(100)
			if broken > 0 && i%(nodes/broken) == nodes/broken/2 {
				v = 0
			}
			l.put8(a, uint64(v))
		}
		for range broken { // of two nodes one is passed by
			p := l.nodes[l.r.IntN(nodes)]
			l.link(p, l.next[l.next[p]])
		}
		h := aHistory{l.h}
		alone := eval.NewChecker(l.spec, h, graph.New(l.spec, h, l.world, graph.Options{}), eval.Options{})
		found, all := l.check(), alone.Check(l.h.Now(), nil)
		want, got := l.lines(all), l.lines(found)
		if d := cmp.Diff(want, got); d != "" || (len(want) > 0) != (broken > 0) {
			t.Fatalf("%d broken (-node by node +beside each other):\n%s", len(want), d)
		}
		if a, b := alone.Work(), l.c.Work(); a != b {
			t.Errorf("%d steps, want %d", b, a)
		}
		for i, k := range l.spec.Constraints {
			if a, b := alone.GuardHeld(i), l.c.GuardHeld(i); a != b || a != (k.Label != "never") {
				t.Errorf("%s: its guard held: %v, want %v", k.Label, b, a)
			}
		}
	}
}
