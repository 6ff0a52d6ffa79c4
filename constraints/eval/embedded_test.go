package eval_test

import (
	"fmt"
	"testing"

	"mgtrace/trace"
)

// Pointers that lead into the middle of nodes, as the links of an intrusive list do, make no change concern all nodes, with links
// that are in use now and then neither.
func TestEmbedded(t *testing.T) {
	const links = `struct link { void *next, *prev; }; struct item { long key; struct link at; long in; };
		type item; cells item: at if in == 1;
		back: item X, Y; X.at.next == Y => Y.at.prev == X;
	`
	cost := func(n int) uint64 {
		w := newWorld(t, links)
		var items []trace.Addr
		for i := range n {
			x := w.alloc("item", 32, true)
			w.put8(x+24, 1)
			if items = append(items, x); i > 0 {
				w.put8(items[i-1]+8, uint64(x)+8)
				w.put8(x+16, uint64(items[i-1])+8)
			}
		}
		if found := w.lines(w.c.Check(w.h.Now(), nil)); len(found) > 0 {
			t.Fatal(found)
		}
		began := w.c.Work()
		w.put8(items[n/2]+16, 0)
		found := w.lines(w.c.Check(w.h.Now(), nil))
		if want := fmt.Sprintf("back X=item#%d Y=item#%d: Y.at.prev is NULL", n/2, n/2+1); len(found) != 1 || found[0] != want {
			t.Fatalf("found %q, want %q", found, want)
		}
		return w.c.Work() - began
	}
	if few, many := cost(10), cost(1000); many > 2*few {
		t.Errorf("a change among 1,000 nodes takes %d steps, among 10 it takes %d", many, few)
	}
}
