package eval_test

import (
	"slices"
	"testing"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// owned is a world whose nodes end with the count of their owners, 4 bytes behind them, and not with their blocks.
type owned struct{ *world }

func (o owned) Owners(mgpp.Node) int64 { return 16 }

// A pointer to a node that has ended in a block that lives on, as std::weak_ptr keeps it, dangles: for nothing has to be
// declared there.
func TestEnded(t *testing.T) {
	w := newWorld(t, "struct link { struct link *next, *prev; }; type link; back: link X;  X.prev != NULL => X.prev.next == X;")
	w.g = graph.New(w.spec, w.h, owned{w}, graph.Options{})
	w.c = eval.NewChecker(w.spec, w.h, w.g, eval.Options{})
	a, b, c := w.alloc("link", 24, true), w.alloc("link", 24, true), w.alloc("link", 24, true)
	for _, x := range []trace.Addr{a, b, c} {
		w.put4(x+16, 1)
	}
	w.put8(a, uint64(b))
	w.put8(b+8, uint64(a))
	w.put8(b, uint64(c))
	w.put8(c+8, uint64(b))
	if got := w.lines(w.all()); len(got) > 0 {
		t.Errorf("whole, and found %q", got)
	}
	w.put8(a, uint64(c))
	died := w.put4(b+16, 0)
	found := w.all()
	if got, want := w.lines(found), []string{"back X=link#3: X.prev.next is undefined: X.prev is dangling"}; !slices.Equal(got, want) {
		t.Errorf("c leads back to what has ended: %q, want %q", got, want)
	}
	for _, x := range found {
		r := w.c.Eval(x.Instance, w.h.At(w.h.Now()))
		if r.Through != 0 || r.Block != 0 {
			t.Errorf("%s: not judged, as if it were for want of a declaration", x.Reason)
		}
		if got := eval.LastChange(w.c, r.Deps, w.h.Now()); got != died {
			t.Errorf("%s: last changed at %d, and not at %d, when what it leads to ended", x.Reason, got, died)
		}
	}
	w.put8(c+8, uint64(a))
	if got := w.lines(w.all()); len(got) > 0 {
		t.Errorf("whole again, and found %q", got)
	}
}

// So (X.f).EXISTS is false of it, which a pointer without a type into a node that lives is not.
func TestEndedExists(t *testing.T) {
	w := newWorld(t, "struct link { struct link *next; char *text; }; type link; next: link X;  (X.next).EXISTS == TRUE; text: link X;  (X.text).EXISTS == TRUE;")
	w.g = graph.New(w.spec, w.h, owned{w}, graph.Options{})
	w.c = eval.NewChecker(w.spec, w.h, w.g, eval.Options{})
	a, b := w.alloc("link", 24, true), w.alloc("link", 24, true)
	for _, x := range [][2]trace.Addr{{a, b}, {b, a}} {
		w.put4(x[0]+16, 1)
		w.put8(x[0], uint64(x[1]))
		w.put8(x[0]+8, uint64(x[1]+8))
	}
	if got := w.lines(w.all()); len(got) > 0 {
		t.Errorf("both live, and found %q", got)
	}
	w.put4(b+16, 0)
	if got, want := w.lines(w.all()), []string{
		"next X=link#1: (X.next).EXISTS == TRUE is false",
		"text X=link#1: (X.text).EXISTS == TRUE is false",
	}; !slices.Equal(got, want) {
		t.Errorf("one has ended: %q, want %q", got, want)
	}
}
