package faultloc

import (
	"testing"

	"mgtrace/trace"
)

const stackSpec = `struct stack { long *start, *top, *end; long depth; };
type stack edges (start);
order: stack S; S.start <= S.top and S.top <= S.end;
depth: stack S; S.top - S.start == S.depth;
`

// TestStack: a stack by pointers, of two elements, which moves to a larger block: what does not follow is missing beside what does.
func TestStack(t *testing.T) {
	const (
		old, moved = trace.Addr(0x500000), trace.Addr(0x600000)
		room       = 16
	)
	type store struct {
		pc    trace.Addr
		field string
		value trace.Addr
	}
	begin := []store{{1, "s.start", old}, {1, "s.top", old + room}, {1, "s.end", old + room}, {1, "s.depth", 2}}
	start, top, end := store{30, "s.start", moved}, store{31, "s.top", moved + room}, store{32, "s.end", moved + 2*room}
	push, deeper := store{40, "s.top", moved + room + 8}, store{41, "s.depth", 3}
	for _, c := range []struct {
		name   string
		stores []store
		want   string
	}{
		{"as it should be", []store{start, top, end, push, deeper}, "healthy"},
		{"no end", []store{start, top, push, deeper}, "wrote 30 outdated"},
		{"no start", []store{top, end, push, deeper}, "wrote 31 outdated"},
		{"no push", []store{start, top, end, deeper}, "wrote 41 outdated"},
		{"two for one", []store{start, top, end, {40, "s.top", moved + 2*room}, deeper}, "wrote 40 outdated"},
		{"behind the end", []store{start, top, end, {40, "s.top", moved + 2*room + 8}, deeper}, "wrote 40"},
	} {
		w := newWorld(t, stackSpec)
		w.run("1: s = calloc stack")
		put := func(list []store) {
			for _, x := range list {
				at, size := w.cell(x.field)
				w.store(x.pc, at, size, uint64(x.value))
			}
		}
		w.apply(&trace.Event{Kind: trace.KindAlloc, PC: 1, Addr: old, Size: room, Name: "malloc"})
		put(begin)
		w.run("cpoint")
		w.apply(&trace.Event{Kind: trace.KindRealloc, PC: 20, Aux: uint64(old), Addr: moved, Size: 2 * room, Name: "realloc"})
		put(c.stores)
		in, got := w.input(), "healthy"
		if len(in.Found) > 0 {
			got = first(Locate(in), Outdated)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
