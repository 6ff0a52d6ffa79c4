package eval_test

import (
	"fmt"
	"strings"
	"testing"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/trace"

	"github.com/google/go-cmp/cmp"
)

var schedProgram = &trace.Program{
	Funcs: []trace.Func{{Name: "insert", File: "a.c", Line: 3}, {Name: "delete", File: "a.c", Line: 9}, {Name: "ns::List<int>::push(int)"}},
	Points: []trace.Point{
		{Kind: "inline-entry", Func: 1, Function: "insert", File: "m.c", Line: 20},
		{Kind: "inline-exit", Func: 1, Function: "insert", File: "m.c", Line: 20},
		{Kind: "inline-entry", Func: 1, Function: "insert", File: "m.c", Line: 21},
		{Kind: "inline-exit", Func: 1, Function: "insert", File: "m.c", Line: 21},
		{Kind: "line", File: "/src/quad.c", Line: 24},
		{Kind: "mark", File: "/src/quad.c", Line: 30, For: "a"},
	},
}

const schedTypes = "struct a { struct a *p; }; struct b { struct b *p; }; type a; type b; a X; X.INDEGREE >= 0; b X; X.INDEGREE >= 0;\n"

// Events are written "kind[!] thread what [sp]": call, call? (open when recording
// began), ret, ret! (unwound), line, store, lock (pthread_mutex_lock writes to its mutex),
// start and done (of a thread), signal, exit STATUS, trunc.
func event(tb testing.TB, text string) trace.Event {
	var kind string
	var thread, what, sp uint64
	if n, _ := fmt.Sscan(text, &kind, &thread, &what, &sp); n < 2 {
		tb.Fatalf("event %q", text)
	}
	ev := trace.Event{Thread: trace.ThreadID(thread), Aux: what, SP: trace.Addr(sp)}
	switch kind {
	case "call":
		ev.Kind = trace.KindCall
	case "call?":
		ev.Kind, ev.Flags = trace.KindCall, trace.FlagBefore
	case "call>":
		ev.Kind, ev.Flags = trace.KindCall, trace.FlagInline
	case "ret!":
		ev.Kind, ev.Flags = trace.KindReturn, trace.FlagUnwound
	case "ret":
		ev.Kind = trace.KindReturn
	case "line":
		ev.Kind = trace.KindLine
	case "store":
		ev.Kind = trace.KindStore
	case "lock":
		ev.Kind, ev.Name = trace.KindBulk, "pthread_mutex_lock"
	case "start":
		ev.Kind = trace.KindThreadStart
	case "done":
		ev.Kind = trace.KindThreadExit
	case "signal":
		ev.Kind = trace.KindSignal
	case "exit":
		ev.Kind = trace.KindExit
	case "trunc":
		ev.Kind = trace.KindTruncated
	default:
		tb.Fatalf("event %q", text)
	}
	return ev
}

