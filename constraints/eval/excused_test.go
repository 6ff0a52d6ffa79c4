package eval_test

import (
	"slices"
	"strings"
	"testing"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// TestExcused: what would have to be read through an address that is excused is neither broken nor counted. Another broken instance
// of the same constraint is, and a pointer to that address that is wrong in itself.
func TestExcused(t *testing.T) {
	const head, wild = trace.Addr(0x7ffd_0000_1000), trace.Addr(0x5000)
	w := newWorld(t, `
struct link { struct link *next, *prev; };
type link;
back: link X;  X.next != NULL => X.next.prev == X;
set: link X;  X.prev != NULL;
`)
	a, b := w.alloc("link", 16, true), w.alloc("link", 16, true)
	w.put8(a, uint64(b))
	w.put8(a+8, uint64(head))
	w.put8(b, uint64(head))
	w.put8(b+8, uint64(a))
	excused := func(addr trace.Addr) bool { return addr >= head }
	check := func(when string, all, but []bool, broken, counted int) {
		t.Helper()
		now := w.h.Now()
		if got := w.c.BrokenAt(now); !slices.Equal(got, all) {
			t.Errorf("%s: broken %v, not %v", when, got, all)
		}
		if got := w.c.BrokenBut(now, excused); !slices.Equal(got, but) {
			t.Errorf("%s: broken but for the stack %v, not %v", when, got, but)
		}
		no := func(int, int) bool { return false }
		for _, x := range []struct {
			excused func(trace.Addr) bool
			want    int
		}{{nil, broken}, {excused, counted}} {
			if got := w.c.Tallies(w.h.At(now), x.excused, no, nil)[0].Broken; got != x.want {
				t.Errorf("%s: %d instances broken, not %d", when, got, x.want)
			}
		}
	}
	check("a ring through a stack", []bool{true, false}, []bool{false, false}, 1, 0)
	w.put8(b+8, 0)
	check("a way back that is missing", []bool{true, true}, []bool{true, true}, 2, 1)
	w.put8(b+8, uint64(a))
	w.put8(b, uint64(wild))
	check("a wild pointer", []bool{true, false}, []bool{true, false}, 1, 1)
}

// TestSparing: what X.DANGLING counts and EXISTS denies is broken by what else dangles only.
func TestSparing(t *testing.T) {
	const head, wild = trace.Addr(0x7ffd_0000_1000), trace.Addr(0x5000)
	w := newWorld(t, `
struct link { struct link *next, *prev; };
type link;
dang: link X;  X.DANGLING == 0;
next: link X;  (X.next).EXISTS == TRUE;
both: link X;  X.prev != X and X.DANGLING == 0;
none: link X;  COUNT(link Y: Y.DANGLING > 0) == 0 or X.prev == NULL;
check dangling for link;
`)
	a, b := w.alloc("link", 16, true), w.alloc("link", 16, true)
	w.put8(a, uint64(head))
	w.put8(a+8, uint64(head))
	w.put8(b, uint64(a))
	for _, test := range []struct {
		prev trace.Addr
		want string
	}{
		{0, ""},
		{wild, "dang both none dangling link"},
		{b, "both"},
	} {
		w.put8(b+8, uint64(test.prev))
		w.put8(a+8, uint64(head))
		now := w.h.Now()
		var broken []string
		for _, inc := range w.c.Check(now, nil) {
			spared := func(addr trace.Addr, block mgpp.NodeID) bool { return addr >= head && block == 0 }
			if w.c.Sparing(inc.Instance, w.c.View(now), spared) == eval.Broken && !slices.Contains(broken, w.c.Label(inc.Instance)) {
				broken = append(broken, w.c.Label(inc.Instance))
			}
			if got := w.c.Eval(inc.Instance, w.c.View(now)).Verdict; got != eval.Broken {
				t.Errorf("prev %#x: %s is not broken any more", uint64(test.prev), w.c.Label(inc.Instance))
			}
		}
		if got := strings.Join(broken, " "); got != test.want {
			t.Errorf("prev %#x: broken %s, not %s", uint64(test.prev), got, test.want)
		}
	}
}
