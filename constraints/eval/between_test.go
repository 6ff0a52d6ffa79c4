package eval_test

import (
	"testing"

	"mgtrace/trace"

	"github.com/google/go-cmp/cmp"
)

const stack = `struct stack { int *start, *top, *end; void *mark; int own[4]; };
type stack edges (start);
`

const arena = "allocator arena(size=1) frees reset(1);\n"

// block is a block of bytes that are written, at an address of one's own: others may begin at its end.
func (w *world) block(at trace.Addr, size uint64) trace.Addr {
	w.apply(trace.Event{Kind: trace.KindAlloc, Addr: at, Size: size, Name: "malloc", Thread: 1, Flags: trace.FlagZeroed})
	return at
}

// pointers writes pointers into the first words of a stack.
func (w *world) pointers(s trace.Addr, to ...trace.Addr) {
	for i, p := range to {
		w.put8(s+trace.Addr(8*i), uint64(p))
	}
}

func TestBetween(t *testing.T) {
	const a, b = 0x40000, 0x40010 // blocks of four elements, one behind the other
	const order = stack + `order: stack S; S.start <= S.top and S.top <= S.end; `
	tests := []struct {
		name, spec string
		build      func(w *world, s trace.Addr)
		want       []string
	}{
		{"a stack", order + `used: stack S; S.top - S.start == 2 and S.end - S.top == S.end - S.start - 2;`, func(w *world, s trace.Addr) {
			w.block(a, 16)
			w.pointers(s, a, a+8, a+16)
		}, nil},
		{"no block yet", order + `used: stack S; S.top - S.start == 0;`, func(*world, trace.Addr) {}, nil},
		{"one is NULL", order, func(w *world, s trace.Addr) {
			w.pointers(s, w.block(a, 16), a)
		}, []string{"order S=stack#1: S.top - S.end is undefined: S.end is NULL"}},
		{"behind the end", order + `used: stack S; S.top - S.start < 4;`, func(w *world, s trace.Addr) {
			w.block(a, 16)
			w.pointers(s, a, a+16, a+12)
		}, []string{"order S=stack#1: S.top - S.end is 1", "used S=stack#1: S.top - S.start is 4"}},
		{"before the start", order, func(w *world, s trace.Addr) {
			w.block(a, 16)
			w.pointers(s, a+8, a, a+16)
		}, []string{"order S=stack#1: S.start - S.top is 2"}},
		{"two blocks", order, func(w *world, s trace.Addr) {
			w.block(a, 16)
			w.pointers(s, a, w.block(0x50000, 16), a+16)
		}, []string{"order S=stack#1: S.start - S.top is undefined: S.start and S.top lead into two different blocks"}},
		{"a freed one", order, func(w *world, s trace.Addr) {
			w.block(a, 16)
			w.pointers(s, a, a, a+16)
			w.release(a)
		}, []string{"order S=stack#1: S.start - S.top is undefined: S.start is dangling"}},
		{"the end of a freed one", order, func(w *world, s trace.Addr) {
			w.block(a, 16)
			w.pointers(s, a, a, a+16)
			w.release(a)
			w.pointers(s, w.block(0x50000, 16), 0x50000)
		}, []string{"order S=stack#1: S.top - S.end is undefined: S.end is dangling"}},
		{"nowhere", order, func(w *world, s trace.Addr) {
			w.pointers(s, w.block(a, 16), a, 0x1234)
		}, []string{"order S=stack#1: S.top - S.end is undefined: S.end points to nothing known"}},
		{"out of the block", order, func(w *world, s trace.Addr) {
			w.pointers(s, w.block(a, 16), a-4, a+20)
		}, []string{"order S=stack#1: S.start - S.top is undefined: S.top lies 4 bytes before the block"}},
		{"a buffer on a stack", order + `used: stack S; S.top - S.start == 3;`, func(w *world, s trace.Addr) {
			w.pointers(s, 0x7ffe1000, 0x7ffe1008, 0x7ffe1010)
		}, []string{"used S=stack#1: S.top - S.start is 2"}},
		{"a chunk that an allocator divides", arena + order, func(w *world, s trace.Addr) {
			w.pointers(s, w.block(a, 64), a, a+64)
			w.apply(trace.Event{Kind: trace.KindUnmap, Addr: a, Size: 64, Thread: 1})
			w.apply(trace.Event{Kind: trace.KindAlloc, Addr: a, Size: 16, Name: "arena", Thread: 1})
			w.put8(s+8, a+16)
			w.apply(trace.Event{Kind: trace.KindFree, Addr: a, Name: "reset", Thread: 1})
			w.put8(s+8, a)
		}, nil},
		{"out of a chunk", arena + order, func(w *world, s trace.Addr) {
			w.pointers(s, w.block(a, 64), a, a+64)
			w.apply(trace.Event{Kind: trace.KindUnmap, Addr: a, Size: 64, Thread: 1})
			w.pointers(s, a, a+68)
		}, []string{"order S=stack#1: S.start - S.top is undefined: S.top lies 4 bytes behind the end of the block"}},
		{"pieces of what nobody was told of", arena + order, func(w *world, s trace.Addr) {
			w.pointers(s, a, a, a+64)
			w.apply(trace.Event{Kind: trace.KindAlloc, Addr: a, Size: 16, Name: "arena", Thread: 1})
			w.pointers(s, a-16, a, a+48)
			w.apply(trace.Event{Kind: trace.KindFree, Addr: a, Name: "reset", Thread: 1})
		}, nil},
		{"a freed block of no allocator of its own", order, func(w *world, s trace.Addr) {
			w.pointers(s, w.block(a, 64), a, a+64)
			w.apply(trace.Event{Kind: trace.KindUnmap, Addr: a, Size: 64, Thread: 1})
		}, []string{"order S=stack#1: S.start - S.top is undefined: S.start is dangling"}},
		{"no whole element", stack + `used: stack S; S.top - S.start >= 0; order: stack S; S.top < S.start;`, func(w *world, s trace.Addr) {
			w.pointers(s, w.block(a, 16), a+6)
		}, []string{"used S=stack#1: S.top - S.start >= 0 is undefined: S.top - S.start is no whole number of elements", "order S=stack#1: S.top - S.start is 6 bytes"}},
		{"a neighbour that was there before", order, func(w *world, s trace.Addr) {
			w.block(a, 16)
			w.block(b, 16)
			w.pointers(s, a, b, b)
		}, nil},
		{"a neighbour that is gone", order + `full: stack S; S.end - S.top == 0; used: stack S; S.top - S.start == 4;`, func(w *world, s trace.Addr) {
			w.block(a, 16)
			w.block(b, 16)
			w.pointers(s, a, b, b)
			w.release(b)
		}, nil},
		{"a neighbour that came between", order + `full: stack S; S.top == S.end;`, func(w *world, s trace.Addr) {
			w.block(a, 16)
			w.pointers(s, a, a, b)
			w.block(b, 16)
			w.pointers(s, a, b)
		}, nil},
		{"the neighbour's", order, func(w *world, s trace.Addr) { // and no end of the first
			w.block(a, 16)
			w.block(b, 16)
			w.pointers(s, a, b+4, b+8)
		}, []string{"order S=stack#1: S.start - S.top is undefined: S.start and S.top lead into two different blocks"}},
		{"grown in place", order, func(w *world, s trace.Addr) {
			w.pointers(s, w.block(a, 16), a+16, a+16)
			w.apply(trace.Event{Kind: trace.KindRealloc, Aux: a, Addr: a, Size: 32, Name: "realloc", Thread: 1})
			w.pointers(s, a, a+20, a+32)
		}, nil},
		{"shrunk below it", order, func(w *world, s trace.Addr) {
			w.pointers(s, w.block(a, 16), a+4, a+16)
			w.apply(trace.Event{Kind: trace.KindRealloc, Aux: a, Addr: a, Size: 8, Name: "realloc", Thread: 1})
		}, []string{"order S=stack#1: S.top - S.end is undefined: S.end lies 8 bytes behind the end of the block"}},
		{"an array of its own", stack + `order: stack S; S.own <= S.top and S.top - S.own <= 4; bytes: stack S; S.mark >= S; size: stack S; S.mark <= S.top;`, func(w *world, s trace.Addr) {
			w.pointers(s, 0, s+48, 0, s+32)
		}, nil},
		{"elements before a pointer", stack + `last: stack S; S.top[-1] == 7; guard: stack S; S.top > S.start => S.top[-1] == 7; each: stack S; for I in 1 to 9, S.top[-I] == 7;`, func(w *world, s trace.Addr) {
			w.block(b, 16)
			w.put4(b, 7)
			w.pointers(s, a, a)
			w.block(a, 16)
			w.put4(a+12, 7)
			w.pointers(s, a, a)
		}, []string{"last S=stack#1: S.top[-1] is undefined: S.top[-1] lies outside the allocation"}},
		{"elements before the end", stack + `last: stack S; S.top[-1] == 7 and S.top[-4] == 0; each: stack S; for I in 0 to 9, S.top[I] == 7; next: stack S; S.top[0] == 0;`, func(w *world, s trace.Addr) {
			w.block(a, 16)
			w.block(b, 16)
			w.put4(a+12, 7)
			w.pointers(s, a, b)
			w.release(b)
			w.pointers(s, a, b)
		}, []string{"next S=stack#1: S.top[0] is undefined: S.top lies outside the allocation"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, test.spec)
			s := w.alloc("stack", 48, true)
			test.build(w, s)
			if d := cmp.Diff(test.want, w.lines(w.all())); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// The address of a pointer that leads to memory of which nothing is known is told, where the other one leads into a block, also where
// it bounds a loop: on a stack in use there may be what it leads to.
func TestBetweenThrough(t *testing.T) {
	w := newWorld(t, stack+`order: stack S; S.start <= S.top; each: stack S; for I in 0 to S.top - S.start - 1, S.start[I] == 0;`)
	s := w.alloc("stack", 48, true)
	const buffer = 0x7ffe1000
	w.pointers(s, w.block(0x40000, 16), buffer)
	if got := w.all(); len(got) != 2 || got[0].Through != buffer || got[1].Through != buffer {
		t.Errorf("%+v", got)
	}
}