func TestSchedule(t *testing.T) {
	tests := []struct {
		name, spec string
		events     []string
		want       []string
	}{
		{"entry and return", "cpoint insert;",
			[]string{"call 1 1 100", "ret 1 1 100", "call 1 1 100", "ret 1 1 100", "exit 1 0"},
			[]string{"entry insert call 1", "return insert call 1", "entry insert call 2", "return insert call 2", "exit"}},
		{"outermost only", "cpoint insert:exit;",
			[]string{"call 1 1 100", "call 1 1 90", "ret 1 1 90", "ret 1 1 100"},
			[]string{"return insert call 1"}},
		{"each", "cpoint insert:each;",
			[]string{"call 1 1 100", "call 1 1 90", "ret 1 1 90", "ret 1 1 100"},
			[]string{"entry insert call 1", "entry insert call 1", "return insert call 1", "return insert call 1"}},
		{"called by an inlined instance that was not seen", "cpoint insert;",
			[]string{"call> 1 1 90", "ret 1 1 90", "call> 1 1 90", "ret 1 1 90", "call 1 1 100", "ret 1 1 100"},
			[]string{"entry insert call 3", "return insert call 3"}},
		{"unwound", "cpoint insert, delete;",
			[]string{"call 1 1 100", "call 1 2 90", "ret! 1 2 90", "ret! 1 1 100", "call 1 1 100"},
			[]string{"entry insert call 1", "entry delete call 1", "entry insert call 2"}},
		{"unseen return", "cpoint insert;",
			[]string{"call 1 1 100", "call 1 1 90", "ret 1 1 100", "call 1 1 100"},
			[]string{"entry insert call 1", "return insert call 1", "entry insert call 2"}},
		{"another thread inside", "cpoint insert;",
			[]string{"call 1 1 100", "store 1 0", "call 2 1 500", "store 2 0", "ret 1 1 100", "ret 2 1 500"},
			[]string{"entry insert call 1", "entry insert call 2 busy 1 inside since 1", "return insert call 1 busy 2 inside since 3", "return insert call 2"}},
		{"another thread inside, waiting", "cpoint insert;",
			[]string{"call 2 1 500", "lock 2 0", "call 1 1 100", "store 1 0", "ret 1 1 100", "call 1 1 100", "store 2 0", "ret 1 1 100", "ret 2 1 500"},
			[]string{"entry insert call 1", "entry insert call 2", "return insert call 2", "entry insert call 3", "return insert call 3 busy 2 inside since 1", "return insert call 1"}},
		{"another thread at work outside", "cpoint insert;",
			[]string{"call 2 1 500", "ret 2 1 500", "store 2 0", "call 1 1 100", "ret 1 1 100", "call 2 1 500", "call 1 1 100"},
			[]string{"entry insert call 1", "return insert call 1", "entry insert call 2 busy 2 since 2", "return insert call 2 busy 2 since 2", "entry insert call 3", "entry insert call 4"}},
		{"another thread that has come to no C-point", "cpoint insert;",
			[]string{"store 2 0", "call 1 1 100", "done 2 0", "ret 1 1 100"},
			[]string{"entry insert call 1 busy 2 since 0", "return insert call 1"}},
		{"what was done before there was another thread", "cpoint insert;",
			[]string{"store 1 0", "start 2 0", "call 2 1 500", "store 1 0", "start 3 0", "ret 2 1 500"},
			[]string{"entry insert call 1", "return insert call 1 busy 1 since 2"}},
		{"an exception leaves a function", "cpoint insert;",
			[]string{"call 2 1 500", "store 2 0", "ret! 2 1 500", "call 1 1 100"},
			[]string{"entry insert call 1", "entry insert call 2 busy 2 since 1"}},
		{"another type", "cpoint insert for a; cpoint delete for b;",
			[]string{"call 1 1 100", "store 1 0", "call 2 2 500", "store 2 0", "ret 1 1 100", "ret 2 2 500"},
			[]string{"entry insert call 1 for a", "entry delete call 1 for b", "return insert call 1 for a", "return delete call 1 for b"}},
		{"open when recording began", "cpoint insert, delete;",
			[]string{"call? 1 1 100", "call 1 1 90", "ret 1 1 90", "call 2 2 500", "store 2 0", "ret 1 1 100", "ret 2 2 500"},
			[]string{"entry delete call 1 busy 1 inside since 0", "return insert call 1 busy 2 inside since 4", "return delete call 1"}},
		{"return of an unseen call", "cpoint insert;",
			[]string{"ret 1 1 100", "call 1 1 90", "ret 1 1 100", "ret 1 1 90"},
			[]string{"entry insert call 1", "return insert call 1"}},
		{"crash with open calls", "cpoint insert;",
			[]string{"call 1 1 100", "signal 1 11", "exit 1 139"},
			[]string{"entry insert call 1", "crash open insert"}},
		{"killed", "cpoint insert; no cpoint end;", []string{"exit 1 9"}, []string{"crash"}},
		{"no end", "cpoint insert; no cpoint end;", []string{"exit 1 0"}, nil},
		{"timeout", "no cpoint end;", []string{"trunc 0 0"}, []string{"crash"}},
		{"status", "", []string{"exit 1 256"}, []string{"exit"}},
		{"line and mark", "cpoint quad.c:24;", []string{"line 1 5", "line 1 6"}, []string{"line quad.c:24", "line quad.c:30 for a"}},
		{"inlined", "cpoint insert;",
			[]string{"line 1 1 80", "line 1 1 80", "line 1 2 80", "line 1 2 80", "line 1 1 80"},
			[]string{"entry insert call 1", "return insert call 1", "entry insert call 2"}},
		{"inlined back to back", "cpoint insert;",
			[]string{"line 1 1 80", "line 1 3 80", "line 1 2 80", "line 1 4 80"},
			[]string{"entry insert call 1", "return insert call 1", "entry insert call 2", "return insert call 2"}},
		{"inlined in a frame that is gone", "cpoint insert;",
			[]string{"line 1 1 80", "line 1 1 90"},
			[]string{"entry insert call 1", "entry insert call 2"}},
		{"recursion behind an inlined part", "cpoint insert;",
			[]string{"line 1 1 80", "call 1 1 70", "line 1 3 62", "call 1 1 50", "ret 1 1 50", "line 1 4 62", "ret 1 1 70", "line 1 2 80"},
			[]string{"entry insert call 1", "return insert call 1"}},
		{"called anew where a frame with an inlined part was", "cpoint insert;",
			[]string{"line 1 1 80", "call 1 1 88", "ret 1 1 88"},
			[]string{"entry insert call 1", "entry insert call 2", "return insert call 2"}},
		{"by pattern", "cpoint List::push;", []string{"call 1 3 100"}, []string{"entry ns::List<int>::push(int) call 1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := eval.NewSchedule(parse(t, schedTypes+test.spec), schedProgram)
			var got []string
			for i, text := range test.events {
				ev := event(t, text)
				for _, c := range s.Event(&ev, mgpp.Timestamp(i+1)) {
					got = append(got, cpointText(c))
				}
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func cpointText(c eval.CPoint) string {
	s := c.Kind
	switch {
	case c.Kind == "line":
		s += fmt.Sprintf(" %s:%d", strings.TrimPrefix(c.File, "/src/"), c.Line)
	case c.Function != "":
		s += fmt.Sprintf(" %s call %d", c.Function, c.Call)
	}
	if c.For != nil {
		s += " for " + c.For.Name
	}
	if c.Kind == "crash" {
		for _, o := range c.Open {
			s += " open " + o.Function
		}
	}
	for _, b := range c.Busy {
		s += fmt.Sprintf(" busy %d", b.Thread)
		if b.Inside {
			s += " inside"
		}
		s += fmt.Sprintf(" since %d", b.Since)
	}
	return s
}

func TestMembers(t *testing.T) {
	prog := &trace.Program{Funcs: []trace.Func{{Name: "add"}, {Name: "del"}, {Name: "make"}, {Name: "try_del"}, {Name: "pop"}}}
	spec := parse(t, `struct n { struct n *p; }; type n; n X; X.INDEGREE >= 0;
enter n at add(2); leave n at del(1); enter n at make(return); leave n at try_del(1) if return == 0; leave n at pop(return);`)
	h := mgpp.New(mgpp.Options{})
	m := eval.NewMembers(spec, prog, h)
	if u := m.Unmatched(); u != nil {
		t.Errorf("unmatched %v", u)
	}
	var got []string
	thread := trace.ThreadID(1)
	do := func(k trace.Kind, fn uint64, flags trace.Flags, ret uint64, args ...uint64) {
		ev := &trace.Event{Kind: k, Aux: fn, SP: 100, Thread: thread, Flags: flags, Ret: ret, Args: args}
		now := h.Now()
		note := func(when string) {
			for ; now < h.Now(); now++ {
				op := h.Op(now + 1)
				verb := "enters"
				if op.Kind == mgpp.OpLeave {
					verb = "leaves"
				}
				got = append(got, fmt.Sprintf("%s %s: %#x %s", k, when, uint64(op.Addr), verb))
			}
		}
		if k == trace.KindStore {
			if err := m.Writes(thread); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Before(ev); err != nil {
			t.Fatal(err)
		}
		note("before")
		if err := m.After(ev); err != nil {
			t.Fatal(err)
		}
		note("after")
	}
	call, ret, store := trace.KindCall, trace.KindReturn, trace.KindStore
	do(call, 1, 0, 0, 1, 0x100)
	thread = 2
	do(store, 0, 0, 0) // the other one may be waiting for what this one does
	thread = 1
	do(store, 0, 0, 0)
	do(store, 0, 0, 0)
	do(ret, 1, 0, 0)
	do(call, 3, 0, 0)
	do(ret, 3, 0, 0x200)
	do(call, 4, 0, 0, 0x100)
	do(ret, 4, 0, 0xffffffff) // -1: it stays
	do(call, 4, 0, 0, 0x100)
	do(ret, 4, 0, 0)
	do(call, 2, 0, 0, 0x200)
	do(ret, 2, trace.FlagUnwound, 0) // left by an exception: it stays
	do(call, 2, 0, 0, 0x200)
	do(ret, 2, 0, 0)
	do(call, 1, 0, 0, 1, 0x300)
	do(ret, 1, 0, 0)
	do(call, 5, 0, 0)
	do(ret, 5, 0, 0x300)
	do(call, 5, 0, 0)
	do(ret, 5, 0, 0) // NULL: it was empty
	want := []string{
		"store before: 0x100 enters",
		"return before: 0x200 enters",
		"return before: 0x100 leaves",
		"return before: 0x200 leaves",
		"return before: 0x300 enters", // it wrote nothing
		"return before: 0x300 leaves",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestMemoryFaults(t *testing.T) {
	store := func(w *world, addr trace.Addr, data string, base trace.Addr) {
		w.apply(trace.Event{Kind: trace.KindStore, Addr: addr, Size: uint64(len(data)), Data: []byte(data), Base: base, PC: 0x40, Thread: 1})
	}
	bulk := func(w *world, addr trace.Addr, data string) {
		w.apply(trace.Event{Kind: trace.KindBulk, Name: "memcpy", Addr: addr, Base: addr, Size: uint64(len(data)), Data: []byte(data), PC: 0x41, Thread: 1})
	}
	tests := []struct {
		name string
		do   func(w *world)
		want []string
	}{
		{"none", func(w *world) {
			a := w.alloc("dnode", 24, false)
			store(w, a+16, "12345678", a)
			bulk(w, a, strings.Repeat("x", 24))
			w.release(a)
		}, nil},
		{"memcpy over the neighbour", func(w *world) {
			a := w.alloc("dnode", 24, false)
			w.alloc("dnode", 24, false)
			bulk(w, a+4, strings.Repeat("x", 60))
		}, []string{"bounds dnode#1: memcpy writes 40 bytes past the end of dnode#1, into dnode#2"}},
		{"store across the end", func(w *world) {
			a := w.alloc("dnode", 20, false)
			store(w, a+16, "12345678", a)
		}, []string{"bounds dnode#1: a store writes 4 bytes past the end of dnode#1"}},
		{"store right behind", func(w *world) {
			a := w.alloc("", 20, false)
			store(w, a+20, "1", a)
		}, []string{"bounds NULL: a store writes 1 byte right behind the block of 20 bytes at 0x10000"}},
		{"store right before", func(w *world) {
			a := w.alloc("", 20, false)
			next := w.alloc("", 20, false)
			store(w, next-4, "1234", a)
		}, []string{"bounds NULL: a store writes 4 bytes right before the block of 20 bytes at 0x10030"}},
		{"memcpy over the end of what looked like a mapped block when the process was attached to", func(w *world) {
			w.apply(trace.Event{Kind: trace.KindAlloc, Addr: 0x20010, Size: 0x1ff0, Name: "malloc", Flags: trace.FlagBefore, Thread: 1})
			bulk(w, 0x22000-8, strings.Repeat("x", 16))
			store(w, 0x22000, "12345678", 0x22000-8)
			store(w, 0x2000c, "1234", 0x2000c)
		}, nil},
		{"memcpy over the end of a block of a heap that was there when the process was attached to", func(w *world) {
			w.apply(trace.Event{Kind: trace.KindAlloc, Addr: 0x20010, Size: 0x1ef8, Name: "malloc", Flags: trace.FlagBefore, Thread: 1})
			bulk(w, 0x21f08-8, strings.Repeat("x", 16))
		}, []string{"bounds NULL: memcpy writes 8 bytes past the end of the block of 7928 bytes at 0x20010"}},
		{"store farther before", func(w *world) {
			a := w.alloc("", 20, false)
			next := w.alloc("", 20, false)
			store(w, next-16, "1234", a)
		}, nil},
		{"store right behind a block that lies where another was", func(w *world) {
			a := w.alloc("", 24, false)
			w.release(a)
			w.next = a
			w.alloc("", 8, false)
			store(w, a+8, "12345678", a)
		}, []string{"bounds NULL: a store writes 8 bytes right behind the block of 8 bytes at 0x10000"}},
		{"store right behind a block that realloc made larger later", func(w *world) {
			a := w.alloc("", 8, false)
			store(w, a+8, "1", a)
			w.apply(trace.Event{Kind: trace.KindRealloc, Addr: a, Aux: uint64(a), Size: 200, Name: "realloc", Thread: 1})
		}, []string{"bounds NULL: a store writes 1 byte right behind the block of 8 bytes at 0x10000"}},
		{"memcpy over the end of a block that realloc made larger later", func(w *world) {
			a := w.alloc("", 8, false)
			bulk(w, a, "123456789")
			w.apply(trace.Event{Kind: trace.KindRealloc, Addr: a, Aux: uint64(a), Size: 200, Name: "realloc", Thread: 1})
		}, []string{"bounds NULL: memcpy writes 1 byte past the end of the block of 8 bytes at 0x10000"}},
		{"writes up to the end that realloc gave a block", func(w *world) {
			a := w.alloc("", 8, false)
			store(w, a, "12345678", a)
			w.apply(trace.Event{Kind: trace.KindRealloc, Addr: a, Aux: uint64(a), Size: 200, Name: "realloc", Thread: 1})
			store(w, a+8, "1", a)
			bulk(w, a+8, strings.Repeat("x", 192))
			w.apply(trace.Event{Kind: trace.KindRealloc, Addr: a, Aux: uint64(a), Size: 8, Name: "realloc", Thread: 1})
		}, nil},
		{"store into a block of 0 bytes that lies where another was", func(w *world) {
			a := w.alloc("", 24, false)
			w.release(a)
			w.next = a
			w.alloc("", 0, false)
			store(w, a, "1", a)
			store(w, a+2, "1", a)
		}, []string{
			"bounds NULL: a store writes 1 byte right behind the block of 0 bytes at 0x10000",
			"bounds NULL: a store writes 1 byte right behind the block of 0 bytes at 0x10000"}},
		{"memcpy into a block of 0 bytes", func(w *world) {
			a := w.alloc("", 0, false)
			bulk(w, a, "12345678")
		}, []string{"bounds NULL: memcpy writes 8 bytes past the end of the block of 0 bytes at 0x10000"}},
		{"writes where a block of 0 bytes was, that was freed or made larger, and into what a pool gave out", func(w *world) {
			a := w.alloc("", 0, false)
			w.release(a)
			w.next = a
			w.alloc("", 24, false)
			store(w, a, "1", a)
			bulk(w, a, "12345678")
			b := w.alloc("", 0, false)
			w.apply(trace.Event{Kind: trace.KindRealloc, Addr: b, Aux: uint64(b), Size: 24, Name: "realloc", Thread: 1})
			store(w, b, "1", b)
			bulk(w, b, "12345678")
			w.apply(trace.Event{Kind: trace.KindAlloc, Addr: 0x30000, Name: "pool_get", Thread: 1})
			bulk(w, 0x30000, "12345678")
		}, nil},
		{"a base that is an index says nothing", func(w *world) {
			a := w.alloc("", 24, false)
			store(w, a+4096, "1", a)
		}, nil},
		{"use after free", func(w *world) {
			a := w.alloc("", 24, false)
			w.release(a)
			store(w, a+8, "1", a)
		}, []string{"use after free NULL: a store writes 1 byte into the block of 24 bytes at 0x10000, which is freed"}},
		{"memory that is used again", func(w *world) {
			a := w.alloc("", 24, false)
			w.release(a)
			w.alloc("", 24, false)
			store(w, a+8, "1", a)
		}, nil},
		{"double free", func(w *world) {
			a := w.alloc("", 24, false)
			w.release(a)
			w.release(a)
		}, []string{"double free NULL: free of the block of 24 bytes at 0x10000, which is freed already"}},
		{"invalid free", func(w *world) {
			a := w.alloc("", 24, false)
			w.release(a + 8)
		}, []string{"invalid free NULL: free of an address inside the block of 24 bytes at 0x10000"}},
		{"a pool that is filled", func(w *world) {
			a := w.alloc("", 24, false)
			w.apply(trace.Event{Kind: trace.KindFree, Name: "pool_put", Addr: a + 8, Thread: 1})
		}, nil},
		{"free of what was never seen", func(w *world) { w.release(0x99990) }, nil},
		{"free of what was never seen, and the program aborts in it", func(w *world) {
			w.release(0x99990)
			w.c.Aborted(1, 0)
		}, []string{"invalid free NULL: free of 0x99990, which no allocator has given out"}},
		{"and it aborts elsewhere", func(w *world) {
			w.release(0x99990)
			w.c.Aborted(1, 0x4444)
			w.c.Aborted(2, 0)
		}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, dnode+"dnode X; X.INDEGREE >= 0;")
			test.do(w)
			var got []string
			for _, f := range w.c.MemoryFaults() {
				got = append(got, fmt.Sprintf("%s %s: %s", f.Kind, w.g.Name(f.Obj), f.Reason))
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	w := newWorld(t, dnode+"dnode X; X.INDEGREE >= 0; no check bounds;")
	a := w.alloc("dnode", 20, false)
	store(w, a+16, "12345678", a)
	if f := w.c.MemoryFaults(); f != nil {
		t.Errorf("switched off: %v", f)
	}
}

func TestWarnings(t *testing.T) {
	w := newWorld(t, dnode+`struct b { struct b *p; }; type b; struct part { int n; }; struct whole { int k; struct { struct part parts[2]; } in; }; type part; type whole; never: dnode X; X.key == 99 => X.n == 1; forbidden: dnode X; X.key == 98 => FALSE; cpoint insert, delete for dnode, b;`)
	s := eval.NewSchedule(w.spec, schedProgram)
	ev := event(t, "call 1 1 100")
	s.Event(&ev, 0)
	w.dlist(2)
	w.alloc("whole", 12, true)
	w.c.Check(w.h.Now(), nil)
	want := []string{
		"type b was never allocated, as far as debug information tells: nothing of it was checked (alloc b at FUNCTION; says which blocks are of it)",
		"type part was never allocated, as far as debug information tells: nothing of it was checked (it is a member of whole: embed part in whole at in.parts; makes nodes of these)",
		"never: the guard never held: X.key == 99",
		"C-point delete was never reached",
	}
	if d := cmp.Diff(want, w.c.Warnings(s)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestCutOff: an allocator that the specification says gives fewer bytes than a type has is told of, and one that gives as many is not.
func TestCutOff(t *testing.T) {
	for bytes, want := range map[uint64][]string{
		24: nil,
		16: {"dnode has 24 bytes, and blocks of it 16, as take(bytes=16) says: what lies beyond is undefined"},
	} {
		w := newWorld(t, dnode+fmt.Sprintf("allocator take(bytes=%d) frees put(1); dnode X; X.key == 0;", bytes))
		w.alloc("dnode", bytes, true)
		w.alloc("dnode", bytes, true)
		w.c.Check(w.h.Now(), nil)
		if d := cmp.Diff(want, w.c.CutOff()); d != "" {
			t.Errorf("%d bytes (-want +got):\n%s", bytes, d)
		}
	}
}
